/* encode.h - the bytes of one record of an event file: a TFRecord frame around a protobuf Event.
 *
 * A record of a tensor has three parts so that the content is never copied: the bytes before it (including the frame
 * header), the content, and the bytes after it. hook_encode_footer() adds the footer's checksum. Fields are ordered by
 * number and zero values left out: the reference's writer gives the same bytes for the same record. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

#include "tfrecord/tfevent.h"

enum { HOOK_FRAME_HEADER = ASSAY_FRAME_HEAD, HOOK_FRAME_FOOTER = ASSAY_FRAME_FOOT, HOOK_RECORD_CEILING = 4 << 20 };
/* Protobuf readers refuse messages of 2 GiB. */
#define HOOK_MESSAGE_CEILING ((uint64_t)0x7fffffff)

typedef struct hook_record {
    const char *tag;
    const char *worker; /* who records it; NULL: nobody is named */
    int64_t step, mode_step;
    int mode;         /* assay_hook_mode */
    double wall_time; /* seconds since 1970 */
    int dtype, ndim;
    const int64_t *shape; /* ndim entries */
    uint64_t content;     /* bytes */
} hook_record;

/* Writes the frame header and all of the message before the content into `head`, the rest of the message into `tail`
 * (both are cleared first). Returns the message's size, or 0 when it would reach HOOK_MESSAGE_CEILING or a buffer
 * failed. */
uint64_t hook_encode_tensor(const hook_record *record, assay_buf *head, assay_buf *tail);

/* The same for a string tensor: `texts` are `record->shape[0]` times (u64 length, bytes). All goes into `head`. */
uint64_t hook_encode_strings(const hook_record *record, const void *texts, assay_buf *head, assay_buf *tail);

/* The masked CRC-32C as it stands in the file; with `constant`, the reference's own, which checks nothing. */
uint32_t hook_encode_footer(const assay_buf *head, const void *content, uint64_t size, const assay_buf *tail,
                            bool constant);

typedef struct hook_histogram {
    double min, max, count, sum, squares;
    const double *limits, *counts; /* `buckets` each; limits are upper ones */
    size_t buckets;
} hook_histogram;

/* Appends a whole framed record, with true checksums, for TensorBoard. */
void hook_encode_histogram(assay_buf *out, double wall_time, int64_t step, const char *tag, const hook_histogram *h);
