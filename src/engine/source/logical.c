/* logical.c - forms the logical tensors of trials that have a topology, each rank those of its share of the steps. */
#include <stdlib.h>

#include "engine/source/run_view.h"
#include "engine/source/summary.h"
#include "parallel/rank_reduce.h"
#include "topology/form.h"

typedef struct known { /* of one trial, by some ranks */
    assay_layouts *layouts;
    const assay_topology *t;
} known;

static int pack_known(const void *mine, assay_buf *out)
{
    assay_layouts_pack(((const known *)mine)->layouts, out);
    return assay_buf_status(out);
}

static int join_known(void *mine, assay_cursor *later, assay_error *err)
{
    known *k = mine;
    int status = assay_layouts_join(k->layouts, later, k->t);
    return status == ASSAY_OK
               ? ASSAY_OK
               : assay_fail(err, status, "the layouts of tensors were damaged on their way between ranks");
}

/* What all ranks together know of the layouts, to each of them. */
static int share_layouts(assay_comm *comm, known *k, int status, assay_error *err)
{
    static const assay_joiner joiner = {pack_known, join_known};
    assay_buf bytes = ASSAY_BUF(SIZE_MAX);
    status = assay_rank_reduce(comm, &joiner, k, status, err);
    if (status == ASSAY_OK && assay_comm_size(comm) > 1) {
        const bool first = assay_comm_rank(comm) == 0;
        status = assay_comm_agree(comm, first ? pack_known(k, &bytes) : ASSAY_OK, err);
        ASSAY_THEN(status, assay_comm_broadcast(comm, &bytes));
        if (status == ASSAY_OK && !first) {
            assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
            assay_layouts_release(k->layouts);
            status = assay_layouts_init(k->layouts);
            ASSAY_THEN(status, join_known(k, &in, err));
        }
        status = assay_comm_agree(comm, status, err);
    }
    assay_buf_release(&bytes);
    return status;
}

/* Replaces the names that were read by those of the tensors. */
static int take_names(assay_source *source, summary *s)
{
    assay_dict *recorded = s->names;
    uint32_t *new_id = NULL;
    s->names = assay_dict_new();
    int status = s->names ? assay_shard_used_names(&source->shard, recorded, s->names, &new_id) : ASSAY_ENOMEM;
    if (status == ASSAY_OK) {
        assay_shard_renumber(&source->shard, new_id);
        assay_manifest_renumber(&source->shard.claims, new_id);
    }
    free(new_id);
    assay_dict_free(recorded);
    return status;
}

/* Names the tensors of this rank's share. What a view gives has these names: the layouts are taken over. */
static int name_tensors(assay_sources *sources, uint32_t i, summary *s, bool first)
{
    assay_source *source = &sources->list[i];
    const assay_topology *t = source->catalog.topology;
    int status = assay_layouts_init(&source->layouts);
    if (status != ASSAY_OK || (sources->view && !first))
        return status;
    if (!sources->view)
        return assay_form_names(t, &source->layouts, s->names, &source->shard, &s->problems);
    assay_buf bytes = ASSAY_BUF(SIZE_MAX);
    assay_layouts_pack(sources->view->layouts(sources->view->context, i), &bytes);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    status = assay_buf_status(&bytes);
    ASSAY_THEN(status, assay_layouts_join(&source->layouts, &in, t));
    assay_buf_release(&bytes);
    return status;
}

int assay_sources_form(assay_comm *comm, assay_sources *sources, summaries *all, int status, assay_error *err)
{
    for (uint32_t i = 0; i < sources->count; i++) {
        assay_source *source = &sources->list[i];
        const assay_topology *t = source->catalog.topology;
        summary *s = &all->list[i];
        known k = {&source->layouts, t};
        if (!t)
            continue;
        ASSAY_THEN(status, name_tensors(sources, i, s, assay_comm_rank(comm) == 0));
        status = share_layouts(comm, &k, status, err);
        ASSAY_THEN(status,
                   assay_form_tensors(&source->catalog, t, &source->layouts, s->names, &source->shard, &s->problems));
        if (status == ASSAY_OK && !sources->view)
            status = take_names(source, s);
    }
    return status;
}
