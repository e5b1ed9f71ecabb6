/* stats_avx512.c - the statistics kernels for AVX-512 F, DQ, BW and VL: the 8 lanes are one register. */
#if defined(__AVX512F__)
#include <assay/tensor.h>
#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tensor/bfloat16_avx512.h"
#include "tensor/elements.h"
#include "tensor/stats_kernels.h"

#define INLINE static inline __attribute__((always_inline))

typedef __m512d lanes;
typedef uint64_t zero_count;

#define lanes_add(a, b)        _mm512_add_pd(a, b)
#define lanes_add_square(a, b) _mm512_fmadd_pd(b, b, a) /* rounded once: for squares that are exact */
#define lanes_sub(a, b)        _mm512_sub_pd(a, b)
#define lanes_mul(a, b)        _mm512_mul_pd(a, b)
#define lanes_min(a, b)        _mm512_min_pd(a, b) /* a < b ? a : b, for NaN and -0.0 too */
#define lanes_max(a, b)        _mm512_max_pd(a, b)
#define lanes_abs(a)           _mm512_abs_pd(a)
#define lanes_all(x)           _mm512_set1_pd(x)
#define lanes_get(from)        _mm512_loadu_pd(from)
#define lanes_put(to, a)       _mm512_storeu_pd(to, a)
#define zero_count_start()     ((zero_count)0)
#define zero_count_end(zeros)  (zeros)

INLINE zero_count zero_count_add(zero_count zeros, lanes a)
{
    return zeros + (unsigned)__builtin_popcount(_mm512_cmp_pd_mask(a, _mm512_setzero_pd(), _CMP_EQ_OQ));
}

INLINE __m128i bytes8(const uint8_t *at)
{
    return _mm_loadl_epi64((const void *)at);
}

INLINE __m128i bytes16(const uint8_t *at)
{
    return _mm_loadu_si128((const void *)at);
}

INLINE __m256i bytes32(const uint8_t *at)
{
    return _mm256_loadu_si256((const void *)at);
}

INLINE __m512i bytes64(const uint8_t *at)
{
    return _mm512_loadu_si512((const void *)at);
}

INLINE lanes from_binary16(__m128i x)
{
    return _mm512_cvtps_pd(_mm256_cvtph_ps(x));
}

INLINE lanes from_float32(__m256 x)
{
    return _mm512_cvtps_pd(x);
}

INLINE lanes load_float32(const uint8_t *at)
{
    return from_float32(_mm256_castsi256_ps(bytes32(at)));
}

INLINE lanes load_float64(const uint8_t *at)
{
    return _mm512_loadu_pd((const void *)at);
}

INLINE lanes load_int32(const uint8_t *at)
{
    return _mm512_cvtepi32_pd(bytes32(at));
}

INLINE lanes load_uint32(const uint8_t *at)
{
    return _mm512_cvtepu32_pd(bytes32(at));
}

INLINE lanes load_int64(const uint8_t *at)
{
    return _mm512_cvtepi64_pd(bytes64(at));
}

INLINE lanes load_uint64(const uint8_t *at)
{
    return _mm512_cvtepu64_pd(bytes64(at));
}

INLINE lanes load_int16(const uint8_t *at)
{
    return _mm512_cvtepi32_pd(_mm256_cvtepi16_epi32(bytes16(at)));
}

INLINE lanes load_uint16(const uint8_t *at)
{
    return _mm512_cvtepi32_pd(_mm256_cvtepu16_epi32(bytes16(at)));
}

INLINE lanes load_int8(const uint8_t *at)
{
    return _mm512_cvtepi32_pd(_mm256_cvtepi8_epi32(bytes8(at)));
}

INLINE lanes load_uint8(const uint8_t *at)
{
    return _mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(bytes8(at)));
}

INLINE lanes load_bool(const uint8_t *at)
{
    return _mm512_cvtepi32_pd(_mm256_cvtepu8_epi32(_mm_min_epu8(bytes8(at), _mm_set1_epi8(1))));
}

INLINE lanes load_bfloat16(const uint8_t *at)
{
    return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bytes16(at)), 16)));
}

INLINE lanes load_float16(const uint8_t *at)
{
    return from_binary16(bytes16(at));
}

INLINE lanes load_float8_e5m2(const uint8_t *at)
{
    return from_binary16(_mm_slli_epi16(_mm_cvtepu8_epi16(bytes8(at)), 8));
}

INLINE lanes load_float8_e4m3fn(const uint8_t *at)
{
    __m128i code = _mm_cvtepu8_epi16(bytes8(at)), rest = _mm_and_si128(code, _mm_set1_epi16(0x7f));
    __m128i sign = _mm_slli_epi16(_mm_xor_si128(code, rest), 8);
    __m128i bits = _mm_or_si128(sign, _mm_slli_epi16(rest, 7));
    /* all ones is a NaN of binary16 */
    bits = _mm_or_si128(bits, _mm_cmpeq_epi16(rest, _mm_set1_epi16(0x7f)));
    return _mm512_mul_pd(from_binary16(bits), _mm512_set1_pd(256));
}

#include "tensor/stats_narrow.inc"

/* A power of 2: the code is the exponent; all ones are NaN. */
INLINE lanes load_float8_e8m0fnu(const uint8_t *at)
{
    __m512i code = _mm512_cvtepu8_epi64(bytes8(at));
    __m512i bits = _mm512_slli_epi64(_mm512_add_epi64(code, _mm512_set1_epi64(1023 - 127)), 52);
    __mmask8 none = _mm512_cmpeq_epi64_mask(code, _mm512_set1_epi64(0xff));
    return _mm512_castsi512_pd(_mm512_mask_set1_epi64(bits, none, -1));
}

/* sqrt(re^2 + im^2) of two registers that hold 8 complex numbers in order. */
INLINE lanes magnitude(lanes a, lanes b)
{
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14),
                  odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    a = _mm512_mul_pd(a, a);
    b = _mm512_mul_pd(b, b);
    return _mm512_sqrt_pd(_mm512_add_pd(_mm512_permutex2var_pd(a, even, b), _mm512_permutex2var_pd(a, odd, b)));
}

INLINE lanes load_complex64(const uint8_t *at)
{
    return magnitude(load_float32(at), load_float32(at + 32));
}

INLINE lanes load_complex128(const uint8_t *at)
{
    return magnitude(load_float64(at), load_float64(at + 64));
}

/* Least, largest and zeros of float32, 16 at a time; a block has fewer than 32 bits count. */
typedef struct extremes {
    __m512 low, high;
    __m512i zeros;
} extremes;

INLINE extremes extremes_start(void)
{
    return (extremes){_mm512_set1_ps(INFINITY), _mm512_set1_ps(-INFINITY), _mm512_setzero_si512()};
}

INLINE extremes extremes_add(extremes e, const uint8_t *at)
{
    __m512 x = _mm512_loadu_ps(at);
    __mmask16 zero = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_EQ_OQ);
    return (extremes){_mm512_min_ps(x, e.low), _mm512_max_ps(x, e.high),
                      _mm512_mask_add_epi32(e.zeros, zero, e.zeros, _mm512_set1_epi32(1))};
}

INLINE lanes extremes_low(extremes e)
{
    return from_float32(_mm256_min_ps(_mm512_castps512_ps256(e.low), _mm512_extractf32x8_ps(e.low, 1)));
}

INLINE lanes extremes_high(extremes e)
{
    return from_float32(_mm256_max_ps(_mm512_castps512_ps256(e.high), _mm512_extractf32x8_ps(e.high, 1)));
}

INLINE uint64_t extremes_zeros(extremes e)
{
    return (uint64_t)_mm512_reduce_add_epi32(e.zeros);
}

/* 16-bit floats, 32 at a time. */
typedef __m512i halves;

enum { HALVES = 32 };

#define halves_all(x)      _mm512_set1_epi16(x)
#define halves_get(at)     bytes64(at)
#define halves_min(a, b)   _mm512_min_epi16(a, b)
#define halves_max(a, b)   _mm512_max_epi16(a, b)
#define halves_first(a, b) _mm512_min_epu16(a, b)
#define halves_last(a, b)  _mm512_max_epu16(a, b)

/* x, and `other` where x without its sign is above `most`. */
INLINE halves halves_but_beyond(halves x, int16_t most, int16_t other)
{
    const halves size = _mm512_and_si512(x, halves_all(INT16_MAX));
    return _mm512_mask_mov_epi16(x, _mm512_cmpgt_epi16_mask(size, halves_all(most)), halves_all(other));
}

INLINE halves halves_count_zeros(halves count, halves x)
{
    return _mm512_mask_add_epi16(count, _mm512_testn_epi16_mask(x, halves_all(INT16_MAX)), count, halves_all(1));
}

INLINE void load_some_bfloat16(const uint8_t *at, lanes x[4])
{
    assay_widen_bfloat16_avx512(at, x);
}

INLINE void load_some_float16(const uint8_t *at, lanes x[4])
{
    for (int i = 0; i < 4; i++)
        x[i] = load_float16(at + 16 * i);
}

/* Bytes, 64 at a time. */
typedef __m512i octets;

enum { OCTETS = 64 };

#define octets_all(x)            _mm512_set1_epi8(x)
#define octets_get(at)           bytes64(at)
#define octets_flip(a, b)        _mm512_xor_si512(a, b)
#define octets_abs(a)            _mm512_abs_epi8(a)
#define octets_min(a, b)         _mm512_min_epu8(a, b)
#define octets_max(a, b)         _mm512_max_epu8(a, b)
#define octets_sum8(a)           _mm512_sad_epu8(a, _mm512_setzero_si512())
#define octets_add64(a, b)       _mm512_add_epi64(a, b)
#define octets_add32(a, b)       _mm512_add_epi32(a, b)
#define octets_square(a)         _mm512_madd_epi16(a, a)
#define octets_squares_low(a)    octets_square(_mm512_unpacklo_epi8(a, _mm512_setzero_si512()))
#define octets_squares_high(a)   octets_square(_mm512_unpackhi_epi8(a, _mm512_setzero_si512()))
#define octets_count_zeros(n, a) _mm512_mask_add_epi8(n, _mm512_testn_epi8_mask(a, a), n, _mm512_set1_epi8(1))

#define STATS_FLOATS
#define STATS_TWO_BLOCKS
#define STATS_TABLE assay_stats_avx512
#include "tensor/stats_kernel.inc"
#else
typedef int assay_stats_avx512_is_for_other_machines;
#endif
