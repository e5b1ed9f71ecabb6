/* verify_words.h - what `assay verify` says of files, in words. */
#ifndef ASSAY_CLI_VERIFY_WORDS_H
#define ASSAY_CLI_VERIFY_WORDS_H

#include "engine/outcome.h"
#include "trial/trial.h"

/* Appends "decoder.weight: 2 elements are NaN or infinite" and the like, terminated. `tensor` is the finding's. */
void verify_put_meaning(const assay_rule_outcome *rule, const assay_finding *f, const char *tensor, assay_buf *out);

/* What `text` says of a file, without the file's own name in front. */
const char *verify_said_of(const char *path, const char *text);

/* Appends, terminated, which tensors of the steps [from, to) are of a kind that is not read, such as sparse ones; *step
 * is the last of these steps that has one. Nothing is appended where all are read. 0 or ASSAY_ENOMEM. */
int verify_put_unread(const assay_trial_files *trial, int64_t from, int64_t to, int64_t *step, assay_buf *out);

#endif
