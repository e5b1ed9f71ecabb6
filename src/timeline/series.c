/* series.c - samples in order of time, each (series, unit, time) once, and a node's own series over its units. */
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "timeline/finish.h"

/* By time, then file, then where it came in the file (which an exact collector has noted in place of the units). */
ASSAY_ORDER_BY(compare_samples, assay_sample, time, file, units, sum)

/* Sorts the samples of a series unless they are in order. False: a time comes twice. */
static bool sort_samples(rows *r)
{
    assay_sample *list = r->list;
    bool ascending = true, once = true;
    for (size_t i = 1; i < r->count && ascending; i++)
        ascending = list[i - 1].time < list[i].time;
    if (ascending)
        return true;
    qsort(list, r->count, sizeof *list, compare_samples);
    for (size_t i = 1; i < r->count && once; i++)
        once = list[i - 1].time != list[i].time;
    return once;
}

/* Keeps the first of each time; each is of one unit. */
static void drop_doubles(rows *r, uint64_t *duplicates)
{
    assay_sample *list = r->list;
    size_t kept = 0;
    for (size_t i = 0; i < r->count; i++)
        if (kept == 0 || list[kept - 1].time != list[i].time)
            list[kept++] = list[i];
    *duplicates += r->count - kept;
    r->count = kept;
}

/* Adds a series to the timeline, which takes over the samples. */
static int add_series(finisher *f, const series *s, const char *name, rows *samples)
{
    assay_timeline_data *t = f->t;
    rows list = {t->series, t->line.series_count, t->line.series_count};
    assay_metric_series *row = rows_add(&list, sizeof *row);
    ASSAY_HAVE(row);
    t->series = list.list;
    t->line.series_count = list.count;
    *row = (assay_metric_series){name, f->node_of[s->node], s->metric, samples->list, samples->count};
    *samples = (rows){0};
    return ASSAY_OK;
}

/* Puts series of one node and metric one behind the other. */
static int compare_series(const void *a, const void *b)
{
    const assay_metric_series *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    if (x->metric != y->metric)
        return x->metric < y->metric ? -1 : 1;
    if (!x->unit || !y->unit) /* the node's own */
        return (x->unit != NULL) - (y->unit != NULL);
    return assay_natural_order(x->unit, y->unit);
}

static void add_to(assay_sample *sum, const assay_sample *s, int metric)
{
    sum->sum = assay_add_clipped(sum->sum, s->sum);
    sum->extreme = extreme_of(metric, sum->extreme, s->extreme);
    sum->units += s->units;
}

/* Adds series in a row up, at each time at which one of them has a sample: they are merged. */
static int add_up(const assay_metric_series *s, size_t count, rows *out)
{
    uint64_t *next = assay_alloc_zeroed(count, sizeof *next), left = 0;
    int status = next ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < count; i++)
        left += s[i].count;
    while (left > 0 && status == ASSAY_OK) {
        int64_t time = INT64_MAX;
        for (size_t i = 0; i < count; i++)
            if (next[i] < s[i].count && s[i].sample[next[i]].time < time)
                time = s[i].sample[next[i]].time;
        assay_sample *sum = rows_add(out, sizeof *sum);
        status = sum ? ASSAY_OK : ASSAY_ENOMEM;
        for (size_t i = 0; i < count && sum; i++) {
            if (next[i] == s[i].count || s[i].sample[next[i]].time != time)
                continue;
            const assay_sample *one = &s[i].sample[next[i]++];
            if (sum->units == 0)
                *sum = *one;
            else
                add_to(sum, one, s->metric);
            left--;
        }
    }
    free(next);
    return status;
}

static bool is_of_units(int metric)
{
    return metric == ASSAY_METRIC_GPU || metric == ASSAY_METRIC_GPU_MEMORY;
}

/* Adds the node's own series of units [first, first + count) of the timeline's list. */
static int add_own(finisher *f, const assay_metric_series *s, size_t count)
{
    const series own = {.node = 0, .metric = (uint8_t)s->metric};
    const uint32_t node = s->node;
    rows samples = {0};
    int status = add_up(s, count, &samples);
    ASSAY_THEN(status, add_series(f, &own, NULL, &samples)); /* `s` is gone */
    if (status == ASSAY_OK)
        f->t->series[f->t->line.series_count - 1].node = node;
    free(samples.list);
    return status;
}

/* Takes out the units of metrics of which only the node's own series is asked for. */
static void drop_units(assay_timeline_data *t)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < t->line.series_count; i++) {
        if (t->series[i].unit && !is_of_units(t->series[i].metric))
            free((void *)(uintptr_t)t->series[i].sample);
        else
            t->series[kept++] = t->series[i];
    }
    t->line.series_count = kept;
}

static int compare_others(const void *a, const void *b)
{
    const assay_other_series *x = a, *y = b;
    const int order = assay_natural_order(x->node, y->node);
    return order ? order : assay_natural_order(x->name, y->name);
}

static int collect_others(finisher *f)
{
    assay_collector *c = f->c;
    assay_timeline_data *t = f->t;
    t->other = assay_alloc_zeroed(c->series.count, sizeof *t->other);
    ASSAY_HAVE(t->other);
    for (uint32_t i = 0; i < c->series.count; i++) {
        series *s = series_at(c, i);
        if (s->metric != ASSAY_METRIC_OTHER)
            continue;
        sort_samples(&s->samples);
        t->other[t->others++] =
            (assay_other_series){assay_dict_name(c->texts, s->node, NULL), assay_dict_name(c->texts, s->name, NULL),
                                 s->samples.list, s->samples.count};
        s->samples = (rows){0};
    }
    if (t->others > 1)
        qsort(t->other, t->others, sizeof *t->other, compare_others);
    return ASSAY_OK;
}

static int collect_units(finisher *f, bool *again)
{
    assay_collector *c = f->c;
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < c->series.count && status == ASSAY_OK; i++) {
        series *s = series_at(c, i);
        if (s->metric == ASSAY_METRIC_OTHER)
            continue;
        if (!sort_samples(&s->samples) && !c->exact) {
            *again = true;
            return ASSAY_OK;
        }
        if (c->exact)
            drop_doubles(&s->samples, &f->t->line.duplicates);
        /* `units` had the place in the file until here. */
        for (size_t k = 0; c->exact && k < s->samples.count; k++)
            ((assay_sample *)s->samples.list)[k].units = 1;
        status = add_series(f, s, assay_dict_name(c->texts, s->name, NULL), &s->samples);
    }
    return status;
}

int finisher_find_series(finisher *f, bool *again)
{
    assay_timeline_data *t = f->t;
    int status = *again ? ASSAY_OK : collect_units(f, again);
    if (status != ASSAY_OK || *again)
        return status;
    if ((status = collect_others(f)) != ASSAY_OK)
        return status;
    const uint64_t units = t->line.series_count;
    if (units > 1)
        qsort(t->series, units, sizeof *t->series, compare_series);
    for (uint64_t first = 0, end; first < units && status == ASSAY_OK; first = end) {
        const assay_metric_series *s = &t->series[first];
        for (end = first + 1; end < units && t->series[end].node == s->node && t->series[end].metric == s->metric;)
            end++;
        if (!f->c->exact && !is_of_units(s->metric))
            t->series[first].unit = NULL; /* it was added up while it was read */
        else
            status = add_own(f, s, (size_t)(end - first));
    }
    drop_units(t);
    if (t->line.series_count > 1)
        qsort(t->series, t->line.series_count, sizeof *t->series, compare_series);
    for (uint64_t i = 0; i < t->line.series_count; i++)
        if (!t->series[i].unit)
            t->series[i].unit = "";
    return status;
}
