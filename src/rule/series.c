/* series.c - rows of (step, tensor, worker, values) in order of step, column by column in memory. */
#include "rule/common_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

struct assay_series {
    uint32_t width;
    uint64_t count, room;
    int64_t *step;
    uint32_t *tensor, *worker;
    double *value; /* [count * width] */
};

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
    free(series->step);
    free(series->tensor);
    free(series->worker);
    free(series->value);
    free(series);
}

/* Each column is replaced as soon as it has grown, so that a failure in between loses nothing. */
static int reserve(assay_series *s, uint64_t more)
{
    if (more <= s->room - s->count)
        return ASSAY_OK;
    uint64_t room = s->room > UINT64_MAX / 2 ? UINT64_MAX : s->room * 2;
    if (room < s->count + more)
        room = s->count + more < s->count ? UINT64_MAX : s->count + more;
    if (room < 16)
        room = 16;
    int64_t *step = assay_realloc_array(s->step, room, sizeof *step);
    s->step = step ? step : s->step;
    uint32_t *tensor = step ? assay_realloc_array(s->tensor, room, sizeof *tensor) : NULL;
    s->tensor = tensor ? tensor : s->tensor;
    uint32_t *worker = tensor ? assay_realloc_array(s->worker, room, sizeof *worker) : NULL;
    s->worker = worker ? worker : s->worker;
    double *value = worker && s->width ? assay_realloc_array(s->value, room, s->width * sizeof *value) : NULL;
    s->value = value ? value : s->value;
    if (!worker || (s->width && !value))
        return ASSAY_ENOMEM;
    s->room = room;
    return ASSAY_OK;
}

int assay_series_add(assay_series *series, int64_t step, uint32_t tensor, uint32_t worker, const double *value)
{
    int status = reserve(series, 1);
    if (status)
        return status;
    uint64_t i = series->count++;
    series->step[i] = step;
    series->tensor[i] = tensor;
    series->worker[i] = worker;
    if (series->width)
        memcpy(series->value + i * series->width, value, series->width * sizeof *value);
    return ASSAY_OK;
}

uint64_t assay_series_count(const assay_series *series)
{
    return series->count;
}

assay_row assay_series_row(const assay_series *series, uint64_t i)
{
    return (assay_row){.step = series->step[i],
                       .tensor = series->tensor[i],
                       .worker = series->worker[i],
                       .value = series->width ? series->value + i * series->width : NULL};
}

static int by_tensor(const void *a, const void *b, void *context)
{
    const assay_series *s = context;
    uint64_t i = *(const uint64_t *)a, k = *(const uint64_t *)b;
    if (s->tensor[i] != s->tensor[k])
        return s->tensor[i] < s->tensor[k] ? -1 : 1;
    if (s->worker[i] != s->worker[k])
        return s->worker[i] < s->worker[k] ? -1 : 1;
    return (i > k) - (i < k); /* rows are in order of step already */
}

uint64_t *assay_series_by_tensor(const assay_series *series)
{
    uint64_t *order = series->count ? assay_realloc_array(NULL, series->count, sizeof *order) : NULL;
    if (!order)
        return NULL;
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
    memcpy(earlier->step + earlier->count, later->step, later->count * sizeof *later->step);
    memcpy(earlier->tensor + earlier->count, later->tensor, later->count * sizeof *later->tensor);
    memcpy(earlier->worker + earlier->count, later->worker, later->count * sizeof *later->worker);
    if (later->width)
        memcpy(earlier->value + earlier->count * earlier->width, later->value,
               later->count * later->width * sizeof *later->value);
    earlier->count += later->count;
    return ASSAY_OK;
}

void assay_series_pack(const assay_series *series, assay_buf *out)
{
    assay_put_u32(out, series->width);
    assay_put_u64(out, series->count);
    for (uint64_t i = 0; i < series->count; i++) {
        assay_put_i64(out, series->step[i]);
        assay_put_u32(out, series->tensor[i]);
        assay_put_u32(out, series->worker[i]);
        for (uint32_t k = 0; k < series->width; k++)
            assay_put_f64(out, series->value[i * series->width + k]);
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
    if (status == ASSAY_OK)
        status = reserve(s, count);
    for (; status == ASSAY_OK && s->count < count; s->count++) {
        uint64_t i = s->count;
        s->step[i] = assay_get_i64(in);
        s->tensor[i] = assay_get_u32(in);
        s->worker[i] = assay_get_u32(in);
        for (uint32_t k = 0; k < width; k++)
            s->value[i * width + k] = assay_get_f64(in);
        if (i && s->step[i] < s->step[i - 1])
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
