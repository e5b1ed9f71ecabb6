/* Every code of the small formats, the edges of the large ones, and that all instruction sets widen alike. */
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "tensor/convert.h"
#include "tensor/elements.h"
#include "tensor/stats_kernels.h"

enum { LONGEST = 4097, ALIGNMENTS = 16 };

static bool same(double a, double b) /* -0.0 is not 0.0, any NaN is any NaN */
{
    return isnan(a) ? isnan(b) : memcmp(&a, &b, sizeof a) == 0;
}

/* A binary format with an implied leading bit by its definition. */
static double by_definition(unsigned code, int exponent_bits, int fraction_bits, int bias)
{
    unsigned exponent = code >> fraction_bits & ((1U << exponent_bits) - 1),
             fraction = code & ((1U << fraction_bits) - 1);
    double sign = code >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp(fraction + (1U << fraction_bits), (int)exponent - bias - fraction_bits);
}

static double ieee(unsigned code, int exponent_bits, int fraction_bits, int bias)
{
    if ((code >> fraction_bits & ((1U << exponent_bits) - 1)) != (1U << exponent_bits) - 1)
        return by_definition(code, exponent_bits, fraction_bits, bias);
    if (code & ((1U << fraction_bits) - 1))
        return (double)NAN;
    return code >> (exponent_bits + fraction_bits) & 1 ? -(double)INFINITY : (double)INFINITY;
}

static double expected(int dtype, unsigned code)
{
    if (dtype == ASSAY_FLOAT16)
        return ieee(code, 5, 10, 15);
    if (dtype == ASSAY_BFLOAT16)
        return ieee(code, 8, 7, 127);
    if (dtype == ASSAY_FLOAT8_E5M2)
        return ieee(code, 5, 2, 15);
    if (dtype == ASSAY_FLOAT8_E4M3FN)
        return (code & 0x7f) == 0x7f ? (double)NAN : by_definition(code, 4, 3, 7);
    if (dtype == ASSAY_FLOAT8_E4M3FNUZ)
        return code == 0x80 ? (double)NAN : by_definition(code, 4, 3, 8);
    if (dtype == ASSAY_FLOAT8_E5M2FNUZ)
        return code == 0x80 ? (double)NAN : by_definition(code, 5, 2, 16);
    if (dtype == ASSAY_FLOAT8_E8M0FNU)
        return code == 0xff ? (double)NAN : ldexp(1, (int)code - 127);
    if (dtype == ASSAY_FLOAT6_E2M3FN)
        return by_definition(code, 2, 3, 1);
    if (dtype == ASSAY_FLOAT6_E3M2FN)
        return by_definition(code, 3, 2, 3);
    if (dtype == ASSAY_FLOAT4_E2M1FN)
        return by_definition(code, 2, 1, 1);
    return dtype == ASSAY_BOOL ? code != 0 : dtype == ASSAY_INT8 ? (double)(int8_t)code : (double)code;
}

static void all_codes(int dtype)
{
    static uint8_t bytes[2 << 16];
    static double out[1 << 16];
    size_t size = assay_dtype_size(dtype), n = (size_t)1 << assay_dtype_bits(dtype);
    for (size_t i = 0; i < n; i++) {
        uint16_t code = (uint16_t)i;
        memcpy(bytes + i * size, &code, size);
    }
    for (int level = 0; level < ASSAY_SIMD_LEVELS; level++) {
        if (!assay_simd_has((assay_simd)level))
            continue;
        assay_stats_kernels_of((assay_simd)level)->widen[dtype](bytes, n / STATS_LANES, out);
        unsigned wrong = 0;
        for (unsigned i = 0; i < n; i++)
            wrong += !same(out[i], expected(dtype, i));
        CU_ASSERT_EQUAL(wrong, 0);
    }
}

static void test_codes(void)
{
    all_codes(ASSAY_FLOAT16);
    all_codes(ASSAY_BFLOAT16);
    all_codes(ASSAY_FLOAT8_E5M2);
    all_codes(ASSAY_FLOAT8_E4M3FN);
    all_codes(ASSAY_FLOAT8_E4M3FNUZ);
    all_codes(ASSAY_FLOAT8_E5M2FNUZ);
    all_codes(ASSAY_FLOAT8_E8M0FNU);
    all_codes(ASSAY_FLOAT6_E2M3FN);
    all_codes(ASSAY_FLOAT6_E3M2FN);
    all_codes(ASSAY_FLOAT4_E2M1FN);
    all_codes(ASSAY_UINT8);
    all_codes(ASSAY_INT8);
    all_codes(ASSAY_BOOL);
    all_codes(ASSAY_UINT16);
}

/* What numpy and the papers give for a few of them, so that a mistaken definition above shows. */
static void test_known(void)
{
    static const struct {
        int dtype;
        unsigned code;
        double value;
    } known[] = {{ASSAY_FLOAT16, 0x3c00, 1},
                 {ASSAY_FLOAT16, 0x7bff, 65504},
                 {ASSAY_FLOAT16, 0x0001, 0x1p-24},
                 {ASSAY_FLOAT16, 0xfc00, -(double)INFINITY},
                 {ASSAY_BFLOAT16, 0x3f80, 1},
                 {ASSAY_BFLOAT16, 0xc049, -3.140625},
                 {ASSAY_FLOAT8_E5M2, 0x7b, 57344},
                 {ASSAY_FLOAT8_E5M2, 0x7c, (double)INFINITY},
                 {ASSAY_FLOAT8_E5M2, 0x01, 0x1p-16},
                 {ASSAY_FLOAT8_E5M2, 0x7d, (double)NAN},
                 {ASSAY_FLOAT8_E4M3FN, 0x7e, 448},
                 {ASSAY_FLOAT8_E4M3FN, 0x01, 0x1p-9},
                 {ASSAY_FLOAT8_E4M3FN, 0xff, (double)NAN},
                 {ASSAY_FLOAT8_E4M3FN, 0x80, -0.0},
                 {ASSAY_FLOAT8_E4M3FN, 0x78, 256},
                 {ASSAY_FLOAT8_E4M3FNUZ, 0x7f, 240},
                 {ASSAY_FLOAT8_E4M3FNUZ, 0x01, 0x1p-10},
                 {ASSAY_FLOAT8_E4M3FNUZ, 0x80, (double)NAN},
                 {ASSAY_FLOAT8_E5M2FNUZ, 0x7f, 57344},
                 {ASSAY_FLOAT8_E5M2FNUZ, 0x01, 0x1p-17},
                 {ASSAY_FLOAT8_E5M2FNUZ, 0x80, (double)NAN},
                 {ASSAY_FLOAT8_E8M0FNU, 0x00, 0x1p-127},
                 {ASSAY_FLOAT8_E8M0FNU, 0xfe, 0x1p127},
                 {ASSAY_FLOAT6_E2M3FN, 0x1f, 7.5},
                 {ASSAY_FLOAT6_E2M3FN, 0x21, -0.125},
                 {ASSAY_FLOAT6_E3M2FN, 0x1f, 28},
                 {ASSAY_FLOAT6_E3M2FN, 0x01, 0x1p-4},
                 {ASSAY_FLOAT4_E2M1FN, 0x07, 6},
                 {ASSAY_FLOAT4_E2M1FN, 0x01, 0.5},
                 {ASSAY_FLOAT4_E2M1FN, 0x0f, -6},
                 {ASSAY_FLOAT4_E2M1FN, 0x08, -0.0},
                 {ASSAY_BOOL, 0x80, 1}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint16_t code = (uint16_t)known[i].code;
        double got = -1;
        assay_to_double(known[i].dtype, &code, 1, &got);
        CU_ASSERT_TRUE(same(got, known[i].value));
    }
}

#define EDGE(dtype, type, ...)                                                                                         \
    do {                                                                                                               \
        const type values[] = {__VA_ARGS__};                                                                           \
        double wide[sizeof values / sizeof values[0]];                                                                 \
        assay_to_double(dtype, values, sizeof values / sizeof values[0], wide);                                        \
        for (size_t i_ = 0; i_ < sizeof values / sizeof values[0]; i_++)                                               \
            CU_ASSERT_TRUE(same(wide[i_], (double)values[i_]));                                                        \
    } while (0)

static void test_edges(void)
{
    EDGE(ASSAY_INT64, int64_t, INT64_MIN, INT64_MIN + 1, INT64_MAX, -1, 0, 1, INT64_C(1) << 53, (INT64_C(1) << 53) + 1,
         -(INT64_C(1) << 53) - 1, INT64_MAX - 511, INT64_MAX - 512, -(INT64_C(1) << 32), UINT32_MAX);
    EDGE(ASSAY_UINT64, uint64_t, 0, 1, UINT64_MAX, UINT64_MAX - 1023, UINT64_MAX - 1024, UINT64_C(1) << 63,
         (UINT64_C(1) << 53) + 1, (UINT64_C(1) << 53) + 3, UINT32_MAX, UINT64_C(1) << 32);
    EDGE(ASSAY_INT32, int32_t, INT32_MIN, -1, 0, 1, INT32_MAX, 7, 8, 9, 10);
    EDGE(ASSAY_UINT32, uint32_t, 0, 1, INT32_MAX, UINT32_C(1) << 31, UINT32_MAX, 6, 7, 8, 9);
    EDGE(ASSAY_INT16, int16_t, INT16_MIN, -1, 0, 1, INT16_MAX, 5, 6, 7, 8);
    EDGE(ASSAY_FLOAT32, float, 0.0F, -0.0F, 0x1p-149F, FLT_MAX, -FLT_MIN, INFINITY, -INFINITY, NAN, 1.1F);
    EDGE(ASSAY_FLOAT64, double, 0.0, -0.0, 0x1p-1074, DBL_MAX, -DBL_MIN, INFINITY, -INFINITY, NAN, 0.1);
}

static void check_complex(double re, double im, double magnitude)
{
    double pair[2] = {re, im}, got = -1;
    assay_to_double(ASSAY_COMPLEX128, pair, 1, &got);
    CU_ASSERT_TRUE(same(got, magnitude));
    float single[2] = {(float)re, (float)im};
    got = -1;
    assay_to_double(ASSAY_COMPLEX64, single, 1, &got);
    CU_ASSERT_TRUE(same(got, magnitude));
}

static void test_complex(void)
{
    check_complex(3, -4, 5);
    check_complex(-0.0, -0.0, 0);
    check_complex(-INFINITY, 2, INFINITY);
    check_complex(1, INFINITY, INFINITY);
    check_complex(NAN, 1, NAN);
    check_complex(INFINITY, NAN, NAN);
}

static double one_element(int dtype, const uint8_t *at)
{
    double x = 0;
#define ELEMENT_CASE(number, name)                                                                                     \
    if (dtype == (number))                                                                                             \
        x = element_##name(at);
    ELEMENT_CASE(ASSAY_FLOAT32, float32)
    ELEMENT_CASE(ASSAY_FLOAT64, float64)
    ELEMENT_CASE(ASSAY_INT32, int32)
    ELEMENT_CASE(ASSAY_UINT8, uint8)
    ELEMENT_CASE(ASSAY_INT16, int16)
    ELEMENT_CASE(ASSAY_INT8, int8)
    ELEMENT_CASE(ASSAY_COMPLEX64, complex64)
    ELEMENT_CASE(ASSAY_INT64, int64)
    ELEMENT_CASE(ASSAY_BOOL, bool)
    ELEMENT_CASE(ASSAY_BFLOAT16, bfloat16)
    ELEMENT_CASE(ASSAY_UINT16, uint16)
    ELEMENT_CASE(ASSAY_COMPLEX128, complex128)
    ELEMENT_CASE(ASSAY_FLOAT16, float16)
    ELEMENT_CASE(ASSAY_UINT32, uint32)
    ELEMENT_CASE(ASSAY_UINT64, uint64)
    ELEMENT_CASE(ASSAY_FLOAT8_E5M2, float8_e5m2)
    ELEMENT_CASE(ASSAY_FLOAT8_E4M3FN, float8_e4m3fn)
    ELEMENT_CASE(ASSAY_FLOAT8_E4M3FNUZ, float8_e4m3fnuz)
    ELEMENT_CASE(ASSAY_FLOAT8_E5M2FNUZ, float8_e5m2fnuz)
    ELEMENT_CASE(ASSAY_FLOAT8_E8M0FNU, float8_e8m0fnu)
    ELEMENT_CASE(ASSAY_FLOAT6_E2M3FN, float6_e2m3fn)
    ELEMENT_CASE(ASSAY_FLOAT6_E3M2FN, float6_e3m2fn)
    ELEMENT_CASE(ASSAY_FLOAT4_E2M1FN, float4_e2m1fn)
    return x;
}

/* How many of n elements at an address of any alignment come out otherwise than they should: by assay_to_double, and by
 * the vector code of each level as far as it goes. */
static unsigned wrong_of(int dtype, const uint8_t *bytes, size_t n, const double *should)
{
    static double out[LONGEST + 1];
    unsigned wrong = 0;
    out[n] = 42;
    assay_to_double(dtype, bytes, n, out);
    for (size_t i = 0; i < n; i++)
        wrong += !same(out[i], should[i]);
    wrong += out[n] != 42;
    for (int level = 0; level < ASSAY_SIMD_LEVELS; level++) {
        size_t groups = n / STATS_LANES;
        if (!assay_simd_has((assay_simd)level))
            continue;
        out[groups * STATS_LANES] = 42;
        assay_stats_kernels_of((assay_simd)level)->widen[dtype](bytes, groups, out);
        for (size_t i = 0; i < groups * STATS_LANES; i++)
            wrong += !same(out[i], should[i]);
        wrong += out[groups * STATS_LANES] != 42;
    }
    return wrong;
}

/* Any bits, any length and alignment; and nothing is read or written behind the end. */
static void test_random(void)
{
    static uint8_t all[LONGEST * 16];
    static double should[LONGEST];
    for (int d = 0; d < NUMERIC_COUNT; d++) {
        int dtype = NUMERIC[d];
        size_t size = assay_dtype_size(dtype);
        unsigned wrong = 0;
        generate(dtype, DATA_ANY_BITS, LONGEST, all);
        for (size_t i = 0; i < LONGEST; i++)
            should[i] = one_element(dtype, all + i * size);
        for (size_t n = 0; n <= LONGEST; n += n > 300 && n < 3990 ? 61 : 1) {
            size_t off = n % ALIGNMENTS;
            uint8_t *bytes = malloc(n * size + off + 1); /* no longer, so that sanitizers see reads behind it */
            memcpy(bytes + off + 1, all, n * size);
            wrong += wrong_of(dtype, bytes + off + 1, n, should);
            free(bytes);
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
}

static void test_no_numbers(void)
{
    double out = 42;
    assay_to_double(ASSAY_STRING, "abc", 1, &out);
    assay_to_double(7, "abc", 1, &out);
    assay_to_double(-1, "abc", 1, &out);
    assay_to_double(1000, "abc", 1, &out);
    CU_ASSERT_EQUAL(out, 42);
}

static void test_table(void)
{
    CU_ASSERT_EQUAL(assay_dtype_size(ASSAY_COMPLEX128), 16);
    CU_ASSERT_EQUAL(assay_dtype_size(ASSAY_STRING), 0);
    CU_ASSERT_EQUAL(assay_dtype_size(7), 0);
    CU_ASSERT_STRING_EQUAL(assay_dtype_name(ASSAY_FLOAT8_E4M3FN), "float8_e4m3fn");
    CU_ASSERT_EQUAL(assay_dtype_size(ASSAY_FLOAT4_E2M1FN), 1);
    CU_ASSERT_EQUAL(assay_dtype_bits(ASSAY_FLOAT4_E2M1FN), 4);
    CU_ASSERT_EQUAL(assay_dtype_bits(ASSAY_COMPLEX128), 128);
    CU_ASSERT_STRING_EQUAL(assay_dtype_name(99), "unknown");
    CU_ASSERT_TRUE(assay_dtype_known(ASSAY_STRING) && assay_dtype_known(ASSAY_BOOL));
    CU_ASSERT_FALSE(assay_dtype_known(7) || assay_dtype_known(-1) || assay_dtype_known(26));
    CU_ASSERT_TRUE(assay_dtype_is_float(ASSAY_COMPLEX64) && assay_dtype_is_float(ASSAY_FLOAT8_E5M2));
    CU_ASSERT_FALSE(assay_dtype_is_float(ASSAY_INT64) || assay_dtype_is_float(ASSAY_BOOL) ||
                    assay_dtype_is_float(ASSAY_STRING));
}

int main(void)
{
    CU_TestInfo tests[] = {{"dtype table", test_table},
                           {"all codes of the small formats", test_codes},
                           {"known values", test_known},
                           {"edges", test_edges},
                           {"complex magnitude", test_complex},
                           {"any bits, length and alignment", test_random},
                           {"strings and unknown dtypes", test_no_numbers},
                           CU_TEST_INFO_NULL};
    return unit_main("elements", tests);
}
