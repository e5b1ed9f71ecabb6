/* stats.h - the one pass that gives every figure of a tensor.
 *
 * Blocks of 4096 elements, counted from the tensor's start, are summed in 8 lanes (element i in lane i % 8), the lanes
 * are joined in a fixed tree, and blocks are merged in order. So the result depends only on the elements: not on the
 * pieces they arrive in, on alignment or on the instruction set. */
#pragma once

#include <assay/status.h>
#include <assay/tensor.h>

#include "tensor/stats_kernels.h"

/* A sum and what rounding took from it so far (Neumaier 1974). */
typedef struct assay_stats_total {
    double sum, lost;
} assay_stats_total;

/* What closed blocks leave: the mean less origin, the sum of squared deviations from it, and the sum of squares. */
typedef struct assay_stats_moments {
    double origin; /* the first block's shift */
    double mean, deviations;
    assay_stats_total squares;
} assay_stats_moments;

/* Statistics under way. No memory of its own: nothing to release. Fields are for stats.c. */
typedef struct assay_stats_acc {
    const assay_stats_kernels *kernels;
    int dtype;
    size_t element;                    /* bytes */
    uint64_t count;                    /* elements of the closed blocks */
    uint64_t in_block;                 /* elements of the open one, those pending not counted */
    uint8_t pending[STATS_LANES * 16]; /* the last, incomplete group */
    size_t pending_count;
    assay_stats_lanes lanes, scaled_lanes; /* the open block; its sums that are scaled, if is_block_scaled */
    assay_stats_total sum, magnitudes, scaled_magnitudes; /* the last: scaled, if is_scaled */
    assay_stats_moments moments, scaled;                  /* of the closed blocks; scaled, if is_scaled */
    bool is_block_scaled, is_scaled;
    double min, max;
    uint64_t nan, pos_inf, neg_inf, zeros;
} assay_stats_acc;

/* Starts the statistics of one tensor. ASSAY_EUNSUPPORTED for strings and for numbers that are no dtype. */
int assay_stats_init(assay_stats_acc *acc, int dtype);
/* Adds the next elements (little-endian, any alignment). */
void assay_stats_feed(assay_stats_acc *acc, const void *bytes, size_t elements);
/* Is every element so far finite? */
bool assay_stats_is_finite(const assay_stats_acc *acc);
/* Ends the pass and gives the figures; NaN among them are all the same NaN. Start again with assay_stats_init(). */
void assay_stats_finish(assay_stats_acc *acc, assay_stats *out);
/* What a pass over one number of float64 comes to. False where it has to be fed: it is not finite, or its square is not. */
bool assay_stats_of_number(double x, assay_stats *out);
