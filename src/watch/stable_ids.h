/* stable_ids.h - the numbers of a watched trial's tensors. Inside watch only. */
#pragma once

#include "base/dict.h"

typedef struct watched_ids { /* zero to begin with */
    uint32_t *name;          /* [count] by number: the id among all names, ASSAY_NO_ID in a gap */
    uint32_t count;
    uint8_t *placed; /* [known] by id: the name has a number */
    uint32_t known;
    uint32_t gap;
    uint64_t generation; /* counts how often all numbers changed */
} watched_ids;

/* Frees the numbers; they are zero afterwards. */
void assay_watch_ids_release(watched_ids *numbers);

/* Adds to `out`, which is empty, the names in order of their numbers: those of `all` that are wanted[id], those that
 * were in earlier calls, and fillers of gaps. new_id[id] gets the number of each. Numbers stay what they were unless
 * `generation` changes. 0 or ASSAY_ENOMEM. */
int assay_watch_number(watched_ids *numbers, const assay_dict *all, const uint8_t *wanted, assay_dict *out,
                       uint32_t *new_id);
