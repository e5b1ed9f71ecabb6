/* dumped.c - see dumped.h. */
#include "dumped.h"

#include <inttypes.h>
#include <stdio.h>

/* Dumps need no tensors and no pass over steps: all is done in finalize. */
int dumped_setup(const assay_params *params, assay_need *need, void **data, assay_error *err)
{
    (void)params, (void)need, (void)data, (void)err;
    return ASSAY_OK;
}

int dumped_map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    (void)rule, (void)state, (void)view, (void)err;
    return ASSAY_OK;
}

void dumped_put_cause(const void *cause, assay_buf *out)
{
    assay_hang_put_cause(cause, out);
}

void dumped_put_mismatch(const void *mismatch, assay_buf *out)
{
    assay_hang_put_mismatch(mismatch, out);
}

int dumped_add(const assay_rule *rule, assay_findings *findings, bool counted, const dumped_finding *finding)
{
    const size_t kept = rule->max_findings > 0 ? rule->max_findings : ASSAY_MAX_FINDINGS;
    char worker[32] = "*";
    assay_buf extra = ASSAY_BUF(SIZE_MAX);
    if (finding->order < kept)
        finding->put(finding->what, &extra);
    assay_put_u8(&extra, 0);
    int status = assay_buf_status(&extra);
    if (finding->rank >= 0)
        snprintf(worker, sizeof worker, "worker_%" PRId64, finding->rank);
    const assay_time_place place = {
        .slice = ASSAY_NO_TIME, .worker = worker, .unit = "", .extra = (const char *)extra.data};
    const assay_finding f = {.step = ASSAY_NO_TIME,
                             .tensor = ASSAY_NO_TENSOR,
                             .worker = finding->order,
                             .test = finding->test,
                             .value = finding->value,
                             .note = finding->text,
                             .time = &place};
    ASSAY_THEN(status, counted ? assay_findings_test(findings, true, &f) : assay_findings_add(findings, &f));
    assay_buf_release(&extra);
    return status == ASSAY_OK ? status : ASSAY_ENOMEM;
}

/* `find` gets the one hang that all rules over dumps look at, made of the dumps anew by each. */
int dumped_finalize(const assay_rule *rule, assay_verdict *verdict, dumped_find *find, assay_error *err)
{
    assay_hang *hang = NULL;
    if (!assay_trial_has_dumps(rule->trial)) {
        assay_verdict_no_data(verdict, "the trial holds no dumps of flight recorders.");
        return ASSAY_OK;
    }
    int status = assay_hang_find(rule->trial, assay_param_real(rule->params, "max_age_seconds"), &hang, err);
    ASSAY_THEN(status, find(rule, hang, verdict));
    assay_hang_free(hang);
    return status;
}
