/* step_lookup.h - the raw records of a step by their tensors, for comparisons within a step.
 *
 * Rows of a part lie in the order of their files, so that finding one by its tensor means to look at all of them. Who
 * asks for one asks for the others, too: they are put by tensor once for a step, in one pass. */
#ifndef ASSAY_TRIAL_STEP_LOOKUP_H
#define ASSAY_TRIAL_STEP_LOOKUP_H

#include "trial/index.h"

typedef struct assay_step_lookup {
    const assay_shard *shard;    /* NULL: nothing is looked up so far */
    size_t first, end;           /* the parts that are */
    const assay_entry **entries; /* [tensors] the first raw record of a tensor in those parts; NULL: none */
    uint32_t tensors;
} assay_step_lookup;

/* Looks so many tensors up in the parts [first, end) of a shard, the first part that has one first; nothing happens
 * when these were looked up last. 0 or ASSAY_ENOMEM. */
int assay_step_lookup_turn(assay_step_lookup *lookup, const assay_shard *shard, size_t first, size_t end,
                           uint32_t tensors);
/* The record of a tensor: true with *out. */
bool assay_step_lookup_find(const assay_step_lookup *lookup, uint32_t tensor, assay_place *out);
/* Forgets the parts; its memory is freed. */
void assay_step_lookup_release(assay_step_lookup *lookup);

#endif
