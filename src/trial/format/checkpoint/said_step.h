/* said_step.h - steps that files say, not names: of a checkpoint by itself, and of the newest that was finished. Inside
 * this folder only. */
#ifndef ASSAY_CHECKPOINT_SAID_STEP_H
#define ASSAY_CHECKPOINT_SAID_STEP_H

#include "trial/format/format.h"

/* The step that trainer_state.json in the trial's root says; -1: none. */
int64_t assay_ckpt_trainer_step(assay_store *store);
/* The step that a torch file in the trial's root has among its keys; -1: none, or it cannot be read. */
int64_t assay_ckpt_torch_step(assay_store *store, const assay_names *top);
/* The newest step that was finished, as `latest` and its like say it; -1: they say none. */
int64_t assay_ckpt_latest_step(assay_store *store, const assay_trial_options *options);

#endif
