/* directory.h - who may write into a trial's directory, and when the training has ended.
 *
 * Workers do not communicate. They leave empty files in TRIAL/.assay-hook-<workers>/: <worker>.open while one records,
 * <worker>.closed after that. The last one to close finds that all are closed, writes training_job_end.ts and removes
 * the directory. A reader of the trial never looks there. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <assay/status.h>
#include "hook/config.h"

/* ASSAY_EUSAGE when `path` has no name, or is an address ("s3://bucket/run"), which would become a directory "s3:" here. */
int hook_directory_check_name(const char *path, assay_error *err);

/* Makes the directory and takes this worker's place in it; refuses what is there already unless `go_on`, which also
 * takes an end marker away. */
int hook_directory_claim(const char *path, const char *worker, int workers, bool go_on, assay_error *err);

/* Marks this worker as closed, and the training as ended according to `end`. */
int hook_directory_close(const char *path, const char *worker, int workers, hook_end end, assay_error *err);

typedef struct hook_position {
    int64_t global, mode[HOOK_MODES]; /* the last ones on disk; -1 for none */
} hook_position;

/* Finds how far a trial has come: the last global step of any worker, and the last step of each mode of this one. What
 * cannot be read counts as not there. */
void hook_directory_position(const char *path, const char *worker, hook_position *position);
