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

/* The content on its way to those that want it. A reference may lie where it is copied to, so each piece is copied
 * after it was compared. */
typedef struct passing {
    const assay_measures *measures;
    assay_stats_acc *stats;           /* NULL: none */
    uint8_t *copy_to;                 /* NULL: nowhere */
    const assay_tensor_result *first; /* what the first worker's copy came to (assay_measures_twin); NULL: none */
    const uint8_t *twin;              /* its content */
    uint64_t equal;                   /* bytes of it that are the same, and have gone nowhere else */
    bool cached;                      /* it is copied into the reference cache */
} passing;

static int pass(passing *p, const uint8_t *piece, size_t size)
{
    const size_t element = assay_dtype_size(p->measures->record->record->dtype);
    const uint64_t elements = size / element;
    if (p->stats)
        assay_stats_feed(p->stats, piece, elements);
    ASSAY_TRY(assay_measures_feed(p->measures, piece, elements, element, p->stats && assay_stats_is_finite(p->stats)));
    if (p->copy_to) {
        memcpy(p->copy_to, piece, size);
        p->copy_to += size;
    }
    return ASSAY_OK;
}

/* Asks the reference cache for room, where a later record is compared with this one. *apart as it says. */
static uint8_t *begin_cached(const assay_measures *measures, bool *apart)
{
    const assay_record_work *w = measures->record;
    return assay_measures_is_looked_back_at(measures)
               ? assay_reference_cache_begin(w->pool->reference_cache, assay_record_work_key(w), w->record,
                                             assay_measures_is_passed_by(measures), apart)
               : NULL;
}

/* The record is another one than the first worker's after all: what was the same goes the usual way. */
static int part_ways(passing *p)
{
    enum { PIECE = 64 << 10 };
    const uint8_t *same = p->twin;
    bool apart = false;
    int status = ASSAY_OK;
    p->twin = NULL;
    p->copy_to = begin_cached(p->measures, &apart);
    p->cached = p->copy_to != NULL;
    for (uint64_t at = 0; status == ASSAY_OK && at < p->equal; at += PIECE)
        status = pass(p, same + at, p->equal - at < PIECE ? (size_t)(p->equal - at) : PIECE);
    return status;
}

/* One pass over the content. */
static int read_content(passing *p, assay_error *err)
{
    assay_record_work *w = p->measures->record;
    for (;;) {
        const uint8_t *piece;
        size_t size;
        int status = assay_reader_content(w->pool->main->reader, 0, &piece, &size, err);
        if (status != ASSAY_OK || size == 0)
            return status;
        if (p->twin && size <= w->record->content_bytes - p->equal && memcmp(piece, p->twin + p->equal, size) == 0) {
            p->equal += size;
        } else {
            status = p->twin ? part_ways(p) : ASSAY_OK;
            ASSAY_TRY(ASSAY_THEN(status, pass(p, piece, size)));
        }
        assay_progress_add(w->pool->progress, size);
        w->reported += size;
    }
}

/* The first pass, with the statistics, and a copy for the reference cache when a later record is compared with this
 * one. A record that is equal to the first worker's takes over what that came to: *taken. */
static int read_first(const assay_measures *measures, assay_stats_acc *stats, const assay_tensor_result **taken,
                      assay_error *err)
{
    assay_record_work *w = measures->record;
    passing p = {.measures = measures, .stats = stats};
    p.first = assay_measures_twin(measures, &p.twin);
    if (!p.first) {
        bool apart = w->record->content_bytes > ASSAY_READER_WINDOW;
        uint8_t *cached = begin_cached(measures, &apart);
        uint8_t *place = cached && apart ? cached : assay_measures_place(measures);
        if (place)
            assay_reader_put_at(w->pool->main->reader, place);
        p.copy_to = place == cached ? NULL : cached;
        p.cached = cached != NULL;
    }
    ASSAY_TRY(read_content(&p, err));
    if (p.twin && p.equal < w->record->content_bytes)
        ASSAY_TRY(part_ways(&p));
    *taken = p.twin ? p.first : NULL;
    if (p.cached)
        assay_reference_cache_end(w->pool->reference_cache, assay_record_work_key(w), w->entry, w->record);
    return ASSAY_OK;
}

/* One more pass, for measures that need it. */
static int read_again(const assay_measures *measures, assay_error *err)
{
    assay_record_work *w = measures->record;
    assay_record same;
    int status = open_record(w, &same, err);
    passing p = {.measures = measures};
    return status == ASSAY_OK ? read_content(&p, err) : status;
}

static int measure_values(assay_record_work *w, assay_error *err)
{
    assay_measures measures = {.record = w};
    assay_stats_acc stats;
    const assay_tensor_result *taken = NULL;
    bool again = false;
    assay_shape shape = {w->record->dtype, w->record->dims, w->result->view.shape, w->record->elements};
    int status = assay_stats_init(&stats, w->record->dtype);
    ASSAY_THEN(status, assay_measures_start(&measures, &shape));
    ASSAY_THEN(status, read_first(&measures, &stats, &taken, err));
    if (status == ASSAY_OK && taken) {
        *w->stats = *taken->view.stats;
        assay_measures_take_over(&measures, taken);
    } else if (status == ASSAY_OK) {
        assay_stats_finish(&stats, w->stats);
        status = assay_measures_end(&measures, w->stats, &again);
    }
    while (status == ASSAY_OK && again) {
        status = read_again(&measures, err);
        ASSAY_THEN(status, assay_measures_end(&measures, w->stats, &again));
    }
    if (status != ASSAY_OK) {
        assay_measures_drop(&measures);
        return status;
    }
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
    if (room.dims > 0)
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

/* Counts the record, whose head says `checksum` where it could be measured, or names what is wrong with it. */
static int conclude(const assay_record_work *w, int status, int checksum, bool *measured, const assay_error *err)
{
    const assay_entry *entry = w->entry;
    w->pool->records_read++;
    w->pool->bytes_read += entry->length;
    assay_progress_add(w->pool->progress, entry->length > w->reported ? entry->length - w->reported : 0);
    *measured = status == ASSAY_OK;
    if (status == ASSAY_ENOMEM)
        return status;
    if (status == ASSAY_OK) {
        w->result->kinds |= 1u << entry->kind;
        w->result->unsummed |= checksum < ASSAY_CHECKSUM_TRUE ? 1u << entry->kind : 0;
    } else {
        assay_step_work_problem(w->step, w->part, entry->file, entry->tensor, assay_problem_kind_of(status),
                                (int64_t)entry->offset, err->text);
    }
    return ASSAY_OK;
}

static assay_record_work work_on(assay_file_pool *pool, assay_step_work *step, const assay_step_record *of,
                                 const assay_record *record, assay_tensor_result *result)
{
    return (assay_record_work){.pool = pool,
                               .step = step,
                               .part = of->part,
                               .entry = of->entry,
                               .demand = of->demand,
                               .record = record,
                               .result = result};
}

int assay_record_measure(assay_file_pool *pool, assay_step_work *step, const assay_step_record *of,
                         assay_tensor_result *result, bool *measured)
{
    assay_error err;
    err.text[0] = '\0';
    assay_record record;
    assay_record_work w = work_on(pool, step, of, &record, result);
    int status = measure_record(&w, &record, &err);
    return conclude(&w, status, record.checksum, measured, &err);
}

int assay_record_number_stats(double number, assay_stats *out)
{
    assay_stats_acc acc;
    if (assay_stats_of_number(number, out))
        return ASSAY_OK;
    const int status = assay_stats_init(&acc, ASSAY_FLOAT64);
    assay_stats_feed(&acc, &number, 1);
    assay_stats_finish(&acc, out);
    return status;
}

int assay_record_take_number(assay_file_pool *pool, assay_step_work *step, const assay_step_record *of, double number,
                             assay_tensor_result *result, bool *measured)
{
    assay_error err;
    err.text[0] = '\0';
    assay_record record; /* it has no name, no shape and no time */
    record.dtype = ASSAY_FLOAT64;
    record.dims = 0;
    record.wall_time = 0;
    assay_record_work w = work_on(pool, step, of, &record, result);
    int status = make_room(&w, &err);
    if (status == ASSAY_OK && of->demand->statistics) {
        status = assay_record_number_stats(number, w.stats);
        result->view.stats = w.stats;
    }
    if (status == ASSAY_OK) {
        result->view.dtype = record.dtype;
        result->view.wall_time = record.wall_time;
    }
    return conclude(&w, status, ASSAY_CHECKSUM_TRUE, measured, &err);
}
