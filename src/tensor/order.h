/* order.h - order statistics of floats in memory: exact, at the speed of memory where the data let it. Inside tensor.
 */
#ifndef ASSAY_TENSOR_ORDER_H
#define ASSAY_TENSOR_ORDER_H

#include <stdbool.h>

#include "tensor/measure_kernels.h"

enum { ORDER_MOST = 4 /* shares at a time */ };

/* Floats of scratch that assay_order_find() needs for n elements and so many shares. */
size_t assay_order_scratch(uint64_t n, uint32_t shares);

/* For each share q in 0..1 the values at ranks floor(h) and the one behind it, h = (m - 1) q, of the m elements of x
 * that are not NaN. A sample of the elements brackets each rank; one pass counts what is below the bracket and collects
 * what is inside, where the value is selected. `at` gets [2 * shares] values (-0 becomes 0), *used gets m. False: a
 * bracket missed its rank or collected too much (data unlike their sample): count digits instead. x is left as it is. m
 * must not be 0. */
bool assay_order_find(const measure_kernels *kernels, const float *x, uint64_t n, const double *share, uint32_t shares,
                      float *scratch, uint64_t *used, float *at);

#endif
