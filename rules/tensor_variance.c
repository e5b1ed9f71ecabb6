/* tensor_variance.c - TensorVariance: variance outside given limits. docs/rules/TensorVariance.md.
 *
 * For each worker: v = population variance of the raw tensor, else the saved reduction variance; fires when v >
 * max_threshold or v < min_threshold; the threshold of a finding is the limit exceeded. A NaN variance does not fire.
 * min_dims leaves out tensors that start as a constant: weights of normalisations, biases. skip_zero leaves out
 * tensors that are all zero, which AllZero finds. */
#include "selection.h"

static const assay_param_def params[] = {
    SELECTION_PARAMS,
    ASSAY_REAL_PARAM("max_threshold", NULL, 0, 0,
                     "The rule fires above this variance; one of the two limits is required."),
    ASSAY_REAL_PARAM("min_threshold", NULL, 0, 0,
                     "The rule fires below this variance; one of the two limits is required."),
    ASSAY_INT_PARAM(
        "min_dims", "0", 0, 64,
        "Tensors with fewer axes are not tested for min_threshold: weights of normalisations start as a constant."),
    ASSAY_BOOL_PARAM(
        "skip_zero", "False",
        "Do not test tensors that are all zero for min_threshold, as the last layer of a residual block often starts."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    if (!assay_param_has(given, "max_threshold") && !assay_param_has(given, "min_threshold"))
        return assay_fail(err, ASSAY_EPARAM, "one of the parameters max_threshold and min_threshold is required");
    int slot = selection_slot(given, need, 1u << ASSAY_RAW | 1u << ASSAY_VARIANCE, true, err);
    return slot < 0 ? slot : ASSAY_OK;
}

/* Is the tensor held against min_threshold? */
static bool may_be_too_even(const assay_params *given, const assay_tensor_view *item)
{
    bool zero = item->stats && item->stats->zeros == item->stats->count;
    return item->dims >= assay_param_int(given, "min_dims") && !(zero && assay_param_bool(given, "skip_zero"));
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    bool has_most = assay_param_has(rule->params, "max_threshold");
    double most = has_most ? assay_param_real(rule->params, "max_threshold") : INFINITY;
    double least =
        assay_param_has(rule->params, "min_threshold") ? assay_param_real(rule->params, "min_threshold") : -INFINITY;
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        double variance;
        if (assay_view_has_values(item))
            variance = assay_stats_variance(item->stats);
        else if (item->dtype < 0 && (item->reductions & 1u << ASSAY_VARIANCE))
            variance = item->reduction[ASSAY_VARIANCE];
        else
            continue;
        bool above = has_most && variance > most;
        assay_finding finding = finding_of(view, item, variance, above ? most : least);
        status = assay_findings_test(s->findings, above || (variance < least && may_be_too_even(rule->params, item)),
                                     &finding);
    }
    return status;
}

const assay_rule_ops assay_rule_tensor_variance = {
    ASSAY_RULE_HEAD,
    .name = "TensorVariance",
    .summary = "Tensors whose variance is above or below given limits.",
    .advice =
        "A variance that is too small means that units have become alike (initialisation without randomness, collapse, "
        "a frozen layer); one that is too large precedes overflow: check initialisation scale, normalisation layers "
        "and learning rate of the tensors named.",
    .params = params,
    .value_units = ASSAY_TEXTS("variance"),
    .sentences = ASSAY_TEXTS("the variance of {tensor}{of} was out of its range at {when}"),
    .setup = setup,
    .map = map,
    ASSAY_COMMON_STATE,
};
