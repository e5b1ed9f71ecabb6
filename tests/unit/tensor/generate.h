/* generate.h - bytes of every dtype for tests: ordinary values, values around a large mean, and anything at all. */
#ifndef ASSAY_TESTS_TENSOR_GENERATE_H
#define ASSAY_TESTS_TENSOR_GENERATE_H

#include <assay/tensor.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef enum data_kind { DATA_ORDINARY, DATA_LARGE_MEAN, DATA_ANY_BITS, DATA_KINDS } data_kind;

static const int NUMERIC[] = {ASSAY_FLOAT32,         ASSAY_FLOAT64,        ASSAY_INT32,
                              ASSAY_UINT8,           ASSAY_INT16,          ASSAY_INT8,
                              ASSAY_COMPLEX64,       ASSAY_INT64,          ASSAY_BOOL,
                              ASSAY_BFLOAT16,        ASSAY_UINT16,         ASSAY_COMPLEX128,
                              ASSAY_FLOAT16,         ASSAY_UINT32,         ASSAY_UINT64,
                              ASSAY_FLOAT8_E5M2,     ASSAY_FLOAT8_E4M3FN,  ASSAY_FLOAT8_E4M3FNUZ,
                              ASSAY_FLOAT8_E5M2FNUZ, ASSAY_FLOAT8_E8M0FNU, ASSAY_FLOAT6_E2M3FN,
                              ASSAY_FLOAT6_E3M2FN,   ASSAY_FLOAT4_E2M1FN};
enum { NUMERIC_COUNT = sizeof NUMERIC / sizeof NUMERIC[0] };

static uint64_t random_state = 88172645463325252U;

static uint64_t random_bits(void) /* Marsaglia's xorshift */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static double random_normal(void) /* near enough: the sum of 4 uniform numbers */
{
    double sum = 0;
    for (int i = 0; i < 4; i++)
        sum += (double)(random_bits() >> 11) * 0x1p-53 - 0.5;
    return sum;
}

/* A float cut to its sign, exponent and first bits: bfloat16, and by way of its fields binary16. */
static uint16_t to_bfloat16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static uint16_t to_binary16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 23 & 255) - 127 + 15;
    if (exponent <= 0)
        return (uint16_t)(bits >> 16 & 0x8000);
    if (exponent > 30)
        exponent = 30;
    return (uint16_t)((bits >> 16 & 0x8000) | (unsigned)exponent << 10 | (bits >> 13 & 1023));
}

static void put_real(int dtype, double x, uint8_t *at)
{
    float single = (float)x;
    uint16_t half = dtype == ASSAY_BFLOAT16 ? to_bfloat16(single) : to_binary16(single);
    if (dtype == ASSAY_FLOAT32 || dtype == ASSAY_COMPLEX64)
        memcpy(at, &single, 4);
    else if (dtype == ASSAY_FLOAT64 || dtype == ASSAY_COMPLEX128)
        memcpy(at, &x, 8);
    else
        memcpy(at, &half, 2);
}

/* Element i of an ordinary tensor: about every eleventh is 0. */
static void put_element(int dtype, data_kind kind, uint8_t *at)
{
    size_t size = assay_dtype_size(dtype);
    uint64_t bits = random_bits();
    bool is_byte = size == 1 && assay_dtype_is_float(dtype);
    const uint8_t most = is_byte ? (uint8_t)((1U << assay_dtype_bits(dtype)) - 1) : 0; /* of a code */
    double mean = kind == DATA_LARGE_MEAN ? 1e8 : 0, x = mean + random_normal();
    if (kind != DATA_ANY_BITS && bits % 11 == 0 && kind == DATA_ORDINARY)
        x = 0;
    if (kind == DATA_ANY_BITS || (!assay_dtype_is_float(dtype) && bits % 11 != 0)) {
        uint64_t low = random_bits();
        memcpy(at, &bits, size < 8 ? size : 8);
        *at = is_byte ? *at & most : *at;
        if (size == 16)
            memcpy(at + 8, &low, 8);
    } else if (!assay_dtype_is_float(dtype)) {
        memset(at, 0, size);
    } else if (is_byte) {
        *at = (uint8_t)((bits & 0x80) | (bits >> 8) % 0x70) & most; /* neither NaN nor infinity */
        *at = *at == 0x80 ? 0 : *at;
    } else {
        bool complex = dtype == ASSAY_COMPLEX64 || dtype == ASSAY_COMPLEX128;
        put_real(dtype, x, at);
        if (complex)
            put_real(dtype, x == 0 ? 0 : random_normal(), at + size / 2);
    }
}

static void generate(int dtype, data_kind kind, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++)
        put_element(dtype, kind, out + i * assay_dtype_size(dtype));
}

#endif
