/* reference.c - finds and opens the record that a comparison refers to. */
#include "engine/map/mapper.h"

#include <string.h>

/* Walks the raw records of a tensor and worker before a step, newest first. */
enum { PAGE = 32 };
typedef struct walk {
    assay_place place[PAGE];
    size_t count, at;
    size_t most;  /* places to look up at once, at most PAGE */
    int64_t step; /* the page's end */
} walk;

static void begin(walk *w, const assay_part *part, size_t most)
{
    w->count = w->at = 0;
    w->most = most;
    w->step = part->step;
}

static bool next_place(const assay_mapper *m, walk *w, uint32_t tensor, uint32_t worker, assay_place *out)
{
    if (w->at == w->count) {
        if (w->count > 0)
            w->step = w->place[w->count - 1].part->step;
        w->count = assay_history_before(m->history, tensor, worker, w->step, w->place, w->most);
        w->most = PAGE;
        w->at = 0;
    }
    if (w->at == w->count)
        return false;
    *out = w->place[w->at++];
    return true;
}

/* The handle for a reference: one that has the very record open for this tensor, else one that has the file open, else
 * the one that was not used for longest. NULL when all are in use for this tensor. */
static assay_open_file *pick_handle(assay_mapper *m, assay_place place)
{
    assay_open_file *best = NULL;
    for (int i = 0; i < ASSAY_REFERENCES - 1; i++) {
        assay_open_file *handle = &m->reference[i];
        if (handle->used == m->tensors_taken && handle->entry == place.entry)
            return handle;
    }
    for (int i = 0; i < ASSAY_REFERENCES - 1; i++) {
        assay_open_file *handle = &m->reference[i];
        if (handle->used == m->tensors_taken)
            continue;
        if (handle->part == place.part)
            return handle;
        if (!best || handle->used < best->used)
            best = handle;
    }
    return best;
}

/* A reference that is at hand without reading: the record under way itself, or one that was kept. */
static bool is_at_hand(assay_mapper *m, assay_open_file *handle, assay_place place)
{
    assay_reference_key key = {place.entry->tensor, place.part->worker};
    const assay_cached_reference *kept =
        place.entry == m->entry ? NULL : assay_reference_cache_find(m->kept, key, place.entry);
    if (place.entry != m->entry && !kept)
        return false;
    handle->from = kept ? ASSAY_FROM_MEMORY : ASSAY_FROM_ITSELF;
    handle->bytes = kept ? kept->bytes : NULL;
    if (kept) {
        handle->record.dtype = kept->dtype;
        handle->record.dims = kept->dims;
        handle->record.elements = kept->elements;
        memcpy(handle->record.shape, kept->shape, (size_t)kept->dims * sizeof *kept->shape);
    } else {
        handle->record = *m->record;
    }
    return true;
}

/* Opens a candidate; it counts only with a raw, numeric, non-empty value (RULES.md, G1). */
static int open_candidate(assay_mapper *m, const assay_source *source, assay_place place, assay_reference *out,
                          assay_error *err)
{
    assay_open_file *handle = pick_handle(m, place);
    if (!handle)
        return assay_fail(err, ASSAY_EBUDGET, "a tensor is compared with more than %d others at once",
                          ASSAY_REFERENCES - 1);
    *out = (assay_reference){place, handle};
    if (handle->used == m->tensors_taken)
        return 1;
    handle->from = ASSAY_FROM_FILE;
    handle->fills = false;
    handle->at = 0;
    int status = is_at_hand(m, handle, place) ? ASSAY_OK : assay_file_pool_open(m, handle, source, place.part, err);
    if (status == ASSAY_OK && handle->from == ASSAY_FROM_FILE)
        status = assay_reader_record(handle->file, place.entry->offset, place.entry->length, m->value_budget,
                                     &handle->record, err);
    if (status != ASSAY_OK)
        return status;
    if (handle->record.dtype == ASSAY_STRING || handle->record.elements == 0)
        return 0;
    handle->entry = place.entry;
    handle->used = m->tensors_taken;
    return 1;
}

static bool has_train(const assay_mapper *m, uint32_t tensor)
{
    return assay_trial_tensor_modes(m->sources->list[m->source].info, tensor) >> ASSAY_MODE_TRAIN & 1;
}

/* Behind the entries that this rank was sent: a reference at a step before `step`. */
static int find_further(assay_mapper *m, const assay_part *part, uint32_t tensor, int64_t step, bool train,
                        assay_reference *out, assay_error *err)
{
    const assay_source *source = &m->sources->list[m->source];
    assay_place place;
    if (!m->further && !(m->further = assay_lookback_index_new(source)))
        return ASSAY_ENOMEM;
    for (;;) {
        int found = assay_lookback_index_before(m->further, tensor, part->worker, step, &place);
        if (found <= 0)
            return found;
        step = place.part->step;
        if (train && place.part->mode != ASSAY_MODE_TRAIN)
            continue;
        found = open_candidate(m, source, place, out, err);
        if (found != 0)
            return found;
    }
}

/* The `steps`-th saved step before. Only TRAIN steps count when the measure says so and the tensor has any. */
static int find_before(assay_mapper *m, const assay_measure *measure, const assay_part *part, uint32_t tensor,
                       assay_reference *out, assay_error *err)
{
    bool train = measure->train_only && has_train(m, tensor);
    walk w;
    assay_place place;
    int64_t skip = measure->steps - 1, step = part->step;
    bool was_empty = false;
    if (train && part->mode != ASSAY_MODE_TRAIN)
        return 0;
    begin(&w, part, measure->steps < PAGE ? (size_t)measure->steps : PAGE);
    while (next_place(m, &w, tensor, part->worker, &place)) {
        if (was_empty && place.part->before) /* of those this rank has not all */
            break;
        step = place.part->step;
        if ((train && place.part->mode != ASSAY_MODE_TRAIN) || skip-- > 0)
            continue;
        int found = open_candidate(m, &m->sources->list[m->source], place, out, err);
        if (found != 0)
            return found;
        was_empty = true;
    }
    return was_empty ? find_further(m, part, tensor, step, train, out, err) : 0;
}

/* How far back a candidate is: in mode steps where the tensor has TRAIN steps, else in global steps. */
static int64_t distance(const assay_part *part, const assay_part *earlier, bool train)
{
    return train ? part->mode_step - earlier->mode_step : part->step - earlier->step;
}

/* The oldest saved step within the window. */
static int find_oldest(assay_mapper *m, const assay_measure *measure, const assay_part *part, uint32_t tensor,
                       assay_reference *out, assay_error *err)
{
    bool train = has_train(m, tensor);
    walk w;
    assay_place place, oldest = {NULL, NULL};
    if (train && part->mode != ASSAY_MODE_TRAIN)
        return 0;
    begin(&w, part, PAGE);
    while (next_place(m, &w, tensor, part->worker, &place)) {
        if (train && place.part->mode != ASSAY_MODE_TRAIN)
            continue;
        if (distance(part, place.part, train) > measure->steps)
            break;
        oldest = place;
    }
    return oldest.part ? open_candidate(m, &m->sources->list[m->source], oldest, out, err) : 0;
}

static int find_in_step(assay_mapper *m, const assay_shard *shard, const assay_source *source, int64_t step,
                        uint32_t tensor, const char *worker, assay_reference *out, assay_error *err)
{
    for (size_t p = assay_shard_find(shard, step); p < shard->count && shard->parts[p].step == step; p++) {
        const assay_part *part = &shard->parts[p];
        if (worker && strcmp(source->catalog.worker[part->worker], worker) != 0)
            continue;
        const assay_entry *entry = assay_part_raw(shard, part, tensor);
        if (entry)
            return open_candidate(m, source, (assay_place){part, entry}, out, err);
    }
    return 0;
}

/* The other trial's record of the same step, tensor name and worker name. select.c left the other trial in `form`. */
static int find_other(assay_mapper *m, const assay_measure *measure, const assay_part *part, uint32_t tensor,
                      assay_reference *out, assay_error *err)
{
    const char *worker = m->sources->list[m->source].catalog.worker[part->worker];
    for (uint32_t p = 0; p < m->plan->pair_count; p++) {
        const assay_pair *pair = &m->plan->pairs[p];
        if (pair->source != m->source || pair->other != measure->form || pair->tensor[tensor] == ASSAY_NO_ID)
            continue;
        return find_in_step(m, &pair->shard, &m->sources->list[pair->other], part->step, pair->tensor[tensor], worker,
                            out, err);
    }
    return 0;
}

int assay_reference_find(assay_mapper *m, const assay_measure *measure, const assay_part *part, uint32_t tensor,
                         assay_reference *out, assay_error *err)
{
    const assay_source *source = &m->sources->list[m->source];
    switch (measure->reference) {
    case ASSAY_REFERENCE_SAVED_BEFORE:
        return find_before(m, measure, part, tensor, out, err);
    case ASSAY_REFERENCE_OLDEST_WITHIN:
        return find_oldest(m, measure, part, tensor, out, err);
    case ASSAY_REFERENCE_OTHER_TRIAL:
        return find_other(m, measure, part, tensor, out, err);
    default:
        return find_in_step(m, &source->shard, source, part->step, tensor, NULL, out, err);
    }
}
