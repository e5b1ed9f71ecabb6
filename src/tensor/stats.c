/* stats.c - blocks and their merging.
 *
 * Within a block sums of d = x - shift and d^2 are taken, shift being the median of the block's first group; then
 * sum (x - mean)^2 = sum d^2 - (sum d)^2 / n loses no digits to a large mean, nor to an outlier in front. Where that
 * median is within FAR times the group's spread of 0, as in most tensors, the shift is 0 and d is x: the two elements
 * of the group that are so far apart alone keep the difference above 2^-18 of what it is taken from. Blocks are joined
 * by the pairwise formula of Chan, Golub and LeVeque, "Algorithms for computing the sample variance", The American
 * Statistician 37 (1983); their means are taken less the first block's shift, for the same reason.
 *
 * Where squares of finite elements are beyond a double, the sums of that block (those of magnitudes, too, which are beyond it later) are taken once more of elements divided
 * by ASSAY_STATS_UNIT, a power of two, and from there on blocks are joined in that unit too. Ordinary tensors never
 * come to that. Dividing rounds nothing that such a sum could show: what gets too small for a double is less than
 * 2^-800 of it. So pieces before the overflow, which were summed unscaled, count as if they had been scaled. */
#include "tensor/stats.h"

#include <math.h>
#include <string.h>

#include "tensor/measure_kernels.h"

const assay_stats_kernels *assay_stats_kernels_of(assay_simd level)
{
#if defined(__x86_64__)
    if (level == ASSAY_SIMD_AVX512)
        return &assay_stats_avx512;
    if (level == ASSAY_SIMD_AVX2)
        return &assay_stats_avx2;
#endif
    (void)level;
    return &assay_stats_scalar;
}

int assay_stats_init(assay_stats_acc *acc, int dtype)
{
    size_t size = assay_dtype_size(dtype);
    if (size == 0)
        return ASSAY_EUNSUPPORTED;
    memset(acc, 0, sizeof *acc);
    acc->kernels = assay_stats_kernels_of(assay_simd_level());
    acc->dtype = dtype;
    acc->element = size;
    acc->min = INFINITY;
    acc->max = -INFINITY;
    return ASSAY_OK;
}

/* Puts 1 to STATS_LANES numbers in order. With NaN among them it is any order. */
static void sort(double *x, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        double moving = x[i];
        size_t j = i;
        for (; j > 0 && moving < x[j - 1]; j--)
            x[j] = x[j - 1];
        x[j] = moving;
    }
}

/* The same of STATS_LANES numbers, without branches, which nobody could foresee. */
static void sort_lanes(double x[STATS_LANES])
{
#define IN_ORDER(i, j)                                                                                                 \
    do {                                                                                                               \
        const double p = x##i, q = x##j;                                                                               \
        x##i = p < q ? p : q;                                                                                          \
        x##j = q > p ? q : p;                                                                                          \
    } while (0)
    double x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], x4 = x[4], x5 = x[5], x6 = x[6], x7 = x[7];
    IN_ORDER(0, 2);
    IN_ORDER(1, 3);
    IN_ORDER(4, 6);
    IN_ORDER(5, 7);
    IN_ORDER(0, 4);
    IN_ORDER(1, 5);
    IN_ORDER(2, 6);
    IN_ORDER(3, 7);
    IN_ORDER(0, 1);
    IN_ORDER(2, 3);
    IN_ORDER(4, 5);
    IN_ORDER(6, 7);
    IN_ORDER(2, 4);
    IN_ORDER(3, 5);
    IN_ORDER(1, 4);
    IN_ORDER(3, 6);
    IN_ORDER(1, 2);
    IN_ORDER(3, 4);
    IN_ORDER(5, 6);
    const double sorted[STATS_LANES] = {x0, x1, x2, x3, x4, x5, x6, x7};
    memcpy(x, sorted, sizeof sorted);
#undef IN_ORDER
}

static double least_of(const double v[STATS_LANES])
{
#define LEAST(a, b) ((a) < (b) ? (a) : (b))
    return LEAST(LEAST(LEAST(v[0], v[1]), LEAST(v[2], v[3])), LEAST(LEAST(v[4], v[5]), LEAST(v[6], v[7])));
#undef LEAST
}

static double greatest_of(const double v[STATS_LANES])
{
#define MOST(a, b) ((a) > (b) ? (a) : (b))
    return MOST(MOST(MOST(v[0], v[1]), MOST(v[2], v[3])), MOST(MOST(v[4], v[5]), MOST(v[6], v[7])));
#undef MOST
}

/* The lower median of 1 to STATS_LANES numbers, or 0 when that is near enough: when there are numbers of both signs, the median
 * is no farther from 0 than they are from one another. Where there is a NaN, nobody asks for deviations, and the answer is free. */
static double shift_of(double *x, size_t n)
{
    enum { FAR = 4 };
    if (n == STATS_LANES) { /* most blocks need no order: no median is farther out than both ends */
        const double least = least_of(x), greatest = greatest_of(x);
        if (!(least > 0 || greatest < 0) || fmax(fabs(least), fabs(greatest)) <= FAR * (greatest - least))
            return 0;
        sort_lanes(x);
    } else {
        sort(x, n);
    }
    double median = x[(n - 1) / 2];
    return fabs(median) <= FAR * (x[n - 1] - x[0]) ? 0 : median;
}

/* `group` is the block's first one, of which n elements are there and the rest zeros. */
static double block_shift(const assay_stats_acc *acc, const uint8_t *group, size_t n)
{
    double x[STATS_LANES];
    acc->kernels->widen[acc->dtype](group, 1, x);
    return shift_of(x, n); /* when it is not finite, the deviations will not be either, and must not */
}

static void open_block(const assay_stats_acc *acc, assay_stats_lanes *lanes, const uint8_t *group, size_t n)
{
    memset(lanes, 0, sizeof *lanes);
    lanes->shift = block_shift(acc, group, n);
    for (int j = 0; j < STATS_LANES; j++) {
        lanes->v[STATS_MIN][j] = INFINITY;
        lanes->v[STATS_MAX][j] = -INFINITY;
    }
}

static double joined_sum(const double v[STATS_LANES])
{
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

static void add_total(assay_stats_total *total, double x)
{
    double sum = total->sum + x;
    total->lost += fabs(total->sum) >= fabs(x) ? (total->sum - sum) + x : (x - sum) + total->sum;
    total->sum = sum;
}

/* After an infinity or NaN the sum is the answer, and what was lost is NaN. */
static double total_value(const assay_stats_total *total)
{
    return isfinite(total->sum) ? total->sum + total->lost : total->sum;
}

/* Counts what is not finite among n doubles; `low` and `high`: there may be infinities of that sign. */
static void count_doubles(assay_stats_acc *acc, const uint8_t *bytes, size_t n, bool low, bool high)
{
    const double greatest = 0x1.fffffffffffffp+1023;
    const measure_kernels *k = assay_measure_kernels_of(assay_simd_level());
    uint64_t finite = k->inside64(bytes, n, -greatest, greatest);
    uint64_t negative = finite < n && low ? k->inside64(bytes, n, -INFINITY, -INFINITY) : 0;
    uint64_t positive = finite < n && high ? k->inside64(bytes, n, INFINITY, INFINITY) : 0;
    acc->neg_inf += negative;
    acc->pos_inf += positive;
    acc->nan += n - finite - negative - positive;
}

static void count_floats(assay_stats_acc *acc, const uint8_t *bytes, size_t n, bool low, bool high)
{
    const float greatest = 0x1.fffffep+127F;
    const measure_kernels *k = assay_measure_kernels_of(assay_simd_level());
    uint64_t finite = k->inside32(bytes, n, -greatest, greatest);
    uint64_t negative = finite < n && low ? k->inside32(bytes, n, -INFINITY, -INFINITY) : 0;
    uint64_t positive = finite < n && high ? k->inside32(bytes, n, INFINITY, INFINITY) : 0;
    acc->neg_inf += negative;
    acc->pos_inf += positive;
    acc->nan += n - finite - negative - positive;
}

/* How many of n 16-bit numbers, without the bits outside `mask`, are `least` to `least + beyond`. */
static uint64_t count_bits(const uint8_t *bytes, size_t n, uint16_t mask, uint16_t least, uint16_t beyond)
{
    enum { BLOCK = 4096 }; /* as many are counted in 16 bits */
    uint64_t all = 0;
    for (size_t from = 0; from < n; from += BLOCK) {
        const size_t end = from + BLOCK < n ? from + BLOCK : n;
        uint16_t count = 0;
        for (size_t i = from; i < end; i++) {
            uint16_t bits;
            memcpy(&bits, bytes + 2 * i, sizeof bits);
            count = (uint16_t)(count + ((uint16_t)((bits & mask) - least) <= beyond));
        }
        all += count;
    }
    return all;
}

/* Of 16-bit floats: beyond the sign, an infinity is all ones in the exponent, and NaN are greater. */
static void count_halves(assay_stats_acc *acc, const uint8_t *bytes, size_t n, bool low, bool high)
{
    const uint16_t infinity = acc->dtype == ASSAY_FLOAT16 ? 0x7c00 : 0x7f80;
    acc->nan += count_bits(bytes, n, INT16_MAX, infinity + 1, INT16_MAX - (infinity + 1));
    acc->neg_inf += low ? count_bits(bytes, n, UINT16_MAX, 0x8000 | infinity, 0) : 0;
    acc->pos_inf += high ? count_bits(bytes, n, UINT16_MAX, infinity, 0) : 0;
}

/* Counts what is not finite, in a second look that only blocks with such elements (or sums beyond doubles) get. */
static void count_special(assay_stats_acc *acc, const assay_stats_lanes *lanes, const uint8_t *bytes, size_t groups)
{
    enum { GROUPS = 128 /* as many are widened at a time: they stay in the first cache */ };
    double x[GROUPS * STATS_LANES];
    if (isfinite(joined_sum(lanes->v[STATS_MAGNITUDES])))
        return;
    const bool low = least_of(lanes->v[STATS_MIN]) == -INFINITY, high = greatest_of(lanes->v[STATS_MAX]) == INFINITY;
    if (acc->dtype == ASSAY_FLOAT32) {
        count_floats(acc, bytes, groups * STATS_LANES, low, high);
        return;
    }
    if (acc->dtype == ASSAY_FLOAT64) {
        count_doubles(acc, bytes, groups * STATS_LANES, low, high);
        return;
    }
    if (acc->dtype == ASSAY_FLOAT16 || acc->dtype == ASSAY_BFLOAT16) {
        count_halves(acc, bytes, groups * STATS_LANES, low, high);
        return;
    }
    while (groups > 0) {
        size_t take = groups < GROUPS ? groups : GROUPS;
        acc->kernels->widen[acc->dtype](bytes, take, x);
        count_doubles(acc, (const uint8_t *)x, take * STATS_LANES, low, high);
        bytes += take * STATS_LANES * acc->element;
        groups -= take;
    }
}

static bool has_special(const assay_stats_acc *acc)
{
    return acc->nan + acc->pos_inf + acc->neg_inf > 0;
}

/* Joins a block of n elements to the `before` ones of the blocks that are closed. */
static void merge_block(assay_stats_moments *m, const assay_stats_lanes *s, double before, double n)
{
    bool is_shifted = s->shift != 0;
    double squares = joined_sum(s->v[STATS_SQUARES]);
    double shifted = joined_sum(s->v[is_shifted ? STATS_SHIFTED : STATS_SUM]);
    double shifted_squares = is_shifted ? joined_sum(s->v[STATS_SHIFTED_SQUARES]) : squares;
    if (before == 0)
        m->origin = s->shift;
    double mean = (s->shift - m->origin) + shifted / n;
    double deviations = shifted_squares - shifted * (shifted / n);
    if (deviations < 0) /* rounding only */
        deviations = 0;
    double delta = mean - m->mean, share = n / (before + n);
    m->deviations += deviations + delta * delta * before * share;
    m->mean += delta * share;
    add_total(&m->squares, squares);
}

/* ---- sums in a larger unit ---- */

static const double SCALE = 1 / ASSAY_STATS_UNIT;

static void scale_lanes(const assay_stats_lanes *from, assay_stats_lanes *to)
{
    *to = (assay_stats_lanes){.shift = from->shift * SCALE};
    for (int j = 0; j < STATS_LANES; j++) {
        to->v[STATS_SUM][j] = from->v[STATS_SUM][j] * SCALE;
        to->v[STATS_MAGNITUDES][j] = from->v[STATS_MAGNITUDES][j] * SCALE;
        to->v[STATS_SHIFTED][j] = from->v[STATS_SHIFTED][j] * SCALE;
        to->v[STATS_SQUARES][j] = from->v[STATS_SQUARES][j] * SCALE * SCALE;
        to->v[STATS_SHIFTED_SQUARES][j] = from->v[STATS_SHIFTED_SQUARES][j] * SCALE * SCALE;
    }
}

static void scale_moments(const assay_stats_moments *from, assay_stats_moments *to)
{
    *to = (assay_stats_moments){.origin = from->origin * SCALE,
                                .mean = from->mean * SCALE,
                                .deviations = from->deviations * SCALE * SCALE,
                                .squares = {from->squares.sum * SCALE * SCALE, from->squares.lost * SCALE * SCALE}};
}

/* What the kernels do, of elements divided by the unit; of each group the first `used` elements. */
static void add_scaled(assay_stats_acc *acc, const uint8_t *bytes, size_t groups, size_t used)
{
    assay_stats_lanes *s = &acc->scaled_lanes;
    double element[STATS_LANES];
    for (; groups > 0; groups--, bytes += STATS_LANES * acc->element) {
        acc->kernels->widen[acc->dtype](bytes, 1, element);
        for (size_t j = 0; j < used; j++) {
            double x = element[j] * SCALE, d = x - s->shift;
            s->v[STATS_SUM][j] += x;
            s->v[STATS_MAGNITUDES][j] += fabs(x);
            s->v[STATS_SQUARES][j] += x * x;
            s->v[STATS_SHIFTED][j] += d;
            s->v[STATS_SHIFTED_SQUARES][j] += d * d;
        }
    }
}

static bool can_overflow(int dtype)
{
    return dtype == ASSAY_FLOAT64 || dtype == ASSAY_COMPLEX128;
}

/* Groups were added to the open block, whose sums were `before`. Adds them once more, scaled, if sums of finite
 * elements are beyond a double. */
static void rescue_block(assay_stats_acc *acc, const assay_stats_lanes *before, const uint8_t *bytes, size_t groups,
                         size_t used)
{
    double all = 0;
    for (int j = 0; j < STATS_LANES; j++)
        all += acc->lanes.v[STATS_SQUARES][j] + acc->lanes.v[STATS_SHIFTED_SQUARES][j];
    if (isfinite(all) || has_special(acc))
        return;
    if (!acc->is_block_scaled)
        scale_lanes(before, &acc->scaled_lanes);
    acc->is_block_scaled = true;
    add_scaled(acc, bytes, groups, used);
}

/* Adds whole groups to the open block. */
static void add_to_block(assay_stats_acc *acc, const uint8_t *bytes, size_t groups)
{
    assay_stats_lanes before;
    bool wide = can_overflow(acc->dtype);
    if (wide)
        before = acc->lanes;
    acc->kernels->groups[acc->dtype](&acc->lanes, bytes, groups);
    count_special(acc, &acc->lanes, bytes, groups);
    if (wide)
        rescue_block(acc, &before, bytes, groups, STATS_LANES);
    acc->in_block += groups * STATS_LANES;
}

/* Takes over a block of so many elements, whose groups are `s`. */
static void take_block(assay_stats_acc *acc, const assay_stats_lanes *s, uint64_t elements)
{
    const assay_stats_moments before = acc->moments;
    const assay_stats_total magnitudes = acc->magnitudes;
    double count = (double)acc->count, n = (double)elements;
    add_total(&acc->sum, joined_sum(s->v[STATS_SUM]));
    add_total(&acc->magnitudes, joined_sum(s->v[STATS_MAGNITUDES]));
    const double least = least_of(s->v[STATS_MIN]), greatest = greatest_of(s->v[STATS_MAX]);
    acc->min = least < acc->min ? least : acc->min;
    acc->max = greatest > acc->max ? greatest : acc->max;
    merge_block(&acc->moments, s, count, n);
    if (!isfinite(acc->moments.deviations + acc->moments.squares.sum) && !has_special(acc)) {
        if (!acc->is_scaled) {
            scale_moments(&before, &acc->scaled);
            acc->scaled_magnitudes = (assay_stats_total){magnitudes.sum * SCALE, magnitudes.lost * SCALE};
        }
        if (!acc->is_block_scaled)
            scale_lanes(s, &acc->scaled_lanes);
        acc->is_scaled = true;
        merge_block(&acc->scaled, &acc->scaled_lanes, count, n);
        add_total(&acc->scaled_magnitudes, joined_sum(acc->scaled_lanes.v[STATS_MAGNITUDES]));
    }
    acc->is_block_scaled = false;
    acc->zeros += s->zeros;
    acc->count += elements;
}

static void close_block(assay_stats_acc *acc)
{
    take_block(acc, &acc->lanes, acc->in_block);
    acc->in_block = 0;
}

/* Adds two whole blocks at once, where that is faster and no sum can be beyond a double. Else returns false. */
static bool add_two_blocks(assay_stats_acc *acc, const uint8_t *bytes)
{
    const size_t block = STATS_BLOCK_GROUPS * STATS_LANES * acc->element;
    stats_two_blocks *add = acc->kernels->two_blocks[acc->dtype];
    assay_stats_lanes two[2];
    if (!add || can_overflow(acc->dtype))
        return false;
    for (size_t i = 0; i < 2; i++)
        two[i].shift = block_shift(acc, bytes + i * block, STATS_LANES);
    if ((two[0].shift == 0) != (two[1].shift == 0))
        return false;
    add(two, bytes);
    for (size_t i = 0; i < 2; i++) {
        count_special(acc, &two[i], bytes + i * block, STATS_BLOCK_GROUPS);
        take_block(acc, &two[i], STATS_BLOCK_GROUPS * STATS_LANES);
    }
    return true;
}

static void add_groups(assay_stats_acc *acc, const uint8_t *bytes, size_t groups)
{
    enum { TWO_BLOCKS = 2 * STATS_BLOCK_GROUPS };
    while (groups > 0) {
        size_t room = STATS_BLOCK_GROUPS - (size_t)acc->in_block / STATS_LANES, take = groups < room ? groups : room;
        if (acc->in_block == 0 && groups >= TWO_BLOCKS && add_two_blocks(acc, bytes)) {
            take = TWO_BLOCKS;
        } else {
            if (acc->in_block == 0)
                open_block(acc, &acc->lanes, bytes, STATS_LANES);
            add_to_block(acc, bytes, take);
            if (take == room)
                close_block(acc);
        }
        bytes += take * STATS_LANES * acc->element;
        groups -= take;
    }
}

void assay_stats_feed(assay_stats_acc *acc, const void *bytes, size_t elements)
{
    const uint8_t *at = bytes;
    if (acc->pending_count > 0) {
        size_t room = STATS_LANES - acc->pending_count, take = elements < room ? elements : room;
        memcpy(acc->pending + acc->pending_count * acc->element, at, take * acc->element);
        acc->pending_count += take;
        if (acc->pending_count < STATS_LANES)
            return;
        add_groups(acc, acc->pending, 1);
        acc->pending_count = 0;
        at += take * acc->element;
        elements -= take;
    }
    add_groups(acc, at, elements / STATS_LANES);
    acc->pending_count = elements % STATS_LANES;
    if (acc->pending_count > 0)
        memcpy(acc->pending, at + (elements - acc->pending_count) * acc->element, acc->pending_count * acc->element);
}

bool assay_stats_is_finite(const assay_stats_acc *acc)
{
    uint8_t group[sizeof acc->pending] = {0};
    double x[STATS_LANES], all = 0;
    if (has_special(acc))
        return false;
    if (acc->pending_count == 0)
        return true;
    memcpy(group, acc->pending, acc->pending_count * acc->element);
    acc->kernels->widen[acc->dtype](group, 1, x);
    for (size_t j = 0; j < acc->pending_count; j++)
        all += x[j] - x[j];
    return all == 0;
}

/* Adds the last, incomplete group: filled up with zeros, and of the result only the lanes that have an element. */
static void add_pending(assay_stats_acc *acc)
{
    size_t n = acc->pending_count;
    if (n == 0)
        return;
    memset(acc->pending + n * acc->element, 0, (STATS_LANES - n) * acc->element);
    if (acc->in_block == 0)
        open_block(acc, &acc->lanes, acc->pending, n);
    const assay_stats_lanes before = acc->lanes;
    assay_stats_lanes filled = before;
    acc->kernels->groups[acc->dtype](&filled, acc->pending, 1);
    for (int f = 0; f < STATS_FIGURES; f++)
        memcpy(acc->lanes.v[f], filled.v[f], n * sizeof filled.v[f][0]);
    const bool has_zero = acc->dtype != ASSAY_FLOAT8_E8M0FNU; /* whose code 0 is a power of 2 */
    acc->lanes.zeros = filled.zeros - (has_zero ? STATS_LANES - n : 0);
    count_special(acc, &acc->lanes, acc->pending, 1);
    if (can_overflow(acc->dtype))
        rescue_block(acc, &before, acc->pending, 1, n);
    acc->in_block += n;
    acc->pending_count = 0;
}

/* The payload and sign of a NaN depend on the order of operands, which instruction sets choose differently. */
static double one_nan(double x)
{
    return isnan(x) ? (double)NAN : x;
}

bool assay_stats_of_number(double x, assay_stats *out)
{
    if (!isfinite(x * x))
        return false;
    *out = (assay_stats){.count = 1,
                         .zeros = x == 0,
                         .min = x + 0.0,
                         .max = x + 0.0,
                         .sum = x + 0.0,
                         .squares = x * x,
                         .magnitudes = fabs(x)};
    return true;
}

void assay_stats_finish(assay_stats_acc *acc, assay_stats *out)
{
    add_pending(acc);
    if (acc->in_block > 0)
        close_block(acc);
    const assay_stats_moments *m = &acc->moments, *scaled = &acc->scaled;
    bool finite = !has_special(acc);
    double deviations = isfinite(m->deviations) ? m->deviations : INFINITY; /* their squares are beyond a double */
    *out = (assay_stats){.count = acc->count,
                         .nan = acc->nan,
                         .pos_inf = acc->pos_inf,
                         .neg_inf = acc->neg_inf,
                         .zeros = acc->zeros,
                         .min = acc->min + 0.0, /* of two zeros, which are equal, the one without a sign */
                         .max = acc->max + 0.0,
                         .sum = one_nan(total_value(&acc->sum)),
                         .squares = one_nan(total_value(&m->squares)),
                         .magnitudes = one_nan(total_value(&acc->magnitudes)),
                         .deviations = finite ? deviations : (double)NAN};
    if (finite && isinf(out->squares))
        out->scaled_squares = total_value(&scaled->squares);
    if (finite && isinf(out->deviations))
        out->scaled_deviations = scaled->deviations;
    if (finite && isinf(out->magnitudes))
        out->scaled_magnitudes = total_value(&acc->scaled_magnitudes);
}
