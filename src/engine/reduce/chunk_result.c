/* chunk_result.c - see chunk_result.h. */
#include "engine/reduce/chunk_result.h"

int assay_chunk_result_put(uint64_t chunk, const assay_partial *partial, const assay_rule *rules, assay_buf *out)
{
    assay_put_u64(out, chunk);
    assay_put_u8(out, partial->problems.losses > 0);
    size_t at = out->size;
    assay_put_u64(out, 0);
    int status = assay_partial_pack(partial, rules, out);
    if (status == ASSAY_OK && assay_buf_status(out) == ASSAY_OK)
        assay_buf_set_u64(out, at, out->size - at - 8);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

int assay_chunk_result_get(assay_cursor *in, assay_chunk_result *out)
{
    out->chunk = assay_get_u64(in);
    out->losses = assay_get_u8(in) != 0;
    out->size = assay_get_u64(in);
    out->packed = out->size <= assay_cursor_left(in) ? assay_get_bytes(in, (size_t)out->size) : NULL;
    return in->failed || !out->packed ? ASSAY_EFORMAT : ASSAY_OK;
}
