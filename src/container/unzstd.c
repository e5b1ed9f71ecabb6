/* unzstd.c - unzstd.h by libzstd: the one place that meets it. */
#include "container/unzstd.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/fault.h"

struct assay_unzstd {
    ZSTD_DCtx *context;
};

const char *assay_unzstd_version(void)
{
    return ZSTD_versionString();
}

assay_unzstd *assay_unzstd_new(void)
{
    assay_unzstd *s = assay_alloc_zeroed(1, sizeof *s);
    if (!s)
        return NULL;
    s->context = ZSTD_createDCtx();
    if (s->context && !ZSTD_isError(ZSTD_DCtx_setParameter(s->context, ZSTD_d_windowLogMax, ASSAY_UNZSTD_WINDOW_LOG)))
        return s;
    assay_unzstd_free(s);
    return NULL;
}

void assay_unzstd_free(assay_unzstd *s)
{
    if (!s)
        return;
    ZSTD_freeDCtx(s->context);
    free(s);
}

int assay_unzstd_next(assay_unzstd *s, assay_unzstd_flow *flow, bool *whole)
{
    ZSTD_inBuffer in = {flow->in, flow->in_size, 0};
    ZSTD_outBuffer out = {flow->out, flow->out_size, 0};
    size_t left = 1;
    do {
        const size_t before = in.pos + out.pos;
        left = ZSTD_decompressStream(s->context, &out, &in);
        if (ZSTD_isError(left)) {
            const ZSTD_ErrorCode code = ZSTD_getErrorCode(left);
            return code == ZSTD_error_frameParameter_windowTooLarge ? ASSAY_EBUDGET
                   : code == ZSTD_error_memory_allocation           ? ASSAY_ENOMEM
                                                                    : ASSAY_EFORMAT;
        }
        if (in.pos + out.pos == before)
            break;
    } while (in.pos < in.size && out.pos < out.size);
    flow->in += in.pos;
    flow->in_size -= in.pos;
    flow->out += out.pos;
    flow->out_size -= out.pos;
    *whole = left == 0 && in.pos == in.size;
    return ASSAY_OK;
}
