/* incomplete.h - the steps that some worker never wrote. */
#pragma once

#include "trial/catalog.h"

typedef struct assay_incomplete { /* a step that some worker never wrote */
    int64_t step;
    uint32_t *missing; /* worker numbers below assay_named_workers(), ascending; owned */
    uint32_t missing_count;
    uint32_t unnamed; /* workers that are missing too, and that nothing else is known of */
} assay_incomplete;

/* Of the workers that never wrote a file so many are named in lists; the others are counted: how many a trial says
 * there should be is a number that anybody can write down. */
enum { ASSAY_ABSENT_NAMED = 64 };
static inline uint32_t assay_named_workers(const assay_catalog *catalog)
{
    uint32_t absent = catalog->expected_workers - catalog->workers;
    return catalog->workers + (absent < ASSAY_ABSENT_NAMED ? absent : ASSAY_ABSENT_NAMED);
}

/* Lists the steps that are not complete, by the catalog's units. `steps` are the trial's, ascending; `worker_modes` has
 * for each worker the modes that it writes in (bit 1 << mode), NULL: not known.
 *
 * A worker is expected at every step of the modes that it writes in. One that writes in no step of a mode (often rank 0
 * alone evaluates) is expected there only where it has stopped writing and the mode is not one worker's own. A worker
 * that never wrote is expected everywhere.
 *
 * The caller frees each `missing` and the list, also after a failure. 0 or ASSAY_ENOMEM. */
int assay_incomplete_find(const assay_catalog *catalog, const assay_step_info *steps, uint64_t step_count,
                          const uint8_t *worker_modes, assay_incomplete **list, size_t *count);
