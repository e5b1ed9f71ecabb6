/* measure_digest.c - DIGEST: a 64-bit hash over dtype, shape and bytes (digest.h). */
#include "tensor/digest.h"
#include "tensor/measure_kind.h"

static int start(assay_meter *m, assay_error *err)
{
    assay_digest_begin(meter_state(m), m->dtype, m->dims, m->dim);
    return ASSAY_OK;
}

static bool feed_raw(assay_meter *m, const meter_piece *piece)
{
    assay_digest_add(meter_state(m), piece->bytes, (size_t)piece->elements * assay_dtype_size(m->dtype));
    return true;
}

static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    result->of.digest = assay_digest_end(meter_state(m), m->elements);
    return ASSAY_OK;
}

const meter_kind meter_digest = {sizeof(assay_digest), start, feed_raw, NULL, end};
