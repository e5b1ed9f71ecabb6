/* words.h - what findings mean for a checkpoint, in words. Inside this folder only. */
#pragma once

#include "engine/outcome.h"
#include "source/trial_files.h"
#include "verify/loading.h"

/* Appends "decoder.weight: 2 elements are NaN or infinite" and the like, terminated. `tensor` is the finding's. */
void assay_verify_put_meaning(const assay_trial_outcome *trial, const assay_rule_outcome *rule, const assay_finding *f,
                              const char *tensor, assay_buf *out);

/* Appends, terminated, "model.pt: loading this runs os.system (REDUCE at offset 40 of archive/data.pkl)". `where` is an
 * entry of the file, or "". */
void assay_verify_put_loading(const char *path, const char *where, const assay_loading *found, assay_buf *out);

/* What `text` says of a file, without the file's own name in front. */
const char *assay_verify_said_of(const char *path, const char *text);

/* Appends, terminated, which tensors of the steps [from, to) are of a kind that is not read, such as sparse ones; *step
 * is the last of these steps that has one. Nothing is appended where all are read. 0 or ASSAY_ENOMEM. */
int assay_verify_put_unread(const assay_trial_files *trial, int64_t from, int64_t to, int64_t *step, assay_buf *out);
