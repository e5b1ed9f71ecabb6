/* dead_relu.c - DeadRelu: layers in which too many ReLUs never become active. docs/rules/DeadRelu.md.
 *
 * Axis 0 holds the samples; a unit is one element of the other axes, or a channel (axis 1) with its positions pooled.
 * activity = 100 * #{x > 0} / samples; a unit is dead below threshold_inactivity; fires when 100 * dead / units exceeds
 * threshold_layer. Workers are pooled. With window = k the samples of the last k saved steps are pooled too. A
 * worker's tensor with elements that are not finite is left out. With only_relu the output of a module that is known to
 * be another function, and a tensor with a negative element, are no ReLU's: neither is tested. */
#include <assay/module.h>
#include <math.h>
#include <string.h>

#include "layer.h"

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM(
        "tensor_regex", ".*relu_output",
        "Patterns (re.search) for the names of ReLU outputs, beside those of the collection relu_outputs; names that "
        "begin with \"gradient\" are left out."),
    ASSAY_REAL_PARAM("threshold_inactivity", "1.0", 0, 100,
                     "A unit that is active with fewer samples than this percentage is dead."),
    ASSAY_REAL_PARAM("threshold_layer", "50.0", 0, 100,
                     "Fires when more than this percentage of a layer's units are dead."),
    ASSAY_CHOICE_PARAM("unit", "element", "element|channel",
                       "What a unit is: an element of the axes after the samples, or a channel (axis 1)."),
    ASSAY_INT_PARAM("window", "1", 1, 1000, "Number of saved steps whose samples are pooled."),
    ASSAY_INT_PARAM("min_samples", "1", 1, 1000000,
                    "Fewest samples of a step, all workers together, that tell whether a unit is dead."),
    {.name = "only_relu",
     .type = ASSAY_PARAM_BOOL,
     .initial = "False",
     .help =
         "Leave out tensors that no ReLU made, by the type of their module where it is recorded, and by their values: with elements that are "
         "negative."},
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = assay_need_slot(need,
                               &(assay_slot){.collection = "relu_outputs",
                                             .regexes = "tensor_regex",
                                             .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_TYPES},
                               err);
    if (slot < 0)
        return slot;
    bool channel = strcmp(assay_param_text(given, "unit"), "channel") == 0;
    assay_measure measure = {.kind = ASSAY_MEASURE_UNITS,
                             .form = channel ? ASSAY_UNIT_CHANNEL : ASSAY_UNIT_ELEMENT,
                             .window = (uint32_t)assay_param_int(given, "window"),
                             .numbers = 2,
                             .number = {0, INFINITY}};
    int number = assay_need_measure(need, slot, &measure, err);
    return number < 0 ? number : assay_need_rows(need, slot, &(assay_rows){.onsets = true, .pooled = true}, err);
}

/* May a ReLU have made what all of these workers have? */
static bool may_be_relu(const assay_trial *trial, const assay_tensor_view *const *items, uint32_t count)
{
    const char *what = assay_trial_module_of(trial, items[0]->name);
    if (assay_module_kind_of(what) == ASSAY_MODULE_FUNCTION && strncmp(what, "torch.ReLU", 10) != 0)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const assay_stats *s = items[i]->stats;
        if (s && s->min < 0)
            return false;
    }
    return true;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    const assay_slot_view *slot = &view->slot[0];
    layer_limits limits = {.measure = 0,
                           .inactivity = assay_param_real(rule->params, "threshold_inactivity"),
                           .layer = assay_param_real(rule->params, "threshold_layer"),
                           .samples = (uint64_t)assay_param_int(rule->params, "min_samples"),
                           .causes = s};
    int status = ASSAY_OK;
    for (uint32_t i = 0, n; status == ASSAY_OK && i < slot->count; i += n) {
        n = same_tensor(slot, i);
        const bool left_out =
            assay_param_bool(rule->params, "only_relu") && !may_be_relu(rule->trial, slot->items + i, n);
        if (strncmp(slot->items[i]->name, "gradient", 8) != 0 && !left_out)
            status = layer_test_workers(s->findings, view, &limits, slot->items + i, n);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    return first_cause_put(rule, state, NULL, NULL, "went dead", verdict, err);
}

const assay_rule_ops assay_rule_dead_relu = {
    ASSAY_RULE_HEAD,
    .name = "DeadRelu",
    .summary = "Layers in which a large share of the ReLUs are never active.",
    .advice = "Dead units get no gradient and do not come back by themselves: lower the learning rate, check for large "
              "negative biases, normalise the layer's input, or use leaky ReLU, ELU or GELU in the layers named.",
    .remedies =
        ASSAY_TEXTS("Lower the learning rate: one large step is enough to push a unit's bias below all its inputs.",
                    "Look for large negative biases in the layer named, and initialise biases with zero.",
                    "Normalise the layer's input (batch or layer normalisation).",
                    "Use leaky ReLU, ELU or GELU, whose gradient does not vanish below zero."),
    .params = params,
    .traits = ASSAY_RULE_POOLS,
    .value_units = ASSAY_TEXTS("% of the units dead"),
    .sentences = ASSAY_TEXTS("{tensor}{of} was dead at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
