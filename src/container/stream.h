/* stream.h - the bytes of a trial's file from its beginning to its end, as many of them together as a reader asks for.
 *
 * What lies before the place that is asked for is forgotten: a file of any length takes the memory of its largest
 * stretch. */
#pragma once

#include "store/storage.h"

typedef struct assay_stream {
    assay_store_file *file;
    uint8_t *bytes;
    size_t room, have;
    size_t once;   /* so many bytes are read at once, if not more are asked for */
    uint64_t at;   /* the file's offset of bytes[0] */
    uint64_t size; /* of the file, when it was opened */
} assay_stream;

/* Opens a file at its beginning. ASSAY_ENOTFOUND, ASSAY_EIO, ASSAY_ENOMEM. Close with assay_stream_close(). */
int assay_stream_open(assay_store *store, const char *path, assay_stream *out, assay_error *err);
void assay_stream_close(assay_stream *stream);

/* Points *bytes at the stretch that begins at the offset `at`, not before an earlier one, and sets *have: `least` bytes
 * or more, fewer where the file ends before. Valid until the next call. ASSAY_EIO, ASSAY_ENOMEM. */
int assay_stream_look(assay_stream *stream, uint64_t at, size_t least, const uint8_t **bytes, size_t *have,
                      assay_error *err);
