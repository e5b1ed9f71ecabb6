/* assembled.h - records that are put together of records of other files: the format of logical tensors. Inside trial
 * only.
 *
 * The row's file list begins with one entry for each tensor, whose note is the recipe below and whose name is that of
 * the first piece's file; behind them come the lists of files of the parts that the pieces are in. */
#pragma once

#include "trial/trial_format.h"
#include "mesh/join.h"

enum { ASSAY_ASSEMBLED_PIECES = 1 << 16 };

extern const assay_trial_format assay_format_assembled;

typedef struct assay_assembled_piece {
    uint32_t format;
    uint32_t base, files; /* its part's list, in the row's */
    uint32_t file;        /* in its part's list */
    uint64_t offset, length;
    uint32_t at[ASSAY_JOIN_LEVELS];
} assay_assembled_piece;

typedef struct assay_recipe {
    const char *name; /* of the tensor, borrowed, for messages; not terminated */
    size_t name_length;
    assay_join_level level[ASSAY_JOIN_LEVELS];
    uint32_t levels;
    assay_assembled_piece *piece; /* in the order of their coordinates */
    uint32_t pieces;
    double *part; /* of all levels, when it was unpacked; owned then */
} assay_recipe;

/* Appends it; the buffer remembers failures. */
void assay_recipe_pack(const assay_recipe *recipe, assay_buf *out);
void assay_recipe_release(assay_recipe *recipe);
