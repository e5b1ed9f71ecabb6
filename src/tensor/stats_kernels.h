/* stats_kernels.h - the functions that each instruction set provides. Inside tensor and for its tests only. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/simd.h"

enum { STATS_LANES = 8, STATS_BLOCK_GROUPS = 512, STATS_DTYPES = 70 /* the highest dtype number and 1 */ };

typedef enum stats_figure {
    STATS_SUM,
    STATS_SQUARES,
    STATS_MAGNITUDES,
    STATS_SHIFTED,         /* sum of x - shift; untouched when the shift is 0 */
    STATS_SHIFTED_SQUARES, /* sum of (x - shift)^2; untouched when the shift is 0 */
    STATS_MIN,             /* over what is not NaN */
    STATS_MAX,
    STATS_FIGURES
} stats_figure;

/* One block under way: element i of the block counts in lane i % STATS_LANES. */
typedef struct assay_stats_lanes {
    double v[STATS_FIGURES][STATS_LANES];
    double shift;
    uint64_t zeros;
} assay_stats_lanes;

/* Adds groups of STATS_LANES elements to the lanes. */
typedef void stats_groups(assay_stats_lanes *lanes, const uint8_t *bytes, size_t groups);
/* The same of two whole blocks, one behind the other: of each lanes the shift is set and the rest is to be made. Both
 * have a shift, or none has. */
typedef void stats_two_blocks(assay_stats_lanes lanes[2], const uint8_t *bytes);
/* Widens groups of STATS_LANES elements to doubles. */
typedef void stats_widen(const uint8_t *bytes, size_t groups, double *out);

typedef struct assay_stats_kernels {
    stats_groups *groups[STATS_DTYPES];         /* by dtype number; NULL where there is no such dtype */
    stats_two_blocks *two_blocks[STATS_DTYPES]; /* NULL too where it would be no faster */
    stats_widen *widen[STATS_DTYPES];
} assay_stats_kernels;

/* The kernels of a level that this machine has (assay_simd_has). */
const assay_stats_kernels *assay_stats_kernels_of(assay_simd level);

extern const assay_stats_kernels assay_stats_scalar, assay_stats_avx2, assay_stats_avx512;
