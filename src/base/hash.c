/* hash.c - SHA-256 by FIPS 180-4 (the names of functions and letters are the standard's), and a hash for tables. */
#include "base/hash.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "base/simd.h"

/* Section 4.2.2: fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void expand(const uint8_t block[64], uint32_t w[64])
{
    for (int t = 0; t < 16; t++) {
        const uint8_t *b = block + 4 * t;
        w[t] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    }
    for (int t = 16; t < 64; t++) {
        uint32_t sigma0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
        uint32_t sigma1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + sigma0 + w[t - 7] + sigma1;
    }
}

/* Scalar way, for machines without the instructions and with ASSAY_SIMD=scalar; the digest is the same. */
static void compress(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64], v[8];
    expand(block, w);
    memcpy(v, state, sizeof v);
    for (int t = 0; t < 64; t++) {
        uint32_t a = v[0], b = v[1], c = v[2], e = v[4], f = v[5], g = v[6];
        uint32_t sum1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25), choose = (e & f) ^ (~e & g);
        uint32_t sum0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22), majority = (a & b) ^ (a & c) ^ (b & c);
        uint32_t t1 = v[7] + sum1 + choose + K[t] + w[t];
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + sum0 + majority;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

#if defined(__x86_64__)
/* Has the processor the instructions for SHA, and is it to use them? */
static bool has_instructions(void)
{
    enum { SHA = 1 << 29 }; /* of EBX, leaf 7 */
    unsigned a, b, c, d;
    return assay_simd_level() != ASSAY_SIMD_SCALAR && __builtin_cpu_supports("sse4.1") &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & SHA);
}

/* What goes with one computation; `abef` and `cdgh` are the state as the instructions want it. */
typedef struct lane {
    __m128i abef, cdgh, w[4];
} lane;

/* The instructions keep the eight words of the state in this odd order; load() and store() shuffle them once a call. */
__attribute__((target("sha,sse4.1"), always_inline)) static inline lane load(const uint32_t state[8])
{
    const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)state), 0xb1);
    const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(const void *)(state + 4)), 0x1b);
    return (lane){.abef = _mm_alignr_epi8(cdab, efgh, 8), .cdgh = _mm_blend_epi16(efgh, cdab, 0xf0)};
}

__attribute__((target("sha,sse4.1"), always_inline)) static inline void store(const lane *l, uint32_t state[8])
{
    const __m128i feba = _mm_shuffle_epi32(l->abef, 0x1b), dchg = _mm_shuffle_epi32(l->cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

/* Four rounds, and four words of the schedule. */
__attribute__((target("sha,sse4.1"), always_inline)) static inline void four_rounds(lane *l, const uint32_t *k, int i)
{
    const __m128i x = _mm_add_epi32(l->w[i & 3], _mm_loadu_si128((const __m128i *)(const void *)k));
    l->cdgh = _mm_sha256rnds2_epu32(l->cdgh, l->abef, x);
    l->abef = _mm_sha256rnds2_epu32(l->abef, l->cdgh, _mm_shuffle_epi32(x, 0x0e));
    const __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(l->w[i & 3], l->w[(i + 1) & 3]),
                                       _mm_alignr_epi8(l->w[(i + 3) & 3], l->w[(i + 2) & 3], 4));
    l->w[i & 3] = _mm_sha256msg2_epu32(next, l->w[(i + 3) & 3]);
}

/* Many blocks of each of `lanes` computations: two rounds an instruction, of which each waits for the one before. What
 * belongs to another computation goes on meanwhile. */
__attribute__((target("sha,sse4.1"), always_inline)) static inline void
compress_lanes(assay_sha256 *const h[], const uint8_t *const bytes[], const int lanes, size_t blocks)
{
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203); /* of bytes in a word */
    lane l[ASSAY_SHA256_TOGETHER];
    for (int k = 0; k < lanes; k++)
        l[k] = load(h[k]->state);
    for (size_t b = 0; b < blocks; b++) {
        lane before[ASSAY_SHA256_TOGETHER];
        for (int k = 0; k < lanes; k++) {
            before[k] = l[k];
            for (int i = 0; i < 4; i++)
                l[k].w[i] = _mm_shuffle_epi8(
                    _mm_loadu_si128((const __m128i *)(const void *)(bytes[k] + 64 * b + 16 * i)), order);
        }
        for (int i = 0; i < 16; i += 4) { /* written out, for the words are in registers only by constant numbers */
            for (int k = 0; k < lanes; k++)
                four_rounds(&l[k], K + 4 * i, 0);
            for (int k = 0; k < lanes; k++)
                four_rounds(&l[k], K + 4 * i + 4, 1);
            for (int k = 0; k < lanes; k++)
                four_rounds(&l[k], K + 4 * i + 8, 2);
            for (int k = 0; k < lanes; k++)
                four_rounds(&l[k], K + 4 * i + 12, 3);
        }
        for (int k = 0; k < lanes; k++) {
            l[k].abef = _mm_add_epi32(l[k].abef, before[k].abef);
            l[k].cdgh = _mm_add_epi32(l[k].cdgh, before[k].cdgh);
        }
    }
    for (int k = 0; k < lanes; k++)
        store(&l[k], h[k]->state);
}

__attribute__((target("sha,sse4.1"))) static void compress_fast(assay_sha256 *const h[], const uint8_t *const bytes[],
                                                                size_t count, size_t blocks)
{
    /* Callers give one computation or ASSAY_SHA256_TOGETHER of them: `lanes` must be a constant for the loops to be
     * unrolled. */
    if (count == 1)
        compress_lanes(h, bytes, 1, blocks);
    else
        compress_lanes(h, bytes, ASSAY_SHA256_TOGETHER, blocks);
}
#endif

static void compress_all(assay_sha256 *const h[], const uint8_t *const bytes[], size_t count, size_t blocks)
{
#if defined(__x86_64__)
    /* Threads may ask at once: all find the same answer, so which of them stores it is no matter. */
    static _Atomic int known; /* 0: not asked yet; 1: without instructions; 2: with */
    if (known == 0)
        known = has_instructions() ? 2 : 1;
    if (known == 2) {
        compress_fast(h, bytes, count, blocks);
        return;
    }
#endif
    for (size_t k = 0; k < count; k++)
        for (size_t b = 0; b < blocks; b++)
            compress(h[k]->state, bytes[k] + 64 * b);
}

void assay_sha256_init(assay_sha256 *h)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(h, 0, sizeof *h);
    memcpy(h->state, start, sizeof start);
}

void assay_sha256_add(assay_sha256 *h, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    while (size > 0) {
        const size_t used = h->bytes % 64, left = 64 - used;
        /* Whole blocks go straight from the caller's memory; only ends and beginnings of blocks are copied into
         * h->block. */
        const size_t take = used == 0 && size >= 64 ? size / 64 * 64 : left < size ? left : size;
        if (take >= 64 && used == 0) {
            compress_all(&h, &at, 1, take / 64);
        } else {
            memcpy(h->block + used, at, take);
            const uint8_t *block = h->block;
            if (used + take == 64)
                compress_all(&h, &block, 1, 1);
        }
        h->bytes += take;
        at += take;
        size -= take;
    }
}

void assay_sha256_add_together(assay_sha256 *const h[], const uint8_t *const bytes[], size_t count, size_t size)
{
    /* Callers are on a block's border and give whole blocks (hash.h); that is why h->block is not looked at. */
    if (count > 0)
        compress_all(h, bytes, count, size / 64);
    for (size_t k = 0; k < count; k++)
        h[k]->bytes += size;
}

void assay_sha256_bytes(assay_sha256 *h, uint8_t out[32])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = h->bytes * 8;
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(bits >> (56 - 8 * i));
    size_t used = h->bytes % 64;
    /* The length takes the last 8 bytes of a block, so the padding ends at byte 56 of this one or of the next. */
    assay_sha256_add(h, padding, used < 56 ? 56 - used : 120 - used);
    assay_sha256_add(h, length, sizeof length);
    for (int i = 0; i < 32; i++)
        out[i] = (uint8_t)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}

void assay_sha256_hex(assay_sha256 *h, char hex[65])
{
    uint8_t bytes[32];
    assay_sha256_bytes(h, bytes);
    for (int i = 0; i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned)bytes[i]);
}

/* Folds eight bytes in. The multiplication carries upwards alone: the shift brings what is above down again. */
static uint64_t fold(uint64_t h, uint64_t eight)
{
    h = (h ^ eight) * 0x9e3779b97f4a7c15u; /* 2^64 over the golden ratio */
    return h ^ h >> 32;
}

uint64_t assay_hash_bytes(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    /* The offset basis of FNV-1a with 64 bits; with the size in it, a text differs from the same with zeros behind
     * it. */
    uint64_t h = 0xcbf29ce484222325u ^ size, rest = 0;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t eight;
        memcpy(&eight, at, sizeof eight);
        h = fold(h, eight);
    }
    for (size_t i = 0; i < size; i++)
        rest |= (uint64_t)at[i] << 8 * i;
    /* Lower bits choose the slot of a table: the last fold brings all of the upper bits down to them. */
    h = fold(fold(h, rest), 0);
    return h ^ h >> 29;
}
