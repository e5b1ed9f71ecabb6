/* stands.c - see stands.h. */
#include "trial/stands.h"

#include <stdlib.h>

#include "trial/trial_format.h"

int assay_trial_stands(assay_store *store, const assay_trial_options *options, int64_t step, const char *tensor,
                       assay_stand *out)
{
    int found = 0;
    *out = (assay_stand){0};
    for (unsigned i = 0; i < assay_format_count() && found == 0; i++)
        if (assay_format_of(i)->stands)
            found = assay_format_of(i)->stands(store, options, step, tensor, out);
    return found;
}

void assay_stand_release(assay_stand *stand)
{
    free(stand->path);
    free(stand->entry);
    *stand = (assay_stand){0};
}
