/* profile_missing.c - how often the machines were sampled, and where nodes and workers have nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/model/profile.h"

/* TOGETHER as in rules/parts/bottleneck.c. LONGEST: half a minute, far above any interval of sampling. */
enum { TOGETHER = 20000, LONGEST = 30000000 /* microseconds */ };

static void add_gap(profile *p, profile_gap gap)
{
    if (p->gaps == p->gap_room) {
        const size_t room = p->gap_room ? 2 * p->gap_room : 16;
        profile_gap *grown = assay_realloc_array(p->gap, room, sizeof *grown);
        if (!grown) {
            p->status = ASSAY_ENOMEM;
            return;
        }
        p->gap = grown;
        p->gap_room = room;
    }
    p->gap[p->gaps++] = gap;
}

/* Lists the times of all samples of a node, ascending: of the series from *at on, which are sorted by node. *at:
 * behind them. */
static int64_t *times_of(profile *p, uint32_t node, uint64_t *at, uint64_t *count)
{
    const assay_timeline *line = p->line;
    const uint64_t first = *at;
    uint64_t most = 0;
    for (; *at < line->series_count && line->series[*at].node == node; ++*at)
        most += line->series[*at].count;
    int64_t *list = assay_alloc(most * sizeof *list);
    *count = 0;
    if (!list) {
        p->status = ASSAY_ENOMEM;
        return NULL;
    }
    for (uint64_t i = first; i < *at; i++)
        for (uint64_t k = 0; k < line->series[i].count; k++)
            list[(*count)++] = line->series[i].sample[k].time;
    assay_sort_integers(list, (size_t)*count);
    return list;
}

/* Notes the sampling of a node: times more than 20 ms behind the last anchor are the next one. The list is used
 * thrice in place: times, anchors, distances. */
static void sample_node(profile *p, uint32_t node, uint64_t *at)
{
    uint64_t count = 0, anchors = 0;
    int64_t *list = times_of(p, node, at, &count);
    if (!list || count == 0) {
        free(list);
        return;
    }
    profile_sampling *row = &p->sampling[p->samplings++];
    *row = (profile_sampling){.node = node, .first = list[0], .last = list[count - 1], .interval = ASSAY_NO_TIME};
    for (uint64_t i = 0; i < count; i++)
        if (anchors == 0 || list[i] - list[anchors - 1] > TOGETHER)
            list[anchors++] = list[i];
    row->anchors = anchors;
    for (uint64_t i = 1; i < anchors; i++)
        if (list[i] - list[i - 1] > LONGEST)
            add_gap(p, (profile_gap){"gap", p->line->node[node], false, list[i - 1], list[i]});
    for (uint64_t i = 1; i < anchors; i++)
        list[i - 1] = list[i] - list[i - 1];
    if (anchors > 1) {
        assay_sort_integers(list, (size_t)(anchors - 1));
        row->interval = list[(anchors - 2) / 2];
    }
    free(list);
}

/* From the first to the last time that something was recorded, in microseconds. */
typedef struct period {
    int64_t first, last;
} period;

static const period NEVER = {INT64_MAX, INT64_MIN};

static void extend(period *all, int64_t first, int64_t last)
{
    all->first = first < all->first ? first : all->first;
    all->last = last > all->last ? last : all->last;
}

/* Compares a beginning that is late and an end that is early with all. */
static void compare_ends(profile *p, const char *name, bool of_worker, period own, period all)
{
    if (own.first - all.first > LONGEST)
        add_gap(p,
                (profile_gap){of_worker ? "events_late_start" : "late_start", name, of_worker, all.first, own.first});
    if (all.last - own.last > LONGEST)
        add_gap(p, (profile_gap){of_worker ? "events_early_end" : "early_end", name, of_worker, own.last, all.last});
}

static void compare_nodes(profile *p)
{
    const assay_timeline *line = p->line;
    period all = NEVER;
    for (size_t i = 0; i < p->samplings; i++)
        extend(&all, p->sampling[i].first, p->sampling[i].last);
    for (size_t i = 0; i < p->samplings; i++)
        compare_ends(p, line->node[p->sampling[i].node], false, (period){p->sampling[i].first, p->sampling[i].last},
                     all);
    bool *works = assay_alloc_zeroed(line->nodes, sizeof *works);
    if (!works) {
        p->status = ASSAY_ENOMEM;
        return;
    }
    for (uint32_t w = 0; w < line->workers; w++)
        works[line->worker[w].node] = true;
    size_t at = 0; /* samplings are in the order of nodes */
    for (uint32_t node = 0; node < line->nodes; node++) {
        const bool sampled = at < p->samplings && p->sampling[at].node == node;
        at += sampled;
        if (works[node] && !sampled && p->samplings > 0)
            add_gap(p, (profile_gap){"no_system", line->node[node], false, 0, 0});
        if (sampled && !works[node] && line->events > 0)
            add_gap(p, (profile_gap){"no_framework", line->node[node], false, 0, 0});
    }
    free(works);
}

static void compare_workers(profile *p)
{
    const assay_timeline *line = p->line;
    period all = NEVER;
    for (uint32_t w = 0; w < line->workers; w++)
        extend(&all, line->worker[w].first, line->worker[w].last);
    /* A worker without events has an empty period, first behind last. */
    for (uint32_t w = 0; w < line->workers; w++)
        if (line->worker[w].first <= line->worker[w].last) /* it has events */
            compare_ends(p, line->worker[w].name, true, (period){line->worker[w].first, line->worker[w].last}, all);
}

static int compare_gaps(const void *a, const void *b)
{
    const profile_gap *x = a, *y = b;
    int order = strcmp(x->kind, y->kind);
    order = order ? order : assay_natural_order(x->name, y->name);
    return order ? order : (x->from > y->from) - (x->from < y->from);
}

void profile_find_missing(profile *p)
{
    if (p->status != ASSAY_OK)
        return;
    p->sampling = assay_alloc_zeroed(p->line->nodes, sizeof *p->sampling);
    if (!p->sampling) {
        p->status = ASSAY_ENOMEM;
        return;
    }
    uint64_t at = 0;
    for (uint32_t node = 0; node < p->line->nodes && p->status == ASSAY_OK; node++)
        sample_node(p, node, &at);
    compare_nodes(p);
    compare_workers(p);
    if (p->gaps > 1)
        qsort(p->gap, p->gaps, sizeof *p->gap, compare_gaps);
}

/* Ranks gaps: of several, the one that the sentence about the trial names. A node that stopped before all others
 * explains the worker that did. */
static size_t urgency(const profile_gap *gap)
{
    static const char *const order[] = {"early_end", "events_early_end", "gap", "no_system", "no_framework"};
    size_t i = 0;
    while (i < sizeof order / sizeof *order && strcmp(order[i], gap->kind) != 0)
        i++;
    return i;
}

void profile_put_gap_words(const profile_gap *gap, assay_buf *out)
{
    char from[REPORT_WHEN_ROOM], to[REPORT_WHEN_ROOM];
    if (strcmp(gap->kind, "no_system") == 0)
        assay_put_format(out, " has no system metrics");
    else if (strcmp(gap->kind, "no_framework") == 0)
        assay_put_format(out, " has no timeline");
    else
        assay_put_format(out, " recorded nothing from %s to %s", report_time(gap->from, from),
                         report_time(gap->to, to));
}

/* Makes only what it needs of a profile, so only that is freed. */
int profile_put_gap(const assay_trial_outcome *trial, const char *before, bool *said, assay_buf *out)
{
    *said = false;
    if (!trial->info || !trial->info->timeline)
        return ASSAY_OK;
    profile p = {.data = trial->info->timeline, .line = &trial->info->timeline->line};
    profile_find_missing(&p);
    const profile_gap *first = p.gap;
    size_t alike = 0;
    for (size_t i = 0; i < p.gaps; i++)
        if (urgency(&p.gap[i]) < urgency(first))
            first = &p.gap[i];
    for (size_t i = 0; i < p.gaps; i++)
        alike += strcmp(p.gap[i].kind, first->kind) == 0;
    *said = p.status == ASSAY_OK && first;
    if (*said) {
        assay_put_format(out, "%s", before);
        assay_put_bytes(out, first->name, strlen(first->name));
        profile_put_gap_words(first, out);
        if (alike > 1)
            assay_put_format(out, ", the first of %zu such gaps", alike);
    }
    free(p.gap);
    free(p.sampling);
    return p.status;
}
