/* encode.c - protobuf and TFRecord framing, written by hand for the few messages of the format. */
#include "hook/encode.h"

#include <stdio.h>
#include <string.h>

#include "tensor/crc32c.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { NUMBER_TEXT = 24, DIM_NAME = 4096 + NUMBER_TEXT };

static size_t varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

static void put_varint(assay_buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        assay_put_u8(out, (uint8_t)(value | 0x80));
    assay_put_u8(out, (uint8_t)value);
}

static void put_key(assay_buf *out, int field, int wire)
{
    put_varint(out, (uint64_t)(field << 3 | wire));
}

static void put_field(assay_buf *out, int field, const void *bytes, size_t size)
{
    put_key(out, field, BYTES);
    put_varint(out, size);
    assay_put_bytes(out, bytes, size);
}

static void put_int(assay_buf *out, int field, int64_t value)
{
    if (value) {
        put_key(out, field, VARINT);
        put_varint(out, (uint64_t)value);
    }
}

/* Bytes of a length-delimited field of `size` bytes; every field number here is below 16. */
static uint64_t field_size(uint64_t size)
{
    return 1 + varint_size(size) + size;
}

static void put_plugin(assay_buf *out, const char *name, int64_t content)
{
    char text[NUMBER_TEXT];
    snprintf(text, sizeof text, "%lld", (long long)content);
    size_t name_size = strlen(name), text_size = strlen(text);
    put_key(out, 1, BYTES);
    put_varint(out, field_size(name_size) + field_size(text_size));
    put_field(out, 1, name, name_size);
    put_field(out, 2, text, text_size);
}

static void put_metadata(assay_buf *out, const hook_record *r)
{
    char text[NUMBER_TEXT];
    uint64_t step = field_size(strlen("mode_step")) +
                    field_size((size_t)snprintf(text, sizeof text, "%lld", (long long)r->mode_step));
    uint64_t mode = field_size(strlen("mode")) + field_size((size_t)snprintf(text, sizeof text, "%d", r->mode));
    put_key(out, 9, BYTES);
    put_varint(out, field_size(step) + field_size(mode));
    put_plugin(out, "mode_step", r->mode_step);
    put_plugin(out, "mode", r->mode);
}

/* TensorShapeProto: each extent with the name the reference gives it, "<tag>_<extent>". */
static void put_shape(assay_buf *out, const hook_record *r)
{
    for (int d = 0; d < r->ndim; d++) {
        char name[DIM_NAME];
        int name_size = snprintf(name, sizeof name, "%s_%lld", r->tag, (long long)r->shape[d]);
        size_t stored = name_size < (int)sizeof name ? (size_t)name_size : sizeof name - 1;
        uint64_t size = field_size(stored) + (r->shape[d] ? 1 + varint_size((uint64_t)r->shape[d]) : 0);
        put_key(out, 2, BYTES);
        put_varint(out, size);
        put_int(out, 1, r->shape[d]);
        put_field(out, 2, name, stored);
    }
}

static void put_frame_header(assay_buf *out, uint64_t message)
{
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(message >> 8 * i);
    assay_put_bytes(out, length, sizeof length);
    assay_put_u32(out, assay_crc32c_mask(assay_crc32c(0, length, sizeof length)));
}

/* Event up to the summary's payload, whose only value of `value` bytes follows. */
static void put_event(assay_buf *out, double wall_time, int64_t step, uint64_t value)
{
    put_key(out, 1, FIXED64);
    assay_put_f64(out, wall_time);
    put_int(out, 2, step);
    put_key(out, 5, BYTES);
    put_varint(out, field_size(value));
    put_key(out, 1, BYTES);
    put_varint(out, value);
}

static uint64_t event_size(int64_t step, uint64_t value)
{
    return 9 + (step ? 1 + varint_size((uint64_t)step) : 0) + field_size(field_size(value));
}

/* The message of `record` whose TensorProto, apart from dtype and shape, has `inner` bytes. `tail` is used to build the
 * shape first, because its length stands before it; the caller then puts what follows the content there. */
static uint64_t put_head(const hook_record *r, uint64_t inner, uint64_t metadata, assay_buf *head, assay_buf *scratch)
{
    assay_buf_clear(head);
    assay_buf_clear(scratch);
    put_shape(scratch, r);
    if (assay_buf_status(scratch) < 0)
        return 0;
    size_t tag = strlen(r->tag);
    uint64_t tensor = (r->dtype ? 2 : 0) + field_size(scratch->size) + inner;
    uint64_t value = field_size(tag) + field_size(tensor) + metadata;
    uint64_t message = event_size(r->step, value);
    if (message >= HOOK_MESSAGE_CEILING)
        return 0;
    put_frame_header(head, message);
    put_event(head, r->wall_time, r->step, value);
    put_field(head, 1, r->tag, tag);
    put_key(head, 8, BYTES);
    put_varint(head, tensor);
    put_int(head, 1, r->dtype);
    put_field(head, 2, scratch->data, scratch->size);
    return message;
}

static uint64_t metadata_size(const hook_record *r, assay_buf *scratch)
{
    assay_buf_clear(scratch);
    put_metadata(scratch, r);
    return scratch->size;
}

static uint64_t finish(const hook_record *r, uint64_t message, assay_buf *head, assay_buf *tail)
{
    assay_buf_clear(tail);
    put_metadata(tail, r);
    return assay_buf_status(head) < 0 || assay_buf_status(tail) < 0 ? 0 : message;
}

uint64_t hook_encode_tensor(const hook_record *r, assay_buf *head, assay_buf *tail)
{
    if (r->content >= HOOK_MESSAGE_CEILING)
        return 0;
    uint64_t metadata = metadata_size(r, tail);
    uint64_t message = put_head(r, r->content ? field_size(r->content) : 0, metadata, head, tail);
    if (message && r->content) {
        put_key(head, 4, BYTES);
        put_varint(head, r->content);
    }
    return message ? finish(r, message, head, tail) : 0;
}

static uint64_t text_length(const uint8_t *at)
{
    uint64_t length;
    memcpy(&length, at, sizeof length);
    return length;
}

uint64_t hook_encode_strings(const hook_record *r, const void *texts, assay_buf *head, assay_buf *tail)
{
    uint64_t metadata = metadata_size(r, tail), inner = 0;
    const uint8_t *at = texts;
    for (int64_t i = 0; i < r->shape[0]; i++) {
        inner += field_size(text_length(at));
        at += 8 + text_length(at);
    }
    uint64_t message = inner >= HOOK_MESSAGE_CEILING ? 0 : put_head(r, inner, metadata, head, tail);
    at = texts;
    for (int64_t i = 0; message && i < r->shape[0]; i++) {
        put_field(head, 8, at + 8, text_length(at));
        at += 8 + text_length(at);
    }
    return message ? finish(r, message, head, tail) : 0;
}

uint32_t hook_encode_footer(const assay_buf *head, const void *content, uint64_t size, const assay_buf *tail,
                            bool constant)
{
    if (constant)
        return assay_crc32c_mask(assay_crc32c(0, "0x12345678", 10));
    uint32_t crc = assay_crc32c(0, head->data + HOOK_FRAME_HEADER, head->size - HOOK_FRAME_HEADER);
    if (size)
        crc = assay_crc32c(crc, content, size);
    if (tail && tail->size)
        crc = assay_crc32c(crc, tail->data, tail->size);
    return assay_crc32c_mask(crc);
}

/* Frames what was appended to `out` from `start` + header on. */
static void end_record(assay_buf *out, size_t start)
{
    if (assay_buf_status(out) < 0)
        return;
    size_t message = out->size - start - HOOK_FRAME_HEADER;
    uint32_t crc = assay_crc32c_mask(assay_crc32c(0, out->data + start + HOOK_FRAME_HEADER, message));
    size_t end = out->size;
    out->size = start; /* the header's place was kept free: it is written over now that the length is known */
    put_frame_header(out, message);
    out->size = end;
    assay_put_u32(out, crc);
}

static size_t begin_record(assay_buf *out)
{
    static const uint8_t nothing[HOOK_FRAME_HEADER];
    size_t start = out->size;
    assay_put_bytes(out, nothing, sizeof nothing);
    return start;
}

void hook_encode_version(assay_buf *out, double wall_time)
{
    static const char version[] = "brain.Event:2";
    size_t start = begin_record(out);
    put_key(out, 1, FIXED64);
    assay_put_f64(out, wall_time);
    put_field(out, 3, version, strlen(version));
    end_record(out, start);
}

void hook_encode_scalar(assay_buf *out, double wall_time, int64_t step, const char *tag, double value)
{
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    size_t start = begin_record(out), size = strlen(tag);
    put_event(out, wall_time, step, field_size(size) + 5);
    put_field(out, 1, tag, size);
    put_key(out, 2, FIXED32);
    assay_put_u32(out, bits);
    end_record(out, start);
}

static void put_doubles(assay_buf *out, int field, const double *values, size_t count)
{
    put_key(out, field, BYTES);
    put_varint(out, 8 * count);
    for (size_t i = 0; i < count; i++)
        assay_put_f64(out, values[i]);
}

void hook_encode_histogram(assay_buf *out, double wall_time, int64_t step, const char *tag, const hook_histogram *h)
{
    const double figures[] = {h->min, h->max, h->count, h->sum, h->squares};
    size_t start = begin_record(out), size = strlen(tag);
    uint64_t inner = 5 * 9 + 2 * field_size(8 * h->buckets);
    put_event(out, wall_time, step, field_size(size) + field_size(inner));
    put_field(out, 1, tag, size);
    put_key(out, 5, BYTES);
    put_varint(out, inner);
    for (int i = 0; i < 5; i++) {
        put_key(out, i + 1, FIXED64);
        assay_put_f64(out, figures[i]);
    }
    put_doubles(out, 6, h->limits, h->buckets);
    put_doubles(out, 7, h->counts, h->buckets);
    end_record(out, start);
}
