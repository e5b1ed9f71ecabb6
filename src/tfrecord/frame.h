/* frame.h - the TFRecord frame around a payload (docs/format.md). Inside trial only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <assay/status.h>

enum {
    ASSAY_FRAME_HEAD = 12, /* u64 length, u32 masked CRC of it */
    ASSAY_FRAME_FOOT = 4,  /* u32 masked CRC of the payload, or the constant */
    ASSAY_FRAME_BYTES = ASSAY_FRAME_HEAD + ASSAY_FRAME_FOOT
};

/* Bytes of the largest record: protobuf has no message of 2 GiB. */
#define ASSAY_FRAME_MOST ((uint64_t)0x7fffffff + ASSAY_FRAME_BYTES)

/* What the reference hook writes as every payload's checksum: the masked CRC32C of the text "0x12345678". */
#define ASSAY_FRAME_CONSTANT 0x062dc0b3u

/* Checks the twelve bytes before a payload against the record's length in the index (at least ASSAY_FRAME_BYTES).
 * `path` and `offset` (of the record) are for the message. ASSAY_EFORMAT. */
int assay_frame_check_head(const uint8_t *head, uint64_t record_length, const char *path, uint64_t offset,
                           assay_error *err);
/* The checksum in the four bytes behind a payload. */
uint32_t assay_frame_foot(const uint8_t *foot);
/* Compares it with the payload's CRC32C (not masked). ASSAY_EFORMAT. */
int assay_frame_check_foot(uint32_t foot, uint32_t crc, const char *path, uint64_t offset, assay_error *err);
