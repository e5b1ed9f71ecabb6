/* prefetch.h - tells files and storage what will be read next, so that it comes with one read or while others are
 * worked on. No result depends on it. */
#ifndef ASSAY_ENGINE_MAP_PREFETCH_H
#define ASSAY_ENGINE_MAP_PREFETCH_H

#include "engine/map/step_reader.h"

/* While reads have to wait: asks the storage for the event files of the parts behind this one, as many as hold some
 * mebibytes if they are like its own. Else small files would be waited for one by one. The reader's demand is between
 * two parts. */
void assay_prefetch_files(assay_step_reader *reader, const assay_step_work *work, const assay_part *part);
/* Tells the main file, which is the part's, what is wanted around entry `e` of the shard, so that neighbours come with
 * one read. *expected: the end of what it was told of so far; 0 at the beginning of a part. */
void assay_prefetch_records(assay_step_reader *reader, const assay_step_work *work, const assay_part *part, size_t e,
                            uint64_t *expected);

#endif
