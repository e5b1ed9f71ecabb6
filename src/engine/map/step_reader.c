/* step_reader.c - see step_reader.h. */
#include "engine/map/step_reader.h"

#include "engine/map/record.h"

/* ---- prefetch ---- */

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

/* Tells the main file, which is the part's, what is wanted around entry `e` of the shard, so that neighbours come with
 * one read. *expected: the end of what it was told of so far; 0 at the beginning of a part. */
static void assay_prefetch_records(assay_prefetch *prefetch, const assay_step_work *work, const assay_part *part,
                                   size_t e, uint64_t *expected)
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
    while (e < end && !is_wanted(prefetch, work, part, part->mode, &entries[e]))
        e++;
    const char *path = e < end ? assay_part_file(&source->catalog, part, entries[e].file, room) : NULL;
    if (!path)
        return;
    uint64_t from = entries[e].offset, size = find_stretch_end(prefetch, work, part, part->mode, e) - from;
    assay_store_ahead(source->store, path, from, size < MOST ? size : MOST);
}

/* While reads have to wait: asks the storage for the files of the parts behind this one, as many as hold some
 * mebibytes if they are like its own. Else small files would be waited for one by one. The demand is between two
 * parts. */
static void assay_prefetch_files(assay_prefetch *prefetch, const assay_step_work *work, const assay_part *part)
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

/* ---- step reader ---- */

void assay_step_reader_init(assay_step_reader *reader, assay_file_pool *pool, assay_lookahead *lookahead)
{
    *reader = (assay_step_reader){.pool = pool, .lookahead = lookahead};
    reader->prefetch = (assay_prefetch){.pool = pool, .lookahead = lookahead, .demand = &reader->demand};
}

int assay_step_reader_enter(assay_step_reader *reader)
{
    reader->prefetch.next = 0;
    return assay_demand_init(&reader->demand, reader->pool->source->plan, reader->pool->source->number);
}

void assay_step_reader_leave(assay_step_reader *reader)
{
    assay_demand_release(&reader->demand);
}

/* The result of the entry's tensor; *out is NULL where the step has no memory for it. 0 or ASSAY_ENOMEM. */
static int begin_result(assay_step_work *work, const assay_part *part, const assay_entry *entry,
                        assay_tensor_result **out)
{
    assay_error err;
    err.text[0] = '\0';
    int status = assay_step_work_result(work, part, entry->tensor, out, &err);
    if (status == ASSAY_EBUDGET) {
        assay_step_work_problem(work, part, entry->file, entry->tensor, ASSAY_PROBLEM_BUDGET, (int64_t)entry->offset,
                                err.text);
        *out = NULL;
        return ASSAY_OK;
    }
    ASSAY_TRY(status);
    if ((*out)->kinds == 0)
        (*out)->view.order = assay_entry_order(&work->source->source->shard, part, entry);
    return ASSAY_OK;
}

/* Is the record a number that the index has, of which rules want nothing but that? */
static bool is_number(const assay_step_work *work, const assay_step_record *of, double *number)
{
    const uint8_t *looks_back = work->source->wanted->looks_back;
    return of->demand->measures == 0 && !(looks_back && looks_back[of->entry->tensor]) &&
           assay_part_number(of->part, of->entry, number);
}

/* Measures a record, unless that was done before the step's turn. */
static int read_entry(assay_step_reader *reader, assay_step_work *work, const assay_step_record *of, bool *measured)
{
    assay_tensor_result *result;
    int status = begin_result(work, of->part, of->entry, &result);
    if (status != ASSAY_OK || !result)
        return status;
    status = assay_lookahead_take(reader->lookahead, work, of->entry, result, measured);
    if (status != ASSAY_OK || *measured)
        return status;
    status = assay_record_measure(reader->pool, work, of, result, measured);
    if (status != ASSAY_OK || !*measured)
        return status;
    return assay_lookahead_measure(reader->lookahead, reader->pool, work, of, result);
}

/* Opens a file of the part as the main one. When that fails it is a problem of the step, named once even where the
 * part is read in several ranges. */
static int open_file(assay_step_reader *reader, assay_step_work *work, const assay_part *part, uint32_t number)
{
    assay_file_pool *pool = reader->pool;
    assay_open_file *open = assay_file_pool_find(pool, part, number);
    assay_error err = {""};
    if (work->unopened == part && assay_part_same_file(part, work->unopened_file, number))
        return ASSAY_EIO;
    assay_file_pool_turn_to(pool, open ? open : pool->main);
    int status = assay_file_pool_open(pool, pool->main, pool->source->source, part, number, &err);
    if (status == ASSAY_OK || status == ASSAY_ENOMEM)
        return status;
    work->unopened = part;
    work->unopened_file = number;
    assay_step_work_problem(work, part, number, ASSAY_NO_TENSOR,
                            status == ASSAY_ENOTFOUND ? ASSAY_PROBLEM_EVENT_MISSING : ASSAY_PROBLEM_READ, -1, err.text);
    return status;
}

static int read_number(assay_step_reader *reader, assay_step_work *work, const assay_step_record *of, double number,
                       bool *measured)
{
    assay_tensor_result *result;
    int status = begin_result(work, of->part, of->entry, &result);
    if (status != ASSAY_OK || !result)
        return status;
    return assay_record_take_number(reader->pool, work, of, number, result, measured);
}

/* Of a part: which of its files is the main one. */
typedef struct opened_file {
    bool tried;
    uint32_t number;
    int status;
    uint64_t expected; /* the end of what it was told of (assay_prefetch_records) */
} opened_file;

/* Turns to the record's file, and reads it. */
static int read_from_file(assay_step_reader *reader, assay_step_work *work, const assay_step_record *of,
                          opened_file *file, bool *measured)
{
    const assay_part *part = of->part;
    const assay_entry *entry = of->entry;
    if (!file->tried || file->number != entry->file) {
        if (!file->tried || !assay_part_same_file(part, file->number, entry->file))
            file->expected = 0;
        file->number = entry->file;
        file->status = open_file(reader, work, part, entry->file);
    }
    file->tried = true;
    if (file->status != ASSAY_OK)
        return file->status == ASSAY_ENOMEM ? ASSAY_ENOMEM : ASSAY_OK;
    if (!assay_lookahead_has(reader->lookahead, work, entry))
        assay_prefetch_records(&reader->prefetch, work, part, (size_t)(entry - work->source->source->shard.entries),
                               &file->expected);
    return read_entry(reader, work, of, measured);
}

static int read_part(assay_step_reader *reader, assay_step_work *work, const assay_part *part)
{
    const assay_shard *shard = &work->source->source->shard;
    opened_file file = {.tried = false};
    int status = ASSAY_OK;
    size_t first = assay_step_work_first(work, part), end = assay_step_work_end(work, part);
    work->first_result = work->count;
    if (first < end)
        assay_prefetch_files(&reader->prefetch, work, part);
    for (size_t e = first; status == ASSAY_OK && e < end; e++) {
        const assay_entry *entry = &shard->entries[e];
        const assay_step_record of = {part, entry, assay_demand_of(&reader->demand, part, work->step->mode, entry)};
        bool measured = false;
        double number;
        if (!(of.demand->kinds >> entry->kind & 1) || assay_step_work_leaves(work, entry->tensor, part->worker))
            continue;
        if (is_number(work, &of, &number))
            status = read_number(reader, work, &of, number, &measured);
        else
            status = read_from_file(reader, work, &of, &file, &measured);
        if (status == ASSAY_OK && !measured)
            assay_step_work_unreadable(work, part, entry);
    }
    return status;
}

int assay_step_reader_read(assay_step_reader *reader, assay_step_work *work)
{
    const assay_shard *shard = &work->source->source->shard;
    int status = ASSAY_OK;
    size_t p = work->first_part;
    for (; status == ASSAY_OK && p < shard->count && shard->parts[p].step == work->step->step; p++)
        status = read_part(reader, work, &shard->parts[p]);
    assay_lookahead_end_step(reader->lookahead, work);
    return status == ASSAY_OK ? work->partial->problems.status : status;
}
