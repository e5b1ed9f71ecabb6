/* stats_avx2.c - the statistics kernels for AVX2 and F16C: the 8 lanes are two registers. */
#if defined(__AVX2__)
#include <assay/tensor.h>
#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tensor/elements.h"
#include "tensor/stats_kernels.h"

#define INLINE static inline __attribute__((always_inline))

typedef struct lanes {
    __m256d a, b; /* lanes 0 to 3, 4 to 7 */
} lanes;

typedef __m256i zero_count; /* minus the counts */

#define LANEWISE(name, instruction)                                                                                    \
    INLINE lanes name(lanes x, lanes y)                                                                                \
    {                                                                                                                  \
        return (lanes){instruction(x.a, y.a), instruction(x.b, y.b)};                                                  \
    }
LANEWISE(lanes_add, _mm256_add_pd)
LANEWISE(lanes_sub, _mm256_sub_pd)
LANEWISE(lanes_mul, _mm256_mul_pd)
LANEWISE(lanes_min, _mm256_min_pd) /* x < y ? x : y, for NaN and -0.0 too */
LANEWISE(lanes_max, _mm256_max_pd)

INLINE lanes lanes_all(double x)
{
    return (lanes){_mm256_set1_pd(x), _mm256_set1_pd(x)};
}

INLINE lanes lanes_abs(lanes x)
{
    const __m256d sign = _mm256_set1_pd(-0.0);
    return (lanes){_mm256_andnot_pd(sign, x.a), _mm256_andnot_pd(sign, x.b)};
}

INLINE lanes lanes_get(const double *from)
{
    return (lanes){_mm256_loadu_pd(from), _mm256_loadu_pd(from + 4)};
}

INLINE void lanes_put(double *to, lanes x)
{
    _mm256_storeu_pd(to, x.a);
    _mm256_storeu_pd(to + 4, x.b);
}

INLINE zero_count zero_count_start(void)
{
    return _mm256_setzero_si256();
}

INLINE zero_count zero_count_add(zero_count zeros, lanes x)
{
    const __m256d zero = _mm256_setzero_pd();
    __m256i a = _mm256_castpd_si256(_mm256_cmp_pd(x.a, zero, _CMP_EQ_OQ));
    __m256i b = _mm256_castpd_si256(_mm256_cmp_pd(x.b, zero, _CMP_EQ_OQ));
    return _mm256_add_epi64(zeros, _mm256_add_epi64(a, b));
}

INLINE uint64_t zero_count_end(zero_count zeros)
{
    uint64_t n[4];
    _mm256_storeu_si256((void *)n, zeros);
    return 0 - (n[0] + n[1] + n[2] + n[3]);
}

INLINE __m128i bytes8(const uint8_t *at)
{
    return _mm_loadl_epi64((const void *)at);
}

INLINE __m128i bytes16(const uint8_t *at)
{
    return _mm_loadu_si128((const void *)at);
}

INLINE lanes from_float32(__m256 x)
{
    return (lanes){_mm256_cvtps_pd(_mm256_castps256_ps128(x)), _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
}

INLINE lanes from_int32(__m256i x)
{
    return (lanes){_mm256_cvtepi32_pd(_mm256_castsi256_si128(x)), _mm256_cvtepi32_pd(_mm256_extracti128_si256(x, 1))};
}

INLINE lanes load_float32(const uint8_t *at)
{
    return (lanes){_mm256_cvtps_pd(_mm_castsi128_ps(bytes16(at))), _mm256_cvtps_pd(_mm_castsi128_ps(bytes16(at + 16)))};
}

INLINE lanes load_float64(const uint8_t *at)
{
    return (lanes){_mm256_loadu_pd((const void *)at), _mm256_loadu_pd((const void *)(at + 32))};
}

INLINE lanes load_int32(const uint8_t *at)
{
    return (lanes){_mm256_cvtepi32_pd(bytes16(at)), _mm256_cvtepi32_pd(bytes16(at + 16))};
}

INLINE lanes load_int16(const uint8_t *at)
{
    return from_int32(_mm256_cvtepi16_epi32(bytes16(at)));
}

INLINE lanes load_uint16(const uint8_t *at)
{
    return from_int32(_mm256_cvtepu16_epi32(bytes16(at)));
}

INLINE lanes load_int8(const uint8_t *at)
{
    return from_int32(_mm256_cvtepi8_epi32(bytes8(at)));
}

INLINE lanes load_uint8(const uint8_t *at)
{
    return from_int32(_mm256_cvtepu8_epi32(bytes8(at)));
}

INLINE lanes load_bool(const uint8_t *at)
{
    return from_int32(_mm256_cvtepu8_epi32(_mm_min_epu8(bytes8(at), _mm_set1_epi8(1))));
}

/* An unsigned number below 2^32 in the fraction of 2^52, less 2^52, is that number. */
INLINE __m256d from_low32(__m256i x)
{
    const __m256d base = _mm256_set1_pd(0x1p52);
    return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(x, _mm256_castpd_si256(base))), base);
}

INLINE lanes load_uint32(const uint8_t *at)
{
    return (lanes){from_low32(_mm256_cvtepu32_epi64(bytes16(at))), from_low32(_mm256_cvtepu32_epi64(bytes16(at + 16)))};
}

/* The upper half times 2^32 is exact, the lower half too; their sum rounds once, as a conversion does. */
INLINE __m256d from_uint64(__m256i x)
{
    __m256d upper = from_low32(_mm256_srli_epi64(x, 32));
    __m256d lower = from_low32(_mm256_and_si256(x, _mm256_set1_epi64x(0xffffffff)));
    return _mm256_add_pd(_mm256_mul_pd(upper, _mm256_set1_pd(0x1p32)), lower);
}

/* As above; the upper half is brought from [-2^31, 2^31) to [0, 2^32) and back. */
INLINE __m256d from_int64(__m256i x)
{
    __m256i moved = _mm256_srli_epi64(_mm256_xor_si256(x, _mm256_set1_epi64x(INT64_MIN)), 32);
    __m256d upper = _mm256_sub_pd(from_low32(moved), _mm256_set1_pd(0x1p31));
    __m256d lower = from_low32(_mm256_and_si256(x, _mm256_set1_epi64x(0xffffffff)));
    return _mm256_add_pd(_mm256_mul_pd(upper, _mm256_set1_pd(0x1p32)), lower);
}

INLINE lanes load_uint64(const uint8_t *at)
{
    return (lanes){from_uint64(_mm256_loadu_si256((const void *)at)),
                   from_uint64(_mm256_loadu_si256((const void *)(at + 32)))};
}

INLINE lanes load_int64(const uint8_t *at)
{
    return (lanes){from_int64(_mm256_loadu_si256((const void *)at)),
                   from_int64(_mm256_loadu_si256((const void *)(at + 32)))};
}

INLINE lanes load_bfloat16(const uint8_t *at)
{
    return from_float32(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bytes16(at)), 16)));
}

INLINE lanes load_float16(const uint8_t *at)
{
    return from_float32(_mm256_cvtph_ps(bytes16(at)));
}

INLINE lanes load_float8_e5m2(const uint8_t *at)
{
    return from_float32(_mm256_cvtph_ps(_mm_slli_epi16(_mm_cvtepu8_epi16(bytes8(at)), 8)));
}

INLINE lanes load_float8_e4m3fn(const uint8_t *at)
{
    __m128i code = _mm_cvtepu8_epi16(bytes8(at)), rest = _mm_and_si128(code, _mm_set1_epi16(0x7f));
    __m128i sign = _mm_slli_epi16(_mm_xor_si128(code, rest), 8);
    __m128i bits = _mm_or_si128(sign, _mm_slli_epi16(rest, 7));
    /* all ones is a NaN of binary16 */
    bits = _mm_or_si128(bits, _mm_cmpeq_epi16(rest, _mm_set1_epi16(0x7f)));
    return lanes_mul(from_float32(_mm256_cvtph_ps(bits)), lanes_all(256));
}

#include "tensor/stats_narrow.inc"

/* A power of 2: the code is the exponent; all ones are NaN. */
INLINE __m256d powers_of_two(__m256i code)
{
    __m256i bits = _mm256_slli_epi64(_mm256_add_epi64(code, _mm256_set1_epi64x(1023 - 127)), 52);
    return _mm256_castsi256_pd(_mm256_or_si256(bits, _mm256_cmpeq_epi64(code, _mm256_set1_epi64x(0xff))));
}

INLINE lanes load_float8_e8m0fnu(const uint8_t *at)
{
    __m128i code = bytes8(at);
    return (lanes){powers_of_two(_mm256_cvtepu8_epi64(code)),
                   powers_of_two(_mm256_cvtepu8_epi64(_mm_srli_si128(code, 4)))};
}

/* sqrt(re^2 + im^2) of two registers that hold 4 complex numbers in order. */
INLINE __m256d magnitude(__m256d x, __m256d y)
{
    __m256d sums = _mm256_hadd_pd(_mm256_mul_pd(x, x), _mm256_mul_pd(y, y)); /* of numbers 0, 2, 1, 3 */
    return _mm256_sqrt_pd(_mm256_permute4x64_pd(sums, 0xd8));
}

INLINE lanes load_complex64(const uint8_t *at)
{
    lanes x = load_float32(at), y = load_float32(at + 32);
    return (lanes){magnitude(x.a, x.b), magnitude(y.a, y.b)};
}

INLINE lanes load_complex128(const uint8_t *at)
{
    lanes x = load_float64(at), y = load_float64(at + 64);
    return (lanes){magnitude(x.a, x.b), magnitude(y.a, y.b)};
}

/* Least, largest and zeros of float32, 16 at a time; a block has fewer than 32 bits count. */
typedef struct extremes {
    __m256 low, high;
    __m256i zeros; /* minus the counts */
} extremes;

INLINE extremes extremes_start(void)
{
    return (extremes){_mm256_set1_ps(INFINITY), _mm256_set1_ps(-INFINITY), _mm256_setzero_si256()};
}

INLINE extremes extremes_add(extremes e, const uint8_t *at)
{
    for (size_t half = 0; half < 2; half++) {
        __m256 x = _mm256_loadu_ps((const float *)(const void *)at + half * 8);
        e.low = _mm256_min_ps(x, e.low);
        e.high = _mm256_max_ps(x, e.high);
        e.zeros = _mm256_add_epi32(e.zeros, _mm256_castps_si256(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_EQ_OQ)));
    }
    return e;
}

INLINE lanes extremes_low(extremes e)
{
    return from_float32(e.low);
}

INLINE lanes extremes_high(extremes e)
{
    return from_float32(e.high);
}

INLINE uint64_t extremes_zeros(extremes e)
{
    int32_t n[8], all = 0;
    _mm256_storeu_si256((void *)n, e.zeros);
    for (int j = 0; j < 8; j++)
        all -= n[j];
    return (uint64_t)all;
}

/* 16-bit floats, 16 at a time. */
typedef __m256i halves;

enum { HALVES = 16 };

#define halves_all(x)      _mm256_set1_epi16(x)
#define halves_get(at)     _mm256_loadu_si256((const void *)(at))
#define halves_min(a, b)   _mm256_min_epi16(a, b)
#define halves_max(a, b)   _mm256_max_epi16(a, b)
#define halves_first(a, b) _mm256_min_epu16(a, b)
#define halves_last(a, b)  _mm256_max_epu16(a, b)

/* x, and `other` where x without its sign is above `most`. */
INLINE halves halves_but_beyond(halves x, int16_t most, int16_t other)
{
    const halves size = _mm256_and_si256(x, halves_all(INT16_MAX));
    return _mm256_blendv_epi8(x, halves_all(other), _mm256_cmpgt_epi16(size, halves_all(most)));
}

INLINE halves halves_count_zeros(halves count, halves x)
{
    const halves size = _mm256_and_si256(x, halves_all(INT16_MAX));
    return _mm256_sub_epi16(count, _mm256_cmpeq_epi16(size, halves_all(0)));
}

#define LOAD_SOME(name)                                                                                                \
    INLINE void load_some_##name(const uint8_t *at, lanes x[2])                                                        \
    {                                                                                                                  \
        x[0] = load_##name(at);                                                                                        \
        x[1] = load_##name(at + 16);                                                                                   \
    }
LOAD_SOME(bfloat16)
LOAD_SOME(float16)

/* Bytes, 32 at a time. */
typedef __m256i octets;

enum { OCTETS = 32 };

#define octets_all(x)            _mm256_set1_epi8(x)
#define octets_get(at)           _mm256_loadu_si256((const void *)(at))
#define octets_flip(a, b)        _mm256_xor_si256(a, b)
#define octets_abs(a)            _mm256_abs_epi8(a)
#define octets_min(a, b)         _mm256_min_epu8(a, b)
#define octets_max(a, b)         _mm256_max_epu8(a, b)
#define octets_sum8(a)           _mm256_sad_epu8(a, _mm256_setzero_si256())
#define octets_add64(a, b)       _mm256_add_epi64(a, b)
#define octets_add32(a, b)       _mm256_add_epi32(a, b)
#define octets_square(a)         _mm256_madd_epi16(a, a)
#define octets_squares_low(a)    octets_square(_mm256_unpacklo_epi8(a, _mm256_setzero_si256()))
#define octets_squares_high(a)   octets_square(_mm256_unpackhi_epi8(a, _mm256_setzero_si256()))
#define octets_count_zeros(n, a) _mm256_sub_epi8(n, _mm256_cmpeq_epi8(a, _mm256_setzero_si256()))

#define STATS_FLOATS
#define STATS_TABLE assay_stats_avx2
#include "tensor/stats_kernel.inc"
#else
typedef int assay_stats_avx2_is_for_other_machines;
#endif
