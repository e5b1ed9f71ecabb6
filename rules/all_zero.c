/* all_zero.c - AllZero: tensors that are zero, or mostly. docs/rules/AllZero.md.
 *
 * Per worker: fires when 100 * #{x = 0} >= threshold * n, at num_steps saved steps of the tensor in a row; then each of
 * these steps is a finding. With after_values one saved step is enough if that did not hold at the saved step before it
 * and the tensor has more than one element; in a checkpoint a matrix needs no step before. -0.0 is a zero, NaN is not. */
#include "saved.h"
#include "selection.h"

#include <stdlib.h>

enum { PERCENT, FIRES, SIZE, WIDTH }; /* values of a row */
enum { ONE, SEVERAL, MATRIX };        /* SIZE: elements, or that it has two dimensions and more */

static const assay_param_def params[] = {
    SELECTION_PARAMS,
    ASSAY_REAL_PARAM("threshold", "100", 0, 100, "The rule fires at this percentage of zeros or more."),
    ASSAY_INT_PARAM("num_steps", "1", 1, 1000000,
                    "Consecutive saved steps at which the tensor must be zero: starting at zero is not a fault."),
    ASSAY_BOOL_PARAM(
        "after_values", "False",
        "One saved step is enough if the tensor was not zero at the saved step before, and for a matrix of weights in a checkpoint. Not for single numbers."),
    {0},
};

static bool needs_a_run(const assay_params *given)
{
    return assay_param_int(given, "num_steps") > 1;
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = selection_slot(given, need, 0, true, err);
    if (slot < 0 || !needs_a_run(given))
        return slot < 0 ? slot : ASSAY_OK;
    return assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    double threshold = assay_param_real(rule->params, "threshold");
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        if (!assay_view_has_values(item))
            continue;
        double zeros = 100.0 * (double)item->stats->zeros, n = (double)item->stats->count;
        bool fires = zeros >= threshold * n;
        double row[WIDTH] = {zeros / n, fires, n <= 1 ? ONE : item->dims < 2 ? SEVERAL : MATRIX};
        assay_finding finding = finding_of(view, item, zeros / n, threshold);
        if (needs_a_run(rule->params))
            status = assay_series_add(s->series, view->step, item->tensor, item->worker, row);
        else
            status = assay_findings_test(s->findings, fires, &finding);
    }
    return status;
}

/* Is it what no training keeps at zero: a matrix of weights in a checkpoint? */
static bool is_never_zero(const assay_rule *rule, const assay_row *row)
{
    return row->value[SIZE] == MATRIX && is_of_checkpoints(rule->trial) &&
           assay_trial_role(rule->trial, row->tensor) == ASSAY_ROLE_WEIGHT &&
           !may_begin_at_zero(assay_trial_tensor(rule->trial, row->tensor));
}

/* With num_steps above 1: walks each tensor of each worker, run by run. */
static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t count = assay_series_count(series), *order = assay_series_by_tensor(series);
    if (count && !order)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    int status = ASSAY_OK;
    const bool after_values = assay_param_bool(rule->params, "after_values");
    for (uint64_t i = 0, end; status == ASSAY_OK && i < count; i = end) {
        assay_row first = assay_series_row(series, order[i]);
        const assay_row before = assay_series_row(series, order[i > 0 ? i - 1 : 0]);
        const bool there = i > 0 && before.tensor == first.tensor && before.worker == first.worker;
        const bool lost = after_values && first.value[SIZE] != ONE && (there || is_never_zero(rule, &first));
        for (end = i + 1; end < count; end++) {
            assay_row row = assay_series_row(series, order[end]);
            if (row.tensor != first.tensor || row.worker != first.worker || row.value[FIRES] != first.value[FIRES])
                break;
        }
        bool long_enough = end - i >= (uint64_t)assay_param_int(rule->params, "num_steps") || lost;
        for (uint64_t k = i; status == ASSAY_OK && k < end; k++) {
            assay_row row = assay_series_row(series, order[k]);
            assay_finding finding = {.step = row.step,
                                     .tensor = row.tensor,
                                     .worker = row.worker,
                                     .value = row.value[PERCENT],
                                     .threshold = assay_param_real(rule->params, "threshold")};
            status =
                assay_findings_test(assay_verdict_findings(verdict), row.value[FIRES] != 0 && long_enough, &finding);
        }
    }
    free(order);
    return status;
}

const assay_rule_ops assay_rule_all_zero = {
    ASSAY_RULE_HEAD,
    .name = "AllZero",
    .summary = "Tensors whose elements are all zero, or at least a given percentage of them.",
    .advice =
        "Look where the first all-zero tensor sits: zero weights point to a constant initialisation or to weight decay "
        "that swallows everything, zero gradients to a detached graph or a frozen layer, zero activations to dead "
        "ReLUs or empty inputs.",
    .params = params,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("% zeros"),
    .sentences = ASSAY_TEXTS("{tensor}{of} was zero at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
