/* series.c - rows of (step, tensor, worker, values) in the order of steps.
 *
 * States are joined in pairs, and the joined ones again, as often as the number of chunks has digits: so rows lie in runs,
 * and a series that is appended shares its runs with the other one, where they are large enough not to be copied. Before
 * a rule walks its rows they are made one run, which is an array. */
#include "rule/common_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/heap.h"
#include "base/vec.h"

enum {
    SHARED = 8 << 10,  /* bytes of rows from which on it takes longer to copy than to share them */
    TRIMMED = 64 << 20 /* bytes that runs leave free before they go back to the system */
};

/* Packed in memory, without gaps: row_size() is what one takes. */
typedef struct series_row {
    int64_t step;
    uint32_t tensor, worker;
    double value[]; /* [width] */
} series_row;

/* Of one series, or of several that were appended to one another: then it changes no more. */
typedef struct series_run {
    uint32_t holders;
    uint64_t count, room;
    uint8_t *rows;
} series_run;

/* Only the last run may still grow, and only while no other series holds it. `count` is the sum over the runs. */
struct assay_series {
    uint32_t width;
    uint64_t count;
    ASSAY_VEC(series_run *) run;
};

static inline size_t bytes_of_row(uint32_t width)
{
    return sizeof(series_row) + width * sizeof(double);
}

size_t assay_series_row_bytes(uint32_t width)
{
    return bytes_of_row(width);
}

static inline size_t row_size(const assay_series *s)
{
    return bytes_of_row(s->width);
}

uint64_t assay_series_bytes(const assay_series *series)
{
    return series->count * row_size(series);
}

static inline series_row *row_of(const assay_series *s, const series_run *run, uint64_t i)
{
    return (series_row *)(void *)(run->rows + i * row_size(s));
}

/* Linear in the runs, so walks settle the series first; then there is one. */
static inline series_row *row_at(const assay_series *s, uint64_t i)
{
    size_t k = 0;
    if (s->run.count == 1)
        return row_of(s, s->run.list[0], i);
    for (; i >= s->run.list[k]->count; k++)
        i -= s->run.list[k]->count;
    return row_of(s, s->run.list[k], i);
}

assay_series *assay_series_new(uint32_t width)
{
    assay_series *series = assay_alloc_zeroed(1, sizeof *series);
    if (series)
        series->width = width;
    return series;
}

static void let_go(const assay_series *s, series_run *run)
{
    if (--run->holders > 0)
        return;
    assay_heap_drop_list(run->rows, run->room * row_size(s));
    free(run);
}

static void drop_runs(assay_series *series)
{
    for (size_t k = 0; k < series->run.count; k++)
        let_go(series, series->run.list[k]);
    free(series->run.list);
}

void assay_series_free(assay_series *series)
{
    if (!series)
        return;
    drop_runs(series);
    free(series);
}

static int resize(const assay_series *s, series_run *run, uint64_t room)
{
    uint8_t *rows = assay_heap_resize_list(run->rows, run->room * row_size(s), room * row_size(s));
    ASSAY_HAVE(rows);
    run->rows = rows;
    run->room = room;
    return ASSAY_OK;
}

/* The last run, where no other series has it, with room for `more` rows; a new one otherwise. NULL without memory. */
static series_run *reserve(assay_series *s, uint64_t more)
{
    series_run *run = s->run.count > 0 ? s->run.list[s->run.count - 1] : NULL;
    /* Bounds both products below: rows of the whole series stay under a quarter of the address space. */
    if (more > SIZE_MAX / 4 / row_size(s) - s->count)
        return NULL;
    if (!run || run->holders > 1) {
        if (!ASSAY_VEC_RESERVE(&s->run, 1) || !(run = assay_alloc_zeroed(1, sizeof *run)))
            return NULL;
        run->holders = 1;
        s->run.list[s->run.count++] = run;
    }
    if (more <= run->room - run->count)
        return run;
    uint64_t room = run->room * (run->room * row_size(s) < SHARED ? 4 : 2); /* small ones are copied as they grow */
    if (room < run->count + more)
        room = run->count + more;
    if (room < 16)
        room = 16;
    return resize(s, run, room) == ASSAY_OK ? run : NULL;
}

int assay_series_add(assay_series *series, int64_t step, uint32_t tensor, uint32_t worker, const double *value)
{
    series_run *run = series->run.count > 0 ? series->run.list[series->run.count - 1] : NULL;
    if (!run || run->holders > 1 || run->count == run->room)
        run = reserve(series, 1);
    ASSAY_HAVE(run);
    series_row *row = row_of(series, run, run->count++);
    *row = (series_row){.step = step, .tensor = tensor, .worker = worker};
    if (series->width)
        memcpy(row->value, value, series->width * sizeof *value);
    series->count++;
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
    /* `most` bounds the memory of the table by the rows, whatever numbers tensors and workers have; the division is
     * there so that the product cannot overflow. */
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

/* The result is the caller's to free; NULL without rows as well as without memory. */
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

static int copy_rows(assay_series *s, const series_run *from)
{
    series_run *run = from->count > 0 ? reserve(s, from->count) : NULL;
    if (!run)
        return from->count > 0 ? ASSAY_ENOMEM : ASSAY_OK;
    memcpy(row_of(s, run, run->count), from->rows, from->count * row_size(s));
    run->count += from->count;
    s->count += from->count;
    return ASSAY_OK;
}

/* Are the rows of a run to be copied to the end of a series? Only few, and only where the last run has room or is small. */
static bool is_copied(const assay_series *s, const series_run *run)
{
    const series_run *last = s->run.count > 0 ? s->run.list[s->run.count - 1] : NULL;
    return run->count * row_size(s) < SHARED && last && last->holders == 1 &&
           (last->count * row_size(s) < SHARED || run->count <= last->room - last->count);
}

/* Called by combine, with rows of later chunks: nothing is sorted here, each run is in order of steps already, and
 * runs stay in the order of their states. */
int assay_series_append(assay_series *earlier, const assay_series *later)
{
    const size_t size = row_size(earlier);
    for (size_t k = 0; k < later->run.count; k++) {
        series_run *run = later->run.list[k];
        int status = ASSAY_OK;
        if (is_copied(earlier, run)) {
            status = copy_rows(earlier, run);
        } else if (!ASSAY_VEC_RESERVE(&earlier->run, 1)) {
            status = ASSAY_ENOMEM;
        } else {
            /* A run that others hold as well is in use as it is; a large one keeps its room, since resizing it would
             * copy it. */
            if (run->holders == 1 && run->room > run->count && run->room * size < 16 * SHARED)
                (void)resize(later, run, run->count); /* it grows no more; without memory it is as it was */
            run->holders++;
            earlier->run.list[earlier->run.count++] = run;
            earlier->count += run->count;
        }
        if (status)
            return status;
    }
    return ASSAY_OK;
}

/* Called before rows are walked. Runs are let go one by one, so that the rows are not in memory twice any longer than
 * needed. */
int assay_series_settle(assay_series *series)
{
    assay_series whole = {.width = series->width};
    uint64_t left = 0;
    if (series->run.count <= 1)
        return ASSAY_OK;
    if (!reserve(&whole, series->count)) {
        drop_runs(&whole); /* one without rows, where they alone had no memory */
        return ASSAY_ENOMEM;
    }
    for (size_t k = 0; k < series->run.count; k++) {
        series_run *run = series->run.list[k];
        (void)copy_rows(&whole, run); /* there is room */
        left += run->room * row_size(series);
        let_go(series, run);
        if (left >= TRIMMED) {
            assay_heap_trim();
            left = 0;
        }
    }
    free(series->run.list);
    *series = whole;
    return ASSAY_OK;
}

/* Rows are packed as they lie in memory, where numbers lie there in the order of bytes of the packed form. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static const bool AS_IS = true;
#else
static const bool AS_IS = false;
#endif
_Static_assert(sizeof(series_row) == 16, "a row is packed as a step, a tensor, a worker and its values");

/* Rows of all runs in one list: how a series was joined does not show in its bytes. */
void assay_series_pack(const assay_series *series, assay_buf *out)
{
    assay_put_u32(out, series->width);
    assay_put_u64(out, series->count);
    for (size_t r = 0; r < series->run.count; r++) {
        if (AS_IS) {
            assay_put_bytes(out, series->run.list[r]->rows, series->run.list[r]->count * row_size(series));
            continue;
        }
        for (uint64_t i = 0; i < series->run.list[r]->count; i++) {
            const series_row *row = row_of(series, series->run.list[r], i);
            assay_put_i64(out, row->step);
            assay_put_u32(out, row->tensor);
            assay_put_u32(out, row->worker);
            for (uint32_t k = 0; k < series->width; k++)
                assay_put_f64(out, row->value[k]);
        }
    }
}

static void get_row(assay_cursor *in, uint32_t width, series_row *row)
{
    if (AS_IS) {
        const size_t size = assay_series_row_bytes(width);
        const uint8_t *bytes = assay_get_bytes(in, size);
        memset(row, 0, size);
        if (bytes)
            memcpy(row, bytes, size);
        return;
    }
    *row = (series_row){.step = assay_get_i64(in)};
    row->tensor = assay_get_u32(in);
    row->worker = assay_get_u32(in);
    for (uint32_t k = 0; k < width; k++)
        row->value[k] = assay_get_f64(in);
}

/* Untrusted: the width must be that of the rule, rows are bounded by the bytes left, and steps must not go back,
 * since rules search rows by step. */
int assay_series_unpack(assay_cursor *in, uint32_t width, assay_series **out, assay_error *err)
{
    assay_series *s = assay_series_new(width);
    if (!s)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    bool same_width = assay_get_u32(in) == width;
    uint64_t count = assay_get_count(in, 16 + 8 * (size_t)width);
    int status = same_width && !in->failed ? ASSAY_OK : ASSAY_EFORMAT;
    series_run *run = status == ASSAY_OK && count > 0 ? reserve(s, count) : NULL;
    if (status == ASSAY_OK && count > 0 && !run)
        status = ASSAY_ENOMEM;
    for (; status == ASSAY_OK && s->count < count; s->count++) {
        series_row *row = row_of(s, run, run->count++);
        get_row(in, width, row);
        if (s->count && row->step < row_of(s, run, s->count - 1)->step)
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
