/* split_step.h - a step that several ranks measure and one maps. partition.c decides which. A rule sees a step as a
 * whole, but records are measured one by one, and that is most of the work. No MPI inside.
 *
 * How it works:
 *   1. The step's records, in the order of parts and entries, are cut into one range per rank, about equal in cost.
 *   2. A rank that helps measures its range before its own chunks. It sends the results, the problems and the memory
 *      that the step will be charged for them (step_work.h).
 *   3. The rank that has the step measures its own range, then takes the other ranges in order.
 *   4. The report must not depend on who measured what. So a range is taken only if the step has room for all of it:
 * then a single rank would not have refused any of it either. Otherwise, or if the helper refused something or could
 * not open a file, the rank that has the step reads that range itself.
 *
 * Where each rank measures its own tensors (plan->by_tensor), every step is such a step. A part of it is what a rank
 * has of the tensors, and not a range. So a step is taken as a whole, if there is room for all of it whatever the
 * order, and no more than one rank met problems; otherwise the rank that has it reads all of it. */
#pragma once

#include "engine/map/step_reader.h"

typedef struct assay_step_sharing {
    assay_share share; /* of the last step of this rank's last chunk */
    void *context;
    /* Appends what the next of the ranks that help has sent, empty when it cannot help. 0, ASSAY_ENOMEM or ASSAY_EMPI.
     */
    int (*receive)(void *context, assay_buf *in);
} assay_step_sharing;

/* Measures the range of work->step that is `rank`'s and packs it for the rank that has the step; `out` (empty) stays
 * empty when the other one has to do without. Returns 0 or ASSAY_ENOMEM. */
int assay_step_sharing_help(assay_step_reader *reader, assay_step_work *work, const assay_share *share, int rank,
                            assay_buf *out);

/* Reads work->step with the help of others. *helped tells whether any range of others was taken. 0, ASSAY_ENOMEM,
 * ASSAY_EMPI or ASSAY_EINTERNAL; then parts of those that help may be left to be received. */
int assay_step_sharing_gather(assay_step_reader *reader, assay_step_work *work, const assay_step_sharing *sharing,
                              bool *helped, assay_error *err);

/* What ranks measured of this rank's steps, from each of them in the order of the steps. Of steps that moved there is
 * one such rank. */
typedef struct assay_measured_steps {
    assay_cursor *from; /* [ranks] */
    assay_cursor *part; /* [ranks] of the step under way */
    int ranks;
} assay_measured_steps;

/* Measures what `rank` has of the tensors of work->step, or with -1 the whole step. Appends the size of the packed
 * results and the results; the size is 0 when the other rank has to do without, and when they take more than `room`
 * bytes. Returns 0 or ASSAY_ENOMEM. */
int assay_step_sharing_measure(assay_step_reader *reader, assay_step_work *work, int rank, size_t room, assay_buf *out);

/* Takes the next step, work->step, or reads it. *helped tells which. 0, ASSAY_ENOMEM or ASSAY_EINTERNAL. */
int assay_step_sharing_take(assay_step_reader *reader, assay_step_work *work, const assay_measured_steps *steps,
                            bool *helped, assay_error *err);
