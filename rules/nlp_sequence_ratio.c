/* nlp_sequence_ratio.c - NLPSequenceRatio: inputs that are mostly padding or another given token.
 * docs/rules/NLPSequenceRatio.md.
 *
 * p_k = 100 * #{x = token k} / n over the workers of the step (each separately if the shapes after axis 0 differ);
 * fires when p_k > threshold k for some k. value and threshold are those of the first such token in the list. */
#include "layer.h"

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM("tensor_regex", ".*embedding0_input_0", "Patterns (re.search) for names of token sequences."),
    ASSAY_REALS_PARAM("token_values", "0", 0, 0, "The tokens to count."),
    ASSAY_REALS_PARAM("token_thresholds_percent", "50", 0, 100,
                      "Percentage above which each token fires; one for each token."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    size_t tokens = assay_param_count(given, "token_values");
    if (tokens != assay_param_count(given, "token_thresholds_percent"))
        return assay_fail(err, ASSAY_EPARAM,
                          "parameter token_thresholds_percent has %zu values, token_values has %zu: they go in pairs",
                          assay_param_count(given, "token_thresholds_percent"), tokens);
    if (tokens > ASSAY_MEASURE_NUMBERS)
        return assay_fail(err, ASSAY_EPARAM, "parameter token_values has %zu values, at most %d are counted", tokens,
                          ASSAY_MEASURE_NUMBERS);
    int slot = assay_need_slot(need, &(assay_slot){.regexes = "tensor_regex", .flags = ASSAY_SLOT_NO_STRINGS}, err);
    if (slot < 0)
        return slot;
    assay_measure measure = {.kind = ASSAY_MEASURE_EQUALS, .numbers = (uint32_t)tokens};
    for (size_t k = 0; k < tokens; k++)
        measure.number[k] = assay_param_number(given, "token_values", k);
    int number = assay_need_measure(need, slot, &measure, err);
    return number < 0 ? number : ASSAY_OK;
}

/* Tests items[0 .. count), which are one tensor's, as one sequence. */
static int test_tokens(const assay_rule *rule, assay_findings *findings, const assay_step_view *view,
                       const assay_tensor_view *const *items, uint32_t count, uint32_t worker)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < count; i++)
        n += assay_view_result(view, 0, items[i]) ? items[i]->stats->count : 0;
    if (n == 0)
        return ASSAY_OK;
    assay_finding finding = finding_of(view, items[0], 0, 0);
    finding.worker = worker;
    bool fired = false;
    for (size_t k = 0; !fired && k < assay_param_count(rule->params, "token_values"); k++) {
        uint64_t found = 0;
        for (uint32_t i = 0; i < count; i++) {
            const assay_result *result = assay_view_result(view, 0, items[i]);
            found += result ? result->of.counts.count[k] : 0;
        }
        finding.value = 100.0 * (double)found / (double)n;
        finding.threshold = assay_param_number(rule->params, "token_thresholds_percent", k);
        fired = finding.value > finding.threshold;
    }
    return assay_findings_test(findings, fired, &finding);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_findings *findings = ((assay_common_state *)state)->findings;
    const assay_slot_view *slot = &view->slot[0];
    int status = ASSAY_OK;
    for (uint32_t i = 0, n; status == ASSAY_OK && i < slot->count; i += n) {
        const assay_tensor_view *const *items = slot->items + i, *first = NULL;
        bool same = true;
        n = same_tensor(slot, i);
        for (uint32_t k = 0; k < n; k++) {
            if (!assay_view_result(view, 0, items[k]))
                continue;
            first = first ? first : items[k];
            same = same && same_behind_axis_0(first, items[k]);
        }
        if (same)
            status = test_tokens(rule, findings, view, items, n, ASSAY_ALL_WORKERS);
        for (uint32_t k = 0; !same && status == ASSAY_OK && k < n; k++)
            status = test_tokens(rule, findings, view, items + k, 1, items[k]->worker);
    }
    return status;
}

const assay_rule_ops assay_rule_nlp_sequence_ratio = {
    ASSAY_RULE_HEAD,
    .name = "NLPSequenceRatio",
    .summary = "Input sequences of which a given token, such as padding, takes too large a share.",
    .advice = "Padding costs compute and dilutes the loss: bucket sequences by length or pack them, shorten the "
              "maximum length, and "
              "mask padding in the loss; many unknown tokens mean that vocabulary or tokenizer do not fit the data.",
    .params = params,
    .traits = ASSAY_RULE_POOLS,
    .value_units = ASSAY_TEXTS("% of the tokens"),
    .sentences = ASSAY_TEXTS("one token took too large a share of {tensor}{of} at {when}"),
    .setup = setup,
    .map = map,
    ASSAY_COMMON_STATE,
};
