/* deepspeed.h - checkpoints of DeepSpeed: files for each tensor-parallel rank, and what ZeRO cut into partitions.
 * Inside this folder only. */
#pragma once

#include "format/checkpoint/contents.h"

typedef enum assay_deepspeed_kind {
    ASSAY_DEEPSPEED_MODEL,     /* [zero_pp_rank_D_]mp_rank_MM_model_states.pt */
    ASSAY_DEEPSPEED_LAYER,     /* layer_LL-model_MM-model_states.pt, of pipelines */
    ASSAY_DEEPSPEED_EXPERT,    /* [layer_L_]expert_E_mp_rank_MM_model_states.pt */
    ASSAY_DEEPSPEED_OPTIMIZER, /* [bf16_|fp16_]zero_pp_rank_D_mp_rank_MM_optim_states.pt */
    ASSAY_DEEPSPEED_NONE
} assay_deepspeed_kind;

typedef struct assay_deepspeed_name {
    assay_deepspeed_kind kind;
    const char *model; /* MM, in the name */
    size_t model_length;
    bool partitioned; /* it has a D */
    uint32_t rank;    /* D, of data parallelism */
    size_t layer;     /* LAYER: length of "layer_LL" */
} assay_deepspeed_name;

/* What a file is by its name. */
assay_deepspeed_name assay_deepspeed_name_of(const char *name);
/* Does a directory with such a file hold a checkpoint of DeepSpeed? */
bool assay_deepspeed_is_mark(const char *name);

/* The digits of the tensor-parallel ranks that have files, each once; the caller frees them. NULL without memory. A
 * checkpoint of several has a worker for each, "mp_rank_MM". */
#define ASSAY_DEEPSPEED_WORKER "mp_rank_"
assay_dict *assay_deepspeed_models(const assay_names *names);

/* The names of the files that a worker has in the directory, in natural order, borrowed from the store until the next
 * call: the directory is listed, sorted and told apart once for all workers. NULL: all names have to be looked at,
 * because the worker is the first, or the only one, or the directory holds something else, too. */
const assay_names *assay_deepspeed_own(assay_store *store, const char *directory, const char *worker);

/* Adds the tensors of one tensor-parallel rank, by its digits ("" when there is only one), in a directory of which
 * `names` are all, in natural order. `model_aside`: the model is elsewhere, and only the optimizer's tensors are added.
 * What is wrong becomes a problem. 0 or ASSAY_ENOMEM. */
int assay_ckpt_add_deepspeed(assay_contents *c, const char *directory, const assay_names *names, const char *model,
                             bool model_aside);
