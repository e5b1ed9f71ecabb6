/* step_lookup.c - see step_lookup.h. */
#include "trial/step_lookup.h"

#include <assay/rule.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

int assay_step_lookup_turn(assay_step_lookup *l, const assay_shard *shard, size_t first, size_t end, uint32_t tensors)
{
    if (l->shard == shard && l->first == first && l->end == end && l->tensors == tensors)
        return ASSAY_OK;
    if (!l->entries || l->tensors != tensors) {
        const assay_entry **grown = assay_realloc_array((void *)l->entries, tensors, sizeof *grown);
        ASSAY_HAVE(grown);
        l->entries = grown;
        l->tensors = tensors;
    }
    memset((void *)l->entries, 0, tensors * sizeof *l->entries);
    /* From the last part to the first, so that of several records of one tensor the first in order stays. */
    for (size_t p = end; p-- > first;) {
        const assay_part *part = &shard->parts[p];
        for (size_t e = part->first + part->count; e-- > part->first;) {
            const assay_entry *entry = &shard->entries[e];
            if (entry->kind == ASSAY_RAW && entry->tensor < tensors)
                l->entries[entry->tensor] = entry;
        }
    }
    l->shard = shard;
    l->first = first;
    l->end = end;
    return ASSAY_OK;
}

bool assay_step_lookup_find(const assay_step_lookup *l, uint32_t tensor, assay_place *out)
{
    const assay_entry *entry = tensor < l->tensors ? l->entries[tensor] : NULL;
    if (!entry)
        return false;
    const size_t at = (size_t)(entry - l->shard->entries);
    size_t p = l->first; /* entries of parts that came from several ranks lie in any order */
    while (p + 1 < l->end && at - l->shard->parts[p].first >= l->shard->parts[p].count) /* wraps where it lies before */
        p++;
    *out = (assay_place){&l->shard->parts[p], entry};
    return true;
}

void assay_step_lookup_release(assay_step_lookup *l)
{
    free((void *)l->entries);
    *l = (assay_step_lookup){0};
}

typedef struct assay_worker_record {
    uint32_t tensor, worker;
    uint32_t kind, part;
    const assay_entry *entry;
} assay_worker_record;

ASSAY_ORDER_BY(compare_records, assay_worker_record, tensor, kind, worker, entry)

/* Kept from call to call: rules ask for all tensors of one step in turn. */
int assay_step_workers_turn(assay_step_workers *t, const assay_shard *shard, int64_t step)
{
    if (t->shard == shard && t->step == step)
        return ASSAY_OK;
    t->count = 0;
    /* Not valid while it is filled. */
    t->shard = NULL;
    for (size_t p = assay_shard_find(shard, step); p < shard->count && shard->parts[p].step == step; p++) {
        const assay_part *part = &shard->parts[p];
        if (part->count > t->room - t->count) {
            const size_t room = t->count + part->count + t->room / 2;
            assay_worker_record *grown = assay_realloc_array(t->list, room, sizeof *grown);
            ASSAY_HAVE(grown);
            t->list = grown;
            t->room = room;
        }
        for (size_t e = part->first; e < (size_t)part->first + part->count; e++) {
            const assay_entry *entry = &shard->entries[e];
            if (entry->kind == ASSAY_RAW || entry->kind == ASSAY_PIECE)
                t->list[t->count++] =
                    (assay_worker_record){entry->tensor, part->worker, entry->kind, (uint32_t)p, entry};
        }
    }
    if (t->count > 0)
        qsort(t->list, t->count, sizeof *t->list, compare_records);
    t->shard = shard;
    t->step = step;
    return ASSAY_OK;
}

bool assay_step_workers_find(const assay_step_workers *t, uint32_t tensor, uint32_t kind, uint32_t from, size_t i,
                             assay_place *out)
{
    size_t low = 0;
    const assay_worker_record wanted = {.tensor = tensor, .worker = from, .kind = kind};
    ASSAY_SEARCH(low, t->count, compare_records(&t->list[low], &wanted) < 0);
    if (i >= t->count - low || t->list[low + i].tensor != tensor || t->list[low + i].kind != kind)
        return false;
    *out = (assay_place){&t->shard->parts[t->list[low + i].part], t->list[low + i].entry};
    return true;
}

void assay_step_workers_release(assay_step_workers *t)
{
    free(t->list);
    /* Members that a step's worker lacks are simply not in the list; i counts those that are there. */
    *t = (assay_step_workers){0};
}
