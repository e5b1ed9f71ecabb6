/* tensor_result.c - see tensor_result.h. */
#include "engine/map/tensor_result.h"

#include <string.h>

#include "base/fields.h"
#include "tensor/measure.h"
#include "tensor/result_pack.h"

enum { HAS_STATS = 1, HAS_RESULTS = 2, HAS_ALL = HAS_STATS | HAS_RESULTS };

static const assay_field stats_fields[] = {ASSAY_FIELD(assay_stats, count),
                                           ASSAY_FIELD(assay_stats, nan),
                                           ASSAY_FIELD(assay_stats, pos_inf),
                                           ASSAY_FIELD(assay_stats, neg_inf),
                                           ASSAY_FIELD(assay_stats, zeros),
                                           ASSAY_FIELD(assay_stats, min),
                                           ASSAY_FIELD(assay_stats, max),
                                           ASSAY_FIELD(assay_stats, sum),
                                           ASSAY_FIELD(assay_stats, squares),
                                           ASSAY_FIELD(assay_stats, magnitudes),
                                           ASSAY_FIELD(assay_stats, deviations),
                                           ASSAY_FIELD(assay_stats, scaled_squares),
                                           ASSAY_FIELD(assay_stats, scaled_deviations),
                                           ASSAY_FIELD(assay_stats, scaled_magnitudes),
                                           {0}};

/* Results lie behind their number and their size in memory: who unpacks takes room for all of them at once. Those that were
 * given up are left out, so each has its number in front. */
static void put_results(const assay_tensor_view *view, const assay_tensor_result_form *form, assay_buf *out)
{
    uint32_t count = 0, bytes = 0;
    for (uint32_t k = 0; k < form->measure_count; k++) {
        bool has = view->results[view->place[k]] != NULL;
        count += has;
        bytes += has ? (uint32_t)assay_result_size(&form->measures[k]) : 0;
    }
    assay_put_u32(out, count);
    assay_put_u32(out, bytes);
    for (uint32_t k = 0; k < form->measure_count; k++) {
        const assay_result *result = view->results[view->place[k]];
        if (!result)
            continue;
        assay_put_u32(out, k);
        assay_result_pack(&form->measures[k], result, out);
    }
}

void assay_tensor_result_pack(const assay_tensor_result *item, const assay_tensor_result_form *form, assay_buf *out)
{
    const assay_tensor_view *view = &item->view;
    assay_put_u32(out, view->tensor);
    assay_put_u32(out, view->worker);
    assay_put_u32(out, view->order);
    assay_put_u32(out, item->kinds);
    assay_put_u32(out, item->unsummed);
    assay_put_f64(out, view->wall_time);
    assay_put_u8(out, (uint8_t)(view->dtype + 1)); /* -1: it is not known; then 0 */
    assay_put_u8(out, (uint8_t)view->dims);
    for (int d = 0; d < view->dims; d++)
        assay_put_i64(out, view->shape[d]);
    assay_put_u32(out, view->reductions);
    for (int kind = 0; kind < ASSAY_KINDS; kind++)
        if (view->reductions >> kind & 1)
            assay_put_f64(out, view->reduction[kind]);
    assay_put_u8(out, (uint8_t)((view->stats ? HAS_STATS : 0) | (view->results ? HAS_RESULTS : 0)));
    if (view->stats)
        assay_fields_pack(stats_fields, view->stats, out);
    if (view->results)
        put_results(view, form, out);
}

static int no_room(assay_error *err)
{
    return assay_fail(err, ASSAY_EBUDGET, "there is no room for a tensor that another rank has measured");
}

static int damaged(assay_error *err)
{
    return assay_fail(err, ASSAY_EFORMAT, "a tensor that another rank has measured was damaged on its way");
}

/* Where the parts of the piece begin, in the order in which they lie. */
typedef struct layout {
    size_t shape, pointers, results, end;
} layout;

static layout lay_out(const assay_tensor_room *room)
{
    layout l = {.shape = room->stats ? sizeof(assay_stats) : 0};
    l.pointers = l.shape + (size_t)room->dims * sizeof(int64_t);
    l.results = l.pointers + (room->measures > 0 ? room->measures + (size_t)1 : 0) * sizeof(assay_result *);
    l.end = l.results + room->results;
    return l;
}

size_t assay_tensor_room_size(const assay_tensor_room *room)
{
    return lay_out(room).end;
}

uint8_t *assay_tensor_room_take(const assay_tensor_room *room, assay_arena *arena, assay_tensor_view *view,
                                assay_stats **stats)
{
    layout l = lay_out(room);
    uint8_t *at = assay_arena_take_zeroed(arena, 1, l.end);
    if (!at)
        return NULL;
    *stats = room->stats ? (assay_stats *)(void *)at : NULL;
    view->dims = room->dims;
    view->shape = (const int64_t *)(void *)(at + l.shape);
    if (room->measures > 0)
        view->results = (const assay_result **)(void *)(at + l.pointers);
    return at + l.results;
}

/* What is read of a tensor before there is room for it. */
typedef struct unpacked {
    int64_t shape[ASSAY_MAX_DIMS];
    assay_stats stats;
    uint32_t results;
    assay_tensor_room room;
} unpacked;

static int get_shape(assay_cursor *in, assay_tensor_view *view, unpacked *u, assay_error *err)
{
    view->dtype = (int)assay_get_u8(in) - 1;
    u->room.dims = assay_get_u8(in);
    if (in->failed || u->room.dims > ASSAY_MAX_DIMS || (view->dtype >= 0 && !assay_dtype_known(view->dtype)))
        return damaged(err);
    for (int d = 0; d < u->room.dims; d++)
        u->shape[d] = assay_get_i64(in);
    return ASSAY_OK;
}

static int get_reductions(assay_cursor *in, assay_arena *arena, assay_tensor_view *view, assay_error *err)
{
    view->reductions = assay_get_u32(in);
    if (in->failed || view->reductions == 0)
        return ASSAY_OK;
    double *reduction = assay_arena_take_zeroed(arena, ASSAY_KINDS, sizeof *reduction);
    for (int kind = 0; reduction && kind < ASSAY_KINDS; kind++)
        if (view->reductions >> kind & 1)
            reduction[kind] = assay_get_f64(in);
    view->reduction = reduction;
    return reduction ? ASSAY_OK : no_room(err);
}

/* The results one after the other, into room for u->room.results bytes from `at` on. */
static int get_results(assay_cursor *in, const assay_tensor_result_form *form, assay_arena *arena,
                       assay_tensor_view *view, const unpacked *u, uint8_t *at, assay_error *err)
{
    const assay_result **results = (const assay_result **)view->results;
    size_t left = u->room.results;
    for (uint32_t i = 0; i < u->results; i++) {
        assay_result result;
        uint32_t number = assay_get_u32(in), place = number < form->measure_count ? view->place[number] : 0;
        if (in->failed || place == 0 || results[place])
            return damaged(err);
        size_t size = assay_result_size(&form->measures[number]);
        if (size > left)
            return damaged(err);
        ASSAY_TRY(assay_result_unpack(in, &form->measures[number], arena, &result, err));
        results[place] = memcpy(at, &result, size);
        at += size;
        left -= size;
    }
    return ASSAY_OK;
}

/* Takes the piece for what was read, and reads the results into it. */
static int get_rest(assay_cursor *in, const assay_tensor_result_form *form, assay_arena *arena, assay_tensor_view *view,
                    unpacked *u, assay_error *err)
{
    const assay_use_class *class = &form->plan->classes[form->plan->tensor_class[view->tensor]];
    uint8_t has = assay_get_u8(in);
    if (in->failed || has > HAS_ALL)
        return damaged(err);
    u->room.stats = has & HAS_STATS;
    if (u->room.stats)
        (void)assay_fields_unpack(stats_fields, in, &u->stats); /* what fails shows in the cursor, below */
    if (has & HAS_RESULTS) {
        u->room.measures = class->measures;
        u->results = assay_get_u32(in);
        u->room.results = assay_get_u32(in);
    }
    assay_stats *stats;
    uint8_t *at = in->failed ? NULL : assay_tensor_room_take(&u->room, arena, view, &stats);
    if (!at)
        return in->failed ? damaged(err) : no_room(err);
    memcpy((void *)view->shape, u->shape, (size_t)u->room.dims * sizeof *u->shape);
    if (stats)
        *stats = u->stats;
    view->stats = stats;
    view->place = class->place;
    return view->results ? get_results(in, form, arena, view, u, at, err) : u->results > 0 ? damaged(err) : ASSAY_OK;
}

int assay_tensor_result_unpack(assay_cursor *in, const assay_tensor_result_form *form, assay_arena *arena,
                               assay_tensor_result *item, assay_error *err)
{
    assay_tensor_view *view = &item->view;
    view->tensor = assay_get_u32(in);
    view->worker = assay_get_u32(in);
    view->order = assay_get_u32(in);
    item->kinds = assay_get_u32(in);
    item->unsummed = assay_get_u32(in);
    view->wall_time = assay_get_f64(in);
    if (in->failed || view->tensor >= form->tensors || view->worker >= form->workers)
        return damaged(err);
    unpacked u = {.room = {0}};
    int status = get_shape(in, view, &u, err);
    ASSAY_THEN(status, get_reductions(in, arena, view, err));
    ASSAY_THEN(status, get_rest(in, form, arena, view, &u, err));
    return status == ASSAY_OK && in->failed ? damaged(err) : status;
}
