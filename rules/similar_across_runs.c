/* similar_across_runs.c - SimilarAcrossRuns: tensors that differ from another trial's. docs/rules/SimilarAcrossRuns.md.
 *
 * For each (step, worker, tensor) that both saved: value = largest |a - b| (NaN if the shapes differ), b the other
 * trial's; fires when shapes or dtypes differ, or |a - b| > 1e-8 + 1e-5 * |b| for an element. NaN equals NaN. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "selection.h"

static const double RTOL = 1e-5, ATOL = 1e-8;
enum { NAMED = 5 }; /* so many names of a kind go into the message */

static const assay_param_def params[] = {
    ASSAY_TEXT_PARAM("other_trials", NULL, "The trial to compare with: its path, or its name in the job."),
    ASSAY_TEXT_PARAM("other_trial", NULL, "The older spelling of other_trials."),
    SELECTION_PARAMS,
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    bool plural = assay_param_has(given, "other_trials"), singular = assay_param_has(given, "other_trial");
    if (plural == singular)
        return assay_fail(err, ASSAY_EPARAM,
                          plural ? "parameters other_trials and other_trial are the same: give one"
                                 : "parameter other_trials is required");
    int status = assay_need_other_trial(need, assay_param_text(given, plural ? "other_trials" : "other_trial"), err);
    int slot = status ? status : selection_slot(given, need, 0, false, err);
    if (slot < 0)
        return slot;
    assay_measure measure = {.kind = ASSAY_MEASURE_CHANGE,
                             .reference = ASSAY_REFERENCE_OTHER_TRIAL,
                             .equal_nan = 1,
                             .rtol = RTOL,
                             .atol = ATOL};
    int number = assay_need_measure(need, slot, &measure, err);
    return number < 0 ? number : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        const assay_result *result = assay_view_result(view, 0, item);
        if (!result || !result->of.change.found || !assay_view_has_values(item))
            continue;
        const assay_change *change = &result->of.change;
        assay_finding finding = finding_of(view, item, change->same_shape ? change->largest : NAN, RTOL);
        bool differs = !change->same_shape || !change->same_dtype || !change->close;
        status = assay_findings_test(s->findings, differs, &finding);
    }
    return status;
}

/* Says which tensors and how many steps `a` has and `b` has not. */
static void only_in(const assay_trial *a, const assay_trial *b, assay_verdict *verdict)
{
    uint64_t tensors = 0, steps = 0;
    char names[400] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < assay_trial_tensors(a); i++) {
        const char *name = assay_trial_tensor(a, i);
        if (assay_trial_find_tensor(b, name) != ASSAY_NO_TENSOR)
            continue;
        if (tensors++ < NAMED && used + strlen(name) + 3 < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    }
    int64_t first = 0;
    for (uint64_t i = 0; i < assay_trial_steps(a); i++) {
        if (assay_trial_find_step(b, assay_trial_step(a, i)->step) != UINT64_MAX)
            continue;
        first = steps++ ? first : assay_trial_step(a, i)->step;
    }
    if (tensors)
        assay_verdict_message(verdict, "%llu tensor%s in trial %s only: %s%s.", (unsigned long long)tensors,
                              tensors == 1 ? " is" : "s are", assay_trial_name(a), names,
                              tensors > NAMED ? ", ..." : "");
    if (steps)
        assay_verdict_message(verdict, "%llu step%s in trial %s only, the first is %lld.", (unsigned long long)steps,
                              steps == 1 ? " is" : "s are", assay_trial_name(a), (long long)first);
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    if (rule->other) {
        only_in(rule->trial, rule->other, verdict);
        only_in(rule->other, rule->trial, verdict);
    }
    assay_verdict_no_data(verdict, "no tensor was saved at the same step and by the same worker in both trials.");
    return ASSAY_OK;
}

const assay_rule_ops assay_rule_similar_across_runs = {
    ASSAY_RULE_HEAD,
    .name = "SimilarAcrossRuns",
    .summary = "Tensors that differ from those of another trial at the same step and worker.",
    .advice = "The first step named is where the two runs part: compare seeds, data order and library versions if they "
              "should be equal up to there; a difference in inputs or labels comes before one in weights.",
    .params = params,
    .value_units = ASSAY_TEXTS("apart"),
    .sentences = ASSAY_TEXTS("{tensor}{of} differed from the other trial at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
