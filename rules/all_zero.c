/* all_zero.c - AllZero: tensors that are zero, or mostly. RULES.md 3.1.
 *
 * Per worker: fires when 100 * #{x = 0} >= threshold * n. -0.0 is a zero, NaN is not. */
#include "selection.h"

static const assay_param_def params[] = {
    SELECTION_PARAMS,
    {.name = "threshold",
     .type = ASSAY_PARAM_REAL,
     .initial = "100",
     .least = 0,
     .most = 100,
     .help = "Percentage of zeros from which on the rule fires."},
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    (void)data;
    int slot = selection_slot(given, need, 0, true, err);
    return slot < 0 ? slot : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    (void)err;
    assay_common_state *s = state;
    double threshold = assay_param_real(rule->params, "threshold");
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        if (!assay_view_has_values(item))
            continue;
        double zeros = 100.0 * (double)item->stats->zeros, n = (double)item->stats->count;
        assay_finding finding = finding_of(view, item, zeros / n, threshold);
        status = assay_findings_test(s->findings, zeros >= threshold * n, &finding);
    }
    return status;
}

const assay_rule_ops assay_rule_all_zero = {
    .abi = ASSAY_RULE_ABI,
    .size = sizeof(assay_rule_ops),
    .name = "AllZero",
    .summary = "Tensors whose elements are all zero, or at least a given percentage of them.",
    .advice =
        "Look where the first all-zero tensor sits: zero weights point to a constant initialisation or to weight decay "
        "that swallows everything, zero gradients to a detached graph or a frozen layer, zero activations to dead "
        "ReLUs or empty inputs.",
    .params = params,
    .setup = setup,
    .map = map,
    ASSAY_COMMON_STATE,
};
