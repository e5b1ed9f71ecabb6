/* align.h - one order of steps for workers that count their steps each for itself, and for formats in which training
 * and evaluation have the same numbers.
 *
 * Of one worker each (mode, mode step) is one global step, but the global step is the worker's own count: where rank 0
 * alone evaluates, the same training step has another number on every other rank. Steps with the same mode and mode
 * step are the same step; a step has the number that the lowest worker gave it. How it works:
 *   1. Each own number of a worker is one step. Units that have a mode (catalog.h) make it several: one for each mode,
 *      in the order of modes, the one that others have without a mode first.
 *   2. Worker by worker, each step finds the one of the same mode and mode step (the n-th of them the n-th, where a
 *      worker has it more than once), or comes into the list behind the step that the worker wrote before.
 *   3. Numbers ascend along the list: a step keeps the number that its lowest worker gave it where that lies between
 * its neighbours', else it takes the next free one. */
#pragma once

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
    bool by_mode; /* its unit has a mode */
} assay_worker_step;

/* How far a worker's own numbers are from those of all: step = own + shift. Of mode ASSAY_MODE_NONE it counts from
 * `own` on; of another mode for this one number in this mode. */
typedef struct assay_step_shift {
    uint32_t worker;
    int64_t own, shift;
    uint8_t mode;
} assay_step_shift;

typedef struct assay_step_shifts {
    assay_step_shift *list; /* sorted by (worker, own, mode); owned */
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

/* The step of a part before it is aligned. */
assay_worker_step assay_part_worker_step(const assay_part *part);
/* Must steps be aligned even of a single worker? Yes where units have modes. */
bool assay_catalog_has_modes(const assay_catalog *catalog);

/* Sets `step` of every row and appends where shifts change to `shifts` (empty). Rows of one worker and own number are
 * one step, but for those by_mode in another mode; the first row in the list says mode and mode step. The rows stay in
 * their order. 0 or ASSAY_ENOMEM. */
int assay_steps_align(assay_worker_step *rows, size_t count, assay_step_shifts *shifts);

/* A worker's own number of a step of all, and the other way round; `mode` is that of the unit. For a step that the
 * worker does not have: the number it would have by the steps before. O(log n). */
int64_t assay_step_own(const assay_step_shifts *shifts, uint32_t worker, int64_t step);
int64_t assay_step_of_all(const assay_step_shifts *shifts, uint32_t worker, int64_t own, int mode);

/* Gives the units the steps of all, and brings them into their order. */
void assay_catalog_align(assay_catalog *catalog, const assay_step_shifts *shifts);
/* Aligns a whole index: the parts of `shard`, then the units. 0 or ASSAY_ENOMEM. */
int assay_shard_align(assay_shard *shard, assay_catalog *catalog);

/* Appends what assay_step_shifts_unpack() reads. */
void assay_step_shifts_pack(const assay_step_shifts *shifts, assay_buf *out);
/* 0, ASSAY_EFORMAT or ASSAY_ENOMEM; release either way. */
int assay_step_shifts_unpack(assay_cursor *in, assay_step_shifts *out);
void assay_step_shifts_release(assay_step_shifts *shifts);

/* Pieces are put together where the numbers of steps are the same (topology/form.h). When steps of workers that count
 * differently have become the same one since, names that copies were not formed. `before`: how many steps there were,
 * by number, mode and mode step; `after`: how many numbers there are now. */
void assay_align_name_apart(const assay_catalog *catalog, size_t before, size_t after, const assay_manifest *claims,
                            assay_problems *problems);
