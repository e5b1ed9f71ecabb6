/* saturated_activation.c - SaturatedActivation: layers whose tanh or sigmoid units get inputs at the flat ends.
 * docs/rules/SaturatedActivation.md.
 *
 * Works on the inputs of the activations. activity = 100 * #{min < x < max} / samples (NaN is outside); a unit is
 * saturated below threshold_inactivity; fires when 100 * saturated / units exceeds threshold_layer. Workers are pooled.
 * The type of the module tells the activation where it is recorded, else the name ("tanh" before "sigmoid"), else the
 * parameter activation; tensors of which none is known are left out.
 *
 *   units  as above
 *   ends   outputs (outputs_regex) that lie at both ends from the first step of training on, at all saved TRAIN steps, ENDS_LEAST at least:
 *          the mean of the derivative, 1 - mean(y^2) or 4 (mean(y) - mean(y^2)), is below ENDS_SLOPE of its largest
 *          value, and neither end has ENDS_ONE of the values. Of inputs no more is known than how many are within the
 *          range and that their mean is less than their deviation: where that is less than half of them they lie far apart, and
 *          the mean of the derivative is about ENDS_INSIDE of that share. What is learned may come to the ends, a gate may be opened
 *          by its bias; what begins at both ends is fed too much */
#include <assay/module.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layer.h"

enum { TANH, SIGMOID, UNTOLD = -1, OTHER = -2 }; /* measures, and what has none */
enum { ENDS, UNITS };                            /* tests */
enum { INPUTS, OUTPUTS };                        /* slots */
enum {
    SLOPE,
    HIGH,
    FIRST,
    WIDTH
}; /* values of a row: the mean derivative, the share of the upper end, is it the first step */
static const char *const tests[] = {"ends", "units", NULL};
enum { ENDS_LEAST = 2 };
#define ENDS_SLOPE  0.1
#define ENDS_ONE    0.9
#define ENDS_INSIDE 0.1 /* the mean of the derivative over either range, of its largest value */

static const assay_param_def params[] = {
    ASSAY_LIST_PARAM("collection_names", NULL, "Collections of activation inputs."),
    ASSAY_REGEX_PARAM(
        "tensor_regex", ".*tanh_input|.*sigmoid_input",
        "Patterns (re.search) for names of activation inputs; the default holds when no collection is given."),
    ASSAY_REAL_PARAM("threshold_tanh_min", "-9.4999", 0, 0, "Lower end of the range in which tanh works."),
    ASSAY_REAL_PARAM("threshold_tanh_max", "9.4999", 0, 0, "Upper end of the range in which tanh works."),
    ASSAY_REAL_PARAM("threshold_sigmoid_min", "-23", 0, 0, "Lower end of the range in which the sigmoid works."),
    ASSAY_REAL_PARAM("threshold_sigmoid_max", "16.99999", 0, 0, "Upper end of the range in which the sigmoid works."),
    ASSAY_REAL_PARAM("threshold_inactivity", "1.0", 0, 100,
                     "A unit that is inside the range with fewer samples than this percentage is saturated."),
    ASSAY_REAL_PARAM("threshold_layer", "50.0", 0, 100,
                     "Fires when more than this percentage of a layer's units are saturated."),
    ASSAY_REGEX_PARAM(
        "outputs_regex", "(?i)(tanh|sigmoid)\\w*_output",
        "Patterns (re.search) for names of activation outputs, looked at from the first step of training on."),
    ASSAY_CHOICE_PARAM("activation", NULL, "tanh|sigmoid", "The activation of tensors whose names do not say it."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    static const char *const limit[][2] = {{"threshold_tanh_min", "threshold_tanh_max"},
                                           {"threshold_sigmoid_min", "threshold_sigmoid_max"}};
    int slot = selection_slot_of(given, need, 0, ASSAY_SLOT_TYPES, false, err);
    for (int i = TANH; slot >= 0 && i <= SIGMOID; i++) {
        assay_measure measure = {
            .kind = ASSAY_MEASURE_UNITS,
            .numbers = 2,
            .number = {assay_param_real(given, limit[i][0]), assay_param_real(given, limit[i][1])}};
        if (measure.number[0] >= measure.number[1])
            return assay_fail(err, ASSAY_EPARAM, "parameter %s has the value %g, which must be below %s (%g)",
                              limit[i][0], measure.number[0], limit[i][1], measure.number[1]);
        int number = assay_need_measure(need, slot, &measure, err);
        slot = number < 0 ? number : slot;
    }
    if (slot >= 0 && assay_need_rows(need, INPUTS, &(assay_rows){.width = WIDTH}, err) != ASSAY_OK)
        return ASSAY_ENOMEM;
    if (slot >= 0)
        slot = assay_need_slot(need,
                               &(assay_slot){.regexes = "outputs_regex",
                                             .modes = 1u << ASSAY_MODE_TRAIN,
                                             .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_TYPES},
                               err);
    return slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
}

/* The measure with the limits of the tensor's activation, UNTOLD when nothing tells which it is, OTHER when it is known to
 * be neither. */
static int measure_for(const assay_rule *rule, const char *name)
{
    static const struct {
        const char *type;
        int measure;
    } types[] = {
        {"torch.Tanh", TANH}, {"torch.Hardtanh", TANH}, {"torch.Sigmoid", SIGMOID}, {"torch.Hardsigmoid", SIGMOID}};
    const char *what = assay_trial_module_of(rule->trial, name);
    const char *activation = assay_param_text(rule->params, "activation");
    const size_t length = what ? strcspn(what, " ") : 0;
    for (size_t i = 0; what && i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].type) == length && strncmp(types[i].type, what, length) == 0)
            return types[i].measure;
    if (!activation && assay_module_kind_of(what) == ASSAY_MODULE_FUNCTION)
        return OTHER;
    if (strstr(name, "tanh"))
        return TANH;
    if (strstr(name, "sigmoid"))
        return SIGMOID;
    return !activation ? UNTOLD : strcmp(activation, "tanh") == 0 ? TANH : SIGMOID;
}

/* One row for each output. */
static int map_outputs(const assay_rule *rule, assay_common_state *s, const assay_step_view *view)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[OUTPUTS].count; i++) {
        const assay_tensor_view *item = view->slot[OUTPUTS].items[i];
        const int measure = measure_for(rule, item->name);
        if (measure < 0 || !assay_view_has_values(item) || item->stats->count < 2)
            continue;
        const double mean = assay_stats_mean(item->stats), square = assay_stats_variance(item->stats) + mean * mean;
        const double row[WIDTH] = {measure == TANH ? 1 - square : 4 * (mean - square),
                                   measure == TANH ? (mean + 1) / 2 : mean, view->mode_step == 0};
        status = assay_series_add(s->series, view->step, item->tensor, item->worker, row);
    }
    return status;
}

/* One row for an input of known activation. */
static int map_input(assay_common_state *s, const assay_step_view *view, const layer_limits *limits,
                     const assay_tensor_view *item)
{
    const assay_units *u = limits->measure >= 0 ? layer_units(view, limits, item) : NULL;
    uint64_t inside = 0;
    if (!u || view->mode != ASSAY_MODE_TRAIN || !assay_view_has_values(item) || u->samples < 2)
        return ASSAY_OK;
    for (uint64_t k = 0; k < u->units; k++)
        inside += u->inside[k];
    const double both = fabs(assay_stats_mean(item->stats)) < assay_stats_std(item->stats) ? 0.5 : 1;
    const double share = (double)inside / ((double)u->samples * (double)u->units);
    const double row[WIDTH] = {share < 0.5 ? ENDS_INSIDE * share : 1, both, view->mode_step == 0};
    return assay_series_add(s->series, view->step, item->tensor, item->worker, row);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    const assay_slot_view *slot = &view->slot[INPUTS];
    layer_limits limits = {.inactivity = assay_param_real(rule->params, "threshold_inactivity"),
                           .layer = assay_param_real(rule->params, "threshold_layer"),
                           .test = UNITS};
    int status = ASSAY_OK;
    for (uint32_t i = 0, n; status == ASSAY_OK && i < slot->count; i += n) {
        n = same_tensor(slot, i);
        limits.measure = measure_for(rule, slot->items[i]->name);
        if (limits.measure == UNTOLD)
            status = assay_counter_add(s->counter, slot->items[i]->tensor, 0, n);
        else if (limits.measure != OTHER)
            status = layer_test_workers(s->findings, view, &limits, slot->items + i, n);
        for (uint32_t k = i; status == ASSAY_OK && k < i + n; k++)
            status = map_input(s, view, &limits, slot->items[k]);
    }
    return status == ASSAY_OK ? map_outputs(rule, s, view) : status;
}

static bool is_at_ends(const double *row)
{
    return row[SLOPE] < ENDS_SLOPE && row[HIGH] < ENDS_ONE && row[HIGH] > 1 - ENDS_ONE;
}

static int test_ends(const assay_rule *rule, const assay_series *series, assay_findings *findings)
{
    const uint64_t count = assay_series_count(series);
    uint64_t *order = assay_series_by_tensor(series);
    int status = order || count == 0 ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t from = 0, to; status == ASSAY_OK && from < count; from = to) {
        const assay_row first = assay_series_row(series, order[from]);
        bool ends = first.value[FIRST] > 0;
        for (to = from; to < count; to++) {
            const assay_row row = assay_series_row(series, order[to]);
            if (row.tensor != first.tensor || row.worker != first.worker)
                break;
            ends = ends && is_at_ends(row.value);
        }
        for (uint64_t i = from; status == ASSAY_OK && i < to && to - from >= ENDS_LEAST; i++) {
            const assay_row row = assay_series_row(series, order[i]);
            const assay_finding finding = {.step = row.step,
                                           .tensor = row.tensor,
                                           .worker = row.worker,
                                           .test = ENDS,
                                           .value_unit = ENDS,
                                           .value = 100 * row.value[SLOPE],
                                           .threshold = 100 * ENDS_SLOPE};
            if (row.step >= rule->start_step)
                status = assay_findings_test(findings, ends, &finding);
        }
    }
    free(order);
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_counter *skipped = ((const assay_common_state *)state)->counter;
    uint64_t tensors = assay_counter_size(skipped), count;
    int64_t first, unused;
    const bool one = tensors == 1;
    int status = test_ends(rule, ((const assay_common_state *)state)->series, assay_verdict_findings(verdict));
    if (tensors == 0 || status != ASSAY_OK)
        return status == ASSAY_OK ? status : assay_fail(err, status, "out of memory");
    assay_counter_get(skipped, 0, &first, &unused, &count);
    assay_verdict_message(verdict,
                          "%llu tensor%s left out, as neither %s nor the parameter activation tell%s whether "
                          "%s tanh or sigmoid; the first is %s.",
                          (unsigned long long)tensors, one ? " was" : "s were", one ? "its name" : "their names",
                          one ? "s" : "", one ? "it feeds" : "they feed",
                          assay_trial_tensor(rule->trial, (uint32_t)first));
    return ASSAY_OK;
}

const assay_rule_ops assay_rule_saturated_activation = {
    ASSAY_RULE_HEAD,
    .name = "SaturatedActivation",
    .summary = "Layers in which a large share of the tanh or sigmoid units hardly leave their flat ends.",
    .advice = "Saturated units pass no gradient: scale the inputs, normalise before the activation, start with smaller "
              "weights (Xavier) or a lower learning rate, or use ReLU or GELU in hidden layers.",
    .params = params,
    .tests = tests,
    .traits = ASSAY_RULE_POOLS,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS([ENDS] = "% of the largest derivative", [UNITS] = "% of the units saturated"),
    .sentences =
        ASSAY_TEXTS([ENDS] = "{tensor}{of} lay at both ends at {when}", [UNITS] =
                                                                            "{tensor}{of} was saturated at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
