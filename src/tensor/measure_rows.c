/* measure_rows.c - ROWS: a 64-bit hash of each index of axis 0, over dtype, shape and bytes (digest.h). */
#include <string.h>

#include "tensor/digest.h"
#include "tensor/measure_kind.h"

enum { ELEMENT_MOST = 16 };

typedef struct rows_state {
    assay_digest digest;         /* of the open row */
    uint64_t elements, taken;    /* of a row, and of the open one */
    uint64_t row;                /* the open one */
    bool one;                    /* all its elements are the first so far */
    uint8_t first[ELEMENT_MOST]; /* its first element */
} rows_state;

static uint64_t rows_of(const assay_meter *m)
{
    return m->dims > 1 ? (uint64_t)m->dim[0] : 1;
}

static int start(assay_meter *m, assay_error *err)
{
    rows_state *s = meter_state(m);
    s->elements = rows_of(m) > 0 ? m->elements / rows_of(m) : 0;
    return meter_take(m, meter_bytes(rows_of(m), sizeof(uint64_t)), 0, 0, err);
}

/* Adds elements of the open row. */
static void add(assay_meter *m, const uint8_t *bytes, uint64_t elements)
{
    rows_state *s = meter_state(m);
    const size_t size = assay_dtype_size(m->dtype);
    if (s->taken == 0) {
        assay_digest_begin(&s->digest, m->dtype, m->dims > 1 ? m->dims - 1 : m->dims,
                           m->dims > 1 ? m->dim + 1 : m->dim);
        memcpy(s->first, bytes, size);
        s->one = true;
    }
    for (uint64_t i = 0; s->one && i < elements; i++)
        s->one = memcmp(bytes + i * size, s->first, size) == 0;
    assay_digest_add(&s->digest, bytes, (size_t)elements * size);
    s->taken += elements;
}

static bool feed_raw(assay_meter *m, const meter_piece *piece)
{
    rows_state *s = meter_state(m);
    const size_t size = assay_dtype_size(m->dtype);
    uint64_t *digest = m->kept;
    for (uint64_t i = 0, take; i < piece->elements; i += take) {
        const uint64_t left = s->elements - s->taken;
        take = left < piece->elements - i ? left : piece->elements - i;
        add(m, piece->bytes + i * size, take);
        if (s->taken < s->elements)
            continue;
        digest[s->row++] = s->one ? 0 : assay_digest_end(&s->digest, s->elements);
        s->taken = 0;
    }
    return true;
}

static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    result->of.rows = (assay_row_digests){.count = rows_of(m), .digest = m->kept};
    return ASSAY_OK;
}

const meter_kind meter_rows = {sizeof(rows_state), start, feed_raw, NULL, end};
