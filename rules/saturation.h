/* saturation.h - inputs and outputs of tanh and sigmoid, and the ranges of inputs in which both work (SaturatedActivation,
 * SaturatedFromStart). */
#pragma once

#include <assay/module.h>
#include <assay/rule.h>
#include <string.h>

enum { TANH, SIGMOID, UNTOLD = -1, OTHER = -2 }; /* measures, and what has none */

/* A rule with these has SATURATION_ACTIVATION as well. */
#define SATURATION_RANGES                                                                                              \
    ASSAY_REAL_PARAM("threshold_tanh_min", "-9.4999", 0, 0, "Lower end of the range in which tanh works."),            \
        ASSAY_REAL_PARAM("threshold_tanh_max", "9.4999", 0, 0, "Upper end of the range in which tanh works."),         \
        ASSAY_REAL_PARAM("threshold_sigmoid_min", "-23", 0, 0, "Lower end of the range in which the sigmoid works."),  \
        ASSAY_REAL_PARAM("threshold_sigmoid_max", "16.99999", 0, 0,                                                    \
                         "Upper end of the range in which the sigmoid works.")
#define SATURATION_ACTIVATION                                                                                          \
    ASSAY_CHOICE_PARAM("activation", NULL, "tanh|sigmoid", "The activation of tensors whose names do not say it.")

/* Of the inputs in a slot the rule needs how many lie within either range: the measures TANH and SIGMOID. `slot` may be
 * an error, which is returned; else 0, ASSAY_EPARAM or ASSAY_ENOMEM. */
static inline int saturation_need_ranges(const assay_params *given, assay_need *need, int slot, assay_error *err)
{
    static const char *const limit[][2] = {{"threshold_tanh_min", "threshold_tanh_max"},
                                           {"threshold_sigmoid_min", "threshold_sigmoid_max"}};
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
    return slot < 0 ? slot : ASSAY_OK;
}

/* The measure with the limits of the tensor's activation, UNTOLD when nothing tells which it is, OTHER when it is known to
 * be neither. */
static inline int measure_for(const assay_rule *rule, const char *name)
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
