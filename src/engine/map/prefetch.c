/* prefetch.c - see prefetch.h. */
#include "engine/map/prefetch.h"

static bool is_wanted(assay_prefetch *prefetch, const assay_step_work *work, const assay_part *part, int mode,
                      const assay_entry *entry)
{
    return assay_demand_of(prefetch->demand, part, mode, entry)->kinds >> entry->kind & 1 &&
           !assay_step_work_leaves(work, entry->tensor, part->worker);
}

/* The end of the stretch from entry e on in which what is wanted of the part lies close together. */
static uint64_t find_stretch_end(assay_prefetch *prefetch, const assay_step_work *work, const assay_part *part,
                                 int mode, size_t e)
{
    enum { GAP = 1 << 16 };
    const assay_entry *entries = work->source->source->shard.entries;
    uint64_t end = entries[e].offset + entries[e].length;
    for (size_t k = e + 1; k < assay_step_work_end(work, part); k++) {
        const assay_entry *next = &entries[k];
        if (!assay_part_same_file(part, next->file, entries[e].file) || next->offset > end + GAP ||
            assay_lookahead_has(prefetch->lookahead, work, next))
            break;
        if (is_wanted(prefetch, work, part, mode, next))
            end = next->offset + next->length > end ? next->offset + next->length : end;
    }
    return end;
}

void assay_prefetch_records(assay_prefetch *prefetch, const assay_step_work *work, const assay_part *part, size_t e,
                            uint64_t *expected)
{
    const assay_entry *entry = &work->source->source->shard.entries[e];
    if (entry->offset + entry->length <= *expected)
        return;
    *expected = find_stretch_end(prefetch, work, part, work->step->mode, e);
    assay_reader_expect(prefetch->pool->main->reader, entry->offset, *expected);
}

/* Asks for the first stretch of a part's files that will be read. */
static void prefetch_file(assay_prefetch *prefetch, const assay_step_work *work, const assay_part *part)
{
    enum { MOST = 2 << 20 }; /* of one file; then the kernel has seen that it is read from one end to the other */
    const assay_source *source = work->source->source;
    const assay_entry *entries = source->shard.entries;
    size_t e = assay_step_work_first(work, part), end = assay_step_work_end(work, part);
    char room[ASSAY_PATH_ROOM];
    assay_demand_next(prefetch->demand);
    while (e < end && !is_wanted(prefetch, work, part, part->mode, &entries[e]))
        e++;
    const char *path = e < end ? assay_part_file(&source->catalog, part, entries[e].file, room) : NULL;
    if (!path)
        return;
    uint64_t from = entries[e].offset, size = find_stretch_end(prefetch, work, part, part->mode, e) - from;
    assay_store_ahead(source->store, path, from, size < MOST ? size : MOST);
}

void assay_prefetch_files(assay_prefetch *prefetch, const assay_step_work *work, const assay_part *part)
{
    const assay_source *source = work->source->source;
    const assay_shard *shard = &source->shard;
    size_t p = (size_t)(part - shard->parts);
    if (part->count == 0 || !assay_store_waits(source->store))
        return;
    size_t most;
    uint64_t bytes;
    assay_store_depth(source->store, &most, &bytes);
    uint64_t files = bytes / (assay_part_span(shard, part) - shard->entries[part->first].offset);
    files = files < 1 ? 1 : files < most ? files : most;
    if (prefetch->next <= p)
        prefetch->next = p + 1;
    for (; prefetch->next < shard->count && prefetch->next <= p + files; prefetch->next++)
        prefetch_file(prefetch, work, &shard->parts[prefetch->next]);
}
