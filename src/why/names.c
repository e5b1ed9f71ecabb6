/* names.c - who wrote an output, where only names of several files together tell it, or those of nodes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/path.h"
#include "base/search.h"
#include "container/suffixes.h"
#include "why/internal.h"

typedef struct numbered { /* an output of a series: "worker0.err", "worker1.err" */
    why_place *place;
    const char *name;             /* behind the directory */
    size_t directory, head, tail; /* bytes of the path up to the name, up to the number, and from behind it */
    int64_t number;
    bool ranks;     /* some line names its rank itself */
    double written; /* when the last line was; NAN: it does not say the date */
} numbered;

typedef ASSAY_VEC(numbered) series;

static bool is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* The length of a name without what says its kind: "worker0.err.gz" has 7. */
static size_t stem_of(const char *name)
{
    const size_t length = strlen(name) - (assay_path_ends(name, ".gz") ? 3 : 0);
    const size_t before = assay_suffix_before(name, length, ASSAY_SUFFIX_OUTPUT);
    return before > 0 ? before : length;
}

/* Is it a word for one of the processes of a training, or for what it writes, that may stand before a number? Attempts, parts and
 * nodes have numbers, too. */
static bool is_writer(const char *word, size_t length)
{
    static const char *const words[] = {"worker", "process", "trainer", "log",    "out",
                                        "err",    "output",  "stdout",  "stderr", "gpu"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], word, length) == 0)
            return true;
    return false;
}

/* "logs/worker3.err", "log_3.txt". False: it is none of a series. */
static bool read_number(why_place *place, numbered *out)
{
    const char *slash = strrchr(place->path, '/'), *name = slash ? slash + 1 : place->path;
    const size_t stem = stem_of(name);
    size_t digits = stem, word;
    while (digits > 0 && assay_is_digit(name[digits - 1]))
        digits--;
    word = digits - (digits > 0 && strchr("_-.", name[digits - 1]));
    size_t from = word;
    while (from > 0 && is_letter(name[from - 1]))
        from--;
    if (digits == stem || stem - digits > 6 || !is_writer(name + from, word - from))
        return false;
    const size_t directory = (size_t)(name - place->path);
    *out = (numbered){.place = place,
                      .name = name,
                      .directory = directory,
                      .head = directory + digits,
                      .tail = directory + stem,
                      .number = strtoll(name + digits, NULL, 10),
                      .written = NAN};
    return true;
}

/* By directory last, so that series of the same names lie side by side. */
static int order_of_series(const numbered *a, const numbered *b)
{
    const size_t x = a->head - a->directory, y = b->head - b->directory;
    int order = ASSAY_ORDER(x, y);
    order = order ? order : memcmp(a->name, b->name, x);
    order = order ? order : strcmp(a->place->path + a->tail, b->place->path + b->tail);
    return order;
}

static int by_series(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    int order = order_of_series(x, y);
    order = order ? order : ASSAY_ORDER(x->directory, y->directory);
    order = order ? order : memcmp(x->place->path, y->place->path, x->directory);
    return order ? order : ASSAY_ORDER(x->number, y->number);
}

static bool is_same_directory(const numbered *a, const numbered *b)
{
    return a->directory == b->directory && memcmp(a->place->path, b->place->path, a->directory) == 0;
}

/* Does each end well after the one before? So do attempts: ranks of one launch end together, or in any order. */
static bool are_attempts(const numbered *list, size_t count)
{
    enum { APART = 60 }; /* seconds */
    bool are = count > 1;
    for (size_t i = 1; i < count && are; i++)
        are = list[i].written > list[i - 1].written + APART; /* false of a date that is not known */
    return are;
}

/* Files of one directory that are numbered from 0 on are those of ranks; of the same in several directories, of local ones. */
static void take_series(numbered *list, size_t count)
{
    bool several = false;
    for (size_t i = 1; i < count; i++)
        several = several || !is_same_directory(&list[i - 1], &list[i]);
    for (size_t i = 0, end; i < count; i = end) {
        bool whole = true;
        for (end = i; end < count && is_same_directory(&list[i], &list[end]); end++)
            whole = whole && list[end].number == (int64_t)(end - i) && !list[end].ranks;
        whole = whole && end - i > 1 && !are_attempts(&list[i], end - i);
        for (size_t k = i; k < end && whole; k++)
            *(several ? &list[k].place->local_rank : &list[k].place->rank) = list[k].number;
    }
}

/* The node of a kernel's log by its name: "dmesg-n0123.txt", "messages.dgx-3". False without memory. */
static bool take_node(const why_facts *facts, why_place *place)
{
    static const char *const words[] = {"dmesg", "messages", "syslog", "kern", "journal", "kernel"};
    const char *slash = strrchr(place->path, '/'), *name = slash ? slash + 1 : place->path, *node = facts->node;
    size_t front = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words && front == 0; i++)
        if (strncmp(name, words[i], strlen(words[i])) == 0 && strchr("._-", name[strlen(words[i])]))
            front = strlen(words[i]) + 1;
    const size_t stem = stem_of(name);
    if (place->node || front == 0 || stem <= front || stem - front > WHY_NODE_MOST)
        return true;
    bool known = facts->nodes == 0 && is_letter(name[front]) && strcspn(name + front, "0123456789") < stem - front;
    for (size_t n = 0; n < facts->nodes && !known; n++, node += strlen(node) + 1)
        known = strlen(node) == stem - front && memcmp(node, name + front, stem - front) == 0;
    if (known)
        place->node = assay_copy_bytes_as_text(name + front, stem - front);
    return !known || place->node;
}

int64_t why_rank_of_row(const why_place *place, const assay_log_rank *row)
{
    if (place->base >= 0 && row->rank >= 0)
        return place->base + row->rank;
    if (row->rank >= 0 || place->rank >= 0)
        return row->rank >= 0 ? row->rank : place->rank;
    return place->base >= 0 && place->local_rank >= 0 ? place->base + place->local_rank : place->local_rank;
}

/* Outputs of nodes that are numbered from 0 on, each of as many local ranks as the others ("node_2.log" with "[default3]:"): the
 * ranks of node 2 follow on those of node 1, as torchrun deals them out. False without memory. */
static bool take_blocks(assay_why *why)
{
    enum { NODES_MOST = 65536 };
    int32_t *most = assay_alloc_zeroed(NODES_MOST, sizeof *most); /* local ranks of each */
    int64_t nodes = 0;
    bool even = true;
    if (!most)
        return false;
    for (size_t f = 0; f < why->file.count && even; f++) {
        const assay_log_file *file = &why->file.list[f];
        const why_place *place = &why->places.list.list[file->file];
        const int64_t node = place->node_number;
        if (node < 0)
            continue;
        even = node < NODES_MOST && place->rank < 0;
        nodes = even && node >= nodes ? node + 1 : nodes;
        int64_t highest = place->local_rank;
        for (size_t r = 0; r < file->rank.count && place->local_rank < 0; r++)
            highest = file->rank.list[r].rank > highest ? file->rank.list[r].rank : highest;
        if (even && highest + 1 > most[node])
            most[node] = (int32_t)(highest + 1);
    }
    for (int64_t n = 0; n < nodes && even; n++)
        even = most[n] > 0 && most[n] == most[0];
    for (size_t f = 0; f < why->file.count && even && nodes > 1; f++) {
        why_place *place = &why->places.list.list[why->file.list[f].file];
        place->base = place->node_number >= 0 ? place->node_number * most[0] : -1;
    }
    free(most);
    return true;
}

typedef ASSAY_VEC(const char *) pod_names; /* borrowed from events */

enum { PODS_MOST = 64 };

/* Pods that events say the end of. */
static bool list_pods(const assay_why *why, pod_names *out)
{
    for (size_t f = 0; f < why->file.count; f++)
        for (size_t k = 0; k < why->file.list[f].event.count && out->count < PODS_MOST; k++) {
            const assay_log_event *e = &why->file.list[f].event.list[k];
            if (!e->node[0] || !assay_signature_is_of_pod(e->signature))
                continue;
            const char **added = ASSAY_VEC_ADD(out);
            if (!added)
                return false;
            *added = e->node;
        }
    return true;
}

/* Is an output a pod's, by its name or that of a directory: "logs/train-worker-3.log", "train-worker-3/pytorch.log",
 * "train-worker-3_pytorch.log"? False without memory. */
static bool take_pod(const pod_names *pods, why_place *place)
{
    bool made = true;
    for (size_t i = 0; i < pods->count && !place->node && made; i++) {
        const size_t length = strlen(pods->list[i]);
        for (const char *at = place->path; *at && !place->node && made; at += strcspn(at, "/"), at += *at == '/')
            if (strncmp(at, pods->list[i], length) == 0 && strchr("/._", at[length]))
                made = (place->node = assay_copy_text(pods->list[i])) != NULL;
    }
    return made;
}

bool why_name_writers(assay_why *why)
{
    pod_names pods = {0};
    series list = {0};
    bool made = list_pods(why, &pods);
    for (size_t f = 0; f < why->file.count && made; f++) {
        const assay_log_file *file = &why->file.list[f];
        why_place *place = &why->places.list.list[file->file];
        numbered one;
        made = take_node(&why->facts, place) && take_pod(&pods, place);
        if (!made || place->rank >= 0 || place->local_rank >= 0 || !read_number(place, &one))
            continue;
        for (size_t r = 0; r < file->rank.count; r++) {
            const assay_log_rank *row = &file->rank.list[r];
            one.ranks = one.ranks || row->rank >= 0;
            if (row->timed == ASSAY_LOG_DATED && !(row->last_time <= one.written))
                one.written = row->last_time;
        }
        numbered *added = ASSAY_VEC_ADD(&list);
        made = added != NULL;
        if (made)
            *added = one;
    }
    if (list.count > 1)
        qsort(list.list, list.count, sizeof *list.list, by_series);
    for (size_t i = 0, end; i < list.count && made; i = end) {
        for (end = i + 1; end < list.count && order_of_series(&list.list[i], &list.list[end]) == 0; end++)
            continue;
        take_series(&list.list[i], end - i);
    }
    free(list.list);
    free(pods.list);
    return made && take_blocks(why);
}
