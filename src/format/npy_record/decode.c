/* decode.c - one .npy file: magic, version, header, elements.
 *
 * Elements in C order and the machine's byte order are handed out from the file as they lie. Others are made on their
 * way: swapped piece by piece, or, in Fortran order, put in C order in memory as a whole. */
#include "format/npy_record/decode.h"

#include <string.h>

static const uint8_t MAGIC[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

static int wrong(const assay_view *view, const assay_record *r, uint64_t at, const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EFORMAT, "%s: offset %llu: %s", view->path, (unsigned long long)(r->offset + at),
                      what);
}

/* Where the header's text lies: magic, two bytes of version, its length in two or four bytes. */
static int find_header(assay_view *view, const assay_record *r, uint64_t *at, uint64_t *size, assay_error *err)
{
    uint8_t head[12] = {0};
    int status = assay_view_copy(view, r->offset, r->offset + ASSAY_NPY_LEAST, head, err);
    ASSAY_TRY(status);
    if (memcmp(head, MAGIC, sizeof MAGIC) != 0)
        return wrong(view, r, 0, "not a .npy file: it does not begin with \\x93NUMPY", err);
    if (head[6] < 1 || head[6] > 3)
        return assay_fail(err, ASSAY_EFORMAT, "%s: offset 6: version %u of the .npy format is not read", view->path,
                          head[6]);
    const uint64_t wide = head[6] > 1 ? 12 : 10;
    if (r->length < wide)
        return wrong(view, r, 8, "the file is cut short in its header", err);
    if (wide == 12)
        status = assay_view_copy(view, r->offset + 10, r->offset + 12, head + 10, err);
    *at = wide;
    *size = (uint64_t)head[8] | (uint64_t)head[9] << 8 | (uint64_t)head[10] << 16 | (uint64_t)head[11] << 24;
    if (status == ASSAY_OK && *size > ASSAY_NPY_HEADER)
        return wrong(view, r, 8, "the header has more than 1 MiB", err);
    if (status == ASSAY_OK && *size > r->length - wide)
        return wrong(view, r, 8, "the file is cut short in its header", err);
    return status;
}

static int read_head(assay_decoded *d, assay_view *view, const assay_record *r, assay_npy_head *head, uint64_t *data,
                     assay_error *err)
{
    uint64_t at = 0, size = 0;
    size_t place = 0;
    assay_error what = {{0}};
    ASSAY_TRY(find_header(view, r, &at, &size, err));
    if (assay_decoded_reserve(d, (size_t)size) != ASSAY_OK)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for its header", view->path);
    ASSAY_TRY(assay_view_copy(view, r->offset + at, r->offset + at + size, d->bytes, err));
    *data = at + size;
    int status = assay_npy_head_read((const char *)d->bytes, (size_t)size, assay_trial_options_void_dtypes(d->options),
                                     head, &place, &what);
    return status == ASSAY_OK ? status : wrong(view, r, at + place, what.text, err);
}

/* The number of elements, and of their bytes, which must be the rest of the file. */
static int check_size(const assay_view *view, const assay_npy_head *head, uint64_t data, assay_record *r,
                      assay_error *err)
{
    uint64_t count = 0, bytes = 0;
    if (!assay_npy_head_sizes(head, &count, &bytes))
        return wrong(view, r, data, "the dimensions multiply to more than 64 bits can count", err);
    if (bytes != r->length - data)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: offset %llu: the shape asks for %llu elements of %s (%llu bytes), but %llu bytes follow "
                          "the header: %s",
                          view->path, (unsigned long long)data, (unsigned long long)count,
                          assay_dtype_name(head->dtype), (unsigned long long)bytes,
                          (unsigned long long)(r->length - data),
                          bytes > r->length - data ? "the file is cut short, or not written to its end yet"
                                                   : "what is behind the elements is not theirs");
    r->elements = count;
    r->content_bytes = bytes;
    return ASSAY_OK;
}

/* Bytes of a number: an element, or half a complex one. */
static size_t width_of(int dtype)
{
    return assay_dtype_size(dtype) / (dtype == ASSAY_COMPLEX64 || dtype == ASSAY_COMPLEX128 ? 2 : 1);
}

static int pull_swapped(assay_decoded *d, assay_view *view, uint64_t at, uint8_t *to, size_t size, assay_error *err)
{
    int status = assay_view_copy(view, d->at + at, d->at + at + size, to, err);
    if (status == ASSAY_OK)
        assay_swap_numbers(to, size, d->number);
    return status;
}

/* Does it matter which dimension varies fastest? */
static bool is_ordered(const assay_npy_head *head)
{
    int wide = 0;
    for (int i = 0; i < head->dims; i++)
        wide += head->shape[i] > 1;
    return head->fortran && wide > 1;
}

/* Puts the elements, which come with the first dimension varying fastest, where they belong in C order. */
static int transpose(assay_decoded *d, assay_view *view, const assay_npy_head *head, const assay_record *r, uint64_t at,
                     assay_error *err)
{
    const size_t element = assay_dtype_size(head->dtype);
    uint64_t stride[ASSAY_MAX_DIMS], place[ASSAY_MAX_DIMS] = {0}, to = 0;
    stride[head->dims - 1] = element;
    for (int i = head->dims - 1; i > 0; i--)
        stride[i - 1] = stride[i] * (uint64_t)head->shape[i];
    for (uint64_t done = 0; done < r->content_bytes;) {
        size_t size = 0;
        int status = ASSAY_OK;
        /* A look gives at least 64 bytes, so a whole element. */
        const uint8_t *from = assay_view_look(view, at + done, at + r->content_bytes, &size, &status, err);
        if (!from)
            return status;
        size -= size % element;
        for (size_t i = 0; i < size; i += element) {
            memcpy(d->bytes + to, from + i, element);
            to += stride[0];
            for (int k = 0; ++place[k] == (uint64_t)head->shape[k] && k + 1 < head->dims; k++) {
                place[k] = 0;
                to = to - stride[k] * (uint64_t)head->shape[k] + stride[k + 1];
            }
        }
        done += size;
    }
    return ASSAY_OK;
}

static int decode_fortran(assay_decoded *d, assay_view *view, const assay_npy_head *head, assay_record *r, uint64_t at,
                          size_t budget, assay_error *err)
{
    if (r->content_bytes > budget)
        return assay_fail(
            err, ASSAY_EBUDGET,
            "%s: the tensor's %llu bytes are in Fortran order and must be put in C order in memory, which "
            "has room for %zu: raise --memory, or save it in C order",
            view->path, (unsigned long long)r->content_bytes, budget);
    if (assay_decoded_reserve(d, (size_t)r->content_bytes) != ASSAY_OK)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory for its elements", view->path);
    int status = transpose(d, view, head, r, at, err);
    if (status == ASSAY_OK && head->swapped)
        assay_swap_numbers(d->bytes, (size_t)r->content_bytes, width_of(head->dtype));
    r->form = ASSAY_CONTENT_TYPED;
    d->size = (size_t)r->content_bytes;
    return status;
}

int assay_npy_decode(assay_decoded *d, assay_view *view, size_t budget, assay_record *r, assay_error *err)
{
    assay_npy_head head = {0};
    uint64_t data = 0;
    int status = read_head(d, view, r, &head, &data, err);
    ASSAY_THEN(status, check_size(view, &head, data, r, err));
    ASSAY_TRY(status);
    r->dtype = head.dtype;
    r->dims = head.dims;
    memcpy(r->shape, head.shape, (size_t)head.dims * sizeof *r->shape);
    if (is_ordered(&head) && r->elements > 0)
        return decode_fortran(d, view, &head, r, r->offset + data, budget, err);
    d->at = r->offset + data;
    d->end = d->at + r->content_bytes;
    r->form = head.swapped ? ASSAY_CONTENT_PULLED : ASSAY_CONTENT_BYTES;
    d->pull = head.swapped ? pull_swapped : NULL;
    d->number = width_of(head.dtype);
    return ASSAY_OK;
}
