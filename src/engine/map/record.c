/* record.c - one record into its item: head, statistics and measures in one pass over its bytes. */
#include "engine/map/measures.h"

#include <string.h>

#include "tensor/convert.h"
#include "tensor/stats.h"

const char *assay_part_path(const assay_source *source, const assay_part *part, char name[ASSAY_PATH_ROOM])
{
    if (part->event)
        return part->event;
    int length = assay_event_path(&source->catalog, part->step, part->worker, name, ASSAY_PATH_ROOM);
    return length < ASSAY_PATH_ROOM ? name : NULL;
}

int assay_file_pool_open(assay_mapper *m, assay_open_file *handle, const assay_source *source, const assay_part *part,
                         assay_error *err)
{
    char name[ASSAY_PATH_ROOM];
    if (handle->part == part)
        return ASSAY_OK;
    const char *path = assay_part_path(source, part, name);
    if (!path)
        return assay_fail(err, ASSAY_EFORMAT, "the name of the event file of step %lld is too long",
                          (long long)part->step);
    handle->part = NULL;
    int status = handle->file ? assay_reader_reopen(handle->file, source->store, path, err)
                              : assay_reader_open(source->store, path, 0, &handle->file, err);
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

int assay_problem_kind_of(int status)
{
    return status == ASSAY_EIO       ? ASSAY_PROBLEM_READ
           : status == ASSAY_EBUDGET ? ASSAY_PROBLEM_BUDGET
                                     : ASSAY_PROBLEM_RECORD;
}

static int over_budget(assay_error *err)
{
    return assay_fail(err, ASSAY_EBUDGET,
                      "the tensors of the step need more memory than the budget allows: raise --memory");
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

static int take_reduction(assay_mapper *m, const assay_entry *entry, const assay_record *record,
                          assay_tensor_result *item, assay_error *err)
{
    const uint8_t *piece;
    size_t size = 0;
    if (record->dtype == ASSAY_STRING || record->elements != 1)
        return assay_fail(err, ASSAY_EFORMAT, "a saved reduction must be one number");
    int status = assay_reader_content(m->main->file, 0, &piece, &size, err);
    if (status != ASSAY_OK)
        return status;
    if (size != assay_dtype_size(record->dtype))
        return assay_fail(err, ASSAY_EFORMAT, "a saved reduction has no value");
    double value;
    assay_to_double(record->dtype, piece, 1, &value);
    status =
        assay_reader_content(m->main->file, 0, &piece, &size, err); /* the end: the checksum is known to be right */
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

/* One pass over the content. `keep`: where it is copied, or NULL; a reference may lie there, so that a piece is put
 * there after it was compared. */
static int pass(const assay_measures *g, const assay_record *record, assay_stats_acc *stats, uint8_t *keep,
                assay_error *err)
{
    assay_mapper *m = g->m;
    size_t element = assay_dtype_size(record->dtype);
    for (;;) {
        const uint8_t *piece;
        size_t size;
        int status = assay_reader_content(m->main->file, 0, &piece, &size, err);
        if (status != ASSAY_OK || size == 0)
            return status;
        uint64_t elements = size / element;
        if (stats)
            assay_stats_feed(stats, piece, elements);
        status = assay_measures_feed(g, piece, elements, element, stats && assay_stats_is_finite(stats));
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

static int take_values(assay_mapper *m, const assay_part *part, const assay_entry *entry,
                       const assay_record_demand *wanted, const assay_record *record, assay_tensor_result *item,
                       assay_error *err)
{
    assay_measures measuring = {.m = m, .part = part, .entry = entry};
    assay_stats_acc acc;
    bool again = false;
    assay_shape shape = {record->dtype, record->dims, item->view.shape, record->elements};
    int status = assay_stats_init(&acc, record->dtype);
    if (status == ASSAY_OK)
        status = assay_measures_start(&measuring, wanted, &shape);
    assay_reference_key key = {entry->tensor, part->worker};
    uint8_t *keep = NULL;
    bool apart = record->content_bytes > ASSAY_READER_WINDOW;
    if (status == ASSAY_OK && assay_measures_is_looked_back_at(&measuring))
        keep = assay_reference_cache_begin(m->kept, key, record, &apart);
    uint8_t *place = keep && apart ? keep : status == ASSAY_OK ? assay_measures_place(&measuring) : NULL;
    if (place)
        assay_reader_put_at(m->main->file, place);
    if (status == ASSAY_OK)
        status = pass(&measuring, record, &acc, place == keep ? NULL : keep, err);
    if (status == ASSAY_OK && keep)
        assay_reference_cache_end(m->kept, key, entry, record);
    if (status == ASSAY_OK)
        status = assay_measures_end(&measuring, item, &again);
    while (status == ASSAY_OK && again) {
        assay_record once_more;
        status = assay_reader_record(m->main->file, entry->offset, entry->length, m->value_budget, &once_more, err);
        if (status == ASSAY_OK)
            status = pass(&measuring, &once_more, NULL, NULL, err);
        if (status == ASSAY_OK)
            status = assay_measures_end(&measuring, item, &again);
    }
    if (status != ASSAY_OK)
        return status;
    assay_stats_finish(&acc, m->stats);
    item->view.stats = m->stats;
    return ASSAY_OK;
}

static int take_texts(assay_mapper *m, const assay_record_demand *wanted, const assay_record *record,
                      assay_tensor_result *item, assay_error *err)
{
    for (uint32_t k = 0; k < wanted->measures; k++) {
        if (!assay_measure_is_text(&m->plan->measures[wanted->measure[k]]))
            continue;
        assay_result result;
        int status = assay_texts_new(m->arena, record->elements, &result, err);
        for (uint64_t i = 0; status == ASSAY_OK && i < record->elements; i++) {
            size_t length;
            const char *text = assay_reader_string(m->main->file, i, &length);
            status = assay_texts_set(m->arena, &result, i, text, length, err);
        }
        if (status != ASSAY_OK)
            return status;
        assay_put_result(m, item, wanted->measure[k], &result);
    }
    return ASSAY_OK;
}

/* Room for what will be known of a raw tensor, in one piece: there may be a million of them in a step. */
static int make_room(assay_mapper *m, const assay_entry *entry, const assay_record_demand *wanted,
                     const assay_record *record, assay_tensor_result *item, assay_error *err)
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

static int take_raw(assay_mapper *m, const assay_part *part, const assay_entry *entry,
                    const assay_record_demand *wanted, const assay_record *record, assay_tensor_result *item,
                    assay_error *err)
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

int assay_record_measure(assay_mapper *m, const assay_part *part, const assay_entry *entry,
                         const assay_record_demand *wanted, assay_tensor_result *item, bool *taken)
{
    assay_error err = {""};
    assay_record record;
    *taken = false;
    m->passed = 0;
    assay_arena_mark(m->arena);
    m->entry = entry;
    m->record = &record;
    int status = assay_reader_record(m->main->file, entry->offset, entry->length, m->value_budget, &record, &err);
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
        assay_note_problem(m, part, assay_problem_kind_of(status), (int64_t)entry->offset, err.text);
        return ASSAY_OK;
    }
    item->kinds |= 1u << entry->kind;
    *taken = true;
    return ASSAY_OK;
}
