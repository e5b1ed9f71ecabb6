/* lookahead.c - see lookahead.h. */
#include "engine/map/lookahead.h"

#include <stdlib.h>

#include "base/fault.h"
#include "base/vec.h"
#include "engine/map/record.h"
#include "tensor/measure.h"

enum { LARGE = 256 << 10 };                            /* bytes of a record that are worth measuring it early */
static const uint64_t MOST_BYTES = UINT64_C(16) << 30; /* of a strip of steps: chunk borders must come now and then */

/* A record that was measured early. */
typedef struct early_result {
    const assay_entry *entry;
    size_t at, size;          /* of its packed result in the step's bytes */
    assay_step_charge charge; /* memory to charge the step for */
} early_result;

typedef struct early_step {
    uint64_t step;      /* its position in the source's steps */
    early_result *list; /* [count] by entry, about the order in which they come */
    size_t count, room;
    assay_buf bytes;
    bool full;
} early_step;

struct assay_lookahead {
    const assay_map_source *source;
    size_t memory;                      /* for measuring, and for all that waits */
    uint64_t end;                       /* of the steps that may be measured early */
    early_step steps[ASSAY_OPEN_FILES]; /* step s in [s % ASSAY_OPEN_FILES] */
    assay_step_work work;               /* the later step whose record is measured */
    assay_partial partial;              /* takes its problems */
    assay_demand demand;
    assay_buf probe; /* only its size matters */
    /* the parts of a worker in the next steps */
    const assay_part *part; /* the one before them; NULL: not looked for */
    const assay_part *parts[ASSAY_OPEN_FILES];
    uint64_t part_step[ASSAY_OPEN_FILES];
    int part_count;
    bool off; /* disabled: the steps need nearly all of the memory, and none is left for early results */
};

static size_t step_ceiling(const assay_lookahead *a)
{
    return a->memory / ASSAY_OPEN_FILES;
}

assay_lookahead *assay_lookahead_new(const assay_map_source *source, size_t memory)
{
    assay_lookahead *a = assay_alloc_zeroed(1, sizeof *a);
    if (!a)
        return NULL;
    a->source = source;
    a->memory = memory;
    for (int i = 0; i < ASSAY_OPEN_FILES; i++)
        assay_buf_init(&a->steps[i].bytes, step_ceiling(a));
    assay_buf_init(&a->probe, step_ceiling(a));
    if (assay_step_work_init(&a->work, source, memory) == ASSAY_OK)
        return a;
    assay_lookahead_free(a);
    return NULL;
}

static void forget_step(assay_lookahead *a, early_step *step)
{
    assay_buf_release(&step->bytes);
    free(step->list);
    *step = (early_step){0};
    assay_buf_init(&step->bytes, step_ceiling(a));
}

static void forget_steps(assay_lookahead *a)
{
    for (int i = 0; i < ASSAY_OPEN_FILES; i++)
        forget_step(a, &a->steps[i]);
}

void assay_lookahead_leave(assay_lookahead *a)
{
    forget_steps(a);
    assay_demand_release(&a->demand);
    assay_partial_release(&a->partial, NULL);
    a->off = false;
    a->part = NULL;
}

void assay_lookahead_free(assay_lookahead *a)
{
    if (!a)
        return;
    assay_lookahead_leave(a);
    assay_buf_release(&a->probe);
    assay_step_work_release(&a->work);
    free(a);
}

int assay_lookahead_enter(assay_lookahead *a)
{
    a->work.partial = &a->partial;
    int status = assay_partial_init(&a->partial, a->source->plan->instances);
    return status == ASSAY_OK ? assay_demand_init(&a->demand, a->source->plan, a->source->number) : status;
}

void assay_lookahead_until(assay_lookahead *a, uint64_t end)
{
    a->end = end;
}

/* ---- results that wait ---- */

static uint64_t step_position(const assay_lookahead *a, const assay_step_info *step)
{
    return (uint64_t)(step - a->source->source->info->steps);
}

static const early_step *find_step(const assay_lookahead *a, const assay_step_info *step)
{
    const early_step *early = &a->steps[step_position(a, step) % ASSAY_OPEN_FILES];
    return early->count > 0 && early->step == step_position(a, step) ? early : NULL;
}

static int compare_entries(const void *a, const void *b)
{
    const assay_entry *x = ((const early_result *)a)->entry, *y = ((const early_result *)b)->entry;
    return (x > y) - (x < y);
}

static const early_result *find_result(const early_step *early, const assay_entry *entry)
{
    const early_result key = {.entry = entry};
    return early ? bsearch(&key, early->list, early->count, sizeof key, compare_entries) : NULL;
}

/* Packs the result behind the others of its step. *packed is false when the step has no room left. */
static int pack_result(const assay_lookahead *a, early_step *early, const assay_tensor_result *result, bool *packed)
{
    const size_t before = early->bytes.size;
    assay_tensor_result_form form = assay_map_source_form(a->source);
    assay_tensor_result_pack(result, &form, &early->bytes);
    int status = assay_buf_status(&early->bytes);
    *packed = status == ASSAY_OK;
    if (*packed)
        return ASSAY_OK;
    early->bytes.size = before;
    early->bytes.status = ASSAY_OK;
    early->full = true;
    return status == ASSAY_EBUDGET ? ASSAY_OK : status;
}

/* Keeps the result of a record of a->work.step until its turn. */
static int keep_result(assay_lookahead *a, const assay_entry *entry, const assay_tensor_result *result)
{
    const uint64_t step = step_position(a, a->work.step);
    early_step *early = &a->steps[step % ASSAY_OPEN_FILES];
    if (early->step != step)
        forget_step(a, early);
    early->step = step;
    ASSAY_HAVE(assay_vec_reserve(&early->list, &early->room, early->count + 1, sizeof *early->list));
    size_t at = early->bytes.size, place = early->count;
    bool packed;
    int status = pack_result(a, early, result, &packed);
    if (status != ASSAY_OK || !packed)
        return status;
    for (early->count++; place > 0 && early->list[place - 1].entry > entry; place--)
        early->list[place] = early->list[place - 1];
    early->list[place] = (early_result){entry, at, early->bytes.size - at, a->work.charge};
    return ASSAY_OK;
}

/* ---- measuring ---- */

static const assay_part *find_part(const assay_shard *shard, int64_t step, uint32_t worker)
{
    for (size_t p = assay_shard_find(shard, step); p < shard->count && shard->parts[p].step == step; p++)
        if (shard->parts[p].worker == worker)
            return &shard->parts[p];
    return NULL;
}

/* Finds the worker's parts in the next steps, once a part. */
static void find_parts(assay_lookahead *a, const assay_step_info *step, const assay_part *part)
{
    const assay_source *source = a->source->source;
    if (a->part == part)
        return;
    a->part = part;
    a->part_count = 0;
    if (a->off || part->count == 0)
        return;
    /* The index may say any place. */
    uint64_t most = MOST_BYTES / source->catalog.workers / assay_part_span(&source->shard, part);
    uint64_t here = step_position(a, step);
    for (uint64_t s = here + 1; s < a->end && s < here + ASSAY_OPEN_FILES && s - here < most; s++) {
        const assay_part *next = find_part(&source->shard, source->info->steps[s].step, part->worker);
        if (!next)
            continue;
        a->parts[a->part_count] = next;
        a->part_step[a->part_count++] = s;
    }
}

/* Is a result small enough to wait? The next ones of the tensor are about as large. */
static bool is_small(assay_lookahead *a, const assay_tensor_result *result)
{
    assay_tensor_result_form form = assay_map_source_form(a->source);
    assay_buf_clear(&a->probe);
    assay_tensor_result_pack(result, &form, &a->probe);
    return assay_buf_status(&a->probe) == ASSAY_OK;
}

/* Will the next record of the tensor be compared with this one, and with none of its own step? */
static bool saves_reading(const assay_lookahead *a, const assay_file_pool *pool, const assay_step_work *work,
                          const assay_step_record *of)
{
    assay_reference_key key = {of->entry->tensor, of->part->worker, 0};
    if (work->range || of->entry->kind != ASSAY_RAW ||
        (of->entry->length < LARGE && !assay_fault_now(ASSAY_FAULT_AHEAD)) ||
        !assay_reference_cache_find(pool->reference_cache, key, of->entry))
        return false;
    for (uint32_t k = 0; k < of->demand->measures; k++) {
        const assay_measure *measure = &a->source->plan->measures[of->demand->measure[k]];
        if (assay_measure_pairs(measure) ||
            (measure->kind == ASSAY_MEASURE_CHANGE && measure->reference == ASSAY_REFERENCE_FIRST_WORKER))
            return false;
    }
    return true;
}

/* The raw record of a tensor in a part. As a rule it has the place that it had in the part before. */
static const assay_entry *find_entry(const assay_shard *shard, const assay_part *part, uint32_t tensor, size_t place)
{
    const assay_entry *guess = place < part->count ? &shard->entries[part->first + place] : NULL;
    if (guess && guess->tensor == tensor && guess->kind == ASSAY_RAW)
        return guess;
    return assay_part_raw(shard, part, tensor);
}

/* Opens the file of a later part as the main one; `turn`, the file of the step whose turn it is, stays open. */
static int open_later(assay_file_pool *pool, const assay_part *part, uint32_t number, const assay_open_file *turn,
                      assay_error *err)
{
    assay_open_file *file = assay_file_pool_find(pool, part, number);
    const bool is_open = file != NULL;
    for (int i = 0; !is_open && i < ASSAY_OPEN_FILES; i++)
        if (&pool->files[i] != turn && (!file || pool->files[i].used < file->used))
            file = &pool->files[i];
    file->used = pool->tensor;
    assay_file_pool_turn_to(pool, file);
    return assay_file_pool_open(pool, file, pool->source->source, part, number, err);
}

/* Measures a record of a->work.step, a later step. Only a result without any problem is kept. */
static int measure_later(assay_lookahead *a, assay_file_pool *pool, const assay_part *part, const assay_entry *entry,
                         const assay_open_file *turn)
{
    const assay_source *source = a->source->source;
    const early_step *early = find_step(a, a->work.step);
    assay_error err = {""};
    bool measured;
    const assay_step_record of = {part, entry, assay_demand_of(&a->demand, part, a->work.step->mode, entry)};
    if (!(of.demand->kinds >> ASSAY_RAW & 1) || find_result(early, entry) || (early && early->full))
        return ASSAY_OK;
    int status = open_later(pool, part, entry->file, turn, &err);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : ASSAY_OK;
    assay_reader_expect(pool->main->reader, entry->offset, entry->offset + entry->length);
    assay_tensor_result result = {.view = {.tensor = entry->tensor, .worker = part->worker, .dtype = -1}};
    result.view.order = assay_entry_order(&source->shard, part, entry);
    result.view.name = assay_dict_name(source->info->tensors, entry->tensor, NULL);
    assay_step_work_clear(&a->work);
    status = assay_record_measure(pool, &a->work, &of, &result, &measured);
    if (status == ASSAY_OK && a->partial.problems.total > 0) {
        assay_partial_release(&a->partial, NULL);
        return assay_partial_init(&a->partial, a->source->plan->instances);
    }
    return status == ASSAY_OK && measured ? keep_result(a, entry, &result) : status;
}

int assay_lookahead_measure(assay_lookahead *a, assay_file_pool *pool, const assay_step_work *work,
                            const assay_step_record *of, const assay_tensor_result *result)
{
    const assay_part *part = of->part;
    const assay_entry *entry = of->entry;
    if (!saves_reading(a, pool, work, of))
        return ASSAY_OK;
    find_parts(a, work->step, part);
    if (a->part_count == 0 || !is_small(a, result))
        return ASSAY_OK;
    const assay_source *source = a->source->source;
    assay_open_file *turn = pool->main;
    size_t place = (size_t)(entry - &source->shard.entries[part->first]);
    int status = ASSAY_OK;
    assay_step_work_limit(&a->work, a->memory + assay_arena_idle(work->arena) / 16 * 15);
    for (int i = 0; status == ASSAY_OK && i < a->part_count; i++) {
        const assay_entry *next = find_entry(&source->shard, a->parts[i], entry->tensor, place);
        a->work.step = &source->info->steps[a->part_step[i]];
        if (next)
            status = measure_later(a, pool, a->parts[i], next, turn);
    }
    assay_file_pool_turn_to(pool, turn);
    assay_step_work_limit(&a->work, a->memory);
    assay_reference_cache_evict(pool->reference_cache, (assay_reference_key){entry->tensor, part->worker, 0});
    return status;
}

/* ---- the step's turn ---- */

uint64_t assay_lookahead_bytes(const assay_lookahead *a, uint64_t step)
{
    const early_step *early = &a->steps[step % ASSAY_OPEN_FILES];
    uint64_t bytes = 0;
    for (size_t i = 0; early->step == step && i < early->count; i++)
        bytes += early->list[i].entry->length;
    return bytes;
}

bool assay_lookahead_has(const assay_lookahead *a, const assay_step_work *work, const assay_entry *entry)
{
    return find_result(find_step(a, work->step), entry) != NULL;
}

/* A step that has no room for a result: the next ones will have none either. */
static void give_up(assay_lookahead *a)
{
    a->off = true;
    a->part = NULL;
    forget_steps(a);
}

int assay_lookahead_take(assay_lookahead *a, assay_step_work *work, const assay_entry *entry,
                         assay_tensor_result *result, bool *taken)
{
    const early_step *early = find_step(a, work->step);
    const early_result *found = find_result(early, entry);
    *taken = false;
    if (!found)
        return ASSAY_OK;
    if (!assay_step_work_admit(work, found->charge)) {
        give_up(a);
        return ASSAY_OK;
    }
    assay_cursor in = assay_cursor_over(early->bytes.data + found->at, found->size);
    assay_tensor_result_form form = assay_map_source_form(a->source);
    assay_tensor_result raw = {0};
    int status = assay_tensor_result_unpack(&in, &form, work->arena, &raw, NULL);
    if (status != ASSAY_OK)
        return status == ASSAY_EBUDGET ? ASSAY_ENOMEM : ASSAY_EINTERNAL;
    raw.view.name = result->view.name;
    raw.view.order = result->view.order;
    raw.view.reduction = result->view.reduction;
    raw.view.reductions = result->view.reductions;
    result->view = raw.view;
    result->kinds |= raw.kinds;
    result->unsummed |= raw.unsummed;
    *taken = true;
    return ASSAY_OK;
}

void assay_lookahead_end_step(assay_lookahead *a, const assay_step_work *work)
{
    const early_step *early = find_step(a, work->step);
    if (early)
        forget_step(a, &a->steps[early->step % ASSAY_OPEN_FILES]);
    if (early && work->refused)
        give_up(a);
}
