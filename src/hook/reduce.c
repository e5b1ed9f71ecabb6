/* reduce.c - reductions, by the same statistics pass as the analysis. */
#include "hook/reduce.h"

#include <math.h>
#include <string.h>

#include <assay/tensor.h>
#include "hook/config.h"
#include "tensor/convert.h"
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

void hook_reduce(int dtype, const void *data, uint64_t elements, const uint8_t *codes, size_t count,
                 bool sample_variance, double *values)
{
    assay_stats plain, absolute = {0};
    assay_stats_acc acc;
    double product = NAN;
    bool second = false;
    assay_stats_init(&acc, dtype);
    assay_stats_feed(&acc, data, elements);
    assay_stats_finish(&acc, &plain);
    for (size_t i = 0; i < count; i++)
        second |= codes[i] >= HOOK_OPS || codes[i] == HOOK_PROD;
    if (second)
        second_pass(dtype, data, elements, &absolute, &product);
    for (size_t i = 0; i < count; i++) {
        bool abs_form = codes[i] >= HOOK_OPS;
        values[i] = figure(abs_form ? &absolute : &plain, codes[i] % HOOK_OPS, abs_form ? fabs(product) : product,
                           sample_variance);
    }
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

/* Leaves the buckets from one before the first that holds something to the last that does. */
static size_t trim(hook_buckets *b, size_t count)
{
    size_t first = 0, last = count;
    while (first + 1 < count && b->counts[first] == 0)
        first++;
    while (last > first + 1 && b->counts[last - 1] == 0)
        last--;
    first -= first > 0;
    memmove(b->limits, b->limits + first, (last - first) * sizeof *b->limits);
    memmove(b->counts, b->counts + first, (last - first) * sizeof *b->counts);
    return last - first;
}

bool hook_count_buckets(int dtype, const void *data, uint64_t elements, hook_buckets *b)
{
    double block[BLOCK];
    size_t size = assay_dtype_size(dtype), count = make_limits(b->limits);
    assay_stats stats;
    assay_stats_acc acc;
    memset(b->counts, 0, sizeof b->counts);
    assay_stats_init(&acc, dtype);
    assay_stats_feed(&acc, data, elements);
    assay_stats_finish(&acc, &stats);
    if (stats.nan || stats.pos_inf || stats.neg_inf)
        return false;
    for (uint64_t at = 0; at < elements; at += BLOCK) {
        size_t n = elements - at < BLOCK ? (size_t)(elements - at) : BLOCK;
        assay_to_double(dtype, (const uint8_t *)data + at * size, n, block);
        for (size_t i = 0; i < n; i++)
            b->counts[bucket_of(b->limits, count, block[i])]++;
    }
    b->limits[count - 1] = 1.7976931348623157e308; /* readers of the format want a finite last bound */
    size_t kept = trim(b, count);
    b->histogram = (hook_histogram){stats.min,     stats.max, (double)stats.count, stats.sum,
                                    stats.squares, b->limits, b->counts,           kept};
    return true;
}
