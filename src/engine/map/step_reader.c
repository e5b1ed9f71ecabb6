/* step_reader.c - see step_reader.h. */
#include "engine/map/step_reader.h"

#include "engine/map/record.h"

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

/* Measures a record, unless that was done before the step's turn. */
static int read_entry(assay_step_reader *reader, assay_step_work *work, const assay_part *part,
                      const assay_entry *entry, const assay_record_demand *demand, bool *measured)
{
    assay_error err = {""};
    assay_tensor_result *result;
    int status = assay_step_work_result(work, part, entry->tensor, &result, &err);
    if (status == ASSAY_EBUDGET) {
        assay_step_work_problem(work, part, entry->file, entry->tensor, ASSAY_PROBLEM_BUDGET, (int64_t)entry->offset,
                                err.text);
        return ASSAY_OK;
    }
    if (status != ASSAY_OK)
        return status;
    if (result->kinds == 0 && part->format == ASSAY_FORMAT_ASSEMBLED)
        result->view.order = (uint32_t)entry->offset;
    else if (result->kinds == 0)
        result->view.order = (uint32_t)(entry - &work->source->source->shard.entries[part->first]);
    status = assay_lookahead_take(reader->lookahead, work, entry, result, measured);
    if (status != ASSAY_OK || *measured)
        return status;
    status = assay_record_measure(reader->pool, work, part, entry, demand, result, measured);
    if (status != ASSAY_OK || !*measured)
        return status;
    return assay_lookahead_measure(reader->lookahead, reader->pool, work, part, entry, demand, result);
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

static int read_part(assay_step_reader *reader, assay_step_work *work, const assay_part *part)
{
    const assay_shard *shard = &work->source->source->shard;
    uint64_t expected = 0;
    bool tried = false;
    uint32_t number = 0;
    int opened = ASSAY_OK, status = ASSAY_OK;
    size_t first = assay_step_work_first(work, part), end = assay_step_work_end(work, part);
    work->first_result = work->count;
    if (first < end)
        assay_prefetch_files(&reader->prefetch, work, part);
    assay_demand_next(&reader->demand);
    for (size_t e = first; status == ASSAY_OK && e < end; e++) {
        const assay_entry *entry = &shard->entries[e];
        const assay_record_demand *demand = assay_demand_of(&reader->demand, part, work->step->mode, entry);
        bool measured = false;
        if (!(demand->kinds >> entry->kind & 1) || assay_step_work_leaves(work, entry->tensor, part->worker))
            continue;
        if (!tried || number != entry->file) {
            if (!tried || !assay_part_same_file(part, number, entry->file))
                expected = 0;
            number = entry->file;
            opened = open_file(reader, work, part, number);
        }
        tried = true;
        if (opened == ASSAY_ENOMEM)
            return opened;
        if (opened == ASSAY_OK) {
            if (!assay_lookahead_has(reader->lookahead, work, entry))
                assay_prefetch_records(&reader->prefetch, work, part, e, &expected);
            status = read_entry(reader, work, part, entry, demand, &measured);
        }
        if (!measured)
            assay_step_work_unreadable(work, part, entry);
    }
    return status;
}

int assay_step_reader_read(assay_step_reader *reader, assay_step_work *work)
{
    const assay_shard *shard = &work->source->source->shard;
    int status = ASSAY_OK;
    size_t p = assay_shard_find(shard, work->step->step);
    for (; status == ASSAY_OK && p < shard->count && shard->parts[p].step == work->step->step; p++)
        status = read_part(reader, work, &shard->parts[p]);
    assay_lookahead_end_step(reader->lookahead, work);
    return status == ASSAY_OK ? work->partial->problems.status : status;
}
