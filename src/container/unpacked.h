/* unpacked.h - the bytes of a file of a trial from its beginning to its end, packed by gzip or not.
 *
 * gzip is known by its magic bytes; a file may have several members, and zeros behind the last one. Two blocks are in
 * memory, however long the file is. */
#pragma once

#include "store/storage.h"

typedef struct assay_unpacked assay_unpacked;

/* Opens a file at its beginning. ASSAY_ENOTFOUND, ASSAY_EIO, ASSAY_ENOMEM. Close with assay_unpacked_close(). */
int assay_unpacked_open(assay_store *store, const char *path, assay_unpacked **out, assay_error *err);
void assay_unpacked_close(assay_unpacked *u); /* NULL is ignored */

/* The next bytes, at most `room`; *got is 0 at the end. ASSAY_EFORMAT when a packed stream is damaged, ends too
 * early, or is followed by what is neither zeros nor another member: *got bytes before the damage are there all the same. ASSAY_EIO, ASSAY_ENOMEM. */
int assay_unpacked_read(assay_unpacked *u, void *to, size_t room, size_t *got, assay_error *err);

/* Goes on at that byte of the file. False where it is packed: nothing is changed. */
bool assay_unpacked_seek(assay_unpacked *u, uint64_t offset);

/* How long the file is, as it lies there. */
uint64_t assay_unpacked_size(const assay_unpacked *u);

/* Bytes read from the file, and bytes handed out. */
uint64_t assay_unpacked_bytes_read(const assay_unpacked *u);
uint64_t assay_unpacked_bytes(const assay_unpacked *u);
