/* place.h - a log as the catalog's only place of this format: tables of names, units in order, and their values. */
#pragma once

#include "format/metrics/series.h"

enum { METRICS_UNIT_BYTES = 32, METRICS_ROW_BYTES = 12, METRICS_VECTOR_BYTES = 20 };
#define METRICS_VECTOR_BIT 0x80000000u /* of a row's tag: its value is the number of a tensor */

typedef struct metrics_unit {
    int64_t step;
    uint32_t worker, mode;
    uint64_t first, count; /* rows */
    uint64_t *slot;        /* while the place is made */
} metrics_unit;

typedef struct metrics_units {
    metrics_unit *list; /* by step, worker, mode; the caller frees it */
    size_t count;
} metrics_units;

/* Appends the place of a finished log; `path` is shown for its index. 0 or ASSAY_ENOMEM, with no units. */
int metrics_pack_place(const metrics_log *log, const char *path, metrics_units *out, assay_buf *bytes);
