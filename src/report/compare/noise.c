/* noise.c - see noise.h. */
#include "report/compare/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "base/vec.h"

double assay_band_between(double a, double b, double part)
{
    return isfinite(b - a) ? a + part * (b - a) : (1 - part) * a + part * b;
}

double assay_quantile(const double *x, size_t n, size_t without, double share)
{
    size_t left = without < n ? n - 1 : n;
    double at = share * (double)(left - 1);
    size_t low = (size_t)at, high = low + 1 < left ? low + 1 : low;
    double part = at - (double)low, a = x[low + (low >= without)], b = x[high + (high >= without)];
    return fmin(assay_band_between(a, b, part), b); /* rounding shall not put it above those that follow */
}

/* Shares lie between fixed numbers, and a gap is a logarithm; other figures are judged by their logarithms where they
 * have them. */
static bool is_taken_as_is(int figure)
{
    return figure == ASSAY_BAND_ZEROS || figure == ASSAY_BAND_MEAN || figure == ASSAY_BAND_GAP;
}

/* The least width of a band. A gap is a mean over many steps, and known better than what it is made of. */
static double least_width(int figure, const assay_noise *noise, double middle)
{
    static const double OF_GAP = 0.2;
    double width = figure == ASSAY_BAND_GAP ? OF_GAP * noise->margin : noise->margin;
    return is_taken_as_is(figure) ? width : width * fabs(middle);
}

typedef struct scale {
    bool logarithm;
    double low, middle, high, width;
} scale;

static scale scale_of(int figure, const assay_noise *noise, double low, double middle, double high)
{
    scale s = {.logarithm = !is_taken_as_is(figure) && low > 0, .low = low, .middle = middle, .high = high};
    double least = least_width(figure, noise, middle);
    if (s.logarithm) {
        s.low = log(low);
        s.middle = log(middle);
        s.high = log(high);
        least = log1p(noise->margin);
    }
    s.width = fmax(s.high - s.low, least);
    return s;
}

/* What is 0 where the others are not lies outside, but a finite way. */
static double on_scale(const scale *s, double value)
{
    static const double FAR = 40;
    return !s->logarithm ? value : value > 0 ? log(value) : s->low - FAR;
}

double assay_noise_score(int figure, const assay_noise *noise, double low, double middle, double high, double value)
{
    if (!isfinite(value))
        return INFINITY;
    scale s = scale_of(figure, noise, low, middle, high);
    double x = on_scale(&s, value), above = x - s.high, below = s.low - x;
    if (above <= 0 && below <= 0)
        return 0;
    double distance = above > 0 ? above : -below;
    return s.width > 0 ? distance / s.width : copysign(INFINITY, distance); /* the others are all 0 */
}

void assay_noise_edges(int figure, const assay_noise *noise, double low, double middle, double high, double score,
                       double *from, double *to)
{
    scale s = scale_of(figure, noise, low, middle, high);
    *from = s.low - score * s.width;
    *to = s.high + score * s.width;
    if (s.logarithm) {
        *from = exp(*from);
        *to = exp(*to);
    }
}

double assay_noise_of_curve(const assay_noise *noise, const double *score, size_t count, double limit, size_t *first)
{
    size_t points = noise->points < count ? noise->points : count;
    double most = 0;
    *first = count;
    for (size_t i = 0; points > 0 && i + points <= count; i++) {
        double up = INFINITY, down = INFINITY;
        for (size_t k = i; k < i + points; k++) {
            bool endless = isinf(score[k]); /* what is not finite lies on both sides */
            up = fmin(up, score[k]);
            down = fmin(down, endless ? INFINITY : -score[k]);
        }
        double row = fmax(up, down);
        most = fmax(most, row);
        if (row > limit && *first == count)
            *first = i;
    }
    for (size_t i = 0; i < count; i++) { /* one NaN is no chance */
        if (!isinf(score[i]) || score[i] < 0)
            continue;
        most = INFINITY;
        *first = i < *first ? i : *first;
    }
    return most;
}

/* ---- limits ---- */

/* Of 10^5 groups of so many normal numbers each: the score that one number of a group in 1000 exceeds, and from
 * eight runs on a third more, for losses have heavier tails. Those of curves are half as much again, for the points of
 * a curve and the curves of a run are several. Numbers of runs in between take
 * the limit of the next smaller one. */
static const struct {
    size_t runs;
    double number, curve;
} limits[] = {{5, 30, 12},    {6, 13, 22},    {7, 13, 8},   {8, 12, 4.8}, {10, 10, 4.8},
              {12, 8.5, 2.6}, {15, 7.5, 2.3}, {20, 6, 1.6}, {30, 5, 1.2}, {40, 4, 1}};

static size_t limit_of(size_t runs)
{
    size_t at = 0;
    while (at + 1 < sizeof limits / sizeof *limits && limits[at + 1].runs <= runs)
        at++;
    return at;
}

double assay_noise_limit_of_number(size_t runs)
{
    return limits[limit_of(runs)].number;
}

double assay_noise_limit_of_curve(size_t runs)
{
    return limits[limit_of(runs)].curve;
}

/* ---- every trial against the others ---- */

static double score_sorted(const assay_grid *grid, const assay_noise *noise, bool robust, double value,
                           const double *sorted, size_t n)
{
    size_t without = n;
    if (isfinite(value)) {
        const double *found = bsearch(&value, sorted, n, sizeof value, assay_order_f64);
        without = found ? (size_t)(found - sorted) : n;
    }
    if (n - (without < n) < 2)
        return NAN;
    double middle = assay_quantile(sorted, n, without, 0.5);
    double low = assay_quantile(sorted, n, without, robust ? 0.25 : 0.05),
           high = assay_quantile(sorted, n, without, robust ? 0.75 : 0.95);
    if (robust) { /* of a normal distribution the 0.05 quantile lies 2.44 times as far from the median as the quartile
                   */
        static const double STRETCH = 2.44;
        bool logarithm = low > 0 && !is_taken_as_is(grid->figure);
        double down = logarithm ? low / middle : middle - low, up = logarithm ? high / middle : high - middle;
        low = logarithm ? middle * pow(down, STRETCH) : middle - STRETCH * down;
        high = logarithm ? middle * pow(up, STRETCH) : middle + STRETCH * up;
    }
    const double score = assay_noise_score(grid->figure, noise, low, middle, high, value);
    const bool one_sided = grid->figure == ASSAY_BAND_LOSS || grid->figure == ASSAY_BAND_GAP;
    return robust && one_sided ? fmax(score, 0) : score;
}

/* The finite values of a step, ascending; returns how many. */
static size_t sort_step(const assay_grid *grid, size_t step, double *sorted)
{
    size_t n = 0;
    for (size_t t = 0; t < grid->trials; t++)
        if (isfinite(grid->value[step * grid->trials + t]))
            sorted[n++] = grid->value[step * grid->trials + t];
    qsort(sorted, n, sizeof *sorted, assay_order_f64);
    return n;
}

void assay_noise_at(const assay_grid *grid, const assay_noise *noise, bool robust, size_t step, double *sorted,
                    double *score)
{
    const size_t n = sort_step(grid, step, sorted);
    for (size_t t = 0; t < grid->trials; t++) {
        const double value = grid->value[step * grid->trials + t];
        score[t] = isnan(value) ? NAN : score_sorted(grid, noise, robust, value, sorted, n);
    }
}

typedef struct scorer {
    const assay_noise *noise;
    bool robust;
    assay_score *out;      /* [trials] */
    double *sorted, *one;  /* [trials] */
    size_t *count;         /* [trials] of it */
    float **curve;         /* [trials] what each tensor curve scores */
    size_t *curves, *room; /* [trials] */
} scorer;

static int keep_score(scorer *s, size_t trial, double score)
{
    if (!assay_vec_reserve(&s->curve[trial], &s->room[trial], s->curves[trial] + 1, sizeof *s->curve[trial]))
        return ASSAY_ENOMEM;
    s->curve[trial][s->curves[trial]++] = (float)fmin(score, 1e30);
    return ASSAY_OK;
}

static int score_grid(void *context, const assay_grid *grid)
{
    scorer *s = context;
    int status = ASSAY_OK;
    double *score = assay_alloc((grid->steps * grid->trials + 1) * sizeof *score);
    ASSAY_HAVE(score);
    memset(s->count, 0, grid->trials * sizeof *s->count);
    for (size_t i = 0; i < grid->steps; i++) {
        assay_noise_at(grid, s->noise, s->robust, i, s->sorted, s->one);
        for (size_t t = 0; t < grid->trials; t++)
            if (!isnan(s->one[t]))
                score[t * grid->steps + s->count[t]++] = s->one[t];
    }
    for (size_t t = 0; status == ASSAY_OK && t < grid->trials; t++) {
        size_t first;
        double most = assay_noise_of_curve(s->noise, score + t * grid->steps, s->count[t], INFINITY, &first);
        if (s->count[t] == 0)
            continue;
        if (grid->figure == ASSAY_BAND_LOSS)
            s->out[t].losses = fmax(s->out[t].losses, most);
        else if (grid->figure == ASSAY_BAND_GAP)
            s->out[t].gaps = fmax(s->out[t].gaps, most);
        else
            status = keep_score(s, t, most);
    }
    free(score);
    return status;
}

static int descending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

static void conclude(scorer *s, size_t trial)
{
    size_t n = s->curves[trial];
    if (n == 0)
        return;
    size_t k = (size_t)ceil(s->noise->share * (double)n);
    qsort(s->curve[trial], n, sizeof **s->curve, descending);
    s->out[trial].tensor = s->curve[trial][0];
    s->out[trial].tensors = s->curve[trial][k > 0 ? (k < n ? k : n) - 1 : 0];
}

int assay_noise_leave_one_out(const assay_outcome *outcome, const assay_noise *noise, bool robust, size_t most_steps,
                              assay_score *out)
{
    size_t trials = outcome->trial_count;
    scorer s = {.noise = noise,
                .robust = robust,
                .out = out,
                .sorted = assay_alloc(trials * sizeof *s.sorted),
                .one = assay_alloc(trials * sizeof *s.one),
                .count = assay_alloc_zeroed(trials, sizeof *s.count),
                .curve = assay_alloc_zeroed(trials, sizeof *s.curve),
                .curves = assay_alloc_zeroed(trials, sizeof *s.curves),
                .room = assay_alloc_zeroed(trials, sizeof *s.room)};
    int status = s.sorted && s.one && s.count && s.curve && s.curves && s.room ? ASSAY_OK : ASSAY_ENOMEM;
    memset(out, 0, trials * sizeof *out);
    for (int f = 0; status == ASSAY_OK && f < ASSAY_BAND_FIGURES; f++)
        status = assay_grid_walk(outcome, f, most_steps, score_grid, &s);
    for (size_t t = 0; status == ASSAY_OK && t < trials; t++)
        conclude(&s, t);
    for (size_t t = 0; s.curve && t < trials; t++)
        free(s.curve[t]);
    free(s.sorted);
    free(s.one);
    free(s.count);
    free(s.curve);
    free(s.curves);
    free(s.room);
    return status;
}
