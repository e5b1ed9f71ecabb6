/* lookahead.h - measures large tensors of the next steps before their turn, while their references are in memory.
 *
 * How it works:
 *   1. A rank goes from step to step, so a tensor is compared with what was read a whole step ago. A large model does
 *      not fit the reference cache, and each of its tensors would be read twice.
 *   2. So after measuring a large tensor whose content is in the cache, the rank also measures the same tensor of the
 *      next few steps. Each is compared with the one before, whose content is then released: two or three contents are
 *      in memory at a time.
 *   3. The results wait as bytes, with the memory that the step will be charged for them (step_work.h).
 *   4. In the step's turn they are unpacked instead of reading the record, provided that the step has room for them.
 *      Otherwise, or if anything was wrong, the record is read again in its turn, which reports the problem.
 * So a content is read twice only at the borders of such strips of steps. */
#pragma once

#include "engine/map/file_pool.h"
#include "engine/map/step_work.h"

typedef struct assay_lookahead assay_lookahead;

/* Results that wait take at most about `memory` bytes; measuring as much again, and what the step has left. NULL
 * without memory. */
assay_lookahead *assay_lookahead_new(const assay_map_source *source, size_t memory);
/* NULL is ignored. */
void assay_lookahead_free(assay_lookahead *a);

/* Begins with the source, after leaving the one before. 0 or ASSAY_ENOMEM. */
int assay_lookahead_enter(assay_lookahead *a);
void assay_lookahead_leave(assay_lookahead *a);
/* From now on only steps before this position in the source's steps are measured early. */
void assay_lookahead_until(assay_lookahead *a, uint64_t end);

/* After a raw record of the step was measured: measures the same tensor of the same worker in the next steps, if that
 * saves reading. The pool's main file is the same before and after. 0 or ASSAY_ENOMEM. */
int assay_lookahead_measure(assay_lookahead *a, assay_file_pool *pool, const assay_step_work *work,
                            const assay_step_record *of, const assay_tensor_result *result);

/* Bytes of the records whose results wait, of a step by its position in the source's steps. */
uint64_t assay_lookahead_bytes(const assay_lookahead *a, uint64_t step);
/* Does the result of an entry of the step wait? */
bool assay_lookahead_has(const assay_lookahead *a, const assay_step_work *work, const assay_entry *entry);
/* Takes it into the entry's result; *taken is false when there is none or the step has no room for it. 0, ASSAY_ENOMEM
 * or ASSAY_EINTERNAL. */
int assay_lookahead_take(assay_lookahead *a, assay_step_work *work, const assay_entry *entry,
                         assay_tensor_result *result, bool *taken);
/* The step was read: what still waits of it is forgotten. */
void assay_lookahead_end_step(assay_lookahead *a, const assay_step_work *work);
