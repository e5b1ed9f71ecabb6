/* files.h - what the files of a checkpoint are, by their names. Inside this folder only. */
#pragma once

#include "format/checkpoint/contents.h"

typedef enum assay_ckpt_kind { /* of files, in the order in which they may offer the model */
                               ASSAY_CKPT_SAFETENSORS,
                               ASSAY_CKPT_TORCH,
                               ASSAY_CKPT_NPZ,
                               ASSAY_CKPT_NPY_FILE, /* by itself: in directories they are a format of their own */
                               ASSAY_CKPT_KINDS     /* no file of tensors */
} assay_ckpt_kind;

/* The kind of a file by its extension, and its role by the beginning of its name. */
assay_ckpt_kind assay_ckpt_kind_of(const char *name);
assay_ckpt_role assay_ckpt_role_of(const char *name);
/* One file of a set, "-00001-of-00003." in its name. */
bool assay_ckpt_is_shard(const char *name);
/* Where the number of such a file stands in its name, "00001-of-00003"; NULL: it is none. */
const char *assay_ckpt_shard_number(const char *name);
/* The index of a set of shards, "model.safetensors.index.json". */
bool assay_ckpt_is_shard_map(const char *name);
/* Has the name an ending that is one of tensor files or indexes but for a byte, or for what was put behind it (".bak"),
 * where no other file has the name that it had? Such a file is named, and not read. */
bool assay_ckpt_is_misnamed(const assay_names *beside, const char *name);
/* A directory of one rank: "rank_3", "worker-0", "mp_rank_01_000". */
bool assay_ckpt_is_rank_directory(const char *name);
/* A file of one rank: "model_rank_3.pt", "consolidated.00.pth". */
bool assay_ckpt_is_rank_file(const char *name);
/* The metadata of a distributed checkpoint: ".metadata", or that of a rank that saved by itself, "__3.metadata". */
bool assay_ckpt_is_dcp_metadata(const char *name);
/* A file of a distributed checkpoint. */
bool assay_ckpt_is_dcp(const char *name);
/* Not written to its end, by its name: "tmp-checkpoint-30", "step-20.part". */
bool assay_ckpt_is_unfinished(const char *name);
/* Is it what rsync writes until a file of tensors is copied: ".model_300.safetensors.Ab12Cd"? */
bool assay_ckpt_is_copied(const char *name);
/* The step in the name of a directory or file, by the job's patterns where `options` has some; false when there is
 * none, or none that fits 63 bits. */
bool assay_ckpt_step(const assay_trial_options *options, const char *name, int64_t *step);
/* Is it what an optimizer or a scheduler saved beside the model's file, "optimizer_500.pt"? Then at that step. */
bool assay_ckpt_goes_beside(const assay_trial_options *options, const char *name, int64_t *step);
/* The name without its extension; its length. */
size_t assay_ckpt_stem(const char *name);
/* Reads the tensors of a worker at one step. `path` is the step's directory or file below the trial's root; `worker`
 * the worker's name. What is wrong becomes a problem. 0 or ASSAY_ENOMEM. */
int assay_ckpt_read_step(assay_contents *c, const char *path, const char *worker);
/* Opens a torch file of the checkpoint and hands its pickle over; likewise. */
int assay_ckpt_read_torch(assay_contents *c, const char *path, const char *name, assay_torch_take *take, void *context);
