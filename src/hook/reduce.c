/* reduce.c - reductions, by the same statistics pass as the analysis. */
#include "hook/reduce.h"

#include <math.h>
#include <string.h>

#include <assay/tensor.h>
#include "hook/config.h"
#include "tensor/convert.h"
#include "tensor/digest.h"
#include "tensor/stats.h"

enum { BLOCK = 4096 };

/* Of a sample, n - 1 is in the denominator. */
static double denominator_factor(const assay_stats *s, bool sample)
{
    return sample ? (double)s->count / ((double)s->count - 1) : 1;
}

static double variance(const assay_stats *s, bool sample)
{
    if (sample && isfinite(s->deviations))
        return s->deviations / ((double)s->count - 1);
    return assay_stats_variance(s) * denominator_factor(s, sample);
}

static double deviation(const assay_stats *s, bool sample)
{
    if (isfinite(s->deviations))
        return sqrt(variance(s, sample));
    return assay_stats_std(s) * sqrt(denominator_factor(s, sample));
}

static double figure(const assay_stats *s, int op, double product, bool sample)
{
    switch (op) {
    case HOOK_MIN:
        return assay_stats_min(s);
    case HOOK_MAX:
        return assay_stats_max(s);
    case HOOK_MEAN:
        return assay_stats_mean(s);
    case HOOK_STD:
        return deviation(s, sample);
    case HOOK_VARIANCE:
        return variance(s, sample);
    case HOOK_SUM:
        return s->sum;
    case HOOK_PROD:
        return product;
    case HOOK_L1:
        return assay_stats_l1(s);
    default:
        return assay_stats_l2(s);
    }
}

/* The absolute forms that the plain statistics give as well: those of norms, sums and the largest. */
static bool is_plain(int op)
{
    return op == HOOK_MAX || op == HOOK_MEAN || op == HOOK_SUM || op == HOOK_L1 || op == HOOK_L2;
}

static double absolute_figure(const assay_stats *s, int op)
{
    switch (op) {
    case HOOK_MAX:
        return assay_stats_abs_max(s);
    case HOOK_MEAN:
        return assay_stats_abs_mean(s);
    case HOOK_L2:
        return assay_stats_l2(s);
    default:
        return assay_stats_l1(s);
    }
}

/* Statistics of the absolute values, and the product of the elements, block by block. */
static void second_pass(int dtype, const uint8_t *data, uint64_t elements, assay_stats *absolute, double *product)
{
    double block[BLOCK];
    size_t size = assay_dtype_size(dtype);
    assay_stats_acc acc;
    *product = 1;
    assay_stats_init(&acc, ASSAY_FLOAT64);
    for (uint64_t at = 0; at < elements; at += BLOCK) {
        size_t n = elements - at < BLOCK ? (size_t)(elements - at) : BLOCK;
        assay_to_double(dtype, data + at * size, n, block);
        for (size_t i = 0; i < n; i++) {
            *product *= block[i];
            block[i] = fabs(block[i]);
        }
        assay_stats_feed(&acc, block, n);
    }
    assay_stats_finish(&acc, absolute);
}

void hook_statistics(int dtype, const void *data, uint64_t elements, assay_stats *out)
{
    assay_stats_acc acc;
    assay_stats_init(&acc, dtype);
    assay_stats_feed(&acc, data, elements);
    assay_stats_finish(&acc, out);
}

void hook_reduce(int dtype, const void *data, uint64_t elements, const assay_stats *stats, const uint8_t *codes,
                 size_t count, bool sample_variance, double *values)
{
    assay_stats absolute = {0};
    double product = NAN;
    bool second = false;
    for (size_t i = 0; i < count; i++)
        second |= codes[i] % HOOK_OPS == HOOK_PROD || (codes[i] >= HOOK_OPS && !is_plain(codes[i] % HOOK_OPS));
    if (second)
        second_pass(dtype, data, elements, &absolute, &product);
    for (size_t i = 0; i < count; i++) {
        int op = codes[i] % HOOK_OPS;
        if (codes[i] >= HOOK_OPS && is_plain(op))
            values[i] = absolute_figure(stats, op);
        else if (codes[i] >= HOOK_OPS)
            values[i] = figure(&absolute, op, fabs(product), sample_variance);
        else
            values[i] = figure(stats, op, product, sample_variance);
    }
}

bool hook_is_given(uint8_t code)
{
    int op = code % HOOK_OPS;
    return code < HOOK_OPS ? op != HOOK_PROD : is_plain(op);
}

/* NaN when one of them is, as numpy.fmax would not. */
static double larger(double a, double b)
{
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

bool hook_reduce_given(const assay_hook_statistics *given, uint64_t elements, uint8_t code, bool sample_variance,
                       double *value)
{
    int op = code % HOOK_OPS;
    double n = (double)elements, sample = sample_variance ? n / (n - 1) : 1;
    bool absolute = code >= HOOK_OPS;
    if (!hook_is_given(code))
        return false;
    if (op == HOOK_L1)
        *value = given->l1;
    else if (op == HOOK_L2)
        *value = given->l2;
    else if (op == HOOK_MIN)
        *value = given->min;
    else if (op == HOOK_MAX)
        *value = absolute ? larger(fabs(given->min), fabs(given->max)) : given->max;
    else if (op == HOOK_MEAN)
        *value = absolute ? given->l1 / n : given->mean;
    else if (op == HOOK_SUM)
        *value = absolute ? given->l1 : given->mean * n;
    else
        *value = op == HOOK_STD ? given->std * sqrt(sample) : given->std * given->std * sample;
    return true;
}

int64_t hook_digest(int dtype, int ndim, const int64_t *shape, const void *data, size_t bytes)
{
    assay_digest digest;
    size_t size = assay_dtype_size(dtype);
    bool one_value = bytes <= size || memcmp(data, (const uint8_t *)data + size, bytes - size) == 0;
    assay_digest_begin(&digest, dtype, ndim, shape);
    assay_digest_add(&digest, data, bytes);
    int64_t bits = (int64_t)(assay_digest_end(&digest, bytes / size) >> 1);
    return one_value ? -bits : bits;
}

/* Upper bounds of the buckets, rising: -1e20..-1e-12, 0, 1e-12..1e20. */
static size_t make_limits(double *limits)
{
    size_t half = 0, n = 0;
    for (double v = 1e-12; v < 1e20; v *= 1.1)
        half++;
    limits[half] = 0;
    for (double v = 1e-12; v < 1e20; v *= 1.1, n++) {
        limits[half + 1 + n] = v;
        limits[half - 1 - n] = -v;
    }
    limits[2 * half + 1] = INFINITY;
    return 2 * half + 2;
}

/* The first bucket whose bound is above the value. */
static size_t bucket_of(const double *limits, size_t count, double value)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (limits[mid] > value)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

/* Numbers by sign, exponent and the first four bits of their mantissa: a sixteenth of a power of two is shorter than a
 * bucket, so that one comparison, without a branch, leads from its first bucket to the right one; only numbers on a
 * bound, and the places at the ends, need more. What is smaller than 1e-12, and what is larger than 1e20, has the first
 * and the last place. */
enum { STARTS = HOOK_BUCKET_STARTS / 2, LEAST_EXPONENT = 1023 - 41, LEAST = LEAST_EXPONENT << 4 };

static size_t place_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int64_t place = (int64_t)(bits >> 48 & 0x7fff) - LEAST;
    place = place < 0 ? 0 : place >= STARTS ? STARTS - 1 : place;
    return (size_t)place + (bits >> 63 ? STARTS : 0);
}

/* The value of a place that is nearest to zero. */
static double start_of(int place)
{
    uint64_t bits = (uint64_t)(place + LEAST) << 48;
    double value;
    memcpy(&value, &bits, sizeof value);
    return place == 0 ? 0 : value;
}

void hook_buckets_init(hook_buckets *b)
{
    b->count = make_limits(b->limits);
    for (int place = 0; place < STARTS; place++) {
        bool last = place == STARTS - 1;
        b->first[place] = (uint16_t)bucket_of(b->limits, b->count, start_of(place));
        b->first[STARTS + place] = (uint16_t)(last ? 0 : bucket_of(b->limits, b->count, -start_of(place + 1)));
    }
}

/* What TensorBoard is shown: from the bucket before the first that holds something to the last that does. */
static size_t show(hook_buckets *b)
{
    size_t kept = 0, last = b->count;
    while (last > 1 && b->counts[last - 1] == 0)
        last--;
    for (size_t i = 0; i < last; i++) {
        if (b->counts[i] == 0 && i + 1 < last && b->counts[i + 1] == 0)
            continue;
        b->shown_limits[kept] = b->limits[i];
        b->shown_counts[kept++] = b->counts[i];
    }
    if (last == b->count)
        b->shown_limits[kept - 1] = 1.7976931348623157e308; /* readers of the format want a finite last bound */
    return kept;
}

bool hook_count_buckets(int dtype, const void *data, uint64_t elements, const assay_stats *stats, hook_buckets *b)
{
    double block[BLOCK];
    size_t size = assay_dtype_size(dtype);
    if (stats->nan || stats->pos_inf || stats->neg_inf)
        return false;
    memset(b->tally, 0, sizeof b->tally);
    for (uint64_t at = 0; at < elements; at += BLOCK) {
        size_t n = elements - at < BLOCK ? (size_t)(elements - at) : BLOCK;
        assay_to_double(dtype, (const uint8_t *)data + at * size, n, block);
        for (size_t i = 0; i < n; i++) {
            size_t bucket = b->first[place_of(block[i])];
            bucket += b->limits[bucket] <= block[i];
            while (b->limits[bucket] <= block[i])
                bucket++;
            b->tally[i % 2][bucket]++;
        }
    }
    for (size_t i = 0; i < b->count; i++)
        b->counts[i] = (double)(b->tally[0][i] + b->tally[1][i]);
    size_t kept = show(b);
    b->histogram = (hook_histogram){stats->min,     stats->max,      (double)stats->count, stats->sum,
                                    stats->squares, b->shown_limits, b->shown_counts,      kept};
    return true;
}
