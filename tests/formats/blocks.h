/* blocks.h - what the files of the format "blocks" share: what the index says of a record. */
#ifndef ASSAY_TESTS_FORMATS_BLOCKS_H
#define ASSAY_TESTS_FORMATS_BLOCKS_H

#include "trial/trial_format.h"

enum { BLOCK_PIECES = 16 };

typedef enum block_kind { BLOCK_PLAIN, BLOCK_STRIDED, BLOCK_DEFLATE, BLOCK_PIECES_OF, BLOCK_VALUE } block_kind;

typedef struct block_note {
    block_kind kind;
    int dtype, dims;
    int64_t shape[ASSAY_MAX_DIMS];
    uint64_t elements, length; /* of the record in its file */
    int64_t stride[ASSAY_MAX_DIMS];
    int axis, pieces; /* BLOCK_PIECES_OF: concatenated along a dimension */
    uint32_t file[BLOCK_PIECES];
    int64_t at[BLOCK_PIECES], size[BLOCK_PIECES]; /* size: along the axis */
    double value;
} block_note;

/* The format's decode(). */
int blocks_decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *record, assay_error *err);

#endif
