/* elements.h - one element of every dtype as a double, in plain C. Bytes need no alignment. Inside tensor only.
 *
 * The vector code replaces some of these by instructions that give the same values. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

#define ELEMENT_AS_IS(name, type)                                                                                      \
    static inline double element_##name(const uint8_t *at)                                                             \
    {                                                                                                                  \
        type value;                                                                                                    \
        memcpy(&value, at, sizeof value);                                                                              \
        return (double)value;                                                                                          \
    }
ELEMENT_AS_IS(float32, float)
ELEMENT_AS_IS(float64, double)
ELEMENT_AS_IS(int8, int8_t)
ELEMENT_AS_IS(uint8, uint8_t)
ELEMENT_AS_IS(int16, int16_t)
ELEMENT_AS_IS(uint16, uint16_t)
ELEMENT_AS_IS(int32, int32_t)
ELEMENT_AS_IS(uint32, uint32_t)
ELEMENT_AS_IS(int64, int64_t)
ELEMENT_AS_IS(uint64, uint64_t)
#undef ELEMENT_AS_IS

static inline double element_bool(const uint8_t *at)
{
    return *at != 0;
}

static inline double element_bfloat16(const uint8_t *at)
{
    uint16_t half;
    memcpy(&half, at, sizeof half);
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. */
static inline double binary16(unsigned bits)
{
    unsigned exponent = bits >> 10 & 31, fraction = bits & 1023;
    double magnitude;
    if (exponent == 0) {
        magnitude = fraction * 0x1p-24;
    } else if (exponent == 31) {
        magnitude = fraction ? (double)NAN : (double)INFINITY;
    } else {
        uint64_t wide = (uint64_t)(exponent - 15 + 1023) << 52 | (uint64_t)fraction << 42;
        memcpy(&magnitude, &wide, sizeof magnitude);
    }
    return bits & 0x8000 ? -magnitude : magnitude;
}

static inline double element_float16(const uint8_t *at)
{
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    return binary16(bits);
}

/* E5M2 is the upper half of a binary16 (Micikevicius et al., FP8 formats for deep learning, 2022). */
static inline double element_float8_e5m2(const uint8_t *at)
{
    return binary16((unsigned)*at << 8);
}

/* E4M3FN: bias 7, no infinity, NaN only with all exponent and fraction bits set (same paper). Its exponent and fraction
 * placed in a binary16 (bias 15) read as 2^-8 of the value, subnormal numbers too. */
static inline double element_float8_e4m3fn(const uint8_t *at)
{
    unsigned sign = *at & 0x80U, rest = *at & 0x7fU;
    return rest == 0x7f ? (double)NAN : 256 * binary16(sign << 8 | rest << 7);
}

/* A float of few bits without infinities: exponent 0 is subnormal, and no other one is special. */
static inline double narrow_float(unsigned code, unsigned exponent_bits, unsigned fraction_bits, int bias)
{
    const unsigned exponent = code >> fraction_bits & ((1U << exponent_bits) - 1);
    const unsigned fraction = code & ((1U << fraction_bits) - 1);
    const uint64_t scale = (uint64_t)((int)(exponent ? exponent : 1) - bias - (int)fraction_bits + 1023) << 52;
    double magnitude;
    memcpy(&magnitude, &scale, sizeof magnitude);
    magnitude *= exponent ? fraction + (1U << fraction_bits) : fraction;
    return code >> (exponent_bits + fraction_bits) & 1 ? -magnitude : magnitude;
}

/* FNUZ: what would be -0 is NaN (Noune et al., 8-bit numerical formats for deep neural networks, 2022). */
static inline double element_float8_e4m3fnuz(const uint8_t *at)
{
    return *at == 0x80 ? (double)NAN : narrow_float(*at, 4, 3, 8);
}

static inline double element_float8_e5m2fnuz(const uint8_t *at)
{
    return *at == 0x80 ? (double)NAN : narrow_float(*at, 5, 2, 16);
}

/* The types of OCP's microscaling formats (version 1.0, 2023): a power of 2 without sign, and floats of 6 and 4 bits.
 */
static inline double element_float8_e8m0fnu(const uint8_t *at)
{
    const uint64_t bits = (uint64_t)(*at + 1023 - 127) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return *at == 0xff ? (double)NAN : value;
}

static inline double element_float6_e2m3fn(const uint8_t *at)
{
    return narrow_float(*at, 2, 3, 1);
}

static inline double element_float6_e3m2fn(const uint8_t *at)
{
    return narrow_float(*at, 3, 2, 3);
}

static inline double element_float4_e2m1fn(const uint8_t *at)
{
    return narrow_float(*at, 2, 1, 1);
}

static inline double element_complex64(const uint8_t *at)
{
    double re = element_float32(at), im = element_float32(at + 4);
    return sqrt(re * re + im * im);
}

static inline double element_complex128(const uint8_t *at)
{
    double re = element_float64(at), im = element_float64(at + 8);
    return sqrt(re * re + im * im);
}
