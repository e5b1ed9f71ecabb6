/* measures.c - see measures.h. */
#include "engine/map/measures.h"

#include <string.h>

#include "base/fault.h"

/* A measure under way. */
typedef struct assay_active_measure {
    uint32_t number;    /* the engine's */
    assay_meter *meter; /* NULL: given up, or done */
    assay_reference reference;
    bool pulls;      /* the reference has the same shape: its elements are fed alongside */
    uint32_t leader; /* measures with one reference pull it together: the first of them */
} taking;

/* Room for the measures of one tensor, kept from one to the next. */
static int reserve(assay_mapper *m, uint32_t measures)
{
    if (measures <= m->taking_room)
        return ASSAY_OK;
    taking *grown = assay_realloc_array(m->takings, measures, sizeof *grown);
    if (!grown)
        return ASSAY_ENOMEM;
    m->takings = grown;
    m->taking_room = measures;
    return ASSAY_OK;
}

/* What a measure that was not taken means: not applicable and no reference are no loss; the rest is named. */
static int give_up(const assay_measures *g, taking *t, int status, const assay_error *err)
{
    t->meter = NULL;
    if (status == ASSAY_ENOMEM)
        return status;
    if (status < 0)
        assay_note_problem(g->m, g->part, assay_problem_kind_of(status), (int64_t)g->entry->offset, err->text);
    return ASSAY_OK;
}

/* The first measure of the list that pulls the same reference; `k` itself when there is none. */
static uint32_t find_leader(const taking *list, uint32_t k)
{
    for (uint32_t j = 0; j < k; j++)
        if (list[j].pulls && list[j].leader == j && list[j].reference.handle == list[k].reference.handle)
            return j;
    return k;
}

/* A window goes back to the record of the handle: it is kept while it is read, when it is worth that. */
static void keep_oldest(const assay_measures *g, assay_open_file *handle)
{
    assay_reference_key key = {g->entry->tensor, g->part->worker};
    uint8_t *to = assay_reference_cache_oldest(g->m->kept, key, handle->entry, &handle->record);
    if (!to)
        return;
    assay_reader_put_at(handle->file, to);
    handle->fills = true;
}

uint8_t *assay_measures_place(const assay_measures *g)
{
    uint8_t *place = NULL;
    for (uint32_t k = 0; k < g->count && !place; k++)
        place = g->list[k].meter ? assay_meter_place(g->list[k].meter) : NULL;
    return place;
}

bool assay_measures_is_looked_back_at(const assay_measures *g)
{
    for (uint32_t k = 0; k < g->count; k++) {
        const assay_measure *measure = &g->m->plan->measures[g->list[k].number];
        if (measure->kind != ASSAY_MEASURE_CHANGE)
            continue;
        bool before = (measure->reference == ASSAY_REFERENCE_SAVED_BEFORE && measure->steps == 1) ||
                      measure->reference == ASSAY_REFERENCE_OLDEST_WITHIN;
        if (before && !g->m->stretch)
            return true;
        if (measure->reference == ASSAY_REFERENCE_FIRST_WORKER && g->list[k].reference.place.entry == g->entry)
            return true;
    }
    return false;
}

/* Starts comparison k. */
static int start_comparison(const assay_measures *g, uint32_t k, const assay_shape *shape)
{
    assay_mapper *m = g->m;
    taking *t = &g->list[k];
    const assay_measure *measure = &m->plan->measures[t->number];
    assay_error err = {""};
    int found = assay_reference_find(m, measure, g->part, g->entry->tensor, &t->reference, &err);
    if (found < 0)
        return give_up(g, t, found, &err);
    const assay_record *r = found ? &t->reference.handle->record : NULL;
    assay_shape reference = {0};
    if (found)
        reference = (assay_shape){r->dtype, r->dims, r->shape, r->elements};
    int status = assay_meter_new(measure, shape, found ? &reference : NULL, assay_arena_left(m->arena), m->arena,
                                 &t->meter, &err);
    if (status != ASSAY_OK)
        return give_up(g, t, status, &err);
    t->pulls = found && reference.dims == shape->dims &&
               (shape->dims == 0 || memcmp(reference.dim, shape->dim, (size_t)shape->dims * sizeof *shape->dim) == 0);
    t->leader = t->pulls ? find_leader(g->list, k) : k;
    if (t->pulls && t->leader == k && t->reference.handle->from == ASSAY_FROM_FILE) {
        m->bytes_read += r->length;
        assay_reader_expect(t->reference.handle->file, r->offset, r->offset + r->length);
    }
    if (t->pulls && measure->reference == ASSAY_REFERENCE_OLDEST_WITHIN)
        keep_oldest(g, t->reference.handle);
    return ASSAY_OK;
}

int assay_measures_start(assay_measures *g, const assay_record_demand *wanted, const assay_shape *shape)
{
    assay_mapper *m = g->m;
    if (reserve(m, wanted->measures) != ASSAY_OK)
        return ASSAY_ENOMEM;
    g->list = m->takings;
    g->count = 0;
    m->tensors_taken++;
    assay_reference_cache_next(m->kept);
    for (uint32_t k = 0; k < wanted->measures; k++) {
        taking *t = &g->list[g->count++];
        const assay_measure *measure = &m->plan->measures[wanted->measure[k]];
        assay_error err = {""};
        *t = (taking){.number = wanted->measure[k], .leader = k};
        int status;
        if (measure->kind == ASSAY_MEASURE_CHANGE) {
            status = start_comparison(g, k, shape);
        } else {
            status = assay_meter_new(measure, shape, NULL, assay_arena_left(m->arena), m->arena, &t->meter, &err);
            status = status == ASSAY_OK ? ASSAY_OK : give_up(g, t, status, &err);
        }
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* The next bytes of a reference, `size` at most and as many as there are in one piece; `piece` are those of the record
 * under way. */
static int pull(assay_open_file *handle, const uint8_t *piece, size_t most, const uint8_t **pulled, size_t *size,
                assay_error *err)
{
    *size = most;
    if (handle->from == ASSAY_FROM_FILE) {
        int status = assay_reader_content(handle->file, most, pulled, size, err);
        if (status == ASSAY_OK && *size == 0)
            status = assay_fail(err, ASSAY_EFORMAT, "the reference tensor ends early");
        if (status != ASSAY_OK)
            return status;
    } else {
        *pulled = handle->from == ASSAY_FROM_ITSELF ? piece : handle->bytes + handle->at;
    }
    handle->at += *size;
    return ASSAY_OK;
}

/* After the last piece of a reference: is it known to be sound? */
static int end_reference(const assay_measures *g, assay_open_file *handle, assay_error *err)
{
    const uint8_t *rest;
    size_t size;
    if (handle->from != ASSAY_FROM_FILE)
        return ASSAY_OK;
    int status = assay_reader_content(handle->file, 0, &rest, &size, err);
    if (status == ASSAY_OK && handle->fills)
        assay_reference_cache_filled(g->m->kept, (assay_reference_key){g->entry->tensor, g->part->worker},
                                     handle->entry, &handle->record);
    handle->fills = false;
    return status;
}

/* Feeds a piece to the comparisons that list[leader] leads, pulling the same elements of their reference. A failure is
 * everyone's of them. */
static int feed_comparisons(const assay_measures *g, uint32_t leader, const uint8_t *piece, uint64_t elements,
                            size_t element, assay_error *err)
{
    const taking *list = g->list;
    size_t other = assay_dtype_size(list[leader].reference.handle->record.dtype);
    while (elements > 0) {
        const uint8_t *pulled;
        size_t size;
        int status = pull(list[leader].reference.handle, piece, (size_t)elements * other, &pulled, &size, err);
        uint64_t got = size / other;
        for (uint32_t k = leader; status == ASSAY_OK && k < g->count; k++)
            if (list[k].meter && list[k].pulls && list[k].leader == leader)
                status = assay_meter_feed(list[k].meter, piece, pulled, got, err);
        if (status != ASSAY_OK)
            return status;
        piece += got * element;
        elements -= got;
    }
    return ASSAY_OK;
}

int assay_measures_feed(const assay_measures *g, const uint8_t *piece, uint64_t elements, size_t element, bool finite)
{
    taking *list = g->list;
    for (uint32_t k = 0; k < g->count; k++) {
        taking *t = &list[k];
        assay_error err = {""};
        if (!t->meter || (t->pulls && t->leader != k) || (finite && assay_meter_pass_finite(t->meter, elements)))
            continue;
        int status = t->pulls ? feed_comparisons(g, k, piece, elements, element, &err)
                              : assay_meter_feed(t->meter, piece, NULL, elements, &err);
        for (uint32_t j = k + 1; status != ASSAY_OK && t->pulls && j < g->count; j++)
            if (list[j].pulls && list[j].leader == k)
                list[j].meter = NULL;
        if (status != ASSAY_OK && (status = give_up(g, t, status, &err)) != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

void assay_put_result(assay_mapper *m, assay_tensor_result *item, uint32_t number, const assay_result *result)
{
    size_t size = assay_result_size(&m->plan->measures[number]);
    ((const assay_result **)item->view.results)[item->view.place[number]] = memcpy(m->result, result, size);
    m->result += size;
}

int assay_measures_end(const assay_measures *g, assay_tensor_result *item, bool *again)
{
    assay_mapper *m = g->m;
    *again = false;
    for (uint32_t k = 0; k < g->count; k++) {
        taking *t = &g->list[k];
        assay_error err = {""};
        assay_result result;
        if (!t->meter)
            continue;
        int status = t->pulls ? end_reference(g, g->list[t->leader].reference.handle, &err) : ASSAY_OK;
        if (status == ASSAY_OK)
            status = assay_meter_end(t->meter, &result, &err);
        if (status == 1) {
            *again = true;
            continue;
        }
        const assay_measure *measure = &m->plan->measures[t->number];
        if (status == ASSAY_OK && measure->kind == ASSAY_MEASURE_UNITS && measure->window > 1)
            status = assay_units_pool(m, measure, g->part, g->entry->tensor, &result, &err);
        if (status == ASSAY_OK && measure->kind == ASSAY_MEASURE_CHANGE && result.of.change.found)
            result.of.change.step = t->reference.place.part->step;
        if (status == ASSAY_OK)
            assay_put_result(m, item, t->number, &result);
        if ((status = give_up(g, t, status, &err)) != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}
