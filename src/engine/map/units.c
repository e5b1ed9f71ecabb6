/* units.c - see units.h. The earlier records are read again beside this one, so that nothing is kept between steps and
 * the first steps of a chunk are like all others. */
#include "engine/map/units.h"

enum { PAGE = 64 };

static int feed_content(assay_reader *reader, size_t element, assay_meter *meter, assay_error *err)
{
    for (;;) {
        const uint8_t *piece;
        size_t size;
        int status = assay_reader_content(reader, 0, &piece, &size, err);
        if (status != ASSAY_OK || size == 0)
            return status;
        status = assay_meter_feed(meter, piece, NULL, size / element, err);
        if (status != ASSAY_OK)
            return status;
    }
}

/* The unit counts of one earlier record, without a window. 1: the measure does not apply to it. */
static int count_units(const assay_record_work *w, const assay_measure *measure, assay_place place,
                       assay_result *result, assay_error *err)
{
    assay_file_pool *pool = w->pool;
    assay_open_file *file = &pool->window;
    assay_measure single = *measure;
    assay_record record;
    assay_meter_bytes taken;
    assay_meter *meter;
    single.window = 1;
    int status = assay_file_pool_open(pool, file, pool->source->source, place.part, place.entry->file, err);
    if (status == ASSAY_OK)
        status = assay_reader_record(file->reader, place.entry->offset, place.entry->length, pool->value_budget,
                                     &record, err);
    if (status != ASSAY_OK)
        return status;
    pool->bytes_read += record.length;
    assay_shape shape = {record.dtype, record.dims, record.shape, record.elements};
    status = assay_meter_new_within(&single, &shape, NULL, assay_record_work_left(w), assay_arena_left(w->step->arena),
                                    w->step->arena, &taken, &meter, err);
    if (status != ASSAY_OK)
        return status;
    (void)assay_step_work_charge(w->step, taken.held);
    status = feed_content(file->reader, assay_dtype_size(record.dtype), meter, err);
    if (status == ASSAY_OK)
        return assay_meter_end(meter, result, err);
    assay_meter_drop(meter);
    return status;
}

int assay_units_pool(const assay_record_work *w, const assay_measure *measure, assay_result *result, assay_error *err)
{
    assay_place place[PAGE];
    int64_t before = w->part->step;
    for (size_t left = measure->window - 1, count; left > 0; left -= count) {
        count = assay_history_before(w->pool->history, w->entry->tensor, w->part->worker, before, place,
                                     left < PAGE ? left : PAGE);
        for (size_t i = 0; i < count; i++) {
            assay_result earlier;
            int status = count_units(w, measure, place[i], &earlier, err);
            if (status < 0)
                return status;
            if (status == ASSAY_OK)
                assay_meter_pool(result, &earlier);
        }
        if (count == 0)
            break;
        before = place[count - 1].part->step;
    }
    return ASSAY_OK;
}
