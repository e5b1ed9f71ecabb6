/* vanishing_gradient.c - VanishingGradient: gradients whose mean magnitude is tiny. docs/rules/VanishingGradient.md.
 *
 * For each worker: m = mean(|x|) of the raw tensor, else the saved reduction abs_mean; fires when m < threshold. A bias
 * whose gradient is rounding noise beside its layer's weights (siblings.h) is not tested: it has no effect, as before a
 * normalisation, and says nothing about the layer.
 *
 * largest_share also compares m with the largest m of the worker at the step: if the loss is next to nothing, so are
 * all gradients, and none of them has vanished on its way. skip_zero leaves out gradients that are all zero: what lies
 * behind a layer that starts as zeros has none at first. step_share leaves out tensors whose gradients are so small at
 * few of the steps: that of an expert which gets a sample now and then is tiny where the sample is known already. */
#include <inttypes.h>
#include <math.h>

#include "parts/first_cause.h"
#include "rare.h"
#include "selection.h"
#include "siblings.h"

enum { WIDTH = 1 };                       /* of a row, one for each gradient that has vanished: its mean magnitude */
enum { ROUNDING_BIAS = RARE_TESTED - 1 }; /* what the counter counts of a tensor, beside rare.h */

static const assay_param_def params[] = {
    {.name = "threshold",
     .type = ASSAY_PARAM_REAL,
     .initial = "1e-7",
     .least = 0,
     .most = 1e308,
     .flags = ASSAY_PARAM_ABOVE,
     .help = "Mean magnitude below which a gradient has vanished."},
    {.name = "largest_share",
     .type = ASSAY_PARAM_REAL,
     .initial = "1",
     .least = 0,
     .most = 1,
     .flags = ASSAY_PARAM_ABOVE,
     .help = "It must also be below this share of the worker's largest mean magnitude at the step."},
    ASSAY_BOOL_PARAM("skip_zero", "False", "Leave out gradients that are all zero."),
    RARE_PARAM,
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = assay_need_slot(need,
                               &(assay_slot){.collection = "gradients",
                                             .kinds = 1u << ASSAY_RAW | 1u << ASSAY_ABS_MEAN,
                                             .flags = ASSAY_SLOT_NO_STRINGS},
                               err);
    return slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH, .onsets = true}, err);
}

static bool has_mean(const assay_tensor_view *item)
{
    return assay_view_has_values(item) || (item->dtype < 0 && (item->reductions & 1u << ASSAY_ABS_MEAN));
}

/* The largest mean magnitude of the worker's gradients at the step. */
static double largest_mean(const assay_slot_view *slot, uint32_t worker)
{
    double largest = 0;
    for (uint32_t i = 0; i < slot->count; i++)
        if (slot->items[i]->worker == worker && has_mean(slot->items[i]))
            largest = fmax(largest, abs_mean_of(slot->items[i]));
    return largest;
}

/* Has the gradient vanished, m being its mean magnitude? */
static bool has_vanished(const assay_rule *rule, const assay_slot_view *slot, const assay_tensor_view *item, double m)
{
    double share = assay_param_real(rule->params, "largest_share");
    return m < assay_param_real(rule->params, "threshold") &&
           (share == 1 || m < share * largest_mean(slot, item->worker));
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    double threshold = assay_param_real(rule->params, "threshold");
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        double mean = has_mean(item) ? abs_mean_of(item) : NAN;
        if (!has_mean(item) || (mean == 0 && assay_param_bool(rule->params, "skip_zero")))
            continue;
        if (mean < threshold && is_rounding(rule->trial, &view->slot[0], item, mean)) {
            status = assay_counter_add(s->counter, item->tensor, ROUNDING_BIAS, 1);
            continue;
        }
        bool vanished = has_vanished(rule, &view->slot[0], item, mean);
        status = rare_count(s->counter, item->tensor, vanished);
        if (status == ASSAY_OK && vanished)
            status = assay_series_add(s->series, view->step, item->tensor, item->worker, &mean);
        assay_finding finding = finding_of(view, item, mean, threshold);
        if (status == ASSAY_OK && !vanished)
            status = assay_findings_test(s->findings, false, &finding);
        ASSAY_THEN(status,
                   first_cause_judge(s, view, item->tensor, item->worker, (assay_judgement){.bad = vanished}, NULL));
    }
    return status;
}

/* Says how many biases were left out. */
static void say_biases(const assay_rule *rule, const assay_counter *counter, assay_verdict *verdict)
{
    uint64_t biases = 0;
    int64_t first = -1;
    for (uint64_t i = 0; i < assay_counter_size(counter); i++) {
        int64_t tensor, kind;
        uint64_t count;
        assay_counter_get(counter, i, &tensor, &kind, &count);
        if (kind == ROUNDING_BIAS)
            first = biases++ == 0 ? tensor : first;
    }
    if (biases == 0)
        return;
    const char *name =
        first >= 0 && first < assay_trial_tensors(rule->trial) ? assay_trial_tensor(rule->trial, (uint32_t)first) : "";
    assay_verdict_message(verdict,
                          "%" PRIu64 " bias%s a gradient that is zero but for rounding, as in front of a "
                          "normalisation, where a bias has no effect: not tested (\"%s\"%s).",
                          biases, biases == 1 ? " has" : "es have", name, biases == 1 ? "" : " the first");
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_common_state *s = state;
    bool *rare = rare_tensors(rule, s->counter);
    int status = rare ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory");
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(s->series); i++) {
        assay_row row = assay_series_row(s->series, i);
        assay_finding finding = {.step = row.step,
                                 .tensor = row.tensor,
                                 .worker = row.worker,
                                 .value = row.value[0],
                                 .threshold = assay_param_real(rule->params, "threshold")};
        status = assay_findings_test(assay_verdict_findings(verdict), !is_rare(rule, rare, row.tensor), &finding);
    }
    say_biases(rule, s->counter, verdict);
    assay_verdict_no_data(verdict, "all gradients that match are zero%s, or were saved without a mean.",
                          assay_param_bool(rule->params, "skip_zero") ? " at every step (skip_zero)" : "");
    ASSAY_THEN(status, first_cause_put(rule, state, NULL, rare, "vanished", verdict, err));
    free(rare);
    return status;
}

const assay_rule_ops assay_rule_vanishing_gradient = {
    ASSAY_RULE_HEAD,
    .name = "VanishingGradient",
    .summary = "Gradients whose mean magnitude is so small that their layers no longer learn.",
    .advice =
        "The layers named here receive next to no signal: replace saturating activations by ReLU or GELU, add residual "
        "connections or normalisation between the deep layers, use Kaiming or Xavier initialisation, and in half "
        "precision scale the loss so that small gradients are not flushed to zero.",
    .remedies = ASSAY_TEXTS(
        "Replace sigmoid and tanh between the layers named by ReLU or GELU.",
        "Add residual connections or normalisation, so that gradients reach the layers below the one named.",
        "Initialise by Kaiming (ReLU) or Xavier (tanh), and compare the layers' variances (PoorWeightInitialization).",
        "In half precision scale the loss, so that small gradients are not flushed to zero (HalfPrecisionRisk)."),
    .params = params,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("mean magnitude"),
    .sentences = ASSAY_TEXTS("{tensor}{of} vanished at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
