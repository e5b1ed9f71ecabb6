/* beyond.h - what of a checkpoint no tensor covers: bytes under a checksum, pickles, zeros at the ends of files. Inside
 * this folder and for `assay run`. */
#pragma once

#include "parallel/comm.h"
#include "source/trial_files.h"
#include "verify/judge.h"

/* Looks at the files of the steps [options->from, options->to), and at those beside them, in shares of all ranks.
 * Damage is added to `problems` and the rest to `remarks`, on rank 0, in the same order at any number of ranks.
 * `files` is the trial's index, open on rank 0 and NULL elsewhere. Collective. ASSAY_ENOMEM, ASSAY_EMPI, ASSAY_EIO. */
int assay_verify_beyond(assay_comm *comm, const char *trial, const assay_trial_files *files,
                        const assay_verify_options *options, assay_problems *problems, assay_verify_remarks *remarks,
                        assay_error *err);
