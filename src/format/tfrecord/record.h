/* record.h - what the payload of a record says: Event, Summary, Value, TensorProto. Inside trial only. */
#pragma once

#include "trial/record.h"
#include "tfrecord/wire.h"

/* Where things lie in the payload: file offsets. */
typedef struct assay_record_parts {
    uint64_t time_end, step_end;          /* where what is said of time and step ends; 0: nothing is said */
    uint64_t mode_step_at, mode_step_end; /* the digits of the record's mode_step; 0: it is not said */
    uint64_t tag_at, tag_end;
    uint64_t node_at,
        node_end; /* node_name: libassay_hook says there which worker recorded it; equal: nothing is said */
    bool has_tensor, has_simple;
    uint32_t simple; /* the bits of simple_value */
    uint64_t tensor_at, tensor_end;
    uint64_t content_at, content_end; /* tensor_content */
    bool unknown_rank;
    uint64_t dtype;
    int dims;
    int64_t shape[ASSAY_MAX_DIMS];
} assay_record_parts;

/* Walks the Event in [at, end) and fills `parts` and the record's wall_time, step, mode and mode_step. Of several
 * values the first with a tensor counts, or else the first with a simple_value. ASSAY_EFORMAT when there is neither. */
int assay_record_walk(assay_view *view, uint64_t at, uint64_t end, assay_record_parts *parts, assay_record *record,
                      assay_error *err);

/* Walks a TensorProto alone, which is the bytes [at, end). ASSAY_EFORMAT. */
int assay_record_walk_tensor(assay_view *view, uint64_t at, uint64_t end, assay_record_parts *parts, assay_error *err);

/* Fills the record's dtype, shape, elements, content_bytes (0 for strings) and form, and checks that they fit together.
 */
int assay_record_describe(const assay_view *view, const assay_record_parts *parts, assay_record *record,
                          assay_error *err);
