/* suggest_trial.h - trials in the directories below one that is none, for the message about it. */
#ifndef ASSAY_TRIAL_SUGGEST_TRIAL_H
#define ASSAY_TRIAL_SUGGEST_TRIAL_H

#include "store/storage.h"

/* Looks for directories whose names are those of a trial in some format, nearest first, and not below such a one.
 * Appends the path of the first in natural order to `path` with a terminator, and returns how many there are; 0, and
 * `path` stays as it is, where none is found. Lists at most 64 directories, four levels deep, and looks at no more than
 * 4096 names of a level; where a listing waits for a server, at most 8 directories of the first level. */
unsigned assay_trials_below(assay_store *store, const assay_names *top, assay_buf *path);

#endif
