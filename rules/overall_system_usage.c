/* overall_system_usage.c - OverallSystemUsage: a summary of the machines' use. It never fires.
 *
 * One datapoint a row of the report's table: each metric of each node, and each GPU's. */
#include "timed.h"

void overall_system_usage_evaluate(timed *t)
{
    const assay_timeline *line = t->line;
    for (uint64_t i = 0; i < line->series_count; i++) {
        const assay_metric_series *s = &line->series[i];
        const bool own = i == 0 || s[-1].node != s->node || s[-1].metric != s->metric;
        const timed_samples samples = timed_visible(t, s);
        for (uint64_t k = 0; own && k < samples.count; k++)
            t->samples += samples.at[k].units;
        if (samples.count > 0)
            timed_test(t, false, &(timed_finding){0});
    }
}

TIMED_FINALIZE(overall_system_usage_evaluate)

const assay_rule_ops assay_rule_overall_system_usage = {
    ASSAY_RULE_HEAD,
    .name = "OverallSystemUsage",
    .summary = "A summary of the machines' use; it never fires.",
    .advice = "Nothing to do: the summary is in the report.",
    TIMED_RULE_STATE,
    .finalize = finalize,
};
