/* measure_units.c - UNITS: samples of each unit that lie strictly inside an interval.
 *
 * Bounds are replaced by the smallest and the largest value inside. So an infinite bound, which includes infinities,
 * and a finite one, which excludes itself, are the same comparison, in float and in double. */
#include <math.h>
#include <string.h>

#include "tensor/measure_kind.h"

typedef struct units_state {
    meter_axes axes;
    uint64_t samples;
    uint64_t used;    /* columns that have elements */
    double low, high; /* the least and greatest double inside */
    float low_single, high_single;
} units_state;

enum { MOST_ROWS = 31 /* bits: what a column counts before it is emptied */ };

static void set_axes(const assay_meter *m, units_state *s)
{
    uint64_t units = 1, inner = 1;
    if (m->measure.form == ASSAY_UNIT_CHANNEL && m->dims >= 2) {
        units = (uint64_t)m->dim[1];
        inner = 1;
        for (int d = 2; d < m->dims; d++)
            inner *= (uint64_t)m->dim[d];
    } else if (m->dims > 0) {
        units = m->elements / (uint64_t)m->dim[0];
    }
    s->axes = meter_axes_of(units, inner);
    s->samples = m->elements / units;
}

static void set_bounds(const assay_measure *measure, units_state *s)
{
    double low = measure->number[0], high = measure->number[1];
    s->low = isinf(low) ? low : nextafter(low, INFINITY);
    s->high = isinf(high) ? high : nextafter(high, -INFINITY);
    s->low_single = (float)s->low;
    if (s->low_single < s->low)
        s->low_single = nextafterf(s->low_single, INFINITY);
    s->high_single = (float)s->high;
    if (s->high_single > s->high)
        s->high_single = nextafterf(s->high_single, -INFINITY);
}

static int start(assay_meter *m, assay_error *err)
{
    units_state *s = meter_state(m);
    if (m->measure.numbers != 2)
        return assay_fail(err, ASSAY_EPARAM, "the measure 'units' takes 2 numbers, not %u",
                          (unsigned)m->measure.numbers);
    set_axes(m, s);
    set_bounds(&m->measure, s);
    if (s->axes.columns > 0 && m->elements / s->axes.columns >> MOST_ROWS > 0)
        return assay_fail(err, ASSAY_EUNSUPPORTED, "a tensor of %llu elements is too long to be counted by units",
                          (unsigned long long)m->elements);
    s->used = s->axes.columns < m->elements ? s->axes.columns : m->elements;
    size_t columns = meter_bytes(s->axes.columns, sizeof(uint32_t));
    int status = meter_take(m, meter_bytes(s->axes.channels, sizeof(uint64_t)), columns, columns, err);
    if (status == ASSAY_OK && columns > 0)
        memset(m->borrowed, 0, s->used * sizeof(uint32_t));
    return status;
}

/* Elements from `first` on, as float (single) or as double. */
static void count(assay_meter *m, const uint8_t *bytes, uint64_t first, uint64_t n, bool single)
{
    const units_state *s = meter_state(m);
    const measure_kernels *k = m->kernels;
    uint64_t *inside = m->kept;
    uint32_t *columns = m->borrowed;
    while (n > 0) {
        uint64_t take = meter_stretch(&s->axes, first, n);
        if (s->axes.columns > 0 && single)
            k->columns32(columns + first % s->axes.columns, bytes, take, s->low_single, s->high_single);
        else if (s->axes.columns > 0)
            k->columns64(columns + first % s->axes.columns, bytes, take, s->low, s->high);
        else if (single)
            inside[meter_channel(&s->axes, first)] += k->inside32(bytes, take, s->low_single, s->high_single);
        else
            inside[meter_channel(&s->axes, first)] += k->inside64(bytes, take, s->low, s->high);
        bytes += take * (single ? sizeof(float) : sizeof(double));
        first += take;
        n -= take;
    }
}

static bool feed_raw(assay_meter *m, const meter_piece *piece)
{
    bool single = m->dtype == ASSAY_FLOAT32;
    if (!single && m->dtype != ASSAY_FLOAT64)
        return false;
    count(m, piece->bytes, m->position, piece->elements, single);
    return true;
}

static void feed(assay_meter *m, const double *x, size_t n)
{
    count(m, (const uint8_t *)x, m->position, n, false);
}

static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    const units_state *s = meter_state(m);
    uint64_t *inside = m->kept;
    const uint32_t *columns = m->borrowed;
    const uint64_t all = s->used, channels = s->axes.channels, inner = s->axes.inner;
    /* Without a division for each column: they would cost more than a small tensor's elements. */
    for (uint64_t used = 0; used < all; used += channels * inner) {
        for (uint64_t channel = 0; channel < channels && inner == 1; channel++)
            inside[channel] += columns[used + channel];
        for (uint64_t c = 0; c < channels * inner && inner > 1; c++)
            inside[c / inner] += columns[used + c];
    }
    result->of.units = (assay_units){.samples = s->samples, .units = s->axes.channels, .inside = inside};
    return ASSAY_OK;
}

const meter_kind meter_units = {sizeof(units_state), start, feed_raw, feed, end};

void assay_meter_pool(assay_result *result, const assay_result *earlier)
{
    assay_units *sum = &result->of.units;
    const assay_units *add = &earlier->of.units;
    if (result->kind != ASSAY_MEASURE_UNITS || earlier->kind != ASSAY_MEASURE_UNITS || sum->units != add->units)
        return;
    uint64_t *inside = (uint64_t *)sum->inside; /* the meter's own, const for rules only */
    for (uint64_t u = 0; u < sum->units; u++)
        inside[u] += add->inside[u];
    sum->samples += add->samples;
}
