/* robust.h - how far a number lies from others that may include outliers.
 *
 * Robust z-score (Iglewicz and Hoaglin 1993): z = 0.6745 * (x - median) / MAD, where MAD is the median of |x_i -
 * median|; 0.6745 makes it a standard score for normal numbers. Numbers that hardly vary have a MAD near 0, compared
 * with which any change would be enormous: so the MAD counts as at least `floor` times |median|. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

static inline int robust_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts x[0..n), which holds no NaN: a few numbers, as workers of a step, by insertion. */
static inline void robust_sort(double *x, size_t n)
{
    enum { FEW = 32 };
    if (n > FEW) {
        qsort(x, n, sizeof *x, robust_compare);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        const double taken = x[i];
        size_t at = i;
        for (; at > 0 && x[at - 1] > taken; at--)
            x[at] = x[at - 1];
        x[at] = taken;
    }
}

/* Sorts x[0..n), which holds no NaN; NaN for n = 0. */
static inline double robust_median(double *x, size_t n)
{
    if (n == 0)
        return NAN;
    robust_sort(x, n);
    return n % 2 ? x[n / 2] : x[n / 2 - 1] / 2 + x[n / 2] / 2;
}

typedef struct robust_center {
    double median, spread;
} robust_center;

/* The centre and spread of x[0..n), finite numbers, which are overwritten. */
static inline robust_center robust_center_of(double *x, size_t n, double floor)
{
    robust_center c = {.median = robust_median(x, n)};
    for (size_t i = 0; i < n; i++)
        x[i] = fabs(x[i] - c.median);
    c.spread = fmax(robust_median(x, n), floor * fabs(c.median));
    return c;
}

/* The same of numbers that ascend, and stay: those on either side of the median ascend by their distance. */
static inline robust_center robust_center_of_sorted(const double *x, size_t n)
{
    robust_center c = {.median = n == 0 ? NAN : n % 2 ? x[n / 2] : x[n / 2 - 1] / 2 + x[n / 2] / 2};
    size_t below = (n + 1) / 2, above = below; /* x[below - 1] and x[above] are the next ones */
    double last = NAN, before = NAN;
    for (size_t i = 0; i <= n / 2 && n > 0; i++) {
        const double left = below > 0 ? fabs(x[below - 1] - c.median) : INFINITY;
        const double right = above < n ? fabs(x[above] - c.median) : INFINITY;
        before = last;
        last = left <= right ? left : right;
        below -= left <= right && below > 0;
        above += !(left <= right) && above < n;
    }
    c.spread = n % 2 ? last : before / 2 + last / 2;
    return c;
}

typedef struct robust_score {
    double z, median;
} robust_score;

/* A value that is not finite scores infinite. */
static inline robust_score robust_score_of(double value, robust_center c)
{
    double z = value == c.median ? 0 : 0.6745 * (value - c.median) / c.spread;
    return (robust_score){isfinite(value) ? z : INFINITY, c.median};
}
