/* verify_words.h - what `assay verify` says of files, in words. */
#ifndef ASSAY_CLI_VERIFY_WORDS_H
#define ASSAY_CLI_VERIFY_WORDS_H

#include "engine/outcome.h"
#include "trial/trial.h"

/* Appends "decoder.weight: 2 elements are NaN or infinite" and the like, terminated. `tensor` is the finding's. */
void verify_put_meaning(const assay_rule_outcome *rule, const assay_finding *f, const char *tensor, assay_buf *out);

/* Appends, terminated, which tensors are of a kind that is not read, such as sparse ones; *step is the last that has
 * them. Nothing is appended where all are read. 0 or ASSAY_ENOMEM. */
int verify_put_unread(const assay_trial_files *trial, int64_t *step, assay_buf *out);

#endif
