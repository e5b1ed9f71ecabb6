/* read_budget.c - see read_budget.h. */
#include "trial/read_budget.h"

#include <string.h>

/* Bytes that the records cover times a factor, and something for each row: honest files read each byte once, or a few
 * times where records overlap by their heads. Overflow means "no limit". */
uint64_t assay_read_budget(uint64_t bytes, uint64_t rows)
{
    uint64_t granted = 0;
    if (__builtin_mul_overflow(rows, ASSAY_READ_BUDGET_ROW, &rows) || __builtin_add_overflow(bytes, rows, &bytes) ||
        __builtin_mul_overflow(bytes, ASSAY_READ_BUDGET_A_BYTE, &granted) ||
        __builtin_add_overflow(granted, ASSAY_READ_BUDGET_LEAST, &granted))
        return UINT64_MAX;
    return granted;
}

/* The records of a part, one after another: they are in order of files and offsets. */
typedef struct record_walk {
    const assay_shard *shard;
    const assay_part *part;
    assay_store *store; /* records end where their files do; NULL: files are as long as the index says */
    const assay_catalog *catalog;
    uint32_t next;
    uint64_t file_end; /* of the last record's file */
    uint64_t from, to; /* the last record */
    bool new_file;     /* it is the first one of its file */
} record_walk;

/* Where a file ends; UINT64_MAX if its size is not asked for, or is unknown. */
static uint64_t end_of_file(const record_walk *w, uint32_t file)
{
    char room[ASSAY_PATH_ROOM];
    uint64_t size = 0;
    const char *path = w->store ? assay_part_file(w->catalog, w->part, file, room) : NULL;
    return path && assay_store_size_of(w->store, path, &size, NULL) == 1 ? size : UINT64_MAX;
}

/* Goes to the next record; false behind the last. */
static bool next_record(record_walk *w)
{
    if (w->next == w->part->count)
        return false;
    const assay_entry *e = &w->shard->entries[w->part->first + w->next];
    w->new_file = w->next == 0 || !assay_part_same_file(w->part, e[-1].file, e->file);
    if (w->new_file)
        w->file_end = end_of_file(w, e->file);
    uint64_t end;
    if (__builtin_add_overflow(e->offset, e->length, &end))
        end = UINT64_MAX;
    w->from = e->offset < w->file_end ? e->offset : w->file_end;
    w->to = end < w->file_end ? end : w->file_end;
    w->next++;
    return true;
}

/* What the records lie in, each byte counted once, and the sum of all in *sum. Entries are in order of offsets, so
 * one end tells what is covered. */
static uint64_t covered(record_walk w, uint64_t *sum)
{
    uint64_t bytes = 0, end = 0;
    *sum = 0;
    while (next_record(&w)) {
        end = w.new_file ? 0 : end;
        if (w.to > end)
            bytes += w.to - (w.from > end ? w.from : end);
        end = w.to > end ? w.to : end;
        if (__builtin_add_overflow(*sum, w.to - w.from, sum))
            *sum = UINT64_MAX;
    }
    return bytes;
}

/* How many of the part's records are within its budget, and the sum of all in *sum. Only where records overlap by
 * much are files asked for their sizes: a row that lies beyond the end of its file must not pay for the others. First
 * the index alone, which costs nothing; files are asked only where that looks wrong. */
static uint32_t affordable(record_walk w, uint64_t *granted, uint64_t *sum)
{
    assay_store *store = w.store;
    uint64_t so_far = 0;
    uint32_t within = 0;
    w.store = NULL;
    uint64_t bytes = covered(w, sum);
    if (*sum == bytes || *sum <= ASSAY_READ_BUDGET_LEAST)
        return w.part->count;
    w.store = store;
    bytes = covered(w, sum);
    *granted = assay_read_budget(bytes, w.part->count);
    while (next_record(&w)) {
        if (__builtin_add_overflow(so_far, w.to - w.from, &so_far))
            so_far = UINT64_MAX;
        within += so_far <= *granted;
    }
    return within;
}

/* A hostile index can list one huge record a million times: without a budget that is a million reads of it. Called by
 * assay_index_read() for the parts that it added. */
void assay_shard_limit_work(assay_shard *s, size_t before, assay_store *store, const assay_catalog *catalog,
                            assay_problems *problems)
{
    if (before == s->count)
        return;
    uint32_t at = s->parts[before].first;
    for (size_t p = before; p < s->count; p++) {
        assay_part *part = &s->parts[p];
        uint64_t granted = 0, sum = 0;
        const uint32_t within =
            affordable((record_walk){.shard = s, .part = part, .store = store, .catalog = catalog}, &granted, &sum);
        if (within < part->count) {
            char room[ASSAY_PATH_ROOM];
            const char *path = assay_part_file(catalog, part, s->entries[part->first].file, room);
            assay_problems_add(problems, ASSAY_PROBLEM_WORK, part->step, path ? path : "", -1,
                               "the %u records of the step overlap so much that reading them takes %llu bytes, where "
                               "their place in the file allows for %llu: the last %u are not evaluated",
                               part->count, (unsigned long long)sum, (unsigned long long)granted, part->count - within);
        }
        assay_problems_take_notes(problems, store, part->step, "what its records lie in is not known");
        /* Entries that are dropped leave a hole; those of the next part move down into it. */
        if (at < part->first)
            memmove(s->entries + at, s->entries + part->first, within * sizeof *s->entries);
        part->first = at;
        part->count = within;
        at += within;
    }
    s->entry_count = at;
}
