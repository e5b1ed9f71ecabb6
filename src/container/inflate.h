/* inflate.h - entries of zip files, stored, deflated or compressed by Zstandard, as a stream of bytes.
 * "Deflated" stands for both ways of compression here and in what includes this. */
#pragma once

#include "container/zip.h"

typedef struct assay_inflater assay_inflater;

/* What packed bytes are read from. Each call is told anew: a view may move between two of them. */
typedef struct assay_packed_source {
    assay_view_read *read;
    void *context;
    const char *path; /* messages begin with it */
} assay_packed_source;

/* An entry in it. */
typedef struct assay_packed_range {
    uint64_t at, compressed, size; /* bytes there; once they are unpacked */
    assay_zip_method method;
} assay_packed_range;

/* Begins with the bytes [at, end) of a file, compressed as `method` says. NULL without memory. */
assay_inflater *assay_inflater_new(assay_zip_method method, uint64_t at, uint64_t end);
void assay_inflater_free(void *inflater); /* NULL is ignored */
/* The next `size` bytes, exactly. ASSAY_EFORMAT when there are fewer, or the stream is damaged; ASSAY_EBUDGET when
 * unpacking it takes too much memory; ASSAY_EIO; ASSAY_ENOMEM. */
int assay_inflater_next(assay_inflater *inflater, const assay_packed_source *source, uint8_t *to, size_t size,
                        assay_error *err);
/* The next bytes, at most `size`: *got of them, also where it fails; 0 at the end. Errors as above. */
int assay_inflater_some(assay_inflater *inflater, const assay_packed_source *source, uint8_t *to, size_t size,
                        size_t *got, assay_error *err);
/* The offset of the first byte in the file that the stream has not used: behind its end where it has come to it. */
uint64_t assay_inflater_at(const assay_inflater *inflater);
/* ASSAY_EFORMAT unless the stream ends where it is. */
int assay_inflater_end(assay_inflater *inflater, const assay_packed_source *source, assay_error *err);

/* A whole entry in memory, range->size bytes in *out that the caller frees. */
int assay_inflate_whole(const assay_packed_source *source, const assay_packed_range *range, uint8_t **out,
                        assay_error *err);

/* CRC-32 as zip files have it, over so many bytes more. */
uint32_t assay_crc32(uint32_t sum, const void *bytes, size_t size);
