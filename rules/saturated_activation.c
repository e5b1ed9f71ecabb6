/* saturated_activation.c - SaturatedActivation: layers whose tanh or sigmoid units get inputs at the flat ends.
 * docs/rules/SaturatedActivation.md.
 *
 * Works on the inputs of the activations. activity = 100 * #{min < x < max} / samples (what is not finite is left out); a unit is
 * saturated below threshold_inactivity; fires when 100 * saturated / units exceeds threshold_layer. Workers are pooled.
 * The type of the module tells the activation where it is recorded, else the name ("tanh" before "sigmoid"), else the
 * parameter activation; tensors of which none is known are left out. */
#include "layer.h"
#include "saturation.h"

static const assay_param_def params[] = {
    ASSAY_LIST_PARAM("collection_names", NULL, "Collections of activation inputs."),
    ASSAY_REGEX_PARAM(
        "tensor_regex", ".*tanh_input|.*sigmoid_input",
        "Patterns (re.search) for names of activation inputs; the default holds when no collection is given."),
    SATURATION_RANGES,
    ASSAY_REAL_PARAM("threshold_inactivity", "1.0", 0, 100,
                     "A unit that is inside the range with fewer samples than this percentage is saturated."),
    ASSAY_REAL_PARAM("threshold_layer", "50.0", 0, 100,
                     "Fires when more than this percentage of a layer's units are saturated."),
    SATURATION_ACTIVATION,
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    return saturation_need_ranges(given, need, selection_slot_of(given, need, 0, ASSAY_SLOT_TYPES, false, err), err);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    const assay_slot_view *slot = &view->slot[0];
    layer_limits limits = {.inactivity = assay_param_real(rule->params, "threshold_inactivity"),
                           .layer = assay_param_real(rule->params, "threshold_layer")};
    int status = ASSAY_OK;
    for (uint32_t i = 0, n; status == ASSAY_OK && i < slot->count; i += n) {
        n = same_tensor(slot, i);
        limits.measure = measure_for(rule, slot->items[i]->name);
        if (limits.measure == UNTOLD)
            status = assay_counter_add(s->counter, slot->items[i]->tensor, 0, n);
        else if (limits.measure != OTHER)
            status = layer_test_workers(s->findings, view, &limits, slot->items + i, n);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_counter *skipped = ((const assay_common_state *)state)->counter;
    uint64_t tensors = assay_counter_size(skipped), count;
    int64_t first, unused;
    const bool one = tensors == 1;
    if (tensors == 0)
        return ASSAY_OK;
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
    .traits = ASSAY_RULE_POOLS,
    .value_units = ASSAY_TEXTS("% of the units saturated"),
    .sentences = ASSAY_TEXTS("{tensor}{of} was saturated at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
