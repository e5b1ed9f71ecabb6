/* create_xgboost_report.c - CreateXgboostReport: sections about a training of boosted trees.
 * docs/rules/CreateXgboostReport.md.
 *
 * There are no tests and no findings. map keeps short rows per step, pooled over workers, never the predictions:
 *
 *   metrics             every metric over the steps
 *   feature_importance  by weight, gain, cover and their totals at the last step that has any, mean over workers
 *   labels              distribution at the last step with predictions
 *   confusion           matrix, precision, recall, F1 at that step
 *   class_accuracy      share of right predictions by class and step
 *   roc                 two classes: curve over BINS equal intervals of the score, area by trapezoids. The true area
 *                       differs by at most auc_error = sum of P_b N_b over the intervals / (2 P N)
 *   residuals           regression: histogram of label - prediction at that step
 *   absolute_error      regression: mean |label - prediction| in INTERVALS intervals of the label, by step
 *
 * The values tell the task: scores in a last axis longer than 1 are multiclass; labels 0 and 1 with predictions in 0..1
 * are binary; whole labels and whole predictions are multiclass; anything else is regression. */
#include <math.h>

#include "pairs.h"
#include "parts/xgboost_sections.h"

enum { METRICS, IMPORTANCE, LABELS, PREDICTIONS };                           /* slots */
enum { LABEL_VALUES, LABEL_CLASSES, PREDICTION_VALUES, PREDICTION_CLASSES }; /* measures */
enum { INTERVALS = 10, RESIDUALS = 20 };
static const int64_t LARGEST = INT64_C(1) << 53; /* of a class */

static const class_slot CLASS_LABELS = {LABELS, LABEL_CLASSES, 0},
                        CLASS_PREDICTIONS = {PREDICTIONS, PREDICTION_CLASSES, 0};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    static const assay_slot slots[] = {
        {.collection = "metrics", .flags = ASSAY_SLOT_NO_STRINGS},
        {.collection = "feature_importance", .flags = ASSAY_SLOT_NO_STRINGS},
        {.collection = "labels", .name = "labels", .flags = ASSAY_SLOT_NO_STRINGS},
        {.collection = "predictions", .name = "predictions", .flags = ASSAY_SLOT_NO_STRINGS}};
    static const uint32_t form[] = {[LABELS] = ASSAY_CLASS_ROUND, [PREDICTIONS] = ASSAY_CLASS_AUTO};
    int status = ASSAY_OK;
    for (int i = METRICS; status >= 0 && i <= PREDICTIONS; i++) {
        status = assay_need_slot(need, &slots[i], err);
        if (status >= 0 && i >= LABELS)
            status = assay_need_measure(need, i, &(assay_measure){.kind = ASSAY_MEASURE_VALUES}, err);
        if (status >= 0 && i >= LABELS)
            status = assay_need_measure(need, i, &(assay_measure){.kind = ASSAY_MEASURE_CLASSES, .form = form[i]}, err);
    }
    return status < 0 ? status : ASSAY_OK;
}

/* Labels and the predictions that belong to them. */
typedef struct paired {
    const assay_tensor_view *prediction;
    const assay_values *label, *predicted;
} paired;

static bool pair_values(const assay_step_view *view, uint32_t i, paired *out)
{
    uint32_t k = partner_number(&view->slot[LABELS], i, &view->slot[PREDICTIONS]);
    if (k == UINT32_MAX)
        return false;
    out->prediction = view->slot[PREDICTIONS].items[k];
    const assay_result *label = assay_view_result(view, LABEL_VALUES, view->slot[LABELS].items[i]);
    const assay_result *predicted = assay_view_result(view, PREDICTION_VALUES, out->prediction);
    out->label = label ? &label->of.values : NULL;
    out->predicted = predicted ? &predicted->of.values : NULL;
    return label && predicted && out->label->count > 0 && out->predicted->count > 0;
}

static int task_of(const assay_step_view *view)
{
    bool any = false, zero_one = true, shares = true, whole = true;
    for (uint32_t i = 0; i < view->slot[LABELS].count; i++) {
        paired p;
        if (!pair_values(view, i, &p))
            continue;
        if (p.prediction->dims > 1 && p.prediction->shape[p.prediction->dims - 1] > 1)
            return MULTICLASS;
        any = any || p.label->count == p.predicted->count;
        for (uint64_t k = 0; p.label->count == p.predicted->count && k < p.label->count; k++) {
            double y = p.label->value[k], x = p.predicted->value[k];
            zero_one = zero_one && (y == 0 || y == 1);
            shares = shares && x >= 0 && x <= 1;
            whole = whole && y == floor(y) && x == floor(x) && y >= 0 && x >= 0;
        }
    }
    return !any ? NO_TASK : zero_one && shares ? BINARY : whole ? MULTICLASS : REGRESSION;
}

static int add(assay_common_state *s, const assay_step_view *view, int section, double a, double b, double c, double d)
{
    double row[WIDTH] = {section, a, b, c, d};
    return assay_series_add(s->series, view->step, ASSAY_NO_TENSOR, ASSAY_ALL_WORKERS, row);
}

static int map_scalars(assay_common_state *s, const assay_step_view *view, int slot, int section)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[slot].count; i++) {
        const assay_tensor_view *item = view->slot[slot].items[i];
        double row[WIDTH] = {section, assay_view_has_values(item) ? assay_stats_mean(item->stats) : NAN};
        if (assay_view_has_values(item))
            status = assay_series_add(s->series, view->step, item->tensor, item->worker, row);
    }
    return status;
}

/* A row for each pair of the counter; classes that a double cannot tell apart are none. */
static int add_counts(assay_common_state *s, const assay_step_view *view, int section, const assay_counter *counter)
{
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_counter_size(counter); i++) {
        int64_t a, b;
        uint64_t count;
        assay_counter_get(counter, i, &a, &b, &count);
        if (a >= -LARGEST && a <= LARGEST && b >= -LARGEST && b <= LARGEST)
            status = add(s, view, section, (double)a, (double)b, (double)count, 0);
    }
    return status;
}

static int map_classes(const assay_rule *rule, assay_common_state *s, const assay_step_view *view, bool binary)
{
    assay_counter *cells = assay_counter_new(), *scores = assay_counter_new();
    int status =
        cells && scores ? add_pairs(cells, rule->trial, view, CLASS_LABELS, CLASS_PREDICTIONS, false) : ASSAY_ENOMEM;
    for (uint32_t i = 0; binary && status == ASSAY_OK && i < view->slot[LABELS].count; i++) {
        paired p;
        uint64_t n = pair_values(view, i, &p) && p.label->count == p.predicted->count ? p.label->count : 0;
        for (uint64_t k = 0; status == ASSAY_OK && k < n; k++) {
            int64_t bin = (int64_t)(p.predicted->value[k] * BINS);
            status = assay_counter_add(scores, bin < BINS ? bin : BINS - 1, p.label->value[k] > 0, 1);
        }
    }
    ASSAY_THEN(status, add_counts(s, view, CELL, cells));
    ASSAY_THEN(status, add_counts(s, view, SCORE, scores));
    assay_counter_free(cells);
    assay_counter_free(scores);
    return status;
}

typedef struct histogram {
    double low, high;
    double count[RESIDUALS], sum[RESIDUALS]; /* RESIDUALS >= INTERVALS */
} histogram;

/* One pass over the step's pairs: with `range` it widens low and high, else it counts. By label, or by residual. */
static void pass_over(const assay_step_view *view, histogram *h, int bins, bool by_label, bool range)
{
    for (uint32_t i = 0; i < view->slot[LABELS].count; i++) {
        paired p;
        uint64_t n = pair_values(view, i, &p) && p.label->count == p.predicted->count ? p.label->count : 0;
        for (uint64_t k = 0; k < n; k++) {
            double residual = p.label->value[k] - p.predicted->value[k], x = by_label ? p.label->value[k] : residual;
            if (!isfinite(residual))
                continue;
            if (range) {
                h->low = fmin(h->low, x);
                h->high = fmax(h->high, x);
                continue;
            }
            int bin = h->high > h->low ? (int)((x - h->low) / (h->high - h->low) * bins) : 0;
            bin = bin < bins ? bin : bins - 1;
            h->count[bin]++;
            h->sum[bin] += fabs(residual);
        }
    }
}

static int map_histogram(assay_common_state *s, const assay_step_view *view, int section, int bins, bool by_label)
{
    histogram h = {.low = INFINITY, .high = -INFINITY};
    pass_over(view, &h, bins, by_label, true);
    if (!(h.low <= h.high) || !isfinite(h.high - h.low))
        return ASSAY_OK;
    pass_over(view, &h, bins, by_label, false);
    int status = ASSAY_OK;
    for (int bin = 0; status == ASSAY_OK && bin < bins; bin++) {
        double width = (h.high - h.low) / bins;
        status = add(s, view, section, h.low + bin * width, h.low + (bin + 1) * width, h.count[bin], h.sum[bin]);
    }
    return status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    int task = task_of(view), status = map_scalars(s, view, METRICS, METRIC);
    ASSAY_THEN(status, map_scalars(s, view, IMPORTANCE, WEIGHT));
    if (status == ASSAY_OK && task != NO_TASK)
        status = add(s, view, TASK, task, 0, 0, 0);
    if (status == ASSAY_OK && (task == BINARY || task == MULTICLASS))
        status = map_classes(rule, s, view, task == BINARY);
    if (status == ASSAY_OK && task == REGRESSION)
        status = map_histogram(s, view, ERROR, INTERVALS, true);
    if (status == ASSAY_OK && task == REGRESSION)
        status = map_histogram(s, view, RESIDUAL, RESIDUALS, false);
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t rows = assay_series_count(series), steps = 0;
    for (uint64_t i = 0; i < rows; i++)
        steps += i == 0 || assay_series_row(series, i).step != assay_series_row(series, i - 1).step;
    assay_findings_datapoints(assay_verdict_findings(verdict), steps);
    return rows ? xgboost_sections_put(rule, series, assay_verdict_json(verdict), assay_verdict_text(verdict))
                : ASSAY_OK;
}

const assay_rule_ops assay_rule_create_xgboost_report = {
    ASSAY_RULE_HEAD,
    .name = "CreateXgboostReport",
    .summary = "Sections about a training of boosted trees: metrics, importances, confusion, ROC, residuals. No test.",
    .advice = "This rule reports and does not judge: it never has findings.",
    .traits = ASSAY_RULE_POOLS,
    .series_width = WIDTH,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
