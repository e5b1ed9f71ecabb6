/* tensor_result.c - see tensor_result.h. */
#include "engine/map/tensor_result.h"

#include <string.h>

#include "tensor/measure.h"
#include "tensor/result_pack.h"

enum { HAS_STATS = 1, HAS_RESULTS = 2, HAS_ALL = HAS_STATS | HAS_RESULTS };

static void put_stats(const assay_stats *s, assay_buf *out)
{
    assay_put_u64(out, s->count);
    assay_put_u64(out, s->nan);
    assay_put_u64(out, s->pos_inf);
    assay_put_u64(out, s->neg_inf);
    assay_put_u64(out, s->zeros);
    assay_put_f64(out, s->min);
    assay_put_f64(out, s->max);
    assay_put_f64(out, s->sum);
    assay_put_f64(out, s->squares);
    assay_put_f64(out, s->magnitudes);
    assay_put_f64(out, s->deviations);
}

static void put_results(const assay_tensor_view *view, const assay_tensor_result_form *form, assay_buf *out)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < form->measure_count; k++)
        count += view->results[view->place[k]] != NULL;
    assay_put_u32(out, count);
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
    assay_put_f64(out, view->wall_time);
    assay_put_u8(out, (uint8_t)(view->dtype + 1));
    assay_put_u8(out, (uint8_t)view->dims);
    for (int d = 0; d < view->dims; d++)
        assay_put_i64(out, view->shape[d]);
    assay_put_u32(out, view->reductions);
    for (int kind = 0; kind < ASSAY_KINDS; kind++)
        if (view->reductions >> kind & 1)
            assay_put_f64(out, view->reduction[kind]);
    assay_put_u8(out, (uint8_t)((view->stats ? HAS_STATS : 0) | (view->results ? HAS_RESULTS : 0)));
    if (view->stats)
        put_stats(view->stats, out);
    if (view->results)
        put_results(view, form, out);
}

static int no_room(assay_error *err)
{
    return assay_fail(err, ASSAY_EBUDGET, "there is no room for a tensor that another rank has measured");
}

static int damaged(assay_error *err)
{
    return assay_fail(err, ASSAY_EFORMAT, "a tensor that another rank has measured did not survive its way");
}

static int get_shape(assay_cursor *in, assay_arena *arena, assay_tensor_view *view, assay_error *err)
{
    view->dtype = (int)assay_get_u8(in) - 1;
    view->dims = assay_get_u8(in);
    if (in->failed || view->dims > ASSAY_MAX_DIMS || (view->dtype >= 0 && !assay_dtype_known(view->dtype)))
        return damaged(err);
    int64_t *shape = assay_arena_take(arena, (size_t)view->dims * sizeof *shape);
    for (int d = 0; shape && d < view->dims; d++)
        shape[d] = assay_get_i64(in);
    view->shape = shape;
    return shape ? ASSAY_OK : no_room(err);
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

static int get_stats(assay_cursor *in, assay_arena *arena, assay_tensor_view *view, assay_error *err)
{
    assay_stats *s = assay_arena_take(arena, sizeof *s);
    if (!s)
        return no_room(err);
    *s = (assay_stats){.count = assay_get_u64(in)};
    s->nan = assay_get_u64(in);
    s->pos_inf = assay_get_u64(in);
    s->neg_inf = assay_get_u64(in);
    s->zeros = assay_get_u64(in);
    s->min = assay_get_f64(in);
    s->max = assay_get_f64(in);
    s->sum = assay_get_f64(in);
    s->squares = assay_get_f64(in);
    s->magnitudes = assay_get_f64(in);
    s->deviations = assay_get_f64(in);
    view->stats = s;
    return ASSAY_OK;
}

static int get_results(assay_cursor *in, const assay_tensor_result_form *form, assay_arena *arena,
                       assay_tensor_view *view, assay_error *err)
{
    const assay_use_class *class = &form->plan->classes[form->plan->tensor_class[view->tensor]];
    const assay_result **results = assay_arena_take_zeroed(arena, class->measures + (size_t)1, sizeof *results);
    uint32_t count = assay_get_u32(in);
    if (!results)
        return no_room(err);
    view->results = results;
    view->place = class->place;
    for (uint32_t i = 0; i < count; i++) {
        assay_result result;
        uint32_t number = assay_get_u32(in), place = number < form->measure_count ? class->place[number] : 0;
        if (in->failed || place == 0 || results[place])
            return damaged(err);
        size_t size = assay_result_size(&form->measures[number]);
        assay_result *own = assay_arena_take(arena, size);
        if (!own)
            return no_room(err);
        int status = assay_result_unpack(in, &form->measures[number], arena, &result, err);
        if (status != ASSAY_OK)
            return status;
        results[place] = memcpy(own, &result, size);
    }
    return ASSAY_OK;
}

int assay_tensor_result_unpack(assay_cursor *in, const assay_tensor_result_form *form, assay_arena *arena,
                               assay_tensor_result *item, assay_error *err)
{
    assay_tensor_view *view = &item->view;
    view->tensor = assay_get_u32(in);
    view->worker = assay_get_u32(in);
    view->order = assay_get_u32(in);
    item->kinds = assay_get_u32(in);
    view->wall_time = assay_get_f64(in);
    if (in->failed || view->tensor >= form->tensors || view->worker >= form->workers)
        return damaged(err);
    int status = get_shape(in, arena, view, err);
    if (status == ASSAY_OK)
        status = get_reductions(in, arena, view, err);
    uint8_t has = assay_get_u8(in);
    if (status == ASSAY_OK && (in->failed || has > HAS_ALL))
        return damaged(err);
    if (status == ASSAY_OK && has & HAS_STATS)
        status = get_stats(in, arena, view, err);
    if (status == ASSAY_OK && has & HAS_RESULTS)
        status = get_results(in, form, arena, view, err);
    return status == ASSAY_OK && in->failed ? damaged(err) : status;
}
