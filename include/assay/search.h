/* search.h - binary search in whatever an expression can ask, for rules and for assay itself. */
#ifndef ASSAY_SEARCH_H
#define ASSAY_SEARCH_H

#include <stdint.h>

/* Moves `at`, a number below `end`, to the first number from there on for which `before`, an expression of `at`, is false;
 * to `end` when it is true for all. It is true for some first numbers, and false for those behind them. */
#define ASSAY_SEARCH(at, end, before)                                                                                  \
    do {                                                                                                               \
        uint64_t low_ = (at), high_ = (end);                                                                           \
        while (low_ < high_) {                                                                                         \
            (at) = low_ + (high_ - low_) / 2;                                                                          \
            if (before)                                                                                                \
                low_ = (at) + 1;                                                                                       \
            else                                                                                                       \
                high_ = (at);                                                                                          \
        }                                                                                                              \
        (at) = low_;                                                                                                   \
    } while (0)

#endif
