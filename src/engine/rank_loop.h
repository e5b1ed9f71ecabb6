/* rank_loop.h - one rank's way through its chunks: it measures its tensors where the ranks divide these, helps with a
 * step of a lower rank (split_step.h), maps its chunks, takes finished ones from a checkpoint, and between chunks
 * writes checkpoints, stops with the other ranks, or gives chunks to a rank that is done sooner (steal.h). */
#ifndef ASSAY_ENGINE_RANK_LOOP_H
#define ASSAY_ENGINE_RANK_LOOP_H

#include "engine/reduce/restart.h"
#include "engine/map/mapper.h"

typedef struct assay_rank_loop { /* all borrowed */
    assay_comm *comm;
    const assay_plan *plan;
    assay_sources *sources;
    const assay_engine_options *options;
    const assay_restart_identity *identity; /* of the run, when options->checkpoint says where checkpoints go */
    assay_restart *mine;                    /* what came from a checkpoint; empty without one */
    assay_mapper *mapper;
    assay_combiner *combiners; /* [sources] */
} assay_rank_loop;

/* Goes through this rank's chunks. `status` is how the rank fared before: one that failed maps nothing and takes part
 * all the same. Returns 0, ASSAY_ESTOPPED on every rank after a checkpoint was written, or what ended the run; other
 * failures than ASSAY_ESTOPPED may be this rank's alone: the caller agrees. Collective with options->checkpoint and
 * plan->by_tensor. */
int assay_rank_loop_run(const assay_rank_loop *loop, int status, assay_error *err);

#endif
