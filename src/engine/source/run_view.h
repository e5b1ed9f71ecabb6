/* run_view.h - lets an application above the engine change what a run sees of the trials.
 *
 * An ordinary run lists the trials, reads their index and maps every chunk. A watch knows most of that already: with a
 * view the run takes listings, index rows and the results of unchanged chunks from it. All calls get `context`; they
 * return 0 or a negative status. */
#pragma once

#include "engine/source/source.h"

struct assay_restart;
struct assay_plan;

typedef struct assay_run_view {
    void *context;

    /* Rank 0: appends the listings of all sources in the form of assay_sources_list(), and leaves the units that
     * the run shall see in `listed` of each source. Not collective. */
    int (*list)(void *context, assay_sources *sources, assay_buf *out);

    /* Rank 0: appends the index rows that the run shall see of a source, in order, and the names of their tensors.
     * Not collective. */
    int (*read_index)(void *context, uint32_t source, assay_dict *names, assay_shard *shard);

    /* Rank 0: the layouts of a source whose trial has a topology. Its rows have the tensors' own names then (form.h),
     * and the names that came with them stay. Borrowed. Not collective. */
    const struct assay_layouts *(*layouts)(void *context, uint32_t source);

    /* Marks the chunks whose results are known as done, and hands these to the ranks that own the chunks, as if they
     * came from a checkpoint. Collective. */
    int (*recall)(void *context, const assay_sources *sources, struct assay_plan *plan, struct assay_restart *mine,
                  assay_error *err);

    /* Gets the results of the chunks that were mapped: those of this rank as assay_chunk_result_put() wrote them, in
     * order. Collective. */
    int (*keep)(void *context, const struct assay_plan *plan, const assay_sources *sources, const assay_buf *mapped,
                assay_error *err);
} assay_run_view;
