/* default_collections.h - collections by usual names of tensors, for trials without collections of their own. */
#ifndef ASSAY_TRIAL_DEFAULT_COLLECTIONS_H
#define ASSAY_TRIAL_DEFAULT_COLLECTIONS_H

#include "trial/collections.h"

/* Adds them to `c`; `of_log`: those of a log of metrics. 0 or ASSAY_ENOMEM. */
int assay_collections_add_defaults(assay_collections *c, bool of_log);

#endif
