/* check_trial.h - which rules of a job would have no data in a trial; reads only its index. */
#ifndef ASSAY_CLI_CHECK_TRIAL_H
#define ASSAY_CLI_CHECK_TRIAL_H

#include "job/job.h"

/* Appends a member of the object that `assay check` prints, " \"no_data\": [...],\n": of each trial the rules that
 * can have no data, with the reason that a run would give. Warns of each. ASSAY_ENOTFOUND when a trial cannot be
 * opened, ASSAY_ENOMEM. */
int check_trials(const assay_job *job, const char *const *trial, size_t count, assay_buf *out, assay_error *err);

#endif
