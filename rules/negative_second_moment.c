/* negative_second_moment.c - NegativeSecondMoment: averages of squares that have an element below zero.
 * docs/rules/NegativeSecondMoment.md.
 *
 * Per worker: fires when min(x) < 0, NaN left out. */
#include "selection.h"

#include <inttypes.h>
#include <stdio.h>

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM("tensor_regex", "^optimizer/.*/((max_)?exp_avg_sq(_row|_col)?|square_avg|exp_inf|sum|nu)$",
                      "Patterns (re.search) for names of averages and sums of squares."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = assay_need_slot(need, &(assay_slot){.regexes = "tensor_regex", .flags = ASSAY_SLOT_NO_STRINGS}, err);
    int measure =
        slot < 0 ? slot : assay_need_measure(need, slot, &(assay_measure){.kind = ASSAY_MEASURE_NEGATIVE}, err);
    return measure < 0 ? measure : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        const assay_result *result = assay_view_result(view, 0, item);
        if (!assay_view_has_values(item) || !result)
            continue;
        const assay_negative *negative = &result->of.negative;
        char note[128];
        snprintf(note, sizeof note, "the smallest is %.9g, element %" PRIu64, negative->smallest, negative->index);
        assay_finding finding = finding_of(view, item, (double)negative->count, 0);
        finding.note = negative->count > 0 ? note : NULL;
        status = assay_findings_test(s->findings, negative->count > 0, &finding);
    }
    return status;
}

const assay_rule_ops assay_rule_negative_second_moment = {
    ASSAY_RULE_HEAD,
    .name = "NegativeSecondMoment",
    .summary = "Averages of squared gradients, as optimizers keep them, that have elements below zero.",
    .advice = "An average of squares is never negative: the optimizer's state was damaged, and its next update is NaN.",
    .remedies = ASSAY_TEXTS(
        "Resume from the checkpoint before: its square root is NaN at the next update.",
        "Test the device and memory of the rank that wrote it: no optimizer computes a negative average of squares.",
        "Look for a quantised or compressed optimizer state that was read with the wrong type."),
    .params = params,
    .value_units = ASSAY_TEXTS("element(s) below zero"),
    .sentences = ASSAY_TEXTS("{tensor}{of} was below zero at {when}, though it is an average of squares"),
    .setup = setup,
    .map = map,
    ASSAY_COMMON_STATE,
};
