/* step_reader.h - reads the records of a step, or of a range of it, in the order in which they lie in their files. */
#pragma once

#include "engine/map/lookahead.h"

/* Announces the next reads to files and storage, so that they are merged or overlap with work. No result depends on it.
 */
typedef struct assay_prefetch { /* borrowed */
    assay_file_pool *pool;
    const assay_lookahead *lookahead; /* what it has is not read */
    assay_demand *demand;             /* of the part being read */
    size_t next;                      /* the storage was asked for the files of the parts before this one */
} assay_prefetch;

typedef struct assay_step_reader {
    assay_file_pool *pool;
    assay_lookahead *lookahead;
    assay_demand demand; /* of the part being read */
    assay_prefetch prefetch;
} assay_step_reader;

/* What it is given is borrowed. The reader may not move afterwards. */
void assay_step_reader_init(assay_step_reader *reader, assay_file_pool *pool, assay_lookahead *lookahead);
/* Begins with the source, after leaving the one before. 0 or ASSAY_ENOMEM. */
int assay_step_reader_enter(assay_step_reader *reader);
void assay_step_reader_leave(assay_step_reader *reader);

/* Reads the records of work->step within work->range and of work->measurer, and appends their results. Takes results
 * that were measured earlier. Problems go to the step. 0, ASSAY_ENOMEM or ASSAY_EINTERNAL. */
int assay_step_reader_read(assay_step_reader *reader, assay_step_work *work);
