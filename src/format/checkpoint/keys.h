/* keys.h - the keys under which programs save the model, the optimizer and moving averages. Inside this folder only. */
#pragma once

#include <assay/pack.h>

#include "container/pickle.h"

typedef enum assay_key_kind {
    ASSAY_KEY_MODEL,     /* "model", "state_dict", ..., and "model0", "model1" of virtual pipeline stages */
    ASSAY_KEY_OPTIMIZER, /* "optimizer", ... */
    ASSAY_KEY_AVERAGE,   /* "ema", ... */
    ASSAY_KEY_OTHER
} assay_key_kind;

/* What a node is as a key; ASSAY_KEY_OTHER when it is no text. */
assay_key_kind assay_key_kind_of_node(const assay_pickle *p, uint32_t key);

/* Appends the name of a tensor that a list or tuple of at least two keys leads to. 0 or ASSAY_ENOMEM. */
int assay_keys_put_path(const assay_pickle *p, uint32_t path, assay_buf *out);
/* Appends the name of a tensor whose keys were joined by its writer: optimizer.state.PARAMETER.KEY becomes
 * optimizer/PARAMETER/KEY; any other name stays as it is. */
void assay_keys_put_flat(const char *name, size_t length, assay_buf *out);
/* Appends what is kept of a parameter: KEY, and one name for the copies of the parameter itself. */
void assay_keys_put_kept(const char *key, size_t length, assay_buf *out);
