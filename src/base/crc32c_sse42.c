/* crc32c_sse42.c - CRC-32C by the crc32 instruction, three streams at a time.
 *
 * The instruction takes 8 bytes a cycle but answers after three. So three neighbouring stretches are summed side by
 * side, and joined: the register of an earlier stretch, advanced over the bytes behind it, is added to that of the
 * next. To advance over n bytes is to multiply by x^(8n). A carry-less product of two bit-reversed registers is one x
 * too high, and reducing its 64 bits by the crc32 instruction multiplies by x^32; hence the factor x^(8n - 33). After
 * Gopal et al., "Fast CRC computation for iSCSI polynomial using CRC32 instruction", Intel, 2011. */
#include "base/crc32c_ways.h"

#if defined(__SSE4_2__) && defined(__PCLMUL__) && defined(__x86_64__)
#include <nmmintrin.h>
#include <pthread.h>
#include <string.h>
#include <wmmintrin.h>

/* Joining three stretches takes two products, so stretches are long where there are many bytes. Short ones serve what
 * is left, and records of some hundred bytes. */
enum { LONG_STRETCH = 2048, SHORT_STRETCH = 128 };

typedef struct factors {
    uint32_t one, two; /* over one stretch and over two */
} factors;

static factors over_long, over_short;
static pthread_once_t factors_once = PTHREAD_ONCE_INIT;

static void fill_factors(void)
{
    over_long = (factors){assay_crc32c_power(8 * LONG_STRETCH - 33), assay_crc32c_power(16 * LONG_STRETCH - 33)};
    over_short = (factors){assay_crc32c_power(8 * SHORT_STRETCH - 33), assay_crc32c_power(16 * SHORT_STRETCH - 33)};
}

bool assay_crc32c_has_sse42(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

static uint64_t load64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The product has 64 bits; the crc32 instruction of the caller reduces it. */
static uint64_t product(uint64_t state, uint32_t factor)
{
    __m128i a = _mm_cvtsi32_si128((int)(uint32_t)state), b = _mm_cvtsi32_si128((int)factor);
    return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(a, b, 0));
}

static uint64_t three_stretches(uint64_t a, const uint8_t *at, size_t stretch, const factors *over)
{
    uint64_t b = 0, c = 0;
    for (size_t i = 0; i < stretch; i += 8) {
        a = _mm_crc32_u64(a, load64(at + i));
        b = _mm_crc32_u64(b, load64(at + stretch + i));
        c = _mm_crc32_u64(c, load64(at + 2 * stretch + i));
    }
    return c ^ _mm_crc32_u64(0, product(a, over->two) ^ product(b, over->one));
}

/* Three instructions at most, each of which waits for the one before: of a short record that is a third of the time. */
static uint32_t less_than_eight(uint32_t state, const uint8_t *at, size_t n)
{
    uint32_t four;
    uint16_t two;
    if (n & 4) {
        memcpy(&four, at, sizeof four);
        state = _mm_crc32_u32(state, four);
        at += sizeof four;
    }
    if (n & 2) {
        memcpy(&two, at, sizeof two);
        state = _mm_crc32_u16(state, two);
        at += sizeof two;
    }
    return n & 1 ? _mm_crc32_u8(state, *at) : state;
}

uint32_t assay_crc32c_by_sse42(uint32_t start, const uint8_t *at, size_t n)
{
    uint64_t state = start;
    if (n >= 3 * SHORT_STRETCH)
        pthread_once(&factors_once, fill_factors);
    for (; n >= 3 * LONG_STRETCH; n -= 3 * LONG_STRETCH, at += 3 * LONG_STRETCH)
        state = three_stretches(state, at, LONG_STRETCH, &over_long);
    for (; n >= 3 * SHORT_STRETCH; n -= 3 * SHORT_STRETCH, at += 3 * SHORT_STRETCH)
        state = three_stretches(state, at, SHORT_STRETCH, &over_short);
    for (; n >= 8; n -= 8, at += 8)
        state = _mm_crc32_u64(state, load64(at));
    return less_than_eight((uint32_t)state, at, n);
}

static uint64_t difference(const uint8_t *at, const uint8_t *like, const uint8_t *mask)
{
    return (load64(at) ^ load64(like)) & load64(mask);
}

/* Bytes are read twice where n is no multiple of eight: the last eight are compared at once, before the loop. */
bool assay_crc32c_alike_by_sse42(const uint8_t *at, size_t n, const uint8_t *like, const uint8_t *mask, uint32_t *crc)
{
    uint64_t sum = UINT32_MAX, differ = difference(at + n - 8, like + n - 8, mask + n - 8);
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        sum = _mm_crc32_u64(sum, load64(at + i));
        differ |= difference(at + i, like + i, mask + i);
    }
    *crc = ~less_than_eight((uint32_t)sum, at + i, n - i);
    return differ == 0;
}
#else
bool assay_crc32c_has_sse42(void)
{
    return false;
}

uint32_t assay_crc32c_by_sse42(uint32_t state, const uint8_t *at, size_t n)
{
    return assay_crc32c_by_table(state, at, n);
}

bool assay_crc32c_alike_by_sse42(const uint8_t *at, size_t n, const uint8_t *like, const uint8_t *mask, uint32_t *crc)
{
    (void)at;
    (void)n;
    (void)like;
    (void)mask;
    (void)crc;
    return false; /* nobody asks */
}
#endif
