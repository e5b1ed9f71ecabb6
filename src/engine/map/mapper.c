/* mapper.c - see mapper.h. */
#include "engine/map/mapper.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "engine/map/step_work.h"
#include "engine/reduce/chunk_result.h"
#include "tensor/measure.h"

/* ---- step map ---- */

/* Gives the results of a step to the rules. */

typedef struct step_mapping {
    assay_step_work *work;
    const assay_observer *observer;
    assay_error *observed;
    bool stopped;          /* by the observer: what it said ends the run, and is no failure of the rule under way */
    assay_slot_view *slot; /* [uses] */
} step_mapping;

/* In order of (tensor, worker): what rules are promised. */
static int compare_results(const void *a, const void *b)
{
    const assay_tensor_view *x = &(*(assay_tensor_result *const *)a)->view,
                            *y = &(*(assay_tensor_result *const *)b)->view;
    if (x->tensor != y->tensor)
        return x->tensor < y->tensor ? -1 : 1;
    return (x->worker > y->worker) - (x->worker < y->worker);
}

/* Counts the tensors, then puts the results in their places: those of a tensor come in the order of workers. False
 * where there are many more tensors than results, or without memory. */
static bool sort_counted(assay_step_work *work)
{
    const size_t tensors = assay_dict_count(work->source->source->info->tensors);
    uint32_t *next = work->result_of; /* the parts have been read, and it may be anything */
    for (size_t i = 1; i < work->count; i++)
        if (work->results[i]->view.worker < work->results[i - 1]->view.worker)
            return false;
    if (tensors / 4 > work->count)
        return false;
    assay_tensor_result **sorted = assay_alloc(work->count * sizeof(assay_tensor_result *));
    if (!sorted)
        return false;
    memset(next, 0, tensors * sizeof *next);
    for (size_t i = 0; i < work->count; i++)
        next[work->results[i]->view.tensor]++;
    uint32_t before = 0;
    for (size_t t = 0; t < tensors; t++) {
        const uint32_t here = next[t];
        next[t] = before;
        before += here;
    }
    for (size_t i = 0; i < work->count; i++)
        sorted[next[work->results[i]->view.tensor]++] = work->results[i];
    memcpy(work->results, sorted, work->count * sizeof(assay_tensor_result *));
    free(sorted);
    return true;
}

static bool slot_takes(const assay_step_work *work, const assay_tensor_result *result, uint32_t use)
{
    const assay_plan *plan = work->source->plan;
    const assay_use_scope *scope = &work->source->wanted->scope[use];
    const assay_use *u = &plan->uses[use];
    uint32_t flags = assay_job_instance(plan->job, u->instance)->need->slots[u->slot].flags;
    if ((flags & ASSAY_SLOT_NO_STRINGS) && result->view.dtype == ASSAY_STRING)
        return false;
    if ((flags & ASSAY_SLOT_WORKERS) && result->kinds >> ASSAY_RAW & 1 && result->view.dims > 0 &&
        assay_trial_is_split(work->source->source->info, result->view.tensor))
        return false; /* of a tensor in pieces this use gets the pieces */
    uint32_t kinds = result->kinds & scope->kinds;
    return kinds &&
           assay_scope_wants(scope, work->step->step, work->step->mode, result->view.worker, __builtin_ctz(kinds));
}

/* Has a lower worker a copy of the same at this step? What is counted together takes one copy of several. The results
 * are in order of (tensor, worker). */
static bool is_counted_already(const assay_step_work *work, size_t number, uint32_t use)
{
    const assay_trial *trial = work->source->source->info;
    const assay_tensor_view *own = &work->results[number]->view;
    if (!trial->relations || work->source->wanted->scope[use].worker != ASSAY_ALL_WORKERS ||
        !assay_use_pools(work->source->plan, use))
        return false;
    const uint32_t lowest = assay_trial_relation(trial, own->tensor, own->worker).replicas;
    for (size_t i = lowest == own->worker ? 0 : number; i-- > 0 && work->results[i]->view.tensor == own->tensor;)
        if (assay_trial_relation(trial, own->tensor, work->results[i]->view.worker).replicas == lowest &&
            slot_takes(work, work->results[i], use))
            return true;
    return false;
}

/* How many results each use may get that has a list of its own: the others share one of these lists. */
static void count_uses(const assay_step_work *work, size_t *room)
{
    const uint32_t *same_use = work->source->wanted->same_use;
    for (size_t i = 0; i < work->count; i++) {
        const assay_use_class *class = assay_map_source_class(work->source, work->results[i]->view.tensor);
        for (uint32_t u = 0; u < class->uses; u++)
            room[class->use[u]] += same_use[class->use[u]] == class->use[u];
    }
}

/* The lists, whose memory the step was charged for with its results. 0 or ASSAY_ENOMEM. */
static int make_slots(step_mapping *mapping)
{
    assay_arena *arena = mapping->work->arena;
    uint32_t uses = mapping->work->source->plan->use_count;
    assay_slot_view *slot = assay_arena_take(arena, uses * sizeof *slot);
    size_t *room = assay_arena_take_zeroed(arena, uses, sizeof *room);
    ASSAY_HAVE(slot && room);
    count_uses(mapping->work, room);
    for (uint32_t u = 0; u < uses; u++) {
        slot[u] = (assay_slot_view){.items = assay_arena_take(arena, room[u] * sizeof *slot->items)};
        ASSAY_HAVE(slot[u].items);
    }
    mapping->slot = slot;
    return ASSAY_OK;
}

static void fill_slots(step_mapping *mapping)
{
    const assay_step_work *work = mapping->work;
    const uint32_t *same_use = work->source->wanted->same_use;
    assay_slot_view *slot = mapping->slot;
    for (size_t i = 0; i < work->count; i++) {
        const assay_use_class *class = assay_map_source_class(work->source, work->results[i]->view.tensor);
        for (uint32_t u = 0; u < class->uses; u++) {
            uint32_t use = class->use[u];
            if (same_use[use] == use && slot_takes(work, work->results[i], use) && !is_counted_already(work, i, use))
                ((const assay_tensor_view **)slot[use].items)[slot[use].count++] = &work->results[i]->view;
        }
    }
    for (uint32_t u = 0; u < work->source->plan->use_count; u++)
        slot[u] = slot[same_use[u]];
}

/* Maps a step of an aggregation into a state of its own, shows what it counted, and joins it: by the rules' laws that
 * comes to the same as mapping it into the state of all. */
static int map_counted(step_mapping *mapping, uint32_t instance, const assay_rule *rule, void *state,
                       const assay_step_view *view, assay_error *err)
{
    const assay_map_source *source = mapping->work->source;
    const assay_observer *observer = mapping->observer;
    void *own = rule->ops->state_new(rule);
    ASSAY_HAVE(own);
    int status = rule->ops->map(rule, own, view, err);
    if (status == ASSAY_OK) {
        status = observer->counts(observer->context, source->number, instance - (uint32_t)source->plan->job->rule_count,
                                  mapping->work->step, ((const assay_common_state *)own)->counter, mapping->observed);
        mapping->stopped = status != ASSAY_OK;
    }
    ASSAY_THEN(status, rule->ops->combine(rule, state, own, err));
    rule->ops->state_free(own);
    return status;
}

static bool is_counted(const step_mapping *mapping, uint32_t instance, const assay_rule *rule)
{
    const assay_job *job = mapping->work->source->plan->job;
    return mapping->observer && instance < job->rule_count + job->aggregation_count &&
           (rule->ops->traits & ASSAY_RULE_COUNTS);
}

/* Runs one rule's map; a failing rule is marked and not called again for this chunk. */
static int map_rule(step_mapping *mapping, uint32_t instance)
{
    const assay_step_work *work = mapping->work;
    const assay_plan *plan = work->source->plan;
    uint32_t first = plan->first_use[instance], slots = plan->first_use[instance + 1] - first;
    bool any = false;
    for (uint32_t s = 0; s < slots; s++)
        any = any || mapping->slot[first + s].count > 0;
    assay_partial_rule *partial = &work->partial->rule[instance];
    if (!any || partial->status != ASSAY_OK)
        return ASSAY_OK;
    const assay_rule *rule = &work->source->rules[instance];
    if (!partial->state && !(partial->state = rule->ops->state_new(rule)))
        return ASSAY_ENOMEM;
    assay_step_view view = {.step = work->step->step,
                            .mode_step = work->step->mode_step,
                            .mode = work->step->mode,
                            .slots = slots,
                            .slot = mapping->slot + first,
                            .measure = plan->measure_number[instance]};
    assay_error err;
    err.text[0] = '\0';
    int status = is_counted(mapping, instance, rule) ? map_counted(mapping, instance, rule, partial->state, &view, &err)
                                                     : rule->ops->map(rule, partial->state, &view, &err);
    if (status == ASSAY_OK)
        return assay_partial_bound(work->partial, instance, work->source->rules);
    if (status == ASSAY_ENOMEM || mapping->stopped)
        return status;
    return assay_partial_fail(work->partial, instance, status, err.text);
}

/* Shows the step's tensors to the observer. */
static int show_tensors(const step_mapping *mapping)
{
    const assay_step_work *work = mapping->work;
    int status = ASSAY_OK;
    for (size_t i = 0; mapping->observer && status == ASSAY_OK && i < work->count; i++)
        status = mapping->observer->tensor(mapping->observer->context, work->source->number, work->step,
                                           &work->results[i]->view, mapping->observed);
    return status;
}

/* Bytes read of a tensor without a checksum; a saved reduction is one number. */
static uint64_t count_unsummed(const assay_tensor_result *result)
{
    const uint32_t raw = 1u << ASSAY_RAW | 1u << ASSAY_PIECE, kinds = result->unsummed & result->kinds;
    uint64_t elements = result->view.dtype > 0 ? 1 : 0;
    for (int d = 0; d < result->view.dims; d++)
        elements *= (uint64_t)result->view.shape[d];
    uint64_t bytes = kinds & raw && result->view.dtype > 0 ? elements * assay_dtype_size(result->view.dtype) : 0;
    return bytes + (uint64_t)__builtin_popcount(kinds & ~raw) * sizeof(double);
}

/* Has a tensor NaN or infinities? A mask of zeros and infinities of one sign is made so. */
static bool is_not_finite(const assay_tensor_view *item)
{
    static const uint8_t saved[] = {ASSAY_MIN, ASSAY_MAX, ASSAY_MEAN, ASSAY_L2, ASSAY_ABS_MEAN};
    const assay_stats *s = item->stats;
    bool some = false;
    for (size_t k = 0; k < sizeof saved && !assay_view_has_values(item); k++)
        some = some || (item->reductions >> saved[k] & 1 && !isfinite(item->reduction[saved[k]]));
    if (!s || !assay_view_has_values(item))
        return some;
    const uint64_t infinite = s->pos_inf + s->neg_inf;
    const bool is_mask = s->count > 1 && (s->pos_inf == 0 || s->neg_inf == 0) && infinite + s->zeros == s->count;
    return s->nan > 0 || (infinite > 0 && !is_mask);
}

/* Maps the step's results by every rule that wants some of them into the states of work->partial. `observer` (NULL:
 * none) is shown them first; *observed: why it ended the run. 0, ASSAY_ENOMEM or what the observer says. */
static int assay_step_map(assay_step_work *work, const assay_observer *observer, assay_error *observed)
{
    step_mapping mapping = {.work = work, .observer = observer, .observed = observed};
    if (work->count == 0)
        return ASSAY_OK;
    if (work->count > 1 && !sort_counted(work))
        qsort(work->results, work->count, sizeof *work->results, compare_results);
    for (size_t i = 0; i < work->count; i++) {
        work->partial->unsummed += count_unsummed(work->results[i]);
        work->partial->not_finite += is_not_finite(&work->results[i]->view);
    }
    int status = show_tensors(&mapping);
    ASSAY_THEN(status, make_slots(&mapping));
    ASSAY_TRY(status);
    fill_slots(&mapping);
    for (uint32_t i = 0; status == ASSAY_OK && i < work->source->plan->instances; i++)
        status = map_rule(&mapping, i);
    return status;
}

/* ---- mapper ---- */

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

static int map_step(assay_mapper *m, uint64_t step, bool shared, assay_error *err)
{
    bool helped = false;
    int status = assay_step_work_begin(&m->work, &m->source.source->info->steps[step]);
    if (status == ASSAY_OK && m->measured)
        status = assay_step_sharing_take(&m->reader, &m->work, m->measured, &helped, err);
    else if (status == ASSAY_OK)
        status = shared ? assay_step_sharing_gather(&m->reader, &m->work, m->sharing, &helped, err)
                        : assay_step_reader_read(&m->reader, &m->work);
    *(m->measured && m->source.plan->moves ? &m->steps_moved : &m->steps_shared) += status == ASSAY_OK && helped;
    ASSAY_THEN(status, assay_step_map(&m->work, m->observer, &m->observed));
    return status == ASSAY_OK ? m->work.partial->problems.status : status;
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
