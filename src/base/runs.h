/* runs.h - sorts a list that is sorted already, or consists of a few sorted ones, one behind the other. */
#pragma once

#include <stddef.h>

/* Sorts `count` items of `size` bytes; equal ones stay in their order. O(n log of the sorted runs that it consists of);
 * without memory it is left to the C library. */
void assay_sort_runs(void *list, size_t count, size_t size, int (*order)(const void *, const void *));
