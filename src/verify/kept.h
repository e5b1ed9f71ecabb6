/* kept.h - what optimizers and schedulers keep beside moments. Inside this folder only. */
#ifndef ASSAY_VERIFY_KEPT_H
#define ASSAY_VERIFY_KEPT_H

#include "verify/judge.h"

/* Adds to the checkpoints that are asked for a note on states of 8-bit optimizers, and a remark on a learning rate, weight
 * decay or beta that is not finite. ASSAY_OK, ASSAY_ENOMEM, or as assay_unit_places(). */
int assay_verify_kept(const assay_trial_files *trial, const assay_verify_options *options,
                      assay_verify_remarks *remarks);

#endif
