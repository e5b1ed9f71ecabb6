/* layout.h - which piece of a tensor this worker has: kept with the tensor's name, written beside its records. */
#pragma once

#include <assay/hook.h>
#include <assay/pack.h>
#include "hook/names.h"

/* Never changed once it is made, so that the writer reads it without the lock. */
typedef struct hook_layout {
    int64_t replica;
    bool partial;
    int ndim;
    int64_t numbers[]; /* [3 * ndim] shape, global shape, offset */
} hook_layout;

/* Looks at the layout of a tensor that is saved, and keeps the first one: how a tensor is divided shows in it, while
 * its shape may be another one at every step. The table's version goes up then. ASSAY_EUSAGE: the piece leaves the
 * tensor; ASSAY_ENOMEM. */
int hook_layout_note(hook_names *names, hook_name *name, int ndim, const int64_t *shape,
                     const assay_hook_layout *layout, assay_error *err);
/* Appends its keys to a JSON object that has others before: `, "global_shape": [..], "offset": [..], "replica": n`. */
void hook_layout_put(const assay_hook_layout *layout, int ndim, assay_buf *out);
