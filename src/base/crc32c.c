/* crc32c.c - CRC-32C by tables, and the choice between tables and instructions.
 *
 * The tables take 8 bytes a step: TABLES[k][b] is byte b followed by k zero bytes (Kounavis and Berry, "Novel table
 * lookup-based algorithms for high-performance CRC generation", 2008). They are computed at first use. */
#include "base/crc32c.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/crc32c_ways.h"
#include "base/simd.h"

#define POLYNOMIAL 0x82f63b78U /* bit-reversed: bit 31 is x^0 */

typedef uint32_t crc32c_way(uint32_t state, const uint8_t *at, size_t n);

static uint32_t tables[8][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;
static crc32c_way *_Atomic way;
static pthread_once_t way_once = PTHREAD_ONCE_INIT;

/* Polynomials are numbers here: bit 31 is x^0, so times x is a shift to the right. */
static uint32_t times_x(uint32_t a)
{
    return a >> 1 ^ (a & 1 ? POLYNOMIAL : 0);
}

static uint32_t times(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (int bit = 31; bit >= 0; bit--, a = times_x(a))
        product ^= b >> bit & 1 ? a : 0;
    return product;
}

/* Squares and multiplies: 64 steps at most for any length, which is what joining checksums of long parts needs. */
uint32_t assay_crc32c_power(uint64_t n)
{
    uint32_t power = 0x80000000U, square = 0x40000000U; /* 1 and x */
    for (; n > 0; n >>= 1, square = times(square, square)) {
        if (n & 1)
            power = times(power, square);
    }
    return power;
}

static void fill_tables(void)
{
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t state = b;
        for (int bit = 0; bit < 8; bit++)
            state = times_x(state);
        tables[0][b] = state;
    }
    for (int k = 1; k < 8; k++) {
        for (int b = 0; b < 256; b++)
            tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 255];
    }
}

static uint32_t little_endian32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint32_t assay_crc32c_by_table(uint32_t state, const uint8_t *at, size_t n)
{
    pthread_once(&tables_once, fill_tables);
    for (; n >= 8; n -= 8, at += 8) {
        uint32_t low = state ^ little_endian32(at), high = little_endian32(at + 4);
        state = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
                tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^ tables[1][high >> 16 & 255] ^
                tables[0][high >> 24];
    }
    for (; n > 0; n--, at++)
        state = state >> 8 ^ tables[0][(state ^ *at) & 255];
    return state;
}

/* Called once. ASSAY_SIMD (base/simd.h) lets tests choose a slower way on a machine that has a faster one. */
static void choose_way(void)
{
    assay_simd level = assay_simd_level();
    crc32c_way *best = assay_crc32c_by_table;
    if (level != ASSAY_SIMD_SCALAR && assay_crc32c_has_sse42())
        best = assay_crc32c_by_sse42;
    if (level == ASSAY_SIMD_AVX512 && assay_crc32c_has_avx512())
        best = assay_crc32c_by_avx512;
    atomic_store_explicit(&way, best, memory_order_release);
}

uint32_t assay_crc32c(uint32_t crc, const void *bytes, size_t n)
{
    crc32c_way *chosen = atomic_load_explicit(&way, memory_order_acquire); /* records are short: a call counts */
    if (!chosen) {
        pthread_once(&way_once, choose_way);
        chosen = atomic_load_explicit(&way, memory_order_acquire);
    }
    return ~chosen(~crc, bytes, n);
}

/* Out of line, so that the usual way of assay_crc32c_alike() saves no registers. */
static __attribute__((noinline)) bool alike_in_two_passes(const uint8_t *bytes, size_t n, const uint8_t *like,
                                                          const uint8_t *mask, uint32_t *crc)
{
    for (size_t i = 0; i < n; i++)
        if ((bytes[i] ^ like[i]) & mask[i])
            return false;
    *crc = assay_crc32c(0, bytes, n);
    return true;
}

bool assay_crc32c_alike(const uint8_t *bytes, size_t n, const uint8_t *like, const uint8_t *mask, uint32_t *crc)
{
    /* FEW: the instructions compare eight bytes at a time, the last ones overlapping. MANY: from there on three
     * streams of the checksum alone are quicker than one that compares along. */
    enum { FEW = 8, MANY = 512 };
    crc32c_way *chosen = atomic_load_explicit(&way, memory_order_acquire);
    if (n < FEW || n >= MANY || !chosen || chosen == assay_crc32c_by_table)
        return alike_in_two_passes(bytes, n, like, mask, crc);
    return assay_crc32c_alike_by_sse42(bytes, n, like, mask, crc);
}

/* A checksum is linear in the bytes: that of `first` is advanced over `n` bytes of zeros, and the second is added. */
uint32_t assay_crc32c_join(uint32_t first, uint32_t second, uint64_t n)
{
    return times(assay_crc32c_power(8 * n), first) ^ second;
}
