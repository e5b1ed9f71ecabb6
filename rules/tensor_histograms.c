/* tensor_histograms.c - the aggregation tensor_histograms: how the elements of tensors are distributed, by step.
 *
 * A row has the quantiles of all workers' elements at fixed levels. Two levels and their quantiles are a bin: so many
 * of the elements lie in it. Bins of equal counts need no range that would have to be known before the first step, and
 * a chunk can take them alone. Of one worker the quantiles are exact, of equal ones too. Else each worker's elements
 * count as spread evenly within its bins, and those of all are put together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/search.h>

#include "curve_walk.h"
#include "modes.h"
#include "selection.h"
#include "shared/histograms.h"

static const assay_param_def params[] = {
    SELECTION_PARAMS,
    ASSAY_CHOICE_PARAM("mode", NULL, MODE_CHOICES, "Only steps of this mode; by default all."),
    ASSAY_INT_PARAM("steps", "64", 2, 1e9, "At most this many steps of a mode, evenly spaced."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    if (!assay_param_has(given, "collection_names") && !assay_param_has(given, "tensor_regex"))
        return assay_fail(err, ASSAY_EPARAM, "one of the parameters collection_names and tensor_regex is required");
    int slot = assay_need_slot(need,
                               &(assay_slot){.collections = "collection_names",
                                             .regexes = "tensor_regex",
                                             .modes = chosen_modes(given),
                                             .first_steps = assay_param_int(given, "steps"),
                                             .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_SPREAD},
                               err);
    assay_measure measure = {.kind = ASSAY_MEASURE_QUANTILES, .numbers = ASSAY_HISTOGRAM_LEVELS};
    memcpy(measure.number, assay_histogram_level, sizeof assay_histogram_level);
    int status = slot < 0 ? slot : assay_need_measure(need, slot, &measure, err);
    const assay_rows rows = {.width = ASSAY_HISTOGRAM_WIDTH, .pooled = true};
    return status < 0 ? status : assay_need_rows(need, slot, &rows, err);
}

/* Of one worker: how many elements, and their quantiles. */
typedef struct part {
    double elements;
    const double *quantile;
} part;

static double share_of_all(const part *parts, uint32_t count, double elements, double x, bool below)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += parts[i].elements / elements * assay_histogram_share(parts[i].quantile, x, below);
    return sum;
}

/* The quantiles of all parts together; `edge` has room for those of each. */
static void join(const part *parts, uint32_t count, double elements, double *edge, double *out)
{
    const size_t edges = (size_t)count * ASSAY_HISTOGRAM_LEVELS;
    size_t e = 0;
    for (uint32_t i = 0; i < count; i++)
        memcpy(edge + (size_t)i * ASSAY_HISTOGRAM_LEVELS, parts[i].quantile, ASSAY_HISTOGRAM_LEVELS * sizeof *edge);
    qsort(edge, edges, sizeof *edge, assay_order_f64);
    out[0] = edge[0];
    out[ASSAY_HISTOGRAM_LEVELS - 1] = edge[edges - 1];
    for (int k = 1; k + 1 < ASSAY_HISTOGRAM_LEVELS; k++) {
        const double level = assay_histogram_level[k];
        while (e + 1 < edges && share_of_all(parts, count, elements, edge[e], false) < level)
            e++;
        const double before = e > 0 ? edge[e - 1] : edge[0], low = share_of_all(parts, count, elements, before, false);
        const double high = share_of_all(parts, count, elements, edge[e], true);
        const double between = high > low && level < high ? (level - low) / (high - low) : 1;
        out[k] = isfinite(before) && isfinite(edge[e]) ? before + between * (edge[e] - before) : edge[e];
    }
}

static bool is_equal(const part *parts, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (memcmp(parts[i].quantile, parts[0].quantile, ASSAY_HISTOGRAM_LEVELS * sizeof *parts->quantile) != 0)
            return false;
    return true;
}

/* items[0 .. count) are one tensor's, by worker. */
static int add_row(assay_common_state *s, const assay_step_view *view, const assay_tensor_view *const *items,
                   uint32_t count)
{
    double row[ASSAY_HISTOGRAM_WIDTH] = {0}, elements = 0;
    uint32_t used = 0;
    part *parts = calloc(count, sizeof *parts);
    double *edge = calloc((size_t)count * ASSAY_HISTOGRAM_LEVELS, sizeof *edge);
    int status = parts && edge ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t i = 0; status == ASSAY_OK && i < count; i++) {
        const assay_result *result = assay_view_result(view, 0, items[i]);
        if (!result || result->of.quantiles.used == 0)
            continue;
        parts[used++] = (part){(double)result->of.quantiles.used, result->of.quantiles.value};
        elements += (double)result->of.quantiles.used;
    }
    if (used > 0) {
        row[ASSAY_HISTOGRAM_ELEMENTS] = elements;
        if (is_equal(parts, used))
            memcpy(row + ASSAY_HISTOGRAM_QUANTILES, parts[0].quantile, sizeof assay_histogram_level);
        else
            join(parts, used, elements, edge, row + ASSAY_HISTOGRAM_QUANTILES);
        status = assay_series_add(s->series, view->step, items[0]->tensor, ASSAY_ALL_WORKERS, row);
    }
    free(parts);
    free(edge);
    return status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    const assay_slot_view *slot = &view->slot[0];
    int status = ASSAY_OK;
    for (uint32_t i = 0, n; status == ASSAY_OK && i < slot->count; i += n) {
        for (n = 1; i + n < slot->count && slot->items[i + n]->tensor == slot->items[i]->tensor; n++)
            ;
        status = add_row(state, view, slot->items + i, n);
    }
    return status;
}

static void put_histogram(const curve_walk *w, assay_buf *json, assay_buf *text)
{
    const uint64_t ends[] = {0, w->count - 1};
    curve_put_values(w, "elements", ASSAY_HISTOGRAM_ELEMENTS, json);
    assay_put_format(json, ", \"quantiles\": [");
    for (uint64_t i = 0; i < w->count; i++) {
        assay_put_format(json, i ? ", [" : "[");
        for (int k = 0; k < ASSAY_HISTOGRAM_LEVELS; k++) {
            assay_put_format(json, k ? ", " : "");
            assay_json_put_number(json, curve_value(w, i, ASSAY_HISTOGRAM_QUANTILES + k));
        }
        assay_put_format(json, "]");
    }
    assay_put_format(json, "]}");
    assay_put_format(text, "  %s, %s: %" PRIu64 " step%s\n", assay_trial_tensor(w->trial, w->tensor),
                     assay_mode_name(w->mode), w->count, assay_plural(w->count));
    for (uint64_t e = 0; e < (w->count > 1 ? 2 : 1); e++)
        assay_put_format(text, "    step %" PRId64 ": least %.6g, 5 %% %.6g, median %.6g, 95 %% %.6g, most %.6g\n",
                         assay_series_row(w->series, w->row[ends[e]]).step,
                         curve_value(w, ends[e], ASSAY_HISTOGRAM_QUANTILES),
                         curve_value(w, ends[e], ASSAY_HISTOGRAM_QUANTILES + ASSAY_HISTOGRAM_LOW),
                         curve_value(w, ends[e], ASSAY_HISTOGRAM_QUANTILES + ASSAY_HISTOGRAM_MEDIAN),
                         curve_value(w, ends[e], ASSAY_HISTOGRAM_QUANTILES + ASSAY_HISTOGRAM_HIGH),
                         curve_value(w, ends[e], ASSAY_HISTOGRAM_QUANTILES + ASSAY_HISTOGRAM_LEVELS - 1));
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    curve_walk walk;
    assay_buf *json = assay_verdict_json(verdict), *text = assay_verdict_text(verdict);
    int status = curve_walk_begin(&walk, rule, state);
    bool first = true;
    assay_put_format(json, "\"levels\": [");
    for (int k = 0; k < ASSAY_HISTOGRAM_LEVELS; k++)
        assay_put_format(json, "%s%g", k ? ", " : "", assay_histogram_level[k]);
    assay_put_format(json, "], \"histograms\": [");
    while (status == ASSAY_OK && curve_walk_next(&walk)) {
        curve_put_head(&walk, first, json);
        put_histogram(&walk, json, text);
        first = false;
    }
    assay_put_format(json, "]");
    curve_walk_end(&walk);
    curve_put_steps(rule, verdict);
    return status;
}

const assay_rule_ops assay_rule_tensor_histograms = {
    ASSAY_RULE_HEAD,
    .name = "tensor_histograms",
    .summary = "How the elements of tensors are distributed by step and mode: quantiles, over all workers.",
    .params = params,
    .traits = ASSAY_RULE_AGGREGATION | ASSAY_RULE_POOLS,
    .series_width = ASSAY_HISTOGRAM_WIDTH,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
