/* compare_outliers.c - trials whose last or best loss, logged numbers, accuracy or class imbalance are far from those of the
 * others.
 *
 * Robust z-score (Iglewicz and Hoaglin 1993): 0.6745 (x - median) / MAD, where MAD is the median of |x - median|. If
 * more than half of the numbers are equal, the MAD is 0; then (x - median) / (1.2533 times the mean of |x - median|).
 * Losses are skewed: see judge(). */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"
#include "report/compare/bands.h"
#include "report/compare/compare_internal.h"

static double median_of(double *x, size_t n)
{
    qsort(x, n, sizeof *x, assay_order_f64);
    return n % 2 ? x[n / 2] : x[n / 2 - 1] / 2 + x[n / 2] / 2;
}

typedef struct center {
    double median, deviation, scale; /* score = (x - median) / scale */
} center;

/* Finds the center of x[0..n), finite numbers, which are overwritten. */
static center center_of(double *x, size_t n)
{
    center c = {.median = median_of(x, n)};
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = fabs(x[i] - c.median);
        sum += x[i];
    }
    c.deviation = median_of(x, n);
    c.scale = c.deviation > 0 ? c.deviation / 0.6745 : 1.2533 * sum / (double)n;
    return c;
}

static int add(assay_comparison *c, const assay_outlier *one)
{
    assay_outlier *more = compare_one_more(c->outlier, c->outliers, sizeof *more);
    ASSAY_HAVE(more);
    c->outlier = more;
    more[c->outliers] = *one;
    ASSAY_HAVE(more[c->outliers].what = assay_copy_text(one->what));
    c->outliers++;
    return ASSAY_OK;
}

/* Takes the finite numbers of those that have one, or their logarithms; returns how many. */
static size_t take_finite(const assay_comparison *c, const double *value, const bool *there, bool logarithm,
                          double *out)
{
    size_t n = 0;
    for (size_t t = 0; t < c->trials; t++)
        if (there[t] && isfinite(value[t]))
            out[n++] = logarithm ? log(value[t]) : value[t];
    return n;
}

static bool all_positive(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(x[i] > 0))
            return false;
    return true;
}

/* On which side a number is worse: above (a loss), below (an accuracy), or on both. */
typedef enum side { BELOW = -1, BOTH, ABOVE } side;

/* Tells whether `value` lies above the others of x[0..n), which it is one of, by more than GAP times their range
 * (Dixon 1950). Of six normal numbers and more, fewer than one group in 1000 has such a one, and the z-score misses
 * many. */
static bool stands_alone(const double *x, size_t n, double value)
{
    enum { GAP = 5, LEAST = 6 };
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; i < n; i++)
        if (x[i] < value) {
            least = fmin(least, x[i]);
            most = fmax(most, x[i]);
        } else if (x[i] > value) {
            return false;
        }
    return n >= LEAST && most > least && value - most > GAP * (most - least);
}

/* Judges one number of each trial; `there[t]` says whether it has one. Of skewed ones the smaller of two scores
 * counts, that of the numbers and that of their logarithms: the numbers have their long tail above, the logarithms
 * below. */
static int judge(assay_comparison *c, const double *value, const bool *there, bool skewed, side worse, const char *what)
{
    double *finite = assay_alloc(c->trials * sizeof *finite);
    int status = finite ? ASSAY_OK : ASSAY_ENOMEM;
    size_t n = finite ? take_finite(c, value, there, false, finite) : 0;
    bool logarithm = skewed && finite && all_positive(finite, n);
    if (status == ASSAY_OK && n >= ASSAY_OUTLIER_TRIALS) {
        center middle = center_of(finite, n), logs = middle;
        if (logarithm)
            logs = center_of(finite, take_finite(c, value, there, true, finite));
        take_finite(c, value, there, logarithm, finite); /* center_of() overwrote them */
        for (size_t t = 0; status == ASSAY_OK && t < c->trials; t++) {
            double score = isfinite(value[t]) ? (value[t] - middle.median) / middle.scale : INFINITY;
            double other = logarithm && isfinite(value[t]) ? (log(fabs(value[t])) - logs.median) / logs.scale : score;
            score = fabs(other) < fabs(score) ? other : score;
            const bool alone = there[t] && logarithm && isfinite(value[t]) && stands_alone(finite, n, log(value[t]));
            if (there[t] && (alone || fabs(score) > assay_noise_limit_of_number(n)) &&
                (worse == BOTH || worse * score > 0 || isnan(value[t])))
                status = add(
                    c, &(assay_outlier){t, (char *)(uintptr_t)what, value[t], middle.median, middle.deviation, score});
        }
    }
    free(finite);
    return status;
}

char *compare_text_of(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    return assay_alloc_note(text);
}

/* A trial whose loss is NaN is an outlier on either side. */
static int judge_losses(assay_comparison *c, double *value, bool *there)
{
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < c->losses; i++) {
        const assay_compared_loss *loss = &c->loss[i];
        for (int best = 0; status == ASSAY_OK && best < 2; best++) {
            char *what =
                compare_text_of("%s loss of %s, %s", best ? "best" : "last", loss->tensor, assay_mode_name(loss->mode));
            for (size_t t = 0; t < c->trials; t++) {
                value[t] = best ? loss->figures[t].best : loss->figures[t].last;
                there[t] = loss->figures[t].points > 0;
            }
            status = what ? judge(c, value, there, true, ABOVE, what) : ASSAY_ENOMEM;
            free(what);
        }
    }
    return status;
}

static int judge_classes(assay_comparison *c, bool *there)
{
    int status = ASSAY_OK;
    for (size_t i = 0; status == ASSAY_OK && i < c->class_lists; i++) {
        const assay_compared_classes *list = &c->classes[i];
        char *what = compare_text_of("%s of %s", list->confusion ? "accuracy" : "imbalance",
                                     c->outcome->job->aggregations[list->aggregation]->name);
        for (size_t t = 0; t < c->trials; t++)
            there[t] = !isnan(list->figure[t]);
        status =
            what ? judge(c, list->figure, there, !list->confusion, list->confusion ? BELOW : BOTH, what) : ASSAY_ENOMEM;
        free(what);
    }
    return status;
}

typedef struct numbers {
    assay_comparison *c;
    double *value; /* [trials] */
    bool *there;   /* [trials] */
} numbers;

/* Finds the median of a trial's numbers over the later half of the steps; NaN: it has them at fewer than three of
 * four, so that where they stand would count, not what they are. */
static double later_half(const assay_grid *grid, size_t trial, double *room)
{
    size_t n = 0;
    for (size_t i = grid->steps / 2; i < grid->steps; i++) {
        const double value = grid->value[i * grid->trials + trial];
        if (isfinite(value))
            room[n++] = value;
    }
    return n > 0 && 4 * n >= 3 * (grid->steps - grid->steps / 2) ? median_of(room, n) : NAN;
}

static int judge_number(void *context, const assay_grid *grid)
{
    const numbers *s = context;
    double *room = assay_alloc((grid->steps + grid->trials) * sizeof *room);
    ASSAY_HAVE(room);
    for (size_t t = 0; t < grid->trials; t++) {
        s->value[t] = later_half(grid, t, room);
        s->there[t] = !isnan(s->value[t]);
    }
    size_t n = take_finite(s->c, s->value, s->there, false, room);
    const double median = n > 0 ? median_of(room, n) : NAN;
    for (size_t t = 0; t < grid->trials; t++)
        if (s->there[t] && assay_noise_is_count_by_chance(&grid->number, median, s->value[t]))
            s->value[t] = median;
    free(room);
    char *what = compare_text_of("later half of %s, %s", grid->tensor, assay_mode_name(grid->mode));
    int status = what ? judge(s->c, s->value, s->there, true, BOTH, what) : ASSAY_ENOMEM;
    free(what);
    return status;
}

/* Orders the farthest first; else in the order they were found. */
static int by_score(const void *a, const void *b)
{
    const assay_outlier *x = a, *y = b;
    double p = fabs(x->score), q = fabs(y->score);
    if (p != q)
        return p > q ? -1 : 1;
    if (x->trial != y->trial)
        return x->trial < y->trial ? -1 : 1;
    return strcmp(x->what, y->what);
}

int compare_outliers(assay_comparison *c)
{
    double *value = assay_alloc(c->trials * sizeof *value);
    bool *there = assay_alloc(c->trials * sizeof *there);
    int status = value && there ? ASSAY_OK : ASSAY_ENOMEM;
    ASSAY_THEN(status, judge_losses(c, value, there));
    ASSAY_THEN(status, judge_classes(c, there));
    if (c->grids)
        ASSAY_THEN(status, assay_grids_walk(c->grids, ASSAY_BAND_VALUE, ASSAY_BAND_STEPS, judge_number,
                                            &(numbers){c, value, there}));
    if (status == ASSAY_OK && c->outliers > 0)
        qsort(c->outlier, c->outliers, sizeof *c->outlier, by_score);
    free(value);
    free(there);
    return status;
}
