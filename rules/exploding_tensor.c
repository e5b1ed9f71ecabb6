/* exploding_tensor.c - ExplodingTensor: NaN and infinite elements. RULES.md 3.2, R1.
 *
 * Per worker: value = number of offending elements, fires when there is one. Where only reductions were saved, those
 * that are not finite are counted, with the remark "indirect": a float32 sum can overflow over finite elements. std and
 * variance are left out, being NaN for a healthy scalar in PyTorch. */
#include "parts/first_cause.h"
#include "selection.h"

#define FORM(kind) (1u << (kind) | 1u << (ASSAY_ABS + (kind)))
static const uint32_t REDUCTIONS = FORM(ASSAY_MIN) | FORM(ASSAY_MAX) | FORM(ASSAY_MEAN) | FORM(ASSAY_SUM) |
                                   FORM(ASSAY_PROD) | FORM(ASSAY_L1) | FORM(ASSAY_L2);

static const assay_param_def params[] = {
    SELECTION_PARAMS,
    {.name = "only_nan", .type = ASSAY_PARAM_BOOL, .initial = "False", .help = "Only NaN counts, infinities do not."},
    {0},
};

static const char *const remedies[] = {
    "Look at the inputs and labels of the first bad step for extreme, missing or infinite values.",
    "Lower the learning rate, or lengthen its warm-up.",
    "Clip gradients by norm before the optimizer's step.",
    "Guard divisions, logarithms, square roots and exponentials of the layer named.",
    "In half precision use dynamic loss scaling, or bf16.",
    "If one worker alone begins, test its device and memory.",
    NULL,
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    (void)data;
    int slot = selection_slot(given, need, 1u << ASSAY_RAW | REDUCTIONS, false, err);
    int number =
        slot < 0 ? slot : assay_need_measure(need, slot, &(assay_measure){.kind = ASSAY_MEASURE_FIRST_BAD}, err);
    return number < 0 ? number : ASSAY_OK;
}

/* The first offending element; NULL where it was not looked for. */
static const assay_first_bad *first_bad(const assay_step_view *view, const assay_tensor_view *item, bool only_nan)
{
    const assay_result *result = assay_view_result(view, 0, item);
    return result && !(only_nan && isinf(result->of.first_bad.value)) ? &result->of.first_bad : NULL;
}

static uint64_t bad_reductions(const assay_tensor_view *item, bool only_nan)
{
    uint64_t bad = 0;
    for (int kind = 0; kind < ASSAY_KINDS; kind++)
        if (item->reductions & REDUCTIONS & 1u << kind)
            bad += only_nan ? isnan(item->reduction[kind]) : !isfinite(item->reduction[kind]);
    return bad;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    (void)err;
    assay_common_state *s = state;
    bool only_nan = assay_param_bool(rule->params, "only_nan");
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        bool indirect = item->dtype < 0 && (item->reductions & REDUCTIONS);
        uint64_t bad;
        if (assay_view_has_values(item))
            bad = item->stats->nan + (only_nan ? 0 : item->stats->pos_inf + item->stats->neg_inf);
        else if (indirect)
            bad = bad_reductions(item, only_nan);
        else
            continue;
        assay_finding finding = finding_of(view, item, (double)bad, 0);
        finding.note = indirect ? "indirect" : NULL;
        status = assay_findings_test(s->findings, bad > 0, &finding);
        if (status == ASSAY_OK && bad > 0)
            status = first_cause_add(s->series, view, item, item->worker, first_bad(view, item, only_nan));
    }
    return status;
}

const assay_rule_ops assay_rule_exploding_tensor = {
    .abi = ASSAY_RULE_ABI,
    .size = sizeof(assay_rule_ops),
    .name = "ExplodingTensor",
    .summary = "Tensors with NaN or infinite elements.",
    .advice =
        "Start at the first finding, later ones spread from it: lower the learning rate or warm it up, clip gradients "
        "by "
        "norm, look at the inputs of that step for extreme or missing values, guard divisions, logarithms and square "
        "roots, and in half precision check the loss scale.",
    .remedies = remedies,
    .params = params,
    .series_width = FIRST_CAUSE_WIDTH,
    .setup = setup,
    .map = map,
    .finalize = first_cause_finalize,
    ASSAY_COMMON_STATE,
};
