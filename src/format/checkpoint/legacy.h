/* legacy.h - files of torch before 1.6: five pickles behind one another, then the storages. Inside this folder only. */
#ifndef ASSAY_FORMAT_CHECKPOINT_LEGACY_H
#define ASSAY_FORMAT_CHECKPOINT_LEGACY_H

#include "format/checkpoint/contents.h"

/* Does a file begin like one? */
bool assay_ckpt_is_legacy(const uint8_t *head, size_t size);

/* Adds the tensors of one. 1: it ends before its content, so that nothing is known of it. 0 or ASSAY_ENOMEM; what is
 * wrong becomes a problem. */
int assay_ckpt_add_legacy(assay_ckpt_file *f);

#endif
