/* The statistics pass: the same bits from every instruction set, alignment and cut; the right figures. */
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "tensor/convert.h"
#include "tensor/stats.h"

enum { LONGEST = 4097, ALIGNMENTS = 16, LARGE = 200003 };

static assay_stats pass(assay_simd level, int dtype, const void *bytes, size_t n)
{
    assay_stats_acc acc;
    assay_stats s;
    CU_ASSERT_EQUAL(assay_stats_init(&acc, dtype), ASSAY_OK);
    acc.kernels = assay_stats_kernels_of(level);
    assay_stats_feed(&acc, bytes, n);
    assay_stats_finish(&acc, &s);
    return s;
}

static bool same(const assay_stats *a, const assay_stats *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Two passes in long double. */
static assay_stats reference(int dtype, const void *bytes, size_t n)
{
    double *x = malloc((n + 1) * sizeof *x);
    long double sum = 0, squares = 0, magnitudes = 0, deviations = 0;
    assay_stats s = {.count = n, .min = INFINITY, .max = -INFINITY};
    assay_to_double(dtype, bytes, n, x);
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
        squares += (long double)x[i] * x[i];
        magnitudes += fabsl(x[i]);
        s.zeros += x[i] == 0;
        s.nan += isnan(x[i]) != 0;
        s.pos_inf += x[i] == (double)INFINITY;
        s.neg_inf += x[i] == -(double)INFINITY;
        s.min = x[i] < s.min ? x[i] : s.min; /* not fmin, which a signalling NaN turns into NaN */
        s.max = x[i] > s.max ? x[i] : s.max;
    }
    for (size_t i = 0; i < n; i++)
        deviations += (x[i] - sum / n) * (x[i] - sum / n);
    s.sum = (double)sum;
    s.squares = (double)squares;
    s.magnitudes = (double)magnitudes;
    s.deviations = (double)deviations;
    free(x);
    return s;
}

static bool near(double got, double expected, double scale)
{
    return fabs(got - expected) <= 1e-13 * scale;
}

static bool right(const assay_stats *got, const assay_stats *want)
{
    return got->count == want->count && got->zeros == want->zeros && got->nan == want->nan &&
           got->pos_inf == want->pos_inf && got->neg_inf == want->neg_inf && got->min == want->min &&
           got->max == want->max && near(got->sum, want->sum, want->magnitudes) &&
           near(got->squares, want->squares, want->squares) &&
           near(got->magnitudes, want->magnitudes, want->magnitudes) &&
           fabs(got->deviations - want->deviations) <= 1e-12 * want->deviations;
}

/* Every length and alignment, so that every way a tensor may begin and end is there; the reference where something
 * changes and now and then. */
static void every_length(int dtype, data_kind kind)
{
    const size_t size = assay_dtype_size(dtype);
    uint8_t *bytes = malloc(LONGEST * size), *moved = malloc(LONGEST * size + ALIGNMENTS);
    unsigned differ = 0, wrong = 0;
    generate(dtype, kind, LONGEST, bytes);
    for (size_t n = 0; n <= LONGEST; n += n > 300 && n < 3990 ? 61 : 1) {
        assay_stats s = pass(ASSAY_SIMD_SCALAR, dtype, bytes, n);
        memcpy(moved + n % ALIGNMENTS, bytes, n * size);
        for (int level = 0; level < ASSAY_SIMD_LEVELS; level++) {
            if (assay_simd_has((assay_simd)level)) {
                assay_stats other = pass((assay_simd)level, dtype, moved + n % ALIGNMENTS, n);
                differ += !same(&s, &other);
            }
        }
        if (kind != DATA_ANY_BITS && (n < 70 || n % 97 == 0 || n >= 4095)) {
            assay_stats want = reference(dtype, bytes, n);
            wrong += !right(&s, &want);
        }
    }
    CU_ASSERT_EQUAL(differ, 0);
    CU_ASSERT_EQUAL(wrong, 0);
    free(bytes);
    free(moved);
}

static void test_ordinary(void)
{
    for (int d = 0; d < NUMERIC_COUNT; d++)
        every_length(NUMERIC[d], DATA_ORDINARY);
}

static void test_large_mean(void)
{
    every_length(ASSAY_FLOAT64, DATA_LARGE_MEAN);
    every_length(ASSAY_COMPLEX128, DATA_LARGE_MEAN);
}

/* NaN and infinities at every place; their counts and what they leave of the other figures. */
static void test_any_bits(void)
{
    static const int dtypes[] = {ASSAY_FLOAT16, ASSAY_FLOAT8_E5M2, ASSAY_FLOAT64};
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        every_length(dtypes[d], DATA_ANY_BITS);
    for (int d = 0; d < NUMERIC_COUNT; d++) {
        int dtype = NUMERIC[d];
        uint8_t *bytes = malloc(LARGE * assay_dtype_size(dtype));
        generate(dtype, DATA_ANY_BITS, LARGE, bytes);
        assay_stats want = reference(dtype, bytes, LARGE);
        for (int level = 0; level < ASSAY_SIMD_LEVELS; level++) {
            if (!assay_simd_has((assay_simd)level))
                continue;
            assay_stats got = pass((assay_simd)level, dtype, bytes, LARGE);
            CU_ASSERT_TRUE(got.count == LARGE && got.nan == want.nan && got.pos_inf == want.pos_inf &&
                           got.neg_inf == want.neg_inf && got.zeros == want.zeros);
            CU_ASSERT_TRUE(got.min == want.min && got.max == want.max);
            CU_ASSERT_EQUAL(isnan(got.sum) != 0, want.nan > 0 || (want.pos_inf > 0 && want.neg_inf > 0));
            CU_ASSERT_TRUE(want.nan + want.pos_inf + want.neg_inf == 0 || isnan(got.deviations));
        }
        free(bytes);
    }
}

static void test_large(void)
{
    for (int d = 0; d < NUMERIC_COUNT; d++) {
        for (int kind = 0; kind < DATA_ANY_BITS; kind++) {
            int dtype = NUMERIC[d];
            bool wide = dtype == ASSAY_FLOAT64 || dtype == ASSAY_COMPLEX128;
            if (kind == DATA_LARGE_MEAN && !wide)
                continue;
            for (int size = 0; size < 3; size++) {
                size_t n = 5000 + random_bits() % LARGE;
                uint8_t *bytes = malloc(n * assay_dtype_size(dtype));
                generate(dtype, (data_kind)kind, n, bytes);
                assay_stats want = reference(dtype, bytes, n), first = pass(ASSAY_SIMD_SCALAR, dtype, bytes, n);
                CU_ASSERT_TRUE(right(&first, &want));
                for (int level = 1; level < ASSAY_SIMD_LEVELS; level++) {
                    assay_stats got =
                        assay_simd_has((assay_simd)level) ? pass((assay_simd)level, dtype, bytes, n) : first;
                    CU_ASSERT_TRUE(same(&first, &got));
                }
                free(bytes);
            }
        }
    }
}

static assay_stats in_pieces(assay_simd level, int dtype, const uint8_t *bytes, size_t n, size_t longest)
{
    assay_stats_acc acc;
    assay_stats s;
    size_t size = assay_dtype_size(dtype);
    CU_ASSERT_EQUAL(assay_stats_init(&acc, dtype), ASSAY_OK);
    acc.kernels = assay_stats_kernels_of(level);
    while (n > 0) {
        size_t take = random_bits() % (longest + 1);
        take = take < n ? take : n;
        uint8_t *piece = malloc(take * size + 1); /* exactly as long, and at an odd address */
        memcpy(piece + 1, bytes, take * size);
        assay_stats_feed(&acc, piece + 1, take);
        free(piece);
        bytes += take * size;
        n -= take;
    }
    assay_stats_finish(&acc, &s);
    return s;
}

static void test_pieces(void)
{
    static const size_t longest[] = {1, 2, 7, 8, 9, 100, 4095, 4096, 4097, 9000};
    static const size_t lengths[] = {5, 4096, 8192, 12293};
    for (int d = 0; d < NUMERIC_COUNT; d++) {
        int dtype = NUMERIC[d];
        uint8_t *bytes = malloc(12293 * assay_dtype_size(dtype));
        for (int kind = 0; kind < DATA_KINDS; kind++) {
            generate(dtype, (data_kind)kind, 12293, bytes);
            for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
                assay_stats whole = pass(ASSAY_SIMD_SCALAR, dtype, bytes, lengths[l]);
                for (size_t p = 0; p < sizeof longest / sizeof longest[0]; p++) {
                    for (int level = 0; level < ASSAY_SIMD_LEVELS; level++) {
                        if (!assay_simd_has((assay_simd)level))
                            continue;
                        assay_stats s = in_pieces((assay_simd)level, dtype, bytes, lengths[l], longest[p]);
                        CU_ASSERT_TRUE(same(&whole, &s));
                    }
                }
            }
        }
        free(bytes);
    }
}

/* Of two blocks side by side, one has its elements about 0 and the other far from it. */
static void test_unlike_blocks(void)
{
    enum { BLOCK = 4096, COUNT = 4 * BLOCK };
    static const size_t pieces[] = {COUNT, BLOCK + 8, 9000};
    float *x = malloc(COUNT * sizeof *x);
    for (int far = 0; far < 16; far++) {
        for (size_t i = 0; i < COUNT; i++)
            x[i] = (float)((double)(i * 2654435761U % 1000) / 1000 - 0.5 + (far >> i / BLOCK & 1) * 1e4);
        assay_stats want = pass(ASSAY_SIMD_SCALAR, ASSAY_FLOAT32, x, COUNT);
        for (int level = 0; level < ASSAY_SIMD_LEVELS; level++)
            for (size_t p = 0; assay_simd_has((assay_simd)level) && p < sizeof pieces / sizeof pieces[0]; p++) {
                assay_stats got = in_pieces((assay_simd)level, ASSAY_FLOAT32, (const uint8_t *)x, COUNT, pieces[p]);
                CU_ASSERT_TRUE(same(&want, &got));
            }
    }
    free(x);
}

static assay_stats of_doubles(const double *x, size_t n)
{
    return pass(assay_simd_level(), ASSAY_FLOAT64, x, n);
}

/* At every level one number comes to what a pass over it comes to, bit for bit, or has to be fed. */
static void test_one_number(void)
{
    static const double odd[] = {0.0,      -0.0,  0x1p-1074, -0x1p-1022, 1e-200, 1e154, -1.3e154,
                                 1.35e154, 1e308, INFINITY,  -INFINITY,  NAN,    2.5,   -7};
    enum { ODD = sizeof odd / sizeof *odd, MORE = 20000 };
    uint64_t bits = 1, taken = 0;
    for (size_t i = 0; i < ODD + MORE; i++) {
        double x = i < ODD ? odd[i] : 0;
        bits = bits * 6364136223846793005U + 1442695040888963407U;
        if (i >= ODD)
            memcpy(&x, &bits, sizeof x);
        assay_stats got;
        if (!assay_stats_of_number(x, &got)) {
            CU_ASSERT_TRUE(!isfinite(x * x));
            continue;
        }
        taken++;
        for (int level = 0; level < ASSAY_SIMD_LEVELS; level++) {
            if (!assay_simd_has((assay_simd)level))
                continue;
            const assay_stats want = pass((assay_simd)level, ASSAY_FLOAT64, &x, 1);
            CU_ASSERT_TRUE(same(&want, &got));
        }
    }
    CU_ASSERT_TRUE(taken > MORE / 2);
}

static void test_special(void)
{
    static const double mixed[] = {0.0, -0.0, 1, NAN, INFINITY, -INFINITY, INFINITY, 0x1p-1074, -5};
    assay_stats s = of_doubles(mixed, 9);
    CU_ASSERT_TRUE(s.count == 9 && s.nan == 1 && s.pos_inf == 2 && s.neg_inf == 1 && s.zeros == 2);
    CU_ASSERT_TRUE(s.min == -(double)INFINITY && s.max == (double)INFINITY);
    CU_ASSERT_TRUE(isnan(s.sum) && isnan(s.squares) && isnan(s.magnitudes) && isnan(s.deviations));
    static const double infinite[] = {1, INFINITY, 3};
    s = of_doubles(infinite, 3);
    CU_ASSERT_TRUE(isinf(s.sum) && isinf(s.squares) && isinf(s.magnitudes) && isnan(s.deviations) && s.min == 1);
    static const double nans[] = {NAN, NAN};
    s = of_doubles(nans, 2);
    CU_ASSERT_TRUE(s.min == (double)INFINITY && s.max == -(double)INFINITY && s.nan == 2);
    static const double tiny[] = {0x1p-1074, -0x1p-1074, 0x1p-1073};
    s = of_doubles(tiny, 3);
    CU_ASSERT_TRUE(s.zeros == 0 && s.sum == 0x1p-1073 && s.magnitudes == 0x1p-1072 && s.min == -0x1p-1074);
    static const double huge[] = {DBL_MAX, DBL_MAX, -DBL_MAX};
    s = of_doubles(huge, 3);
    CU_ASSERT_TRUE(s.nan == 0 && s.pos_inf == 0 && s.neg_inf == 0 && isinf(s.squares) && s.max == DBL_MAX);
    CU_ASSERT_TRUE(isinf(s.deviations));
    static const int64_t lowest[] = {INT64_MIN, INT64_MIN};
    s = pass(assay_simd_level(), ASSAY_INT64, lowest, 2);
    CU_ASSERT_TRUE(s.sum == -0x1p64 && s.min == -0x1p63 && s.squares == 0x1p127 && s.deviations == 0);
    static const uint64_t highest[] = {UINT64_MAX};
    s = pass(assay_simd_level(), ASSAY_UINT64, highest, 1);
    CU_ASSERT_TRUE(s.sum == 0x1p64 && s.max == 0x1p64);
}

/* Is the prefix of n elements, fed in pieces, known to be finite? */
static bool is_finite(int dtype, const uint8_t *bytes, size_t n, size_t piece)
{
    assay_stats_acc acc;
    CU_ASSERT_EQUAL(assay_stats_init(&acc, dtype), ASSAY_OK);
    for (size_t at = 0; at < n; at += piece)
        assay_stats_feed(&acc, bytes + at * assay_dtype_size(dtype), n - at < piece ? n - at : piece);
    return assay_stats_is_finite(&acc);
}

/* An element that is not finite is known of once it was fed, also in an incomplete group. */
static void test_finite(void)
{
    enum { COUNT = 40 };
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    float x[COUNT];
    double wide[COUNT];
    unsigned wrong = 0;
    for (size_t at = 0; at < COUNT; at++) {
        for (size_t i = 0; i < COUNT; i++)
            wide[i] = x[i] = i == at ? bad[at % 3] : FLT_MAX;
        for (size_t n = 0; n <= COUNT; n++)
            for (size_t piece = 1; piece <= 17; piece += 4) {
                wrong += is_finite(ASSAY_FLOAT32, (uint8_t *)x, n, piece) != (n <= at);
                wrong += is_finite(ASSAY_FLOAT64, (uint8_t *)wide, n, piece) != (n <= at);
            }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    static const double huge[] = {DBL_MAX, DBL_MAX, -DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX};
    CU_ASSERT_TRUE(is_finite(ASSAY_FLOAT64, (const uint8_t *)huge, 9, 9));
    static const uint8_t half[] = {0xff, 0x7b, 0x00, 0x7c}; /* the largest of float16, and infinity */
    CU_ASSERT_TRUE(is_finite(ASSAY_FLOAT16, half, 1, 1) && !is_finite(ASSAY_FLOAT16, half, 2, 2));
    static const int64_t lowest[] = {INT64_MIN, -1};
    CU_ASSERT_TRUE(is_finite(ASSAY_INT64, (const uint8_t *)lowest, 2, 1));
}

/* NaN counted in the last of several blocks and in pieces of an already spoilt block. */
static void test_one_nan(void)
{
    static float x[3 * 4096 + 100];
    for (size_t at = 0; at < sizeof x / sizeof x[0]; at += 509) {
        for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
            x[i] = 1;
        x[at] = NAN;
        assay_stats s = in_pieces(assay_simd_level(), ASSAY_FLOAT32, (const uint8_t *)x, sizeof x / sizeof x[0], 1000);
        CU_ASSERT_TRUE(s.nan == 1 && isnan(s.sum) && s.min == 1 && s.max == 1 && isnan(s.deviations));
    }
}

/* The figures of numpy 1.24 for numpy.array([1, -2, 3.5, 0]), and for no elements and for a NaN. */
static void test_derived(void)
{
    static const double x[] = {1, -2, 3.5, 0}, spoilt[] = {1, NAN};
    assay_stats s = of_doubles(x, 4), none = of_doubles(x, 0), nan = of_doubles(spoilt, 2);
    CU_ASSERT_EQUAL(assay_stats_mean(&s), 0.625);
    CU_ASSERT_EQUAL(assay_stats_variance(&s), 3.921875);
    CU_ASSERT_DOUBLE_EQUAL(assay_stats_std(&s), 1.9803724397193572, 1e-15);
    CU_ASSERT_EQUAL(assay_stats_l1(&s), 6.5);
    CU_ASSERT_DOUBLE_EQUAL(assay_stats_l2(&s), 4.1533119314590374, 1e-15);
    CU_ASSERT_EQUAL(assay_stats_abs_mean(&s), 1.625);
    CU_ASSERT_EQUAL(assay_stats_abs_max(&s), 3.5);
    CU_ASSERT_EQUAL(assay_stats_min(&s), -2);
    CU_ASSERT_EQUAL(assay_stats_max(&s), 3.5);
    double (*const all[])(const assay_stats *) = {assay_stats_mean,    assay_stats_variance, assay_stats_std,
                                                  assay_stats_l1,      assay_stats_l2,       assay_stats_abs_mean,
                                                  assay_stats_abs_max, assay_stats_min,      assay_stats_max};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        CU_ASSERT_TRUE(isnan(all[i](&none)) && isnan(all[i](&nan)));
    CU_ASSERT_TRUE(none.count == 0 && none.sum == 0 && none.min == (double)INFINITY && none.max == -(double)INFINITY);
}

/* Doubles about 10^exponent, of which some have another sign, some are near 1; by number. */
static void fill_huge(int how, double *x, size_t n)
{
    static const int exponents[] = {154, 155, 200, 300, 307};
    uint64_t state = 12345 + (uint64_t)how;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        double size = 0.5 + (double)(state >> 40) / 0x1p24;
        bool small = how % 3 == 1 && i < n - n / 4;        /* overflows late */
        bool negative = how % 2 == 0 && (state >> 33) % 2; /* the shift is 0 */
        x[i] = (negative ? -size : size) * (small ? 1 : pow(10, exponents[how / 6]));
    }
}

static bool is_near(double got, long double want)
{
    return want > DBL_MAX ? got == (double)INFINITY : fabsl(got - want) <= 1e-12L * want;
}

/* Variance, deviation, norm and mean magnitude are right wherever they fit a double, even if no sum of squares does; the same bits from
 * every instruction set and cut. */
static void test_squares_beyond(void)
{
    enum { LONG = 3 * 4096 + 1029, WAYS = 30 };
    static const size_t lengths[] = {1, 5, 8, 1003, 4096, LONG}, pieces[] = {1, 9, 1000, 5000};
    double *x = malloc(LONG * sizeof *x);
    unsigned wrong = 0, differ = 0, fits = 0, sums = 0;
    for (size_t at = 0; at < sizeof lengths / sizeof lengths[0] * WAYS; at++) {
        size_t n = lengths[at / WAYS];
        long double mean = 0, squares = 0, deviations = 0, magnitude = 0;
        fill_huge((int)(at % WAYS), x, n);
        for (size_t i = 0; i < n; i++)
            mean += (long double)x[i] / n, magnitude += fabsl((long double)x[i]) / n;
        for (size_t i = 0; i < n; i++) {
            squares += (long double)x[i] * x[i];
            deviations += (x[i] - mean) * (x[i] - mean);
        }
        assay_stats s = of_doubles(x, n);
        wrong += !is_near(assay_stats_l2(&s), sqrtl(squares)) || !is_near(assay_stats_std(&s), sqrtl(deviations / n)) ||
                 !is_near(assay_stats_variance(&s), deviations / n) || !is_near(assay_stats_abs_mean(&s), magnitude);
        sums += isinf(assay_stats_l1(&s)) && isfinite(assay_stats_abs_mean(&s));
        fits += isinf(s.deviations) && isfinite(assay_stats_variance(&s));
        for (int level = 0; level < ASSAY_SIMD_LEVELS; level++)
            for (size_t p = 0; assay_simd_has((assay_simd)level) && p < sizeof pieces / sizeof pieces[0]; p++) {
                assay_stats other = in_pieces((assay_simd)level, ASSAY_FLOAT64, (const uint8_t *)x, n, pieces[p]);
                differ += !same(&s, &other);
            }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(differ, 0);
    CU_ASSERT_TRUE(fits > 0 && sums > 0);
    x[4000] = NAN;
    assay_stats spoilt = of_doubles(x, LONG);
    CU_ASSERT_TRUE(isnan(assay_stats_std(&spoilt)) && isnan(assay_stats_l2(&spoilt)));
    x[4000] = INFINITY;
    spoilt = of_doubles(x, LONG);
    CU_ASSERT_TRUE(isnan(assay_stats_std(&spoilt)) && isinf(assay_stats_l2(&spoilt)));
    CU_ASSERT_TRUE(isinf(assay_stats_abs_mean(&spoilt)));
    free(x);
}

/* Equal elements have no variance, however large they are; neither has a long tensor of them. */
static void test_constant(void)
{
    static double x[10000];
    for (size_t i = 0; i < 10000; i++)
        x[i] = 123456789.123;
    assay_stats s = of_doubles(x, 10000);
    CU_ASSERT_EQUAL(s.deviations, 0);
    CU_ASSERT_DOUBLE_EQUAL(assay_stats_mean(&s), 123456789.123, 1e-5);
}

/* One element far off, at the front, where the shift comes from, and elsewhere; and a block's first group of them. */
static void test_outliers(void)
{
    static float x[4099];
    for (size_t at = 0; at < 4099; at += at < 9 ? 1 : 1000) {
        generate(ASSAY_FLOAT32, DATA_ORDINARY, 4099, (uint8_t *)x);
        for (size_t i = 0; i < at % 9; i++)
            x[i] = -1e6F;
        x[at] = 1e6F;
        assay_stats want = reference(ASSAY_FLOAT32, x, 4099), got = pass(assay_simd_level(), ASSAY_FLOAT32, x, 4099);
        CU_ASSERT_TRUE(right(&got, &want));
    }
}

/* Means from far below the spread to far above it, where the block's shift changes from 0 to a median; and a group in
 * front that is spread out just so far that the shift is 0, while nothing else of the block is spread at all. */
static void test_mean_over_spread(void)
{
    enum { COUNT = 4096 };
    static double x[COUNT];
    for (double mean = 0.25; mean < 1e9; mean *= 1.5) {
        generate(ASSAY_FLOAT64, DATA_ORDINARY, COUNT, (uint8_t *)x);
        for (size_t i = 0; i < COUNT; i++)
            x[i] += mean;
        assay_stats want = reference(ASSAY_FLOAT64, x, COUNT), got = of_doubles(x, COUNT);
        CU_ASSERT_TRUE(right(&got, &want));
    }
    for (double spread = 0.2; spread < 0.3; spread += 0.01) {
        for (size_t i = 0; i < COUNT; i++)
            x[i] = i == 0 ? 1 - spread / 2 : i == 1 ? 1 + spread / 2 : 1;
        assay_stats want = reference(ASSAY_FLOAT64, x, COUNT), got = of_doubles(x, COUNT);
        CU_ASSERT_DOUBLE_EQUAL(got.deviations / want.deviations, 1, 1e-10);
    }
}

static void test_refused(void)
{
    assay_stats_acc acc;
    CU_ASSERT_EQUAL(assay_stats_init(&acc, ASSAY_STRING), ASSAY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(assay_stats_init(&acc, 7), ASSAY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(assay_stats_init(&acc, -3), ASSAY_EUNSUPPORTED);
    CU_ASSERT_TRUE(assay_simd_has(assay_simd_level()));
    CU_ASSERT_FALSE(assay_simd_has(ASSAY_SIMD_LEVELS));
}

int main(void)
{
    CU_TestInfo tests[] = {{"every dtype, every length", test_ordinary},
                           {"large mean", test_large_mean},
                           {"any bits", test_any_bits},
                           {"large tensors", test_large},
                           {"pieces and alignment", test_pieces},
                           {"blocks about 0 and far from it", test_unlike_blocks},
                           {"one number", test_one_number},
                           {"special values", test_special},
                           {"one NaN", test_one_nan},
                           {"finite so far", test_finite},
                           {"derived figures", test_derived},
                           {"squares beyond a double", test_squares_beyond},
                           {"constant", test_constant},
                           {"outliers", test_outliers},
                           {"means over the spread", test_mean_over_spread},
                           {"strings and unknown dtypes", test_refused},
                           CU_TEST_INFO_NULL};
    return unit_main("stats", tests);
}
