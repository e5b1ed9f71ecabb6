/* forms.h - one model in two forms: model.safetensors beside pytorch_model.bin. Inside this folder only. */
#pragma once

#include "parallel/comm.h"
#include "verify/judge.h"

/* Holds each file that was set aside, because another one beside it has the model, against that, and adds a remark on
 * those that differ or cannot be read. `problems` say which these are. `files` is the trial's index, open on rank 0
 * and NULL elsewhere. Collective. Errors as assay_diff_run(), but for pairs of which nothing can be compared. */
int assay_verify_forms(assay_comm *comm, const char *trial, const assay_trial_files *files,
                       const assay_verify_options *options, const assay_problems *problems,
                       assay_verify_remarks *remarks, assay_error *err);

/* Are two files of one directory forms of one model, by their names? */
bool assay_verify_are_forms(const char *a, const char *b);
/* A checkpoint, directory or file, and a file that has all or a part of the same model in another form. */
typedef struct assay_verify_forms_pair {
    const char *trial;
    const char *model, *other; /* paths below the trial; "": the trial itself */
    size_t memory;
} assay_verify_forms_pair;

/* Compares them. *text, which the caller frees, says what differs; NULL: nothing. Collective; on rank 0. */
int assay_verify_compare_forms(assay_comm *comm, const assay_verify_forms_pair *pair, char **text, assay_error *err);
