/* scan_topology.c - the topology of a watched trial, and the names that its tensors have by it.
 *
 * Rows of the index are kept with the tensors' own names (topology/form.h), so that tensors keep their numbers
 * from one evaluation to the next. The engine puts pieces together in each evaluation. What the recording says of
 * pieces may change while it goes on: then all rows are read again. */
#include "watch/scan.h"

#include <string.h>

#include "topology/attach.h"
#include "topology/form.h"

static bool is_same(const assay_topology *a, const assay_topology *b)
{
    return a && b ? a->size == b->size && memcmp(a->text, b->text, a->size) == 0 : a == b;
}

int assay_watched_lay_out(watched_source *source, assay_catalog *fresh, bool *changed, assay_error *err)
{
    int status = assay_topology_attach(source->store, source->topology, &source->groups, fresh, err);
    if (status != ASSAY_OK || (source->listed && is_same(source->catalog.topology, fresh->topology)))
        return status;
    for (size_t i = 0; source->part && i < source->catalog.unit_count; i++) {
        assay_shard_release(&source->part[i]->shard);
        assay_shard_init(&source->part[i]->shard);
        source->part[i]->settled = source->part[i]->ready = false;
    }
    assay_layouts_release(&source->layouts);
    *changed = true;
    return fresh->topology ? assay_layouts_init(&source->layouts) : ASSAY_OK;
}

int assay_watched_name(watched_source *source, assay_shard *shard)
{
    assay_problems unheard; /* the evaluation finds them again */
    if (!source->catalog.topology)
        return ASSAY_OK;
    assay_problems_init(&unheard);
    const int status = assay_form_names(source->catalog.topology, &source->layouts, source->names, shard, &unheard);
    assay_problems_release(&unheard);
    return status;
}

const struct assay_layouts *assay_watch_layouts(void *context, uint32_t source)
{
    const assay_watch *watch = context;
    return &watch->list[source].layouts;
}
