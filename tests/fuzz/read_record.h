/* read_record.h - what fuzz targets of records share: a record is opened, and read to its end in every way. */
#ifndef ASSAY_FUZZ_READ_RECORD_H
#define ASSAY_FUZZ_READ_RECORD_H

#include <stdlib.h>

#include "trial/reader.h"

/* Where a content is put: memory of just its size. NULL: it is given out where it lies. */
static inline uint8_t *place_of(assay_reader *file, const assay_record *r)
{
    uint8_t *to = r->form == ASSAY_CONTENT_STRINGS ? NULL : malloc(r->elements * assay_dtype_size(r->dtype) + 1);
    if (to)
        assay_reader_put_at(file, to);
    return to;
}

/* Reads it in pieces of at most `most` bytes. Its content has no more bytes than `content_most`. */
static inline void read_record(assay_reader *file, uint64_t offset, uint64_t length, size_t most, uint64_t content_most)
{
    assay_record r;
    assay_error err = {{0}};
    const uint8_t *piece = NULL;
    size_t got = 1;
    uint64_t sum = 0, at = 0;
    int status = assay_reader_record(file, offset, length, 1 << 20, &r, &err);
    if (status != ASSAY_OK && err.text[0] == '\0')
        abort();
    if (status == ASSAY_OK && r.content_bytes > content_most)
        abort(); /* elements that there are no bytes for */
    for (uint64_t i = 0; status == ASSAY_OK && r.form == ASSAY_CONTENT_STRINGS && i < r.elements; i++) {
        const char *text = assay_reader_string(file, i, &got);
        for (size_t k = 0; k < got; k++)
            sum += (unsigned char)text[k];
    }
    uint8_t *to = status == ASSAY_OK && length % 2 ? place_of(file, &r) : NULL;
    while (status == ASSAY_OK && r.form != ASSAY_CONTENT_STRINGS && got > 0) {
        status = assay_reader_content(file, most, &piece, &got, &err);
        if (status == ASSAY_OK && got > 0)
            sum += got + piece[0] + piece[got - 1];
        if (status == ASSAY_OK && got > 0 && to && piece != to + at)
            abort();
        at += got;
    }
    free(to);
    if (sum == UINT64_MAX)
        abort();
}

#endif
