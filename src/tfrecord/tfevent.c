/* tfevent.c - protobuf fields and TFRecord frames around an Event. */
#include "tfrecord/tfevent.h"

#include <string.h>

#include "base/crc32c.h"

/* Sizes are computed before anything is written, because protobuf puts the length of a message in front of it. */
size_t assay_pb_varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

void assay_pb_put_varint(assay_buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        assay_put_u8(out, (uint8_t)(value | 0x80));
    assay_put_u8(out, (uint8_t)value);
}

void assay_pb_put_key(assay_buf *out, int field, int wire)
{
    assay_pb_put_varint(out, (uint64_t)(field << 3 | wire));
}

void assay_pb_put_field(assay_buf *out, int field, const void *bytes, size_t size)
{
    assay_pb_put_key(out, field, ASSAY_WIRE_BYTES);
    assay_pb_put_varint(out, size);
    assay_put_bytes(out, bytes, size);
}

/* Protobuf leaves out a number that is 0. */
void assay_pb_put_int(assay_buf *out, int field, int64_t value)
{
    if (value) {
        assay_pb_put_key(out, field, ASSAY_WIRE_VARINT);
        assay_pb_put_varint(out, (uint64_t)value);
    }
}

uint64_t assay_pb_field_size(uint64_t size)
{
    return 1 + assay_pb_varint_size(size) + size;
}

void assay_tfevent_put_frame(assay_buf *out, uint64_t message)
{
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(message >> 8 * i);
    assay_put_bytes(out, length, sizeof length);
    assay_put_u32(out, assay_crc32c_mask(assay_crc32c(0, length, sizeof length)));
}

/* Numbers of fields are those of TensorFlow's event.proto and summary.proto: 1 wall_time, 2 step, 5 summary, and in
 * it 1 value. */
void assay_tfevent_put_start(assay_buf *out, double wall_time, int64_t step, uint64_t value)
{
    assay_pb_put_key(out, 1, ASSAY_WIRE_FIXED64);
    assay_put_f64(out, wall_time);
    assay_pb_put_int(out, 2, step);
    assay_pb_put_key(out, 5, ASSAY_WIRE_BYTES);
    assay_pb_put_varint(out, assay_pb_field_size(value));
    assay_pb_put_key(out, 1, ASSAY_WIRE_BYTES);
    assay_pb_put_varint(out, value);
}

/* 9: the key and the eight bytes of wall_time. */
uint64_t assay_tfevent_size(int64_t step, uint64_t value)
{
    return 9 + (step ? 1 + assay_pb_varint_size((uint64_t)step) : 0) + assay_pb_field_size(assay_pb_field_size(value));
}

void assay_tfevent_end(assay_buf *out, size_t start)
{
    if (assay_buf_status(out) < 0)
        return;
    size_t message = out->size - start - ASSAY_FRAME_HEAD;
    uint32_t crc = assay_crc32c_mask(assay_crc32c(0, out->data + start + ASSAY_FRAME_HEAD, message));
    size_t end = out->size;
    out->size = start; /* the header's place was kept free: it is written over now that the length is known */
    assay_tfevent_put_frame(out, message);
    out->size = end;
    assay_put_u32(out, crc);
}

size_t assay_tfevent_begin(assay_buf *out)
{
    static const uint8_t nothing[ASSAY_FRAME_HEAD];
    size_t start = out->size;
    assay_put_bytes(out, nothing, sizeof nothing);
    return start;
}

void assay_tfevent_put_version(assay_buf *out, double wall_time)
{
    /* TensorBoard takes a file for an event file only when its first event has this version. */
    static const char version[] = "brain.Event:2";
    size_t start = assay_tfevent_begin(out);
    assay_pb_put_key(out, 1, ASSAY_WIRE_FIXED64);
    assay_put_f64(out, wall_time);
    assay_pb_put_field(out, 3, version, strlen(version));
    assay_tfevent_end(out, start);
}

void assay_tfevent_put_scalar(assay_buf *out, double wall_time, int64_t step, const char *tag, double value)
{
    /* TensorBoard's scalars are floats of 32 bits. */
    float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    size_t start = assay_tfevent_begin(out), size = strlen(tag);
    assay_tfevent_put_start(out, wall_time, step, assay_pb_field_size(size) + 5);
    assay_pb_put_field(out, 1, tag, size);
    assay_pb_put_key(out, 2, ASSAY_WIRE_FIXED32);
    assay_put_u32(out, bits);
    assay_tfevent_end(out, start);
}
