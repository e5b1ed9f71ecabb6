/* lookahead.c - see lookahead.h. */
#include "engine/map/lookahead.h"

#include <stdlib.h>

#include "base/fault.h"
#include "engine/map/deferred.h"
#include "engine/map/step_sharing.h"

static const size_t LARGE = 256 << 10; /* bytes of a record, from which on it is worth while */
static const uint64_t AT_ONCE = UINT64_C(16)
                                << 30; /* bytes after which a rank comes to a border of chunks at the latest */

typedef struct measured {
    const assay_entry *entry;
    size_t at, size; /* in bytes */
} measured;

typedef struct waiting { /* of one step */
    uint64_t step;       /* its place among the trial's steps */
    measured *list;      /* by entry: about the order in which they are measured */
    size_t count, room;
    assay_buf bytes;
    uint64_t most; /* bytes that a record took while it was measured */
    bool full;
} waiting;

struct assay_lookahead {
    size_t memory, ceiling;     /* of all, and of what waits of one step */
    assay_buf probe;            /* only its size matters */
    waiting steps[ASSAY_STRIP]; /* step s in [s % ASSAY_STRIP] */
    assay_arena *arena;         /* of the record under way */
    assay_partial node;         /* takes its problems */
    bool has_node;
    assay_demand wants;
    const assay_part *part; /* whose worker's next parts these are */
    const assay_part *parts[ASSAY_STRIP];
    uint64_t part_step[ASSAY_STRIP];
    int part_count;
    bool off; /* steps need nearly all of the memory: it would be for nothing */
};

assay_lookahead *assay_lookahead_new(size_t memory)
{
    assay_lookahead *a = assay_alloc_zeroed(1, sizeof *a);
    if (!a)
        return NULL;
    a->memory = memory;
    a->ceiling = memory / ASSAY_STRIP;
    for (int i = 0; i < ASSAY_STRIP; i++)
        assay_buf_init(&a->steps[i].bytes, a->ceiling);
    assay_buf_init(&a->probe, a->ceiling);
    a->arena = assay_arena_new(memory);
    if (!a->arena) {
        free(a);
        return NULL;
    }
    return a;
}

static void forget(assay_lookahead *a, waiting *w)
{
    assay_buf_release(&w->bytes);
    free(w->list);
    *w = (waiting){0};
    assay_buf_init(&w->bytes, a->ceiling);
}

static void forget_all(assay_lookahead *a)
{
    for (int i = 0; i < ASSAY_STRIP; i++)
        forget(a, &a->steps[i]);
}

void assay_lookahead_leave(assay_lookahead *a)
{
    forget_all(a);
    assay_demand_release(&a->wants);
    if (a->has_node)
        assay_partial_release(&a->node, NULL);
    a->has_node = a->off = false;
    a->part = NULL;
}

void assay_lookahead_free(assay_lookahead *a)
{
    if (!a)
        return;
    assay_lookahead_leave(a);
    assay_buf_release(&a->probe);
    assay_arena_free(a->arena);
    free(a);
}

int assay_lookahead_enter(assay_mapper *m)
{
    assay_lookahead *a = m->ahead;
    int status = assay_partial_init(&a->node, m->plan->instances);
    a->has_node = true;
    return status == ASSAY_OK ? assay_demand_init(&a->wants, m->plan, m->source) : status;
}

/* ---- what waits ---- */

static waiting *waiting_of(assay_lookahead *a, uint64_t step)
{
    waiting *w = &a->steps[step % ASSAY_STRIP];
    return w->count > 0 && w->step == step ? w : NULL;
}

static uint64_t number_of(const assay_mapper *m, const assay_step_info *step)
{
    return (uint64_t)(step - m->sources->list[m->source].info->steps);
}

static int compare_entries(const void *a, const void *b)
{
    const assay_entry *x = ((const measured *)a)->entry, *y = ((const measured *)b)->entry;
    return (x > y) - (x < y);
}

/* What was measured of an entry of m->step; NULL: nothing. */
static const measured *find(const assay_mapper *m, const assay_entry *entry)
{
    const waiting *w = waiting_of(m->ahead, number_of(m, m->step));
    const measured key = {.entry = entry};
    return w ? bsearch(&key, w->list, w->count, sizeof key, compare_entries) : NULL;
}

static int put(assay_mapper *m, uint64_t step, const assay_entry *entry, const assay_tensor_result *item)
{
    assay_lookahead *a = m->ahead;
    waiting *w = &a->steps[step % ASSAY_STRIP];
    if (w->step != step)
        forget(a, w);
    w->step = step;
    if (w->count == w->room) {
        size_t room = w->room ? 2 * w->room : 16;
        measured *grown = assay_realloc_array(w->list, room, sizeof *grown);
        if (!grown)
            return ASSAY_ENOMEM;
        w->list = grown;
        w->room = room;
    }
    size_t at = w->bytes.size, most = assay_arena_most(a->arena), place = w->count;
    assay_tensor_result_form form = assay_deferred_form(m);
    assay_tensor_result_pack(item, &form, &w->bytes);
    if (assay_buf_status(&w->bytes) != ASSAY_OK) {
        int status = assay_buf_status(&w->bytes);
        w->bytes.size = at;
        w->bytes.status = ASSAY_OK;
        w->full = true;
        return status == ASSAY_EBUDGET ? ASSAY_OK : status;
    }
    w->count++;
    for (; place > 0 && w->list[place - 1].entry > entry; place--)
        w->list[place] = w->list[place - 1];
    w->list[place] = (measured){entry, at, w->bytes.size - at};
    w->most = w->most > most ? w->most : most;
    return ASSAY_OK;
}

/* ---- measuring ---- */

/* The step behind the last one of this source that this rank may measure before its turn. */
static uint64_t end_of_steps(const assay_mapper *m)
{
    const assay_source_plan *plan = &m->plan->sources[m->source];
    uint64_t end = plan->first_chunk + plan->chunks;
    end = end < m->ahead_end ? end : m->ahead_end;
    if (end == 0)
        return 0;
    const assay_chunk *last = &m->plan->chunks[end - 1];
    bool shared = m->lender && m->lender->share.chunk == end - 1;
    return last->source == m->source ? last->first_step + last->steps - shared : 0;
}

static const assay_part *part_of(const assay_shard *shard, int64_t step, uint32_t worker)
{
    for (size_t p = assay_shard_find(shard, step); p < shard->count && shard->parts[p].step == step; p++)
        if (shard->parts[p].worker == worker)
            return &shard->parts[p];
    return NULL;
}

/* Finds the worker's parts in the next steps, once a part. */
static void find_parts(assay_mapper *m, const assay_part *part)
{
    assay_lookahead *a = m->ahead;
    const assay_source *source = &m->sources->list[m->source];
    if (a->part == part)
        return;
    a->part = part;
    a->part_count = 0;
    if (a->off || part->count == 0)
        return;
    const assay_entry *last = &source->shard.entries[part->first + part->count - 1];
    uint64_t most = AT_ONCE / source->catalog.workers / (last->offset + last->length); /* the index may say any place */
    uint64_t step = number_of(m, m->step), end = end_of_steps(m);
    for (uint64_t s = step + 1; s < end && s < step + ASSAY_STRIP && s - step < most; s++) {
        const assay_part *next = part_of(&source->shard, source->info->steps[s].step, part->worker);
        if (!next)
            continue;
        a->parts[a->part_count] = next;
        a->part_step[a->part_count++] = s;
    }
}

/* May what was measured wait? That of a tensor which is like the next ones tells it. */
static bool is_small(const assay_mapper *m, const assay_tensor_result *item)
{
    assay_buf *probe = &m->ahead->probe;
    assay_tensor_result_form form = assay_deferred_form(m);
    assay_buf_clear(probe);
    assay_tensor_result_pack(item, &form, probe);
    return assay_buf_status(probe) == ASSAY_OK;
}

/* Would the next record of the tensor be compared with this one, and no other worker's? */
static bool is_worth_while(const assay_mapper *m, const assay_part *part, const assay_entry *entry,
                           const assay_record_demand *wanted)
{
    assay_reference_key key = {entry->tensor, part->worker};
    if (m->stretch || entry->kind != ASSAY_RAW || (entry->length < LARGE && !assay_fault_now(ASSAY_FAULT_AHEAD)) ||
        !assay_reference_cache_find(m->kept, key, entry))
        return false;
    for (uint32_t k = 0; k < wanted->measures; k++) {
        const assay_measure *measure = &m->plan->measures[wanted->measure[k]];
        if (measure->kind == ASSAY_MEASURE_CHANGE && measure->reference == ASSAY_REFERENCE_FIRST_WORKER)
            return false;
    }
    return true;
}

/* The raw record of a tensor in a part; as a rule it has the place that it had in the part before. */
static const assay_entry *entry_of(const assay_shard *shard, const assay_part *part, uint32_t tensor, size_t place)
{
    const assay_entry *guess = place < part->count ? &shard->entries[part->first + place] : NULL;
    if (guess && guess->tensor == tensor && guess->kind == ASSAY_RAW)
        return guess;
    return assay_part_raw(shard, part, tensor);
}

/* Opens the file of a later part as m->main; that of the step under way, `main`, stays open. */
static int open_later(assay_mapper *m, const assay_part *part, const assay_open_file *main, assay_error *err)
{
    assay_open_file *best = assay_mapper_file_of(m, part);
    for (int i = 0; (!best || best->part != part) && i < ASSAY_STRIP; i++)
        if (&m->files[i] != main && (!best || m->files[i].used < best->used))
            best = &m->files[i];
    best->used = m->tensors_taken;
    assay_mapper_turn_to(m, best);
    return assay_file_pool_open(m, best, &m->sources->list[m->source], part, err);
}

/* Measures a record of m->step, which is a later one than that under way. */
static int measure(assay_mapper *m, const assay_part *part, const assay_entry *entry, const assay_open_file *main)
{
    assay_lookahead *a = m->ahead;
    const assay_source *source = &m->sources->list[m->source];
    assay_error err = {""};
    assay_demand_next(&a->wants);
    const assay_record_demand *wanted = assay_demand_of(&a->wants, part, m->step->mode, entry->tensor);
    const waiting *w = waiting_of(a, number_of(m, m->step));
    if (!(wanted->kinds >> ASSAY_RAW & 1) || find(m, entry) || (w && w->full))
        return ASSAY_OK;
    int status = open_later(m, part, main, &err);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : ASSAY_OK;
    assay_reader_expect(m->main->file, entry->offset, entry->offset + entry->length);
    assay_tensor_result item = {.view = {.tensor = entry->tensor, .worker = part->worker, .dtype = -1}};
    item.view.order = (uint32_t)(entry - &source->shard.entries[part->first]);
    item.view.name = assay_dict_name(source->info->tensors, entry->tensor, NULL);
    bool taken;
    assay_arena_clear(m->arena);
    status = assay_record_measure(m, part, entry, wanted, &item, &taken);
    if (status == ASSAY_OK && a->node.problems.total > 0) {
        assay_partial_release(&a->node, NULL);
        return assay_partial_init(&a->node, m->plan->instances);
    }
    return status == ASSAY_OK && taken ? put(m, number_of(m, m->step), entry, &item) : status;
}

int assay_lookahead_measure(assay_mapper *m, const assay_part *part, const assay_entry *entry,
                            const assay_record_demand *wanted, const assay_tensor_result *item)
{
    assay_lookahead *a = m->ahead;
    if (!is_worth_while(m, part, entry, wanted))
        return ASSAY_OK;
    find_parts(m, part);
    if (a->part_count == 0 || !is_small(m, item))
        return ASSAY_OK;
    const assay_source *source = &m->sources->list[m->source];
    const assay_step_info *step = m->step;
    assay_open_file *main = m->main;
    assay_arena *arena = m->arena;
    assay_partial *node = m->node;
    bool alone = m->alone;
    size_t place = (size_t)(entry - &source->shard.entries[part->first]);
    int status = ASSAY_OK;
    assay_arena_clear_to(a->arena, a->memory + assay_arena_idle(arena));
    m->arena = a->arena;
    m->node = &a->node;
    for (int i = 0; status == ASSAY_OK && i < a->part_count; i++) {
        const assay_entry *next = entry_of(&source->shard, a->parts[i], entry->tensor, place);
        m->step = &source->info->steps[a->part_step[i]];
        if (next)
            status = measure(m, a->parts[i], next, main);
    }
    m->step = step;
    assay_mapper_turn_to(m, main);
    m->arena = arena;
    m->node = node;
    m->alone = alone;
    assay_arena_clear_to(a->arena, a->memory);
    assay_reference_cache_evict(m->kept, (assay_reference_key){entry->tensor, part->worker});
    return status;
}

/* ---- the step's turn ---- */

bool assay_lookahead_has(assay_mapper *m, const assay_entry *entry)
{
    return find(m, entry) != NULL;
}

int assay_lookahead_take(assay_mapper *m, const assay_entry *entry, assay_tensor_result *item, bool *taken)
{
    const measured *found = find(m, entry);
    *taken = false;
    if (!found)
        return ASSAY_OK;
    const waiting *w = waiting_of(m->ahead, number_of(m, m->step));
    assay_cursor in = assay_cursor_over(w->bytes.data + found->at, found->size);
    assay_tensor_result_form form = assay_deferred_form(m);
    assay_tensor_result raw = {0};
    int status = assay_tensor_result_unpack(&in, &form, m->arena, &raw, NULL);
    m->alone |= status == ASSAY_EBUDGET;
    if (status != ASSAY_OK)
        return status == ASSAY_EBUDGET ? ASSAY_OK : ASSAY_EINTERNAL;
    raw.view.name = item->view.name;
    raw.view.order = item->view.order;
    raw.view.reduction = item->view.reduction;
    raw.view.reductions = item->view.reductions;
    item->view = raw.view;
    item->kinds |= raw.kinds;
    *taken = true;
    return ASSAY_OK;
}

int assay_lookahead_read_step(assay_mapper *m)
{
    waiting *w = waiting_of(m->ahead, number_of(m, m->step));
    if (!w)
        return assay_mapper_read_step(m);
    assay_partial *whole = m->node, node;
    int status = assay_partial_init(&node, m->plan->instances);
    m->node = &node;
    m->alone = false;
    if (status == ASSAY_OK)
        status = assay_mapper_read_step(m);
    if (status == ASSAY_OK)
        status = node.problems.status;
    assay_needs needs = assay_deferred_both(assay_deferred_least(m), assay_deferred_needs(m));
    needs.most = needs.most > w->most ? needs.most : w->most;
    m->alone |= !assay_deferred_fits(m, needs);
    if (m->alone) {
        m->ahead->off = true;
        m->ahead->part = NULL;
        forget_all(m->ahead);
    }
    forget(m->ahead, w);
    return assay_deferred_settle(m, whole, &node, status);
}
