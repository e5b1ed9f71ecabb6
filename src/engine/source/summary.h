/* summary.h - what the index of the trials contains, as ranks join it: names of tensors, steps, modes, problems. Inside
 * source only. */
#pragma once

#include "engine/source/source.h"

/* What the index of one trial showed, of some contiguous part of them. */
typedef struct summary {
    assay_dict *names;
    uint32_t *new_id; /* rank 0, after sorting: [names before it] */
    uint8_t *modes;   /* [names]: modes in which a tensor was saved raw */
    uint32_t *saved;  /* [names]: predecessors (saved_order.h); once the names are sorted: positions */
    assay_step_info *steps;
    size_t step_count, step_room;
    uint8_t *worker_modes; /* [workers] bit 1 << mode that the worker wrote a step of */
    uint32_t workers;
    assay_step_shifts shifts;
    assay_problems problems;
    assay_manifest claims;
} summary;

typedef struct summaries {
    summary *list;
    uint32_t count;
} summaries;

/* Empty summaries of so many trials. 0 or ASSAY_ENOMEM; release either way. */
int assay_summaries_init(summaries *s, uint32_t count);
void assay_summaries_release(summaries *s);
/* Adds what a worker says of a step behind what is there, unless another one has said the same. 0 or ASSAY_ENOMEM. */
int assay_summary_add_step(summary *s, const assay_step_info *step);

/* For assay_rank_reduce(). */
int assay_summaries_pack(const void *mine, assay_buf *out);
int assay_summaries_join(void *mine, assay_cursor *later, assay_error *err);

/* ---- logical.c ---- */

/* Names the tensors of this rank's share as the trial's topology says, agrees with the other ranks on where they are,
 * and puts those together of which workers have pieces (topology/form.h). `status` is how this rank fared before.
 * Does nothing for trials without a topology. Collective. */
int assay_sources_form(assay_comm *comm, assay_sources *sources, summaries *all, int status, assay_error *err);

/* ---- align.c ---- */

/* Aligns the trials in which workers count their steps differently (trial/align.h): rank 0's summaries get the steps of
 * all, every rank's parts theirs. Collective. */
int assay_sources_align(assay_comm *comm, assay_sources *sources, summaries *joined, assay_error *err);
/* On rank 0: names each (mode, mode step) that a worker has twice. 0 or ASSAY_ENOMEM. */
int assay_summary_check_steps(summary *s);
