/* unread.h - files of kinds that are known and not read. Inside this folder only. */
#pragma once

#include "verify/verify.h"

/* What a file is by its first bytes or its name, "a GGUF file of llama.cpp"; NULL: nothing that is known. */
const char *assay_verify_unread_kind(const uint8_t *head, size_t size, const char *path);

/* Judges a place that is no trial by itself: a file, or a directory with files, of kinds that are known and not read. What
 * loading their pickles would run is looked at all the same. `out` is empty before. On one rank. ASSAY_ENOTFOUND where
 * nothing there is known; ASSAY_ENOMEM, ASSAY_EIO. */
int assay_verify_unread(const char *place, const assay_verify_options *options, assay_verification *out,
                        assay_error *err);

/* Adds to a judgement of models that lie in one directory what there is to say of the other files of it: of what kind
 * they are, and what loading their pickles would run. `models` are the names of the models, terminated. On one rank.
 * ASSAY_ENOMEM, ASSAY_EIO. */
int assay_verify_beside(const char *place, const assay_buf *models, const assay_verify_options *options,
                        assay_verification *out, assay_error *err);
