/* companions.h - files of what optimizers and schedulers saved, which lie beside the model's: "optimizer_500.pt".
 * Inside this folder only. */
#ifndef ASSAY_FORMAT_CHECKPOINT_COMPANIONS_H
#define ASSAY_FORMAT_CHECKPOINT_COMPANIONS_H

#include "format/checkpoint/files.h"

typedef struct assay_companion {
    int64_t step;
    const char *name; /* borrowed */
} assay_companion;

typedef struct assay_companions {
    assay_companion *list; /* sorted by (step, name) */
    size_t count;
} assay_companions;

/* Those among the names; usually there are none. 0 or ASSAY_ENOMEM; release either way. */
int assay_companions_list(const assay_trial_options *options, const assay_names *names, assay_companions *out);
void assay_companions_release(assay_companions *of);
/* The first of a step or a later one; `count` when there is none. O(log n). */
size_t assay_companions_find(const assay_companions *of, int64_t step);

#endif
