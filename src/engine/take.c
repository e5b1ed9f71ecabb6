/* take.c - one record into its item: head, statistics and measures in one pass over its bytes. */
#include "engine/mapper.h"

#include <string.h>

#include "base/fault.h"
#include "tensor/convert.h"
#include "tensor/measure.h"
#include "tensor/stats.h"

/* A measure under way. */
typedef struct assay_taking {
    uint32_t number;       /* the engine's */
    assay_meter *meter;    /* NULL: given up, or done */
    assay_reference reference;
    bool pulls;            /* the reference has the same shape: its elements are fed alongside */
    uint32_t leader;       /* measures with one reference pull it together: the first of them */
} taking;

const char *assay_part_path(const assay_source *source, const assay_part *part, char name[ASSAY_PATH_ROOM])
{
    if (part->event)
        return part->event;
    int length = assay_event_path(&source->listing, part->step, part->worker, name, ASSAY_PATH_ROOM);
    return length < ASSAY_PATH_ROOM ? name : NULL;
}

int assay_handle_open(assay_mapper *m, assay_handle *handle, const assay_source *source, const assay_part *part,
                      assay_error *err)
{
    char name[ASSAY_PATH_ROOM];
    if (handle->part == part)
        return ASSAY_OK;
    const char *path = assay_part_path(source, part, name);
    if (!path)
        return assay_fail(err, ASSAY_EFORMAT, "the name of the event file of step %lld is too long", (long long)part->step);
    handle->part = NULL;
    int status = handle->file ? assay_event_reopen(handle->file, source->store, path, err)
                              : assay_event_open(source->store, path, 0, &handle->file, err);
    if (status != ASSAY_OK)
        return status;
    m->files_opened++;
    handle->part = part;
    return ASSAY_OK;
}

void assay_note_problem(assay_mapper *m, const assay_part *part, int kind, int64_t offset, const char *text)
{
    char name[ASSAY_PATH_ROOM];
    const char *path = assay_part_path(&m->sources->list[m->source], part, name);
    m->alone |= kind == ASSAY_PROBLEM_BUDGET;
    assay_problems_add(&m->node->problems, kind, part->step, path ? path : name, offset, "%s", text);
}

static int problem_kind(int status)
{
    return status == ASSAY_EIO ? ASSAY_PROBLEM_READ : status == ASSAY_EBUDGET ? ASSAY_PROBLEM_BUDGET : ASSAY_PROBLEM_RECORD;
}

static int over_budget(assay_error *err)
{
    return assay_fail(err, ASSAY_EBUDGET, "the tensors of the step need more memory than the budget allows: raise --memory");
}

/* The recorded name must be the one that the index gives. */
static bool names_agree(const assay_mapper *m, const assay_entry *entry, const assay_record *record)
{
    const char *base;
    size_t length, expected;
    int kind = assay_reduction_split(record->tag, record->tag_length, &base, &length);
    const char *name = assay_dict_name(m->sources->list[m->source].info->tensors, entry->tensor, &expected);
    return kind == entry->kind && length == expected && memcmp(base, name, length) == 0;
}

/* ---- a saved reduction: one number ---- */

static int take_reduction(assay_mapper *m, const assay_entry *entry, const assay_record *record, assay_item *item,
                          assay_error *err)
{
    const uint8_t *piece;
    size_t size = 0;
    if (record->dtype == ASSAY_STRING || record->elements != 1)
        return assay_fail(err, ASSAY_EFORMAT, "a saved reduction must be one number");
    int status = assay_event_content(m->main->file, 0, &piece, &size, err);
    if (status != ASSAY_OK)
        return status;
    if (size != assay_dtype_size(record->dtype))
        return assay_fail(err, ASSAY_EFORMAT, "a saved reduction has no value");
    double value;
    assay_to_double(record->dtype, piece, 1, &value);
    status = assay_event_content(m->main->file, 0, &piece, &size, err); /* the end: the checksum is known to be right */
    if (status != ASSAY_OK)
        return status;
    double *reduction = (double *)item->view.reduction;
    if (!reduction)
        item->view.reduction = reduction = assay_arena_take_zeroed(m->arena, ASSAY_KINDS, sizeof *reduction);
    if (!reduction)
        return over_budget(err);
    reduction[entry->kind] = value;
    item->view.reductions |= 1u << entry->kind;
    if (!(item->kinds & 1u << ASSAY_RAW))
        item->view.wall_time = record->wall_time;
    return ASSAY_OK;
}

/* ---- measures of a raw record ---- */

/* Room for the measures of one tensor, kept from one to the next. */
static int reserve_takings(assay_mapper *m, uint32_t measures)
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
static int give_up(assay_mapper *m, const assay_part *part, const assay_entry *entry, taking *t, int status,
                   const assay_error *err)
{
    t->meter = NULL;
    if (status == ASSAY_ENOMEM)
        return status;
    if (status < 0)
        assay_note_problem(m, part, problem_kind(status), (int64_t)entry->offset, err->text);
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
static void keep_oldest(assay_mapper *m, const assay_part *part, const assay_entry *entry, assay_handle *handle)
{
    assay_kept_key key = {entry->tensor, part->worker};
    uint8_t *to = assay_kept_oldest(m->kept, key, handle->entry, &handle->record);
    if (to)
        handle->fill = to;
}

/* Will a later record be compared with this one? */
static bool is_looked_back_at(const assay_mapper *m, const assay_entry *entry, const taking *list, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        const assay_measure *measure = &m->plan->measures[list[k].number];
        if (measure->kind != ASSAY_MEASURE_CHANGE)
            continue;
        if ((measure->reference == ASSAY_REFERENCE_SAVED_BEFORE && measure->steps == 1) ||
            measure->reference == ASSAY_REFERENCE_OLDEST_WITHIN)
            return true;
        if (measure->reference == ASSAY_REFERENCE_FIRST_WORKER && list[k].reference.place.entry == entry)
            return true;
    }
    return false;
}

/* Starts the comparison list[k]. */
static int start_comparison(assay_mapper *m, const assay_part *part, const assay_entry *entry, taking *list, uint32_t k,
                            const assay_shape *shape)
{
    taking *t = &list[k];
    assay_error err = {""};
    int found = assay_reference_find(m, &m->plan->measures[t->number], part, entry->tensor, &t->reference, &err);
    if (found < 0)
        return give_up(m, part, entry, t, found, &err);
    const assay_record *r = found ? &t->reference.handle->record : NULL;
    assay_shape reference = {0};
    if (found)
        reference = (assay_shape){r->dtype, r->dims, r->shape, r->elements};
    int status = assay_meter_new(&m->plan->measures[t->number], shape, found ? &reference : NULL, assay_arena_left(m->arena),
                                 m->arena, &t->meter, &err);
    if (status != ASSAY_OK)
        return give_up(m, part, entry, t, status, &err);
    t->pulls = found && reference.dims == shape->dims &&
               (shape->dims == 0 || memcmp(reference.dim, shape->dim, (size_t)shape->dims * sizeof *shape->dim) == 0);
    t->leader = t->pulls ? find_leader(list, k) : k;
    if (t->pulls && t->leader == k && t->reference.handle->from == ASSAY_FROM_FILE) {
        m->bytes_read += r->length;
        assay_event_expect(t->reference.handle->file, r->offset, r->offset + r->length);
    }
    if (t->pulls && m->plan->measures[t->number].reference == ASSAY_REFERENCE_OLDEST_WITHIN)
        keep_oldest(m, part, entry, t->reference.handle);
    return ASSAY_OK;
}

static int start_measures(assay_mapper *m, const assay_part *part, const assay_entry *entry, const assay_wanted *wanted,
                          const assay_shape *shape, taking *list, uint32_t *count)
{
    *count = 0;
    m->tensors_taken++;
    assay_kept_next(m->kept);
    for (uint32_t k = 0; k < wanted->measures; k++) {
        taking *t = &list[(*count)++];
        assay_error err = {""};
        *t = (taking){.number = wanted->measure[k], .leader = k};
        int status;
        if (m->plan->measures[t->number].kind == ASSAY_MEASURE_CHANGE) {
            status = start_comparison(m, part, entry, list, k, shape);
        } else {
            status = assay_meter_new(&m->plan->measures[t->number], shape, NULL, assay_arena_left(m->arena), m->arena, &t->meter, &err);
            status = status == ASSAY_OK ? ASSAY_OK : give_up(m, part, entry, t, status, &err);
        }
        if (status != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* The next bytes of a reference, `size` at most and as many as there are in one piece; `piece` are those of the record
 * under way. */
static int pull(assay_handle *handle, const uint8_t *piece, size_t most, const uint8_t **pulled, size_t *size,
                assay_error *err)
{
    *size = most;
    if (handle->from == ASSAY_FROM_FILE) {
        int status = assay_event_content(handle->file, most, pulled, size, err);
        if (status == ASSAY_OK && *size == 0)
            status = assay_fail(err, ASSAY_EFORMAT, "the reference tensor ends early");
        if (status != ASSAY_OK)
            return status;
        if (handle->fill)
            memcpy(handle->fill + handle->at, *pulled, *size);
    } else {
        *pulled = handle->from == ASSAY_FROM_ITSELF ? piece : handle->bytes + handle->at;
    }
    handle->at += *size;
    return ASSAY_OK;
}

/* After the last piece of a reference: is it known to be sound? */
static int end_reference(assay_mapper *m, const assay_part *part, const assay_entry *entry, assay_handle *handle,
                         assay_error *err)
{
    const uint8_t *rest;
    size_t size;
    if (handle->from != ASSAY_FROM_FILE)
        return ASSAY_OK;
    int status = assay_event_content(handle->file, 0, &rest, &size, err);
    if (status == ASSAY_OK && handle->fill)
        assay_kept_filled(m->kept, (assay_kept_key){entry->tensor, part->worker}, handle->entry, &handle->record);
    handle->fill = NULL;
    return status;
}

/* Feeds a piece to the comparisons that list[leader] leads, pulling the same elements of their reference. A failure is
 * everyone's of them. */
static int feed_comparisons(taking *list, uint32_t count, uint32_t leader, const uint8_t *piece, uint64_t elements,
                            size_t element, assay_error *err)
{
    size_t other = assay_dtype_size(list[leader].reference.handle->record.dtype);
    while (elements > 0) {
        const uint8_t *pulled;
        size_t size;
        int status = pull(list[leader].reference.handle, piece, (size_t)elements * other, &pulled, &size, err);
        uint64_t got = size / other;
        for (uint32_t k = leader; status == ASSAY_OK && k < count; k++)
            if (list[k].meter && list[k].pulls && list[k].leader == leader)
                status = assay_meter_feed(list[k].meter, piece, pulled, got, err);
        if (status != ASSAY_OK)
            return status;
        piece += got * element;
        elements -= got;
    }
    return ASSAY_OK;
}

static int feed_measures(assay_mapper *m, const assay_part *part, const assay_entry *entry, taking *list, uint32_t count,
                         const uint8_t *piece, uint64_t elements, size_t element)
{
    for (uint32_t k = 0; k < count; k++) {
        taking *t = &list[k];
        assay_error err = {""};
        if (!t->meter || (t->pulls && t->leader != k))
            continue;
        int status = t->pulls ? feed_comparisons(list, count, k, piece, elements, element, &err)
                              : assay_meter_feed(t->meter, piece, NULL, elements, &err);
        for (uint32_t j = k + 1; status != ASSAY_OK && t->pulls && j < count; j++)
            if (list[j].pulls && list[j].leader == k)
                list[j].meter = NULL;
        if (status != ASSAY_OK && (status = give_up(m, part, entry, t, status, &err)) != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* Puts a result of the tensor under way into the room that was made for it. */
static void put_result(assay_mapper *m, assay_item *item, uint32_t number, const assay_result *result)
{
    size_t size = assay_result_size(&m->plan->measures[number]);
    ((const assay_result **)item->view.results)[item->view.place[number]] = memcpy(m->result, result, size);
    m->result += size;
}

/* After the last piece. *again is set when a meter wants the content once more; the others are done. */
static int end_measures(assay_mapper *m, const assay_part *part, const assay_entry *entry, taking *list, uint32_t count,
                        assay_item *item, bool *again)
{
    *again = false;
    for (uint32_t k = 0; k < count; k++) {
        taking *t = &list[k];
        assay_error err = {""};
        assay_result result;
        if (!t->meter)
            continue;
        int status = t->pulls ? end_reference(m, part, entry, list[t->leader].reference.handle, &err) : ASSAY_OK;
        if (status == ASSAY_OK)
            status = assay_meter_end(t->meter, &result, &err);
        if (status == 1) {
            *again = true;
            continue;
        }
        const assay_measure *measure = &m->plan->measures[t->number];
        if (status == ASSAY_OK && measure->kind == ASSAY_MEASURE_UNITS && measure->window > 1)
            status = assay_units_pool(m, measure, part, entry->tensor, &result, &err);
        if (status == ASSAY_OK && measure->kind == ASSAY_MEASURE_CHANGE && result.of.change.found)
            result.of.change.step = t->reference.place.part->step;
        if (status == ASSAY_OK)
            put_result(m, item, t->number, &result);
        if ((status = give_up(m, part, entry, t, status, &err)) != ASSAY_OK)
            return status;
    }
    return ASSAY_OK;
}

/* One pass over the content. `keep`: where it is put, or NULL; a reference may lie there, so that a piece is put there
 * after it was compared. */
static int pass(assay_mapper *m, const assay_part *part, const assay_entry *entry, const assay_record *record,
                assay_stats_acc *stats, taking *list, uint32_t count, uint8_t *keep, assay_error *err)
{
    size_t element = assay_dtype_size(record->dtype);
    for (;;) {
        const uint8_t *piece;
        size_t size;
        int status = assay_event_content(m->main->file, 0, &piece, &size, err);
        if (status != ASSAY_OK || size == 0)
            return status;
        uint64_t elements = size / element;
        if (stats)
            assay_stats_feed(stats, piece, elements);
        status = feed_measures(m, part, entry, list, count, piece, elements, element);
        if (status != ASSAY_OK)
            return status;
        if (keep) {
            memcpy(keep, piece, size);
            keep += size;
        }
        assay_progress_add(m->progress, size);
        m->passed += size;
    }
}

static int take_values(assay_mapper *m, const assay_part *part, const assay_entry *entry, const assay_wanted *wanted,
                       const assay_record *record, assay_item *item, assay_error *err)
{
    uint32_t count;
    assay_stats_acc acc;
    bool again = false;
    assay_shape shape = {record->dtype, record->dims, item->view.shape, record->elements};
    int status = assay_stats_init(&acc, record->dtype);
    if (status == ASSAY_OK)
        status = reserve_takings(m, wanted->measures);
    taking *list = m->takings;
    if (status == ASSAY_OK)
        status = start_measures(m, part, entry, wanted, &shape, list, &count);
    assay_kept_key key = {entry->tensor, part->worker};
    uint8_t *keep = NULL;
    if (status == ASSAY_OK && is_looked_back_at(m, entry, list, count))
        keep = assay_kept_begin(m->kept, key, record);
    if (status == ASSAY_OK)
        status = pass(m, part, entry, record, &acc, list, count, keep, err);
    if (status == ASSAY_OK && keep)
        assay_kept_end(m->kept, key, entry, record);
    if (status == ASSAY_OK)
        status = end_measures(m, part, entry, list, count, item, &again);
    while (status == ASSAY_OK && again) {
        assay_record once_more;
        status = assay_event_record(m->main->file, entry->offset, entry->length, m->value_budget, &once_more, err);
        if (status == ASSAY_OK)
            status = pass(m, part, entry, &once_more, NULL, list, count, NULL, err);
        if (status == ASSAY_OK)
            status = end_measures(m, part, entry, list, count, item, &again);
    }
    if (status != ASSAY_OK)
        return status;
    assay_stats_finish(&acc, m->stats);
    item->view.stats = m->stats;
    return ASSAY_OK;
}

static int take_texts(assay_mapper *m, const assay_wanted *wanted, const assay_record *record, assay_item *item,
                      assay_error *err)
{
    for (uint32_t k = 0; k < wanted->measures; k++) {
        if (!assay_measure_is_text(&m->plan->measures[wanted->measure[k]]))
            continue;
        assay_result result;
        int status = assay_texts_new(m->arena, record->elements, &result, err);
        for (uint64_t i = 0; status == ASSAY_OK && i < record->elements; i++) {
            size_t length;
            const char *text = assay_event_string(m->main->file, i, &length);
            status = assay_texts_set(m->arena, &result, i, text, length, err);
        }
        if (status != ASSAY_OK)
            return status;
        put_result(m, item, wanted->measure[k], &result);
    }
    return ASSAY_OK;
}

/* Room for what will be known of a raw tensor, in one piece: there may be a million of them in a step. */
static int make_room(assay_mapper *m, const assay_entry *entry, const assay_wanted *wanted, const assay_record *record,
                     assay_item *item, assay_error *err)
{
    const assay_source_plan *plan = &m->plan->sources[m->source];
    const assay_use_class *class = &plan->classes[plan->tensor_class[entry->tensor]];
    size_t stats = wanted->statistics && record->dtype != ASSAY_STRING ? sizeof(assay_stats) : 0;
    size_t shape = (size_t)record->dims * sizeof *item->view.shape, results = 0;
    size_t pointers = wanted->measures > 0 ? (class->measures + (size_t)1) * sizeof *item->view.results : 0;
    for (uint32_t k = 0; k < wanted->measures; k++)
        results += assay_result_size(&m->plan->measures[wanted->measure[k]]);
    uint8_t *at = assay_arena_take_zeroed(m->arena, 1, stats + shape + pointers + results);
    if (!at)
        return over_budget(err);
    m->stats = (assay_stats *)(void *)at;
    at += stats;
    if (shape > 0)
        memcpy(at, record->shape, shape);
    item->view.shape = (const int64_t *)(void *)at;
    at += shape;
    if (pointers > 0)
        item->view.results = (const assay_result **)(void *)at;
    item->view.place = class->place;
    m->result = at + pointers;
    return ASSAY_OK;
}

static int take_raw(assay_mapper *m, const assay_part *part, const assay_entry *entry, const assay_wanted *wanted,
                    const assay_record *record, assay_item *item, assay_error *err)
{
    int status = make_room(m, entry, wanted, record, item, err);
    if (status != ASSAY_OK)
        return status;
    item->view.dims = record->dims;
    if (record->dtype == ASSAY_STRING)
        status = take_texts(m, wanted, record, item, err);
    else if (wanted->statistics)
        status = take_values(m, part, entry, wanted, record, item, err);
    if (status != ASSAY_OK)
        return status;
    item->view.dtype = record->dtype;
    item->view.wall_time = record->wall_time;
    return ASSAY_OK;
}

int assay_take(assay_mapper *m, const assay_part *part, const assay_entry *entry, const assay_wanted *wanted,
               assay_item *item, bool *taken)
{
    assay_error err = {""};
    assay_record record;
    *taken = false;
    m->passed = 0;
    assay_arena_mark(m->arena);
    m->entry = entry;
    m->record = &record;
    int status = assay_event_record(m->main->file, entry->offset, entry->length, m->value_budget, &record, &err);
    if (status == ASSAY_OK && !names_agree(m, entry, &record))
        status = assay_fail(&err, ASSAY_EFORMAT, "the index says '%s', the record '%s'", item->view.name, record.tag);
    if (status == ASSAY_OK)
        status = entry->kind == ASSAY_RAW ? take_raw(m, part, entry, wanted, &record, item, &err)
                                          : take_reduction(m, entry, &record, item, &err);
    m->entry = NULL;
    m->records_read++;
    m->bytes_read += entry->length;
    assay_progress_add(m->progress, entry->length > m->passed ? entry->length - m->passed : 0);
    if (status == ASSAY_ENOMEM)
        return status;
    if (status != ASSAY_OK) {
        assay_note_problem(m, part, problem_kind(status), (int64_t)entry->offset, err.text);
        return ASSAY_OK;
    }
    item->kinds |= 1u << entry->kind;
    *taken = true;
    return ASSAY_OK;
}
