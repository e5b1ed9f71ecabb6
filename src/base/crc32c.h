/* crc32c.h - CRC-32C (Castagnoli; RFC 3720, appendix B.4), the checksum of record files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The checksum of what went before (`crc`, 0 to start) and `n` more bytes. Uses the processor's instructions where it
 * has them and ASSAY_SIMD is not "scalar". Thread-safe. */
uint32_t assay_crc32c(uint32_t crc, const void *bytes, size_t n);

/* The checksum of two pieces, of which the second has `n` bytes, by those of each. */
uint32_t assay_crc32c_join(uint32_t first, uint32_t second, uint64_t n);

/* Have the bytes all bits of `like` that are set in `mask` (n bytes each)? If so, *crc is their checksum. One pass over
 * short bytes does both. */
bool assay_crc32c_alike(const uint8_t *bytes, size_t n, const uint8_t *like, const uint8_t *mask, uint32_t *crc);

/* The form in which record files store it: rotated and offset, so that a checksum of data that holds checksums stays
 * good. */
static inline uint32_t assay_crc32c_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8U;
}
