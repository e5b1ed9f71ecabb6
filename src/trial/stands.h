/* stands.h - where in its files it stands what a trial has of a step, for people who look there. */
#pragma once

#include "trial/options.h"
#include "store/storage.h"

typedef struct assay_stand {
    char *path;    /* in the store; owned */
    uint64_t line; /* from 1; 0: the file has none */
    char *entry;   /* "record 27", "metrics, loss, step 3"; owned; NULL: the line says it */
} assay_stand;

/* Looks where the value of a tensor ("": any) stands that a trial has of a step, as its files number steps. It reads
 * them once more. 1; 0: they do not tell, or no format of the trial does; ASSAY_ENOMEM. Release in any case. */
int assay_trial_stands(assay_store *store, const assay_trial_options *options, int64_t step, const char *tensor,
                       assay_stand *out);
void assay_stand_release(assay_stand *stand);
