/* reference.c - see reference.h. */
#include "engine/map/reference.h"

#include <string.h>

#include "base/fault.h"

/* Goes back over the raw records of a tensor and worker before a step, newest first. */
enum { PAGE = 32 };
typedef struct back_iterator {
    assay_place place[PAGE];
    size_t count, at;
    size_t most;  /* places to look up at once, at most PAGE */
    int64_t step; /* the page's end */
} back_iterator;

static void start_back(back_iterator *it, const assay_part *part, size_t most)
{
    it->count = it->at = 0;
    it->most = most;
    it->step = part->step;
}

static bool step_back(const assay_record_work *w, back_iterator *it, assay_place *out)
{
    if (it->at == it->count) {
        if (it->count > 0)
            it->step = it->place[it->count - 1].part->step;
        it->count = assay_record_history_before(w->pool->history, w->entry->tensor, w->part->worker, it->step,
                                                it->place, it->most);
        it->most = PAGE;
        it->at = 0;
    }
    if (it->at == it->count)
        return false;
    *out = it->place[it->at++];
    return true;
}

/* The file for a reference: one that has the very record open for this tensor, else one that has its file open,
 * else the one that was not used for longest. NULL when all are in use for this tensor. */
static assay_open_file *pick_file(assay_file_pool *pool, assay_place place)
{
    assay_open_file *best = NULL;
    for (int i = 0; i < ASSAY_OPEN_REFERENCES; i++) {
        assay_open_file *file = &pool->references[i];
        if (file->used == pool->tensor && file->entry == place.entry)
            return file;
    }
    for (int i = 0; i < ASSAY_OPEN_REFERENCES; i++) {
        assay_open_file *file = &pool->references[i];
        if (file->used == pool->tensor)
            continue;
        if (file->part == place.part && assay_part_same_file(place.part, file->number, place.entry->file))
            return file;
        if (!best || file->used < best->used)
            best = file;
    }
    return best;
}

/* A reference that is at hand without reading: the record under way itself, or a cached one. */
static bool is_at_hand(const assay_record_work *w, assay_open_file *file, assay_place place)
{
    if (place.entry == w->entry) {
        file->from = ASSAY_FROM_ITSELF;
        assay_record_copy(&file->record, w->record);
        return true;
    }
    assay_reference_key key = {place.entry->tensor, place.part->worker, 0};
    const assay_cached_reference *cached = assay_reference_cache_find(w->pool->reference_cache, key, place.entry);
    if (!cached)
        return false;
    file->from = ASSAY_FROM_CACHE;
    file->bytes = cached->bytes;
    file->record.dtype = cached->dtype;
    file->record.dims = cached->dims;
    file->record.elements = cached->elements;
    memcpy(file->record.shape, cached->shape, (size_t)cached->dims * sizeof *cached->shape);
    return true;
}

/* Opens a candidate; only a raw, numeric value that is not empty counts. 1, 0 when it does not count, or negative. */
static int open_candidate(const assay_record_work *w, const assay_source *source, assay_place place,
                          assay_reference *out, assay_error *err)
{
    assay_file_pool *pool = w->pool;
    assay_open_file *file = pick_file(pool, place);
    if (!file)
        return assay_fail(err, ASSAY_EBUDGET, "a tensor is compared with more than %d others at once",
                          ASSAY_OPEN_REFERENCES);
    *out = (assay_reference){.place = place, .file = file};
    if (file->used == pool->tensor)
        return 1;
    file->from = ASSAY_FROM_FILE;
    file->fills_cache = false;
    file->consumed = 0;
    file->bytes = NULL;
    int status = is_at_hand(w, file, place)
                     ? ASSAY_OK
                     : assay_file_pool_open(pool, file, source, place.part, place.entry->file, err);
    if (status == ASSAY_OK && file->from == ASSAY_FROM_FILE)
        status = assay_reader_entry(file->reader, place.part, place.entry, source->info->tensors, pool->value_budget,
                                    &file->record, err);
    ASSAY_TRY(status);
    if (file->record.dtype == ASSAY_STRING || file->record.elements == 0)
        return 0;
    file->entry = place.entry;
    file->used = pool->tensor;
    return 1;
}

assay_reference_key assay_reference_sums_key(const assay_record_work *w, const assay_measure *measure)
{
    return (assay_reference_key){w->entry->tensor, w->part->worker,
                                 (uint32_t)(measure - w->step->source->plan->measures) + 1};
}

/* Are the sums of a candidate of the same shape kept? */
static bool find_sums(const assay_record_work *w, const assay_measure *measure, assay_place place, assay_reference *out)
{
    const assay_cached_reference *cached =
        assay_reference_keeps_sums(measure)
            ? assay_reference_cache_find(w->pool->reference_cache, assay_reference_sums_key(w, measure), place.entry)
            : NULL;
    if (!cached || cached->dims != w->record->dims ||
        memcmp(cached->shape, w->record->shape, (size_t)cached->dims * sizeof *cached->shape) != 0)
        return false;
    *out = (assay_reference){.place = place, .sums = (const double *)(const void *)cached->bytes};
    return true;
}

static bool has_train_steps(const assay_record_work *w)
{
    return assay_trial_tensor_modes(w->pool->source->source->info, w->entry->tensor) >> ASSAY_MODE_TRAIN & 1;
}

bool assay_reference_passes_by(const assay_record_work *w, const assay_measure *measure)
{
    const bool train = measure->reference == ASSAY_REFERENCE_OLDEST_WITHIN ||
                       (measure->reference == ASSAY_REFERENCE_SAVED_BEFORE && measure->train_only);
    return assay_measure_looks_back(measure) && train && w->part->mode != ASSAY_MODE_TRAIN && has_train_steps(w);
}

/* A reference before `step`, further back than the entries that this rank was sent. */
static int find_further_back(const assay_record_work *w, int64_t step, bool train, assay_reference *out,
                             assay_error *err)
{
    assay_file_pool *pool = w->pool;
    assay_place place;
    if (!pool->lookback_index && !(pool->lookback_index = assay_lookback_index_new(pool->source->source)))
        return ASSAY_ENOMEM;
    for (;;) {
        int found = assay_lookback_index_before(pool->lookback_index, w->entry->tensor, w->part->worker, step, &place);
        if (found <= 0)
            return found;
        step = place.part->step;
        if (train && place.part->mode != ASSAY_MODE_TRAIN)
            continue;
        found = open_candidate(w, pool->source->source, place, out, err);
        if (found != 0)
            return found;
    }
}

/* The `steps`-th saved step before. Only TRAIN steps count when the measure says so and the tensor has any. */
static int find_before(const assay_record_work *w, const assay_measure *measure, assay_reference *out, assay_error *err)
{
    bool train = measure->train_only && has_train_steps(w), was_empty = false;
    back_iterator it;
    assay_place place;
    int64_t skip = measure->steps - 1, step = w->part->step;
    if (train && w->part->mode != ASSAY_MODE_TRAIN)
        return 0;
    start_back(&it, w->part, measure->steps < PAGE ? (size_t)measure->steps : PAGE);
    while (step_back(w, &it, &place)) {
        if (was_empty && place.part->before) /* of those this rank has not all */
            break;
        step = place.part->step;
        if ((train && place.part->mode != ASSAY_MODE_TRAIN) || skip-- > 0)
            continue;
        int found = find_sums(w, measure, place, out) ? 1 : open_candidate(w, w->pool->source->source, place, out, err);
        if (found != 0)
            return found;
        was_empty = true;
    }
    return was_empty ? find_further_back(w, step, train, out, err) : 0;
}

/* How far back a candidate is: in mode steps where the tensor has TRAIN steps, else in global steps. */
static int64_t distance(const assay_part *part, const assay_part *earlier, bool train)
{
    return train ? part->mode_step - earlier->mode_step : part->step - earlier->step;
}

/* The oldest saved step within the window. */
static int find_oldest(const assay_record_work *w, const assay_measure *measure, assay_reference *out, assay_error *err)
{
    bool train = has_train_steps(w);
    back_iterator it;
    assay_place place, oldest = {NULL, NULL};
    if (train && w->part->mode != ASSAY_MODE_TRAIN)
        return 0;
    start_back(&it, w->part, PAGE);
    while (step_back(w, &it, &place)) {
        if (train && place.part->mode != ASSAY_MODE_TRAIN)
            continue;
        if (distance(w->part, place.part, train) > measure->steps)
            break;
        oldest = place;
    }
    return oldest.part ? open_candidate(w, w->pool->source->source, oldest, out, err) : 0;
}

/* Opens the record of a tensor at the step of the record being measured, of the worker with that name or, without one,
 * of the first that has it. The shard is of `source`. */
static int find_in_step(const assay_record_work *w, assay_same_step *same, const assay_shard *shard,
                        const assay_source *source, uint32_t tensor, const char *worker, assay_reference *out,
                        assay_error *err)
{
    assay_place place;
    if (!same->of || (worker ? same->of != w->part : same->of->step != w->part->step)) {
        size_t first = assay_shard_find(shard, w->part->step), end;
        while (worker && first < shard->count && shard->parts[first].step == w->part->step &&
               strcmp(source->catalog.worker[shard->parts[first].worker], worker) != 0)
            first++;
        for (end = first; end < shard->count && shard->parts[end].step == w->part->step; end++)
            if (worker && shard->parts[end].worker != shard->parts[first].worker)
                break;
        if (assay_step_lookup_turn(&same->lookup, shard, first, end, assay_dict_count(source->info->tensors)) !=
            ASSAY_OK)
            return ASSAY_ENOMEM;
        same->of = w->part;
    }
    return assay_step_lookup_find(&same->lookup, tensor, &place) ? open_candidate(w, source, place, out, err) : 0;
}

/* The record of the first worker of those that have copies of what this one has. */
static int find_first_worker(const assay_record_work *w, assay_reference *out, assay_error *err)
{
    const assay_source *source = w->pool->source->source;
    assay_step_workers *table = &w->pool->workers;
    const uint32_t tensor = w->entry->tensor;
    assay_place place;
    if (!source->info->relations)
        return find_in_step(w, &w->pool->first_worker, &source->shard, source, tensor, NULL, out, err);
    const uint32_t group = assay_trial_peers(source->info, tensor, w->part->worker);
    if (assay_step_workers_turn(table, &source->shard, w->part->step) != ASSAY_OK)
        return ASSAY_ENOMEM;
    for (size_t i = 0; assay_step_workers_find(table, tensor, w->entry->kind, group, i, &place); i++)
        if (assay_trial_peers(source->info, tensor, place.part->worker) == group)
            return open_candidate(w, source, place, out, err);
    return 0;
}

/* Where the other trial's records at the step of a part are looked up; NULL without memory. */
static assay_same_step *pick_same_step(const assay_record_work *w, uint32_t pair, uint32_t tensors)
{
    assay_file_pool *pool = w->pool;
    const uint32_t steps = assay_same_steps(tensors);
    if (!pool->others)
        pool->others =
            assay_alloc_zeroed((size_t)pool->source->plan->pair_count * ASSAY_OPEN_FILES, sizeof *pool->others);
    if (!pool->others)
        return NULL;
    assay_same_step *of_pair = &pool->others[(size_t)pair * ASSAY_OPEN_FILES];
    for (uint32_t i = 0; i < steps; i++)
        if (of_pair[i].of == w->part)
            return &of_pair[i];
    for (uint32_t i = 0; i < steps; i++)
        if (!of_pair[i].of)
            return &of_pair[i];
    return &of_pair[pool->other_turn++ % steps];
}

/* The other trial's record of the same step, tensor name and worker name. */
static int find_other(const assay_record_work *w, const assay_measure *measure, assay_reference *out, assay_error *err)
{
    const assay_map_source *source = w->pool->source;
    const char *worker = source->source->catalog.worker[w->part->worker];
    for (uint32_t p = 0; p < source->plan->pair_count; p++) {
        const assay_pair *pair = &source->plan->pairs[p];
        uint32_t tensor = pair->source == source->number && pair->other == measure->other
                              ? pair->tensor[w->entry->tensor]
                              : ASSAY_NO_ID;
        if (tensor == ASSAY_NO_ID)
            continue;
        const assay_source *other = &source->sources->list[pair->other];
        assay_same_step *same = pick_same_step(w, p, assay_dict_count(other->info->tensors));
        return same ? find_in_step(w, same, &pair->shard, other, tensor, worker, out, err) : ASSAY_ENOMEM;
    }
    return 0;
}

/* The tensor of that name, of the same step and worker. */
static int find_named(const assay_record_work *w, const assay_buf *name, assay_reference *out, assay_error *err)
{
    const assay_source *source = w->pool->source->source;
    const char *worker = source->catalog.worker[w->part->worker];
    if (assay_buf_status(name) != ASSAY_OK)
        return ASSAY_ENOMEM;
    const uint32_t tensor = assay_dict_find(source->info->tensors, (const char *)name->data, name->size);
    return tensor == ASSAY_NO_ID ? 0 : find_in_step(w, &w->pool->own, &source->shard, source, tensor, worker, out, err);
}

/* The second moment of the parameter that the tensor belongs to, or the input that goes with an output. */
static int find_partner(const assay_record_work *w, uint32_t reference, assay_reference *out, assay_error *err)
{
    static const char OUTPUT[] = "_output_";
    size_t length = 0;
    const char *name = assay_dict_name(w->pool->source->source->info->tensors, w->entry->tensor, &length);
    assay_buf partner = ASSAY_BUF(SIZE_MAX);
    int status = 0;
    if (reference == ASSAY_REFERENCE_SECOND_MOMENT) {
        while (length > 0 && name[length - 1] != '/')
            length--;
        assay_put_bytes(&partner, name, length);
        assay_put_format(&partner, "exp_avg_sq");
    } else {
        size_t digits = length;
        while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9')
            digits--;
        const size_t before = digits >= sizeof OUTPUT - 1 ? digits - (sizeof OUTPUT - 1) : 0;
        const bool is_output = digits < length && before > 0 && memcmp(name + before, OUTPUT, sizeof OUTPUT - 1) == 0;
        assay_put_bytes(&partner, name, is_output ? before : 0);
        assay_put_format(&partner, "_input_%.*s", (int)(length - digits), name + digits);
        length = is_output ? length : 0;
    }
    if (length > 0)
        status = find_named(w, &partner, out, err);
    assay_buf_release(&partner);
    return status;
}

int assay_reference_find(const assay_record_work *w, const assay_measure *measure, assay_reference *out,
                         assay_error *err)
{
    switch (measure->reference) {
    case ASSAY_REFERENCE_SAVED_BEFORE:
        return find_before(w, measure, out, err);
    case ASSAY_REFERENCE_OLDEST_WITHIN:
        return find_oldest(w, measure, out, err);
    case ASSAY_REFERENCE_OTHER_TRIAL:
        return find_other(w, measure, out, err);
    case ASSAY_REFERENCE_SECOND_MOMENT:
    case ASSAY_REFERENCE_INPUT:
        return find_partner(w, measure->reference, out, err);
    default:
        return find_first_worker(w, out, err);
    }
}
