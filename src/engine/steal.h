/* steal.h - steps that move from a rank that is behind to one that is done with its own.
 *
 * The plan deals steps out by what they are expected to cost. A processor that other work shares, a slow disk or values
 * that cost more make that wrong, and then one rank would wait for another.
 *
 * How it works:
 *   1. A rank that is done asks its neighbours, one at a time, for work, and says how long its own took for what it was
 *      expected to cost.
 *   2. The one that is asked looks at its next chunk border. Of the chunks that it has not begun it gives the last ones
 *      away, as many as the two speeds say and as it has room for the results of, or none. The entries of their steps
 *      go along, with what look-back needs.
 *   3. The one that asked measures the records, step by step, and sends the results: states, problems, checkpoints and
 *      the order in which results are combined stay with the rank that has the chunks.
 *   4. That rank takes them when it comes to those steps, where one rank alone would have come to the same
 *      (split_step.h), and else measures the step itself. So no byte of the report depends on what moved.
 *   5. A rank that nobody has work for tells rank 0 so. When all have, rank 0 tells everyone, and nobody asks any more.
 * Nobody waits in a circle: a rank asks only when nothing of its own is waiting to be taken. Not with checkpoints,
 * which all ranks write at chunk borders, nor with comparisons between trials, nor while trials are watched. */
#pragma once

#include "engine/map/mapper.h"

enum { ASSAY_STEALS_MOST = 8 }; /* whose results a rank may have to keep at a time */

/* Chunks that moved to another rank, and what it measured. */
typedef struct assay_stolen_chunks {
    int rank;
    uint64_t first, end; /* end 0: none */
    size_t room;         /* for the results */
    bool came;
    assay_buf results;
    assay_cursor from, part;
    assay_measured_steps steps; /* over these two */
} assay_stolen_chunks;

typedef struct assay_steal {
    assay_comm *comm;
    const assay_plan *plan;
    assay_sources *sources;
    assay_mapper *mapper;
    int ended;     /* rank 0: ranks that found no more work */
    double start;  /* of this rank's chunks, by the clock */
    uint64_t cost; /* of those that are done */
    uint64_t end;  /* this rank's chunks from here on moved, or are shared */
    assay_stolen_chunks stolen[ASSAY_STEALS_MOST];
    assay_buf sent; /* to a rank that was behind, on its way */
} assay_steal;

/* Begins with this rank's chunks, of which those before `end` may move. Nothing moves unless plan->moves. Not
 * collective. */
void assay_steal_begin(assay_steal *m, assay_comm *comm, const assay_plan *plan, assay_sources *sources,
                       assay_mapper *mapper, uint64_t end);
void assay_steal_release(assay_steal *m);

/* At a chunk border: gives chunks away if another rank asked, chunk `at` being the next. 0, ASSAY_ENOMEM or
 * ASSAY_EMPI. */
int assay_steal_border(assay_steal *m, uint64_t at);
/* Before chunk `at` is mapped: if it moved, waits for what was measured of it and lets the mapper take that. */
int assay_steal_before(assay_steal *m, uint64_t at);
/* Chunk `at` was mapped. */
void assay_steal_after(assay_steal *m, uint64_t at);
/* This rank is done with its chunks, or has failed: works for others, and waits until all are done. `status` is how it
 * fared so far; one that failed only answers. Returns `status`, or what went wrong. Every rank calls it. */
int assay_steal_finish(assay_steal *m, int status, assay_error *err);
