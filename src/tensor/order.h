/* order.h - order statistics of floats in memory: exact, and at the speed of memory whatever the values. Inside tensor.
 *
 * How it works
 * 1. A sample of one element from each of ORDER_SAMPLE equal stretches, at a pseudo-random place in each, is sorted. A
 * fixed stride would see a few columns of a matrix only.
 * 2. Each wanted rank gets a bracket from the sample, five standard deviations wide on each side.
 * 3. One pass a share counts what lies below and on the bracket's ends and collects what lies inside, at most an eighth
 * of the elements, from which the value is selected.
 * 4. A bracket that missed its rank (the values are such that they mislead the sample) is replaced by counting digits:
 * the upper 16 bits of all elements, once for all shares, then the lower 16 bits of those that share the upper ones,
 * once a share. Steps 3 and 4 each look at every element once and once more a share, so that the worst case costs twice
 * the usual one. */
#ifndef ASSAY_TENSOR_ORDER_H
#define ASSAY_TENSOR_ORDER_H

#include <stdbool.h>

#include "tensor/measure_kernels.h"

enum {
    ORDER_MOST = 4,     /* shares at a time */
    ORDER_SAMPLE = 4096 /* elements; as many or fewer are all sorted */
};

/* Bytes of scratch that assay_order_find() needs for n elements and so many shares; any alignment for doubles. */
size_t assay_order_scratch(uint64_t n, uint32_t shares);

/* For each share q in 0..1 the values at ranks floor(h) and the one behind it (the same again for the last), h = (m -
 * 1) q, of the m elements of x that are not NaN. `at` gets [2 * shares] values (-0 becomes 0), unset where m is 0.
 * Returns m. *looked, which may be NULL, grows by the elements looked at, one that is looked at twice counting twice. x
 * is left as it is. */
uint64_t assay_order_find(const measure_kernels *kernels, const float *x, uint64_t n, const double *share,
                          uint32_t shares, void *scratch, float *at, uint64_t *looked);

/* The place of element i of a sample of `count` of n elements; for tests that mislead it. */
uint64_t assay_order_place(uint64_t n, uint64_t count, uint64_t i);

#endif
