/* reduce.h - reductions and histograms of a tensor that is in memory.
 *
 * Over the flattened tensor, in double precision; std and variance divide by N, or by N-1 on request. A complex element
 * counts by its magnitude. */
#ifndef ASSAY_HOOK_REDUCE_H
#define ASSAY_HOOK_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hook/encode.h"

enum { HOOK_BUCKETS = 2048 };

/* Values of the reductions `codes` (config.h) in the same order. `elements` is at least 1. */
void hook_reduce(int dtype, const void *data, uint64_t elements, const uint8_t *codes, size_t count,
                 bool sample_variance, double *values);

typedef struct hook_buckets {
    double limits[HOOK_BUCKETS], counts[HOOK_BUCKETS];
    hook_histogram histogram; /* points into the arrays above */
} hook_buckets;

/* Counts elements in TensorBoard's buckets: bounds grow by a tenth from 1e-12 to 1e20, both signs. False when an
 * element is not finite, for which there is no bucket. */
bool hook_count_buckets(int dtype, const void *data, uint64_t elements, hook_buckets *buckets);

#endif
