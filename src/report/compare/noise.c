/* noise.c - see noise.h. */
#include "report/compare/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* The least width of a band that is not taken by logarithm. A gap is a mean over many steps, and known better than what
 * it is made of. */
static double least_width(const assay_noise *noise, const assay_noise_band *others)
{
    static const double OF_GAP = 0.2;
    double width = others->figure == ASSAY_BAND_GAP ? OF_GAP * noise->margin : noise->margin;
    return is_taken_as_is(others->figure) ? width : width * fmax(fabs(others->middle), others->number.level);
}

static const double FAR = 40; /* outside, but a finite way */

typedef struct scale {
    bool logarithm;
    double floor; /* what is nearer to 0 counts as this much */
    double low, middle, high, width;
} scale;

static double above_floor(double floor, double value)
{
    return value >= 0 ? fmax(value, floor) : value;
}

static scale scale_of(const assay_noise *noise, const assay_noise_band *others)
{
    const assay_band_number *number = &others->number;
    scale s = {.floor = number->passes_zero ? 0 : fmax(noise->margin * number->level, number->counts ? 1 : 0),
               .low = others->low,
               .middle = others->middle,
               .high = others->high};
    double least = least_width(noise, others);
    /* A number keeps to one scale at all its steps. */
    s.logarithm =
        others->figure == ASSAY_BAND_VALUE ? s.floor > 0 && s.low >= 0 : !is_taken_as_is(others->figure) && s.low > 0;
    if (s.logarithm) {
        s.low = log(above_floor(s.floor, s.low));
        s.middle = log(above_floor(s.floor, s.middle));
        s.high = log(above_floor(s.floor, s.high));
        least = log1p(noise->margin);
    }
    s.width = fmax(fmax(s.high - s.low, least), others->spread);
    return s;
}

/* What is 0 where the others are not lies outside, but a finite way. */
static double on_scale(const scale *s, double value)
{
    if (!s->logarithm)
        return value;
    value = above_floor(s->floor, value);
    return value > 0 ? log(value) : s->low - FAR;
}

bool assay_noise_is_count_by_chance(const assay_band_number *number, double middle, double value)
{
    return number->counts && fabs(value - middle) <= 4 * sqrt(fmax(fabs(middle), 1));
}

static double score_on(const scale *s, const assay_noise_band *others, double value)
{
    if (!isfinite(value))
        return INFINITY;
    if (assay_noise_is_count_by_chance(&others->number, others->middle, value))
        return 0;
    double x = on_scale(s, value), above = x - s->high, below = s->low - x;
    if (above <= 0 && below <= 0)
        return 0;
    double distance = above > 0 ? above : -below;
    if (s->width > 0)
        return distance / s->width;
    /* The others are all 0: a tensor that is not is no chance, a count that is not may be one. */
    return copysign(others->figure == ASSAY_BAND_VALUE ? FAR : INFINITY, distance);
}

double assay_noise_score(const assay_noise *noise, const assay_noise_band *others, double value)
{
    const scale s = scale_of(noise, others);
    return score_on(&s, others, value);
}

void assay_noise_edges(const assay_noise *noise, const assay_noise_band *others, double score, double *from, double *to)
{
    scale s = scale_of(noise, others);
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

/* Of 10^5 groups of so many normal numbers each: the score that one number of a group in 1000 exceeds, and up to twice
 * that, for losses have heavier tails, and a run has several numbers. Those of curves are such that of runs whose noise
 * wanders by Student's t of three degrees of freedom one in a hundred is above (bench/accuracy/sets.md). Numbers of runs in
 * between take the limit of the next smaller one. */
static const struct {
    size_t runs;
    double number, curve;
} limits[] = {{5, 30, 12},  {6, 16, 22},  {7, 14, 9},   {8, 13, 9},   {10, 11, 9},
              {12, 8.5, 8}, {15, 7.5, 8}, {20, 6, 5.5}, {30, 5, 3.5}, {40, 4, 2.6}};

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

/* The quantiles that a band is made of. */
enum { LOW, MIDDLE, HIGH, SHARES };
static const double shares_of[2][SHARES] = {{0.05, 0.5, 0.95}, {0.25, 0.5, 0.75}};

/* What the n others of sorted[0..n + 1) span, without number `without` of them. */
static assay_noise_band band_of(const assay_grid *grid, bool robust, const double *sorted, size_t n, size_t without)
{
    const double *share = shares_of[robust];
    assay_noise_band band = {.figure = grid->figure,
                             .low = assay_quantile(sorted, n, without, share[LOW]),
                             .middle = assay_quantile(sorted, n, without, share[MIDDLE]),
                             .high = assay_quantile(sorted, n, without, share[HIGH]),
                             .number = grid->number};
    if (!robust)
        return band;
    /* Of a normal distribution the 0.05 quantile lies 2.44 times as far from the median as the quartile. */
    static const double STRETCH = 2.44;
    if (band.low > 0 && !is_taken_as_is(grid->figure)) {
        band.low = band.middle * pow(band.low / band.middle, STRETCH);
        band.high = band.middle * pow(band.high / band.middle, STRETCH);
    } else {
        band.low = band.middle - STRETCH * (band.middle - band.low);
        band.high = band.middle + STRETCH * (band.high - band.middle);
    }
    return band;
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

/* A count, a loss scale or a rate is the same in most runs at most steps, and for a while it is not: how far runs spread
 * is then seen over all steps, not at one. The width that bands keep within at nine of ten steps. */
static double spread_of(const assay_grid *grid, const assay_noise *noise, bool robust, double *sorted, double *width)
{
    static const double SHARE = 0.9;
    size_t n = 0;
    for (size_t i = 0; i < grid->steps; i++) {
        const size_t count = sort_step(grid, i, sorted);
        const assay_noise_band all = band_of(grid, robust, sorted, count, count);
        width[n++] = scale_of(noise, &all).width;
    }
    qsort(width, n, sizeof *width, assay_order_f64);
    return n > 0 ? assay_quantile(width, n, n, SHARE) : 0;
}

/* A quantile lies between two of the values, and which these are depends only on whether the one that is left out comes before
 * them: so those of a step have few different bands, whatever their number. Equal numbers, equal bands. */
enum { BANDS = 2 * SHARES + 2 };

static size_t number_of_band(bool robust, size_t n, size_t without)
{
    size_t behind = 0;
    if (without == n)
        return BANDS - 1;
    for (int q = 0; q < SHARES; q++) {
        const size_t left = n - 1, low = (size_t)(shares_of[robust][q] * (double)(left - 1));
        behind += low >= without;
        behind += (low + 1 < left ? low + 1 : low) >= without;
    }
    return behind;
}

typedef struct known_band {
    bool known;
    assay_noise_band band;
    scale scale;
} known_band;

/* score[step * trials + trial]: of each point of a grid against those of all others at its step; NaN: there is nothing
 * to say. `sorted` has room for [trials], `score` for [steps * trials]. */
static void score_points(const assay_grid *grid, const assay_noise *noise, bool robust, double *sorted, double *score)
{
    const double spread =
        robust && grid->figure == ASSAY_BAND_VALUE ? spread_of(grid, noise, robust, sorted, score) : 0;
    for (size_t i = 0; i < grid->steps; i++) {
        const size_t n = sort_step(grid, i, sorted);
        known_band bands[BANDS];
        for (size_t k = 0; k < BANDS; k++)
            bands[k].known = false;
        for (size_t t = 0; t < grid->trials; t++) {
            const double value = grid->value[i * grid->trials + t];
            size_t without = n;
            if (isfinite(value)) {
                const double *found = bsearch(&value, sorted, n, sizeof value, assay_order_f64);
                without = found ? (size_t)(found - sorted) : n;
            }
            double *out = &score[i * grid->trials + t];
            *out = NAN;
            if (isnan(value) || n - (without < n) < 2)
                continue;
            known_band *others = &bands[number_of_band(robust, n, without)];
            if (!others->known) {
                others->band = band_of(grid, robust, sorted, n, without);
                others->band.spread = spread;
                others->scale = scale_of(noise, &others->band);
                others->known = true;
            }
            *out = score_on(&others->scale, &others->band, value);
            if (robust && (grid->figure == ASSAY_BAND_LOSS || grid->figure == ASSAY_BAND_GAP))
                *out = fmax(*out, 0);
        }
    }
}

typedef struct scorer {
    const assay_noise *noise;
    bool robust;
    assay_score *out;      /* [trials] */
    assay_farthest *far;   /* [trials]; NULL: not asked for */
    double *sorted;        /* [trials] */
    float **curve;         /* [trials] what each tensor curve scores */
    size_t *curves, *room; /* [trials] */
} scorer;

static int keep_score(scorer *s, size_t trial, double score)
{
    ASSAY_HAVE(assay_vec_reserve(&s->curve[trial], &s->room[trial], s->curves[trial] + 1, sizeof *s->curve[trial]));
    s->curve[trial][s->curves[trial]++] = (float)fmin(score, 1e30);
    return ASSAY_OK;
}

static void note_farthest(assay_farthest *far, const assay_grid *grid, double score, int64_t mode_step)
{
    assay_far_curve *f = grid->figure == ASSAY_BAND_LOSS  ? &far->loss
                         : grid->figure == ASSAY_BAND_GAP ? &far->gap
                                                          : &far->tensor;
    if (score > f->score)
        *f = (assay_far_curve){grid->tensor, grid->figure, grid->mode, score, mode_step};
}

/* A log's epoch is another axis of its steps: of a run with other batches it differs, and that is no fault. */
static bool is_axis(const char *tensor)
{
    static const char prefix[] = "metrics/";
    const char *slash = strrchr(tensor, '/');
    return strncmp(tensor, prefix, sizeof prefix - 1) == 0 && strcasecmp(slash + 1, "epoch") == 0;
}

static int score_grid(void *context, const assay_grid *grid)
{
    scorer *s = context;
    int status = ASSAY_OK;
    if (s->robust && is_axis(grid->tensor))
        return ASSAY_OK;
    double *score = assay_alloc((grid->steps * (grid->trials + 1) + 1) * sizeof *score);
    size_t *at = assay_alloc((grid->steps + 1) * sizeof *at);
    status = score && at ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        score_points(grid, s->noise, s->robust, s->sorted, score);
    for (size_t t = 0; status == ASSAY_OK && t < grid->trials; t++) {
        double *curve = score + grid->steps * grid->trials;
        size_t first, count = 0;
        for (size_t i = 0; i < grid->steps; i++)
            if (!isnan(score[i * grid->trials + t])) {
                at[count] = i;
                curve[count++] = score[i * grid->trials + t];
            }
        const double most = assay_noise_of_curve(s->noise, curve, count, 1, &first);
        if (count == 0)
            continue;
        if (s->far)
            note_farthest(&s->far[t], grid, most, grid->step[at[first < count ? first : 0]]);
        if (grid->figure == ASSAY_BAND_LOSS)
            s->out[t].losses = fmax(s->out[t].losses, most);
        else if (grid->figure == ASSAY_BAND_GAP)
            s->out[t].gaps = fmax(s->out[t].gaps, most);
        else
            status = keep_score(s, t, most);
    }
    free(score);
    free(at);
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

int assay_noise_leave_one_out(const assay_grids *grids, const assay_noise *noise, bool robust, size_t most_steps,
                              assay_score *out, assay_farthest *far)
{
    const size_t trials = assay_grids_trials(grids);
    scorer s = {.noise = noise,
                .robust = robust,
                .out = out,
                .far = far,
                .sorted = assay_alloc(trials * sizeof *s.sorted),
                .curve = assay_alloc_zeroed(trials, sizeof *s.curve),
                .curves = assay_alloc_zeroed(trials, sizeof *s.curves),
                .room = assay_alloc_zeroed(trials, sizeof *s.room)};
    int status = s.sorted && s.curve && s.curves && s.room ? ASSAY_OK : ASSAY_ENOMEM;
    memset(out, 0, trials * sizeof *out);
    if (far)
        memset(far, 0, trials * sizeof *far);
    for (int f = 0; status == ASSAY_OK && f < ASSAY_BAND_FIGURES; f++)
        status = assay_grids_walk(grids, f, most_steps, score_grid, &s);
    for (size_t t = 0; status == ASSAY_OK && t < trials; t++)
        conclude(&s, t);
    for (size_t t = 0; s.curve && t < trials; t++)
        free(s.curve[t]);
    free(s.sorted);
    free(s.curve);
    free(s.curves);
    free(s.room);
    return status;
}
