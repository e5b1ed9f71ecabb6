/* aside.h - names of checkpoints that were put aside, or are being copied. Inside this folder only. */
#pragma once

#include "base/dict.h"
#include "trial/trial_format.h"

/* Is the name one of a series? `forms` are the names of the series as assay_path_put_series() writes them; `form` is for
 * the work, and has a status. */
bool assay_ckpt_is_of_series(const assay_trial_options *options, const char *name, const assay_dict *forms,
                             assay_buf *form);
/* Is a directory called as another checkpoint of a series, with its number in it, but for an end or a beginning that says
 * that it was put aside ("checkpoint-300-backup", "old_checkpoint-300", "checkpoint-300~") or is being copied
 * ("checkpoint-300.Ab12Cd")? Else as above. */
bool assay_ckpt_is_put_aside(const assay_trial_options *options, const char *name, const assay_dict *forms,
                             assay_buf *form);
