/* incomplete.h - the steps that some worker never wrote. */
#ifndef ASSAY_ENGINE_INCOMPLETE_H
#define ASSAY_ENGINE_INCOMPLETE_H

#include "engine/engine.h"

/* Lists the steps that are not complete, by the catalog's units; `info` has the steps and what modes each worker writes
 * in.
 *
 * A worker is expected at every step of the modes that it writes in. One that writes in no step of a mode (often rank 0
 * alone evaluates) is expected there only where it has stopped writing and the mode is not one worker's own. A worker
 * that never wrote is expected everywhere.
 *
 * The caller frees each `missing` and the list, also after a failure. 0 or ASSAY_ENOMEM. */
int assay_incomplete_find(const assay_trial *info, const assay_catalog *catalog, assay_incomplete **list,
                          size_t *count);

#endif
