/* no_zstd.c - unzstd.h in a build without libzstd. */
#include "container/unzstd.h"

const char *assay_unzstd_version(void)
{
    return NULL;
}

assay_unzstd *assay_unzstd_new(void)
{
    return NULL;
}

void assay_unzstd_free(assay_unzstd *stream)
{
}

int assay_unzstd_next(assay_unzstd *stream, assay_unzstd_flow *flow, bool *whole)
{
    return ASSAY_EUNSUPPORTED;
}
