/* saved.h - what is known of tensors in a checkpoint by their names. */
#pragma once

#include <assay/rule.h>

#include <string.h>

/* Are the steps of the trial checkpoints? Claims come in order, and that one is the first of each. */
static inline bool is_of_checkpoints(const assay_trial *trial)
{
    return assay_trial_claims(trial) > 0 && assay_trial_claim(trial, 0)->kind == ASSAY_CLAIM_NAMES;
}

/* Is it kept beside the model and the optimizer: schedulers, callbacks, arguments? */
static inline bool is_saved_state(const char *name)
{
    return strncmp(name, "state/", 6) == 0;
}

/* Matrices that begin at zero on purpose, and stay there while nothing trains them. */
static inline bool may_begin_at_zero(const char *name)
{
    static const char *const parts[] = {
        "lora_B", "lora_b",  "lora_up", "lora_embedding_B", "hada_w2",           "zero_conv",
        "adaLN",  "adapter", "gate",    "rel_pos",          "relative_position", "zero_init"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(name, parts[i]))
            return true;
    return false;
}
