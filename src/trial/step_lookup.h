/* step_lookup.h - the raw records of a step by their tensors, for comparisons within a step.
 *
 * The rows of a part lie in the order of their files: to find a tensor's row takes a search over all of them. A
 * comparison needs the rows of all tensors, so that one pass a step puts them into a table by tensor. */
#pragma once

#include "trial/index.h"

typedef struct assay_step_lookup {
    const assay_shard *shard;    /* NULL: the table is empty */
    size_t first, end;           /* the parts in the table */
    const assay_entry **entries; /* [tensors] the first raw record of a tensor in those parts; NULL: none */
    uint32_t tensors;
} assay_step_lookup;

/* Fills the table with so many tensors from the parts [first, end) of a shard; the first part that has a tensor counts.
 * Does nothing when the table has these parts already. 0 or ASSAY_ENOMEM. */
int assay_step_lookup_turn(assay_step_lookup *lookup, const assay_shard *shard, size_t first, size_t end,
                           uint32_t tensors);
/* The record of a tensor: true with *out. */
bool assay_step_lookup_find(const assay_step_lookup *lookup, uint32_t tensor, assay_place *out);
/* Empties the table and frees its memory. */
void assay_step_lookup_release(assay_step_lookup *lookup);

/* The records of all workers of a step, by tensor and worker: for comparisons within groups of workers. */
typedef struct assay_step_workers {
    const assay_shard *shard; /* NULL: the table is empty */
    int64_t step;
    struct assay_worker_record *list; /* by (tensor, kind, worker) */
    size_t count, room;
} assay_step_workers;

/* Fills the table with the raw records and pieces of a step; does nothing when it has them. 0 or ASSAY_ENOMEM. */
int assay_step_workers_turn(assay_step_workers *table, const assay_shard *shard, int64_t step);
/* The i-th record of a tensor and kind, in order of workers, of those from worker `from` on: true with *out. */
bool assay_step_workers_find(const assay_step_workers *table, uint32_t tensor, uint32_t kind, uint32_t from, size_t i,
                             assay_place *out);
void assay_step_workers_release(assay_step_workers *table);
