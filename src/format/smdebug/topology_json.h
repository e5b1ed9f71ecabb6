/* topology_json.h - the files topology/<worker>.json (docs/format.md): where a worker is, and which pieces of tensors
 * it has. Inside this folder, and for tests. */
#pragma once

#include "trial/problem.h"
#include "topology/pieces.h"

enum { ASSAY_TOPOLOGY_JSON_MOST = 64 << 20 /* bytes of a file; a larger one is a problem */ };

/* Adds what one worker's file says. What cannot be used becomes a problem that names the file and the place, and the
 * rest counts. 0 or ASSAY_ENOMEM. */
int assay_topology_json_add(assay_said *said, uint32_t worker, const char *file, const void *text, size_t size,
                            assay_problems *problems);
