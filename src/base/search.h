/* search.h - orders and binary search. Everything here is inline: a comparison that the compiler sees costs no call.
 *
 * To find an item that is equal, or to sort, take bsearch() and qsort(); integers are sorted faster by
 * assay_sort_integers() (assay/timeline.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <assay/search.h>

/* The order of two texts of given lengths by their bytes; a text is behind its own beginnings. */
static inline int assay_order_bytes(const void *a, size_t a_length, const void *b, size_t b_length)
{
    const size_t least = a_length < b_length ? a_length : b_length;
    const int order = least ? memcmp(a, b, least) : 0;
    return order ? order : ASSAY_ORDER(a_length, b_length);
}

/* How an item of a list lies to a key: below 0 (before it), 0, above 0 (behind it). */
typedef int assay_item_order(const void *item, const void *key);

/* The number of the first item of a sorted list that is not before the key; `count` when all are. `size`: bytes of an
 * item. */
static inline size_t assay_lower_bound(const void *list, size_t count, size_t size, const void *key,
                                       assay_item_order *order)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (order((const char *)list + middle * size, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The same in ascending integers: the number of the first that is `value` or more. */
static inline size_t assay_lower_bound_i64(const int64_t *list, size_t count, int64_t value)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (list[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
static inline size_t assay_lower_bound_u64(const uint64_t *list, size_t count, uint64_t value)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (list[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
