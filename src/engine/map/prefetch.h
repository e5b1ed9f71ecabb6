/* prefetch.h - announces the next reads to files and storage, so that they are merged or overlap with work. No result
 * depends on it. */
#ifndef ASSAY_ENGINE_MAP_PREFETCH_H
#define ASSAY_ENGINE_MAP_PREFETCH_H

#include "engine/map/lookahead.h"

typedef struct assay_prefetch { /* borrowed */
    assay_file_pool *pool;
    const assay_lookahead *lookahead; /* what it has is not read */
    assay_demand *demand;             /* of the part being read */
    size_t next;                      /* the storage was asked for the files of the parts before this one */
} assay_prefetch;

/* While reads have to wait: asks the storage for the files of the parts behind this one, as many as hold some
 * mebibytes if they are like its own. Else small files would be waited for one by one. The demand is between two
 * parts. */
void assay_prefetch_files(assay_prefetch *prefetch, const assay_step_work *work, const assay_part *part);
/* Tells the main file, which is the part's, what is wanted around entry `e` of the shard, so that neighbours come with
 * one read. *expected: the end of what it was told of so far; 0 at the beginning of a part. */
void assay_prefetch_records(assay_prefetch *prefetch, const assay_step_work *work, const assay_part *part, size_t e,
                            uint64_t *expected);

#endif
