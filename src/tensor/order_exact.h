/* order_exact.h - sorting of few floats and selection among many whose cost does not depend on the values. Inside
 * tensor. */
#ifndef ASSAY_TENSOR_ORDER_EXACT_H
#define ASSAY_TENSOR_ORDER_EXACT_H

#include <stddef.h>
#include <stdint.h>

enum {
    ORDER_SORTED = 4096,            /* elements that are sorted at most */
    ORDER_DIGITS = 1 << 16,         /* values of the half of a key */
    ORDER_COUNTS = ORDER_DIGITS + 1 /* of a table: the last one is for NaN */
};

/* Sorts at most ORDER_SORTED floats, none of them NaN. */
void assay_sort_few(float *x, size_t n);

/* Counts the elements of x that are not NaN by the upper half of their keys: digits[ORDER_COUNTS]. */
void assay_digits_count(const float *x, uint64_t n, uint64_t *digits);

/* The values at ranks r and next (r or r + 1) among the elements of x that are not NaN, by one more pass. `digits` is
 * from assay_digits_count() of the same x and is left as it is; `table` has room for ORDER_COUNTS. */
void assay_digits_find(const float *x, uint64_t n, const uint64_t *digits, uint64_t r, uint64_t next, uint64_t *table,
                       float at[2]);

#endif
