/* units.c - unit counts over a window of saved steps: the earlier ones are read again beside this one, so that nothing
 * has to be kept between steps and a chunk's first steps are like all others. */
#include "engine/map/mapper.h"

#include "tensor/measure.h"

enum { PAGE = 64 };

/* The unit counts of one earlier record, with the measure's window left out. */
static int count_units(assay_mapper *m, const assay_measure *measure, assay_open_file *handle, assay_place place,
                       assay_result *result, assay_error *err)
{
    assay_measure single = *measure;
    single.window = 1;
    assay_record record;
    int status = assay_file_pool_open(m, handle, &m->sources->list[m->source], place.part, err);
    if (status == ASSAY_OK)
        status =
            assay_reader_record(handle->file, place.entry->offset, place.entry->length, m->value_budget, &record, err);
    if (status != ASSAY_OK)
        return status;
    m->bytes_read += record.length;
    assay_shape shape = {record.dtype, record.dims, record.shape, record.elements};
    assay_meter *meter;
    status = assay_meter_new(&single, &shape, NULL, assay_arena_left(m->arena), m->arena, &meter, err);
    size_t element = assay_dtype_size(record.dtype), size = 1;
    while (status == ASSAY_OK && size > 0) {
        const uint8_t *piece;
        status = assay_reader_content(handle->file, 0, &piece, &size, err);
        if (status == ASSAY_OK && size > 0)
            status = assay_meter_feed(meter, piece, NULL, size / element, err);
    }
    return status == ASSAY_OK ? assay_meter_end(meter, result, err) : status;
}

int assay_units_pool(assay_mapper *m, const assay_measure *measure, const assay_part *part, uint32_t tensor,
                     assay_result *result, assay_error *err)
{
    assay_place place[PAGE];
    int64_t before = part->step;
    for (size_t left = measure->window - 1, count; left > 0; left -= count) {
        count = assay_history_before(m->history, tensor, part->worker, before, place, left < PAGE ? left : PAGE);
        for (size_t i = 0; i < count; i++) {
            assay_result earlier;
            int status = count_units(m, measure, &m->reference[ASSAY_REFERENCES - 1], place[i], &earlier, err);
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
