/* crc32c_ways.h - the three ways of computing CRC-32C. Inside base and for its tests only.
 *
 * All take and give the register as the hardware holds it: bit-reversed and not inverted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* On any machine. */
uint32_t assay_crc32c_by_table(uint32_t state, const uint8_t *at, size_t n);

/* True when this build and machine have SSE4.2 and PCLMULQDQ. */
bool assay_crc32c_has_sse42(void);
/* Only where assay_crc32c_has_sse42(). */
uint32_t assay_crc32c_by_sse42(uint32_t state, const uint8_t *at, size_t n);
/* Likewise, of eight bytes or more; as assay_crc32c_alike() is. */
bool assay_crc32c_alike_by_sse42(const uint8_t *at, size_t n, const uint8_t *like, const uint8_t *mask, uint32_t *crc);

/* True when this build and machine have AVX-512 and its VPCLMULQDQ besides. */
bool assay_crc32c_has_avx512(void);
/* Only where assay_crc32c_has_avx512(). */
uint32_t assay_crc32c_by_avx512(uint32_t state, const uint8_t *at, size_t n);

/* The polynomial x^n modulo CRC-32C's, bit-reversed: what advances a register over bytes. */
uint32_t assay_crc32c_power(uint64_t n);
