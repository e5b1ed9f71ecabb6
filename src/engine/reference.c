/* reference.c - finds and opens the record that a comparison refers to. */
#include "engine/mapper.h"

#include <string.h>

enum { CANDIDATES = 256 };

/* Opens a candidate; it counts only with a raw, numeric, non-empty value (RULES.md, G1). */
static int open_candidate(assay_mapper *m, assay_handle *handle, const assay_source *source, assay_place place,
                          assay_reference *out, assay_error *err)
{
    out->place = place;
    out->source = source;
    int status = assay_handle_open(m, handle, source, place.part, err);
    if (status == ASSAY_OK)
        status = assay_event_record(handle->file, place.entry->offset, place.entry->length, m->value_budget, &out->record, err);
    if (status != ASSAY_OK)
        return status;
    return out->record.dtype != ASSAY_STRING && out->record.elements > 0;
}

static bool has_train(const assay_mapper *m, uint32_t tensor)
{
    return assay_trial_tensor_modes(m->sources->list[m->source].info, tensor) >> ASSAY_MODE_TRAIN & 1;
}

/* The `steps`-th saved step before. Only TRAIN steps count when the measure says so and the tensor has any. */
static int find_before(assay_mapper *m, const assay_measure *measure, const assay_part *part, uint32_t tensor,
                       assay_handle *handle, assay_reference *out, assay_error *err)
{
    const assay_source *source = &m->sources->list[m->source];
    bool train = measure->train_only && has_train(m, tensor);
    assay_place place[CANDIDATES];
    if (train && part->mode != ASSAY_MODE_TRAIN)
        return 0;
    size_t count = assay_history_before(m->history, tensor, part->worker, part->step, place, CANDIDATES);
    int64_t skip = measure->steps - 1;
    for (size_t i = 0; i < count; i++) {
        if (train && place[i].part->mode != ASSAY_MODE_TRAIN)
            continue;
        if (skip-- > 0)
            continue;
        int found = open_candidate(m, handle, source, place[i], out, err);
        if (found != 0)
            return found;
    }
    return 0;
}

/* How far back a candidate is: in mode steps where the tensor has TRAIN steps, else in global steps. */
static int64_t distance(const assay_part *part, const assay_part *earlier, bool train)
{
    return train ? part->mode_step - earlier->mode_step : part->step - earlier->step;
}

/* The oldest saved step within the window. Candidates come newest first, CANDIDATES at a time. */
static int find_oldest(assay_mapper *m, const assay_measure *measure, const assay_part *part, uint32_t tensor,
                       assay_handle *handle, assay_reference *out, assay_error *err)
{
    bool train = has_train(m, tensor), more = true;
    assay_place place[CANDIDATES], oldest = {NULL, NULL};
    if (train && part->mode != ASSAY_MODE_TRAIN)
        return 0;
    for (int64_t step = part->step; more; step = place[CANDIDATES - 1].part->step) {
        size_t count = assay_history_before(m->history, tensor, part->worker, step, place, CANDIDATES);
        more = count == CANDIDATES;
        for (size_t i = 0; i < count; i++) {
            if (train && place[i].part->mode != ASSAY_MODE_TRAIN)
                continue;
            more = more && distance(part, place[i].part, train) <= measure->steps;
            if (distance(part, place[i].part, train) <= measure->steps)
                oldest = place[i];
        }
    }
    return oldest.part ? open_candidate(m, handle, &m->sources->list[m->source], oldest, out, err) : 0;
}

static int find_in_step(assay_mapper *m, const assay_segment *segment, const assay_source *source, int64_t step,
                        uint32_t tensor, const char *worker, assay_handle *handle, assay_reference *out, assay_error *err)
{
    for (size_t p = assay_segment_find(segment, step); p < segment->count && segment->parts[p].step == step; p++) {
        const assay_part *part = &segment->parts[p];
        if (worker && strcmp(source->listing.worker[part->worker], worker) != 0)
            continue;
        for (size_t e = part->first; e < part->first + part->count; e++) {
            const assay_entry *entry = &segment->entries[e];
            if (entry->tensor == tensor && entry->kind == ASSAY_RAW)
                return open_candidate(m, handle, source, (assay_place){part, entry}, out, err);
        }
    }
    return 0;
}

/* The other trial's record of the same step, tensor name and worker name. plan_select.c left the other trial in `form`. */
static int find_other(assay_mapper *m, const assay_measure *measure, const assay_part *part, uint32_t tensor,
                      assay_handle *handle, assay_reference *out, assay_error *err)
{
    const char *worker = m->sources->list[m->source].listing.worker[part->worker];
    for (uint32_t p = 0; p < m->plan->pair_count; p++) {
        const assay_pair *pair = &m->plan->pairs[p];
        if (pair->source != m->source || pair->other != measure->form || pair->tensor[tensor] == ASSAY_NO_ID)
            continue;
        return find_in_step(m, &pair->segment, &m->sources->list[pair->other], part->step, pair->tensor[tensor], worker,
                            handle, out, err);
    }
    return 0;
}

int assay_reference_find(assay_mapper *m, const assay_measure *measure, const assay_part *part, uint32_t tensor,
                         assay_handle *handle, assay_reference *out, assay_error *err)
{
    const assay_source *source = &m->sources->list[m->source];
    switch (measure->reference) {
    case ASSAY_REFERENCE_SAVED_BEFORE:
        return find_before(m, measure, part, tensor, handle, out, err);
    case ASSAY_REFERENCE_OLDEST_WITHIN:
        return find_oldest(m, measure, part, tensor, handle, out, err);
    case ASSAY_REFERENCE_OTHER_TRIAL:
        return find_other(m, measure, part, tensor, handle, out, err);
    default:
        return find_in_step(m, &source->segment, source, part->step, tensor, NULL, handle, out, err);
    }
}
