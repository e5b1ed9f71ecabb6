/* needed.h - files that others of a checkpoint need, and that are not there. Inside this folder only. */
#pragma once

#include "format/checkpoint/contents.h"

/* Names what is missing beside the files `names` of a checkpoint's directory, once these have been read: the index of a
 * set of shards, metadata.json of torch_dist, the model of an optimizer, files of ranks of DeepSpeed; and files
 * that others go by and that are not what their names say: a trainer_state.json of another step, or of none, a
 * metadata.json of no backend, directories. */
void assay_ckpt_name_needed(assay_contents *c, const char *directory, const assay_names *names);

/* Names what `latest` and its like say is the newest checkpoint, where that is not there. `top` are the names in the
 * trial's root. */
void assay_ckpt_name_latest(assay_store *store, const assay_names *top, assay_problems *problems);
