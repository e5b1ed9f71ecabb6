/* megatron.h - what Megatron-LM's names of directories and the arguments saved in them say. Inside this folder only. */
#pragma once

#include "container/pickle.h"
#include "format/checkpoint/contents.h"

enum { ASSAY_MEGATRON_FIELDS = 3, ASSAY_MEGATRON_SIZE_MOST = 1 << 20 };

/* The file of a rank's directory that has its model. */
#define ASSAY_MEGATRON_FILE "model_optim_rng.pt"

/* What a training was called with; 0: not said. Of `rank`, the one that saved it, -1 is not said. */
typedef struct assay_megatron_arguments {
    int64_t tp, pp, ep, world; /* sizes */
    int64_t rank;
    bool gated;
} assay_megatron_arguments;

/* The numbers of "mp_rank_TT[_PPP[_EEE]]", and how many there are. False for other names, up to their end or a '/'. */
bool assay_megatron_parse(const char *name, uint32_t at[ASSAY_MEGATRON_FIELDS], uint32_t *fields);
/* The arguments below the root of a pickle; all of them not said, where it has none. */
void assay_megatron_read(const assay_pickle *p, assay_megatron_arguments *out);
/* Names a file of a rank's directory that another rank saved, where that one's directory lies beside it and has not its own file
 * either: the two stand in each other's place. Tools that convert checkpoints write one rank into all of them, which is none. */
void assay_megatron_check_rank(assay_ckpt_file *f, const assay_pickle *p);
