/* Any bytes as a file that assay verify looks into (src/verify/archive.c): zip and tar files, pickles at any depth. */
#include "walk_archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    walk_archive(data, size);
    return 0;
}
