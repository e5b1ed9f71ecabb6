/* figures.h - tensors of which statistics alone were recorded: what two of them tell of the change between.
 *
 * Let D be the change. mean, std and the norm are each no farther from what they were than the root mean square of D:
 * the largest of these distances is what it is at least. The least and the largest element moved as far as two elements
 * did; where every element moves, as by an optimizer, others move about as far. */
#pragma once

#include <assay/rule.h>

#include <math.h>

enum { FIGURE_MIN, FIGURE_MAX, FIGURE_MEAN, FIGURE_STD, FIGURES };
enum {
    FIGURES_KINDS = 1u << ASSAY_MIN | 1u << ASSAY_MAX | 1u << ASSAY_MEAN | 1u << ASSAY_STD | 1u << ASSAY_L1 |
                    1u << ASSAY_L2 | 1u << ASSAY_ABS_MEAN
};

/* Were statistics recorded of the item, and no values? */
static inline bool has_figures_alone(const assay_tensor_view *item)
{
    return item->dtype < 0 && (item->reductions & FIGURES_KINDS) == FIGURES_KINDS;
}

/* Sets the figures of an item, by its values or as they were recorded. False where it has neither. */
static inline bool figures_of(const assay_tensor_view *item, double *figure)
{
    const bool values = assay_view_has_values(item);
    if (!values && !has_figures_alone(item))
        return false;
    figure[FIGURE_MIN] = values ? assay_stats_min(item->stats) : item->reduction[ASSAY_MIN];
    figure[FIGURE_MAX] = values ? assay_stats_max(item->stats) : item->reduction[ASSAY_MAX];
    figure[FIGURE_MEAN] = values ? assay_stats_mean(item->stats) : item->reduction[ASSAY_MEAN];
    figure[FIGURE_STD] = values ? assay_stats_std(item->stats) : item->reduction[ASSAY_STD];
    return true;
}

/* How many elements an item has of which statistics alone were recorded; 0: they are all 0, and it is not known. */
static inline double figures_elements(const assay_tensor_view *item)
{
    const double mean = item->reduction[ASSAY_ABS_MEAN];
    return mean > 0 ? rint(item->reduction[ASSAY_L1] / mean) : 0;
}

static inline double figures_rms(const double *figure)
{
    return hypot(figure[FIGURE_MEAN], figure[FIGURE_STD]);
}

/* What a tensor's norm changed by in relation to itself: at least, and about at most. NaN where it was 0. */
static inline void figures_change(const double *before, const double *after, double *least, double *most)
{
    static const double FARTHER = 2; /* than the two elements that are seen to move */
    const double rms = figures_rms(before), of[FIGURES] = {fabs(after[FIGURE_MIN] - before[FIGURE_MIN]),
                                                           fabs(after[FIGURE_MAX] - before[FIGURE_MAX]),
                                                           fabs(after[FIGURE_MEAN] - before[FIGURE_MEAN]),
                                                           fabs(after[FIGURE_STD] - before[FIGURE_STD])};
    const double sure = fmax(fmax(of[FIGURE_MEAN], of[FIGURE_STD]), fabs(figures_rms(after) - rms));
    *least = rms > 0 ? sure / rms : (double)NAN;
    *most = rms > 0 ? fmax(sure, FARTHER * fmax(of[FIGURE_MIN], of[FIGURE_MAX])) / rms : (double)NAN;
}
