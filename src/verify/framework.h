/* framework.h - what a framework needs to resume from a checkpoint, and which one it would pick. Inside this folder and
 * for options. */
#pragma once

#include "source/trial_files.h"

typedef enum assay_framework {
    ASSAY_FRAMEWORK_NONE,
    ASSAY_FRAMEWORK_TRAINER, /* transformers.Trainer */
    ASSAY_FRAMEWORK_LIGHTNING,
    ASSAY_FRAMEWORK_DCP, /* torch.distributed.checkpoint */
    ASSAY_FRAMEWORK_MEGATRON,
    ASSAY_FRAMEWORK_DEEPSPEED
} assay_framework;

/* "trainer", "lightning", ...; NULL for NONE. */
const char *assay_framework_word(assay_framework framework);

/* Appends what the framework needs of the checkpoint at `place`, a path below the trial's root, and that is not there:
 * "optimizer.pt, scheduler.pt"; nothing where all is. 0 or ASSAY_ENOMEM. */
int assay_framework_missing(assay_framework framework, const assay_trial_files *trial, const char *place, int64_t step,
                            assay_buf *out);

/* The place that the framework would pick of a trial; NULL: it goes by the newest of its names. The caller frees it. */
char *assay_framework_pick(assay_framework framework, const assay_trial_files *trial);
