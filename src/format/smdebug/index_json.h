/* index_json.h - the text of one index file as plain values (docs/format.md). Inside trial only. */
#pragma once

#include "base/json_pull.h"
#include "trial/problem.h"

typedef struct assay_index_item { /* one item of tensor_payload or shape_payload */
    const char *name;             /* not terminated */
    uint32_t length;
    uint32_t at;              /* the item's offset in the text */
    int64_t start, size;      /* tensor_payload: the record's range, as it is in the file */
    uint32_t first_dim, dims; /* shape_payload: into dims */
} assay_index_item;

typedef struct assay_index_items {
    assay_index_item *item;
    size_t count, room;
} assay_index_items;

/* One file's contents; its texts point into the text that was read, or into the scanner. Kept over files for its
 * memory. Of a text that is larger than 4 GiB nothing is read: that is a fault. */
typedef struct assay_index_doc {
    assay_pull pull;
    int mode;
    int64_t mode_step;
    const char *event; /* event_file_name, not terminated; NULL: not given */
    size_t event_length;
    assay_index_items tensors, shapes;
    int64_t *dims;
    size_t dim_count, dim_room;
    bool pieces; /* a tensor is said to be a piece of a larger one */
} assay_index_doc;

/* Reads a text. What is wrong in an item becomes a problem that names `file` (of step `step`), offset and key, and the
 * item is left out; negative dimensions and more than ASSAY_MAX_DIMS are wrong, ranges are not looked at. Returns 0, 1
 * when the file cannot be used (a problem says why), or ASSAY_ENOMEM. Start with a zeroed document. */
int assay_index_json_read(assay_index_doc *doc, const char *file, int64_t step, const void *text, size_t size,
                          assay_problems *problems);
void assay_index_json_release(assay_index_doc *doc);
