/* record.h - what is known of a record once its head was read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <assay/tensor.h>

typedef enum assay_checksum { /* of a record, as its writer computes it */
                              ASSAY_CHECKSUM_NONE,
                              ASSAY_CHECKSUM_CONSTANT, /* the reference's hook: the same for every record */
                              ASSAY_CHECKSUM_TRUE,
                              ASSAY_CHECKSUM_STORED /* none of its own, but the storage's */
} assay_checksum;

typedef enum assay_content_form {
    ASSAY_CONTENT_BYTES,  /* little-endian elements in C order, as they lie in the file */
    ASSAY_CONTENT_PULLED, /* elements that are made piece by piece */
    ASSAY_CONTENT_TYPED,  /* elements that were made as a whole */
    ASSAY_CONTENT_STRINGS
} assay_content_form;

typedef struct assay_record {
    uint64_t offset, length; /* of the whole record in the file */
    double wall_time;        /* seconds since 1970; 0: not said */
    int64_t step;            /* as the record says; 0: maybe not said */
    char *tag;               /* the recorded name, terminated, may hold any byte; in the reader's memory; NULL: none */
    size_t tag_length;
    int kind;         /* what the tag says it is: ASSAY_RAW or a reduction of the tensor below */
    const char *name; /* inside the tag */
    size_t name_length;
    int mode;          /* assay_mode of assay/rule.h; 0: not said */
    int64_t mode_step; /* -1: not said */
    int dtype;         /* assay_dtype */
    int dims;
    int64_t shape[ASSAY_MAX_DIMS];
    uint64_t elements;      /* product of the shape */
    uint64_t content_bytes; /* elements times element size; for strings the sum of their lengths */
    assay_content_form form;
    assay_checksum checksum;
} assay_record;

/* Copies what is known, without the room for dimensions that there are not. */
static inline void assay_record_copy(assay_record *to, const assay_record *from)
{
    enum { SHAPE_FROM = offsetof(assay_record, shape), SHAPE_END = SHAPE_FROM + sizeof from->shape };
    memcpy(to, from, SHAPE_FROM);
    for (int d = 0; d < from->dims; d++)
        to->shape[d] = from->shape[d];
    memcpy((uint8_t *)to + SHAPE_END, (const uint8_t *)from + SHAPE_END, sizeof *to - SHAPE_END);
}
