/* assembled.c - reads records that are put together of others.
 *
 *   1. Every piece's record is opened by its own format: its head says dtype and shape.
 *   2. join.h says where which box of the tensor lies.
 *   3. The tensor is walked in C order, which goes through each piece in its own C order: all are read as streams.
 * Small tensors' pieces are read into memory one after the other; for a large one each piece has a reader of its own.
 */
#include "topology/assembled.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "trial/reader.h"

enum {
    SMALL = 1 << 20,   /* bytes of the content: below, one reader after the other */
    WINDOW = 64 << 10, /* of each reader */
    READER = 128 << 10 /* what a reader takes, about */
};

/* ---- the recipe ---- */

void assay_recipe_pack(const assay_recipe *r, assay_buf *out)
{
    assay_put_u32(out, (uint32_t)r->name_length);
    assay_put_bytes(out, r->name, r->name_length);
    assay_put_u32(out, r->levels);
    for (uint32_t l = 0; l < r->levels; l++) {
        assay_put_u8(out, r->level[l].flat);
        assay_put_i64(out, r->level[l].dim);
        assay_put_i64(out, r->level[l].numel);
        assay_put_u8(out, r->level[l].fractions);
        assay_put_u32(out, r->level[l].parts);
        for (uint32_t k = 0; k < r->level[l].parts; k++)
            assay_put_f64(out, r->level[l].part[k]);
    }
    assay_put_u32(out, r->pieces);
    for (uint32_t i = 0; i < r->pieces; i++) {
        const assay_assembled_piece *p = &r->piece[i];
        assay_put_u32(out, p->format);
        assay_put_u32(out, p->base);
        assay_put_u32(out, p->files);
        assay_put_u32(out, p->file);
        assay_put_u64(out, p->offset);
        assay_put_u64(out, p->length);
        for (uint32_t l = 0; l < r->levels; l++)
            assay_put_u32(out, p->at[l]);
    }
}

/* Reads a level; its parts go behind `parts` others. */
static int get_level(assay_cursor *in, assay_join_level *level, double **part, uint32_t *parts)
{
    *level = (assay_join_level){.flat = assay_get_u8(in) != 0};
    level->dim = (int)assay_get_i64(in);
    level->numel = assay_get_i64(in);
    level->fractions = assay_get_u8(in) != 0;
    level->parts = (uint32_t)assay_get_u32(in);
    if (in->failed || level->dim < -ASSAY_MAX_DIMS || level->dim > ASSAY_MAX_DIMS ||
        level->parts > assay_cursor_left(in) / 8)
        return ASSAY_EFORMAT;
    double *grown = assay_realloc_array(*part, (size_t)*parts + level->parts + 1, sizeof *grown);
    ASSAY_HAVE(grown);
    *part = grown;
    for (uint32_t k = 0; k < level->parts; k++)
        grown[(*parts)++] = assay_get_f64(in);
    return in->failed ? ASSAY_EFORMAT : ASSAY_OK;
}

static int get_pieces(assay_cursor *in, assay_recipe *r)
{
    const uint32_t count = assay_get_u32(in);
    if (in->failed || count == 0 || count > ASSAY_ASSEMBLED_PIECES || count > assay_cursor_left(in) / 32)
        return ASSAY_EFORMAT;
    r->piece = assay_alloc_zeroed(count, sizeof *r->piece);
    ASSAY_HAVE(r->piece);
    for (; r->pieces < count; r->pieces++) {
        assay_assembled_piece *p = &r->piece[r->pieces];
        p->format = assay_get_u32(in);
        p->base = assay_get_u32(in);
        p->files = assay_get_u32(in);
        p->file = assay_get_u32(in);
        p->offset = assay_get_u64(in);
        p->length = assay_get_u64(in);
        for (uint32_t l = 0; l < r->levels; l++)
            p->at[l] = assay_get_u32(in);
        if (in->failed || p->format >= assay_format_count() || p->file >= p->files)
            return ASSAY_EFORMAT;
    }
    return ASSAY_OK;
}

/* Reads it; the name stays where it is. ASSAY_EFORMAT or ASSAY_ENOMEM; release `out` with assay_recipe_release(). */
static int assay_recipe_unpack(assay_cursor *in, assay_recipe *out)
{
    assay_recipe r = {0};
    uint32_t parts = 0;
    r.name = assay_get_text(in, &r.name_length);
    r.levels = assay_get_u32(in);
    int status = in->failed || r.levels > ASSAY_JOIN_LEVELS ? ASSAY_EFORMAT : ASSAY_OK;
    for (uint32_t l = 0; l < r.levels && status == ASSAY_OK; l++)
        status = get_level(in, &r.level[l], &r.part, &parts);
    ASSAY_THEN(status, get_pieces(in, &r));
    if (status == ASSAY_OK && assay_cursor_bad(in))
        status = ASSAY_EFORMAT;
    const double *part = r.part;
    for (uint32_t l = 0; l < r.levels && status == ASSAY_OK; l++) {
        r.level[l].part = part;
        part += r.level[l].parts;
    }
    if (status == ASSAY_OK)
        *out = r;
    else
        assay_recipe_release(&r);
    return status;
}

void assay_recipe_release(assay_recipe *r)
{
    free(r->piece);
    free(r->part);
    *r = (assay_recipe){0};
}

/* ---- reading ---- */

typedef struct stream {   /* of a piece */
    assay_reader *reader; /* NULL: its content is in memory */
    uint8_t *content;     /* owned, of small ones */
    const uint8_t *bytes; /* not handed out yet */
    size_t left;
} stream;

typedef struct assembly {
    assay_recipe recipe;
    stream *stream; /* [pieces] */
    assay_join join;
    assay_join_walk walk;
    size_t element;
    uint32_t piece; /* whose run is under way */
    uint64_t run;   /* bytes of it that are left */
    uint64_t done, size;
} assembly;

static void end_assembly(void *state)
{
    assembly *a = state;
    for (uint32_t i = 0; a->stream && i < a->recipe.pieces; i++) {
        assay_reader_close(a->stream[i].reader);
        free(a->stream[i].content);
    }
    free(a->stream);
    assay_join_walk_end(&a->walk);
    assay_join_release(&a->join);
    assay_recipe_release(&a->recipe);
    free(a);
}

static int no_memory(const assay_view *view, assay_error *err)
{
    return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for a tensor in pieces", view->path);
}

/* Opens the record of a piece in *reader. */
static int open_piece(const assay_decoded *d, const assay_assembled_piece *p, assay_reader **reader, size_t budget,
                      assay_record *record, assay_error *err)
{
    if (!d->row.list || p->base > d->row.list->count || p->files > d->row.list->count - p->base)
        return assay_fail(err, ASSAY_EFORMAT, "the recipe of a tensor is damaged");
    int status = assay_reader_open_listed(reader, d->row.store, d->options, p->format, d->row.list, p->base,
                                          p->base + p->file, WINDOW, err);
    ASSAY_THEN(status, assay_reader_record(*reader, p->offset, p->length, budget, record, err));
    if (status == ASSAY_OK && record->form == ASSAY_CONTENT_STRINGS)
        status = assay_fail(err, ASSAY_EFORMAT, "texts cannot be put together of pieces");
    return status;
}

/* Reads the whole content of the open record into the stream. */
static int load_content(stream *s, assay_reader *reader, const assay_record *record, size_t budget, assay_error *err)
{
    const uint8_t *piece;
    size_t size = 1, at = 0;
    int status = ASSAY_OK;
    if (record->content_bytes > budget)
        return assay_fail(err, ASSAY_EBUDGET, "a piece of a tensor takes %llu bytes in memory, which has room for %zu",
                          (unsigned long long)record->content_bytes, budget);
    s->content = assay_alloc((size_t)record->content_bytes + 1);
    if (!s->content)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a piece of a tensor");
    while (status == ASSAY_OK && size > 0) {
        status = assay_reader_content(reader, 0, &piece, &size, err);
        if (status == ASSAY_OK && size > 0) {
            memcpy(s->content + at, piece, size);
            at += size;
        }
    }
    s->bytes = s->content;
    s->left = at;
    return status;
}

/* Opens all pieces and takes their shapes into `piece`, what all have in common into `r`. */
static int open_pieces(assay_decoded *d, const assay_view *view, assembly *a, size_t budget, assay_join_piece *piece,
                       assay_record *r, assay_error *err)
{
    const bool small = r->length <= SMALL;
    assay_reader *shared = NULL;
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < a->recipe.pieces && status == ASSAY_OK; i++) {
        const assay_assembled_piece *p = &a->recipe.piece[i];
        assay_record record;
        status = open_piece(d, p, small ? &shared : &a->stream[i].reader, budget, &record, err);
        if (status != ASSAY_OK)
            break;
        if (i == 0) {
            r->dtype = record.dtype;
            r->wall_time = record.wall_time;
            r->checksum = record.checksum;
        } else if (record.dtype != r->dtype) {
            status = assay_fail(err, ASSAY_EFORMAT, "%s: a piece of a tensor is %s, another one %s", view->path,
                                assay_dtype_name(r->dtype), assay_dtype_name(record.dtype));
            break;
        }
        r->checksum = record.checksum < r->checksum ? record.checksum : r->checksum;
        r->wall_time = record.wall_time > r->wall_time ? record.wall_time : r->wall_time;
        piece[i].dims = record.dims;
        memcpy(piece[i].at, p->at, sizeof piece[i].at);
        memcpy(piece[i].shape, record.shape, (size_t)record.dims * sizeof *record.shape);
        if (small)
            status = load_content(&a->stream[i], shared, &record, budget, err);
    }
    assay_reader_close(shared);
    return status;
}

/* So many bytes of a piece. */
static int take_bytes(stream *s, uint8_t *to, size_t size, assay_error *err)
{
    while (size > 0) {
        if (s->left == 0) {
            int status = s->reader ? assay_reader_content(s->reader, 0, &s->bytes, &s->left, err) : ASSAY_EFORMAT;
            if (status != ASSAY_OK || s->left == 0)
                return status != ASSAY_OK && s->reader
                           ? status
                           : assay_fail(err, ASSAY_EFORMAT, "a piece of a tensor ends early");
        }
        const size_t part = size < s->left ? size : s->left;
        memcpy(to, s->bytes, part);
        s->bytes += part;
        s->left -= part;
        to += part;
        size -= part;
    }
    return ASSAY_OK;
}

/* Reads what is left of all pieces, padding, up to where their checksums are compared. */
static int drain(assembly *a, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; i < a->recipe.pieces; i++) {
        size_t size = 1;
        while (a->stream[i].reader && size > 0 && status == ASSAY_OK) {
            const uint8_t *bytes;
            status = assay_reader_content(a->stream[i].reader, 0, &bytes, &size, err);
        }
    }
    return status;
}

static int pull(assay_decoded *d, assay_view *view, uint64_t from, uint8_t *to, size_t size, assay_error *err)
{
    assembly *a = d->state;
    (void)view;
    (void)from; /* in order */
    for (size_t done = 0; done < size;) {
        uint64_t elements = 0;
        if (a->run == 0) {
            if (!assay_join_walk_next(&a->walk, &a->piece, &elements))
                return assay_fail(err, ASSAY_EINTERNAL, "the pieces of a tensor end early");
            a->run = elements * a->element;
        }
        const size_t part = a->run < size - done ? (size_t)a->run : size - done;
        ASSAY_TRY(take_bytes(&a->stream[a->piece], to + done, part, err));
        a->run -= part;
        done += part;
    }
    a->done += size;
    return a->done == a->size ? drain(a, err) : ASSAY_OK;
}

/* Tensors without dimensions are not split: their copies are equal, or a rule finds that they are not. */
static int join(const assembly *a, const assay_join_piece *piece, assay_join *out, assay_error *err)
{
    if (piece[0].dims == 0)
        return assay_fail(err, ASSAY_EFORMAT, "it has no dimension, and is to be split");
    return assay_join_pieces(a->recipe.level, a->recipe.levels, piece, a->recipe.pieces, out, err);
}

static int set_shape(const assay_view *view, assembly *a, assay_record *r, assay_error *err)
{
    uint64_t count = 1;
    bool over = false;
    for (int i = 0; i < a->join.dims; i++)
        over = over || __builtin_mul_overflow(count, (uint64_t)a->join.shape[i], &count);
    r->dims = a->join.dims;
    memcpy(r->shape, a->join.shape, sizeof r->shape);
    r->elements = count;
    a->element = assay_dtype_size(r->dtype);
    if (over || __builtin_mul_overflow(count, a->element, &r->content_bytes))
        return assay_fail(err, ASSAY_EFORMAT, "%s: the tensor has more elements than 64 bits can count", view->path);
    a->size = r->content_bytes;
    return ASSAY_OK;
}

static int decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *r, assay_error *err)
{
    assay_cursor note = assay_cursor_over(d->row.note, d->row.note_size);
    assembly *a = assay_alloc_zeroed(1, sizeof *a);
    if (!a)
        return no_memory(view, err);
    d->state = a;
    d->state_free = end_assembly;
    d->pull = pull;
    assay_error why = {""};
    int status = assay_recipe_unpack(&note, &a->recipe);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? no_memory(view, err)
                                      : assay_fail(err, status, "%s: the recipe of a tensor is damaged", view->path);
    if (r->length > SMALL && (uint64_t)a->recipe.pieces * READER > budget)
        return assay_fail(err, ASSAY_EBUDGET,
                          "%s: reading a tensor of %u pieces takes %llu bytes in memory, which has room for %zu",
                          view->path, a->recipe.pieces, (unsigned long long)a->recipe.pieces * READER, budget);
    assay_join_piece *piece = assay_alloc_zeroed(a->recipe.pieces, sizeof *piece);
    a->stream = assay_alloc_zeroed(a->recipe.pieces, sizeof *a->stream);
    status = piece && a->stream ? open_pieces(d, view, a, budget, piece, r, err) : no_memory(view, err);
    if (status == ASSAY_OK && (status = join(a, piece, &a->join, &why)) != ASSAY_OK)
        assay_fail(err, status, "%s: the %u pieces of %.*s cannot be put together as the topology says: %s", view->path,
                   a->recipe.pieces, (int)(a->recipe.name_length < 200 ? a->recipe.name_length : 200), a->recipe.name,
                   why.text);
    free(piece);
    ASSAY_THEN(status, set_shape(view, a, r, err));
    if (status == ASSAY_OK && assay_join_walk_begin(&a->walk, &a->join) != ASSAY_OK)
        status = no_memory(view, err);
    r->form = ASSAY_CONTENT_PULLED;
    return status;
}

const assay_trial_format assay_format_assembled = {
    .name = "assembled", .what = "", .decode = decode, .assembled = true};
