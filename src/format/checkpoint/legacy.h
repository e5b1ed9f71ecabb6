/* legacy.h - files of torch before 1.6: five pickles behind one another, then the storages. Inside this folder only. */
#pragma once

#include "container/pickle.h"
#include "format/checkpoint/contents.h"

/* Does a file begin like one? */
bool assay_ckpt_is_legacy(const uint8_t *head, size_t size);

/* Adds the tensors of one. 1: it ends before its content, so that nothing is known of it. 0 or ASSAY_ENOMEM; what is
 * wrong becomes a problem. */
int assay_ckpt_add_legacy(assay_ckpt_file *f);

/* Adds the tensors of a file of torch 0.1, which is a tar file. What is wrong becomes a problem. 0 or ASSAY_ENOMEM. */
int assay_ckpt_add_tar(assay_ckpt_file *f);

/* The pickle at *at of a file, before `end`, with its bytes, which the caller frees; *at is behind it then. Errors as
 * assay_pickle_read() and assay_ckpt_read(). */
int assay_ckpt_read_pickle(assay_ckpt_file *f, uint64_t *at, uint64_t end, assay_pickle *out, uint8_t **bytes,
                           assay_error *err);
