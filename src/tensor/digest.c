/* digest.c - see digest.h.
 *
 * Stripes of 64 bytes go to 4 lanes of 16; a lane multiplies its state, xor the first word, by a constant, xor the
 * second word, and folds the 128-bit product. A difference in one word reaches all bits in a way that depends on the
 * data. */
#include "tensor/digest.h"

#include <string.h>

enum { LANES = ASSAY_DIGEST_LANES, STRIPE = ASSAY_DIGEST_STRIPE };

/* Fractional parts of the square roots of the first primes (FIPS 180-4, 5.3.5). */
static const uint64_t ROOTS[2 * LANES] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                          0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                          0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

static inline uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

void assay_digest_begin(assay_digest *digest, int dtype, int dims, const int64_t *dim)
{
    uint64_t head = fold(ROOTS[0] ^ (uint64_t)dtype, ROOTS[1] ^ (uint64_t)dims);
    for (int d = 0; d < dims; d++)
        head = fold(head ^ (uint64_t)dim[d], ROOTS[2]);
    for (int k = 0; k < LANES; k++)
        digest->lane[k] = head ^ ROOTS[k];
    digest->pending_size = 0;
}

static void add_stripes(assay_digest *digest, const uint8_t *bytes, size_t stripes)
{
    uint64_t lane[LANES];
    memcpy(lane, digest->lane, sizeof lane);
    for (; stripes > 0; stripes--, bytes += STRIPE) {
        uint64_t word[2 * LANES];
        memcpy(word, bytes, sizeof word);
        for (int k = 0; k < LANES; k++)
            lane[k] = fold(lane[k] ^ word[2 * k], ROOTS[LANES + k] ^ word[2 * k + 1]);
    }
    memcpy(digest->lane, lane, sizeof lane);
}

void assay_digest_add(assay_digest *digest, const void *content, size_t size)
{
    const uint8_t *bytes = content;
    if (digest->pending_size > 0) {
        size_t room = STRIPE - digest->pending_size, take = size < room ? size : room;
        memcpy(digest->pending + digest->pending_size, bytes, take);
        digest->pending_size += take;
        bytes += take;
        size -= take;
        if (digest->pending_size < STRIPE)
            return;
        add_stripes(digest, digest->pending, 1);
    }
    add_stripes(digest, bytes, size / STRIPE);
    digest->pending_size = size % STRIPE;
    memcpy(digest->pending, bytes + (size - digest->pending_size), digest->pending_size);
}

/* The shape, which is in the lanes from the start, says how much of the last stripe is padding. */
uint64_t assay_digest_end(assay_digest *digest, uint64_t elements)
{
    memset(digest->pending + digest->pending_size, 0, STRIPE - digest->pending_size);
    if (digest->pending_size > 0)
        add_stripes(digest, digest->pending, 1);
    uint64_t value = elements;
    for (int k = 0; k < LANES; k++)
        value = fold(value ^ digest->lane[k], ROOTS[k]) + digest->lane[k];
    return fold(value ^ ROOTS[LANES], ROOTS[LANES + 1]);
}
