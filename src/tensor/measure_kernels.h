/* measure_kernels.h - the loops of the measures that run at memory speed. Inside tensor and for its tests only.
 *
 * Counts do not depend on order. Sums are taken in MEASURE_LANES lanes, element i of a block in lane i % MEASURE_LANES,
 * or one per column. So every instruction set gives the same bits. Bytes need no alignment. */
#pragma once

#include <assay/measure.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/simd.h"

enum {
    MEASURE_LANES = 8,
    SINGLE_LANES = 32,
    SKETCH_ROWS = 64,
    ROWS_AT_ONCE = 4,
    DOTS_AT_ONCE = 4,
    FUNCTION_BLOCK = 1024
};

/* A block of a comparison under way. */
typedef struct change_lanes {
    double squares[MEASURE_LANES];           /* (a - b)^2 */
    double reference_squares[MEASURE_LANES]; /* b^2 */
    double largest[MEASURE_LANES];           /* |a - b| where that is a number; 0 at the start */
    int64_t apart[MEASURE_LANES];            /* elements that are not close */
    int64_t one_nan[MEASURE_LANES];          /* not 0: an element is NaN in one of a and b */
} change_lanes;

/* Of a block the sums alone. */
typedef struct change_sums {
    double squares[MEASURE_LANES], reference_squares[MEASURE_LANES];
} change_sums;

/* Of a block what single precision makes of it: five digits of the sums, where they are finite and no square was too
 * small for a float. */
typedef struct change_single {
    double squares, reference_squares;
    bool differs;           /* an element is not equal, or not finite */
    bool reference_differs; /* from 0 */
} change_single;

typedef struct change_limits {
    double rtol, atol;
    int64_t nan_is_close; /* -1 or 0 */
} change_limits;

typedef struct channel_lanes {
    double sum[MEASURE_LANES], squares[MEASURE_LANES];
} channel_lanes;

/* How far y may be from f: rounding |f| + arithmetic size + least. */
typedef struct function_bound {
    double rounding, arithmetic, least;
} function_bound;

/* Groups of MEASURE_LANES elements of two tensors, both float, both double, both bfloat16 or both
 * float16. */
typedef void change_groups(change_lanes *s, const change_limits *limits, const uint8_t *a, const uint8_t *b,
                           size_t groups);

/* A multiple of SINGLE_LANES elements, up to some thousand. */
typedef change_single single_block(const uint8_t *a, const uint8_t *b, size_t n);

typedef size_t bound_groups(const uint8_t *a, const uint8_t *b, size_t n, double bar, double least);

typedef struct measure_kernels {
    change_groups *change32, *change64, *change_bfloat16, *change_float16;
    /* The same where that is enough: if the squares that come out are finite, and no tolerance is negative. Else
     * nothing that comes out is right. */
    change_groups *finite32, *finite64, *finite_bfloat16, *finite_float16;
    /* The same where moreover the tolerances are 0. */
    change_groups *equal32, *equal64, *equal_bfloat16, *equal_float16;
    /* Of these the two sums, and in which lanes an element is not equal: apart counts lanes, largest stays. */
    change_groups *moved64, *moved_float16;
    single_block *single32, *single_bfloat16;
    /* The two sums alone, of any elements. */
    change_groups *squares32, *squares64, *squares_bfloat16, *squares_float16;
    /* count[i] grows by one where low <= x[i] <= high. */
    void (*columns32)(uint32_t *count, const uint8_t *x, size_t n, float low, float high);
    void (*columns64)(uint32_t *count, const uint8_t *x, size_t n, double low, double high);
    /* How many are low <= x <= high. */
    uint64_t (*inside32)(const uint8_t *x, size_t n, float low, float high);
    /* Of up to 2^31 floats without their signs, as whole numbers: adds how many are 0 and how many at most `bound`, which
     * is below 2^31 - 1, and returns the largest. That orders them as floats are, with NaN above all. */
    uint32_t (*magnitudes32)(const uint8_t *x, size_t n, uint32_t bound, uint64_t *zeros, uint64_t *up_to);
    uint64_t (*inside64)(const uint8_t *x, size_t n, double low, double high);
    /* Adds to split[0] how many are < low, to split[1] and split[2] how many are equal to low and to high; writes those
     * with low < x < high to `out`, in order, and returns how many. May write up to 16 values behind them. */
    size_t (*split32)(const float *x, size_t n, float low, float high, float *out, uint64_t split[3]);
    size_t (*split64)(const double *x, size_t n, double low, double high, double *out, uint64_t split[3]);
    /* Adds to *up_to how many are <= low; writes those with low < x < high to `out`, as above. Sooner than splitting,
     * for those who need not know what is equal. */
    size_t (*within32)(const float *x, size_t n, float low, float high, float *out, uint64_t *up_to);
    size_t (*within64)(const double *x, size_t n, double low, double high, double *out, uint64_t *up_to);
    /* Writes those that are not low <= x <= high, NaN too, to `out`, as above, where low <= high; returns how many. */
    size_t (*outside32)(const float *x, size_t n, float low, float high, float *out);
    size_t (*outside64)(const double *x, size_t n, double low, double high, double *out);
    /* sum[i] += x[i], squares[i] += x[i]^2. */
    void (*column_sums)(double *sum, double *squares, const double *x, size_t n);
    void (*channel_sums)(channel_lanes *s, const double *x, size_t groups);
    /* How many of the first elements, at least, are equal, or have |a - b| <= atol + rtol |b| by a wide margin: as
     * floats have it, which take a millionth for themselves, so that the tolerances given are to be that much smaller.
     * Or both are NaN, if that counts as close. A multiple of the floats in a vector; none behind the first one in
     * doubt. rtol is 0 or above 2^-60. */
    size_t (*near32)(const uint8_t *a, const uint8_t *b, size_t n, float rtol, float atol, bool nan_is_close);
    /* The two sums of two blocks of so many groups each, one behind the other: sooner than each by itself. */
    void (*two_squares32)(change_sums s[2], const uint8_t *a, const uint8_t *b, size_t groups);
    /* As change_groups where the tolerances are 0, of fewer than 2^15 integers of 8 bits: no sum needs rounding. */
    void (*octets)(change_lanes *s, const uint8_t *a, const uint8_t *b, size_t n, bool is_signed);
    /* How many of the first elements, at least, have a^2 <= bar (b + least), or one that is NaN: a multiple of
     * MEASURE_LANES. Both float or both bfloat16. */
    bound_groups *bound32, *bound_bfloat16;
    /* Of groups of floats, that are rows from `row` on, a multiple of the lanes: what a sketch sums of them, each with
     * its row's sign. y, of the reference, is NULL with `before` where there is none. PRODUCT has no `before`. */
    void (*sketch32)(int form, channel_lanes *own, channel_lanes *before, const uint8_t *x, const uint8_t *y,
                     uint64_t row, size_t groups, float epsilon);
    /* Of ROWS_AT_ONCE rows of floats, `stride` bytes apart, groups of columns from one on, a multiple of the lanes: what
     * sketch32() makes of each row, PLAIN, from nothing. */
    void (*row_sums32)(channel_lanes *of, const uint8_t *x, size_t stride, uint64_t column, size_t groups);
    /* Columns of up to SKETCH_ROWS rows of floats, `stride` apart: sum[i] += sign x, squares[i] += x^2, row by row. */
    void (*rows32)(double *sum, double *squares, const uint8_t *x, size_t stride, uint64_t row, size_t rows, size_t n);
    /* The same of rows that follow each other, of (x - mean) scale of each row. */
    void (*normalised32)(double *sum, double *squares, const uint8_t *x, uint64_t row, size_t rows, size_t n,
                         const double *mean, const double *scale);
    /* Of groups of doubles: sums of x y, of x2 y2, and of x^2 y2 + x2 y^2. */
    void (*product_sums)(double lanes[3][MEASURE_LANES], const double *x, const double *x_squares, const double *y,
                         const double *y_squares, size_t groups);
    /* y = f(x), one of those of FUNCTION but DROPOUT, to 1e-10 of it, and the size of what single precision rounds on the way. */
    void (*functions)(int function, const double *x, size_t n, double *y, double *size);
    /* Of floats: is each x finite, and y within what is allowed of that? false: perhaps, if they are too few for a vector. */
    bool (*fits32)(int function, const uint8_t *x, const uint8_t *y, size_t n, const function_bound *b);
    /* Of at most FUNCTION_BLOCK floats: which are not surely within what is allowed, by single precision, which may be off by 4 u
     * itself; those where x is no finite number, too. SIZE_MAX: of a function that has no such form, or too few. */
    size_t (*doubts32)(int function, const uint8_t *x, const uint8_t *y, size_t n, const function_bound *b,
                       uint16_t *at);
    /* Are all n elements within what is allowed? None is that is NaN. */
    bool (*all_within)(const double *y, const double *f, const double *size, size_t n, const function_bound *b);
    /* Of groups of doubles: sums of x y, for each of DOTS_AT_ONCE rows y that are `stride` apart. */
    void (*dots)(double lanes[DOTS_AT_ONCE][MEASURE_LANES], const double *x, const double *y, size_t stride,
                 size_t groups);
    /* n bfloat16, as floats. */
    void (*widen_bfloat16)(float *to, const uint8_t *x, size_t n);
} measure_kernels;

/* The kernels of a level that this machine has (assay_simd_has). */
const measure_kernels *assay_measure_kernels_of(assay_simd level);
