/* combine.h - the ordered combine: partial results of chunks are joined by a binary tree over chunk numbers.
 *
 * How it works:
 *   1. Node (level l, index i) covers the chunks [i * 2^l, (i + 1) * 2^l) of one trial and is made of (l - 1, 2i) and
 *      (l - 1, 2i + 1). A node without a right child is its left one. The tree depends only on the number of chunks, so
 *      the bracketing of sums is the same at any number of ranks.
 *   2. While a rank maps, it joins siblings as soon as it has both. It holds no more than about 2 log2(chunks) nodes.
 *   3. At the end the ranks go up level by level. A right child travels, packed, to the rank that has the first chunk
 *      of its left sibling: at most log2(chunks) messages per rank. Messages go only to lower ranks and in the same
 *      order of levels, so no two ranks wait for each other.
 *   4. The root ends on rank 0. */
#pragma once

#include "parallel/comm.h"
#include "engine/reduce/partial.h"
#include "engine/plan/plan.h"

typedef struct assay_combiner_node {
    unsigned level;
    uint64_t index;
    assay_partial partial;
} assay_combiner_node;

typedef struct assay_combiner { /* of one trial on one rank */
    const assay_rule *rules;
    uint32_t rule_count;
    uint64_t chunks;           /* of the trial */
    assay_combiner_node *held; /* ascending in chunks */
    size_t count, room;
} assay_combiner;

/* Of a trial of so many chunks; `rules` are borrowed. Release frees the nodes that are held. Not collective. */
void assay_combiner_init(assay_combiner *combiner, const assay_rule *rules, uint32_t rule_count, uint64_t chunks);
void assay_combiner_release(assay_combiner *combiner);

/* Takes a node that was made before; its chunks must follow those added before. Takes over the node's contents. Returns
 * 0 or ASSAY_ENOMEM. Not collective. */
int assay_combiner_add_node(assay_combiner *combiner, unsigned level, uint64_t index, assay_partial *partial);
/* Takes the result of a chunk (numbered within the trial), which must follow the chunk added before; takes over the
 * node's contents. Returns 0 or ASSAY_ENOMEM. Not collective. */
int assay_combiner_add(assay_combiner *combiner, uint64_t chunk, assay_partial *partial);

/* Joins what all ranks hold; the whole trial's node ends on rank 0, in *whole (initialised; untouched elsewhere, and
 * where the trial has no chunks). Every rank must have added all its chunks. `status` is how this rank fared with the
 * trials before; a failed rank takes part, and the caller agrees after the last trial. Collective. */
int assay_combiner_finish(assay_comm *comm, const assay_plan *plan, uint32_t source, assay_combiner *combiner,
                          int status, assay_partial *whole, assay_error *err);
