/* dataloader.c - Dataloader: far fewer or far more loader processes than cores.
 *
 * Per node the number of processes that fetched a batch in each second, as far as its workers say which. Per slice with
 * a new second, once there are more than `patience` seconds: their median against the cores.
 *   too_few   below min_threshold percent of the cores
 *   too_many  above max_threshold percent */
#include <inttypes.h>
#include <stdlib.h>

#include <assay/search.h>

#include "timed.h"

enum { TOO_FEW, TOO_MANY, SECOND = 1000000 };
static const assay_param_def params[] = {DATALOADER_PARAMS(TIMED_OWN){0}};

typedef struct use { /* a process in a second */
    int64_t second;
    uint32_t process;
} use;

typedef struct node {
    uint32_t number;
    use *uses;
    uint64_t count, room;
    uint64_t *counts; /* [most + 1] how many seconds had so many processes */
    uint64_t seconds, most;
} node;

ASSAY_ORDER_BY(compare_uses, use, second, process)

static int64_t second_of(int64_t time)
{
    return time / SECOND - (time % SECOND < 0);
}

/* Processes in the second that follows `before` others, in the order of how many processes each second has. */
static uint64_t processes_at(const node *n, uint64_t before)
{
    uint64_t processes = 0;
    for (uint64_t until = n->counts[0]; until <= before; until += n->counts[processes])
        processes++;
    return processes;
}

/* Of one second or more. */
static int64_t median_of(const node *n)
{
    const uint64_t upper = processes_at(n, n->seconds / 2);
    return (int64_t)(n->seconds % 2 ? upper : (processes_at(n, n->seconds / 2 - 1) + upper) / 2);
}

static void test_slice(timed *t, const node *n, int64_t slice)
{
    const int64_t cores = t->line->cores[n->number], fewest = timed_int(t, "min_threshold"),
                  most = timed_int(t, "max_threshold");
    if (cores == 0 || n->seconds <= (uint64_t)timed_int(t, "patience"))
        return;
    const int64_t median = median_of(n);
    const double percent = 100.0 * (double)median;
    const double few = (double)cores * (double)fewest, many = (double)cores * (double)most;
    const bool too_few = percent<few, too_many = percent> many;
    const timed_finding finding = {.time = timed_slice_end(t, slice),
                                   .slice = slice,
                                   .order = n->number,
                                   .worker = t->line->node[n->number],
                                   .unit = "",
                                   .test = too_few ? TOO_FEW : TOO_MANY,
                                   .value = (double)median,
                                   .threshold = (too_few ? few : many) / 100.0};
    timed_test(t, too_few || too_many, &finding);
}

static void put_details(timed *t, const node *n, bool first)
{
    const assay_timeline *line = t->line;
    const assay_loader_start *latest = NULL;
    assay_buf *out = &t->details;
    for (uint64_t i = 0; i < line->loader_starts; i++)
        if (line->worker[line->loader_start[i].worker].node == n->number)
            latest = &line->loader_start[i];
    assay_put_format(out, first ? "{\"node\": " : ", {\"node\": ");
    assay_json_put_text(out, line->node[n->number]);
    assay_put_format(out, ", \"cores\": %" PRIu32 ", \"seconds\": %" PRIu64 ", \"median\": ", line->cores[n->number],
                     n->seconds);
    if (line->cores[n->number] > 0 && n->seconds > 0)
        assay_put_format(out, "%" PRId64, median_of(n));
    else
        assay_put_format(out, "null");
    assay_put_format(out, ", \"pin_memory\": %s, \"num_workers\": ",
                     !latest || latest->pin_memory < 0 ? "null"
                     : latest->pin_memory              ? "true"
                                                       : "false");
    if (latest && latest->num_workers >= 0)
        assay_put_format(out, "%" PRId64 "}", latest->num_workers);
    else
        assay_put_format(out, "null}");
}

/* The processes of the second that begins at use `first`; *end is the first use behind it. */
static uint64_t count_processes(const node *n, uint64_t first, uint64_t *end)
{
    uint64_t processes = 0;
    for (*end = first; *end < n->count && n->uses[*end].second == n->uses[first].second; ++*end)
        processes += *end == first || n->uses[*end].process != n->uses[*end - 1].process;
    return processes;
}

static void evaluate_node(timed *t, node *n)
{
    if (n->count > 1)
        qsort(n->uses, (size_t)n->count, sizeof *n->uses, compare_uses);
    for (uint64_t i = 0, end; i < n->count; i = end) {
        const uint64_t processes = count_processes(n, i, &end);
        n->most = processes > n->most ? processes : n->most;
    }
    n->counts = timed_alloc(t, n->most + 1, sizeof *n->counts);
    for (uint64_t i = 0, end; n->counts && i < n->count; i = end) {
        n->counts[count_processes(n, i, &end)]++;
        n->seconds++;
        const int64_t slice = timed_slice(t, n->uses[i].second * SECOND);
        if (end == n->count || timed_slice(t, n->uses[end].second * SECOND) != slice)
            test_slice(t, n, slice);
    }
}

static void add_use(timed *t, node *n, const assay_loader_event *event)
{
    if (n->count == n->room) {
        const uint64_t room = n->room ? 2 * n->room : 64;
        use *grown = realloc(n->uses, (size_t)room * sizeof *grown);
        if (!grown) {
            t->status = ASSAY_ENOMEM;
            return;
        }
        n->uses = grown;
        n->room = room;
    }
    n->uses[n->count++] = (use){second_of(event->start), event->process};
}

void dataloader_evaluate(timed *t)
{
    const assay_timeline *line = t->line;
    node *nodes = timed_alloc(t, line->nodes, sizeof *nodes);
    bool *shown = timed_alloc(t, line->nodes, sizeof *shown), first = true;
    for (uint64_t i = 0; i < line->loaders && t->status == ASSAY_OK; i++) {
        const assay_loader_event *event = &line->loader[i];
        const uint32_t number = line->worker[event->worker].node;
        if (!timed_sees_time(t, event->start) || !timed_sees_worker(t, event->worker))
            continue;
        t->samples++;
        shown[number] = true;
        if (event->process != ASSAY_NO_PROCESS)
            add_use(t, &nodes[number], event);
    }
    assay_put_format(&t->details, "{\"nodes\": [");
    for (uint32_t i = 0; nodes && i < line->nodes && t->status == ASSAY_OK; i++) {
        nodes[i].number = i;
        if (!shown[i])
            continue;
        evaluate_node(t, &nodes[i]);
        if (t->status == ASSAY_OK)
            put_details(t, &nodes[i], first);
        first = false;
    }
    assay_put_format(&t->details, "]}");
    for (uint32_t i = 0; nodes && i < line->nodes; i++) {
        free(nodes[i].uses);
        free(nodes[i].counts);
    }
    free(nodes);
    free(shown);
}

TIMED_FINALIZE(dataloader_evaluate)

const assay_rule_ops assay_rule_dataloader = {
    ASSAY_RULE_HEAD,
    .name = "Dataloader",
    .summary = "Far fewer or far more loader processes than cores.",
    .advice = "Change the number of loader processes.",
    .value_units = ASSAY_TEXTS("loader process(es)"),
    .sentences = ASSAY_TEXTS([TOO_FEW] = "{worker} had too few data loader processes at {when}",
                             [TOO_MANY] = "{worker} had too many data loader processes at {when}"),
    .params = params,
    .tests = ASSAY_TEXTS("too_few", "too_many"),
    TIMED_RULE_STATE,
    .finalize = finalize,
};
