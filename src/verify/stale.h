/* stale.h - files of another step among their neighbours. Inside this folder only. */
#pragma once

#include "verify/judge.h"

/* Adds a remark, suspect or a note, on each file of the asked steps that is byte for byte the one of an earlier step, while other files of
 * its checkpoint are not, and nothing shows that its tensors stand still as a whole: at a third step they are others,
 * or it is one of a set, or of a model that has an optimizer. Reads a block of each file, and whole files where a block
 * is the same. ASSAY_OK, ASSAY_ENOMEM. */
int assay_verify_stale(const assay_trial_files *trial, const assay_verify_options *options,
                       assay_verify_remarks *remarks, assay_error *err);
