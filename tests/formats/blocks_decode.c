/* blocks_decode.c - records without a frame: dtype, shape and place are in the note of their index row.
 *
 * Plain ones are handed out as they lie. The others are pulled: elements are gathered by their strides, a stream is
 * decompressed as it goes by, or pieces are put together from their files, and never is a tensor in memory whole. */
#include <zlib.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "blocks.h"

/* What is known of the record whose content is under way. */
typedef struct content {
    block_note note;
    size_t element;
    z_stream stream;
    bool streams;
    uint64_t at; /* the next byte of the stream in the file */
} content;

static void free_content(void *state)
{
    content *c = state;
    if (c->streams)
        inflateEnd(&c->stream);
    free(c);
}

static int cut_short(const assay_view *view, const assay_record *r, assay_error *err)
{
    return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: the index says more bytes than the record has", view->path,
                      (unsigned long long)r->offset);
}

static int pull_strided(assay_decoded *d, assay_view *view, uint64_t from, uint8_t *to, size_t size, assay_error *err)
{
    const content *c = d->state;
    int status = ASSAY_OK;
    for (size_t done = 0; done < size && status == ASSAY_OK; done += c->element) {
        uint64_t number = (from + done) / c->element, at = d->at;
        for (int i = c->note.dims; i-- > 0; number /= (uint64_t)c->note.shape[i])
            at += number % (uint64_t)c->note.shape[i] * (uint64_t)c->note.stride[i];
        status = assay_view_copy(view, at, at + c->element, to + done, err);
    }
    return status;
}

static int pull_deflated(assay_decoded *d, assay_view *view, uint64_t from, uint8_t *to, size_t size, assay_error *err)
{
    content *c = d->state;
    (void)from; /* content is asked for in order */
    c->stream.next_out = to;
    c->stream.avail_out = (uInt)size;
    while (c->stream.avail_out > 0) {
        size_t have = 0;
        int status = ASSAY_EFORMAT;
        const uint8_t *bytes = c->at < d->end ? assay_view_look(view, c->at, d->end, &have, &status, err) : NULL;
        c->stream.next_in = (Bytef *)(uintptr_t)bytes;
        c->stream.avail_in = (uInt)have;
        int result = bytes ? inflate(&c->stream, Z_NO_FLUSH) : Z_DATA_ERROR;
        c->at += have - c->stream.avail_in;
        if (result != Z_OK && (result != Z_STREAM_END || c->stream.avail_out > 0))
            return status == ASSAY_EIO
                       ? status
                       : assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: the compressed bytes are damaged", view->path,
                                    (unsigned long long)c->at);
    }
    return ASSAY_OK;
}

/* The bytes behind the axis, and in a row of all pieces. */
static uint64_t inner_bytes(const content *c)
{
    uint64_t inner = c->element;
    for (int i = c->note.axis + 1; i < c->note.dims; i++)
        inner *= (uint64_t)c->note.shape[i];
    return inner;
}

static int pull_pieces(assay_decoded *d, assay_view *view, uint64_t from, uint8_t *to, size_t size, assay_error *err)
{
    const content *c = d->state;
    const block_note *n = &c->note;
    const uint64_t inner = inner_bytes(c), row = inner * (uint64_t)n->shape[n->axis];
    int status = ASSAY_OK;
    (void)view;
    for (size_t done = 0; done < size && status == ASSAY_OK;) {
        uint64_t outer = (from + done) / row, within = (from + done) % row;
        int p = 0;
        for (; within >= inner * (uint64_t)n->size[p]; p++)
            within -= inner * (uint64_t)n->size[p];
        const uint64_t piece_row = inner * (uint64_t)n->size[p], left = piece_row - within;
        const size_t part = left < size - done ? (size_t)left : size - done;
        status = d->row.read(d->row.context, d->row.files - 1 - n->file[p],
                             (uint64_t)n->at[p] + outer * piece_row + within, to + done, part, err);
        done += part;
    }
    return status;
}

/* Are all pieces there to their ends? */
static int check_pieces(const assay_decoded *d, const content *c, uint64_t content_bytes, assay_error *err)
{
    const block_note *n = &c->note;
    const uint64_t row = inner_bytes(c) * (uint64_t)n->shape[n->axis], rows = row ? content_bytes / row : 0;
    int status = ASSAY_OK;
    for (int p = 0; p < n->pieces && status == ASSAY_OK; p++) {
        uint64_t size = rows * inner_bytes(c) * (uint64_t)n->size[p];
        uint8_t last;
        if (size > 0)
            status = d->row.read(d->row.context, d->row.files - 1 - n->file[p], (uint64_t)n->at[p] + size - 1, &last, 1,
                                 err);
    }
    return status;
}

static int start_deflated(content *c, const assay_view *view, const assay_record *r, assay_error *err)
{
    c->at = r->offset;
    c->streams = inflateInit(&c->stream) == Z_OK;
    return c->streams ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for a decompressor", view->path);
}

static int make_value(assay_decoded *d, const block_note *n, assay_record *r)
{
    if (assay_decoded_reserve(d, sizeof n->value) != ASSAY_OK)
        return ASSAY_ENOMEM;
    memcpy(d->bytes, &n->value, sizeof n->value);
    d->size = sizeof n->value;
    r->form = ASSAY_CONTENT_TYPED;
    return ASSAY_OK;
}

int blocks_decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *r, assay_error *err)
{
    content *c = d->row.note_size == sizeof c->note ? assay_alloc_zeroed(1, sizeof *c) : NULL;
    int status = ASSAY_OK;
    (void)budget;
    if (!c)
        return assay_fail(err, d->row.note_size ? ASSAY_ENOMEM : ASSAY_EFORMAT, "%s: the index says nothing of it",
                          view->path);
    d->state = c;
    d->state_free = free_content;
    memcpy(&c->note, d->row.note, sizeof c->note);
    c->element = assay_dtype_size(c->note.dtype);
    r->dtype = c->note.dtype;
    r->dims = c->note.dims;
    memcpy(r->shape, c->note.shape, (size_t)r->dims * sizeof *r->shape);
    r->elements = c->note.elements;
    r->content_bytes = r->elements * c->element;
    if (r->length != c->note.length)
        return cut_short(view, r, err);
    d->at = r->offset;
    d->end = r->offset + r->length;
    r->form = c->note.kind == BLOCK_PLAIN ? ASSAY_CONTENT_BYTES : ASSAY_CONTENT_PULLED;
    d->pull = c->note.kind == BLOCK_STRIDED   ? pull_strided
              : c->note.kind == BLOCK_DEFLATE ? pull_deflated
                                              : pull_pieces;
    if (c->note.kind == BLOCK_DEFLATE)
        status = start_deflated(c, view, r, err);
    else if (c->note.kind == BLOCK_PIECES_OF)
        status = check_pieces(d, c, r->content_bytes, err);
    else if (c->note.kind == BLOCK_VALUE)
        status = make_value(d, &c->note, r);
    return status;
}
