/* said_step.h - steps that files say, not names: of a checkpoint by itself, and of the newest that was finished. Inside
 * this folder only. */
#pragma once

#include "trial/trial_format.h"

/* The step that trainer_state.json in the trial's root says; -1: none. */
int64_t assay_ckpt_trainer_step(assay_store *store);
/* The same of a file by its path; ASSAY_CKPT_STEPLESS: it is JSON, and no object with a number of that key. */
enum { ASSAY_CKPT_STEPLESS = -2 };
int64_t assay_ckpt_trainer_step_in(assay_store *store, const char *path);
/* The first word of a small file; false where there is none, or it is too long. */
enum { ASSAY_CKPT_TAG_ROOM = 257 };
bool assay_ckpt_read_tag(assay_store *store, const char *file, char tag[ASSAY_CKPT_TAG_ROOM]);
/* The step that a torch file in the trial's root has among its keys; -1: none, or it cannot be read. */
int64_t assay_ckpt_torch_step(assay_store *store, const assay_names *top);
/* The newest step that was finished, as `latest` and its like say it; -1: they say none. */
int64_t assay_ckpt_latest_step(assay_store *store, const assay_trial_options *options);
