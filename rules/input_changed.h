/* input_changed.h - InputData: where what TRAIN is fed becomes other data.
 *
 * That data change is no fault, since curricula do it: it is written into the verdict for the diagnosis, which asks for
 * it where a loss or gradients leave their course. Figures of a row: mean, deviation, share of zeros, least, largest,
 * elements of a row. Of WINDOW_MOST rows at most before a row and from it on: t = |m - m'| / sqrt(v * (1 / n + 1 / n')),
 * v the larger variance. */
#pragma once

#include <assay/pack.h>

#include "input_rows.h"

enum { WINDOW_LEAST = 4, WINDOW_MOST = 20, CLOSE_ROWS = 4, LATE_ROWS = 20 };
enum { MEAN_VALUE, DEVIATION, ZERO_SHARE, LEAST_VALUE, LARGEST_VALUE, ROW_LENGTH, FIGURES };
#define CHANGE_SURE  10.0 /* t */
#define CHANGE_APART 1.5  /* deviations, of the larger one */
#define CHANGE_LEAST 0.02 /* of the larger mean */
#define CHANGE_SHARP 0.5  /* of it, within WINDOW_LEAST rows on both sides: a drift is no change */

typedef struct data_change {
    double t, was, is;
    int figure;
    uint64_t from, to, at; /* rows of the tensor and worker, in the order of the walk; the first of the other data */
} data_change;

static inline bool is_fed(const walk *w, uint64_t i)
{
    const double *row = row_of(w, i);
    return in_mode(w, i, ASSAY_MODE_TRAIN) && row[COUNT] > 0 && isfinite(row[SQUARES]);
}

static inline double figure_of(const double *row, int figure)
{
    const double mean = row[SUM] / row[COUNT], square = row[SQUARES] / row[COUNT];
    const double all[FIGURES] = {mean,         sqrt(fmax(square - mean * mean, 0)), row[ZEROS] / row[COUNT], row[LEAST],
                                 row[LARGEST], row[COUNT] / fmax(row[ROWS], 1)};
    return all[figure];
}

static inline void mean_and_variance(const double *x, size_t n, double *mean, double *variance)
{
    *mean = *variance = 0;
    for (size_t i = 0; i < n; i++)
        *mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        *variance += (x[i] - *mean) * (x[i] - *mean) / (double)(n - 1);
}

/* t of the `before` numbers in front of x and the `after` ones from it on; 0 where they are not apart. */
static inline double apart(const double *x, size_t before, size_t after, double *was, double *is)
{
    double v, u, near_before, near_after, unused;
    mean_and_variance(x - before, before, was, &v);
    mean_and_variance(x, after, is, &u);
    mean_and_variance(x - WINDOW_LEAST, WINDOW_LEAST, &near_before, &unused);
    mean_and_variance(x, WINDOW_LEAST, &near_after, &unused);
    const double by = fabs(*is - *was);
    if (!(by > CHANGE_APART * sqrt(fmax(v, u)) && by > CHANGE_LEAST * fmax(fabs(*is), fabs(*was)) &&
          fabs(near_after - near_before) > CHANGE_SHARP * by))
        return 0;
    return by / fmax(sqrt(fmax(v, u) * (1 / (double)before + 1 / (double)after)), 1e-6 * by);
}

/* The row `further` fed rows behind row i; the last one where there are fewer. */
static inline uint64_t fed_behind(const walk *w, uint64_t i, uint64_t to, size_t further)
{
    uint64_t last = i;
    for (; i < to; i++) {
        if (!is_fed(w, i))
            continue;
        last = i;
        if (further-- == 0)
            break;
    }
    return last;
}

/* Rows [from, to) of one tensor and worker: are some of them statistics, which know no zeros and no numbers in a row, and
 * others whole tensors? */
static inline bool is_of_both_kinds(const walk *w, uint64_t from, uint64_t to)
{
    bool statistics = false, whole = false;
    for (uint64_t i = from; i < to; i++) {
        statistics = statistics || (is_fed(w, i) && row_of(w, i)[ZEROS] < 0);
        whole = whole || (is_fed(w, i) && row_of(w, i)[ZEROS] >= 0);
    }
    return statistics && whole;
}

/* Rows [from, to) of one tensor and worker: where they change most, if by more than *best. */
static inline void find_change(const walk *w, uint64_t from, uint64_t to, data_change *best)
{
    const bool both = is_of_both_kinds(w, from, to);
    size_t at = SIZE_MAX;
    for (int figure = 0; figure < FIGURES; figure++) {
        if (both && (figure == ZERO_SHARE || figure == ROW_LENGTH))
            continue;
        size_t n = 0;
        for (uint64_t i = from; i < to; i++)
            if (is_fed(w, i))
                w->room[n++] = figure_of(row_of(w, i), figure);
        for (size_t k = WINDOW_LEAST; k + WINDOW_LEAST <= n; k++) {
            const size_t before = k < WINDOW_MOST ? k : WINDOW_MOST, after = n - k < WINDOW_MOST ? n - k : WINDOW_MOST;
            double was, is;
            const double t = apart(w->room + k, before, after, &was, &is);
            if (!(t > fmax(CHANGE_SURE, best->t)))
                continue;
            *best = (data_change){t, was, is, figure, from, to, from};
            at = k;
        }
    }
    if (at != SIZE_MAX)
        best->at = fed_behind(w, from, to, at);
}

/* "changed": where, how far it may be seen in what follows, and what. */
static inline void put_change(const walk *w, const data_change *change, assay_buf *out)
{
    static const char *const figures[FIGURES] = {"the mean",  "the deviation", "the share of zeros",
                                                 "the least", "the largest",   "the number in a row"};
    const assay_trial *trial = w->rule->trial;
    const assay_row row = assay_series_row(w->series, w->order[change->at]);
    uint64_t before = change->at - 1;
    assay_buf note = ASSAY_BUF(4096);
    while (before > change->from && !is_fed(w, before))
        before--;
    assay_put_format(
        out,
        "\"changed\": {\"step\": %lld, \"close\": %lld, \"late\": %lld, \"mode\": %d, \"from\": %lld, \"to\": %lld, \"what\": ",
        (long long)row.step,
        (long long)assay_series_row(w->series, w->order[fed_behind(w, change->at, change->to, CLOSE_ROWS)]).step,
        (long long)assay_series_row(w->series, w->order[fed_behind(w, change->at, change->to, LATE_ROWS)]).step,
        (int)row.value[MODE], (long long)mode_step_of(w, before) + 1, (long long)mode_step_of(w, change->at));
    assay_put_format(&note, "%s of the %s is %.3g, %.3g before (%s)", figures[change->figure],
                     row.value[IS] == INPUT  ? "inputs"
                     : row.value[FLOAT] == 0 ? "labels"
                                             : "targets",
                     change->is, change->was, assay_trial_tensor(trial, row.tensor));
    assay_json_put_text_n(out, note.data ? (const char *)note.data : "", note.size);
    assay_put_format(out, "}");
    assay_buf_release(&note);
}
