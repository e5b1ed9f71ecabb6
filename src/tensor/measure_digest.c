/* measure_digest.c - DIGEST: a 64-bit hash over dtype, shape and bytes.
 *
 * Stripes of 64 bytes go to 4 lanes of 16; a lane multiplies its state, xor the first word, by a constant, xor the
 * second word, and folds the 128-bit product. A difference in one word reaches all bits in a way that depends on the
 * data. It is no defence against someone who wants equal digests. */
#include <string.h>

#include "tensor/measure_kind.h"

enum { LANES = 4, STRIPE = 16 * LANES };

typedef struct digest_state {
    uint64_t lane[LANES];
    uint8_t pending[STRIPE];
    size_t pending_size;
} digest_state;

/* Fractional parts of the square roots of the first primes (FIPS 180-4, 5.3.5). */
static const uint64_t ROOTS[2 * LANES] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                          0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                          0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

static inline uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static int start(assay_meter *m, assay_error *err)
{
    digest_state *s = meter_state(m);
    (void)err;
    uint64_t head = fold(ROOTS[0] ^ (uint64_t)m->dtype, ROOTS[1] ^ (uint64_t)m->dims);
    for (int d = 0; d < m->dims; d++)
        head = fold(head ^ (uint64_t)m->dim[d], ROOTS[2]);
    for (int k = 0; k < LANES; k++)
        s->lane[k] = head ^ ROOTS[k];
    return ASSAY_OK;
}

static void add_stripes(digest_state *s, const uint8_t *bytes, size_t stripes)
{
    uint64_t lane[LANES];
    memcpy(lane, s->lane, sizeof lane);
    for (; stripes > 0; stripes--, bytes += STRIPE) {
        uint64_t word[2 * LANES];
        memcpy(word, bytes, sizeof word);
        for (int k = 0; k < LANES; k++)
            lane[k] = fold(lane[k] ^ word[2 * k], ROOTS[LANES + k] ^ word[2 * k + 1]);
    }
    memcpy(s->lane, lane, sizeof lane);
}

static bool feed_raw(assay_meter *m, const meter_piece *piece)
{
    digest_state *s = meter_state(m);
    const uint8_t *bytes = piece->bytes;
    size_t size = (size_t)piece->elements * assay_dtype_size(m->dtype);
    if (s->pending_size > 0) {
        size_t room = STRIPE - s->pending_size, take = size < room ? size : room;
        memcpy(s->pending + s->pending_size, bytes, take);
        s->pending_size += take;
        bytes += take;
        size -= take;
        if (s->pending_size < STRIPE)
            return true;
        add_stripes(s, s->pending, 1);
    }
    add_stripes(s, bytes, size / STRIPE);
    s->pending_size = size % STRIPE;
    memcpy(s->pending, bytes + (size - s->pending_size), s->pending_size);
    return true;
}

/* The shape, which is in the lanes from the start, says how much of the last stripe is padding. */
static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    digest_state *s = meter_state(m);
    (void)err;
    memset(s->pending + s->pending_size, 0, STRIPE - s->pending_size);
    if (s->pending_size > 0)
        add_stripes(s, s->pending, 1);
    uint64_t digest = m->elements;
    for (int k = 0; k < LANES; k++)
        digest = fold(digest ^ s->lane[k], ROOTS[k]) + s->lane[k];
    result->of.digest = fold(digest ^ ROOTS[LANES], ROOTS[LANES + 1]);
    return ASSAY_OK;
}

const meter_kind meter_digest = {sizeof(digest_state), start, feed_raw, NULL, end};
