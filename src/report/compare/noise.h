/* noise.h - how far a run lies from others that differ only by chance.
 *
 * At each mode step the other runs span a band: from a low to a high quantile. The score of a value is its distance
 * from the band in widths of the band, 0 inside: positive above, negative below. Figures that are always positive are
 * compared by logarithm, because values near zero are skewed. A width is never less than the margin; otherwise a figure
 * that hardly varies would be judged by its last digits. A logged number (an accuracy, a reward) may begin at zero or
 * pass through it: what is smaller than the margin of its usual level counts as that small. A count varies by its root.
 *
 * Chance leaves a band at single points, a fault stays outside. So a curve's score is the largest s such that `points`
 * consecutive points lie at least s outside, on one side. A run's score over its tensors is the one that a `share` of
 * its curves reach.
 *
 * A loss that is lower than the others', or a gap that is narrower, is none: only what is above counts. */
#pragma once

#include "report/compare/grid.h"

typedef struct assay_noise {
    size_t points; /* in a row */
    double share;  /* of a run's tensor curves */
    double margin; /* least width: of the median, or absolute for shares */
    double factor; /* a run may score so many times what the good ones score against each other */
} assay_noise;
#define ASSAY_NOISE_DEFAULTS                                                                                           \
    {                                                                                                                  \
        .points = 3, .share = 0.05, .margin = 0.05, .factor = 1.5                                                      \
    }

enum { ASSAY_NOISE_RUNS = 5 /* fewer say nothing about chance */, ASSAY_NOISE_POINTS_MOST = 100 };

/* What a run scores. */
typedef struct assay_score {
    double losses;  /* its loss curve that lies farthest out */
    double gaps;    /* its gap between training and evaluation (gap.h) that lies farthest out */
    double tensors; /* what a share of its tensor curves reach */
    double tensor;  /* its tensor curve that lies farthest out */
} assay_score;

/* The quantiles at a step: 0, 0.05, 0.5, 0.95, 1 (Hyndman and Fan 1996, type 7). */
enum { ASSAY_BAND_QUANTILES = 5 };
/* Of finite numbers the one at `part`, 0 to 1, of the way from a to b; finite even where their difference is not. */
double assay_band_between(double a, double b, double part);
/* The quantile of n ascending values, without number `without` of them (n: with all). */
double assay_quantile(const double *x, size_t n, size_t without, double share);

/* What the others span of a figure at one step. */
typedef struct assay_noise_band {
    int figure;
    double low, middle, high;
    assay_band_number number;
    double spread; /* the least width, if more than the margin's; on the scale that is used */
} assay_noise_band;

/* A count varies by its root: of good runs fewer than one in 10^4 lies four times as far from the middle of the others. */
bool assay_noise_is_count_by_chance(const assay_band_number *number, double middle, double value);

/* The signed score of a value against the others. Not finite: infinite. */
double assay_noise_score(const assay_noise *noise, const assay_noise_band *others, double value);

/* Where a band with that score ends, for those who draw it: outside of *from and *to the score is above `score`. */
void assay_noise_edges(const assay_noise *noise, const assay_noise_band *others, double score, double *from,
                       double *to);
/* The score of a curve from those of its points, in order. *first gets the first point of the first row of points that
 * lies more than `limit` outside; count when there is none. */
double assay_noise_of_curve(const assay_noise *noise, const double *score, size_t count, double limit, size_t *first);

/* How far out chance brings a run of `runs` good ones: the limits of compare_outliers.c (robust z-scores) and of a curve
 * that is scored against the others with `robust`. Few runs tell little of how far they spread. */
double assay_noise_limit_of_number(size_t runs);
double assay_noise_limit_of_curve(size_t runs);

/* The curve of a run that lies farthest out, and from which mode step on it does. */
typedef struct assay_far_curve {
    const char *tensor; /* borrowed from the outcome; NULL: none lies outside */
    int figure, mode;
    double score;
    int64_t mode_step;
} assay_far_curve;

typedef struct assay_farthest {
    assay_far_curve loss, gap, tensor;
} assay_farthest;

/* Scores every trial against the others: out[trials], and unless it is NULL far[trials]. With `robust`, the band comes from the quartiles, which a quarter
 * of the trials cannot move: for runs of which some may be faulty. Trials without a curve score 0. 0 or ASSAY_ENOMEM.
 */
int assay_noise_leave_one_out(const assay_grids *grids, const assay_noise *noise, bool robust, size_t most_steps,
                              assay_score *out, assay_farthest *far);
