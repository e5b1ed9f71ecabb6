/* verify_words.h - a finding of `assay verify` in words. */
#ifndef ASSAY_CLI_VERIFY_WORDS_H
#define ASSAY_CLI_VERIFY_WORDS_H

#include "engine/outcome.h"

/* Appends "decoder.weight: 2 elements are NaN or infinite" and the like, terminated. `tensor` is the finding's. */
void verify_put_meaning(const assay_rule_outcome *rule, const assay_finding *f, const char *tensor, assay_buf *out);

#endif
