/* progress.h - the progress of the ranks on rank 0's stderr: steps and bytes done, rate, time left. */
#pragma once

#include "parallel/comm.h"

typedef struct assay_progress assay_progress;

/* `every` seconds between lines; below 0: the line of base/activity.h, on a terminal; 0: none. total_steps 0: the work
 * is not counted in steps. Every rank makes one. Not collective. NULL without memory. */
assay_progress *assay_progress_new(assay_comm *comm, double every, uint64_t total_steps, uint64_t total_bytes);
/* This rank has read so many more bytes. Cheap: looks at the clock now and then. Not collective. */
void assay_progress_add(assay_progress *p, uint64_t bytes);
/* This rank has done one more step. Looks at the clock. Not collective. */
void assay_progress_step(assay_progress *p);
/* Shows or sends a line that is due, also while nothing is read. Not collective. */
void assay_progress_look(assay_progress *p);
/* Frees one that no rank has begun to use, such as when another rank has no memory. Not collective. NULL: nothing. */
void assay_progress_drop(assay_progress *p);
/* This rank is done; rank 0 goes on reporting until all are. Frees it. Collective. */
void assay_progress_end(assay_progress *p);
