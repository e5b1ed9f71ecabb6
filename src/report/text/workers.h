/* workers.h - lists of workers in few words. */
#pragma once

#include "trial/worker_names.h"

/* Appends "all 4 workers", or the names of `count` workers (ascending numbers), runs of worker_K joined
 * ("worker_0-2"). */
void assay_worker_names_put(const assay_worker_names *names, const uint32_t *worker, size_t count, assay_buf *out);
