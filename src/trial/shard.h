/* shard.h - what builds shards (index.h). Inside trial only.
 *
 * The dimensions of all shapes of a part lie in one block: the first shape's `dim` is its start. */
#pragma once

#include "trial/index.h"

/* Makes room for so many more; what is there stays as it is. Returns 0 or ASSAY_ENOMEM. */
int assay_shard_reserve(assay_shard *s, size_t parts, size_t entries, size_t shapes);
/* The order of a part's entries: for qsort(). */
int assay_entry_compare(const void *a, const void *b);
/* Frees what a part owns; its entries and shapes stay in the shard's arrays. */
void assay_part_release(const assay_shard *s, assay_part *part);
