/* mapper.c - see mapper.h. */
#include "engine/map/mapper.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "engine/reduce/chunk_result.h"
#include "tensor/measure.h"

/* In how many ways tensors are compared with others of their step. */
static size_t lookups_in_step(const assay_plan *plan)
{
    bool workers = false, pairs = false;
    for (uint32_t k = 0; k < plan->measure_count; k++) {
        const assay_measure *m = &plan->measures[k];
        workers = workers || (m->kind == ASSAY_MEASURE_CHANGE && m->reference == ASSAY_REFERENCE_FIRST_WORKER);
        pairs = pairs || assay_measure_pairs(m);
    }
    return (size_t)workers + (size_t)pairs;
}

/* Bytes of the look-ups that are made when the largest of the sources is entered. */
static size_t lookup_bytes(const assay_plan *plan, const assay_sources *sources)
{
    size_t most = 0;
    for (uint32_t s = 0; s < plan->source_count; s++) {
        size_t tensors = sources->list[s].info ? assay_dict_count(sources->list[s].info->tensors) : 0;
        size_t bytes = tensors * sizeof(uint32_t);
        if (plan->sources[s].looks_back)
            bytes += 8 * sources->list[s].shard.entry_count + 4 * tensors;
        bytes += tensors * sizeof(void *) * lookups_in_step(plan);
        for (uint32_t p = 0; p < plan->pair_count; p++) {
            size_t others = plan->pairs[p].source == s && sources->list[plan->pairs[p].other].info
                                ? assay_dict_count(sources->list[plan->pairs[p].other].info->tensors)
                                : 0;
            bytes += others * sizeof(void *) * assay_same_steps(others);
        }
        most = bytes > most ? bytes : most;
    }
    return most;
}

int assay_mapper_init(assay_mapper *m, const assay_plan *plan, const assay_sources *sources, const assay_rule *rules,
                      assay_progress *progress, size_t memory, const assay_budget *budget)
{
    enum { LOOKAHEAD = 8 }; /* the part of the cache's memory that goes to lookahead, for each of two, and to results */
    size_t cache = assay_budget_keep(budget, memory, lookup_bytes(plan, sources));
    *m = (assay_mapper){.source = {.plan = plan, .sources = sources, .number = ASSAY_NO_ID}, .rules = rules};
    const size_t part = cache / LOOKAHEAD;
    m->measured_room = plan->by_tensor ? part : plan->moves ? part / 2 : 0;
    int pool = assay_file_pool_init(&m->pool, &m->source, progress, memory / 4, cache - 2 * (part + m->measured_room));
    int work = assay_step_work_init(&m->work, &m->source, budget->step);
    m->lookahead = assay_lookahead_new(&m->source, part);
    assay_step_reader_init(&m->reader, &m->pool, m->lookahead);
    return pool == ASSAY_OK && work == ASSAY_OK && m->lookahead ? ASSAY_OK : ASSAY_ENOMEM;
}

static void leave_source(assay_mapper *m)
{
    assay_repeats_forget(&m->repeats);
    assay_step_reader_leave(&m->reader);
    assay_file_pool_leave(&m->pool);
    if (m->lookahead)
        assay_lookahead_leave(m->lookahead);
}

void assay_mapper_release(assay_mapper *m)
{
    leave_source(m);
    assay_file_pool_release(&m->pool);
    assay_step_work_release(&m->work);
    assay_repeats_release(&m->repeats);
    assay_lookahead_free(m->lookahead);
}

/* Makes a source the one whose chunks are mapped. 0 or ASSAY_ENOMEM. */
static int enter_source(assay_mapper *m, uint32_t number)
{
    const assay_plan *plan = m->source.plan;
    if (m->source.number == number)
        return ASSAY_OK;
    leave_source(m);
    m->source.number = number;
    m->source.source = &m->source.sources->list[number];
    m->source.wanted = &plan->sources[number];
    m->source.rules = m->rules + (size_t)number * plan->instances;
    bool entered = assay_step_work_enter(&m->work) == ASSAY_OK && assay_step_reader_enter(&m->reader) == ASSAY_OK &&
                   assay_lookahead_enter(m->lookahead) == ASSAY_OK && assay_file_pool_enter(&m->pool) == ASSAY_OK;
    return entered ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_mapper_leave(assay_mapper *m)
{
    leave_source(m);
    m->source.number = ASSAY_NO_ID;
}

static int no_memory(const assay_mapper *m, assay_error *err)
{
    return assay_fail(err, ASSAY_ENOMEM,
                      "out of memory while reading step %lld: use fewer ranks a node or a smaller --memory",
                      m->work.step ? (long long)m->work.step->step : -1LL);
}

/* The source's steps before this position may be measured early: those of this rank, but for one that it shares. */
static uint64_t end_of_lookahead(const assay_mapper *m)
{
    const assay_plan *plan = m->source.plan;
    uint64_t end = m->source.wanted->first_chunk + m->source.wanted->chunks;
    end = end < m->end_chunk ? end : m->end_chunk;
    if (end == 0)
        return 0;
    const assay_chunk *last = &plan->chunks[end - 1];
    bool shared = m->sharing && m->sharing->share.chunk == end - 1;
    return last->source == m->source.number ? last->first_step + last->steps - shared : 0;
}

/* Can steps be like earlier ones? Not where somebody looks on, or others measure. */
static bool may_repeat(const assay_mapper *m)
{
    return !m->observer && !m->measured;
}

static int map_step(assay_mapper *m, uint64_t step, bool shared, assay_error *err)
{
    bool helped = false, done = false;
    int status = ASSAY_OK;
    if (may_repeat(m) && !shared)
        status = assay_repeats_map(&m->repeats, &m->reader, &m->work, &m->source.source->info->steps[step], &done);
    if (status != ASSAY_OK || done)
        return status;
    status = assay_step_work_begin(&m->work, &m->source.source->info->steps[step]);
    if (status == ASSAY_OK && m->measured)
        status = assay_step_sharing_take(&m->reader, &m->work, m->measured, &helped, err);
    else if (status == ASSAY_OK)
        status = shared ? assay_step_sharing_gather(&m->reader, &m->work, m->sharing, &helped, err)
                        : assay_step_reader_read(&m->reader, &m->work);
    *(m->measured && m->source.plan->moves ? &m->steps_moved : &m->steps_shared) += status == ASSAY_OK && helped;
    assay_slot_view *slots = NULL;
    ASSAY_THEN(status, assay_step_map(&m->work, m->observer, &m->observed, &slots));
    ASSAY_THEN(status, m->work.partial->problems.status);
    if (status == ASSAY_OK && slots && !shared && may_repeat(m))
        status = assay_repeats_keep(&m->repeats, &m->reader, &m->work, slots);
    return status;
}

static int map_chunk(assay_mapper *m, uint64_t number, assay_partial *partial, assay_error *err)
{
    const assay_chunk *chunk = &m->source.plan->chunks[number];
    uint64_t end = chunk->first_step + chunk->steps;
    int status = ASSAY_OK;
    m->work.partial = partial;
    assay_lookahead_until(m->lookahead, end_of_lookahead(m));
    for (uint64_t s = chunk->first_step; status == ASSAY_OK && s < end; s++) {
        status = map_step(m, s, m->sharing && m->sharing->share.chunk == number && s + 1 == end, err);
        assay_progress_step(m->pool.progress);
    }
    if (status == ASSAY_OK && m->mapped)
        status = assay_chunk_result_put(number, partial, m->source.rules, m->mapped);
    return status;
}

int assay_mapper_run_chunk(assay_mapper *m, uint64_t number, assay_combiner *combiners, assay_error *err)
{
    const assay_plan *plan = m->source.plan;
    const uint32_t source = plan->chunks[number].source;
    assay_partial partial;
    int status = assay_partial_init(&partial, plan->instances);
    ASSAY_THEN(status, enter_source(m, source));
    ASSAY_THEN(status, map_chunk(m, number, &partial, err));
    ASSAY_THEN(status, assay_combiner_add(&combiners[source], number - plan->sources[source].first_chunk, &partial));
    assay_partial_release(&partial, m->source.rules);
    if (status == ASSAY_ENOMEM)
        no_memory(m, err);
    if (err && m->observed.text[0])
        *err = m->observed;
    return status;
}

/* Measures the records of a step that `rank` has, all with -1; *full: memory does not suffice for more. */
static int measure_step(assay_mapper *m, uint64_t step, int rank, size_t room, assay_buf *out, bool *full)
{
    assay_partial partial;
    const size_t before = out->size;
    int status = assay_partial_init(&partial, m->source.plan->instances);
    m->work.partial = &partial;
    ASSAY_THEN(status, assay_step_work_begin(&m->work, &m->source.source->info->steps[step]));
    ASSAY_THEN(status, assay_step_sharing_measure(&m->reader, &m->work, rank, room - before, out));
    *full = m->work.refused || (out->size == before + sizeof(uint64_t) && partial.problems.total == 0);
    assay_partial_release(&partial, m->source.rules);
    return status;
}

int assay_mapper_measure(assay_mapper *m, int rank, int ranks, assay_buf *out, assay_error *err)
{
    const assay_plan *plan = m->source.plan;
    const size_t room = m->measured_room / (size_t)ranks;
    bool full = false;
    int status = ASSAY_OK;
    const assay_buf *before = NULL;
    for (uint64_t c = 0; status == ASSAY_OK && c < plan->chunk_count; c++) {
        const assay_chunk *chunk = &plan->chunks[c];
        assay_buf *to = &out[assay_plan_owner(plan, ranks, c)];
        full = full && to == before; /* each has room of its own: else the first would be helped, and nobody else */
        before = to;
        status = enter_source(m, chunk->source);
        assay_lookahead_until(m->lookahead, m->source.source->info->step_count);
        for (uint64_t s = chunk->first_step; status == ASSAY_OK && s < chunk->first_step + chunk->steps; s++) {
            full |= to->size + sizeof(uint64_t) > room;
            if (full)
                assay_put_u64(to, 0);
            status = full ? assay_buf_status(to) : measure_step(m, s, rank, room, to, &full);
        }
    }
    assay_mapper_leave(m); /* what it kept makes way for results */
    return status == ASSAY_ENOMEM ? no_memory(m, err) : status;
}

uint64_t assay_mapper_cost_left(const assay_mapper *m, uint64_t number)
{
    const assay_chunk *chunk = &m->source.plan->chunks[number];
    uint64_t early = 0;
    for (uint64_t s = 0; chunk->source == m->source.number && s < chunk->steps; s++)
        early += assay_lookahead_bytes(m->lookahead, chunk->first_step + s);
    if (early == 0)
        return chunk->cost;
    return early < chunk->bytes ? chunk->cost - (uint64_t)((double)chunk->cost * (double)early / (double)chunk->bytes)
                                : 0;
}

int assay_mapper_help(assay_mapper *m, const assay_share *share, int rank, assay_buf *out, assay_error *err)
{
    const assay_chunk *chunk = &m->source.plan->chunks[share->chunk];
    assay_partial partial;
    int status = enter_source(m, chunk->source), made = assay_partial_init(&partial, m->source.plan->instances);
    status = status == ASSAY_OK ? made : status;
    if (status == ASSAY_OK) {
        m->work.partial = &partial;
        status = assay_step_work_begin(&m->work, &m->source.source->info->steps[chunk->first_step + chunk->steps - 1]);
    }
    ASSAY_THEN(status, assay_step_sharing_help(&m->reader, &m->work, share, rank, out));
    assay_partial_release(&partial, m->source.rules);
    return status == ASSAY_ENOMEM ? no_memory(m, err) : status;
}

int assay_mapper_measure_steps(assay_mapper *m, uint64_t first_chunk, uint64_t end_chunk, size_t room, assay_buf *out,
                               assay_error *err)
{
    const assay_plan *plan = m->source.plan;
    const assay_chunk *first = &plan->chunks[first_chunk], *last = &plan->chunks[end_chunk - 1];
    const uint64_t end = last->first_step + last->steps;
    bool full = out->size + sizeof(uint64_t) > room;
    int status = enter_source(m, first->source);
    if (status == ASSAY_OK)
        assay_lookahead_until(m->lookahead, end);
    for (uint64_t s = first->first_step; status == ASSAY_OK && !full && s < end; s++) {
        status = measure_step(m, s, -1, room, out, &full);
        full |= out->size + sizeof(uint64_t) > room;
    }
    return status == ASSAY_ENOMEM ? no_memory(m, err) : status;
}
