/* encode.c - protobuf and TFRecord framing, written by hand for the few messages of the format. */
#include "hook/encode.h"

#include <stdio.h>
#include <string.h>

#include "base/crc32c.h"
#include "tfrecord/tfevent.h"

enum { NUMBER_TEXT = 24, DIM_NAME = 4096 + NUMBER_TEXT };

static void put_plugin(assay_buf *out, const char *name, int64_t content)
{
    char text[NUMBER_TEXT];
    snprintf(text, sizeof text, "%lld", (long long)content);
    size_t name_size = strlen(name), text_size = strlen(text);
    assay_pb_put_key(out, 1, ASSAY_WIRE_BYTES);
    assay_pb_put_varint(out, assay_pb_field_size(name_size) + assay_pb_field_size(text_size));
    assay_pb_put_field(out, 1, name, name_size);
    assay_pb_put_field(out, 2, text, text_size);
}

static void put_metadata(assay_buf *out, const hook_record *r)
{
    char text[NUMBER_TEXT];
    uint64_t step = assay_pb_field_size(strlen("mode_step")) +
                    assay_pb_field_size((size_t)snprintf(text, sizeof text, "%lld", (long long)r->mode_step));
    uint64_t mode =
        assay_pb_field_size(strlen("mode")) + assay_pb_field_size((size_t)snprintf(text, sizeof text, "%d", r->mode));
    assay_pb_put_key(out, 9, ASSAY_WIRE_BYTES);
    assay_pb_put_varint(out, assay_pb_field_size(step) + assay_pb_field_size(mode));
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
        uint64_t size =
            assay_pb_field_size(stored) + (r->shape[d] ? 1 + assay_pb_varint_size((uint64_t)r->shape[d]) : 0);
        assay_pb_put_key(out, 2, ASSAY_WIRE_BYTES);
        assay_pb_put_varint(out, size);
        assay_pb_put_int(out, 1, r->shape[d]);
        assay_pb_put_field(out, 2, name, stored);
    }
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
    const size_t tag = strlen(r->tag), worker = r->worker ? strlen(r->worker) : 0;
    uint64_t tensor = (r->dtype ? 2 : 0) + assay_pb_field_size(scratch->size) + inner;
    uint64_t value =
        assay_pb_field_size(tag) + (worker ? assay_pb_field_size(worker) : 0) + assay_pb_field_size(tensor) + metadata;
    uint64_t message = assay_tfevent_size(r->step, value);
    if (message >= HOOK_MESSAGE_CEILING)
        return 0;
    assay_tfevent_put_frame(head, message);
    assay_tfevent_put_start(head, r->wall_time, r->step, value);
    assay_pb_put_field(head, 1, r->tag, tag);
    if (worker)
        assay_pb_put_field(head, 7, r->worker, worker);
    assay_pb_put_key(head, 8, ASSAY_WIRE_BYTES);
    assay_pb_put_varint(head, tensor);
    assay_pb_put_int(head, 1, r->dtype);
    assay_pb_put_field(head, 2, scratch->data, scratch->size);
    return message;
}

static uint64_t metadata_size(const hook_record *r, assay_buf *scratch)
{
    assay_buf_clear(scratch);
    put_metadata(scratch, r);
    return scratch->size;
}

/* Puts what stands behind a record's content into the tail. The bytes of the whole message; 0: memory ran out, which the
 * buffers remember while they are filled. */
static uint64_t end_record(const hook_record *r, uint64_t message, assay_buf *head, assay_buf *tail)
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
    uint64_t message = put_head(r, r->content ? assay_pb_field_size(r->content) : 0, metadata, head, tail);
    if (message && r->content) {
        assay_pb_put_key(head, 4, ASSAY_WIRE_BYTES);
        assay_pb_put_varint(head, r->content);
    }
    return message ? end_record(r, message, head, tail) : 0;
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
        inner += assay_pb_field_size(text_length(at));
        at += 8 + text_length(at);
    }
    uint64_t message = inner >= HOOK_MESSAGE_CEILING ? 0 : put_head(r, inner, metadata, head, tail);
    at = texts;
    for (int64_t i = 0; message && i < r->shape[0]; i++) {
        assay_pb_put_field(head, 8, at + 8, text_length(at));
        at += 8 + text_length(at);
    }
    return message ? end_record(r, message, head, tail) : 0;
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

static void put_doubles(assay_buf *out, int field, const double *values, size_t count)
{
    assay_pb_put_key(out, field, ASSAY_WIRE_BYTES);
    assay_pb_put_varint(out, 8 * count);
    for (size_t i = 0; i < count; i++)
        assay_put_f64(out, values[i]);
}

void hook_encode_histogram(assay_buf *out, double wall_time, int64_t step, const char *tag, const hook_histogram *h)
{
    const double figures[] = {h->min, h->max, h->count, h->sum, h->squares};
    size_t start = assay_tfevent_begin(out), size = strlen(tag);
    uint64_t inner = 5 * 9 + 2 * assay_pb_field_size(8 * h->buckets);
    assay_tfevent_put_start(out, wall_time, step, assay_pb_field_size(size) + assay_pb_field_size(inner));
    assay_pb_put_field(out, 1, tag, size);
    assay_pb_put_key(out, 5, ASSAY_WIRE_BYTES);
    assay_pb_put_varint(out, inner);
    for (int i = 0; i < 5; i++) {
        assay_pb_put_key(out, i + 1, ASSAY_WIRE_FIXED64);
        assay_put_f64(out, figures[i]);
    }
    put_doubles(out, 6, h->limits, h->buckets);
    put_doubles(out, 7, h->counts, h->buckets);
    assay_tfevent_end(out, start);
}
