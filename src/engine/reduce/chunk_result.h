/* chunk_result.h - the packed result of a chunk, for an application that keeps results from one run to the next. */
#pragma once

#include "engine/reduce/partial.h"

typedef struct assay_chunk_result {
    uint64_t chunk;
    bool losses;           /* part of what the trial promises for it could not be read */
    const uint8_t *packed; /* the partial state as assay_partial_pack() wrote it; in the cursor's memory */
    uint64_t size;
} assay_chunk_result;

/* Appends the result of a chunk. 0 or the failure of a rule's pack. */
int assay_chunk_result_put(uint64_t chunk, const assay_partial *partial, const assay_rule *rules, assay_buf *out);
/* Reads the next one. 0, or ASSAY_EFORMAT when the bytes end too early. */
int assay_chunk_result_get(assay_cursor *in, assay_chunk_result *out);
