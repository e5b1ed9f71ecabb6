/* step_sharing.h - a step that several ranks measure and one maps (partition.c says which). A rule sees a step as a
 * whole, but records are measured one by one, and that is by far the most of the work. No MPI inside.
 *
 * When what another rank measured is used, deferred.h says; nor is it where an event file is missing that two ranks
 * read. */
#ifndef ASSAY_ENGINE_MAP_STEP_SHARING_H
#define ASSAY_ENGINE_MAP_STEP_SHARING_H

#include "engine/map/mapper.h"

typedef struct assay_step_sharing {
    assay_share share; /* of the last step of this rank's last chunk */
    void *context;
    /* Appends what the next of the ranks that help has sent, empty when it cannot help. 0, ASSAY_ENOMEM or ASSAY_EMPI.
     */
    int (*receive)(void *context, assay_buf *in);
} assay_step_sharing;

/* Measures what `rank` has of a shared step and packs it for the rank that has the step; `out` (empty) stays empty when
 * the other one has to do without. Returns 0 or ASSAY_ENOMEM. Not collective. */
int assay_step_sharing_help(assay_mapper *m, const assay_share *share, int rank, assay_buf *out, assay_error *err);

/* Reads m->step into items and m->node as assay_mapper_read_step() does, with the help of others. Returns 0,
 * ASSAY_ENOMEM, ASSAY_EMPI or ASSAY_EINTERNAL; then parts of those that help may be left to be received. Not
 * collective. */
int assay_step_sharing_gather(assay_mapper *m, assay_error *err);

#endif
