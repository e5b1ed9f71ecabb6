/* repeats.c - see repeats.h. */
#include "engine/map/repeats.h"

#include <stdlib.h>

#include "base/fault.h"
#include "engine/map/record.h"

enum { LARGEST = 64 << 10 }; /* bytes that the results of a step take that is kept */

void assay_repeats_forget(assay_repeats *repeats)
{
    repeats->count = repeats->next = 0;
}

void assay_repeats_release(assay_repeats *repeats)
{
    for (size_t i = 0; i < ASSAY_REPEATS; i++) {
        assay_arena_free(repeats->of[i].work.arena);
        free(repeats->of[i].numbers.list);
    }
    *repeats = (assay_repeats){0};
}

/* ---- keeping ---- */

static void narrow(assay_repeat *repeat, const assay_use_scope *scope, int64_t step)
{
    const int64_t borders[] = {scope->from, scope->to};
    for (int i = 0; i < 2; i++) {
        repeat->from = borders[i] <= step && borders[i] > repeat->from ? borders[i] : repeat->from;
        repeat->to = borders[i] > step && borders[i] < repeat->to ? borders[i] : repeat->to;
    }
}

static assay_tensor_result *find_result(const assay_step_work *work, uint32_t tensor, uint32_t worker)
{
    for (size_t i = 0; i < work->count; i++)
        if (work->results[i]->view.tensor == tensor && work->results[i]->view.worker == worker)
            return work->results[i];
    return NULL;
}

/* Notes a record, if the step can be kept with it. False: it cannot; *status is ASSAY_ENOMEM without memory. */
static bool note_entry(assay_repeat *repeat, assay_step_reader *reader, const assay_part *part, size_t number,
                       int *status)
{
    const assay_step_work *work = &repeat->work;
    const assay_shard *shard = &work->source->source->shard;
    const assay_entry *entry = &shard->entries[part->first + number];
    const assay_record_demand *demand = assay_demand_of(&reader->demand, part, work->step->mode, entry);
    const assay_use_class *class = assay_map_source_class(work->source, entry->tensor);
    double value;
    if (entry->kind != ASSAY_RAW || (number > 0 && entry[-1].tensor == entry->tensor))
        return false;
    for (uint32_t u = 0; u < class->uses; u++)
        narrow(repeat, &work->source->wanted->scope[class->use[u]], part->step);
    if (!(demand->kinds >> ASSAY_RAW & 1))
        return true;
    assay_tensor_result *result = find_result(work, entry->tensor, part->worker);
    const uint8_t *looks_back = work->source->wanted->looks_back;
    if (!result || result->kinds != 1u << ASSAY_RAW || result->unsummed || demand->measures > 0 ||
        (looks_back && looks_back[entry->tensor]) || !assay_part_number(part, entry, &value))
        return false;
    assay_repeat_number *to = ASSAY_VEC_ADD(&repeat->numbers);
    *status = to ? ASSAY_OK : ASSAY_ENOMEM;
    if (to)
        *to = (assay_repeat_number){(size_t)(part - &shard->parts[work->first_part]), number, result,
                                    (assay_stats *)(uintptr_t)result->view.stats};
    return to != NULL;
}

static bool note_step(assay_repeat *repeat, assay_step_reader *reader, int *status)
{
    const assay_step_work *work = &repeat->work;
    const assay_shard *shard = &work->source->source->shard;
    bool can = true;
    repeat->numbers.count = 0;
    for (size_t p = work->first_part; can && p < work->next_part; p++) {
        const assay_part *part = &shard->parts[p];
        can = p == work->first_part || shard->parts[p - 1].worker < part->worker;
        for (size_t e = 0; can && e < part->count; e++)
            can = note_entry(repeat, reader, part, e, status);
    }
    return can && repeat->numbers.count == work->count;
}

int assay_repeats_keep(assay_repeats *repeats, assay_step_reader *reader, assay_step_work *work, assay_slot_view *slots)
{
    const assay_spreads *spreads = &reader->demand.spreads;
    if (work->charge.peak > LARGEST || work->refused || work->unopened || work->range || work->measurer ||
        spreads->more || work->partial->problems.total > 0)
        return ASSAY_OK;
    assay_repeat *to = &repeats->of[repeats->next];
    assay_arena *other = to->work.arena;
    if (!other)
        ASSAY_HAVE(other = assay_arena_new(0));
    assay_arena_clear_to(other, assay_arena_ceiling_for(work->budget));
    to->work = *work;
    to->work.arena = other;
    to->slots = slots;
    to->mode = work->step->mode;
    to->from = INT64_MIN;
    to->to = INT64_MAX;
    to->taken = assay_spreads_taken(&reader->demand.spreads, work->step->step, to->mode);
    to->parts = work->next_part - work->first_part;
    int status = ASSAY_OK;
    if (!note_step(to, reader, &status)) {
        repeats->count = repeats->count > repeats->next ? repeats->next : repeats->count;
        return status;
    }
    to->work.arena = work->arena; /* with the results; the next step makes its own in the other one */
    work->arena = other;
    assay_step_work_clear(work);
    repeats->next = (repeats->next + 1) % ASSAY_REPEATS;
    repeats->count += repeats->count < ASSAY_REPEATS;
    return ASSAY_OK;
}

/* ---- repeating ---- */

/* Are the parts those of the step that was kept, but for the values? */
static bool is_like(const assay_shard *shard, const assay_repeat *repeat, size_t first)
{
    for (size_t p = 0; p < repeat->parts; p++) {
        const assay_part *a = &shard->parts[repeat->work.first_part + p], *b = &shard->parts[first + p];
        if (a->worker != b->worker || a->mode != b->mode || a->format != b->format || a->count != b->count)
            return false;
        for (size_t e = 0; e < a->count; e++) {
            const assay_entry *x = &shard->entries[a->first + e], *y = &shard->entries[b->first + e];
            if (x->tensor != y->tensor || x->kind != y->kind)
                return false;
        }
    }
    return true;
}

/* Puts the values into the results. False: one of them is none that the index has. */
static bool put_numbers(const assay_shard *shard, const assay_repeat *repeat, size_t first, uint64_t *bytes,
                        int *status)
{
    *bytes = 0;
    for (size_t i = 0; i < repeat->numbers.count && *status == ASSAY_OK; i++) {
        const assay_repeat_number *number = &repeat->numbers.list[i];
        const assay_part *part = &shard->parts[first + number->part];
        const assay_entry *entry = &shard->entries[part->first + number->entry];
        double value;
        if (!assay_part_number(part, entry, &value))
            return false;
        if (number->stats)
            *status = assay_record_number_stats(value, number->stats);
        *bytes += entry->length;
    }
    return *status == ASSAY_OK;
}

static assay_repeat *find_repeat(assay_repeats *repeats, const assay_shard *shard, const assay_step_info *step,
                                 size_t first, size_t parts, uint32_t taken)
{
    for (uint32_t i = 0; i < repeats->count; i++) {
        assay_repeat *repeat = &repeats->of[i];
        if (repeat->taken == taken && repeat->mode == step->mode && repeat->parts == parts &&
            step->step >= repeat->from && step->step < repeat->to && is_like(shard, repeat, first))
            return repeat;
    }
    return NULL;
}

int assay_repeats_map(assay_repeats *repeats, assay_step_reader *reader, assay_step_work *work,
                      const assay_step_info *step, bool *done)
{
    const assay_shard *shard = &work->source->source->shard;
    uint64_t bytes;
    int status = ASSAY_OK;
    *done = false;
    if (repeats->count == 0)
        return ASSAY_OK;
    const uint32_t taken = assay_spreads_taken(&reader->demand.spreads, step->step, step->mode);
    const size_t first = assay_shard_find_at(shard, work->next_part, step->step);
    size_t next = first;
    while (next < shard->count && shard->parts[next].step == step->step)
        next++;
    assay_repeat *repeat = find_repeat(repeats, shard, step, first, next - first, taken);
    if (!repeat || !put_numbers(shard, repeat, first, &bytes, &status))
        return status;
    *done = true;
    work->step = step;
    work->first_part = first;
    work->next_part = next;
    reader->pool->records_read += repeat->numbers.count;
    reader->pool->bytes_read += bytes;
    assay_progress_add(reader->pool->progress, bytes);
    repeat->work.step = step;
    repeat->work.partial = work->partial;
    assay_lookahead_end_step(reader->lookahead, &repeat->work);
    status = assay_step_map_again(&repeat->work, repeat->slots);
    return status == ASSAY_OK ? work->partial->problems.status : status;
}
