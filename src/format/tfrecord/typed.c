/* typed.c - decodes the typed fields of TensorProto. */
#include "format/tfrecord/typed.h"

#include <string.h>

#include "base/fault.h"
#include "trial/read_budget.h"

enum { STRING_VAL = 8, FLOAT8_VAL = 18 };

/* Where a dtype's values are: the field, the wire type of one, and how many make an element. */
typedef struct field_use {
    int dtype;
    uint32_t number;
    unsigned type;
    unsigned parts;
    bool is_signed;
} field_use;

static const field_use uses[] = {
    {ASSAY_FLOAT32, 5, ASSAY_WIRE_FIXED32, 1, false},
    {ASSAY_FLOAT64, 6, ASSAY_WIRE_FIXED64, 1, false},
    {ASSAY_INT32, 7, ASSAY_WIRE_VARINT, 1, true},
    {ASSAY_INT16, 7, ASSAY_WIRE_VARINT, 1, true},
    {ASSAY_INT8, 7, ASSAY_WIRE_VARINT, 1, true},
    {ASSAY_UINT16, 7, ASSAY_WIRE_VARINT, 1, false},
    {ASSAY_UINT8, 7, ASSAY_WIRE_VARINT, 1, false},
    {ASSAY_COMPLEX64, 9, ASSAY_WIRE_FIXED32, 2, false},
    {ASSAY_INT64, 10, ASSAY_WIRE_VARINT, 1, true},
    {ASSAY_BOOL, 11, ASSAY_WIRE_VARINT, 1, false},
    {ASSAY_COMPLEX128, 12, ASSAY_WIRE_FIXED64, 2, false},
    {ASSAY_FLOAT16, 13, ASSAY_WIRE_VARINT, 1, false},
    {ASSAY_BFLOAT16, 13, ASSAY_WIRE_VARINT, 1, false},
    {ASSAY_UINT32, 16, ASSAY_WIRE_VARINT, 1, false},
    {ASSAY_UINT64, 17, ASSAY_WIRE_VARINT, 1, false},
    {ASSAY_FLOAT8_E5M2, FLOAT8_VAL, ASSAY_WIRE_BYTES, 1, false},
    {ASSAY_FLOAT8_E4M3FN, FLOAT8_VAL, ASSAY_WIRE_BYTES, 1, false},
};

/* A decoding under way. */
typedef struct decoding {
    assay_decoded *typed;
    assay_view *view;
    const assay_record *record;
    const field_use *use;
    size_t size;     /* bytes of one value in memory */
    uint64_t count;  /* values so far */
    uint64_t needed; /* values that the shape asks for */
    assay_error *err;
} decoding;

static int fail(const assay_view *view, const assay_record *r, int status, const char *what, assay_error *err)
{
    return assay_fail(err, status, "%s: offset %llu: %s (%llu elements of %s)", view->path,
                      (unsigned long long)r->offset, what, (unsigned long long)r->elements, assay_dtype_name(r->dtype));
}

/* Brings the bits of a varint to the dtype's width; false when the value does not fit. */
static bool narrow(const decoding *d, uint64_t *bits)
{
    if (d->use->type != ASSAY_WIRE_VARINT || d->size == 8)
        return true;
    if (d->record->dtype == ASSAY_BOOL) {
        *bits = *bits != 0;
        return true;
    }
    const unsigned width = 8 * (unsigned)d->size;
    if (!d->use->is_signed)
        return *bits >> width == 0;
    if (d->use->number == 7) /* int_val is int32: protobuf drops what is above */
        *bits = (*bits & 0x80000000u) ? *bits | 0xffffffff00000000u : *bits & 0xffffffffu;
    uint64_t above = *bits >> (width - 1);
    return above == 0 || above == UINT64_MAX >> (width - 1);
}

static int put_value(decoding *d, uint64_t bits)
{
    if (d->count == d->needed)
        return fail(d->view, d->record, ASSAY_EFORMAT, "the tensor has more values than its shape asks for", d->err);
    if (!narrow(d, &bits))
        return fail(d->view, d->record, ASSAY_EFORMAT, "a value of the tensor does not fit its dtype", d->err);
    uint8_t *to = d->typed->bytes + d->count++ * d->size;
    for (size_t i = 0; i < d->size; i++)
        to[i] = (uint8_t)(bits >> (8 * i));
    return ASSAY_OK;
}

/* One value from packed bytes; returns the bytes it took, 0 when they do not suffice. */
static size_t take_value(unsigned type, const uint8_t *bytes, size_t size, uint64_t *bits)
{
    if (type == ASSAY_WIRE_VARINT)
        return assay_varint(bytes, size, bits);
    size_t take = type == ASSAY_WIRE_FIXED32 ? 4 : type == ASSAY_WIRE_FIXED64 ? 8 : 1;
    *bits = 0;
    if (size < take)
        return 0;
    for (size_t i = 0; i < take; i++)
        *bits |= (uint64_t)bytes[i] << (8 * i);
    return take;
}

/* The packed values in [at, end): any number of looks, each of which ends between two values. */
static int put_packed(decoding *d, uint64_t at, uint64_t end)
{
    while (at < end) {
        size_t size = 0, used = 0;
        int status = ASSAY_OK;
        const uint8_t *bytes = assay_view_look(d->view, at, end, &size, &status, d->err);
        if (!bytes)
            return status;
        /* ten bytes hold any value: with fewer left and more to come, look again from there */
        while (used < size && (size - used >= 10 || at + size == end)) {
            uint64_t bits = 0;
            size_t take = take_value(d->use->type, bytes + used, size - used, &bits);
            if (take == 0)
                return fail(d->view, d->record, ASSAY_EFORMAT, "a list of values is cut within a value", d->err);
            ASSAY_TRY(status = put_value(d, bits));
            used += take;
        }
        at += used;
    }
    return ASSAY_OK;
}

static int put_field(decoding *d, const assay_wire *w, const assay_wire_field *f)
{
    if (f->type == ASSAY_WIRE_BYTES)
        return put_packed(d, f->at, f->end);
    int status = assay_wire_expect(w, f, d->use->type, d->err);
    return status == ASSAY_OK ? put_value(d, f->value) : status;
}

/* Repeats the one element that is there over all of them, doubling what is copied. */
static void repeat(uint8_t *bytes, size_t element, size_t size)
{
    for (size_t done = element; done < size;) {
        size_t more = done < size - done ? done : size - done;
        memcpy(bytes + done, bytes, more);
        done += more;
    }
}

/* Where one value stands for many, reading takes time by the elements, and not by the record's bytes. */
static int check_share(const assay_view *view, const assay_record *r, assay_error *err)
{
    return r->elements / ASSAY_READ_BUDGET_A_BYTE <= r->length
               ? ASSAY_OK
               : fail(view, r, ASSAY_EFORMAT, "one value stands for too many elements", err);
}

int assay_typed_numbers(assay_decoded *t, assay_view *view, const assay_record_parts *parts, const assay_record *r,
                        size_t budget, assay_error *err)
{
    if (check_share(view, r, err) != ASSAY_OK)
        return ASSAY_EFORMAT;
    if (r->content_bytes > budget)
        return fail(view, r, ASSAY_EBUDGET, "the tensor's values need more memory than the budget allows", err);
    if (assay_decoded_reserve(t, r->content_bytes) != ASSAY_OK)
        return fail(view, r, ASSAY_ENOMEM, "out of memory for the tensor's values", err);
    t->size = r->content_bytes;
    if (!parts->has_tensor) {
        for (int i = 0; i < 4; i++)
            t->bytes[i] = (uint8_t)(parts->simple >> (8 * i));
        return ASSAY_OK;
    }
    const field_use *use = uses;
    while (use->dtype != r->dtype) /* every dtype but strings has its line */
        use++;
    decoding d = {t, view, r, use, assay_dtype_size(r->dtype) / use->parts, 0, r->elements * use->parts, err};
    assay_wire w = {view, "TensorProto", parts->tensor_at, parts->tensor_end};
    assay_wire_field f;
    int more;
    while ((more = assay_wire_next(&w, &f, err)) == 1) {
        ASSAY_TRY(f.number == use->number ? put_field(&d, &w, &f) : ASSAY_OK);
    }
    if (more < 0)
        return more;
    if (d.count == use->parts && d.needed > d.count)
        repeat(t->bytes, d.size * use->parts, t->size);
    else if (d.count != d.needed)
        return fail(view, r, ASSAY_EFORMAT,
                    d.count ? "the tensor has fewer values than its shape asks for" : "the tensor has no content", err);
    return ASSAY_OK;
}

/* Adds the bytes of one string behind the others. */
static int put_string(decoding *d, const assay_wire_field *f, size_t budget)
{
    assay_decoded *t = d->typed;
    uint64_t length = f->end - f->at;
    if (d->count == d->needed)
        return fail(d->view, d->record, ASSAY_EFORMAT, "the tensor has more strings than its shape asks for", d->err);
    if (length > budget - t->size)
        return fail(d->view, d->record, ASSAY_EBUDGET, "the strings need more memory than the budget allows", d->err);
    if (assay_decoded_reserve(t, t->size + (size_t)length) != ASSAY_OK)
        return fail(d->view, d->record, ASSAY_ENOMEM, "out of memory for the strings", d->err);
    t->texts[d->count++] = (assay_text_place){t->size, (size_t)length};
    int status = assay_view_copy(d->view, f->at, f->end, t->bytes + t->size, d->err);
    t->size += (size_t)length;
    return status;
}

static int reserve_texts(assay_decoded *t, size_t count)
{
    if (count <= t->text_room)
        return ASSAY_OK;
    assay_text_place *grown = assay_realloc_array(t->texts, count, sizeof *grown);
    ASSAY_HAVE(grown);
    t->texts = grown;
    t->text_room = count;
    return ASSAY_OK;
}

int assay_typed_strings(assay_decoded *t, assay_view *view, const assay_record_parts *parts, assay_record *r,
                        size_t budget, assay_error *err)
{
    if (check_share(view, r, err) != ASSAY_OK)
        return ASSAY_EFORMAT;
    if (r->elements > budget / sizeof *t->texts)
        return fail(view, r, ASSAY_EBUDGET, "the strings need more memory than the budget allows", err);
    if (reserve_texts(t, (size_t)r->elements) != ASSAY_OK || assay_decoded_reserve(t, 1) != ASSAY_OK)
        return fail(view, r, ASSAY_ENOMEM, "out of memory for the strings", err);
    t->size = 0;
    budget -= (size_t)r->elements * sizeof *t->texts;
    decoding d = {t, view, r, NULL, 0, 0, r->elements, err};
    assay_wire w = {view, "TensorProto", parts->tensor_at, parts->tensor_end};
    assay_wire_field f;
    int more;
    while ((more = assay_wire_next(&w, &f, err)) == 1) {
        int status = ASSAY_OK;
        if (f.number == STRING_VAL)
            status = assay_wire_expect(&w, &f, ASSAY_WIRE_BYTES, err);
        if (f.number == STRING_VAL && status == ASSAY_OK)
            status = put_string(&d, &f, budget);
        ASSAY_TRY(status);
    }
    if (more < 0)
        return more;
    if (d.count != d.needed && d.count != 1)
        return fail(view, r, ASSAY_EFORMAT, "the tensor has fewer strings than its shape asks for", err);
    r->content_bytes = t->size;
    for (; d.count < d.needed; d.count++) {
        t->texts[d.count] = t->texts[0];
        r->content_bytes += t->texts[0].length; /* budget bounds both factors: no overflow */
    }
    return ASSAY_OK;
}
