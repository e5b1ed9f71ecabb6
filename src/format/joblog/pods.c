/* pods.c - whose a pod's end was: what `kubectl describe`, `get -o yaml` and `get pods` say around the line that names how it
 * ended.
 *
 *   train-worker-3   0/1   OOMKilled   0   3h      a row of a table
 *   Name:  train-worker-3                          a description: the name is far before, and the rank may stand behind
 *       Reason:  OOMKilled
 *       RANK:  3
 *   - env: [- name: RANK, value: "3"], metadata: name: train-worker-3        the same as YAML
 */
#include <stdio.h>
#include <string.h>

#include "format/joblog/joblog.h"
#include "format/joblog/text.h"

enum { LINES_MOST = 600, NAME_MOST = 63 };

bool assay_signature_is_of_pod(uint32_t signature)
{
    const assay_signature *s = assay_signature_of(signature);
    return s && strncmp(s->id, "pod_", 4) == 0;
}

static bool is_pod_byte(char c)
{
    return (c >= 'a' && c <= 'z') || assay_is_digit(c) || c == '-' || c == '.';
}

/* A name of a pod has small letters, digits and '-'; in a sentence it has one that no word has. */
static bool set_pod(const char *at, size_t left, assay_log_event *e)
{
    size_t length = 0;
    while (length < left && is_pod_byte(at[length]))
        length++;
    while (length > 0 && !assay_is_digit(at[length - 1]) && !(at[length - 1] >= 'a' && at[length - 1] <= 'z'))
        length--;
    if (length < 2 || length > NAME_MOST || !(at[0] >= 'a' && at[0] <= 'z'))
        return false;
    memcpy(e->node, at, length);
    e->node[length] = '\0';
    return true;
}

/* "pod train-worker-3 terminated", "pod/train-0", "ml  train-worker-3  0/1  OOMKilled" */
static bool take_from_line(const char *line, size_t length, assay_log_event *e)
{
    static const char *const words[] = {"pod/", "pod ", "Pod ", "pods/", "pod \"", "Pod \""};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = joblog_find(line, length, words[i]);
        const bool other = at && at - line >= 3 && memcmp(at - 3, "by ", 3) == 0; /* "Preempted by pod ..." */
        const size_t from = at && !other ? (size_t)(at - line) + strlen(words[i]) : length;
        size_t end = from;
        bool named = false;
        for (; end < length && is_pod_byte(line[end]); end++)
            named = named || line[end] == '-' || assay_is_digit(line[end]);
        if (named && set_pod(line + from, end - from, e))
            return true;
    }
    size_t name = length, end = length; /* the word before the one that goes on */
    for (size_t at = 0; at < length;) {
        const size_t begin = at;
        while (at < length && line[at] != ' ' && line[at] != '\t')
            at++;
        text ready = {line + begin, at - begin};
        int64_t number;
        if (name < end && at > begin && take_number(&ready, 1, 3, &number) && skip_byte(&ready, '/') &&
            take_number(&ready, 1, 3, &number) && ready.left == 0)
            return set_pod(line + name, end - name, e);
        name = at > begin ? begin : name;
        end = at > begin ? at : end;
        while (at < length && (line[at] == ' ' || line[at] == '\t'))
            at++;
    }
    return false;
}

typedef struct section { /* what stands about a pod around a line */
    const char *name;    /* NULL: not known */
    size_t name_left;
    int64_t rank, processes, ranks; /* of the pod; its processes; all pods. -1 */
    bool unclear;                   /* it has several processes, and how many is not said */
    bool value_of_rank;             /* YAML: the next line has it */
} section;

/* The whole number that a line ends with, in quotes or not; -1. */
static int64_t number_of(text t)
{
    int64_t number = -1;
    skip_blanks(&t);
    (void)skip_byte(&t, '"');
    return take_number(&t, 1, 6, &number) ? number : -1;
}

/* How many processes an argument of a launcher asks for. */
static void take_processes(text t, section *s)
{
    const char *at = joblog_find(t.at, t.left, "nproc");
    size_t from = at ? (size_t)(at - t.at) + 5 : t.left;
    at = at ? at : joblog_find(t.at, t.left, "NPROC_PER_NODE:");
    from = at && from == t.left ? (size_t)(at - t.at) + 5 : from;
    while (from < t.left && !assay_is_digit(t.at[from]) && t.at[from] != ',' && t.at[from] != '\n')
        from++;
    if (!at)
        return;
    const int64_t number = from < t.left ? number_of((text){t.at + from, t.left - from}) : -1;
    s->processes = number > 0 ? number : s->processes;
    s->unclear = s->unclear || number <= 0;
}

/* Takes what a line of a section says. */
static void take_line(text t, section *s)
{
    const text whole = t;
    skip_blanks(&t);
    if (s->value_of_rank && skip_word(&t, "value:") && s->rank < 0)
        s->rank = number_of(t);
    s->value_of_rank = false;
    if (skip_word(&t, "- name: RANK") && t.left == 0)
        s->value_of_rank = true;
    else if (skip_word(&t, "RANK: ") && s->rank < 0)
        s->rank = number_of(t);
    else if (skip_word(&t, "WORLD_SIZE: "))
        s->ranks = number_of(t);
    else
        take_processes(whole, s);
}

/* Does a description, or one item of a list, begin with the line? *name: with which name. */
static bool is_begin(text t, text *name)
{
    if (skip_word(&t, "Name: ")) {
        skip_blanks(&t);
        *name = t;
        return true;
    }
    return false;
}

/* Goes back to where the section begins, and gives that place in the reader's bytes. */
static size_t find_begin(const joblog_reader *r, size_t place, section *s)
{
    text name = {NULL, 0};
    size_t begin = place;
    for (int lines = 0; begin > 0 && lines < LINES_MOST; lines++) {
        size_t end = begin;
        while (end > 0 && joblog_is_end(r->bytes[end - 1]))
            end--;
        const size_t from = joblog_last_begin(r->bytes, end);
        text t = {r->bytes + from, end - from}, plain = t;
        skip_blanks(&plain);
        const size_t indent = t.left - plain.left;
        begin = from;
        if (is_begin(t, &name) || (plain.left == 9 && memcmp(plain.at, "metadata:", 9) == 0 && name.at))
            break;
        if (indent > 0 && indent <= 6 && skip_word(&plain, "name: "))
            name = plain;
        if (from == 0)
            break;
    }
    s->name = name.at;
    s->name_left = name.left;
    return begin;
}

void joblog_take_pod(const joblog_reader *r, const joblog_line *line, assay_log_event *e)
{
    section s = {.rank = -1, .processes = -1, .ranks = -1};
    if (take_from_line(line->text, line->length, e))
        return;
    size_t at = find_begin(r, line->place, &s);
    if (!s.name || !set_pod(s.name, s.name_left, e))
        return;
    for (int lines = 0; at < r->have && lines < 2 * LINES_MOST; lines++) {
        size_t end = at;
        while (end < r->have && !joblog_is_end(r->bytes[end]))
            end++;
        const text t = {r->bytes + at, end - at};
        text name, item = t;
        if (at > line->place && (is_begin(t, &name) || skip_word(&item, "- apiVersion:")))
            break;
        take_line(t, &s);
        at = end + 1;
    }
    const int64_t each = s.processes > 0 ? s.processes : 1;
    if (s.rank < 0 || s.unclear || (s.ranks >= 0 && s.rank >= s.ranks))
        return;
    e->rank = s.rank * each;
    if (each > 1)
        snprintf(e->ranks, sizeof e->ranks, "%lld-%lld", (long long)e->rank, (long long)(e->rank + each - 1));
}
