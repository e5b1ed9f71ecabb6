/* weight_update_ratio.c - WeightUpdateRatio: weights that change too much or too little.
 * docs/rules/WeightUpdateRatio.md.
 *
 * For each worker: r = |W_s - W_p| / (|W_p| + epsilon) with Euclidean norms of the flattened tensors. p is the previous
 * saved step, or with num_steps the oldest saved step at most that many steps back. Only TRAIN steps if the tensor has
 * any. Fires when r > large_threshold or r < small_threshold; the threshold of a finding is the limit exceeded. */
#include "selection.h"
#include "too_few.h"

static const assay_param_def params[] = {
    ASSAY_INT_PARAM(
        "num_steps", NULL, 1, 0x1p53,
        "Compare with the oldest saved step at most this many steps back; by default with the previous saved step."),
    ASSAY_REAL_PARAM("large_threshold", "10.0", 0, 0, "The rule fires above this ratio."),
    ASSAY_REAL_PARAM("small_threshold", "1e-8", 0, 0, "The rule fires below this ratio."),
    ASSAY_REAL_PARAM("epsilon", "1e-9", 0, 1e308, "Added to the norm of the weights, so that zero weights divide."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = assay_need_slot(need, &(assay_slot){.collection = "weights", .flags = ASSAY_SLOT_NO_STRINGS}, err);
    if (slot < 0)
        return slot;
    bool window = assay_param_has(given, "num_steps");
    assay_measure measure = {.kind = ASSAY_MEASURE_CHANGE,
                             .reference = window ? ASSAY_REFERENCE_OLDEST_WITHIN : ASSAY_REFERENCE_SAVED_BEFORE,
                             .steps = window ? assay_param_int(given, "num_steps") : 1,
                             .train_only = 1,
                             .figures = ASSAY_CHANGE_SQUARES};
    int number = assay_need_measure(need, slot, &measure, err);
    return number < 0 ? number : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    double large = assay_param_real(rule->params, "large_threshold"),
           small = assay_param_real(rule->params, "small_threshold");
    double epsilon = assay_param_real(rule->params, "epsilon");
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        const assay_result *result = assay_view_result(view, 0, item);
        if (!result || !result->of.change.found || !result->of.change.same_shape || !assay_view_has_values(item))
            continue;
        double ratio = sqrt(result->of.change.squares) / (sqrt(result->of.change.reference_squares) + epsilon);
        assay_finding finding = finding_of(view, item, ratio, ratio > large ? large : small);
        status = assay_findings_test(s->findings, ratio > large || ratio < small, &finding);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    assay_verdict_no_data(verdict, "no weight has values at a step that is saved and at another before it.");
    return ASSAY_OK;
}

static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    bool train = modes >> ASSAY_MODE_TRAIN & 1;
    return reason_few_steps(rule, train ? ASSAY_MODE_TRAIN : ASSAY_MODE_NONE, 2, " to have an update between them",
                            out);
}

const assay_rule_ops assay_rule_weight_update_ratio = {
    ASSAY_RULE_HEAD,
    .name = "WeightUpdateRatio",
    .summary = "Weights whose update, relative to their size, is too large or too small.",
    .advice = "Ratios far above 1 mean that each update overwrites what was learned: lower the learning rate or clip "
              "gradients. Ratios near 0 mean that the layer stands still: raise the learning rate, look for vanishing "
              "gradients, and check that the optimizer holds the parameter.",
    .params = params,
    .value_units = ASSAY_TEXTS("of the weights' norm"),
    .sentences = ASSAY_TEXTS("the update of {tensor}{of} was too large or too small for its weights at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
    .reason = reason,
};
