/* bfloat16_avx512.h - widens 32 elements of bfloat16 at once, by AVX-512. Inside tensor only. */
#pragma once

#include <immintrin.h>
#include <stdint.h>

/* Four groups of 8. Elements k and k + 16 come to lie beside one another: each is then the upper half of a float32, or
 * becomes it. */
__attribute__((always_inline, target("avx512f,avx512dq,avx512bw,avx512vl"))) static inline void
assay_widen_bfloat16_avx512(const uint8_t *at, __m512d x[4])
{
    static const uint16_t pairs[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                       8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i both = _mm512_permutexvar_epi16(_mm512_loadu_si512(pairs), _mm512_loadu_si512(at));
    const __m512 lower = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
    const __m512 upper = _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32((int)0xffff0000)));
    x[0] = _mm512_cvtps_pd(_mm512_castps512_ps256(lower));
    x[1] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(lower, 1));
    x[2] = _mm512_cvtps_pd(_mm512_castps512_ps256(upper));
    x[3] = _mm512_cvtps_pd(_mm512_extractf32x8_ps(upper, 1));
}
