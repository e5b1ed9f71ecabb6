/* measure_moments.c - NEGATIVE and MOMENTS: what can be told of an optimizer's moments by their values alone.
 *
 * Adam keeps m_t = (1 - b1) sum b1^(t-i) g_i and v_t = (1 - b2) sum b2^(t-i) g_i^2. By Cauchy and Schwarz
 *   |m| <= K sqrt(v),  K = (1 - b1) / sqrt((1 - b2) (1 - b1^2 / b2))  for b1^2 < b2,
 * whatever the gradients were. Squares of gradients below the smallest normal number of v's type are lost on their way
 * into v: v0 = 4 u / (1 - b2) makes up for them.
 *
 * Nearly no element has a ratio above all those before it, so products are compared, and only what is above is divided.
 */
#include <math.h>

#include "tensor/convert.h"
#include "tensor/measure_kind.h"

/* ---- NEGATIVE ---- */

static int start_negative(assay_meter *m, assay_error *err)
{
    assay_negative *s = meter_state(m);
    s->index = UINT64_MAX;
    return ASSAY_OK;
}

static bool has_none(assay_meter *m, const meter_piece *piece)
{
    return m->dtype == ASSAY_FLOAT32 && m->kernels->inside32(piece->bytes, piece->elements, -INFINITY, -0x1p-149F) == 0;
}

static void feed_negative(assay_meter *m, const double *x, size_t n)
{
    assay_negative *s = meter_state(m);
    const uint64_t below = m->kernels->inside64((const uint8_t *)x, n, -INFINITY, -0x1p-1074);
    s->count += below;
    for (size_t i = 0; below > 0 && i < n; i++)
        if (x[i] < s->smallest) {
            s->smallest = x[i];
            s->index = m->position + i;
        }
}

static int end_negative(assay_meter *m, assay_result *result, assay_error *err)
{
    result->of.negative = *(assay_negative *)meter_state(m);
    return ASSAY_OK;
}

const meter_kind meter_negative = {sizeof(assay_negative), start_negative, has_none, feed_negative, end_negative};

/* ---- MOMENTS ---- */

typedef struct moments_state {
    assay_moments so_far;
    double bound; /* K */
    double least; /* v0 */
    double bar;   /* ratios whose square is not above it change nothing */
} moments_state;

static bool is_moment(int dtype)
{
    return dtype == ASSAY_FLOAT64 || dtype == ASSAY_FLOAT32 || dtype == ASSAY_FLOAT16 || dtype == ASSAY_BFLOAT16;
}

static bool has_16_bits(int dtype)
{
    return dtype == ASSAY_FLOAT16 || dtype == ASSAY_BFLOAT16;
}

/* The smallest number that is kept exactly to the type's last bit; float16 keeps its subnormal ones. */
static double smallest_of(int dtype)
{
    return dtype == ASSAY_FLOAT64 ? 0x1p-1022 : dtype == ASSAY_FLOAT16 ? 0x1p-24 : 0x1p-126;
}

static int start_moments(assay_meter *m, assay_error *err)
{
    moments_state *s = meter_state(m);
    const double b1 = m->measure.number[0], b2 = m->measure.number[1], tolerance = m->measure.number[2];
    s->so_far.index = UINT64_MAX;
    s->so_far.found = m->same_shape && is_moment(m->dtype) && is_moment(m->reference_dtype);
    s->bound = (1 - b1) / sqrt((1 - b2) * (1 - b1 * b1 / b2));
    s->least = 4 * smallest_of(m->reference_dtype) / (1 - b2);
    s->so_far.limit = 1 + (!isnan(tolerance)                                          ? tolerance
                           : has_16_bits(m->dtype) || has_16_bits(m->reference_dtype) ? 0.05
                                                                                      : 1e-5);
    return ASSAY_OK;
}

/* Looks at one element whose ratio may be above the largest so far, or above the limit. */
static void look(moments_state *s, double m, double v, uint64_t index)
{
    if (!isfinite(m) || !isfinite(v) || !(v >= 0))
        return;
    const double ratio = fabs(m) / (s->bound * sqrt(v + s->least));
    s->so_far.beyond += ratio > s->so_far.limit;
    if (ratio > s->so_far.largest) {
        const double bar = ratio < s->so_far.limit ? ratio : s->so_far.limit;
        s->so_far.largest = ratio;
        s->so_far.index = index;
        s->bar = bar * bar * s->bound * s->bound * (1 - 0x1p-40); /* a little lower, so that rounding hides none */
    }
}

static void add_bound(assay_meter *meter, const double *m, const double *v, size_t n)
{
    enum { RUN = 32 };
    moments_state *s = meter_state(meter);
    if (meter->dtype == ASSAY_FLOAT64 || meter->reference_dtype == ASSAY_FLOAT64) {
        for (size_t i = 0; i < n; i++) /* whose squares and products need not fit a double */
            look(s, m[i], v[i], meter->position + i);
        return;
    }
    for (size_t at = 0; at < n; at += RUN) {
        const size_t end = n - at < RUN ? n : at + RUN;
        int above = 0;
        for (size_t i = at; i < end; i++)
            above |= m[i] * m[i] > s->bar * (v[i] + s->least);
        for (size_t i = at; above && i < end; i++)
            if (m[i] * m[i] > s->bar * (v[i] + s->least))
                look(s, m[i], v[i], meter->position + i);
    }
}

static void add_below(assay_meter *meter, const double *a, const double *b, size_t n)
{
    moments_state *s = meter_state(meter);
    for (size_t i = 0; i < n; i++)
        if (a[i] < b[i]) {
            s->so_far.index = s->so_far.beyond == 0 ? meter->position + i : s->so_far.index;
            s->so_far.beyond++;
        }
}

/* The loop that finds elements above the bar as they lie; NULL: they are widened first. */
static bound_groups *bound_of(const assay_meter *meter)
{
    if (meter->measure.form != ASSAY_MOMENTS_BOUND || meter->dtype != meter->reference_dtype)
        return NULL;
    return meter->dtype == ASSAY_FLOAT32    ? meter->kernels->bound32
           : meter->dtype == ASSAY_BFLOAT16 ? meter->kernels->bound_bfloat16
                                            : NULL;
}

static bool feed_moments(assay_meter *meter, const meter_piece *piece)
{
    enum { NEXT = 64 }; /* elements behind those below the bar, which may not be */
    const moments_state *s = meter_state(meter);
    const size_t size = assay_dtype_size(meter->dtype), reference_size = assay_dtype_size(meter->reference_dtype);
    const uint64_t position = meter->position;
    bound_groups *bound = bound_of(meter);
    const uint64_t most = bound ? NEXT : METER_BLOCK;
    double a[METER_BLOCK], b[METER_BLOCK];
    for (uint64_t at = 0, n; s->so_far.found && at < piece->elements; at += n) {
        if (bound)
            at += bound(piece->bytes + at * size, piece->reference + at * reference_size,
                        (size_t)(piece->elements - at), s->bar, s->least);
        n = piece->elements - at < most ? piece->elements - at : most;
        assay_to_double(meter->dtype, piece->bytes + at * size, (size_t)n, a);
        assay_to_double(meter->reference_dtype, piece->reference + at * reference_size, (size_t)n, b);
        meter->position = position + at;
        if (meter->measure.form == ASSAY_MOMENTS_BOUND)
            add_bound(meter, a, b, (size_t)n);
        else
            add_below(meter, a, b, (size_t)n);
    }
    meter->position = position;
    return true;
}

static int end_moments(assay_meter *m, assay_result *result, assay_error *err)
{
    const moments_state *s = meter_state(m);
    result->of.moments = s->so_far.found ? s->so_far : (assay_moments){.index = UINT64_MAX};
    return ASSAY_OK;
}

const meter_kind meter_moments = {sizeof(moments_state), start_moments, feed_moments, NULL, end_moments};
