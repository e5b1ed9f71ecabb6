/* all_zero.c - AllZero: tensors that are zero, or mostly. docs/rules/AllZero.md.
 *
 * Per worker: fires when 100 * #{x = 0} >= threshold * n, at num_steps saved steps of the tensor in a row; then each of
 * these steps is a finding. With after_values zeros that a tensor begins with, and leaves, are none, and one saved step is enough if that did not hold at the saved step before it
 * and the tensor has more than one element; in a checkpoint a matrix needs no step before, and a hole in weights or moments is a
 * finding, too. -0.0 is a zero, NaN is not. */
#include "saved.h"
#include "selection.h"
#include "siblings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { TESTED, SECOND_MOMENTS, MODEL, MOMENTS }; /* slots: the last three with after_values */
enum { PAGE = 4096 };                            /* bytes that a disk loses at least, where no less would tell */
enum { PERCENT, FIRES, SIZE, WIDTH };            /* values of a row */
enum { ONE, SEVERAL, NEVER };                    /* SIZE: elements, or that no training keeps it at zero */

static const assay_param_def params[] = {
    SELECTION_PARAMS,
    ASSAY_REAL_PARAM("threshold", "100", 0, 100, "The rule fires at this percentage of zeros or more."),
    ASSAY_INT_PARAM("num_steps", "1", 1, 1000000,
                    "Consecutive saved steps at which the tensor must be zero: starting at zero is not a fault."),
    ASSAY_BOOL_PARAM(
        "after_values", "False",
        "One saved step is enough if the tensor was not zero at the saved step before, and for a matrix of weights in a checkpoint, or a hole in weights or moments. Not for single numbers."),
    {0},
};

static bool needs_a_run(const assay_params *given)
{
    return assay_param_int(given, "num_steps") > 1;
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = selection_slot(given, need, 0, true, err);
    if (slot >= 0 && needs_a_run(given))
        slot = assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
    if (slot < 0 || !assay_param_bool(given, "after_values"))
        return slot < 0 ? slot : ASSAY_OK;
    slot = assay_need_slot(need, &(assay_slot){.pattern = "^optimizer/.*/exp_avg_sq$", .flags = ASSAY_SLOT_NO_STRINGS},
                           err);
    if (slot >= 0)
        slot = assay_need_slot(need, &(assay_slot){.collection = "model", .flags = ASSAY_SLOT_NO_STRINGS}, err);
    if (slot >= 0)
        slot = assay_need_measure(need, slot, &(assay_measure){.kind = ASSAY_MEASURE_ZERO_RUNS}, err);
    if (slot >= 0)
        slot = assay_need_slot(need, &(assay_slot){.collection = "optimizer_variables", .flags = ASSAY_SLOT_NO_STRINGS},
                               err);
    if (slot >= 0)
        slot = assay_need_measure(need, slot, &(assay_measure){.kind = ASSAY_MEASURE_ZERO_RUNS}, err);
    return slot < 0 ? slot : ASSAY_OK;
}

/* The tensor called "BEGIN" and "end" in view, of the same worker; NULL: it is not there, or has no values. */
static const assay_tensor_view *find_beside(const assay_rule *rule, const assay_slot_view *slot, uint32_t worker,
                                            const char *begin, int length, const char *end)
{
    char name[1024];
    if (snprintf(name, sizeof name, "%s%.*s%s", *end == '/' ? "optimizer/" : "", length, begin, end) >=
        (int)sizeof name)
        return NULL;
    const uint32_t id = assay_trial_find_tensor(rule->trial, name);
    const assay_tensor_view *item = id != ASSAY_NO_TENSOR ? item_in(slot, id, worker) : NULL;
    return item && assay_view_has_values(item) ? item : NULL;
}

static bool is_zero(const assay_tensor_view *item)
{
    return item->stats->zeros == item->stats->count;
}

/* Has a matrix that is zero never left where it began? Its optimizer knows whether a gradient has reached it; without
 * one, a bias that is zero as well says that their layer is as it was made, as heads and last projections often are. */
static bool is_as_made(const assay_rule *rule, const assay_step_view *view, const assay_tensor_view *item)
{
    static const char WEIGHT[] = "weight";
    const int length = (int)strlen(item->name), stem = length - (int)strlen(WEIGHT);
    const assay_tensor_view *moment =
        find_beside(rule, &view->slot[SECOND_MOMENTS], item->worker, item->name, length, "/exp_avg_sq");
    if (moment)
        return is_zero(moment);
    if (stem < 0 || strcmp(item->name + stem, WEIGHT) != 0)
        return false;
    const assay_tensor_view *bias = find_beside(rule, &view->slot[MODEL], item->worker, item->name, stem, "bias");
    return bias && is_zero(bias);
}

/* Is it what no training keeps at zero: a matrix of weights in a checkpoint? */
static bool is_never_zero(const assay_rule *rule, const assay_step_view *view, const assay_tensor_view *item)
{
    return item->dims >= 2 && assay_param_bool(rule->params, "after_values") && is_of_checkpoints(rule->trial) &&
           assay_trial_role(rule->trial, item->tensor) == ASSAY_ROLE_WEIGHT && !may_begin_at_zero(item->name) &&
           !is_as_made(rule, view, item);
}

/* Has a tensor a few parts of one size, between whose borders the run lies, as projections and heads have in one bias? */
static bool is_of_parts(uint64_t count, const assay_zero_runs *z)
{
    enum { PARTS = 128 };
    uint64_t part = count; /* what goes into the whole, and into both ends of the run */
    for (int side = 0; side < 2; side++)
        for (uint64_t rest = side ? z->index + z->length : z->index; rest > 0;) {
            const uint64_t next = part % rest;
            part = rest;
            rest = next;
        }
    return count / part <= PARTS;
}

/* Is what lies around the runs dense enough that they are no accident? Whole numbers and float8 are zero here and there. */
static bool is_dense_around(const assay_tensor_view *item, const assay_zero_runs *z)
{
    enum { ELSEWHERE = 16, NARROW = 4 /* one in so many */ };
    const uint64_t elsewhere = item->stats->zeros - z->elements;
    const bool narrow = !assay_dtype_is_float(item->dtype) || assay_dtype_size(item->dtype) == 1;
    if (elsewhere <= z->elements / ELSEWHERE)
        return true;
    return narrow && z->length * assay_dtype_size(item->dtype) >= PAGE &&
           elsewhere <= (item->stats->count - z->elements) / NARROW;
}

/* May zeros be meant that lie where those of a torn matrix of floats do? What is padded, masked or a table ends or begins
 * so, and a bias may be flat. Inputs that are always zero leave their columns of moments at zero, in every row. */
static bool may_be_meant(const assay_rule *rule, const assay_tensor_view *item, const assay_zero_runs *z)
{
    const bool moment = assay_trial_role(rule->trial, item->tensor) == ASSAY_ROLE_OPTIMIZER;
    const bool whole = !assay_dtype_is_float(item->dtype), flat = item->dims < 2;
    if (!moment && !whole && !flat)
        return false;
    if (z->length * assay_dtype_size(item->dtype) < PAGE || item->dtype == ASSAY_BOOL)
        return true;
    if ((whole || flat) && (z->index == 0 || z->index + z->length == item->stats->count))
        return true;
    if (flat && (strstr(item->name, "flat") || is_of_parts(item->stats->count, z) ||
                 !(moment || assay_dtype_size(item->dtype) == 1 ||
                   assay_trial_role(rule->trial, item->tensor) == ASSAY_ROLE_WEIGHT)))
        return true;
    return moment && !flat && z->runs > 1 && z->length < (uint64_t)item->shape[item->dims - 1];
}

/* Are the zeros of a tensor a hole: in few runs and hardly anywhere else, the longest of which neither begins nor ends
 * with a row, or goes beyond one? What is padded, pruned or masked is so row by row or column by column. */
static bool is_hole(const assay_rule *rule, const assay_tensor_view *item, const assay_zero_runs *z)
{
    enum { RUNS = 8, ROW_LEAST = 8 };
    const uint64_t count = item->stats->count, end = z->index + z->length;
    uint64_t row = 1;
    for (int d = item->dims; --d > 0 && row < ROW_LEAST;)
        row *= (uint64_t)item->shape[d];
    const bool flat = item->dims < 2;
    if (z->runs == 0 || z->runs > RUNS || z->length == count || (!flat && row < ROW_LEAST) || count < 2 * row ||
        item->stats->zeros < z->elements || !is_dense_around(item, z) || may_be_meant(rule, item, z))
        return false;
    const bool torn = z->index % row != 0, torn_behind = end % row != 0;
    return flat || (torn && torn_behind) || ((torn || torn_behind) && z->index / row != (end - 1) / row);
}

/* Arrays that a program wrote beside others are looked at where they are weights or moments. */
static bool is_kept(const assay_rule *rule, const assay_tensor_view *item)
{
    const int role = assay_trial_role(rule->trial, item->tensor);
    return is_of_checkpoints(rule->trial) || role == ASSAY_ROLE_WEIGHT || role == ASSAY_ROLE_OPTIMIZER;
}

static int test_holes(const assay_rule *rule, assay_common_state *s, const assay_step_view *view, int slot)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[slot].count; i++) {
        const assay_tensor_view *item = view->slot[slot].items[i];
        const assay_result *result = assay_view_result(view, slot == MODEL ? 0 : 1, item);
        if (!result || !assay_view_has_values(item) || !is_kept(rule, item) ||
            !is_hole(rule, item, &result->of.zero_runs))
            continue;
        const assay_zero_runs *z = &result->of.zero_runs;
        char note[96];
        snprintf(note, sizeof note, "elements %" PRIu64 " to %" PRIu64 " in a row", z->index, z->index + z->length - 1);
        assay_finding finding = finding_of(view, item, 100.0 * (double)z->elements / (double)item->stats->count,
                                           assay_param_real(rule->params, "threshold"));
        finding.note = note;
        status = assay_findings_test(s->findings, true, &finding);
    }
    return status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    double threshold = assay_param_real(rule->params, "threshold");
    int status = ASSAY_OK;
    if (assay_param_bool(rule->params, "after_values"))
        status = test_holes(rule, s, view, MODEL);
    if (status == ASSAY_OK && assay_param_bool(rule->params, "after_values"))
        status = test_holes(rule, s, view, MOMENTS);
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[TESTED].count; i++) {
        const assay_tensor_view *item = view->slot[TESTED].items[i];
        if (!assay_view_has_values(item))
            continue;
        double zeros = 100.0 * (double)item->stats->zeros, n = (double)item->stats->count;
        bool fires = zeros >= threshold * n;
        const bool never = fires && n > 1 && is_never_zero(rule, view, item);
        double row[WIDTH] = {zeros / n, fires, n <= 1 ? ONE : never ? NEVER : SEVERAL};
        assay_finding finding = finding_of(view, item, zeros / n, threshold);
        if (needs_a_run(rule->params))
            status = assay_series_add(s->series, view->step, item->tensor, item->worker, row);
        else
            status = assay_findings_test(s->findings, fires, &finding);
    }
    return status;
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
        const bool lost = after_values && first.value[SIZE] != ONE && (there || first.value[SIZE] == NEVER);
        for (end = i + 1; end < count; end++) {
            assay_row row = assay_series_row(series, order[end]);
            if (row.tensor != first.tensor || row.worker != first.worker || row.value[FIRES] != first.value[FIRES])
                break;
        }
        const assay_row next = assay_series_row(series, order[end < count ? end : i]);
        const bool goes_on = end < count && next.tensor == first.tensor && next.worker == first.worker;
        const bool begun = after_values && !there && goes_on; /* at zero, and was trained then */
        bool long_enough = (end - i >= (uint64_t)assay_param_int(rule->params, "num_steps") && !begun) || lost;
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
    .sentences = ASSAY_TEXTS("{tensor}{of} was zero at {when}{note}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
