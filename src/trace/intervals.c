/* intervals.c - unions of stretches of time. */
#include <stdlib.h>

#include "base/fault.h"
#include "base/search.h"
#include "trace/internal.h"

ASSAY_ORDER_BY(compare_intervals, interval, begin, end)

/* Sorted and apart afterwards: trace_holds, trace_length_before and trace_without rely on it. Stretches of no length
 * vanish. */
size_t trace_union(interval *list, size_t count)
{
    size_t kept = 0;
    if (count > 1)
        qsort(list, count, sizeof *list, compare_intervals);
    for (size_t i = 0; i < count; i++) {
        if (list[i].end <= list[i].begin)
            continue;
        if (kept > 0 && list[i].begin <= list[kept - 1].end)
            list[kept - 1].end = list[i].end > list[kept - 1].end ? list[i].end : list[kept - 1].end;
        else
            list[kept++] = list[i];
    }
    return kept;
}

static int order_of_begin(const void *item, const void *key)
{
    return ASSAY_ORDER(((const interval *)item)->begin, *(const int64_t *)key);
}

/* Counts how many intervals begin before a time. */
static size_t begun_before(const interval *list, size_t count, int64_t time)
{
    return assay_lower_bound(list, count, sizeof *list, &time, order_of_begin);
}

bool trace_holds(const interval *list, size_t count, int64_t time)
{
    const size_t i = begun_before(list, count, time + 1);
    return i > 0 && list[i - 1].end > time;
}

int64_t *trace_prefix(const interval *list, size_t count)
{
    int64_t *sums = assay_alloc((count + 1) * sizeof *sums);
    if (!sums)
        return NULL;
    sums[0] = 0;
    for (size_t i = 0; i < count; i++)
        sums[i + 1] = sums[i] + (list[i].end - list[i].begin);
    return sums;
}

int64_t trace_length_before(const interval *list, const int64_t *sums, size_t count, int64_t time)
{
    const size_t i = begun_before(list, count, time);
    if (i == 0)
        return 0;
    const interval *last = &list[i - 1];
    return sums[i - 1] + (last->end < time ? last->end : time) - last->begin;
}

/* A stretch of b begins inside one of a at most, and each of a leaves one piece more: `out` has room for both
 * counts. */
size_t trace_without(const interval *a, size_t a_count, const interval *b, size_t b_count, interval *out)
{
    size_t count = 0, k = 0;
    for (size_t i = 0; i < a_count; i++) {
        int64_t from = a[i].begin;
        /* `k` only moves on: stretches of b behind it may still reach into the next of a. */
        while (k < b_count && b[k].end <= from)
            k++;
        for (size_t j = k; j < b_count && b[j].begin < a[i].end; j++) {
            if (b[j].begin > from)
                out[count++] = (interval){from, b[j].begin};
            from = b[j].end > from ? b[j].end : from;
        }
        if (from < a[i].end)
            out[count++] = (interval){from, a[i].end};
    }
    return count;
}
