/* tfevent.h - writes protobuf fields and the records of event files that TensorBoard reads: a TFRecord frame around an
 * Event.
 *
 * Failures stay in the buffer. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

#include "tfrecord/frame.h" /* bytes of the frame before and behind a message */
#include "tfrecord/wire.h"  /* wire types */

/* A number as a varint; the key of a field. */
void assay_pb_put_varint(assay_buf *out, uint64_t value);
void assay_pb_put_key(assay_buf *out, int field, int wire);
/* A length-delimited field: its key, its length, its bytes. */
void assay_pb_put_field(assay_buf *out, int field, const void *bytes, size_t size);
/* A varint field; nothing for 0, the default of every such field. */
void assay_pb_put_int(assay_buf *out, int field, int64_t value);
/* Bytes that a varint takes, and a length-delimited field of `size` bytes whose number is below 16. */
size_t assay_pb_varint_size(uint64_t value);
uint64_t assay_pb_field_size(uint64_t size);

/* The head of the frame around a message of so many bytes, with its checksum. */
void assay_tfevent_put_frame(assay_buf *out, uint64_t message);
/* An Event up to its summary's only value, whose `value` bytes follow; and the bytes of the whole message. */
void assay_tfevent_put_start(assay_buf *out, double wall_time, int64_t step, uint64_t value);
uint64_t assay_tfevent_size(int64_t step, uint64_t value);

/* Keeps place for the head of a frame and returns where it begins; the end frames all that was appended since, with
 * true checksums. */
size_t assay_tfevent_begin(assay_buf *out);
void assay_tfevent_end(assay_buf *out, size_t start);

/* Whole framed records: what an event file begins with, and one scalar (kept as a float of 32 bits). */
void assay_tfevent_put_version(assay_buf *out, double wall_time);
void assay_tfevent_put_scalar(assay_buf *out, double wall_time, int64_t step, const char *tag, double value);
