/* measure_kernels.c - measure_kernel.inc for every instruction set.
 *
 * The vector types are the compiler's (GCC's vector extension), so one body serves all widths and vectorisation does
 * not depend on the optimisation level. */
#include "tensor/measure_kernels.h"

#include <math.h>

#include "tensor/elements.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include "tensor/bfloat16_avx512.h"
#define LARGER(x, y) _mm_max_pd(x, y)
#else
#define LARGER(x, y) (DOUBLES)(((LONGS)(x) & ((x) > (y))) | ((LONGS)(y) & ~((x) > (y))))
#endif
#define WIDEN(from, to)    (to = __builtin_convertvector(from, DOUBLES))
#define WIDEN_HALF(at, to) (to = (DOUBLES){element_float16(at), element_float16((at) + 2)})
#define SQRT(x)                                                                                                        \
    (HALF)                                                                                                             \
    {                                                                                                                  \
        sqrtf((x)[0]), sqrtf((x)[1])                                                                                   \
    }
#define WIDTH       16
#define NAMED(name) name##_scalar
#define TARGET
#include "tensor/measure_kernel.inc"

#if defined(__x86_64__)
#define LARGER(x, y)       _mm256_max_pd(x, y)
#define WIDEN(from, to)    (to = (DOUBLES)_mm256_cvtps_pd((__m128)(from)))
#define WIDEN_HALF(at, to) (to = (DOUBLES)_mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64((const void *)(at)))))
#define SQRT(x)            ((HALF)_mm_sqrt_ps((__m128)(x)))
#define WIDTH              32
#define NAMED(name)        name##_avx2
#define TARGET             __attribute__((target("avx2,f16c")))
#include "tensor/measure_kernel.inc"

#define LARGER(x, y)       _mm512_max_pd(x, y)
#define WIDEN(from, to)    (to = (DOUBLES)_mm512_cvtps_pd((__m256)(from)))
#define WIDEN_HALF(at, to) (to = (DOUBLES)_mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128((const void *)(at)))))
#define SQRT(x)            ((HALF)_mm256_sqrt_ps((__m256)(x)))
#define WIDTH              64
#define NAMED(name)        name##_avx512
#define TARGET             __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,f16c")))
#include "tensor/measure_kernel.inc"
#endif

const measure_kernels *assay_measure_kernels_of(assay_simd level)
{
#if defined(__x86_64__)
    if (level == ASSAY_SIMD_AVX512)
        return &kernels_avx512;
    if (level == ASSAY_SIMD_AVX2)
        return &kernels_avx2;
#endif
    return &kernels_scalar;
}
