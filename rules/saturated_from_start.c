/* saturated_from_start.c - SaturatedFromStart: tanh and sigmoid whose values lie at both ends since training began.
 * docs/rules/SaturatedFromStart.md.
 *
 * Looks at the outputs (outputs_regex) of each worker at all saved TRAIN steps. Fires at all of them where TRAIN step 0
 * is among them, they are LEAST or more, and at each of them the mean of the derivative, 1 - mean(y^2) of tanh or
 * 4 (mean(y) - mean(y^2)) of the sigmoid, is below SLOPE_MOST of its largest value and neither end has ONE_END of the
 * values. Of inputs no more is known than how many are within the range, and that their mean is less than their
 * deviation: where less than half of them are within, they lie far apart, and the mean of the derivative is about
 * SLOPE_INSIDE of that share. What is learned may come to the ends, and a gate may be opened by its bias; what begins at
 * both ends is fed too much. */
#include <math.h>
#include <stdlib.h>

#include "layer.h"
#include "saturation.h"

enum { INPUTS, OUTPUTS };           /* slots */
enum { SLOPE, HIGH, FIRST, WIDTH }; /* of a row: the mean derivative, the share of the upper end, is it TRAIN step 0 */
enum { LEAST = 2 };                 /* one step may be chance */
#define SLOPE_MOST   0.1
#define ONE_END      0.9
#define SLOPE_INSIDE 0.1 /* the mean of the derivative over either range, of its largest value */

static const assay_param_def params[] = {
    ASSAY_LIST_PARAM("collection_names", NULL, "Collections of activation inputs."),
    ASSAY_REGEX_PARAM(
        "tensor_regex", "(?i)(tanh|sigmoid)\\w*_input",
        "Patterns (re.search) for names of activation inputs; the default holds when no collection is given."),
    ASSAY_REGEX_PARAM("outputs_regex", "(?i)(tanh|sigmoid)\\w*_output",
                      "Patterns (re.search) for names of activation outputs."),
    SATURATION_RANGES,
    SATURATION_ACTIVATION,
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int status = saturation_need_ranges(
        given, need, selection_slot_of(given, need, 0, ASSAY_SLOT_TYPES | ASSAY_SLOT_OPTIONAL, false, err), err);
    ASSAY_THEN(status, assay_need_rows(need, INPUTS, &(assay_rows){.width = WIDTH}, err));
    const int slot =
        status < 0
            ? status
            : assay_need_slot(need,
                              &(assay_slot){.regexes = "outputs_regex",
                                            .modes = 1u << ASSAY_MODE_TRAIN,
                                            .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_TYPES | ASSAY_SLOT_OPTIONAL},
                              err);
    return slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
}

/* One row for an output. What is beyond the values that the function has is another one's, whatever its name. */
static int map_output(assay_common_state *s, const assay_step_view *view, int measure, const assay_tensor_view *item)
{
    if (measure < 0 || !assay_view_has_values(item) || item->stats->count < 2 || item->stats->max > 1 ||
        item->stats->min < (measure == TANH ? -1 : 0))
        return ASSAY_OK;
    const double mean = assay_stats_mean(item->stats), square = assay_stats_variance(item->stats) + mean * mean;
    const double row[WIDTH] = {measure == TANH ? 1 - square : 4 * (mean - square),
                               measure == TANH ? (mean + 1) / 2 : mean, view->mode_step == 0};
    return assay_series_add(s->series, view->step, item->tensor, item->worker, row);
}

/* One row for an input. */
static int map_input(assay_common_state *s, const assay_step_view *view, int measure, const assay_tensor_view *item)
{
    const assay_units *u = measure >= 0 ? layer_units(view, &(layer_limits){.measure = measure}, item) : NULL;
    uint64_t inside = 0;
    if (!u || view->mode != ASSAY_MODE_TRAIN || !assay_view_has_values(item) || u->samples < 2)
        return ASSAY_OK;
    for (uint64_t k = 0; k < u->units; k++)
        inside += u->inside[k];
    const double both = fabs(assay_stats_mean(item->stats)) < assay_stats_std(item->stats) ? 0.5 : 1;
    const double share = (double)inside / ((double)u->samples * (double)u->units);
    const double row[WIDTH] = {share < 0.5 ? SLOPE_INSIDE * share : 1, both, view->mode_step == 0};
    return assay_series_add(s->series, view->step, item->tensor, item->worker, row);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    int status = ASSAY_OK;
    for (int k = INPUTS; k <= OUTPUTS; k++)
        for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[k].count; i++) {
            const assay_tensor_view *item = view->slot[k].items[i];
            const int measure = measure_for(rule, item->name);
            status = k == INPUTS ? map_input(state, view, measure, item) : map_output(state, view, measure, item);
        }
    return status;
}

static bool is_at_both_ends(const double *row)
{
    return row[SLOPE] < SLOPE_MOST && row[HIGH] < ONE_END && row[HIGH] > 1 - ONE_END;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
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
            ends = ends && is_at_both_ends(row.value);
        }
        for (uint64_t i = from; status == ASSAY_OK && i < to && to - from >= LEAST; i++) {
            const assay_row row = assay_series_row(series, order[i]);
            const assay_finding finding = {.step = row.step,
                                           .tensor = row.tensor,
                                           .worker = row.worker,
                                           .value = 100 * row.value[SLOPE],
                                           .threshold = 100 * SLOPE_MOST};
            if (row.step >= rule->start_step)
                status = assay_findings_test(assay_verdict_findings(verdict), ends, &finding);
        }
    }
    free(order);
    return status == ASSAY_OK ? status : assay_fail(err, status, "out of memory");
}

const assay_rule_ops assay_rule_saturated_from_start = {
    ASSAY_RULE_HEAD,
    .name = "SaturatedFromStart",
    .summary = "Tanh or sigmoid whose values lie at both ends from the first step of training on.",
    .advice = "Scale what comes to it: inputs in their own units, weights that begin too large, a product that is not "
              "divided by the root of its length.",
    .params = params,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("% of the largest derivative"),
    .sentences = ASSAY_TEXTS("{tensor}{of} lay at both ends at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
