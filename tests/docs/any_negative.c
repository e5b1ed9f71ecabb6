/* any_negative.c - AnyNegative: tensors that hold a number below zero.
 *
 * Per worker: fires when min(x) < 0. */
#include "selection.h"

static const assay_param_def params[] = {SELECTION_PARAMS, {0}};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    (void)data;
    int slot = selection_slot(given, need, 0, true, err);
    return slot < 0 ? slot : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    int status = ASSAY_OK;
    (void)rule;
    (void)err;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        if (!assay_view_has_values(item))
            continue;
        assay_finding finding = finding_of(view, item, item->stats->min, 0);
        status = assay_findings_test(s->findings, item->stats->min < 0, &finding);
    }
    return status;
}

const assay_rule_ops assay_rule_any_negative = {
    ASSAY_RULE_HEAD,
    .name = "AnyNegative",
    .summary = "Tensors that hold a number below zero.",
    .advice = "Look at the operation that makes the first tensor named: a count or a variance is never negative.",
    .params = params,
    .setup = setup,
    .map = map,
    ASSAY_COMMON_STATE,
};
