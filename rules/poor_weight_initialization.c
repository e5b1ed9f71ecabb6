/* poor_weight_initialization.c - PoorWeightInitialization: three tests on the first steps of a training.
 * docs/rules/PoorWeightInitialization.md.
 *
 * Over the trial's first `steps` TRAIN steps (steps of any mode if there is no TRAIN):
 *
 *   gradient_range   smallest spread q95 - q5 over the gradients of all workers < distribution_range; names its tensor.
 *                    Biases that are rounding noise beside their layer's weights do not count (siblings.h). No spread is
 *                    below 0, so that none is taken where distribution_range is 0
 *   loss_stalled     consecutive steps without a new strict minimum of the mean loss >= patience
 *   variance_ratio   for each worker: largest / smallest variance of the activation inputs > threshold; infinite if the
 *                    smallest is 0
 *
 * With combine = all, findings count only at steps where all three fired. */
#include <math.h>
#include <string.h>

#include "losses.h"
#include "siblings.h"

enum { ACTIVATIONS, GRADIENTS, LOSSES };                          /* slots; the one measure is of GRADIENTS */
enum { GRADIENT_RANGE, LOSS_STALLED, VARIANCE_RATIO, ALL_TESTS }; /* tests */
enum { TEST, VALUE, WIDTH };                                      /* values of a row */
static const char *const tests[] = {"gradient_range", "loss_stalled", "variance_ratio", NULL};

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM("activation_inputs_regex", ".*relu_input",
                      "Patterns (re.search) for names of activation inputs, whose variances are compared."),
    ASSAY_REAL_PARAM("threshold", "10.0", 0, 1e308,
                     "Ratio of the largest to the smallest variance above which variance_ratio fires."),
    ASSAY_REAL_PARAM("distribution_range", "0.001", 0, 1e308,
                     "Spread of a gradient between its 5th and 95th percentile below which gradient_range fires."),
    ASSAY_INT_PARAM("patience", "5", 1, 0x1p31, "Steps without a lower loss after which loss_stalled fires."),
    ASSAY_INT_PARAM("steps", "10", 1, 0x1p31, "How many of the first saved steps to test."),
    ASSAY_CHOICE_PARAM("combine", "any", "any|all", "Whether one test is enough, or all three must fire at a step."),
    {0},
};

static bool asks_for_spreads(const assay_params *given)
{
    return assay_param_real(given, "distribution_range") > 0;
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    assay_slot slots[] = {
        {.regexes = "activation_inputs_regex"}, {.collection = "gradients"}, {.collection = "losses"}};
    for (int i = ACTIVATIONS; i <= LOSSES; i++) {
        slots[i].modes = 1u << ASSAY_MODE_TRAIN;
        slots[i].flags = ASSAY_SLOT_PREFER_MODES | ASSAY_SLOT_NO_STRINGS;
        slots[i].first_steps = assay_param_int(given, "steps");
        int slot = assay_need_slot(need, &slots[i], err);
        if (slot < 0)
            return slot;
    }
    assay_measure measure = {.kind = ASSAY_MEASURE_QUANTILES, .numbers = 2, .number = {0.05, 0.95}};
    int number = asks_for_spreads(given) ? assay_need_measure(need, GRADIENTS, &measure, err) : ASSAY_OK;
    return number < 0 ? number : ASSAY_OK;
}

static int add(assay_common_state *s, const assay_step_view *view, uint32_t tensor, uint32_t worker, int test,
               double value)
{
    double row[WIDTH] = {test, value};
    return assay_series_add(s->series, view->step, tensor, worker, row);
}

static int map_variances(assay_common_state *s, const assay_step_view *view, uint32_t worker)
{
    const assay_slot_view *slot = &view->slot[ACTIVATIONS];
    double most = -INFINITY, least = INFINITY;
    bool undefined = false, seen = false;
    for (uint32_t i = 0; i < slot->count; i++) {
        if (slot->items[i]->worker != worker || !assay_view_has_values(slot->items[i]))
            continue;
        double variance = assay_stats_variance(slot->items[i]->stats);
        undefined = undefined || isnan(variance);
        most = variance > most ? variance : most;
        least = variance < least ? variance : least;
        seen = true;
    }
    if (!seen)
        return ASSAY_OK;
    double ratio = undefined ? NAN : least == 0 ? INFINITY : most / least;
    return add(s, view, ASSAY_NO_TENSOR, worker, VARIANCE_RATIO, ratio);
}

static int map_gradients(const assay_rule *rule, assay_common_state *s, const assay_step_view *view)
{
    const assay_slot_view *slot = &view->slot[GRADIENTS];
    const bool asks = asks_for_spreads(rule->params);
    double least = NAN;
    uint32_t where = ASSAY_NO_TENSOR;
    bool seen = false;
    for (uint32_t i = 0; i < slot->count; i++) {
        const assay_result *result = asks ? assay_view_result(view, 0, slot->items[i]) : NULL;
        if ((asks && !result) || !assay_view_has_values(slot->items[i]) ||
            is_rounding(rule->trial, slot, slot->items[i], abs_mean_of(slot->items[i])))
            continue;
        seen = true;
        if (!asks)
            continue;
        const double *q = result->of.quantiles.value;
        double spread = slot->items[i]->stats->nan ? NAN : q[1] - q[0];
        if (!isnan(spread) && !(spread >= least)) {
            least = spread;
            where = slot->items[i]->tensor;
        }
    }
    return seen ? add(s, view, where, ASSAY_ALL_WORKERS, GRADIENT_RANGE, least) : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    int status = ASSAY_OK;
    for (uint32_t worker = 0; status == ASSAY_OK && worker < assay_trial_workers(rule->trial); worker++)
        status = map_variances(s, view, worker);
    ASSAY_THEN(status, map_gradients(rule, s, view));
    double loss;
    if (status == ASSAY_OK && step_loss(&view->slot[LOSSES], NULL, &loss))
        status = add(s, view, ASSAY_NO_TENSOR, ASSAY_ALL_WORKERS, LOSS_STALLED, loss);
    return status;
}

typedef struct patience {
    double best;
    int64_t wait;
} patience;

/* What a row tests, and whether it fires. Losses have to come in order of step. */
static bool judge(const assay_rule *rule, assay_row row, patience *p, assay_finding *finding)
{
    double test = row.value[TEST];
    *finding = (assay_finding){.step = row.step,
                               .tensor = row.tensor,
                               .worker = row.worker,
                               .test = test == GRADIENT_RANGE   ? GRADIENT_RANGE
                                       : test == VARIANCE_RATIO ? VARIANCE_RATIO
                                                                : LOSS_STALLED,
                               .value = row.value[VALUE]};
    finding->value_unit = finding->test;
    switch (finding->test) {
    case GRADIENT_RANGE:
        finding->threshold = assay_param_real(rule->params, "distribution_range");
        return finding->value < finding->threshold;
    case VARIANCE_RATIO:
        finding->threshold = assay_param_real(rule->params, "threshold");
        return finding->value > finding->threshold;
    default:
        p->wait = row.value[VALUE] < p->best ? 0 : p->wait + 1;
        p->best = row.value[VALUE] < p->best ? row.value[VALUE] : p->best;
        finding->value = (double)p->wait;
        finding->threshold = (double)assay_param_int(rule->params, "patience");
        return p->wait >= assay_param_int(rule->params, "patience");
    }
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    bool all = strcmp(assay_param_text(rule->params, "combine"), "all") == 0;
    uint64_t rows = assay_series_count(series);
    patience p = {.best = INFINITY};
    int status = ASSAY_OK;
    for (uint64_t i = 0, end; i < rows; i = end) {
        unsigned fired = 0;
        assay_finding finding;
        patience look_ahead = p;
        for (end = i; end < rows && assay_series_row(series, end).step == assay_series_row(series, i).step; end++)
            if (judge(rule, assay_series_row(series, end), &look_ahead, &finding))
                fired |= 1u << finding.test;
        bool counts = !all || fired == (1u << ALL_TESTS) - 1;
        for (uint64_t k = i; status == ASSAY_OK && k < end; k++) {
            bool fires = judge(rule, assay_series_row(series, k), &p, &finding);
            status = assay_findings_test(assay_verdict_findings(verdict), fires && counts, &finding);
        }
    }
    return status;
}

const assay_rule_ops assay_rule_poor_weight_initialization = {
    ASSAY_RULE_HEAD,
    .name = "PoorWeightInitialization",
    .summary = "First steps with very unequal layers, flat gradients or a loss that does not fall.",
    .advice = "Initialise by the activation (Kaiming for ReLU, Xavier for tanh and sigmoid), never with constants; "
              "normalise inputs, "
              "add normalisation layers where variances differ from layer to layer, and warm the learning rate up.",
    .params = params,
    .traits = ASSAY_RULE_NOT_LOGGED,
    .tests = tests,
    .series_width = WIDTH,
    .value_units =
        ASSAY_TEXTS([GRADIENT_RANGE] = "between the 5 % and 95 % quantiles",
                    [LOSS_STALLED] = "step(s) without a new best", [VARIANCE_RATIO] = "times the smallest variance"),
    .sentences = ASSAY_TEXTS([GRADIENT_RANGE] = "gradients were almost flat at {when}",
                             [LOSS_STALLED] = "the loss did not fall at first, up to {when}",
                             [VARIANCE_RATIO] = "layers{of} had very unequal variances at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
