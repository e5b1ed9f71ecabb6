/* history.h - does a number jump above its own past? (NormSpike, LossSpike)
 *
 * How it works. From the earlier finite values of the same tensor, worker and mode:
 *   start   largest of the first HISTORY_NEAR, over all modes: the scale of the whole curve
 *   level   median of the last HISTORY_NEAR: follows a descending loss, and a single bad step does not move it
 *   r       s(value) - s(level), s(x) = asinh(x / c), c a small share of start. Far above c this is the logarithm of
 *           value / level, which shortens heavy tails; below c it is linear, so values near zero stay near zero, and a
 *           value may be zero or negative. Once a value was negative, zero is no floor to approach: c is start
 *   z       robust score of r among those of the last `window` values; the spread of n < window of them is not well
 *           known, so it counts 1 + HISTORY_FEW * (1 / n - 1 / window) times
 *   record  largest r so far, without spikes
 *   most    largest |value| so far, over all modes
 * A value is a spike when value - level > (ratio - 1) * |level|, r > HISTORY_BEYOND * record, and either z > threshold
 * and value - level > share * start, or value > ratio * most. So noise that reached as far before is no spike, nor is
 * a value that is small compared with the beginning. Spikes are also rare: if more than HISTORY_OFTEN of the curve's
 * steps have half the size, (value - level) * sqrt(r), and 1 / HISTORY_APART of the r, the curve has heavy tails. It has them too if a step has between
 * 1 / HISTORY_APART and half of the size and at least half of the r: a tail thins out, and a spike stands apart. A jump
 * that lasts counts once. Where it is asked for, less of threshold and half of share are enough for one that lasts: when value and
 * the HISTORY_LASTS behind it all lie as far above the level, each beyond the record. */
#pragma once

#include <assay/rule.h>
#include <assay/search.h>
#include <string.h>

#include "robust.h"

enum { HISTORY_MOST = 1000, HISTORY_NEAR = 5, HISTORY_LASTS = 4 };

/* What both rules are asked. */
#define HISTORY_PARAMS(z, ratio_default, share_default, what)                                                          \
    ASSAY_REAL_PARAM("threshold", z, 0, 1e308, "Robust z-score of the logarithm above which " what " is a spike."),    \
        ASSAY_REAL_PARAM("ratio", ratio_default, 1, 1e308,                                                             \
                         "A spike must also exceed the level before it by this factor."),                              \
        ASSAY_REAL_PARAM("share", share_default, 0, 1e308, "And by this share of " what " at the beginning."),         \
        ASSAY_INT_PARAM("window", "20", 2, HISTORY_MOST,                                                               \
                        "Number of preceding saved steps of the mode that tell the noise."),                           \
        ASSAY_INT_PARAM("min_history", "5", 2, HISTORY_MOST, "Saved steps that must come before the first test.")

#define HISTORY_FLOOR   0.05 /* least spread of r: the noise of a curve that hardly moves is no yardstick */
#define HISTORY_BEYOND  1.5  /* how far beyond other jumps, as a factor of r */
#define HISTORY_OFTEN   0.01 /* share of the steps; one other is always allowed */
#define HISTORY_FEW     8.0
#define HISTORY_APART   4.0  /* factor of the size */
#define HISTORY_AWAY    10.0 /* times a spike: what is so much larger soon behind it came of it */
#define HISTORY_LASTING 0.4  /* of the threshold, where each of some steps in a row is above it */

typedef struct history {
    double near[HISTORY_NEAR];     /* the newest values, at (count - 1) % HISTORY_NEAR */
    double residual[HISTORY_MOST]; /* the newest r, at (residuals - 1) % window */
    double sorted[HISTORY_MOST];   /* the same, ascending */
    double start, record, most;
    bool signs;                /* it was below zero: zero is no floor, and a logarithm toward it says nothing */
    uint64_t count, residuals; /* ever taken in */
} history;

typedef struct history_score { /* there is one for each step */
    double level, z, r;
    double size; /* value - level, weighed by sqrt(r), 0 where it falls */
} history_score;

/* What is asked, read once: there is a score for each step. */
typedef struct history_asked {
    double threshold, ratio, share;
    uint64_t window, least; /* least: values of a mode before the first that is tested */
    bool lasting;           /* also jumps that are smaller, and last */
} history_asked;

/* A history for each mode; the caller frees it. NULL without memory. */
static inline history *history_new(void)
{
    return calloc(ASSAY_MODES, sizeof(history));
}

static inline void history_clear(history *h)
{
    for (int mode = 0; mode < ASSAY_MODES; mode++)
        h[mode].count = h[mode].residuals = 0;
}

static inline double history_level(const history *h)
{
    double copy[HISTORY_NEAR];
    size_t n = h->count < HISTORY_NEAR ? (size_t)h->count : HISTORY_NEAR;
    for (size_t i = 0; i < n; i++)
        copy[i] = h->near[i];
    return robust_median(copy, n);
}

typedef struct history_scale {
    double start, most;
} history_scale;

/* Start and most of all modes: evaluations often begin when a loss has come down already. */
static inline history_scale history_scale_of(const history *histories)
{
    history_scale scale = {0, 0};
    for (int mode = 0; mode < ASSAY_MODES; mode++) {
        if (histories[mode].count == 0)
            continue;
        scale.start = fmax(scale.start, histories[mode].start);
        scale.most = fmax(scale.most, histories[mode].most);
    }
    return scale;
}

/* The values of a mode before the first that is tested. */
static inline uint64_t history_least(const assay_params *params)
{
    uint64_t window = (uint64_t)assay_param_int(params, "window"),
             least = (uint64_t)assay_param_int(params, "min_history");
    least = least < window ? least : window;
    return least < 2 ? 2 : least;
}

static inline history_asked history_asked_of(const assay_params *params)
{
    return (history_asked){.threshold = assay_param_real(params, "threshold"),
                           .ratio = assay_param_real(params, "ratio"),
                           .share = assay_param_real(params, "share"),
                           .window = (uint64_t)assay_param_int(params, "window"),
                           .least = history_least(params)};
}

/* Values below it are compared as they are, above it by logarithm. */
static inline double history_unit(const history *h, double linear)
{
    return h->signs ? h->start : linear * h->start;
}

/* s(value) - s(level). */
static inline double history_residual(double value, double level, double c)
{
    return asinh(value / c) - asinh(level / c);
}

/* The score of a value. False without enough of a past, and where it is not finite: ExplodingTensor judges that. */
static inline bool history_look(const history *histories, int mode, const history_asked *asked, double linear,
                                double value, history_score *score)
{
    const history *h = &histories[mode];
    const uint64_t window = asked->window;
    if (h->count < asked->least || !isfinite(value))
        return false;
    *score = (history_score){.level = history_level(h)};
    if (score->level == 0 || h->start == 0) /* zero is no scale: what was off has come on */
        return true;
    score->r = history_residual(value, score->level, history_unit(h, linear));
    score->size = score->r > 0 ? (value - score->level) * sqrt(score->r) : 0;
    uint64_t n = h->residuals < window ? h->residuals : window;
    robust_center center = n > 1 ? robust_center_of_sorted(h->sorted, n) : (robust_center){0};
    center.spread = fmax(center.spread, HISTORY_FLOOR);
    if (n > 0)
        center.spread *= 1 + HISTORY_FEW * (1 / (double)n - 1 / (double)window);
    score->z = robust_score_of(score->r, center).z;
    return true;
}

static inline bool history_spike(const history *histories, int mode, const history_asked *asked, double value,
                                 const history_score *score)
{
    const double rise = value - score->level;
    if (!(score->r > HISTORY_BEYOND * histories[mode].record && rise > (asked->ratio - 1) * fabs(score->level)))
        return false;
    const history_scale scale = history_scale_of(histories);
    return (score->z > asked->threshold && rise > asked->share * scale.start) || value > asked->ratio * scale.most;
}

/* The place of x among n ascending numbers: of the first that is not below it, or not above it. */
static inline size_t history_place(const double *sorted, size_t n, double x, bool behind)
{
    size_t low = 0;
    ASSAY_SEARCH(low, n, behind ? sorted[low] <= x : sorted[low] < x);
    return low;
}

/* Keeps r, in place of the oldest where the window is full. */
static inline void history_keep(history *h, uint64_t window, double r)
{
    double *const place = &h->residual[h->residuals % window];
    const size_t n = h->residuals < window ? (size_t)h->residuals : (size_t)window;
    const size_t out = n == window ? history_place(h->sorted, n, *place, false) : n;
    const size_t in = history_place(h->sorted, n, r, true); /* behind those that are alike */
    if (in > out) {
        memmove(h->sorted + out, h->sorted + out + 1, (in - out - 1) * sizeof *h->sorted);
        h->sorted[in - 1] = r;
    } else {
        memmove(h->sorted + in + 1, h->sorted + in, (out - in) * sizeof *h->sorted);
        h->sorted[in] = r;
    }
    *place = r;
    h->residuals++;
}

/* Takes a finite value in. `score`: what it came to, NULL: it had too little of a past. `spike`: its residual is no
 * example of noise. */
static inline void history_push(history *h, const history_asked *asked, double linear, double value,
                                const history_score *score, bool spike)
{
    const double level = score ? score->level : history_level(h);
    if (h->count == 0)
        h->record = 0;
    if (h->count >= 2 && level != 0 && h->start != 0 && !spike) {
        double r = score ? score->r : history_residual(value, level, history_unit(h, linear));
        if (isfinite(r)) /* it is not where figures are next to nothing, or next to infinite */
            history_keep(h, asked->window, r);
        h->record = r > h->record ? r : h->record;
    }
    if (h->count == 0)
        h->start = h->most = 0;
    h->signs = (h->count > 0 && h->signs) || value < 0;
    h->most = fmax(h->most, fabs(value));
    if (h->count < HISTORY_NEAR)
        h->start = fmax(h->start, fabs(value));
    h->near[h->count++ % HISTORY_NEAR] = value;
}

enum { HISTORY_VALUE, HISTORY_MODE, HISTORY_WIDTH }; /* of the rows that history_walk() takes */

/* Is told of a row that has a past: its number in the series, and whether it is a spike. */
typedef int history_test(void *self, assay_row row, uint64_t number, const history_score *score, bool spike);

/* A jump, as history_score has it. */
typedef struct history_peak {
    double size, r;
} history_peak;

/* One curve: the rows of a tensor and worker, row[0 .. count), ascending in step. */
typedef struct history_curve {
    history_asked asked;
    const assay_series *series;
    const uint64_t *row;
    uint64_t count;
    history_score *score; /* [count] */
    bool *known, *spike;  /* [count] */
    uint8_t *mode;        /* [count] */
    unsigned modes;       /* of these, a bit each */
    history_peak *peak;   /* [count], for passing use */
} history_curve;

static inline int history_mode(double said)
{
    return said >= 0 && said < ASSAY_MODES ? (int)said : ASSAY_MODE_NONE;
}

/* Is the value of row i, of that score, the first of a level that lies above the one before? */
static inline bool history_lasts(const history_curve *c, const history *histories, double linear, uint64_t i)
{
    const int mode = history_mode(assay_series_row(c->series, c->row[i]).value[HISTORY_MODE]);
    const double start = history_scale_of(histories).start, record = histories[mode].record;
    history_score score;
    int behind = 0;
    for (; behind <= HISTORY_LASTS && i < c->count; i++) {
        const assay_row row = assay_series_row(c->series, c->row[i]);
        const double value = row.value[HISTORY_VALUE];
        if (history_mode(row.value[HISTORY_MODE]) != mode)
            continue;
        if (!history_look(histories, mode, &c->asked, linear, value, &score))
            return false;
        const double rise = value - score.level;
        if (!(score.z > HISTORY_LASTING * c->asked.threshold && rise > c->asked.share / 2 * start && score.r > record &&
              rise > (c->asked.ratio - 1) * fabs(score.level)))
            return false;
        behind++;
    }
    return behind > HISTORY_LASTS;
}

/* Scores the curve, every value against those before. `linear`: the share of the start below which s() is linear. */
static inline void history_score_curve(history_curve *c, history *histories, double linear)
{
    history_clear(histories);
    c->modes = 0;
    for (uint64_t i = 0; i < c->count; i++) {
        const assay_row row = assay_series_row(c->series, c->row[i]);
        const double value = row.value[HISTORY_VALUE];
        const int mode = history_mode(row.value[HISTORY_MODE]);
        c->mode[i] = (uint8_t)mode;
        c->modes |= 1U << mode;
        c->known[i] = history_look(histories, mode, &c->asked, linear, value, &c->score[i]);
        c->spike[i] = c->known[i] && (history_spike(histories, mode, &c->asked, value, &c->score[i]) ||
                                      (c->asked.lasting && history_lasts(c, histories, linear, i)));
        if (isfinite(value))
            history_push(&histories[mode], &c->asked, linear, value, c->known[i] ? &c->score[i] : NULL, c->spike[i]);
    }
}

static inline int history_compare_peaks(const void *a, const void *b)
{
    const history_peak *x = a, *y = b;
    return (x->size > y->size) - (x->size < y->size);
}

/* Sorts the jumps of a mode into c->peak; those that follow another within HISTORY_NEAR steps belong to it, and so do
 * those that are far larger than a spike: what it spoilt runs away. Returns how many. */
static inline size_t history_peaks(const history_curve *c, int mode, uint64_t *steps)
{
    double recent[HISTORY_NEAR] = {0};
    bool spikes[HISTORY_NEAR] = {false};
    size_t peaks = 0;
    *steps = 0;
    for (uint64_t i = 0; i < c->count; i++) {
        if (c->mode[i] != mode)
            continue;
        double size = c->known[i] && isfinite(c->score[i].size) ? c->score[i].size : 0, before = 0;
        bool behind = false;
        for (int k = 0; k < HISTORY_NEAR; k++) {
            before = recent[k] > before ? recent[k] : before;
            behind = behind || spikes[k];
        }
        if (size > 2 * before && !(behind && size > HISTORY_AWAY * before))
            c->peak[peaks++] = (history_peak){size, c->score[i].r};
        spikes[*steps % HISTORY_NEAR] = c->spike[i];
        recent[(*steps)++ % HISTORY_NEAR] = size;
    }
    qsort(c->peak, peaks, sizeof *c->peak, history_compare_peaks);
    return peaks;
}

/* The first of the sorted peaks that is at least of `size`. */
static inline size_t history_first_from(const history_peak *peak, size_t peaks, double size)
{
    size_t low = 0;
    ASSAY_SEARCH(low, peaks, peak[low].size < size);
    return low;
}

/* Takes back spikes that are too many, or the end of a tail. */
static inline void history_leave_rare(history_curve *c, int mode)
{
    uint64_t steps, spikes = 0;
    for (uint64_t i = 0; i < c->count; i++)
        spikes += c->spike[i] && c->mode[i] == mode;
    if (spikes == 0)
        return;
    size_t peaks = history_peaks(c, mode, &steps);
    double allowed = fmax(2, HISTORY_OFTEN * (double)steps); /* itself among them */
    for (uint64_t i = 0; i < c->count; i++) {
        if (!c->spike[i] || c->mode[i] != mode || !isfinite(c->score[i].size))
            continue;
        size_t alike = 0, tail = 0;
        const size_t half = history_first_from(c->peak, peaks, c->score[i].size / 2);
        for (size_t k = half; k < peaks; k++) /* noise about a new level is large, but not in r */
            alike += c->peak[k].r >= c->score[i].r / HISTORY_APART;
        for (size_t k = history_first_from(c->peak, peaks, c->score[i].size / HISTORY_APART); k < half; k++)
            tail += c->peak[k].r >= c->score[i].r / 2;
        c->spike[i] = (double)alike <= allowed && tail == 0;
    }
}

static inline int history_walk_curve(history_curve *c, history *histories, double linear, history_test *test,
                                     void *self)
{
    int status = ASSAY_OK;
    history_score_curve(c, histories, linear);
    for (int mode = 0; mode < ASSAY_MODES; mode++)
        if (c->modes >> mode & 1)
            history_leave_rare(c, mode);
    for (uint64_t i = 0; status == ASSAY_OK && i < c->count; i++)
        if (c->known[i])
            status = test(self, assay_series_row(c->series, c->row[i]), c->row[i], &c->score[i], c->spike[i]);
    return status;
}

/* Where the rows of the tensor and worker end that begin at order[i]. */
static inline uint64_t history_end(const assay_series *series, const uint64_t *order, uint64_t i, uint64_t count)
{
    assay_row first = assay_series_row(series, order[i]);
    for (i++; i < count; i++) {
        assay_row row = assay_series_row(series, order[i]);
        if (row.tensor != first.tensor || row.worker != first.worker)
            break;
    }
    return i;
}

/* Walks the rows of each tensor and worker. */
static inline int history_walk(const assay_params *params, const assay_series *series, double linear, bool lasting,
                               history_test *test, void *self, assay_error *err)
{
    uint64_t count = assay_series_count(series), longest = 1, next;
    uint64_t *order = assay_series_by_tensor(series);
    history *histories = history_new();
    int status = histories && (order || !count) ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory");
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i = next) {
        next = history_end(series, order, i, count);
        longest = next - i > longest ? next - i : longest;
    }
    history_curve c = {.asked = history_asked_of(params), .series = series};
    c.asked.lasting = lasting;
    c.score = calloc(longest, sizeof *c.score);
    c.known = calloc(longest, sizeof *c.known);
    c.spike = calloc(longest, sizeof *c.spike);
    c.mode = calloc(longest, sizeof *c.mode);
    c.peak = calloc(longest, sizeof *c.peak);
    if (status == ASSAY_OK && !(c.score && c.known && c.spike && c.mode && c.peak))
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory");
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i = next) {
        next = history_end(series, order, i, count);
        c.row = order + i;
        c.count = next - i;
        status = history_walk_curve(&c, histories, linear, test, self);
    }
    free(c.peak);
    free(c.mode);
    free(c.spike);
    free(c.known);
    free(c.score);
    free(histories);
    free(order);
    return status;
}
