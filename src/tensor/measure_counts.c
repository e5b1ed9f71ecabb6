/* measure_counts.c - EQUALS, BELOW, FIRST_BAD, ZERO_RUNS and VALUES. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "tensor/convert.h"
#include "tensor/measure_kind.h"

static int start_counts(assay_meter *m, assay_error *err)
{
    size_t each = m->measure.kind == ASSAY_MEASURE_BELOW ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
    return meter_take(m, meter_bytes(m->measure.numbers, each), 0, 0, err);
}

static int end_counts(assay_meter *m, assay_result *result, assay_error *err)
{
    result->of.counts.count = m->kept;
    return ASSAY_OK;
}

static void feed_equals(assay_meter *m, const double *x, size_t n)
{
    uint64_t *count = m->kept;
    for (uint32_t k = 0; k < m->measure.numbers; k++)
        count[k] += m->kernels->inside64((const uint8_t *)x, n, m->measure.number[k], m->measure.number[k]);
}

/* 0 < |x| < limit and limit < |x| < infinity, with bounds that belong to the interval. */
static void feed_below(assay_meter *m, const double *x, size_t n)
{
    const double least = 0x1p-1074, greatest = 0x1.fffffffffffffp+1023;
    double size[METER_BLOCK];
    uint64_t *below = m->kept, *above = below + m->measure.numbers;
    for (size_t i = 0; i < n; i++)
        size[i] = fabs(x[i]);
    for (uint32_t k = 0; k < m->measure.numbers; k++) {
        double limit = m->measure.number[k], over = nextafter(limit, INFINITY);
        below[k] += m->kernels->inside64((const uint8_t *)size, n, least, nextafter(limit, -INFINITY));
        above[k] += m->kernels->inside64((const uint8_t *)size, n, over, greatest);
    }
}

/* The largest float that is below `limit`, or at it where `at` is set; -1 where none is that is 0 or more. */
static float float_under(double limit, bool at)
{
    if (!(limit >= 0) || (limit == 0 && !at))
        return -1;
    if (limit > (double)FLT_MAX)
        return FLT_MAX;
    float under = (float)limit;
    return (double)under > limit || (!at && (double)under == limit) ? nextafterf(under, -1) : under;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Floats as they are: how many are at most so large, less the zeros, and how many of the finite ones are larger. One
 * pass counts the zeros and those up to the first limit, and finds the largest: where that is below a limit, as it is
 * below what a format overflows at, nothing has to be counted for it. */
static bool feed_floats_below(assay_meter *m, const meter_piece *piece)
{
    enum { BLOCK = 4096 }; /* stays in the first cache, however many passes there are */
    uint64_t *below = m->kept, *above = below + m->measure.numbers;
    if (m->dtype != ASSAY_FLOAT32)
        return false;
    const float first = m->measure.numbers > 0 ? fabsf(float_under(m->measure.number[0], true)) : 0;
    for (uint64_t at = 0; at < piece->elements; at += BLOCK) {
        const uint8_t *block = piece->bytes + at * sizeof(float);
        const uint64_t left = piece->elements - at;
        const size_t n = left < BLOCK ? (size_t)left : BLOCK;
        uint64_t zeros = 0, up_to_first = 0;
        const uint32_t largest = m->kernels->magnitudes32(block, n, bits_of(first), &zeros, &up_to_first);
        const uint64_t finite = largest <= bits_of(FLT_MAX) ? n : m->kernels->inside32(block, n, -FLT_MAX, FLT_MAX);
        for (uint32_t k = 0; k < m->measure.numbers; k++) {
            const double limit = m->measure.number[k];
            const float under = float_under(limit, false), up_to = float_under(limit, true);
            uint64_t most = 0;
            if (up_to >= 0 && largest <= bits_of(fabsf(up_to)))
                most = n;
            else if (up_to >= 0)
                most = k == 0 ? up_to_first : m->kernels->inside32(block, n, -up_to, up_to);
            above[k] += isnan(limit) ? 0 : finite - most;
            if (under >= 0)
                below[k] += (under == up_to ? most : m->kernels->inside32(block, n, -under, under)) - zeros;
        }
    }
    return true;
}

const meter_kind meter_equals = {0, start_counts, NULL, feed_equals, end_counts};
const meter_kind meter_below = {0, start_counts, feed_floats_below, feed_below, end_counts};

static int start_first_bad(assay_meter *m, assay_error *err)
{
    assay_first_bad *s = meter_state(m);
    s->index = UINT64_MAX;
    return ASSAY_OK;
}

/* Finds it among floats, which need not be widened, block by block. */
static void find_bad_float(assay_meter *m, const meter_piece *piece)
{
    enum { BLOCK = 4096 };
    const float greatest = 0x1.fffffep+127F;
    assay_first_bad *s = meter_state(m);
    for (uint64_t at = 0; at < piece->elements; at += BLOCK) {
        const uint8_t *block = piece->bytes + at * sizeof(float);
        const uint64_t left = piece->elements - at, n = left < BLOCK ? left : BLOCK;
        if (m->kernels->inside32(block, n, -greatest, greatest) == n)
            continue;
        float x;
        uint64_t i = 0;
        for (memcpy(&x, block, sizeof x); isfinite(x); memcpy(&x, block + i * sizeof x, sizeof x))
            i++;
        s->index = m->position + at + i;
        s->value = isnan(x) ? (double)NAN : (double)x;
        return;
    }
}

static bool skip_rest(assay_meter *m, const meter_piece *piece)
{
    const assay_first_bad *s = meter_state(m);
    if (s->index == UINT64_MAX && m->dtype == ASSAY_FLOAT32)
        find_bad_float(m, piece);
    return s->index != UINT64_MAX || m->dtype == ASSAY_FLOAT32 || !assay_dtype_is_float(m->dtype);
}

static void feed_first_bad(assay_meter *m, const double *x, size_t n)
{
    const double greatest = 0x1.fffffffffffffp+1023;
    assay_first_bad *s = meter_state(m);
    if (s->index != UINT64_MAX || m->kernels->inside64((const uint8_t *)x, n, -greatest, greatest) == n)
        return;
    size_t i = 0;
    while (isfinite(x[i]))
        i++;
    s->index = m->position + i;
    s->value = isnan(x[i]) ? (double)NAN : x[i];
}

static int end_first_bad(assay_meter *m, assay_result *result, assay_error *err)
{
    result->of.first_bad = *(assay_first_bad *)meter_state(m);
    return ASSAY_OK;
}

const meter_kind meter_first_bad = {sizeof(assay_first_bad), start_first_bad, skip_rest, feed_first_bad, end_first_bad};

/* ---- runs of zeros ---- */

typedef struct zero_runs {
    assay_zero_runs found;
    uint64_t open; /* bytes of zeros up to the end of the piece before */
} zero_runs;

static int start_zero_runs(assay_meter *m, assay_error *err)
{
    (void)err;
    ((zero_runs *)meter_state(m))->found.index = UINT64_MAX;
    return assay_dtype_size(m->dtype) > 0 && m->dtype != ASSAY_BOOL ? ASSAY_OK : 1;
}

/* The zeros [begin, end) of the tensor's bytes, with which elements may begin or end, too. */
static void close_run(const assay_meter *m, zero_runs *s, uint64_t begin, uint64_t end)
{
    const uint64_t size = assay_dtype_size(m->dtype), first = (begin + size - 1) / size, behind = end / size;
    if (behind <= first || (behind - first) * size < ASSAY_ZERO_RUN_LEAST)
        return;
    s->found.runs++;
    s->found.elements += behind - first;
    if (behind - first > s->found.length) {
        s->found.index = first;
        s->found.length = behind - first;
    }
}

static bool is_zero_word(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word == 0;
}

/* Where the zeros from `at` on end, and where those before `at` begin. */
static uint64_t zeros_end(const uint8_t *bytes, uint64_t at, uint64_t size)
{
    while (size - at >= sizeof(uint64_t) && is_zero_word(bytes + at))
        at += sizeof(uint64_t);
    while (at < size && bytes[at] == 0)
        at++;
    return at;
}

static uint64_t zeros_begin(const uint8_t *bytes, uint64_t at, uint64_t least)
{
    while (at - least >= sizeof(uint64_t) && is_zero_word(bytes + at - sizeof(uint64_t)))
        at -= sizeof(uint64_t);
    while (at > least && bytes[at - 1] == 0)
        at--;
    return at;
}

/* One word in so many bytes is looked at: a run within the piece has one, and one across its end is at its end. */
static bool feed_zero_runs(assay_meter *m, const meter_piece *piece)
{
    enum { STRIDE = ASSAY_ZERO_RUN_LEAST / 2 };
    zero_runs *s = meter_state(m);
    const uint8_t *bytes = piece->bytes;
    const uint64_t size = assay_dtype_size(m->dtype), before = m->position * size, all = piece->elements * size;
    uint64_t from = s->open > 0 ? zeros_end(bytes, 0, all) : 0; /* nothing before it is looked at again */
    if (s->open > 0 && from == all) {
        s->open += all;
        return true;
    }
    close_run(m, s, before - s->open, before + from);
    for (uint64_t at = (from + STRIDE - 1) / STRIDE * STRIDE; at + sizeof(uint64_t) <= all; at += STRIDE) {
        if (!is_zero_word(bytes + at))
            continue;
        const uint64_t begin = zeros_begin(bytes, at, from), end = zeros_end(bytes, at, all);
        if (end == all)
            break;
        close_run(m, s, before + begin, before + end);
        from = end;
        at = end / STRIDE * STRIDE;
    }
    s->open = all - zeros_begin(bytes, all, from);
    return true;
}

static int end_zero_runs(assay_meter *m, assay_result *result, assay_error *err)
{
    zero_runs *s = meter_state(m);
    const uint64_t end = m->position * assay_dtype_size(m->dtype);
    (void)err;
    close_run(m, s, end - s->open, end);
    result->of.zero_runs = s->found;
    return ASSAY_OK;
}

const meter_kind meter_zero_runs = {sizeof(zero_runs), start_zero_runs, feed_zero_runs, NULL, end_zero_runs};

static int start_values(assay_meter *m, assay_error *err)
{
    if (m->measure.numbers > 0 && (double)m->elements > m->measure.number[0])
        return 1;
    return meter_take(m, meter_bytes(m->elements, sizeof(double)), 0, 0, err);
}

static bool feed_values(assay_meter *m, const meter_piece *piece)
{
    assay_to_double(m->dtype, piece->bytes, (size_t)piece->elements, (double *)m->kept + m->position);
    return true;
}

static int end_values(assay_meter *m, assay_result *result, assay_error *err)
{
    result->of.values = (assay_values){.count = m->elements, .value = m->kept};
    return ASSAY_OK;
}

const meter_kind meter_values = {0, start_values, feed_values, NULL, end_values};
