/* recording.h - a trial opened by one process: the inside of assay_recording, for libassay and for the commands that
 * list and show trials.
 *
 *   recording.c  opens it: workers, steps, what is missing, problems
 *   select.c     tensors by pattern and by collection
 *   rows.c       what was saved of a tensor, a row for each step and worker
 *   read.c       values, reductions and statistics of a row
 *   kept.c       the values of small steps, kept in memory */
#pragma once

#include <pthread.h>

#include <assay/trial.h>

#include "recording/kept.h"
#include "trial/incomplete.h"
#include "source/trial_files.h"
#include "trial/worker_names.h"

typedef struct recording_item { /* something that was saved of a tensor */
    const assay_part *part;
    const assay_entry *entry;       /* NULL: only the shape was saved */
    const assay_shape_entry *shape; /* then only */
} recording_item;

typedef struct recording_rows { /* of one tensor */
    assay_saved *saved;
    size_t *first; /* [count + 1] the items of a row */
    size_t count;
    bool made;
} recording_rows;

struct assay_recording {
    assay_trial_files files;
    assay_worker_names names;
    char (*absent)[ASSAY_WORKER_ROOM]; /* names of workers that never wrote */
    assay_step_info *steps;            /* ascending */
    uint64_t step_count;
    uint8_t *worker_modes; /* [workers] bit 1 << mode that the worker wrote a step of */
    assay_incomplete *incomplete;
    size_t incomplete_count;
    pthread_mutex_t lock;  /* what follows changes while the recording is read */
    recording_item *items; /* by (tensor, step, worker, kind); NULL: not made yet */
    size_t *first;         /* [tensors + 1] the items of a tensor */
    recording_rows *rows;  /* [tensors] */
    assay_trial_reader reader;
    recording_kept kept;
};

/* The row's items; false: there is no such row. The rows are made if they are not. The lock is held, or nobody
 * else has the recording. */
int recording_row(assay_recording *r, uint32_t tensor, size_t row, const recording_item **items, size_t *count,
                  assay_error *err);
/* The item of a kind among those of a row; NULL: none. */
const recording_item *recording_item_of(const recording_item *items, size_t count, int kind);

/* The shape of a row's tensor where the index has it beside reductions, or alone; NULL: it does not. */
const assay_shape_entry *recording_shape(const assay_recording *r, uint32_t tensor, const recording_item *items);

/* Take back selected[tensor] of the tensors that do not match the pattern, or do not belong to the collection. A
 * pattern that gives up on a name does not match it: of the first such name *slow is set, else NULL; of a collection's
 * own pattern it is a problem. ASSAY_EFORMAT (pattern), ASSAY_ENOTFOUND (collection), ASSAY_ENOMEM. */
int recording_keep_matching(const assay_recording *r, const char *pattern, uint8_t *selected, const char **slow,
                            assay_error *err);
int recording_keep_members(const assay_recording *r, size_t collection, uint8_t *selected, assay_problems *problems);
int recording_keep_collection(const assay_recording *r, const char *name, uint8_t *selected, assay_error *err);

/* Statistics of the record that is open in a reader. Statuses as assay_recording_stats(). */
int recording_measure(assay_trial_reader *reader, int dtype, assay_stats *stats, assay_error *err);
