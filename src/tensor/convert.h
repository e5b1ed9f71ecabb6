/* convert.h - elements of any numeric dtype as doubles. */
#pragma once

#include <stddef.h>

/* Widens n elements (little-endian, any alignment) into out[0..n): bool gives 0 or 1, complex its magnitude, 64-bit
 * integers are rounded to nearest. Nothing is written for strings and numbers that are no dtype. The bytes and `out`
 * must not overlap. Thread-safe. */
void assay_to_double(int dtype, const void *bytes, size_t n, double *out);
