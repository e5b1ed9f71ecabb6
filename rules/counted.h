/* counted.h - looking a pair up in a counter, which has its pairs in order. */
#pragma once

#include <assay/rule.h>

/* The number of the first pair that is not before (a, b); the counter's size: none. O(log n). */
static inline uint64_t counted_not_before(const assay_counter *counter, int64_t a, int64_t b)
{
    uint64_t low = 0, high = assay_counter_size(counter), count;
    int64_t first, second;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        assay_counter_get(counter, middle, &first, &second, &count);
        if (first < a || (first == a && second < b))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
