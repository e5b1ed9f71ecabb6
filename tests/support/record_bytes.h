/* record_bytes.h - writes records as the hooks do, and as they never should. */
#ifndef ASSAY_TESTS_RECORD_BYTES_H
#define ASSAY_TESTS_RECORD_BYTES_H

#include <assay/pack.h>
#include <assay/tensor.h>

#include <string.h>

#include "base/crc32c.h"

static inline assay_buf bytes_new(void)
{
    assay_buf b;
    assay_buf_init(&b, (size_t)1 << 30);
    return b;
}

static inline void put_varint(assay_buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        assay_put_u8(b, (uint8_t)(v | 0x80));
    assay_put_u8(b, (uint8_t)v);
}

static inline void put_key(assay_buf *b, unsigned number, unsigned type)
{
    put_varint(b, (uint64_t)number << 3 | type);
}

static inline void put_number(assay_buf *b, unsigned number, uint64_t v)
{
    put_key(b, number, 0);
    put_varint(b, v);
}

static inline void put_field(assay_buf *b, unsigned number, const void *bytes, size_t size)
{
    put_key(b, number, 2);
    put_varint(b, size);
    assay_put_bytes(b, bytes, size);
}

/* A message as a field; the inner buffer is released. */
static inline void put_message(assay_buf *b, unsigned number, assay_buf inner)
{
    put_field(b, number, inner.data, inner.size);
    assay_buf_release(&inner);
}

static inline void put_shape(assay_buf *tensor, int dims, const int64_t *dim)
{
    assay_buf shape = bytes_new();
    for (int i = 0; i < dims; i++) {
        assay_buf one = bytes_new();
        put_number(&one, 1, (uint64_t)dim[i]);
        put_message(&shape, 2, one);
    }
    put_message(tensor, 2, shape);
}

/* dtype, shape and content (NULL: none) of a TensorProto. */
static inline assay_buf tensor_bytes(int dtype, int dims, const int64_t *dim, const void *content, size_t size)
{
    assay_buf t = bytes_new();
    if (dtype)
        put_number(&t, 1, (uint64_t)dtype);
    put_shape(&t, dims, dim);
    if (content)
        put_field(&t, 4, content, size);
    return t;
}

static inline void put_plugin(assay_buf *metadata, const char *name, const char *content)
{
    assay_buf p = bytes_new();
    put_field(&p, 1, name, strlen(name));
    put_field(&p, 2, content, strlen(content));
    put_message(metadata, 1, p);
}

/* An Event with one Value "tag" that holds the tensor (released), in mode EVAL at mode step 7, global step 42. */
static inline assay_buf event_bytes(const char *tag, assay_buf tensor)
{
    assay_buf value = bytes_new(), summary = bytes_new(), event = bytes_new(), metadata = bytes_new();
    put_field(&value, 1, tag, strlen(tag));
    put_message(&value, 8, tensor);
    put_plugin(&metadata, "mode_step", "7");
    put_plugin(&metadata, "mode", "2");
    put_message(&value, 9, metadata);
    put_message(&summary, 1, value);
    put_key(&event, 1, 1);
    assay_put_f64(&event, 1234.5);
    put_number(&event, 2, 42);
    put_message(&event, 5, summary);
    return event;
}

/* Frames a payload (released) behind what `file` holds. Returns the record's length. */
static inline uint64_t put_record(assay_buf *file, assay_buf payload, bool true_crc)
{
    size_t before = file->size;
    assay_put_u64(file, payload.size);
    assay_put_u32(file, assay_crc32c_mask(assay_crc32c(0, file->data + before, 8)));
    assay_put_bytes(file, payload.data, payload.size);
    assay_put_u32(file, true_crc ? assay_crc32c_mask(assay_crc32c(0, payload.data, payload.size)) : 0x062dc0b3u);
    assay_buf_release(&payload);
    return file->size - before;
}

#endif
