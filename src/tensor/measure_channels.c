/* measure_channels.c - which elements belong to which channel, and CHANNELS: sum and sum of squares of each.
 *
 * By columns, a block is BLOCK_ROWS rows of columns; by runs, it is BLOCK_ELEMENTS elements of a run. Blocks are summed
 * separately and added to the channel in order, so a sum depends only on the elements. */
#include <string.h>

#include "tensor/measure_kind.h"

enum { SHORT_RUN = 64, MOST_COLUMNS = 65536, FEW_COLUMNS = 512, BLOCK_ROWS = 512, BLOCK_ELEMENTS = 4096 };

meter_axes meter_axes_of(uint64_t channels, uint64_t inner)
{
    meter_axes axes = {channels, inner, 0};
    uint64_t period = channels * inner; /* a divisor of the number of elements */
    if (inner == 1 || (inner < SHORT_RUN && period <= MOST_COLUMNS))
        axes.columns = period < FEW_COLUMNS ? FEW_COLUMNS / period * period : period;
    return axes;
}

uint64_t meter_stretch(const meter_axes *axes, uint64_t i, uint64_t n)
{
    uint64_t length = axes->columns > 0 ? axes->columns : axes->inner, rest = length - i % length;
    return n < rest ? n : rest;
}

typedef struct channels_state {
    meter_axes axes;
    uint64_t images;
    channel_lanes lanes; /* by runs: the open block */
} channels_state;

static int start(assay_meter *m, assay_error *err)
{
    channels_state *s = meter_state(m);
    uint64_t channels = 1, inner = m->elements;
    if (m->measure.axis >= 0 && m->measure.axis < m->dims) {
        channels = (uint64_t)m->dim[m->measure.axis];
        inner = 1;
        for (int d = m->measure.axis + 1; d < m->dims; d++)
            inner *= (uint64_t)m->dim[d];
    }
    s->axes = meter_axes_of(channels, inner);
    s->images = m->dims > 0 ? (uint64_t)m->dim[0] : 1;
    size_t columns = meter_bytes(s->axes.columns, 2 * sizeof(double));
    int status = meter_take(m, meter_bytes(channels, 2 * sizeof(double)), columns, columns, err);
    if (status == ASSAY_OK && columns > 0)
        memset(m->borrowed, 0, columns);
    return status;
}

static void close_rows(assay_meter *m)
{
    const channels_state *s = meter_state(m);
    double *sum = m->kept, *squares = sum + s->axes.channels, *columns = m->borrowed;
    uint64_t used = s->axes.columns < m->elements ? s->axes.columns : m->elements;
    /* Without a division for each column: they would cost more than a small tensor's elements. */
    for (uint64_t c = 0; c < used;)
        for (uint64_t channel = 0; channel < s->axes.channels; channel++)
            for (uint64_t end = c + s->axes.inner; c < end; c++) {
                sum[channel] += columns[c];
                squares[channel] += columns[s->axes.columns + c];
            }
    memset(columns, 0, s->axes.columns * 2 * sizeof *columns);
}

static void feed_columns(assay_meter *m, const double *x, size_t n)
{
    const channels_state *s = meter_state(m);
    double *columns = m->borrowed;
    uint64_t width = s->axes.columns, at = m->position;
    while (n > 0) {
        size_t take = meter_stretch(&s->axes, at, n);
        m->kernels->column_sums(columns + at % width, columns + width + at % width, x, take);
        at += take;
        x += take;
        n -= take;
        if (at % (width * BLOCK_ROWS) == 0)
            close_rows(m);
    }
}

static void close_run(assay_meter *m, uint64_t channel)
{
    channels_state *s = meter_state(m);
    double *sum = m->kept, *squares = sum + s->axes.channels;
    sum[channel] += meter_joined(s->lanes.sum);
    squares[channel] += meter_joined(s->lanes.squares);
    memset(&s->lanes, 0, sizeof s->lanes);
}

/* n elements of a run, the first of them number `at` of it: lanes are filled one by one up to a whole group. */
static void add_to_lanes(assay_meter *m, uint64_t at, const double *x, size_t n)
{
    channels_state *s = meter_state(m);
    size_t groups = 0;
    while (n > 0) {
        size_t lane = (size_t)(at % MEASURE_LANES);
        if (lane == 0 && n >= MEASURE_LANES) {
            groups = n / MEASURE_LANES;
            m->kernels->channel_sums(&s->lanes, x, groups);
            at += groups * MEASURE_LANES;
            x += groups * MEASURE_LANES;
            n -= groups * MEASURE_LANES;
            continue;
        }
        s->lanes.sum[lane] += *x;
        s->lanes.squares[lane] += *x * *x;
        at++;
        x++;
        n--;
    }
}

static void feed_runs(assay_meter *m, const double *x, size_t n)
{
    const channels_state *s = meter_state(m);
    uint64_t at = m->position;
    while (n > 0) {
        uint64_t in_run = at % s->axes.inner, room = BLOCK_ELEMENTS - in_run % BLOCK_ELEMENTS;
        size_t take = meter_stretch(&s->axes, at, n);
        take = take < room ? take : room;
        add_to_lanes(m, in_run, x, take);
        if (take == room || in_run + take == s->axes.inner)
            close_run(m, meter_channel(&s->axes, at));
        at += take;
        x += take;
        n -= take;
    }
}

static void feed(assay_meter *m, const double *x, size_t n)
{
    const channels_state *s = meter_state(m);
    if (s->axes.columns > 0)
        feed_columns(m, x, n);
    else
        feed_runs(m, x, n);
}

static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    const channels_state *s = meter_state(m);
    double *sum = m->kept;
    if (s->axes.columns > 0)
        close_rows(m);
    for (uint64_t i = 0; i < 2 * s->axes.channels; i++)
        sum[i] = meter_one_nan(sum[i]);
    result->of.channels = (assay_channels){.images = s->images,
                                           .elements = m->elements / s->axes.channels,
                                           .channels = s->axes.channels,
                                           .sum = sum,
                                           .squares = sum + s->axes.channels};
    return ASSAY_OK;
}

const meter_kind meter_channels = {sizeof(channels_state), start, NULL, feed, end};
