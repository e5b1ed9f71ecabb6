/* stats_figures.c - the figures derived from the sums. */
#include <assay/tensor.h>
#include <math.h>

#include "tensor/stats.h"

static double per_element(const assay_stats *s, double total)
{
    return s->count > 0 ? total / (double)s->count : (double)NAN;
}

double assay_stats_mean(const assay_stats *s)
{
    return per_element(s, s->sum);
}

double assay_stats_variance(const assay_stats *s)
{
    if (s->scaled_deviations > 0)
        return per_element(s, s->scaled_deviations) * ASSAY_STATS_UNIT * ASSAY_STATS_UNIT;
    return per_element(s, s->deviations);
}

double assay_stats_std(const assay_stats *s)
{
    if (s->scaled_deviations > 0)
        return sqrt(per_element(s, s->scaled_deviations)) * ASSAY_STATS_UNIT;
    return sqrt(assay_stats_variance(s));
}

double assay_stats_l1(const assay_stats *s)
{
    return s->count > 0 ? s->magnitudes : (double)NAN;
}

double assay_stats_l2(const assay_stats *s)
{
    if (s->scaled_squares > 0)
        return sqrt(s->scaled_squares) * ASSAY_STATS_UNIT;
    return s->count > 0 ? sqrt(s->squares) : (double)NAN;
}

double assay_stats_abs_mean(const assay_stats *s)
{
    if (s->scaled_magnitudes > 0)
        return per_element(s, s->scaled_magnitudes) * ASSAY_STATS_UNIT;
    return per_element(s, s->magnitudes);
}

static bool ordered(const assay_stats *s)
{
    return s->count > 0 && s->nan == 0;
}

double assay_stats_abs_max(const assay_stats *s)
{
    return ordered(s) ? fmax(fabs(s->min), fabs(s->max)) : (double)NAN;
}

double assay_stats_min(const assay_stats *s)
{
    return ordered(s) ? s->min : (double)NAN;
}

double assay_stats_max(const assay_stats *s)
{
    return ordered(s) ? s->max : (double)NAN;
}
