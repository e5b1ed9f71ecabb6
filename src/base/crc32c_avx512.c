/* crc32c_avx512.c - CRC-32C by carry-less products of 64 bytes at a time.
 *
 * Four registers of 64 bytes hold what was read, congruent to it modulo the polynomial; to go on by 256 bytes, each 16
 * of them are advanced by as much (crc32c_sse42.c says how, and why the factor is one of x^(bits - 33)): their earlier
 * half by 64 bits more than their later one. In the end the registers, and then the quarters of the one left, are added
 * alike, and the crc32 instruction brings the last 16 bytes to the 32 bits. After Gopal et al., "Fast CRC computation
 * for generic polynomials using PCLMULQDQ instruction", Intel, 2009. */
#include "base/crc32c_ways.h"

#if defined(__VPCLMULQDQ__) && defined(__AVX512F__)
#include <immintrin.h>
#include <pthread.h>

/* Four registers side by side: the next one is advanced while the product of the one before is still on its way. */
enum { REGISTER = 64, STRETCH = 4 * REGISTER };

/* Factors that advance 16 bytes by so many registers, or quarters of one. */
static uint64_t by_registers[5][2], by_quarters[4][2];
static pthread_once_t factors_once = PTHREAD_ONCE_INIT;

static void set_factors(uint64_t factors[2], uint64_t bytes)
{
    factors[0] = assay_crc32c_power(8 * bytes + 64 - 33);
    factors[1] = assay_crc32c_power(8 * bytes - 33);
}

static void fill_factors(void)
{
    for (unsigned k = 1; k <= 4; k++)
        set_factors(by_registers[k], k * REGISTER);
    for (unsigned k = 1; k <= 3; k++)
        set_factors(by_quarters[k], k * REGISTER / 4);
}

bool assay_crc32c_has_avx512(void)
{
    __builtin_cpu_init();
    return assay_crc32c_has_sse42() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
}

static inline __attribute__((always_inline)) __m512i factors_of(const uint64_t factors[2])
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)factors));
}

/* `to` plus `from` advanced. */
static inline __attribute__((always_inline)) __m512i add_advanced(__m512i to, __m512i from, __m512i factors)
{
    __m512i earlier = _mm512_clmulepi64_epi128(from, factors, 0x00),
            later = _mm512_clmulepi64_epi128(from, factors, 0x11);
    return _mm512_ternarylogic_epi64(to, earlier, later, 0x96);
}

static uint32_t last_register(__m512i all)
{
    uint64_t quarter[4][2], low = 0, high = 0;
    _mm512_storeu_si512(quarter, all);
    for (int k = 0; k < 4; k++) {
        __m128i q = _mm_loadu_si128((const void *)quarter[k]);
        if (k < 3) {
            __m128i factors = _mm_loadu_si128((const void *)by_quarters[3 - k]);
            q = _mm_xor_si128(_mm_clmulepi64_si128(q, factors, 0x00), _mm_clmulepi64_si128(q, factors, 0x11));
        }
        low ^= (uint64_t)_mm_cvtsi128_si64(q);
        high ^= (uint64_t)_mm_extract_epi64(q, 1);
    }
    return (uint32_t)_mm_crc32_u64(_mm_crc32_u64(0, low), high);
}

uint32_t assay_crc32c_by_avx512(uint32_t state, const uint8_t *at, size_t n)
{
    /* Below two stretches the joining at the end takes longer than the products save. */
    if (n < 2 * STRETCH)
        return assay_crc32c_by_sse42(state, at, n);
    pthread_once(&factors_once, fill_factors);
    __m512i a = _mm512_loadu_si512(at), b = _mm512_loadu_si512(at + REGISTER);
    __m512i c = _mm512_loadu_si512(at + 2 * REGISTER), d = _mm512_loadu_si512(at + 3 * REGISTER);
    /* The register so far is added to the first four bytes, as if it had been read before them. */
    a = _mm512_xor_si512(a, _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
    const __m512i over_stretch = factors_of(by_registers[4]);
    for (at += STRETCH, n -= STRETCH; n >= STRETCH; at += STRETCH, n -= STRETCH) {
        a = add_advanced(_mm512_loadu_si512(at), a, over_stretch);
        b = add_advanced(_mm512_loadu_si512(at + REGISTER), b, over_stretch);
        c = add_advanced(_mm512_loadu_si512(at + 2 * REGISTER), c, over_stretch);
        d = add_advanced(_mm512_loadu_si512(at + 3 * REGISTER), d, over_stretch);
    }
    d = add_advanced(d, a, factors_of(by_registers[3]));
    d = add_advanced(d, b, factors_of(by_registers[2]));
    d = add_advanced(d, c, factors_of(by_registers[1]));
    return assay_crc32c_by_sse42(last_register(d), at, n);
}
#else
bool assay_crc32c_has_avx512(void)
{
    return false;
}

uint32_t assay_crc32c_by_avx512(uint32_t state, const uint8_t *at, size_t n)
{
    return assay_crc32c_by_table(state, at, n);
}
#endif
