/* unchanged_tensor.c - UnchangedTensor: tensors that stay the same over several saved steps. RULES.md 3.7, R5.
 *
 * Per worker. Two tensors are close when |a - b| <= atol + rtol * |b| for every element, a the newer one.
 * pairs:    value = number of consecutive close pairs of saved steps that end at the step; fires at num_steps - 1.
 * current:  value = how many of the num_steps - 1 saved steps before, the newest first, are close to this one. */
#include <stdlib.h>
#include <string.h>

#include "selection.h"

enum { MOST_CURRENT = 8 }; /* steps that `current` may compare with: each is read beside the tensor */

static const assay_param_def params[] = {
    SELECTION_PARAMS,
    {.name = "num_steps",
     .type = ASSAY_PARAM_INT,
     .initial = "3",
     .least = 2,
     .most = 1000000,
     .help = "Saved steps, this one included, over which the tensor has to stay the same."},
    {.name = "rtol",
     .type = ASSAY_PARAM_REAL,
     .initial = "1e-05",
     .least = 0,
     .most = 1e308,
     .help = "Relative tolerance of the comparison."},
    {.name = "atol",
     .type = ASSAY_PARAM_REAL,
     .initial = "1e-08",
     .least = 0,
     .most = 1e308,
     .help = "Absolute tolerance of the comparison."},
    {.name = "equal_nan", .type = ASSAY_PARAM_BOOL, .initial = "False", .help = "NaN counts as equal to NaN."},
    {.name = "against",
     .type = ASSAY_PARAM_CHOICE,
     .initial = "pairs",
     .choices = "pairs|current",
     .help = "Compare each saved step with the one before it, or the current one with each of the earlier ones."},
    {0},
};

static bool against_current(const assay_params *given)
{
    return strcmp(assay_param_text(given, "against"), "current") == 0;
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    (void)data;
    int64_t earlier = against_current(given) ? assay_param_int(given, "num_steps") - 1 : 1;
    if (earlier > MOST_CURRENT)
        return assay_fail(err, ASSAY_EPARAM,
                          "parameter num_steps has the value %lld: with against = current it must be at "
                          "most %d",
                          (long long)earlier + 1, MOST_CURRENT + 1);
    int slot = selection_slot(given, need, 0, true, err);
    if (slot < 0)
        return slot;
    for (int64_t k = 1; k <= earlier; k++) {
        assay_measure measure = {.kind = ASSAY_MEASURE_CHANGE,
                                 .reference = ASSAY_REFERENCE_SAVED_BEFORE,
                                 .steps = k,
                                 .figures = ASSAY_CHANGE_CLOSE,
                                 .equal_nan = assay_param_bool(given, "equal_nan"),
                                 .rtol = assay_param_real(given, "rtol"),
                                 .atol = assay_param_real(given, "atol")};
        int number = assay_need_measure(need, slot, &measure, err);
        if (number < 0)
            return number;
    }
    return against_current(given) ? ASSAY_OK : assay_need_rows(need, slot, &(assay_rows){.width = 1}, err);
}

static bool found(const assay_step_view *view, int measure, const assay_tensor_view *item)
{
    const assay_result *result = assay_view_result(view, measure, item);
    return result && result->of.change.found;
}

static bool is_close(const assay_step_view *view, int measure, const assay_tensor_view *item)
{
    return found(view, measure, item) && assay_view_result(view, measure, item)->of.change.same_shape &&
           assay_view_result(view, measure, item)->of.change.close;
}

static int test_current(const assay_rule *rule, assay_common_state *s, const assay_step_view *view,
                        const assay_tensor_view *item)
{
    int earlier = (int)assay_param_int(rule->params, "num_steps") - 1, alike = 0;
    if (view->step < rule->start_step || !found(view, earlier - 1, item))
        return ASSAY_OK;
    while (alike < earlier && is_close(view, alike, item))
        alike++;
    assay_finding finding = finding_of(view, item, alike, earlier);
    return assay_findings_test(s->findings, alike >= earlier, &finding);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    (void)err;
    assay_common_state *s = state;
    bool current = against_current(rule->params);
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        if (!assay_view_has_values(item))
            continue;
        double unchanged = is_close(view, 0, item);
        status = current ? test_current(rule, s, view, item)
                         : assay_series_add(s->series, view->step, item->tensor, item->worker, &unchanged);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    int64_t num_steps = assay_param_int(rule->params, "num_steps"), saved = 0, run = 0;
    uint64_t count = assay_series_count(series), *order = assay_series_by_tensor(series);
    if (count && !order)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    int status = ASSAY_OK;
    assay_row before = {0};
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        assay_row row = assay_series_row(series, order[i]);
        bool first = i == 0 || row.tensor != before.tensor || row.worker != before.worker;
        before = row;
        saved = first ? 1 : saved + 1;
        run = row.value[0] > 0 && !first ? run + 1 : 0;
        if (saved < num_steps || row.step < rule->start_step)
            continue;
        assay_finding finding = {.step = row.step,
                                 .tensor = row.tensor,
                                 .worker = row.worker,
                                 .value = (double)run,
                                 .threshold = (double)(num_steps - 1)};
        status = assay_findings_test(assay_verdict_findings(verdict), run >= num_steps - 1, &finding);
    }
    free(order);
    return status;
}

const assay_rule_ops assay_rule_unchanged_tensor = {
    .abi = ASSAY_RULE_ABI,
    .size = sizeof(assay_rule_ops),
    .name = "UnchangedTensor",
    .summary = "Tensors that do not change over several saved steps.",
    .advice =
        "Weights that stand still are not trained: check that the optimizer holds these parameters and is stepped, "
        "that "
        "they require gradients, that the learning rate is not zero at this point of its schedule, and that gradients "
        "reach them (VanishingGradient).",
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK,
    .series_width = 1,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
