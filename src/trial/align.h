/* align.h - brings workers that count their steps each for itself into one order of steps.
 *
 * Of one worker each (mode, mode step) is one global step, but the global step is the worker's own count: where rank 0
 * alone evaluates, the same training step has another number on every other rank. Steps are the same step when mode and
 * mode step are; a step has the number that the lowest worker gave it. How it works:
 *   1. worker by worker, each step finds the one of the same mode and mode step (the n-th of them the n-th, where a
 *      worker has it more than once), or comes into the list behind the step that the worker wrote before
 *   2. numbers go up along the list: a step keeps the number that its lowest worker gave it where that lies between its
 *      neighbours', else it takes the next free one */
#ifndef ASSAY_TRIAL_ALIGN_H
#define ASSAY_TRIAL_ALIGN_H

#include <assay/pack.h>
#include <assay/status.h>

#include <assay/rule.h>

#include "trial/index.h"

typedef struct assay_worker_step { /* one step of one worker */
    int64_t own;                   /* its number as the worker counts */
    int64_t mode_step;
    int64_t step; /* its number for all workers; assay_steps_align() sets it */
    uint32_t worker;
    uint8_t mode;
} assay_worker_step;

/* How far a worker's own numbers are from those of all, from one own number on: step = own + shift. */
typedef struct assay_step_shift {
    uint32_t worker;
    int64_t own, shift;
} assay_step_shift;

typedef struct assay_step_shifts {
    assay_step_shift *list; /* sorted by (worker, own); owned */
    size_t count;
} assay_step_shifts;

/* Tells, step by step in ascending order, whether workers count alike so far: then each step has one mode and mode
 * step, and mode steps of a mode ascend. Zero it first. */
typedef struct assay_step_check {
    bool begun;
    int mode;
    int64_t step, mode_step;
    bool seen[ASSAY_MODES];
    int64_t last[ASSAY_MODES]; /* mode step of each mode */
} assay_step_check;
bool assay_step_check_next(assay_step_check *check, int64_t step, int mode, int64_t mode_step);

/* Sets `step` of every row and appends where shifts change to `shifts` (empty). Several rows of one worker and own
 * number are one step: the first in the list says which. The rows stay in their order. 0 or ASSAY_ENOMEM. */
int assay_steps_align(assay_worker_step *rows, size_t count, assay_step_shifts *shifts);

/* A worker's own number of a step of all, and the other way round. For a step that the worker does not have: the number
 * it would have by the steps before. O(log n). */
int64_t assay_step_own(const assay_step_shifts *shifts, uint32_t worker, int64_t step);
int64_t assay_step_of_all(const assay_step_shifts *shifts, uint32_t worker, int64_t own);

/* Gives the units the steps of all, and brings them into their order. */
void assay_catalog_align(assay_catalog *catalog, const assay_step_shifts *shifts);
/* Aligns a whole index: the parts of `shard`, then the units. 0 or ASSAY_ENOMEM. */
int assay_shard_align(assay_shard *shard, assay_catalog *catalog);

/* Appends what assay_step_shifts_unpack() reads. */
void assay_step_shifts_pack(const assay_step_shifts *shifts, assay_buf *out);
/* 0, ASSAY_EFORMAT or ASSAY_ENOMEM; release either way. */
int assay_step_shifts_unpack(assay_cursor *in, assay_step_shifts *out);
void assay_step_shifts_release(assay_step_shifts *shifts);

#endif
