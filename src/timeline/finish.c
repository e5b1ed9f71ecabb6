/* finish.c - makes the timeline of what was collected: nodes and workers in natural order, and everything else numbered
 * and sorted by them. series.c has the samples. */
#include "timeline/finish.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

void assay_timeline_free(assay_timeline_data *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; t->worker && i < t->line.workers; i++)
        free((void *)(uintptr_t)t->worker[i].events);
    for (uint64_t i = 0; t->series && i < t->line.series_count; i++)
        free((void *)(uintptr_t)t->series[i].sample);
    for (size_t i = 0; i < t->others; i++)
        free(t->other[i].sample);
    free(t->other);
    free(t->worker);
    free((void *)t->node);
    free((void *)t->mode);
    free(t->cores);
    free(t->series);
    free(t->step);
    free(t->loader);
    free(t->loader_start);
    free(t->total);
    free(t->edge);
    free(t->cell);
    free(t->problem);
    free(t->odd);
    assay_dict_free(t->texts);
    free(t);
}

const char *assay_timeline_text(const assay_timeline_data *t, uint32_t text)
{
    return assay_dict_name(t->texts, text, NULL);
}

/* ---- names in order ---- */

typedef struct named {
    const char *name;
    uint32_t number;
} named;

static int compare_natural(const void *a, const void *b)
{
    return assay_natural_order(((const named *)a)->name, ((const named *)b)->name);
}

static int compare_bytes(const void *a, const void *b)
{
    return strcmp(((const named *)a)->name, ((const named *)b)->name);
}

/* Sorts a list; what files have in order already stays as it is. */
static void sort(void *list, uint64_t count, size_t size, int (*compare)(const void *, const void *))
{
    const char *at = list;
    for (uint64_t i = 1; i < count; i++, at += size)
        if (compare(at, at + size) > 0) {
            qsort(list, (size_t)count, size, compare);
            return;
        }
}

/* ---- nodes ---- */

static int add_node(finisher *f, uint32_t text)
{
    if (f->node_of[text] != ASSAY_NO_ID)
        return ASSAY_OK;
    f->node_of[text] = (uint32_t)f->nodes.count;
    named *row = rows_add(&f->nodes, sizeof *row);
    ASSAY_HAVE(row);
    *row = (named){assay_dict_name(f->c->texts, text, NULL), text};
    return ASSAY_OK;
}

/* Guesses the node of a worker whose name does not tell: the longest one, of those that have samples, that the name
 * ends in. */
static uint32_t guess_node(const finisher *f, size_t sampled, const worker *w)
{
    size_t length = 0, longest = 0;
    uint32_t best = w->name;
    const char *name = assay_dict_name(f->c->texts, w->name, &length);
    for (size_t i = 0; i < sampled; i++) {
        const named *node = (const named *)f->nodes.list + i;
        const size_t size = strlen(node->name);
        if (size > longest && size < length && name[length - size - 1] == '-' &&
            strcmp(name + length - size, node->name) == 0) {
            longest = size;
            best = node->number;
        }
    }
    return best;
}

static int find_nodes(finisher *f)
{
    assay_collector *c = f->c;
    const uint32_t texts = assay_dict_count(c->texts);
    int status = ASSAY_OK;
    f->node_of = assay_alloc((texts + (size_t)1) * sizeof *f->node_of);
    ASSAY_HAVE(f->node_of);
    for (uint32_t i = 0; i < texts; i++)
        f->node_of[i] = ASSAY_NO_ID;
    for (uint32_t i = 0; i < c->series.count && status == ASSAY_OK; i++)
        if (series_at(c, i)->metric != ASSAY_METRIC_OTHER)
            status = add_node(f, series_at(c, i)->node);
    const size_t sampled = f->nodes.count;
    for (uint32_t i = 0; i < c->worker.count && status == ASSAY_OK; i++) {
        worker *w = worker_at(c, i);
        if (w->node == ASSAY_NO_ID)
            w->node = guess_node(f, sampled, w);
        status = add_node(f, w->node);
    }
    ASSAY_TRY(status);
    sort(f->nodes.list, f->nodes.count, sizeof(named), compare_natural);
    f->t->node = assay_alloc_zeroed(f->nodes.count, sizeof *f->t->node);
    f->t->cores = assay_alloc_zeroed(f->nodes.count, sizeof *f->t->cores);
    ASSAY_HAVE(f->t->node && f->t->cores);
    for (uint32_t i = 0; i < f->nodes.count; i++) {
        const named *node = (const named *)f->nodes.list + i;
        f->t->node[i] = node->name;
        f->node_of[node->number] = i;
    }
    /* A sample of each core is a unit: their number is that of the cores. */
    for (uint32_t i = 0; i < c->unit.count; i++)
        if (unit_at(c, i)->metric == ASSAY_METRIC_CPU)
            f->t->cores[f->node_of[unit_at(c, i)->node]]++;
    f->t->line.nodes = (uint32_t)f->nodes.count;
    return ASSAY_OK;
}

/* ---- workers ---- */

/* Numbers the workers in natural order. */
static int find_workers(finisher *f)
{
    assay_collector *c = f->c;
    rows list = {0};
    int status = ASSAY_OK;
    f->worker_of = assay_alloc((c->worker.count + 1) * sizeof *f->worker_of);
    f->t->worker = assay_alloc_zeroed(c->worker.count, sizeof *f->t->worker);
    if (!f->worker_of || !f->t->worker)
        status = ASSAY_ENOMEM;
    for (uint32_t i = 0; i < c->worker.count && status == ASSAY_OK; i++) {
        named *row = rows_add(&list, sizeof *row);
        if (!row)
            status = ASSAY_ENOMEM;
        else
            *row = (named){assay_dict_name(c->texts, worker_at(c, i)->name, NULL), i};
    }
    if (status == ASSAY_OK)
        sort(list.list, list.count, sizeof(named), compare_natural);
    for (uint32_t i = 0; i < list.count && status == ASSAY_OK; i++) {
        const named *row = (const named *)list.list + i;
        worker *w = worker_at(c, row->number);
        f->worker_of[row->number] = i;
        f->t->worker[i] = (assay_timeline_worker){row->name, f->node_of[w->node], w->first, w->last, w->events};
        w->events = NULL; /* it moves */
        f->t->line.workers = i + 1;
    }
    free(list.list);
    return status;
}

/* ---- spans ---- */

ASSAY_ORDER_BY(compare_steps, assay_time_step, worker, start, duration, number, mode)

ASSAY_ORDER_BY(compare_loaders, assay_loader_event, worker, start, duration)

ASSAY_ORDER_BY(compare_starts, loader_start, start.start, start.worker, file)

/* Sorts modes by bytes; the steps get their numbers. */
static int find_modes(finisher *f)
{
    const uint32_t texts = assay_dict_count(f->c->texts);
    assay_time_step *step = f->c->step.list;
    uint32_t *mode_of = assay_alloc((texts + (size_t)1) * sizeof *mode_of);
    rows list = {0};
    int status = mode_of ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t i = 0; i < texts && mode_of; i++)
        mode_of[i] = ASSAY_NO_ID;
    for (size_t i = 0; i < f->c->step.count && status == ASSAY_OK; i++) {
        if (mode_of[step[i].mode] != ASSAY_NO_ID)
            continue;
        named *row = rows_add(&list, sizeof *row);
        if (!row) {
            status = ASSAY_ENOMEM;
            break;
        }
        *row = (named){assay_dict_name(f->c->texts, step[i].mode, NULL), step[i].mode};
        mode_of[step[i].mode] = 0;
    }
    f->t->mode = assay_alloc_zeroed(list.count, sizeof *f->t->mode);
    status = f->t->mode ? status : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        sort(list.list, list.count, sizeof(named), compare_bytes);
    for (uint32_t i = 0; i < list.count && status == ASSAY_OK; i++) {
        const named *row = (const named *)list.list + i;
        f->t->mode[i] = row->name;
        mode_of[row->number] = i;
        f->t->line.modes = i + 1;
    }
    for (size_t i = 0; i < f->c->step.count && status == ASSAY_OK; i++)
        step[i].mode = mode_of[step[i].mode];
    free(mode_of);
    free(list.list);
    return status;
}

/* Moves a list from the collector. */
static void *taken(rows *r, uint64_t *count)
{
    void *list = r->list;
    *count = r->count;
    *r = (rows){0};
    return list;
}

static int find_spans(finisher *f)
{
    assay_collector *c = f->c;
    assay_timeline_data *t = f->t;
    ASSAY_TRY(find_modes(f));
    t->step = taken(&c->step, &t->line.steps);
    for (uint64_t i = 0; i < t->line.steps; i++)
        t->step[i].worker = f->worker_of[t->step[i].worker];
    sort(t->step, t->line.steps, sizeof *t->step, compare_steps);
    t->loader = taken(&c->loader, &t->line.loaders);
    for (uint64_t i = 0; i < t->line.loaders; i++)
        t->loader[i].worker = f->worker_of[t->loader[i].worker];
    sort(t->loader, t->line.loaders, sizeof *t->loader, compare_loaders);
    loader_start *starts = c->loader_start.list;
    t->line.loader_starts = c->loader_start.count;
    t->loader_start = assay_alloc_zeroed(c->loader_start.count, sizeof *t->loader_start);
    ASSAY_HAVE(t->loader_start);
    for (size_t i = 0; i < c->loader_start.count; i++)
        starts[i].start.worker = f->worker_of[starts[i].start.worker];
    sort(starts, c->loader_start.count, sizeof *starts, compare_starts);
    for (size_t i = 0; i < c->loader_start.count; i++)
        t->loader_start[i] = starts[i].start;
    collector_sort_cells(c);
    t->cell = taken(&c->cell, &t->line.cells);
    return ASSAY_OK;
}

static int compare_totals(const void *a, const void *b)
{
    const assay_time_total *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int find_totals(finisher *f)
{
    assay_collector *c = f->c;
    const uint32_t count = assay_dict_count(c->totals);
    f->t->total = assay_alloc_zeroed(count, sizeof *f->t->total);
    ASSAY_HAVE(f->t->total);
    for (uint32_t i = 0; i < count; i++) {
        const char *key = assay_dict_name(c->totals, i, NULL);
        const uint32_t name = collector_text(c, key + 1, strlen(key + 1));
        if (name == ASSAY_NO_ID)
            return ASSAY_ENOMEM;
        f->t->total[i] = (assay_time_total){.time = ((const total *)c->total.list)[i].time, .kind = key[0]};
        f->t->line.totals = i + 1;
    }
    /* Adding names may move those that are there: pointers are taken once all are in. */
    for (uint32_t i = 0; i < count; i++) { /* names stay where they are from here on */
        const char *key = assay_dict_name(c->totals, i, NULL);
        f->t->total[i].name = assay_dict_name(c->texts, assay_dict_find(c->texts, key + 1, strlen(key + 1)), NULL);
    }
    sort(f->t->total, count, sizeof *f->t->total, compare_totals);
    return ASSAY_OK;
}

/* ---- problems ---- */

typedef struct problem_sort {
    const char *path;
    assay_timeline_problem problem;
} problem_sort;

static int compare_problems(const void *a, const void *b)
{
    const problem_sort *x = a, *y = b;
    const int order = assay_natural_order(x->path, y->path);
    if (order)
        return order;
    if (x->problem.line != y->problem.line)
        return x->problem.line < y->problem.line ? -1 : 1;
    return (x->problem.kind > y->problem.kind) - (x->problem.kind < y->problem.kind);
}

static int find_problems(finisher *f)
{
    const size_t count = f->c->problem.count;
    const assay_timeline_problem *from = f->c->problem.list;
    problem_sort *list = assay_alloc(count * sizeof *list);
    f->t->problem = assay_alloc_zeroed(count, sizeof *f->t->problem);
    const bool have = list && f->t->problem;
    for (size_t i = 0; have && i < count; i++)
        list[i] = (problem_sort){f->files->list[from[i].file].path, from[i]};
    if (have)
        sort(list, count, sizeof *list, compare_problems);
    for (size_t i = 0; have && i < count; i++)
        f->t->problem[i] = list[i].problem;
    f->t->problems = have ? count : 0;
    f->t->problems_total = f->c->problems_total;
    free(list);
    return have ? ASSAY_OK : ASSAY_ENOMEM;
}

ASSAY_ORDER_BY(compare_odd, assay_timeline_oddity, file, kind)

static void find_odd(finisher *f)
{
    uint64_t count = 0;
    f->t->odd = taken(&f->c->odd, &count);
    f->t->odds = (size_t)count;
    sort(f->t->odd, count, sizeof *f->t->odd, compare_odd);
}

/* ---- the whole ---- */

/* Finds when the data begins and ends, and the minute that slices count from. */
static void find_ends(assay_timeline *l)
{
    l->start = l->end = l->origin = ASSAY_NO_TIME;
    for (uint64_t i = 0; i < l->series_count; i++) {
        const assay_metric_series *s = &l->series[i];
        if (s->count == 0)
            continue;
        l->start = l->start == ASSAY_NO_TIME || s->sample[0].time < l->start ? s->sample[0].time : l->start;
        l->end = s->sample[s->count - 1].time > l->end ? s->sample[s->count - 1].time : l->end;
    }
    for (uint32_t i = 0; l->samples == 0 && i < l->workers; i++) {
        if (l->worker[i].first > l->worker[i].last)
            continue; /* no event */
        l->start = l->start == ASSAY_NO_TIME || l->worker[i].first < l->start ? l->worker[i].first : l->start;
        l->end = l->worker[i].last > l->end ? l->worker[i].last : l->end;
    }
    if (l->start != ASSAY_NO_TIME) {
        /* Before 1970 the rest is negative; slices still begin at or before the start. */
        const int64_t rest = l->start % ASSAY_TIMELINE_MINUTE;
        l->origin = l->start - rest - (rest < 0 ? ASSAY_TIMELINE_MINUTE : 0);
    }
}

static void fill_line(finisher *f)
{
    assay_collector *c = f->c;
    assay_timeline_data *t = f->t;
    assay_timeline *l = &t->line;
    l->node = (const char *const *)t->node;
    l->cores = t->cores;
    l->worker = t->worker;
    l->mode = (const char *const *)t->mode;
    l->series = t->series;
    l->step = t->step;
    l->loader = t->loader;
    l->loader_start = t->loader_start;
    l->total = t->total;
    l->edge = t->edge;
    l->edges = c->want->edges;
    l->cell = t->cell;
    l->cell_size = c->want->cell_size;
    l->samples = c->used - l->duplicates;
    l->other_samples = c->other_samples;
    l->other_events = c->other_events;
    l->ended = f->files->ended;
    for (int i = 0; i < ASSAY_EVENT_KINDS; i++) {
        t->events_by_kind[i] = c->by_kind[i];
        l->events += c->by_kind[i];
    }
    t->system_files = c->files;
    t->framework_files = c->timelines;
    find_ends(l);
}

/* Called last, on the rank that has joined all. `*again` says that nothing was made: the files have to be read anew
 * with `exact`. */
int assay_collector_finish(assay_collector *c, const assay_event_files *files, assay_timeline_data **out, bool *again)
{
    finisher f = {.c = c, .files = files, .t = assay_alloc_zeroed(1, sizeof *f.t)};
    int status = f.t ? collector_pair_halves(c, &f.t->line.unmatched) : ASSAY_ENOMEM;
    *again = c->again;
    ASSAY_THEN(status, find_totals(&f)); /* the last that adds names */
    ASSAY_THEN(status, find_nodes(&f));
    ASSAY_THEN(status, find_workers(&f));
    ASSAY_THEN(status, finisher_find_series(&f, again));
    if (status == ASSAY_OK && !*again)
        status = find_spans(&f);
    if (status == ASSAY_OK && !*again)
        status = find_problems(&f);
    if (status == ASSAY_OK && !*again)
        find_odd(&f);
    if (status == ASSAY_OK && !*again && c->want->edges > 0) {
        f.t->edge = assay_alloc(c->want->edges * sizeof *f.t->edge);
        status = f.t->edge ? ASSAY_OK : ASSAY_ENOMEM;
        if (f.t->edge)
            memcpy(f.t->edge, c->want->edge, c->want->edges * sizeof *f.t->edge);
    }
    free(f.nodes.list);
    free(f.node_of);
    free(f.worker_of);
    if (status != ASSAY_OK || *again) {
        assay_timeline_free(f.t);
        return status;
    }
    fill_line(&f);
    f.t->texts = c->texts;
    c->texts = NULL;
    *out = f.t;
    return ASSAY_OK;
}
