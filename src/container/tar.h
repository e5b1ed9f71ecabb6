/* tar.h - what lies in a tar file: names and where their bytes are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>

enum { ASSAY_TAR_BLOCK = 512 };

typedef struct assay_tar_entry {
    char name[101]; /* cut where it is longer */
    uint64_t offset, size;
    bool file; /* a regular one */
} assay_tar_entry;

/* Reads exactly `size` bytes at an offset. */
typedef int assay_tar_read(void *context, uint64_t at, void *bytes, size_t size, assay_error *err);

/* Do the first ASSAY_TAR_BLOCK bytes of a file say that it is one? */
bool assay_is_tar(const uint8_t *head, size_t size);

/* The entry whose header is at *at of a file of `size` bytes; *at is at the next one then. 1; 0 at the end, or where a
 * header or content is cut; errors of read(). */
int assay_tar_next(assay_tar_read *read, void *context, uint64_t size, uint64_t *at, assay_tar_entry *out,
                   assay_error *err);
