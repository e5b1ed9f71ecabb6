/* search.h - binary search in whatever an expression can ask, and orders to sort by, for rules and for assay itself. */
#ifndef ASSAY_SEARCH_H
#define ASSAY_SEARCH_H

#include <stdint.h>
#include <string.h>

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

/* Below 0, 0 or above 0, as `a` is before, at or behind `b`. Numbers of one type; NaN is at everything. Comparators of
 * several keys join them: `int order = ASSAY_ORDER(x->step, y->step); return order ? order : ASSAY_ORDER(...);` */
#define ASSAY_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Defines a comparator of qsort() and bsearch() for items of that type: by one to five members in turn, all of them
 * numbers, ascending. */
#define ASSAY_ORDER_BY(name, type, ...)                                                                                \
    static int name(const void *a_, const void *b_)                                                                    \
    {                                                                                                                  \
        const type *x_ = a_, *y_ = b_;                                                                                 \
        ASSAY_ORDER_PICK_(__VA_ARGS__, ASSAY_ORDER_5_, ASSAY_ORDER_4_, ASSAY_ORDER_3_, ASSAY_ORDER_2_, ASSAY_ORDER_1_, \
                          0)                                                                                           \
        (__VA_ARGS__);                                                                                                 \
    }
#define ASSAY_ORDER_PICK_(a, b, c, d, e, pick, ...) pick
#define ASSAY_ORDER_1_(m)                           return ASSAY_ORDER(x_->m, y_->m)
#define ASSAY_ORDER_FIRST_(m)                                                                                          \
    if (x_->m != y_->m)                                                                                                \
    return x_->m < y_->m ? -1 : 1
#define ASSAY_ORDER_2_(m, ...)                                                                                         \
    ASSAY_ORDER_FIRST_(m);                                                                                             \
    ASSAY_ORDER_1_(__VA_ARGS__)
#define ASSAY_ORDER_3_(m, ...)                                                                                         \
    ASSAY_ORDER_FIRST_(m);                                                                                             \
    ASSAY_ORDER_2_(__VA_ARGS__)
#define ASSAY_ORDER_4_(m, ...)                                                                                         \
    ASSAY_ORDER_FIRST_(m);                                                                                             \
    ASSAY_ORDER_3_(__VA_ARGS__)
#define ASSAY_ORDER_5_(m, ...)                                                                                         \
    ASSAY_ORDER_FIRST_(m);                                                                                             \
    ASSAY_ORDER_4_(__VA_ARGS__)

/* Comparators of lists of plain numbers, and of texts (by their bytes). */
#define ASSAY_ORDER_OF_(name, type)                                                                                    \
    static inline int name(const void *a, const void *b)                                                               \
    {                                                                                                                  \
        return ASSAY_ORDER(*(const type *)a, *(const type *)b);                                                        \
    }
ASSAY_ORDER_OF_(assay_order_i64, int64_t)
ASSAY_ORDER_OF_(assay_order_u32, uint32_t)
ASSAY_ORDER_OF_(assay_order_i32, int32_t)
ASSAY_ORDER_OF_(assay_order_f64, double)
static inline int assay_order_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

#endif
