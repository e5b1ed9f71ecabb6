/* stalled_training_rule.c - StalledTrainingRule: a long time between two saved steps.
 * docs/rules/StalledTrainingRule.md.
 *
 * t(s) = latest wall time of the events of step s over all tensors and workers; fires at a step when t(s) - t(saved
 * step before) > threshold seconds; value = that time. */
#include <math.h>

#include "too_few.h"

static const assay_param_def params[] = {
    ASSAY_INT_PARAM("threshold", "1800", 0, 0x1p53,
                    "Seconds without a new step after which the training counts as stalled."),
    ASSAY_BOOL_PARAM("stop_training_on_fire", "False", "Accepted without effect: actions belong to the job."),
    ASSAY_TEXT_PARAM("training_job_name_prefix", NULL, "Accepted without effect: actions belong to the job."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = assay_need_slot(need, &(assay_slot){.kinds = UINT32_MAX, .flags = ASSAY_SLOT_TIME_ONLY}, err);
    return slot < 0 ? slot : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    double latest = 0; /* a record without a time says 0 */
    for (uint32_t i = 0; i < view->slot[0].count; i++)
        if (view->slot[0].items[i]->wall_time > latest)
            latest = view->slot[0].items[i]->wall_time;
    return isfinite(latest) && latest > 0
               ? assay_series_add(s->series, view->step, ASSAY_NO_TENSOR, ASSAY_ALL_WORKERS, &latest)
               : ASSAY_OK;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    double threshold = (double)assay_param_int(rule->params, "threshold");
    int status = ASSAY_OK;
    for (uint64_t i = 1; status == ASSAY_OK && i < assay_series_count(series); i++) {
        assay_row before = assay_series_row(series, i - 1), row = assay_series_row(series, i);
        if (row.step < rule->start_step)
            continue;
        assay_finding finding = {.step = row.step,
                                 .tensor = ASSAY_NO_TENSOR,
                                 .worker = ASSAY_ALL_WORKERS,
                                 .value = row.value[0] - before.value[0],
                                 .threshold = threshold};
        status = assay_findings_test(assay_verdict_findings(verdict), finding.value > threshold, &finding);
    }
    assay_verdict_no_data(verdict, "%llu steps say when they were written; the rule takes the time between two.",
                          (unsigned long long)assay_series_count(series));
    return status;
}

static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    return reason_few_steps(rule, ASSAY_MODE_NONE, 2, " to have a time between them", out);
}

const assay_rule_ops assay_rule_stalled_training_rule = {
    ASSAY_RULE_HEAD,
    .name = "StalledTrainingRule",
    .summary = "A long time without a newly saved step.",
    .advice = "Look at the time before the step named: a data loader or storage that hangs, a collective that waits "
              "for one worker, a checkpoint or evaluation that takes too long, or a preempted node; the workers' own "
              "logs of that time tell which.",
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK | ASSAY_RULE_POOLS,
    .series_width = 1,
    .value_units = ASSAY_TEXTS("s"),
    .sentences = ASSAY_TEXTS("no step was saved for long after {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
    .reason = reason,
};
