/* hash.h - SHA-256 (FIPS 180-4) for digests that people compare, and a fast 64-bit hash for tables. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct assay_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64];
} assay_sha256;

/* Starts a computation, and adds bytes to it: any number, in any pieces. */
void assay_sha256_init(assay_sha256 *h);
void assay_sha256_add(assay_sha256 *h, const void *bytes, size_t size);
/* Adds `size` bytes, whole blocks of 64, to each of `count` computations that have whole blocks so far. Several at a time
 * take little longer than one: ASSAY_SHA256_TOGETHER of them or fewer. */
enum { ASSAY_SHA256_TOGETHER = 2 };
void assay_sha256_add_together(assay_sha256 *const h[], const uint8_t *const bytes[], size_t count, size_t size);
/* Ends the computation; `out` gets the 32 bytes, `hex` 64 lower-case digits and a terminator. */
void assay_sha256_bytes(assay_sha256 *h, uint8_t out[32]);
void assay_sha256_hex(assay_sha256 *h, char hex[65]);

/* A hash for in-memory tables . Not stable across versions, nor the same on machines of another byte order. */
uint64_t assay_hash_bytes(const void *bytes, size_t size);
