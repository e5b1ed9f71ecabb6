/* join.h - puts pieces of a tensor together by their shapes alone: which box of the tensor lies where in which piece.
 *
 * Pieces are divided level by level. On each level those with the same coordinates so far lie behind one another along
 * a dimension, in the order of their next coordinate; where the level has parts, block by block:
 *   2 pieces of rows a b, parts [0.5, 0.5]:  a(first half) b(first half) a(second half) b(second half)
 * Along each dimension the order of a piece's elements stays. So whoever goes through the tensor in C order goes
 * through each piece in C order, too, and can read them all as streams (join_walk). */
#pragma once

#include <assay/status.h>
#include <assay/tensor.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ASSAY_JOIN_LEVELS = 8,
    ASSAY_JOIN_BOXES = 1 << 20, /* of a tensor, at most */
    ASSAY_JOIN_WORK = 1 << 28   /* looks at boxes on a level, at most: every block looks at all of them */
};

typedef struct assay_join_level {
    bool flat; /* pieces have one dimension; the tensor ends at `numel` unless that is negative */
    int dim;   /* negative: from the end */
    int64_t numel;
    bool fractions; /* of the parts */
    uint32_t parts; /* 0: one block */
    const double *part;
} assay_join_level;

typedef struct assay_join_piece {
    uint32_t at[ASSAY_JOIN_LEVELS]; /* its coordinates, outermost first */
    int dims;
    int64_t shape[ASSAY_MAX_DIMS];
} assay_join_piece;

typedef struct assay_join_box {
    uint32_t piece;
    int64_t first[ASSAY_MAX_DIMS]; /* in the tensor */
    int64_t from[ASSAY_MAX_DIMS];  /* in the piece */
    int64_t size[ASSAY_MAX_DIMS];
} assay_join_box;

typedef struct assay_join {
    int dims;
    int64_t shape[ASSAY_MAX_DIMS];
    assay_join_box *box; /* owned: none empty, none overlaps another, all together are the tensor */
    size_t boxes, room;
} assay_join;

/* Joins pieces, which are in the order of their coordinates. ASSAY_EFORMAT: they do not fit together, and the message
 * says how. ASSAY_ENOMEM. Release with assay_join_release(). */
int assay_join_pieces(const assay_join_level *level, uint32_t levels, const assay_join_piece *piece, uint32_t pieces,
                      assay_join *out, assay_error *err);
void assay_join_release(assay_join *join);

/* Goes through a tensor in C order, in runs of elements that lie behind one another in a piece. */
typedef struct assay_join_walk {
    const assay_join *join;           /* borrowed */
    struct assay_join_cursor *cursor; /* [boxes] */
    uint32_t *heap;                   /* of boxes that are not done, the one whose run comes next on top */
    size_t count;
} assay_join_walk;

/* 0 or ASSAY_ENOMEM; release either way. */
int assay_join_walk_begin(assay_join_walk *walk, const assay_join *join);
void assay_join_walk_end(assay_join_walk *walk);
/* The next run: so many elements of a piece. False behind the last. */
bool assay_join_walk_next(assay_join_walk *walk, uint32_t *piece, uint64_t *elements);
