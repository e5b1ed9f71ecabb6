/* layout.h - which piece of a tensor this worker has: kept with the tensor's name, written beside its records. */
#ifndef ASSAY_HOOK_LAYOUT_H
#define ASSAY_HOOK_LAYOUT_H

#include <assay/hook.h>
#include <assay/pack.h>
#include "hook/names.h"

/* Never changed once it is made, so that the writer reads it without the lock. */
typedef struct hook_layout {
    const struct hook_layout *before; /* of the same name, from earlier on; owned */
    int64_t replica;
    bool partial;
    int ndim;
    int64_t numbers[]; /* [3 * ndim] shape, global shape, offset */
} hook_layout;

/* Notes the layout of a tensor that is saved. The table's version goes up when it is new or another one.
 * ASSAY_EUSAGE: the piece leaves the tensor; ASSAY_ENOMEM. */
int hook_layout_note(hook_names *names, hook_name *name, int ndim, const int64_t *shape,
                     const assay_hook_layout *layout, assay_error *err);
/* Appends its keys to a JSON object that has others before: `, "global_shape": [..], "offset": [..], "replica": n`. */
void hook_layout_put(const hook_layout *layout, assay_buf *out);
/* With all that came before it; NULL is ignored. */
void hook_layout_free(const hook_layout *layout);

#endif
