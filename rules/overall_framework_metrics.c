/* overall_framework_metrics.c - OverallFrameworkMetrics: a summary of the timelines. It never fires.
 *
 * One datapoint an event. How many of them are before or behind a time was counted while they were read. */
#include "timed.h"

/* The number of edges at or before a time: the events from there on are in the counts from that one on. */
static uint64_t edges_until(const assay_timeline *line, int64_t time)
{
    uint64_t i = 0;
    while (i < line->edges && line->edge[i] <= time)
        i++;
    return i;
}

void overall_framework_metrics_evaluate(timed *t)
{
    const assay_timeline *line = t->line;
    const uint64_t first = t->from == ASSAY_NO_TIME ? 0 : edges_until(line, t->from);
    const uint64_t end = t->to == ASSAY_NO_TIME ? line->edges + 1 : edges_until(line, t->to);
    for (uint32_t w = 0; w < line->workers; w++)
        for (uint64_t i = first; i < end && timed_sees_worker(t, w); i++)
            t->samples += line->worker[w].events[i];
    t->datapoints = t->samples;
}

TIMED_FINALIZE(overall_framework_metrics_evaluate)

const assay_rule_ops assay_rule_overall_framework_metrics = {
    ASSAY_RULE_HEAD,
    .name = "OverallFrameworkMetrics",
    .summary = "A summary of the timelines; it never fires.",
    .advice = "Nothing to do: the summary is in the report.",
    TIMED_RULE_STATE,
    .finalize = finalize,
};
