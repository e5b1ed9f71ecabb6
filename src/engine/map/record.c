/* record.c - see record.h. */
#include "engine/map/record.h"

#include <string.h>

#include "engine/map/measures.h"
#include "tensor/stats.h"

/* Opens the record in the main file. */
static int open_record(const assay_record_work *w, assay_record *record, assay_error *err)
{
    return assay_reader_entry(w->pool->main->reader, w->part, w->entry, w->step->source->source->info->tensors,
                              w->pool->value_budget, record, err);
}

/* ---- a saved reduction: one number ---- */

static int measure_reduction(assay_record_work *w, assay_error *err)
{
    double value, *reduction = (double *)w->result->view.reduction;
    const size_t room = ASSAY_KINDS * sizeof *reduction;
    ASSAY_TRY(assay_reader_number(w->pool->main->reader, &value, err));
    if (!reduction) {
        if (!assay_step_work_charge(w->step, assay_arena_piece_cost(room)))
            return assay_step_work_over_budget(err);
        reduction = assay_arena_take_zeroed(w->step->arena, 1, room);
        ASSAY_HAVE(reduction);
        w->result->view.reduction = reduction;
    }
    reduction[w->entry->kind] = value;
    w->result->view.reductions |= 1u << w->entry->kind;
    if (!(w->result->kinds & 1u << ASSAY_RAW))
        w->result->view.wall_time = w->record->wall_time;
    return ASSAY_OK;
}

/* ---- a raw tensor ---- */

/* One pass over the content. `copy_to`: where it is copied, or NULL; a reference may lie there, so each piece is copied
 * after it was compared. */
static int read_content(const assay_measures *measures, assay_stats_acc *stats, uint8_t *copy_to, assay_error *err)
{
    assay_record_work *w = measures->record;
    size_t element = assay_dtype_size(w->record->dtype);
    for (;;) {
        const uint8_t *piece;
        size_t size;
        int status = assay_reader_content(w->pool->main->reader, 0, &piece, &size, err);
        if (status != ASSAY_OK || size == 0)
            return status;
        uint64_t elements = size / element;
        if (stats)
            assay_stats_feed(stats, piece, elements);
        ASSAY_TRY(status =
                      assay_measures_feed(measures, piece, elements, element, stats && assay_stats_is_finite(stats)));
        if (copy_to) {
            memcpy(copy_to, piece, size);
            copy_to += size;
        }
        assay_progress_add(w->pool->progress, size);
        w->reported += size;
    }
}

/* The first pass, with the statistics, and a copy for the reference cache when a later record is compared with this
 * one. */
static int read_first(const assay_measures *measures, assay_stats_acc *stats, assay_error *err)
{
    assay_record_work *w = measures->record;
    assay_reference_key key = assay_record_work_key(w);
    bool apart = w->record->content_bytes > ASSAY_READER_WINDOW;
    uint8_t *cached = NULL;
    if (assay_measures_is_looked_back_at(measures))
        cached = assay_reference_cache_begin(w->pool->reference_cache, key, w->record,
                                             assay_measures_is_passed_by(measures), &apart);
    uint8_t *place = cached && apart ? cached : assay_measures_place(measures);
    if (place)
        assay_reader_put_at(w->pool->main->reader, place);
    int status = read_content(measures, stats, place == cached ? NULL : cached, err);
    if (status == ASSAY_OK && cached)
        assay_reference_cache_end(w->pool->reference_cache, key, w->entry, w->record);
    return status;
}

/* One more pass, for measures that need it. */
static int read_again(const assay_measures *measures, assay_error *err)
{
    assay_record_work *w = measures->record;
    assay_record same;
    int status = open_record(w, &same, err);
    return status == ASSAY_OK ? read_content(measures, NULL, NULL, err) : status;
}

static int measure_values(assay_record_work *w, assay_error *err)
{
    assay_measures measures = {.record = w};
    assay_stats_acc stats;
    bool again = false;
    assay_shape shape = {w->record->dtype, w->record->dims, w->result->view.shape, w->record->elements};
    int status = assay_stats_init(&stats, w->record->dtype);
    ASSAY_THEN(status, assay_measures_start(&measures, &shape));
    ASSAY_THEN(status, read_first(&measures, &stats, err));
    ASSAY_THEN(status, assay_measures_end(&measures, &again));
    while (status == ASSAY_OK && again) {
        status = read_again(&measures, err);
        ASSAY_THEN(status, assay_measures_end(&measures, &again));
    }
    if (status != ASSAY_OK) {
        assay_measures_drop(&measures);
        return status;
    }
    assay_stats_finish(&stats, w->stats);
    w->result->view.stats = w->stats;
    return ASSAY_OK;
}

/* Copies the strings for a measure TEXTS. */
static int copy_texts(assay_record_work *w, uint32_t number, assay_error *err)
{
    assay_result result;
    assay_arena *arena = w->step->arena;
    if (!assay_step_work_charge(w->step, assay_texts_cost(w->record->elements, w->record->content_bytes)))
        return assay_step_work_over_budget(err);
    int status = assay_texts_new(arena, w->record->elements, &result, err);
    for (uint64_t i = 0; status == ASSAY_OK && i < w->record->elements; i++) {
        size_t length;
        const char *text = assay_reader_string(w->pool->main->reader, i, &length);
        status = assay_texts_set(arena, &result, i, text, length, err);
    }
    if (status == ASSAY_OK)
        assay_record_work_put(w, number, &result);
    return status;
}

static int measure_texts(assay_record_work *w, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t k = 0; status == ASSAY_OK && k < w->demand->measures; k++)
        if (assay_measure_is_text(&w->step->source->plan->measures[w->demand->measure[k]]))
            status = copy_texts(w, w->demand->measure[k], err);
    return status;
}

/* Room for what will be known of a raw tensor. */
static int make_room(assay_record_work *w, assay_error *err)
{
    assay_tensor_view *view = &w->result->view;
    const assay_use_class *class = assay_map_source_class(w->step->source, w->entry->tensor);
    assay_tensor_room room = {.stats = w->demand->statistics && w->record->dtype != ASSAY_STRING,
                              .dims = w->record->dims,
                              .measures = w->demand->measures > 0 ? class->measures : 0};
    for (uint32_t k = 0; k < w->demand->measures; k++)
        room.results += assay_result_size(&w->step->source->plan->measures[w->demand->measure[k]]);
    if (!assay_step_work_charge(w->step, assay_arena_piece_cost(assay_tensor_room_size(&room))))
        return assay_step_work_over_budget(err);
    w->next_result = assay_tensor_room_take(&room, w->step->arena, view, &w->stats);
    ASSAY_HAVE(w->next_result);
    memcpy((void *)view->shape, w->record->shape, (size_t)room.dims * sizeof *view->shape);
    view->place = class->place;
    return ASSAY_OK;
}

static int measure_raw(assay_record_work *w, assay_error *err)
{
    assay_tensor_view *view = &w->result->view;
    int status = make_room(w, err);
    ASSAY_TRY(status);
    if (w->record->dtype == ASSAY_STRING)
        status = measure_texts(w, err);
    else if (w->demand->statistics)
        status = measure_values(w, err);
    ASSAY_TRY(status);
    view->dtype = w->record->dtype;
    view->wall_time = w->record->wall_time;
    return ASSAY_OK;
}

/* Opens the record in the main file and measures it. */
static int measure_record(assay_record_work *w, assay_record *record, assay_error *err)
{
    ASSAY_TRY(open_record(w, record, err));
    return w->entry->kind == ASSAY_RAW || w->entry->kind == ASSAY_PIECE ? measure_raw(w, err)
                                                                        : measure_reduction(w, err);
}

int assay_record_measure(assay_file_pool *pool, assay_step_work *step, const assay_part *part, const assay_entry *entry,
                         const assay_record_demand *demand, assay_tensor_result *result, bool *measured)
{
    assay_error err = {""};
    assay_record record;
    assay_record_work w = {.pool = pool,
                           .step = step,
                           .part = part,
                           .entry = entry,
                           .demand = demand,
                           .record = &record,
                           .result = result};
    int status = measure_record(&w, &record, &err);
    pool->records_read++;
    pool->bytes_read += entry->length;
    assay_progress_add(pool->progress, entry->length > w.reported ? entry->length - w.reported : 0);
    *measured = status == ASSAY_OK;
    if (status == ASSAY_ENOMEM)
        return status;
    if (status == ASSAY_OK) {
        result->kinds |= 1u << entry->kind;
        result->unsummed |= record.checksum < ASSAY_CHECKSUM_TRUE ? 1u << entry->kind : 0;
    } else {
        assay_step_work_problem(step, part, entry->file, entry->tensor, assay_problem_kind_of(status),
                                (int64_t)entry->offset, err.text);
    }
    return ASSAY_OK;
}
