/* max_initialization_time.c - MaxInitializationTime: the first step came late.
 *
 * Per slice that has data, up to the one in which the first step begins: the minutes from the job's first sample to
 * that step, to the slice's end, or to the job's, whichever is first. Fires above `threshold`. A trial without a
 * timeline has no data: nobody can tell when it began to train. */
#include <stdlib.h>

#include "timed.h"

static const assay_param_def params[] = {MAX_INITIALIZATION_TIME_PARAMS(TIMED_OWN){0}};

/* Adds a slice to the end of a list unless it is there already. */
static void add_slice(int64_t *list, uint64_t *count, int64_t slice)
{
    if (*count == 0 || list[*count - 1] != slice)
        list[(*count)++] = slice;
}

/* The slices that have samples or the start of an event, ascending, each once. */
static int64_t *find_slices(timed *t, uint64_t *count)
{
    const assay_timeline *line = t->line;
    uint64_t most = line->cells;
    for (uint64_t i = 0; i < line->series_count; i++)
        most += line->series[i].count;
    int64_t *list = timed_alloc(t, most, sizeof *list), end = 0;
    *count = 0;
    for (uint64_t i = 0; list && i < line->series_count; i++)
        for (uint64_t k = 0; k < line->series[i].count; k++) {
            if (k > 0 && line->series[i].sample[k].time < end)
                continue; /* in the same slice as the one before */
            add_slice(list, count, timed_slice(t, line->series[i].sample[k].time));
            end = timed_slice_end(t, list[*count - 1]);
        }
    for (uint64_t i = 0; list && i < line->cells; i++)
        add_slice(list, count, timed_slice(t, line->cell[i] * line->cell_size));
    if (list)
        assay_sort_integers(list, (size_t)*count);
    uint64_t kept = 0;
    for (uint64_t i = 0; list && i < *count; i++)
        add_slice(list, &kept, list[i]);
    *count = kept;
    return list;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void max_initialization_time_evaluate(timed *t)
{
    const assay_timeline *line = t->line;
    const double threshold = timed_real(t, "threshold");
    int64_t first = INT64_MAX;
    uint64_t count = 0;
    if (line->events == 0)
        return;
    for (uint64_t i = 0; i < line->steps; i++) {
        const assay_time_step *step = &line->step[i];
        if (!timed_sees_time(t, step->start) || !timed_sees_worker(t, step->worker))
            continue;
        t->samples++;
        first = least(first, step->start);
    }
    int64_t *slices = find_slices(t, &count);
    for (uint64_t i = 0; slices && i < count; i++) {
        if (first != INT64_MAX && slices[i] > timed_slice(t, first))
            break;
        const int64_t end = timed_slice_end(t, slices[i]);
        const int64_t until = least(least(first, end), line->end);
        const double value = until > line->start ? (double)(until - line->start) / 6e7 : 0;
        const timed_finding finding = {
            .time = end, .slice = slices[i], .worker = "*", .unit = "", .value = value, .threshold = threshold};
        timed_test(t, value > threshold, &finding);
    }
    free(slices);
}

TIMED_FINALIZE(max_initialization_time_evaluate)

const assay_rule_ops assay_rule_max_initialization_time = {
    ASSAY_RULE_HEAD,
    .name = "MaxInitializationTime",
    .summary = "The first step came late.",
    .advice = "Shorten downloads and set-up; stream the data.",
    .value_units = ASSAY_TEXTS("min"),
    .sentences = ASSAY_TEXTS("the first step of {worker} came late, at {when}"),
    .params = params,
    TIMED_RULE_STATE,
    .finalize = finalize,
};
