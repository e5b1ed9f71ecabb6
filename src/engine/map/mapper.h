/* mapper.h - one rank's work on its chunks: every record is read once, run through the statistics and all measures that
 * any rule wants of it, and given to every rule's map. No MPI inside.
 *
 * How it works:
 *   1. assay_mapper_run_chunk() goes through the steps of a chunk.
 *   2. step_reader.h reads the records of a step in the order in which they lie in their files, which
 *      file_pool.h keeps open.
 *   3. record.h measures each of them: statistics and measures (measures.h) in one pass. Comparisons find the
 *      other record by reference.h; its content may be in the reference_cache.h.
 *   4. Some results come from elsewhere: measured while an earlier step was read (lookahead.h), or by another rank
 *      (split_step.h). Where ranks divide the tensors, all do: assay_mapper_measure() comes first then.
 *   5. step_work.h has the results of the step and decides whether they fit the memory.
 *   6. step_map.h gives them to the rules; where a step has the same numbers of a log as an earlier one, at once
 *      (repeats.h). What these make of the chunk's steps goes to the combiner.
 * Each of these files includes only those before it, in the order that .ci/check-tree.py gives (ORDER). */
#pragma once

#include "engine/map/repeats.h"
#include "engine/map/split_step.h"
#include "engine/plan/budget.h"
#include "engine/reduce/combine.h"

typedef struct assay_mapper {
    assay_map_source source;        /* the one whose chunks are mapped */
    const assay_rule *rules;        /* [source * instances + instance] */
    const assay_observer *observer; /* NULL: nobody looks on */
    assay_error observed;           /* why the observer ended the run */
    assay_buf *mapped;              /* NULL, or what every chunk came to is put there (chunk_result.h) */
    assay_file_pool pool;
    assay_lookahead *lookahead;
    assay_step_reader reader;
    assay_step_work work;                 /* the step that is mapped */
    assay_repeats repeats;                /* steps that others are like */
    const assay_step_sharing *sharing;    /* who helps with the last step of the last chunk; NULL: nobody */
    uint64_t end_chunk;                   /* tensors of chunks before this one may be measured early */
    const assay_measured_steps *measured; /* what ranks have measured of the steps to come; NULL: nothing */
    size_t measured_room;                 /* bytes for results on their way to other ranks, and for those that come */
    uint64_t steps_shared;                /* that others helped with */
    uint64_t steps_moved;                 /* that another rank measured as a whole */
} assay_mapper;

/* A mapper that uses at most `memory` bytes, divided by `budget`. All arguments are borrowed and outlive it. 0 or
 * ASSAY_ENOMEM; release either way. */
int assay_mapper_init(assay_mapper *m, const assay_plan *plan, const assay_sources *sources, const assay_rule *rules,
                      assay_progress *progress, size_t memory, const assay_budget *budget);
void assay_mapper_release(assay_mapper *m);

/* Maps a chunk, by its number in the plan, into the combiner of its source. Returns 0, or a status that ends the run
 * (ASSAY_ENOMEM, or what m->sharing or the observer says); everything that is wrong with the trial is in the partial
 * results. */
int assay_mapper_run_chunk(assay_mapper *m, uint64_t number, assay_combiner *combiners, assay_error *err);

/* With plan->by_tensor: measures what `rank` has of the tensors at all steps, and packs it for the ranks that have the
 * steps: out[r] for rank r, of `ranks`. Steps for which there is no room are left to them. 0 or ASSAY_ENOMEM. */
int assay_mapper_measure(assay_mapper *m, int rank, int ranks, assay_buf *out, assay_error *err);
/* Measures the steps of chunks of a rank that is behind, whose entries have come in the place of this rank's own, and
 * packs them in at most `room` bytes, each as assay_step_sharing_measure() does; those behind are left to the other
 * rank. 0 or ASSAY_ENOMEM. */
int assay_mapper_measure_steps(assay_mapper *m, uint64_t first_chunk, uint64_t end_chunk, size_t room, assay_buf *out,
                               assay_error *err);
/* What is left of the cost of a chunk: of the source that is mapped, records may have been measured early. */
uint64_t assay_mapper_cost_left(const assay_mapper *m, uint64_t chunk);
/* Forgets what is kept of the source that was mapped last: its entries may change now. */
void assay_mapper_leave(assay_mapper *m);

/* Measures what `rank` has of a shared step and packs it for the rank that has the step; `out` (empty) stays empty when
 * the other one has to do without. 0 or ASSAY_ENOMEM. */
int assay_mapper_help(assay_mapper *m, const assay_share *share, int rank, assay_buf *out, assay_error *err);
