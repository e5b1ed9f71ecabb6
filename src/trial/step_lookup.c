/* step_lookup.c - see step_lookup.h. */
#include "trial/step_lookup.h"

#include <assay/rule.h>

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

int assay_step_lookup_turn(assay_step_lookup *l, const assay_shard *shard, size_t first, size_t end, uint32_t tensors)
{
    if (l->shard == shard && l->first == first && l->end == end && l->tensors == tensors)
        return ASSAY_OK;
    if (!l->entries || l->tensors != tensors) {
        const assay_entry **grown = assay_realloc_array((void *)l->entries, tensors, sizeof *grown);
        if (!grown)
            return ASSAY_ENOMEM;
        l->entries = grown;
        l->tensors = tensors;
    }
    memset((void *)l->entries, 0, tensors * sizeof *l->entries);
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
