/* front.c - what stands in front of lines in a way that nobody knows: a traceback shows it, since its first line and its frames are
 * written as Python writes them, behind it; so does torchrun's root cause. */
#include <math.h>
#include <string.h>

#include "base/path.h"
#include "format/joblog/joblog.h"

/* The bytes of a line that have the form of a front, in which '0' stands for a number of any length; 0: it has another one. */
static size_t front_length(const char *form, const char *line, size_t length)
{
    size_t at = 0;
    for (; *form; form++) {
        if (at >= length || (*form == '0' ? !assay_is_digit(line[at]) : line[at] != *form))
            return 0;
        at++;
        while (*form == '0' && at < length && assay_is_digit(line[at]))
            at++;
    }
    return at;
}

/* Does "local_" stand before that byte, or "local"? */
static bool is_local(const char *low, size_t at)
{
    static const char word[] = "local";
    const size_t size = sizeof word - 1;
    return (at >= size && memcmp(low + at - size, word, size) == 0) ||
           (at > size && memcmp(low + at - size - 1, word, size) == 0);
}

int64_t joblog_number_behind(const char *low, size_t length, const char *word)
{
    const size_t size = strlen(word);
    int64_t value = -1;
    for (const char *at = low; value < 0 && (at = joblog_find(at, length - (size_t)(at - low), word)) != NULL; at++) {
        size_t from = (size_t)(at - low) + size, digits = 0;
        if (strcmp(word, "rank") == 0 && is_local(low, (size_t)(at - low)))
            continue;
        if (from + 1 < length && memcmp(low + from, "id", 2) == 0)
            from += 2; /* "RankID:3" */
        if (from < length && (low[from] == '-' || low[from] == '_'))
            from++; /* "rank-3"; "rank: -1" is none */
        while (from < length && low[from] && strchr(" :=/[(#", low[from]))
            from++;
        int64_t number = 0;
        for (; from < length && digits < 7 && assay_is_digit(low[from]); from++, digits++)
            number = 10 * number + (low[from] - '0');
        value = digits > 0 ? number : -1;
    }
    return value;
}

/* The number that stands alone at the beginning: "[3] ", "3> ", "3| ", "r3: "; -1. */
static int64_t number_alone(const char *low, size_t length)
{
    size_t at = 0;
    int64_t value = 0;
    while (at < length && strchr("[(<r ", low[at]))
        at++;
    const size_t begin = at;
    for (; at < length && at - begin < 7 && assay_is_digit(low[at]); at++)
        value = 10 * value + (low[at] - '0');
    while (at > begin && at < length && strchr("])>|: ", low[at]))
        at++;
    return at > begin && at == length ? value : -1;
}

/* The same at the end, behind a blank: "n2.cluster.org: 3: ". */
static int64_t number_last(const char *low, size_t length)
{
    size_t at = length;
    while (at > 0 && strchr("])>|: ", low[at - 1]))
        at--;
    while (at > 0 && assay_is_digit(low[at - 1]))
        at--;
    return at > 1 && strchr(" [", low[at - 1]) ? number_alone(low + at, length - at) : -1;
}

void joblog_node_in_front(const char *front, size_t length, char *node, size_t room)
{
    size_t name = 0, digits = 0, letters = 0;
    while (name < length && (assay_is_digit(front[name]) || strchr(".-_", front[name]) ||
                             ((front[name] | 0x20) >= 'a' && (front[name] | 0x20) <= 'z')))
        if (front[name] >= 'A' && front[name] <= 'Z')
            return; /* which names of nodes do not have */
        else if (assay_is_digit(front[name++]))
            digits++;
        else
            letters++;
    size_t end = 0;
    while (end < name && front[end] != '.')
        end++;
    if (letters > 0 && digits > 0 && name < length && front[name] == ':' && end < room) {
        memcpy(node, front, end);
        node[end] = '\0';
    }
}

size_t joblog_front_read(const joblog_reader *r, const char *line, size_t length, joblog_prefix *out)
{
    static const char *const ranks[] = {"rank", "worker", "task", "proc", "trainer", "node"};
    static const char *const locals[] = {"local_rank", "local rank", "localrank", "gpu", "device"};
    char low[sizeof r->front + 64];
    const size_t size = front_length(r->front, line, length);
    if (size == 0)
        return 0;
    const size_t small = joblog_lower(line, size, low, sizeof low);
    joblog_prefix_read(line, size, out);
    out->rank = out->local_rank = -1;
    for (size_t i = 0; i < sizeof locals / sizeof *locals && out->local_rank < 0; i++)
        out->local_rank = joblog_number_behind(low, small, locals[i]);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks && out->rank < 0; i++)
        out->rank = joblog_number_behind(low, small, ranks[i]);
    if (out->rank < 0 && out->local_rank < 0)
        out->rank = number_alone(low, small);
    if (out->rank < 0 && out->local_rank < 0)
        out->rank = number_last(low, small);
    if (!out->node[0])
        joblog_node_in_front(line, size, out->node, sizeof out->node);
    return size;
}

/* Does a line that has the front stand among those from byte `at` on, and behind the front what follows a head? Lines of other ranks may
 * come between. */
static bool is_shown(const joblog_reader *r, const char *form, size_t at, const char *behind)
{
    enum { LINES = 32 };
    const size_t size = strlen(behind);
    for (int i = 0; i < LINES && at < r->have; i++) {
        const char *end = memchr(r->bytes + at, '\n', r->have - at);
        const size_t length = end ? (size_t)(end - r->bytes) - at : r->have - at,
                     front = front_length(form, r->bytes + at, length);
        if (front > 0 && length - front >= size && memcmp(r->bytes + at + front, behind, size) == 0)
            return true;
        at += length + 1;
    }
    return false;
}

void joblog_front_learn(joblog_reader *r, const joblog_line *line)
{
    static const struct {
        const char *head, *next;
    } SHOWN[] = {{"Traceback (most recent call last)", "  File \""}, {"Root Cause (first observed failure)", "["}};
    char form[sizeof r->front];
    size_t put = 0;
    const char *at = NULL, *behind = "";
    for (size_t i = 0; i < sizeof SHOWN / sizeof *SHOWN && !at && line->text == r->bytes + line->place; i++) {
        at = joblog_find(line->text, line->length, SHOWN[i].head);
        behind = SHOWN[i].next;
    }
    const size_t front = at ? (size_t)(at - line->text) : 0;
    if (front <= line->prefix.length)
        return;
    for (size_t i = 0; i < front && put + 1 < sizeof form; i++)
        if (!assay_is_digit(line->text[i]) || put == 0 || form[put - 1] != '0')
            form[put++] = assay_is_digit(line->text[i]) ? '0' : line->text[i];
    form[put] = '\0';
    if (put + 1 == sizeof form || front_length(form, line->text, front) != front || strcmp(form, r->front) == 0 ||
        !is_shown(r, form, line->place + line->length + 1, behind))
        return;
    memcpy(r->front, form, put + 1);
    memset(r->memo, 0, r->memos * sizeof *r->memo); /* what they say of lines was read otherwise */
    memset(r->form, 0, r->forms * sizeof *r->form);
}
