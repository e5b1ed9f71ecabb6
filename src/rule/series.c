/* series.c - rows of (step, tensor, worker, values) in the order of steps, in a list of blocks: there may be as many as
 * records in the trial, and an array that grows by copying would take twice their memory. */
#include "rule/common_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"

typedef struct series_row {
    int64_t step;
    uint32_t tensor, worker;
    double value[]; /* [width] */
} series_row;

struct assay_series {
    uint32_t width;
    uint64_t count, room;
    uint8_t *rows;
};

size_t assay_series_row_bytes(uint32_t width)
{
    return sizeof(series_row) + width * sizeof(double);
}

static size_t row_size(const assay_series *s)
{
    return assay_series_row_bytes(s->width);
}

uint64_t assay_series_bytes(const assay_series *series)
{
    return series->count * row_size(series);
}

static series_row *row_at(const assay_series *s, uint64_t i)
{
    return (series_row *)(void *)(s->rows + i * row_size(s));
}

assay_series *assay_series_new(uint32_t width)
{
    assay_series *series = assay_alloc_zeroed(1, sizeof *series);
    if (series)
        series->width = width;
    return series;
}

void assay_series_free(assay_series *series)
{
    if (!series)
        return;
    assay_heap_drop_list(series->rows, series->room * row_size(series));
    free(series);
}

static int reserve(assay_series *s, uint64_t more)
{
    if (more <= s->room - s->count)
        return ASSAY_OK;
    uint64_t most = SIZE_MAX / 4 / row_size(s), room = s->room * 2;
    if (more > most - s->count)
        return ASSAY_ENOMEM;
    if (room < s->count + more)
        room = s->count + more;
    if (room < 16)
        room = 16;
    uint8_t *rows = assay_heap_resize_list(s->rows, s->room * row_size(s), room * row_size(s));
    ASSAY_HAVE(rows);
    s->rows = rows;
    s->room = room;
    return ASSAY_OK;
}

int assay_series_add(assay_series *series, int64_t step, uint32_t tensor, uint32_t worker, const double *value)
{
    int status = reserve(series, 1);
    if (status)
        return status;
    series_row *row = row_at(series, series->count++);
    *row = (series_row){.step = step, .tensor = tensor, .worker = worker};
    if (series->width)
        memcpy(row->value, value, series->width * sizeof *value);
    return ASSAY_OK;
}

uint64_t assay_series_count(const assay_series *series)
{
    return series->count;
}

assay_row assay_series_row(const assay_series *series, uint64_t i)
{
    const series_row *row = row_at(series, i);
    return (assay_row){
        .step = row->step, .tensor = row->tensor, .worker = row->worker, .value = series->width ? row->value : NULL};
}

static int by_tensor(const void *a, const void *b, void *context)
{
    uint64_t i = *(const uint64_t *)a, k = *(const uint64_t *)b;
    const series_row *x = row_at(context, i), *y = row_at(context, k);
    if (x->tensor != y->tensor)
        return x->tensor < y->tensor ? -1 : 1;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    return (i > k) - (i < k); /* rows are in order of step already */
}

/* The place of a row's tensor and worker among all. Rows that are of no worker have the largest number there is, so numbers
 * are counted from the least. */
static uint64_t place_of(const series_row *row, uint32_t first_worker, uint64_t workers)
{
    return row->tensor * workers + (row->worker - first_worker);
}

/* The rows' numbers, sorted by tensor and worker, where there are few of these, or not many more than rows: counted, then put
 * in their places. False without memory, or where they are many. */
static bool sort_counted(const assay_series *series, uint64_t *order)
{
    enum { FEW = 2048, MORE = 4 }; /* so many take less time to count than rows to compare */
    uint32_t tensor = 0, least = UINT32_MAX, largest = 0;
    for (uint64_t i = 0; i < series->count; i++) {
        const series_row *row = row_at(series, i);
        tensor = row->tensor > tensor ? row->tensor : tensor;
        least = row->worker < least ? row->worker : least;
        largest = row->worker > largest ? row->worker : largest;
    }
    const uint64_t tensors = (uint64_t)tensor + 1, workers = (uint64_t)(largest - least) + 1,
                   most = MORE * series->count + FEW;
    if (workers > most || tensors > most / workers)
        return false;
    uint64_t *next = assay_realloc_array(NULL, tensors * workers + 1, sizeof *next), before = 0;
    if (!next)
        return false;
    memset(next, 0, (tensors * workers + 1) * sizeof *next);
    for (uint64_t i = 0; i < series->count; i++)
        next[place_of(row_at(series, i), least, workers)]++;
    for (uint64_t k = 0; k <= tensors * workers; k++) {
        uint64_t here = next[k];
        next[k] = before;
        before += here;
    }
    for (uint64_t i = 0; i < series->count; i++)
        order[next[place_of(row_at(series, i), least, workers)]++] = i;
    free(next);
    return true;
}

uint64_t *assay_series_by_tensor(const assay_series *series)
{
    uint64_t *order = series->count ? assay_realloc_array(NULL, series->count, sizeof *order) : NULL;
    if (!order)
        return NULL;
    if (sort_counted(series, order))
        return order;
    for (uint64_t i = 0; i < series->count; i++)
        order[i] = i;
    qsort_r(order, series->count, sizeof *order, by_tensor, (void *)(uintptr_t)series);
    return order;
}

int assay_series_append(assay_series *earlier, const assay_series *later)
{
    if (later->count == 0)
        return ASSAY_OK;
    int status = reserve(earlier, later->count);
    if (status)
        return status;
    memcpy(row_at(earlier, earlier->count), later->rows, later->count * row_size(later));
    earlier->count += later->count;
    return ASSAY_OK;
}

void assay_series_pack(const assay_series *series, assay_buf *out)
{
    assay_put_u32(out, series->width);
    assay_put_u64(out, series->count);
    for (uint64_t i = 0; i < series->count; i++) {
        const series_row *row = row_at(series, i);
        assay_put_i64(out, row->step);
        assay_put_u32(out, row->tensor);
        assay_put_u32(out, row->worker);
        for (uint32_t k = 0; k < series->width; k++)
            assay_put_f64(out, row->value[k]);
    }
}

int assay_series_unpack(assay_cursor *in, uint32_t width, assay_series **out, assay_error *err)
{
    assay_series *s = assay_series_new(width);
    if (!s)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    bool same_width = assay_get_u32(in) == width;
    uint64_t count = assay_get_count(in, 16 + 8 * (size_t)width);
    int status = same_width && !in->failed ? ASSAY_OK : ASSAY_EFORMAT;
    ASSAY_THEN(status, reserve(s, count));
    for (; status == ASSAY_OK && s->count < count; s->count++) {
        series_row *row = row_at(s, s->count);
        *row = (series_row){.step = assay_get_i64(in)};
        row->tensor = assay_get_u32(in);
        row->worker = assay_get_u32(in);
        for (uint32_t k = 0; k < width; k++)
            row->value[k] = assay_get_f64(in);
        if (s->count && row->step < row_at(s, s->count - 1)->step)
            status = ASSAY_EFORMAT;
    }
    if (status == ASSAY_OK && in->failed)
        status = ASSAY_EFORMAT;
    if (status) {
        assay_series_free(s);
        return assay_fail(err, status, status == ASSAY_ENOMEM ? "out of memory" : "damaged series in a packed state");
    }
    *out = s;
    return ASSAY_OK;
}
