/* origin.h - which file the parts of a file were written as. Inside this folder only. */
#pragma once

#include "verify/judge.h"

/* Adds a remark where the entry of the zip file at `path` is of another rank's file of the same checkpoint, which lies
 * beside it: torch.save() puts each entry below the name of the file that it writes. ASSAY_OK or ASSAY_ENOMEM. */
int assay_verify_origin(assay_store *store, const char *path, int64_t step, const char *entry,
                        assay_verify_remarks *remarks);
