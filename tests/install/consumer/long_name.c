/* long_name.c - a rule of one's own: fires on tensors whose name is longer than `most` bytes. */
#include <assay/rule.h>

#include <string.h>

static const assay_param_def PARAMS[] = {
    {"most", ASSAY_PARAM_INT, "64", 1, 4096, 0, NULL, "Longest name that is not a finding."},
    {NULL, ASSAY_PARAM_INT, NULL, 0, 0, 0, NULL, NULL},
};

static int setup(const assay_params *params, assay_need *need, void **data, assay_error *err)
{
    (void)params;
    (void)data;
    const assay_slot all = {.flags = ASSAY_SLOT_TIME_ONLY};
    int slot = assay_need_slot(need, &all, err);
    return slot < 0 ? slot : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *common = state;
    double most = (double)assay_param_int(rule->params, "most");
    for (uint32_t i = 0; i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        double length = (double)strlen(item->name);
        assay_findings_datapoints(common->findings, 1);
        if (length <= most)
            continue;
        assay_finding finding = {
            .step = view->step, .tensor = item->tensor, .worker = item->worker, .value = length, .threshold = most};
        if (assay_findings_add(common->findings, &finding) != ASSAY_OK)
            return assay_fail(err, ASSAY_ENOMEM, "no memory for another finding");
    }
    return ASSAY_OK;
}

static const assay_rule_ops LONG_NAME = {
    .abi = ASSAY_RULE_ABI,
    .size = sizeof(assay_rule_ops),
    .name = "LongName",
    .summary = "Tensor names longer than a limit.",
    .advice = "Shorten the names.",
    .params = PARAMS,
    .setup = setup,
    .map = map,
    ASSAY_COMMON_STATE,
};

const assay_rule_ops *const *assay_rule_module_v1(void);
const assay_rule_ops *const *assay_rule_module_v1(void)
{
    static const assay_rule_ops *const table[] = {&LONG_NAME, NULL};
    return table;
}
