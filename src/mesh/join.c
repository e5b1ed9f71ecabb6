/* join.c - see join.h. */
#include "mesh/join.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/vec.h"

void assay_join_release(assay_join *join)
{
    free(join->box);
    *join = (assay_join){0};
}

static int add_box(assay_join *to, const assay_join_box *box, assay_error *err)
{
    if (to->boxes == ASSAY_JOIN_BOXES)
        return assay_fail(err, ASSAY_EFORMAT, "the tensor is divided into more than %d boxes", ASSAY_JOIN_BOXES);
    if (!assay_vec_reserve(&to->box, &to->room, to->boxes + 1, sizeof *to->box))
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for the pieces of a tensor");
    to->box[to->boxes++] = *box;
    return ASSAY_OK;
}

/* Takes the whole of one piece. A piece without elements has no box. */
static int join_one(const assay_join_piece *piece, uint32_t number, assay_join *out, assay_error *err)
{
    assay_join_box box = {.piece = number};
    bool empty = false;
    out->dims = piece->dims;
    memcpy(out->shape, piece->shape, sizeof out->shape);
    memcpy(box.size, piece->shape, sizeof box.size);
    for (int d = 0; d < piece->dims; d++)
        empty = empty || piece->shape[d] == 0;
    return empty ? ASSAY_OK : add_box(out, &box, err);
}

/* Finds where the k-th block of a local size ends. */
static int block_end(const assay_join_level *level, uint32_t k, int64_t size, int64_t before, int64_t *end,
                     assay_error *err)
{
    if (level->parts == 0) {
        *end = size;
        return ASSAY_OK;
    }
    double length = level->part[k];
    if (level->fractions) {
        const double share = length * (double)size;
        length = round(share);
        /* Shares are decimal fractions, which a double has but nearly. */
        if (fabs(share - length) > 1e-6)
            return assay_fail(err, ASSAY_EFORMAT, "a share of %.6g of %lld elements is not a whole number of them",
                              level->part[k], (long long)size);
    }
    if (length < 0 || length > (double)(size - before))
        return assay_fail(err, ASSAY_EFORMAT, "the parts have more than the %lld elements that a worker has",
                          (long long)size);
    *end = before + (int64_t)length;
    if (k + 1 == level->parts && *end != size)
        return assay_fail(err, ASSAY_EFORMAT, "the parts have %lld elements, and a worker %lld", (long long)*end,
                          (long long)size);
    return ASSAY_OK;
}

/* A stretch [begin, end) of a piece along a dimension, and where it begins in the whole. */
typedef struct slice {
    int dim;
    int64_t begin, end, at;
} slice;

/* Adds what of `from` lies in the stretch. */
static int add_slice(assay_join *to, const assay_join *from, const slice *s, assay_error *err)
{
    const int dim = s->dim;
    int status = ASSAY_OK;
    for (size_t b = 0; b < from->boxes && status == ASSAY_OK; b++) {
        assay_join_box box = from->box[b];
        const int64_t first = box.first[dim] > s->begin ? box.first[dim] : s->begin;
        const int64_t last = box.first[dim] + box.size[dim] < s->end ? box.first[dim] + box.size[dim] : s->end;
        if (first >= last)
            continue;
        box.from[dim] += first - box.first[dim];
        box.first[dim] = s->at + first - s->begin;
        box.size[dim] = last - first;
        status = add_box(to, &box, err);
    }
    return status;
}

/* Lays children behind one another along a dimension. With parts the blocks of all children alternate: the first of
 * each, then the second of each. */
static int concatenate(const assay_join_level *level, const assay_join *child, uint32_t children, assay_join *out,
                       assay_error *err)
{
    const int dims = child[0].dims, dim = level->flat ? 0 : level->dim < 0 ? dims + level->dim : level->dim;
    if (dim < 0 || dim >= dims || (level->flat && dims != 1))
        return assay_fail(err, ASSAY_EFORMAT, "it has %d dimension%s, and is to be split along %d", dims,
                          dims == 1 ? "" : "s", level->flat ? 0 : level->dim);
    out->dims = dims;
    memcpy(out->shape, child[0].shape, sizeof out->shape);
    const uint32_t blocks = level->parts ? level->parts : 1;
    /* Boxes are bounded before any is made: the file that says the parts is a stranger's. */
    uint64_t work = 0;
    int64_t total = 0;
    for (uint32_t c = 0; c < children; c++) {
        for (int d = 0; d < dims; d++)
            if (child[c].dims != dims || (d != dim && child[c].shape[d] != out->shape[d]))
                return assay_fail(err, ASSAY_EFORMAT,
                                  "the pieces do not fit together: they differ in a dimension other than %d", dim);
        if (__builtin_add_overflow(total, child[c].shape[dim], &total))
            return assay_fail(err, ASSAY_EFORMAT, "the pieces are too large");
        work += (uint64_t)blocks * child[c].boxes;
        if (work > ASSAY_JOIN_WORK)
            return assay_fail(err, ASSAY_EFORMAT, "its parts divide it too finely");
    }
    int64_t at = 0, *begin = assay_alloc_zeroed(children, sizeof *begin);
    int status = begin ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory for the pieces of a tensor");
    for (uint32_t k = 0; k < blocks && status == ASSAY_OK; k++)
        for (uint32_t c = 0; c < children && status == ASSAY_OK; c++) {
            slice s = {dim, begin[c], 0, at};
            status = block_end(level, k, child[c].shape[dim], begin[c], &s.end, err);
            ASSAY_THEN(status, add_slice(out, &child[c], &s, err));
            at += s.end - begin[c];
            begin[c] = s.end;
        }
    free(begin);
    out->shape[dim] = total;
    return status;
}

/* Cuts padding off: behind the last element it is nobody's. */
static int cut(assay_join *join, int64_t numel, assay_error *err)
{
    size_t kept = 0;
    if (numel > join->shape[0])
        return assay_fail(err, ASSAY_EFORMAT, "the pieces have %lld elements, and the tensor %lld",
                          (long long)join->shape[0], (long long)numel);
    for (size_t b = 0; b < join->boxes; b++) {
        assay_join_box *box = &join->box[b];
        if (box->first[0] >= numel)
            continue;
        if (box->size[0] > numel - box->first[0])
            box->size[0] = numel - box->first[0];
        join->box[kept++] = *box;
    }
    join->boxes = kept;
    join->shape[0] = numel;
    return ASSAY_OK;
}

/* Pieces in a row, of those that are joined. */
typedef struct run {
    const assay_join_piece *piece;
    uint32_t count;
    uint32_t number; /* of the first one among all */
} run;

/* Finds the pieces from the i-th of a run on that have its coordinate on a level. */
static run same_at(const run *of, uint32_t i, uint32_t level)
{
    run same = {of->piece + i, 1, of->number + i};
    while (i + same.count < of->count && same.piece[same.count].at[level] == same.piece[0].at[level])
        same.count++;
    return same;
}

/* Makes of a run what the levels from `depth` on say; as deep as there are axes. */
static int join_level(const assay_join_level *level, uint32_t depth, uint32_t levels, const run *pieces,
                      assay_join *out, assay_error *err)
{
    if (depth == levels)
        return join_one(pieces->piece, pieces->number, out, err);
    uint32_t children = 0;
    for (uint32_t i = 0; i < pieces->count; i += same_at(pieces, i, depth).count)
        children++;
    assay_join *child = assay_alloc_zeroed(children, sizeof *child);
    int status = child ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory for the pieces of a tensor");
    for (uint32_t c = 0, i = 0; c < children && status == ASSAY_OK; c++) {
        const run same = same_at(pieces, i, depth);
        status = join_level(level, depth + 1, levels, &same, &child[c], err);
        i += same.count;
    }
    ASSAY_THEN(status, concatenate(&level[depth], child, children, out, err));
    if (status == ASSAY_OK && level[depth].flat && level[depth].numel >= 0)
        status = cut(out, level[depth].numel, err);
    for (uint32_t c = 0; child && c < children; c++)
        assay_join_release(&child[c]);
    free(child);
    return status;
}

int assay_join_pieces(const assay_join_level *level, uint32_t levels, const assay_join_piece *piece, uint32_t pieces,
                      assay_join *out, assay_error *err)
{
    assay_join join = {0};
    int status = join_level(level, 0, levels, &(run){piece, pieces, 0}, &join, err);
    if (status == ASSAY_OK)
        *out = join;
    else
        assay_join_release(&join);
    return status;
}

/* ---- in C order ---- */

typedef struct assay_join_cursor {
    uint64_t next;              /* the first element of its next run, counted in the tensor */
    uint64_t run;               /* elements of each run */
    int outer;                  /* dimensions before those of a run */
    int64_t at[ASSAY_MAX_DIMS]; /* of the run, in the box */
} assay_join_cursor;

static void set_next(const assay_join *join, const assay_join_box *box, assay_join_cursor *c)
{
    uint64_t next = 0;
    for (int d = 0; d < join->dims; d++)
        next = next * (uint64_t)join->shape[d] + (uint64_t)(box->first[d] + (d < c->outer ? c->at[d] : 0));
    c->next = next;
}

/* Elements lie behind one another as far as the box has the whole of each inner dimension. */
static void begin_box(const assay_join *join, const assay_join_box *box, assay_join_cursor *c)
{
    int d = join->dims;
    *c = (assay_join_cursor){.run = 1};
    while (d > 0) {
        d--;
        c->run *= (uint64_t)box->size[d];
        if (box->size[d] != join->shape[d])
            break;
    }
    c->outer = d;
    set_next(join, box, c);
}

/* Turns to the next run of a box; false behind the last. */
static bool step_box(const assay_join *join, const assay_join_box *box, assay_join_cursor *c)
{
    int d = c->outer;
    while (d > 0) {
        d--;
        if (++c->at[d] < box->size[d]) {
            set_next(join, box, c);
            return true;
        }
        c->at[d] = 0;
    }
    return false;
}

/* The heap has the box whose next run is the first at its root. */
static void sink(const assay_join_walk *w, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < w->count; child++)
            if (w->cursor[w->heap[child]].next < w->cursor[w->heap[least]].next)
                least = child;
        if (least == at)
            return;
        const uint32_t box = w->heap[at];
        w->heap[at] = w->heap[least];
        w->heap[least] = box;
        at = least;
    }
}

int assay_join_walk_begin(assay_join_walk *w, const assay_join *join)
{
    *w = (assay_join_walk){.join = join,
                           .cursor = assay_alloc((join->boxes + 1) * sizeof(assay_join_cursor)),
                           .heap = assay_alloc((join->boxes + 1) * sizeof(uint32_t)),
                           .count = join->boxes};
    ASSAY_HAVE(w->cursor && w->heap);
    for (size_t b = 0; b < join->boxes; b++) {
        begin_box(join, &join->box[b], &w->cursor[b]);
        w->heap[b] = (uint32_t)b;
    }
    for (size_t at = w->count / 2; at-- > 0;)
        sink(w, at);
    return ASSAY_OK;
}

void assay_join_walk_end(assay_join_walk *w)
{
    free(w->cursor);
    free(w->heap);
    *w = (assay_join_walk){0};
}

bool assay_join_walk_next(assay_join_walk *w, uint32_t *piece, uint64_t *elements)
{
    if (w->count == 0)
        return false;
    const uint32_t b = w->heap[0];
    *piece = w->join->box[b].piece;
    *elements = w->cursor[b].run;
    if (!step_box(w->join, &w->join->box[b], &w->cursor[b]))
        w->heap[0] = w->heap[--w->count];
    sink(w, 0);
    return true;
}
