/* digest.h - a 64-bit hash over dtype, shape and bytes of a tensor, in any pieces: equal tensors have equal digests.
 *
 * The measure DIGEST takes it of what is read, the recording library of what is recorded, so the two can be compared.
 * It is no defence against someone who wants equal digests. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { ASSAY_DIGEST_LANES = 4, ASSAY_DIGEST_STRIPE = 16 * ASSAY_DIGEST_LANES };

/* No memory of its own. Fields are for digest.c. */
typedef struct assay_digest {
    uint64_t lane[ASSAY_DIGEST_LANES];
    uint8_t pending[ASSAY_DIGEST_STRIPE];
    size_t pending_size;
} assay_digest;

/* Starts with the dtype and `dims` extents. */
void assay_digest_begin(assay_digest *digest, int dtype, int dims, const int64_t *dim);
/* Adds the next bytes of the content (little-endian, C order). */
void assay_digest_add(assay_digest *digest, const void *bytes, size_t size);
/* The digest of so many elements. */
uint64_t assay_digest_end(assay_digest *digest, uint64_t elements);
