/* compare.c - one pair of tensors, as both are read. Where a map says that a part or the transposed tensor is meant,
 * the second one is brought into the order of the first in memory. */
#include <assay/rule.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "diff/diff.h"

/* A tensor while it is read. */
typedef struct stream {
    assay_reader *reader; /* NULL: all of it is at `piece` */
    const uint8_t *piece;
    size_t size, element;
} stream;

static int refill(stream *s, assay_error *err)
{
    if (s->size >= s->element || !s->reader)
        return ASSAY_OK;
    return assay_reader_content(s->reader, 0, &s->piece, &s->size, err);
}

/* Reads both to their ends, which also verifies them. */
static int feed_all(assay_diff_reading *r, stream *a, stream *b, assay_error *err)
{
    int status = ASSAY_OK;
    while (status == ASSAY_OK) {
        status = refill(a, err);
        if (status == ASSAY_OK)
            status = refill(b, err);
        if (status != ASSAY_OK || a->size == 0 || b->size == 0)
            break;
        const uint64_t of_a = a->size / a->element, of_b = b->size / b->element, n = of_a < of_b ? of_a : of_b;
        assay_differ_feed(&r->differ, a->piece, b->piece, n);
        a->piece += n * a->element;
        a->size -= n * a->element;
        b->piece += n * b->element;
        b->size -= n * b->element;
        assay_progress_add(r->progress, n * (a->element + b->element));
    }
    if (status == ASSAY_OK && (a->size > 0 || b->size > 0))
        return assay_fail(err, ASSAY_EFORMAT, "one of the tensors ends early");
    return status;
}

/* ---- parts ---- */

/* All elements of the record that is open; the caller frees them. */
static int read_whole(assay_reader *reader, const assay_record *record, size_t memory, uint8_t **out, assay_error *err)
{
    if (record->content_bytes > memory / 2)
        return assay_fail(err, ASSAY_EBUDGET,
                          "a part of it, or the transposed tensor, takes %llu bytes in memory: raise --memory",
                          2 * (unsigned long long)record->content_bytes);
    uint8_t *bytes = assay_alloc((size_t)record->content_bytes + 1);
    if (!bytes)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a tensor");
    assay_reader_put_at(reader, bytes);
    const uint8_t *piece = NULL;
    size_t size = 1;
    int status = ASSAY_OK;
    while (status == ASSAY_OK && size > 0)
        status = assay_reader_content(reader, 0, &piece, &size, err);
    if (status == ASSAY_OK)
        *out = bytes;
    else
        free(bytes);
    return status;
}

/* Copies a box of a tensor in C order, its axes turned round where `transposed`. */
static void take_box(const uint8_t *from, const int64_t *shape, const int64_t *first, const int64_t *size, int dims,
                     bool transposed, size_t element, uint8_t *to)
{
    int64_t index[ASSAY_MAX_DIMS] = {0}, stride[ASSAY_MAX_DIMS] = {0};
    uint64_t count = 1;
    for (int d = dims; d-- > 0;)
        stride[d] = d == dims - 1 ? 1 : stride[d + 1] * shape[d + 1];
    for (int d = 0; d < dims; d++)
        count *= (uint64_t)size[d];
    for (uint64_t i = 0; i < count; i++) {
        int64_t at = 0;
        for (int d = 0; d < dims; d++)
            at += (first[d] + index[d]) * stride[d];
        memcpy(to + i * element, from + (size_t)at * element, element);
        for (int k = 0; k < dims; k++) { /* the axis that runs fastest in the copy */
            const int d = transposed ? k : dims - 1 - k;
            if (++index[d] < size[d])
                break;
            index[d] = 0;
        }
    }
}

/* Brings the part that the map means into memory. */
static int take_part(assay_diff_reading *r, const assay_diff_pair *p, const assay_record *record, const int64_t *first,
                     const int64_t *size, uint8_t **out, assay_error *err)
{
    const size_t element = assay_dtype_size(record->dtype);
    uint64_t count = 1;
    uint8_t *whole = NULL;
    int status = read_whole(r->b.records, record, r->options->memory, &whole, err);
    for (int d = 0; d < record->dims; d++)
        count *= (uint64_t)size[d];
    if (status == ASSAY_OK && !(*out = assay_alloc((size_t)count * element + 1)))
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory for a tensor");
    if (status == ASSAY_OK)
        take_box(whole, record->shape, first, size, record->dims, p->map->transposed, element, *out);
    free(whole);
    return status;
}

/* ---- the pair ---- */

static void set_shape(int64_t *to, const int64_t *shape, int dims, bool reversed)
{
    for (int d = 0; d < dims; d++)
        to[d] = shape[reversed ? dims - 1 - d : d];
}

static int compare_records(assay_diff_reading *r, assay_diff_pair *p, const assay_record *a, const assay_record *b,
                           assay_error *err)
{
    int64_t first[ASSAY_MAX_DIMS] = {0}, size[ASSAY_MAX_DIMS];
    const bool transposed = p->map && p->map->transposed, part = p->map && (p->map->ranges > 0 || transposed);
    memcpy(size, b->shape, (size_t)b->dims * sizeof *size);
    if (p->map && !assay_name_map_part(p->map, b->shape, b->dims, first, size))
        return assay_fail(err, ASSAY_EFORMAT, "%s does not have the part that --map means", p->name_b);
    p->dtype_a = a->dtype;
    p->dtype_b = b->dtype;
    p->dims_a = a->dims;
    p->dims_b = b->dims;
    set_shape(p->shape_a, a->shape, a->dims, false);
    set_shape(p->shape_b, size, b->dims, transposed);
    if (a->dims != b->dims || memcmp(p->shape_a, p->shape_b, (size_t)a->dims * sizeof *size) != 0) {
        if (p->apart)
            return assay_fail(err, ASSAY_EFORMAT,
                              "several workers have it, and nothing says how what they have makes one tensor: give "
                              "--topology FILE (see assay topology)");
        p->state = ASSAY_DIFF_SHAPE;
        return ASSAY_OK;
    }
    uint8_t *bytes = NULL;
    int status = part ? take_part(r, p, b, first, size, &bytes, err) : ASSAY_OK;
    if (status == ASSAY_OK) {
        stream of_a = {.reader = r->a.records, .element = assay_dtype_size(a->dtype)};
        stream of_b = {.reader = part ? NULL : r->b.records,
                       .piece = bytes,
                       .size = part ? (size_t)a->elements * assay_dtype_size(b->dtype) : 0,
                       .element = assay_dtype_size(b->dtype)};
        assay_differ_init(&r->differ, a->dtype, b->dtype, &r->options->tolerance);
        status = feed_all(r, &of_a, &of_b, err);
        assay_differ_end(&r->differ);
        p->figures = r->differ.figures;
    }
    free(bytes);
    return status;
}

static int open_both(assay_diff_reading *r, const assay_diff_pair *p, assay_record *a, assay_record *b,
                     assay_error *err)
{
    if (p->unlike)
        return assay_fail(err, ASSAY_EFORMAT,
                          "the topology says that workers have addends of it, or other data by design");
    if (!p->a.entry || !p->b.entry)
        return assay_fail(err, ASSAY_EFORMAT, "%s: it is damaged or missing in this trial",
                          assay_store_location((p->a.entry ? &r->b : &r->a)->trial->store));
    int status = assay_trial_record(&r->a, p->a.part, p->a.entry, a, err);
    if (status == ASSAY_OK)
        status = assay_trial_record(&r->b, p->b.part, p->b.entry, b, err);
    if (status == ASSAY_OK && (a->dtype == ASSAY_STRING) != (b->dtype == ASSAY_STRING))
        return assay_fail(err, ASSAY_EFORMAT, "one has texts, and the other numbers");
    return status;
}

int assay_diff_compare(assay_diff_reading *r, assay_diff_pair *p)
{
    assay_record a, b;
    assay_error err = {""};
    int status = open_both(r, p, &a, &b, &err);
    if (status == ASSAY_OK && a.dtype != ASSAY_STRING)
        status = compare_records(r, p, &a, &b, &err);
    if (status == ASSAY_OK || status == ASSAY_ENOMEM)
        return status;
    p->state = ASSAY_DIFF_UNREAD;
    p->figures = (assay_diff_figures){0};
    p->text = assay_copy_text(err.text);
    return p->text ? ASSAY_OK : ASSAY_ENOMEM;
}
