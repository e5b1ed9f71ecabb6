/* order.h - order statistics of floats or doubles in memory: exact, and at the speed of memory whatever the values.
 * Inside tensor.
 *
 * How it works
 * 1. A sample of one element from each of ORDER_SAMPLE equal stretches, at a pseudo-random place in each, is sorted. A
 * fixed stride would see a few columns of a matrix only.
 * 2. Each wanted rank gets a bracket from the sample, five standard deviations wide on each side.
 * 3. One pass for all shares counts, for each, what lies below and on its bracket's ends and collects what lies inside,
 * at most an eighth of the elements, among which the value is searched in the same way. Two brackets are walked through
 * at once: what is not between them is put together, and only that is looked at for each, block by block, unless it is
 * most of a block. That takes half as long for quantiles at both ends.
 * 4. Where the values mislead the sample, that pass has told between which values the rank lies. Another sample is
 * taken of those, at places that depend on the counts in every block of the pass. One more pass follows, so that the
 * worst case costs less than twice a pass a share: values that mislead the second sample too would have to
 * decide where it is taken. (Even that ends: after some misses the limits are halved.) */
#pragma once

#include <stdbool.h>

#include "tensor/measure_kernels.h"

enum {
    ORDER_MOST = 4,     /* shares at a time */
    ORDER_SAMPLE = 4096 /* elements; as many or fewer are all sorted */
};

/* Bytes of scratch that assay_order_find() needs for n elements and so many shares; aligned for doubles. */
size_t assay_order_scratch(uint64_t n, uint32_t shares, bool wide);

/* For each share q in 0..1 the values at ranks floor(h) and the one behind it (the same again for the last), h = (m -
 * 1) q, of the m elements of x that are not NaN. x are doubles if `wide`, else floats; it is left as it is. `at` gets
 * [2 * shares] values (-0 becomes 0), unset where m is 0. Returns m. *looked, which may be NULL, grows by the elements
 * looked at, one that is looked at twice counting twice. */
uint64_t assay_order_find(const measure_kernels *kernels, void *x, bool wide, uint64_t n, const double *share,
                          uint32_t shares, void *scratch, double *at, uint64_t *looked);

/* The place of element i of a sample of `count` of n elements, 0 being the hash of the first sample; for tests that
 * mislead it. */
uint64_t assay_order_place(uint64_t n, uint64_t count, uint64_t i, uint64_t hash);
