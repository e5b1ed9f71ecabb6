/* describe.c - does what a TensorProto says fit together? */
#include <string.h>

#include "format/tfrecord/record.h"

enum { DT_STRING = 7, LAST_DTYPE = ASSAY_FLOAT8_E4M3FN /* that records have */ };

/* The number of elements; ASSAY_EFORMAT when the bytes they take cannot be counted in 63 bits. */
static int count_elements(const assay_view *view, assay_record *r, size_t element, assay_error *err)
{
    uint64_t count = 1, bytes = 0;
    bool over = false, empty = false;
    for (int i = 0; i < r->dims; i++) {
        if (r->shape[i] < 0)
            return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: dimension %d of the tensor is unknown (%lld)",
                              view->path, (unsigned long long)r->offset, i, (long long)r->shape[i]);
        empty = empty || r->shape[i] == 0;
        over = over || __builtin_mul_overflow(count, (uint64_t)r->shape[i], &count);
    }
    if (empty) {
        count = 0;
        over = false;
    }
    over = over || __builtin_mul_overflow(count, element ? element : 1, &bytes) || bytes > INT64_MAX;
    if (over)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: offset %llu: the tensor's dimensions multiply to more than 64 bits can count",
                          view->path, (unsigned long long)r->offset);
    r->elements = count;
    return ASSAY_OK;
}

static int describe_simple(assay_record *r)
{
    r->dtype = ASSAY_FLOAT32;
    r->dims = 0;
    r->elements = 1;
    r->content_bytes = 4;
    r->form = ASSAY_CONTENT_TYPED;
    return ASSAY_OK;
}

int assay_record_describe(const assay_view *view, const assay_record_parts *p, assay_record *r, assay_error *err)
{
    const unsigned long long offset = r->offset, content = p->content_end - p->content_at;
    if (!p->has_tensor)
        return describe_simple(r);
    uint64_t number = p->dtype == DT_STRING ? (uint64_t)ASSAY_STRING : p->dtype;
    if (number > LAST_DTYPE || !assay_dtype_known((int)number))
        return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: dtype %llu is not known; the tensor cannot be read",
                          view->path, offset, (unsigned long long)number);
    if (p->unknown_rank)
        return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: the tensor's shape is unknown", view->path, offset);
    r->dtype = (int)number;
    r->dims = p->dims;
    if (p->dims)
        memcpy(r->shape, p->shape, (size_t)p->dims * sizeof *r->shape);
    const size_t element = assay_dtype_size(r->dtype);
    ASSAY_TRY(count_elements(view, r, element, err));
    r->content_bytes = r->elements * element;
    if (r->dtype == ASSAY_STRING)
        r->form = ASSAY_CONTENT_STRINGS;
    else
        r->form = content > 0 || r->elements == 0 ? ASSAY_CONTENT_BYTES : ASSAY_CONTENT_TYPED;
    if (r->dtype == ASSAY_STRING ? content > 0 : r->form == ASSAY_CONTENT_BYTES && content != r->content_bytes)
        return assay_fail(
            err, ASSAY_EFORMAT,
            "%s: offset %llu: the tensor's shape asks for %llu elements of %s (%llu bytes), but its content "
            "has %llu bytes",
            view->path, offset, (unsigned long long)r->elements, assay_dtype_name(r->dtype),
            (unsigned long long)r->content_bytes, content);
    return ASSAY_OK;
}
