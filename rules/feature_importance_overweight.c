/* feature_importance_overweight.c - FeatureImportanceOverweight: few features carry the model.
 * docs/rules/FeatureImportanceOverweight.md.
 *
 * For each step and worker, over the tensors of one element: value = sum of the nfeatures largest / sum of all; fires
 * when it exceeds the threshold. A sum of 0 gives no datapoint. With nfeatures features or fewer the value is always 1:
 * remark "degenerate". */
#include <stdlib.h>

#include "selection.h"

static const assay_param_def params[] = {
    ASSAY_REAL_PARAM("threshold", "0.8", 0, 1,
                     "Share of the total importance that the largest features together may have."),
    ASSAY_INT_PARAM("nfeatures", "3", 1, 0x1p31, "How many of the largest features are added up."),
    ASSAY_REGEX_PARAM("tensor_regex", ".*feature_importance/weight",
                      "Patterns (re.search) for names of importances, one tensor of one element a feature."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = assay_need_slot(need, &(assay_slot){.regexes = "tensor_regex", .flags = ASSAY_SLOT_NO_STRINGS}, err);
    return slot < 0 ? slot : ASSAY_OK;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static int test_worker(const assay_rule *rule, assay_findings *findings, const assay_step_view *view, uint32_t worker,
                       double *importance)
{
    const assay_slot_view *slot = &view->slot[0];
    uint64_t most = (uint64_t)assay_param_int(rule->params, "nfeatures"), features = 0;
    double total = 0, top = 0;
    for (uint32_t i = 0; i < slot->count; i++)
        if (slot->items[i]->worker == worker && slot->items[i]->stats && slot->items[i]->stats->count == 1) {
            importance[features++] = slot->items[i]->stats->sum;
            total += slot->items[i]->stats->sum;
        }
    if (features == 0 || total == 0)
        return ASSAY_OK;
    if (!isnan(total))
        qsort(importance, features, sizeof *importance, descending);
    for (uint64_t k = 0; k < features && k < most; k++)
        top += importance[k];
    assay_finding finding = {.step = view->step,
                             .tensor = ASSAY_NO_TENSOR,
                             .worker = worker,
                             .value = isnan(total) ? NAN : top / total,
                             .threshold = assay_param_real(rule->params, "threshold"),
                             .note = features <= most ? "degenerate" : NULL};
    return assay_findings_test(findings, finding.value > finding.threshold, &finding);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    const assay_slot_view *slot = &view->slot[0];
    double *importance = malloc((slot->count + (size_t)1) * sizeof *importance);
    ASSAY_HAVE(importance);
    int status = ASSAY_OK;
    for (uint32_t worker = 0; status == ASSAY_OK && worker < assay_trial_workers(rule->trial); worker++)
        status = test_worker(rule, s->findings, view, worker, importance);
    free(importance);
    return status;
}

const assay_rule_ops assay_rule_feature_importance_overweight = {
    ASSAY_RULE_HEAD,
    .name = "FeatureImportanceOverweight",
    .summary = "A few features that carry most of the total importance.",
    .advice =
        "Check whether the heavy features leak the label or will be missing at prediction time; subsample columns "
        "(colsample_bytree), limit depth, or train once without them to see what the others can do.",
    .params = params,
    .value_units = ASSAY_TEXTS("of the total importance"),
    .sentences = ASSAY_TEXTS("a few features carry most of the importance at {when}"),
    .setup = setup,
    .map = map,
    ASSAY_COMMON_STATE,
};
