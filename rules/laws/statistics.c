/* statistics.c - an output's root mean square and mean on one worker, against those of the other workers at the same step.
 *
 * Workers have different data, and a worker may have data of its own kind. So d = ln rms, or mean / rms, less the median of
 * the other workers', and less the median of that over the worker's first steps; z = d by the spread (MAD) of all workers'
 * d. It is broken where z is beyond FAR, d is MORE times as far as any other, of other workers or before, and the input of
 * the module, which different data change as well, is near the others by both figures. Tensors with few large numbers
 * are not looked at: a few of them decide their figures. */
#include "laws/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <assay/search.h>

enum { LEAST_WORKERS = 3, LEAST_ELEMENTS = 16, FIRST_STEPS = 8, LEAST_COMPARED = 24 };
static const double FAR = 20, MORE = 4, LEAST_SPREAD = 0.02, SPARSE = 0.1;

/* Figures of an output, then of its input. */
enum { OUT_SIZE, OUT_MEAN, IN_SIZE, IN_MEAN, FIGURES };
static const int COLUMN_OF[FIGURES] = {LAW_RATIO, LAW_APART, LAW_BOUND, LAW_ROW};

static bool set_figures(const assay_tensor_view *item, double *size, double *mean)
{
    const assay_stats *s = item ? item->stats : NULL;
    if (!s || s->count < LEAST_ELEMENTS)
        return false;
    const double rms = assay_stats_l2(s) / sqrt((double)s->count);
    *size = log(rms);
    *mean = assay_stats_mean(s) / rms;
    return isfinite(*size) && isfinite(*mean);
}

int law_statistics(const law_step *step)
{
    const assay_slot_view *outputs = &step->view->slot[LAW_OUTPUTS];
    int status = ASSAY_OK;
    for (uint32_t i = 0;
         status == ASSAY_OK && assay_trial_workers(step->rule->trial) >= LEAST_WORKERS && i < outputs->count; i++) {
        const assay_tensor_view *item = outputs->items[i];
        const uint32_t input = law_input(step, item->name);
        double row[LAW_WIDTH] = {[LAW_OF] = LAW_STATISTICS};
        if (law_rounding(item->dtype) == 0 || input == ASSAY_NO_TENSOR ||
            !set_figures(item, &row[LAW_RATIO], &row[LAW_APART]) ||
            !set_figures(law_item(step, LAW_INPUTS, input, item->worker), &row[LAW_BOUND], &row[LAW_ROW]))
            continue;
        const double magnitude = assay_stats_abs_mean(item->stats) / exp(row[LAW_RATIO]);
        row[LAW_COLUMN] = magnitude * magnitude;
        status = assay_series_add(step->series, step->view->step, item->tensor, item->worker, row);
    }
    return status;
}

/* ---- judging ---- */

typedef struct figures {
    int mode;
    uint32_t tensor, worker;
    int64_t step;
    double of[FIGURES], share;
    double apart[FIGURES]; /* from the other workers; NaN: there are too few */
} figures;

static int compare_steps(const void *a, const void *b)
{
    const figures *x = a, *y = b;
    const int64_t keys[][2] = {{x->mode, y->mode}, {x->tensor, y->tensor}, {x->step, y->step}, {x->worker, y->worker}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static int compare_workers(const void *a, const void *b)
{
    const figures *x = a, *y = b;
    return x->worker != y->worker ? (x->worker > y->worker) - (x->worker < y->worker)
                                  : (x->step > y->step) - (x->step < y->step);
}

static double median(double *x, uint64_t n)
{
    qsort(x, n, sizeof *x, assay_order_f64);
    return n == 0 ? NAN : n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* The median of n numbers in order, n > 1, without one that is the same as number `but` of them. */
static double median_but(const double *x, uint64_t n, uint64_t but)
{
    const uint64_t low = (n - 2) / 2, high = (n - 1) / 2; /* the middle of n - 1 */
    return (x[low + (low >= but)] + x[high + (high >= but)]) / 2;
}

/* Of one step: each worker from the median of the others. */
static void set_apart(figures *rows, uint64_t n, double *room)
{
    for (int f = 0; f < FIGURES; f++) {
        for (uint64_t i = 0; i < n; i++)
            room[i] = rows[i].of[f];
        if (n >= LEAST_WORKERS)
            qsort(room, n, sizeof *room, assay_order_f64);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t at = 0;
            ASSAY_SEARCH(at, n, room[at] < rows[i].of[f]);
            rows[i].apart[f] = n < LEAST_WORKERS ? (double)NAN : rows[i].of[f] - median_but(room, n, at);
        }
    }
}

/* Of one worker: from where it was at first. Those first steps are not judged. */
static void take_first(figures *rows, uint64_t n, double *room)
{
    for (int f = 0; f < FIGURES; f++) {
        uint64_t first = 0;
        for (; first < n && first < FIRST_STEPS; first++)
            room[first] = rows[first].apart[f];
        const double usual = median(room, first);
        for (uint64_t i = 0; i < n; i++)
            rows[i].apart[f] = i < first ? (double)NAN : rows[i].apart[f] - usual;
    }
}

/* How far d spreads, of all workers. */
static double spread_of(const figures *rows, uint64_t n, int f, double *room)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < n; i++)
        if (!isnan(rows[i].apart[f]))
            room[count++] = fabs(rows[i].apart[f]);
    return count < LEAST_COMPARED ? (double)INFINITY : fmax(1.4826 * median(room, count), LEAST_SPREAD);
}

/* d, where that of the input is far less; else 0: other data explain it. */
static double unexplained(const figures *row, const double *spread, int f)
{
    const double input = fmax(fabs(row->apart[IN_SIZE]) / spread[IN_SIZE], fabs(row->apart[IN_MEAN]) / spread[IN_MEAN]);
    return MORE * input < fabs(row->apart[f]) / spread[f] ? fabs(row->apart[f]) : 0;
}

/* The farthest d of others, and before. */
static double farthest(const figures *rows, uint64_t n, const figures *of, const double *spread, int f)
{
    double most = 0;
    for (uint64_t i = 0; i < n; i++)
        if (rows[i].worker == of->worker ? rows[i].step < of->step : rows[i].step != of->step)
            most = fmax(most, unexplained(&rows[i], spread, f));
    return most;
}

/* Is another worker of its step farther by half? Of three workers, that one is half of what this one was compared with. */
static bool is_in_shadow(const figures *rows, uint64_t n, const figures *of, const double *spread, int f)
{
    for (uint64_t i = 0; i < n; i++)
        if (rows[i].step == of->step && rows[i].worker != of->worker &&
            unexplained(&rows[i], spread, f) > 1.5 * unexplained(of, spread, f))
            return true;
    return false;
}

static int judge_row(const figures *rows, uint64_t n, const figures *row, const double *spread,
                     assay_findings *findings)
{
    char note[160];
    assay_finding finding = {.step = row->step, .tensor = row->tensor, .worker = row->worker, .test = LAW_STATISTICS};
    bool fires = false;
    for (int f = OUT_SIZE; f <= OUT_MEAN && !fires; f++) {
        finding.value = unexplained(row, spread, f);
        finding.threshold = FAR * spread[f];
        if (!(finding.value > finding.threshold))
            continue;
        finding.threshold = fmax(finding.threshold, MORE * farthest(rows, n, row, spread, f));
        fires = finding.value > finding.threshold && !is_in_shadow(rows, n, row, spread, f);
        snprintf(note, sizeof note, "its %s is %.3g away from that of the other workers, and its input's is not",
                 f == OUT_SIZE ? "root mean square, as a logarithm," : "mean, by its root mean square,", finding.value);
        finding.note = note;
    }
    return assay_findings_test(findings, fires, &finding);
}

/* Of one tensor and mode; *judged: was there enough to judge? */
static int judge_tensor(figures *rows, uint64_t n, double *room, assay_findings *findings, bool *judged)
{
    double spread[FIGURES];
    int status = ASSAY_OK;
    for (uint64_t i = 0, some; i < n; i += some) {
        for (some = 1; i + some < n && rows[i + some].step == rows[i].step;)
            some++;
        set_apart(rows + i, some, room);
    }
    qsort(rows, n, sizeof *rows, compare_workers);
    for (uint64_t i = 0, some; i < n; i += some) {
        for (some = 1; i + some < n && rows[i + some].worker == rows[i].worker;)
            some++;
        take_first(rows + i, some, room);
    }
    for (int f = 0; f < FIGURES; f++)
        spread[f] = spread_of(rows, n, f, room);
    for (uint64_t i = 0; i < n; i++)
        room[i] = rows[i].share;
    *judged = isfinite(spread[OUT_SIZE]) && median(room, n) >= SPARSE;
    for (uint64_t i = 0; *judged && status == ASSAY_OK && i < n; i++)
        if (!isnan(rows[i].apart[OUT_SIZE]))
            status = judge_row(rows, n, &rows[i], spread, findings);
    return status;
}

static figures *list_figures(const assay_rule *rule, const assay_series *series, uint64_t *count)
{
    const uint64_t rows = assay_series_count(series);
    figures *list = malloc((rows + 1) * sizeof *list);
    *count = 0;
    for (uint64_t i = 0; list && i < rows; i++) {
        const assay_row row = assay_series_row(series, i);
        const assay_step_info *info = assay_trial_step(rule->trial, assay_trial_find_step(rule->trial, row.step));
        if (row.value[LAW_OF] != LAW_STATISTICS)
            continue;
        figures *f = &list[(*count)++];
        *f = (figures){.mode = info ? info->mode : 0,
                       .tensor = row.tensor,
                       .worker = row.worker,
                       .step = row.step,
                       .share = row.value[LAW_COLUMN]};
        for (int k = 0; k < FIGURES; k++)
            f->of[k] = row.value[COLUMN_OF[k]];
    }
    if (list && *count > 0)
        qsort(list, *count, sizeof *list, compare_steps);
    return list;
}

int statistics_judge(const assay_rule *rule, const assay_series *series, assay_verdict *verdict)
{
    uint64_t count, holding = 0;
    figures *list = list_figures(rule, series, &count);
    double *room = list ? malloc((count + 1) * sizeof *room) : NULL;
    int status = room ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0, n; status == ASSAY_OK && i < count; i += n) {
        bool judged;
        for (n = 1; i + n < count && list[i + n].mode == list[i].mode && list[i + n].tensor == list[i].tensor;)
            n++;
        status = judge_tensor(list + i, n, room, assay_verdict_findings(verdict), &judged);
        holding += judged;
    }
    if (status == ASSAY_OK && holding > 0)
        assay_verdict_message(verdict, "The law 'statistics' is tested of %llu tensors.", (unsigned long long)holding);
    free(room);
    free(list);
    return status;
}
