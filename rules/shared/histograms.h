/* histograms.h - the layout of a row of the aggregation tensor_histograms, for code that draws them. */
#pragma once

#include <math.h>
#include <stdbool.h>

enum { ASSAY_HISTOGRAM_LEVELS = 17, ASSAY_HISTOGRAM_LOW = 2, ASSAY_HISTOGRAM_MEDIAN = 8, ASSAY_HISTOGRAM_HIGH = 14 };

/* The shares of the elements that are at most as large as each quantile. */
static const double assay_histogram_level[ASSAY_HISTOGRAM_LEVELS] = {0,   0.01, 0.05, 0.1, 0.2, 0.25, 0.3,  0.4, 0.5,
                                                                     0.6, 0.7,  0.75, 0.8, 0.9, 0.95, 0.99, 1};

enum {
    ASSAY_HISTOGRAM_ELEMENTS,  /* of all workers, NaN left out */
    ASSAY_HISTOGRAM_QUANTILES, /* at each level */
    ASSAY_HISTOGRAM_WIDTH = ASSAY_HISTOGRAM_QUANTILES + ASSAY_HISTOGRAM_LEVELS
};

/* The share of the elements that are at most x, or with `below` less than x, given their quantiles. */
static inline double assay_histogram_share(const double *quantile, double x, bool below)
{
    int k = -1; /* the last quantile that is not beyond x */
    while (k + 1 < ASSAY_HISTOGRAM_LEVELS && (below ? quantile[k + 1] < x : quantile[k + 1] <= x))
        k++;
    if (k < 0)
        return 0;
    if (k + 1 == ASSAY_HISTOGRAM_LEVELS)
        return 1;
    const double low = assay_histogram_level[k], wide = quantile[k + 1] - quantile[k];
    const double in_bin = isfinite(wide) && wide > 0 ? (x - quantile[k]) / wide : 0;
    return low + in_bin * (assay_histogram_level[k + 1] - low);
}
