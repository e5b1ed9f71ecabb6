/* trial.h - a trial as a whole, opened by one process: what the commands ls and show, and tests, use. */
#ifndef ASSAY_TRIAL_TRIAL_H
#define ASSAY_TRIAL_TRIAL_H

#include "trial/reader.h"
#include "trial/index.h"
#include "trial/catalog.h"

typedef struct assay_trial_files {
    assay_store *store;
    assay_catalog catalog;
    assay_dict *tensors;     /* byte order */
    assay_shard shard;       /* every part */
    assay_problems problems; /* those of the listing and of the index files */
} assay_trial_files;

/* Lists the trial and reads every index file. Linear in the number of files. Release with assay_trial_release().
 * Not collective. */
int assay_trial_open(const char *location, assay_trial_files *out, assay_error *err);
void assay_trial_release(assay_trial_files *trial);

#endif
