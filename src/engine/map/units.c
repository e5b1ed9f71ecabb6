/* units.c - see units.h. The earlier records are read again beside this one: nothing is kept between steps, and the
 * first steps of a chunk need no special case. */
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

/* The unit counts of one earlier record, without a window. 1: it has no elements. Half of what is left may be lent for
 * quantiles, so that only the other half is granted: as if the record needed twice as much. */
static int count_units(const assay_record_work *w, const assay_measure *measure, assay_place place,
                       assay_result *result, assay_error *err)
{
    assay_file_pool *pool = w->pool;
    assay_open_file *file = &pool->window;
    assay_measure single = *measure;
    assay_record record;
    assay_meter_needs needs;
    assay_meter *meter;
    single.window = 1;
    int status = assay_file_pool_open(pool, file, pool->source->source, place.part, place.entry->file, err);
    if (status == ASSAY_OK)
        status = assay_reader_entry(file->reader, place.part, place.entry, pool->source->source->info->tensors,
                                    pool->value_budget, &record, err);
    if (status != ASSAY_OK)
        return status;
    pool->bytes_read += record.length;
    assay_shape shape = {record.dtype, record.dims, record.shape, record.elements};
    status = assay_meter_new_within(&single, &shape, NULL, assay_record_work_left(w) / 2, SIZE_MAX, w->step->arena,
                                    &needs, &meter, err);
    if (status != ASSAY_OK)
        return status;
    assay_step_work_note(w->step, w->work + 2 * (needs.held + needs.work));
    (void)assay_step_work_charge(w->step, needs.held);
    status = feed_content(file->reader, assay_dtype_size(record.dtype), meter, err);
    if (status == ASSAY_OK)
        return assay_meter_end(meter, result, err);
    assay_meter_drop(meter);
    return status;
}

/* Walks the earlier records of the tensor and worker, newest first. This rank was sent as many as the window reaches;
 * where some of them have no elements, those before them are looked up. */
typedef struct earlier_records {
    assay_place page[PAGE];
    size_t count, at;
    size_t looked_at, sent; /* records: so far, and those that this rank has without a gap */
    int64_t step;           /* of the one that was given last */
} earlier_records;

/* 1 and *out, 0 when there is none, or a status. */
static int next_earlier(const assay_record_work *w, earlier_records *e, assay_place *out)
{
    assay_file_pool *pool = w->pool;
    if (e->at == e->count) {
        e->count =
            assay_record_history_before(pool->history, w->entry->tensor, w->part->worker, e->step, e->page, PAGE);
        e->at = 0;
    }
    bool is_sent = e->at < e->count && (e->looked_at < e->sent || !e->page[e->at].part->before);
    int found = is_sent;
    if (is_sent) {
        *out = e->page[e->at++];
    } else if (e->looked_at >= e->sent) {
        if (!pool->lookback_index && !(pool->lookback_index = assay_lookback_index_new(pool->source->source)))
            return ASSAY_ENOMEM;
        found = assay_lookback_index_before(pool->lookback_index, w->entry->tensor, w->part->worker, e->step, out);
        e->at = e->count = 0;
    }
    if (found > 0) {
        e->step = out->part->step;
        e->looked_at++;
    }
    return found;
}

int assay_units_pool(const assay_record_work *w, const assay_measure *measure, assay_result *result, assay_error *err)
{
    earlier_records e = {.step = w->part->step, .sent = measure->window - 1};
    for (size_t left = measure->window - 1; left > 0;) {
        assay_place place;
        assay_result earlier;
        int found = next_earlier(w, &e, &place);
        if (found <= 0)
            return found;
        int status = count_units(w, measure, place, &earlier, err);
        if (status < 0)
            return status;
        if (status > 0) /* no elements: no saved step of the tensor */
            continue;
        assay_meter_pool(result, &earlier);
        left--;
    }
    return ASSAY_OK;
}
