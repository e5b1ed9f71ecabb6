/* reduce.h - reductions and histograms of a tensor that is in memory.
 *
 * Over the flattened tensor, in double precision; std and variance divide by N, or by N-1 on request. A complex element
 * counts by its magnitude. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/hook.h>
#include <assay/tensor.h>
#include "hook/encode.h"

enum { HOOK_BUCKETS = 2048, HOOK_BUCKET_STARTS = 2 * 16 * 110 };

/* The statistics of all elements, in one pass. */
void hook_statistics(int dtype, const void *data, uint64_t elements, assay_stats *out);

/* Values of the reductions `codes` (config.h) in the same order. `elements` is at least 1, `stats` are theirs. */
void hook_reduce(int dtype, const void *data, uint64_t elements, const assay_stats *stats, const uint8_t *codes,
                 size_t count, bool sample_variance, double *values);

/* The same of a tensor whose statistics are given by the caller, and nothing else of it. False where they do not give
 * a reduction: then *value is not set. */
bool hook_reduce_given(const assay_hook_statistics *given, uint64_t elements, uint8_t code, bool sample_variance,
                       double *value);
/* Do these statistics give the reduction? */
bool hook_is_given(uint8_t code);

/* The digest of a tensor as it is recorded: 63 bits of a hash over dtype, shape and bytes. Where all elements are one
 * value, which tensors can share by chance, it is negated. */
int64_t hook_digest(int dtype, int ndim, const int64_t *shape, const void *data, size_t bytes);

typedef struct hook_buckets {
    double limits[HOOK_BUCKETS], counts[HOOK_BUCKETS];
    uint64_t tally[2][HOOK_BUCKETS]; /* of elements in turn: neighbours often share a bucket, and would wait */
    size_t count;
    uint16_t first[HOOK_BUCKET_STARTS]; /* by sign and leading bits of a number: the first bucket that it can be in */
    double shown_limits[HOOK_BUCKETS], shown_counts[HOOK_BUCKETS];
    hook_histogram histogram; /* points into the two arrays above */
} hook_buckets;

/* Sets the bounds, once. */
void hook_buckets_init(hook_buckets *buckets);

/* Counts elements in TensorBoard's buckets: bounds grow by a tenth from 1e-12 to 1e20, both signs; of empty buckets in
 * a row one is kept. `stats` are those of the elements. False when an element is not finite, for which there is no
 * bucket. */
bool hook_count_buckets(int dtype, const void *data, uint64_t elements, const assay_stats *stats,
                        hook_buckets *buckets);
