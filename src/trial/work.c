/* work.c - see work.h. */
#include "trial/work.h"

#include <string.h>

uint64_t assay_work_granted(uint64_t bytes, uint64_t rows)
{
    uint64_t granted = 0;
    if (__builtin_mul_overflow(rows, ASSAY_WORK_ROW_BYTES, &rows) || __builtin_add_overflow(bytes, rows, &bytes) ||
        __builtin_mul_overflow(bytes, ASSAY_WORK_A_BYTE, &granted) ||
        __builtin_add_overflow(granted, ASSAY_WORK_LEAST, &granted))
        return UINT64_MAX;
    return granted;
}

/* What the records of a part lie in, each byte counted once: they are in order of files and offsets. */
static uint64_t covered(const assay_shard *s, const assay_part *part)
{
    uint64_t bytes = 0, end = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        const assay_entry *e = &s->entries[part->first + i];
        const uint64_t entry_end = e->offset + e->length;
        if (i == 0 || !assay_part_same_file(part, e[-1].file, e->file))
            end = 0;
        if (entry_end > end)
            bytes += entry_end - (e->offset > end ? e->offset : end);
        end = entry_end > end ? entry_end : end;
    }
    return bytes;
}

/* How many of the part's records are within its budget, and the sum of all in *sum. */
static uint32_t affordable(const assay_shard *s, const assay_part *part, uint64_t *granted, uint64_t *sum)
{
    uint32_t within = 0;
    *granted = assay_work_granted(covered(s, part), part->count);
    *sum = 0;
    for (uint32_t i = 0; i < part->count; i++) {
        if (__builtin_add_overflow(*sum, s->entries[part->first + i].length, sum))
            *sum = UINT64_MAX;
        within += *sum <= *granted;
    }
    return within;
}

void assay_shard_limit_work(assay_shard *s, size_t before, const assay_catalog *catalog, assay_problems *problems)
{
    if (before == s->count)
        return;
    uint32_t at = s->parts[before].first;
    for (size_t p = before; p < s->count; p++) {
        assay_part *part = &s->parts[p];
        uint64_t granted, sum;
        const uint32_t within = affordable(s, part, &granted, &sum);
        if (within < part->count) {
            char room[ASSAY_PATH_ROOM];
            const char *path = assay_part_file(catalog, part, s->entries[part->first].file, room);
            assay_problems_add(problems, ASSAY_PROBLEM_WORK, part->step, path ? path : "", -1,
                               "the %u records of the step overlap so much that reading them takes %llu bytes, where "
                               "their place in the file allows for %llu: the last %u are not evaluated",
                               part->count, (unsigned long long)sum, (unsigned long long)granted, part->count - within);
        }
        if (at < part->first)
            memmove(s->entries + at, s->entries + part->first, within * sizeof *s->entries);
        part->first = at;
        part->count = within;
        at += within;
    }
    s->entry_count = at;
}
