/* measure_function.c - FUNCTION: is the output of a module a function of its input, element by element, and which?
 *
 * All functions are tried on the first elements, and from there on those alone that seven in eight of these are. An element may
 * differ by the rounding of its type, by that of the arithmetic (single precision where the types have 16 bits), and
 * where the function comes of a difference, by as much of what is subtracted.
 *
 * DROPOUT is 0 or the input times a factor, which most of the first elements say. Its mask is looked at beside it: the
 * factor is 1 / (1 - p), and of elements that are dropped each by itself, with probability p, neither their number, nor
 * how many follow another one, nor the longest row of them is unlikely. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/search.h>

#include "tensor/convert.h"
#include "tensor/measure_kind.h"

enum {
    TRIED = 256,  /* elements on which all functions are tried */
    FEW = 8,      /* so many elements of the right function may be broken */
    ROUNDINGS = 8 /* of the arithmetic: exp and its like, two products, a division */
};

/* Of the elements whose input is not 0. */
typedef struct function_mask {
    uint64_t kept, dropped;
    uint64_t behind, repeated; /* those behind one that was dropped, and how many of these were dropped too */
    uint64_t run, longest;     /* dropped in a row */
    bool was_dropped;
} function_mask;

typedef struct function_state {
    bool found;
    function_bound bound; /* rounding of the type, of what computes, and what is lost because it is small */
    double scale;         /* DROPOUT; 0: not known yet, and so many elements are held back */
    size_t held;
    double y[TRIED], x[TRIED];
    function_mask mask;
} function_state;

static bool is_float(int dtype)
{
    return dtype == ASSAY_FLOAT64 || dtype == ASSAY_FLOAT32 || dtype == ASSAY_FLOAT16 || dtype == ASSAY_BFLOAT16;
}

static int start(assay_meter *m, assay_error *err)
{
    function_state *s = meter_state(m);
    s->found = m->same_shape && is_float(m->dtype) && is_float(m->reference_dtype);
    s->bound.rounding = m->dtype == ASSAY_FLOAT64    ? 0x1p-53
                        : m->dtype == ASSAY_FLOAT32  ? 0x1p-24
                        : m->dtype == ASSAY_BFLOAT16 ? 0x1p-8
                                                     : 0x1p-11;
    s->bound.arithmetic = ROUNDINGS * (m->dtype == ASSAY_FLOAT64 ? 0x1p-53 : 0x1p-24);
    s->bound.least = m->dtype == ASSAY_FLOAT16 ? 0x1p-24 : m->dtype == ASSAY_FLOAT64 ? 0x1p-1022 : 0x1p-126;
    if (!s->found)
        return ASSAY_OK;
    const int status = meter_take(m, ASSAY_FUNCTIONS * sizeof(assay_function_fit), 0, 0, err);
    for (int f = 0; status == ASSAY_OK && f < ASSAY_FUNCTIONS; f++)
        ((assay_function_fit *)m->kept)[f].index = UINT64_MAX;
    return status;
}

/* f(x), and the size of what its arithmetic rounds. x / (1 + exp(-x)) is 0 where exp is infinite: up to |x| times the
 * least number is lost there. */
static double function_of(int function, double x, double *size)
{
    double y;
    *size = 0;
    switch (function) {
    case ASSAY_FUNCTION_RELU:
        return x > 0 ? x : 0;
    case ASSAY_FUNCTION_LEAKY_RELU:
        y = x > 0 ? x : 0.01 * x;
        *size = fabs(y);
        return y;
    case ASSAY_FUNCTION_ELU:
        *size = 1;
        return x > 0 ? x : expm1(x);
    case ASSAY_FUNCTION_GELU:
        *size = fabs(x);
        return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
    case ASSAY_FUNCTION_GELU_TANH:
        *size = fabs(x);
        return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case ASSAY_FUNCTION_SILU:
        y = x / (1 + exp(-x));
        *size = fabs(y) * (1 + fabs(x)) + 0x1p-972 * fabs(x);
        return y;
    case ASSAY_FUNCTION_TANH:
        y = tanh(x);
        *size = fabs(y);
        return y;
    case ASSAY_FUNCTION_SIGMOID:
        y = 1 / (1 + exp(-x));
        *size = y * (1 + fabs(x));
        return y;
    default:
        return x;
    }
}

/* The same of n elements, at most METER_BLOCK, by the kernels where single precision is enough. */
static void functions_of(const assay_meter *m, int function, const double *x, size_t n, double *y, double *size)
{
    if (m->dtype != ASSAY_FLOAT64) {
        m->kernels->functions(function, x, n, y, size);
        return;
    }
    for (size_t i = 0; i < n; i++)
        y[i] = function_of(function, x[i], &size[i]);
}

/* Elements beyond this are looked at: they are broken, or worse than all so far. Of 16 bits the worst one comes again
 * and again. */
static function_bound limit_of(const function_state *s, const assay_function_fit *fit)
{
    const double share = fmin(fit->largest, 1) * (1 + 1e-12);
    return (function_bound){share * s->bound.rounding, share * s->bound.arithmetic, share * s->bound.least};
}

static double at_most(const function_bound *b, double f, double size)
{
    return b->rounding * fabs(f) + b->arithmetic * size + b->least;
}

static void look(assay_function_fit *fit, double apart, double bound, uint64_t index)
{
    const double ratio = isnan(apart) ? (double)INFINITY : apart / bound;
    fit->broken += ratio > 1;
    if (!(ratio > fit->largest))
        return;
    fit->largest = ratio;
    fit->index = index;
    fit->apart = isnan(apart) ? (double)INFINITY : apart;
    fit->bound = bound;
}

/* One function on n elements, the first of them number `at`. */
static void try_function(const assay_meter *m, int function, assay_function_fit *fit, const double *y, const double *x,
                         size_t n, uint64_t at)
{
    const function_state *s = meter_state((assay_meter *)m);
    function_bound limit = limit_of(s, fit);
    double f[METER_BLOCK], size[METER_BLOCK];
    functions_of(m, function, x, n, f, size);
    if (m->kernels->all_within(y, f, size, n, &limit))
        return;
    for (size_t i = 0; i < n; i++) {
        const double apart = fabs(y[i] - f[i]);
        if (apart <= at_most(&limit, f[i], size[i]))
            continue;
        look(fit, apart, at_most(&s->bound, f[i], size[i]), at + i);
        limit = limit_of(s, fit);
    }
}

/* Behind the first elements, and behind each block: a function that too many elements are not is looked at no further.
 * Where another one is that of all, few are too many. */
static void close_functions(const assay_meter *m, uint64_t looked_at)
{
    assay_function_fit *fit = m->kept;
    bool any = false;
    for (int f = 0; f < ASSAY_FUNCTION_DROPOUT; f++)
        any = any || fit[f].broken == 0;
    for (int f = 0; f < ASSAY_FUNCTION_DROPOUT; f++)
        if ((any && fit[f].broken > FEW) || (looked_at <= TRIED && 8 * fit[f].broken > looked_at))
            fit[f].broken = UINT64_MAX;
}

/* ---- dropout ---- */

static bool is_large(const function_state *s, double x)
{
    return fabs(x) > 4 * s->bound.least;
}

/* The factor of the elements that are not 0, if nearly all of those held back have the same; 0: they have not.
 * *kept: how many are not 0. */
static double find_scale(const function_state *s, size_t *kept)
{
    enum { LEAST = 8 };
    double ratio[TRIED], sum = 0;
    const double near = fmax(8 * s->bound.rounding, s->bound.arithmetic);
    size_t count = 0, alike = 0;
    *kept = 0;
    for (size_t i = 0; i < s->held; i++) {
        *kept += s->y[i] != 0;
        if (s->y[i] != 0 && is_large(s, s->x[i]) && isfinite(s->y[i]))
            ratio[count++] = s->y[i] / s->x[i];
    }
    if (count < LEAST)
        return 0;
    qsort(ratio, count, sizeof *ratio, assay_order_f64);
    for (size_t i = 0; i < count; i++)
        if (fabs(ratio[i] - ratio[count / 2]) <= near * fabs(ratio[count / 2])) {
            sum += ratio[i];
            alike++;
        }
    return 8 * alike >= 7 * count && sum > (double)alike * (1 + near) ? sum / (double)alike : 0;
}

/* Has a word so many bits in a row? */
static bool has_row(uint64_t word, uint64_t bits)
{
    for (uint64_t have = 1, some; have < bits && word != 0; have += some) {
        some = have < bits - have ? have : bits - have;
        word = some < 64 ? word & word >> some : 0;
    }
    return word != 0;
}

/* The next n elements, at most 64, of which those are dropped whose bit is set, the first in the lowest. */
static void add_to_mask(function_mask *mask, uint64_t dropped, unsigned n)
{
    if (n == 0)
        return;
    const uint64_t count = (uint64_t)__builtin_popcountll(dropped), last = dropped >> (n - 1);
    const uint64_t kept = ~dropped & (n < 64 ? (1ULL << n) - 1 : UINT64_MAX);
    const uint64_t leading = kept != 0 ? (uint64_t)__builtin_ctzll(kept) : n;
    mask->dropped += count;
    mask->kept += n - count;
    mask->behind += count - last + mask->was_dropped;
    mask->repeated += (uint64_t)__builtin_popcountll(dropped & (dropped << 1 | mask->was_dropped));
    mask->longest = mask->run + leading > mask->longest ? mask->run + leading : mask->longest;
    while (has_row(dropped, mask->longest + 1))
        mask->longest++;
    mask->run = kept != 0 ? n - 1 - (63 - (uint64_t)__builtin_clzll(kept)) : mask->run + n;
    mask->was_dropped = last != 0;
}

/* The lowest bit of each of 64 bytes, which are 0 or 1: the first in the lowest. */
static uint64_t bits_of(const uint8_t *bytes)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t eight = 0;
        for (unsigned k = 0; k < 8; k++)
            eight |= (uint64_t)bytes[8 * i + k] << 8 * k;
        bits |= (eight * 0x0102040810204080 >> 56) << 8 * i; /* byte k to bit 56 + k: no two meet */
    }
    return bits;
}

/* At most 64 elements. */
static void look_at_mask(function_state *s, const double *y, const double *x, size_t n)
{
    uint8_t is_zero[64] = {0}, counts[64] = {0};
    uint64_t dropped = 0;
    unsigned large = 0;
    for (size_t i = 0; i < n; i++) {
        is_zero[i] = y[i] == 0;
        counts[i] = is_large(s, x[i]);
    }
    if (bits_of(counts) == UINT64_MAX) { /* as mostly */
        add_to_mask(&s->mask, bits_of(is_zero), 64);
        return;
    }
    for (size_t i = 0; i < n; i++) { /* without a branch, which nobody could predict */
        dropped |= (uint64_t)(is_zero[i] & counts[i]) << (large & 63);
        large += counts[i];
    }
    add_to_mask(&s->mask, dropped, large);
}

static void try_dropout(const assay_meter *m, function_state *s, assay_function_fit *fit, const double *y,
                        const double *x, size_t n, uint64_t at)
{
    const double rounding = 2 * s->bound.rounding + s->bound.arithmetic; /* the factor is rounded too */
    const double share = fmin(fit->largest, 1);
    const function_bound limit = {share * rounding, 0, share * s->bound.least};
    double f[METER_BLOCK] = {0};
    for (size_t i = 0; i < n; i += 64)
        look_at_mask(s, y + i, x + i, n - i < 64 ? n - i : 64);
    for (size_t i = 0; i < n; i++)
        f[i] = y[i] == 0 ? 0 : s->scale * x[i];
    if (m->kernels->all_within(y, f, f, n, &limit))
        return;
    for (size_t i = 0; i < n; i++) {
        const double apart = fabs(y[i] - f[i]), bound = rounding * fabs(f[i]) + s->bound.least;
        if (!(apart <= fmin(fit->largest, 1) * bound))
            look(fit, apart, bound, at + i);
    }
}

/* How unlikely k of n are where each is one with probability p, known to `vague`: Chernoff's bound, as -ln of it. */
static double unlikely(uint64_t k, uint64_t n, double p, double vague)
{
    const double of = (double)n, some = (double)k, others = of - some;
    if (n == 0)
        return 0;
    const double q = fmin(fmax(some / of, p - vague), p + vague);
    return (some > 0 ? some * log(some / (of * q)) : 0) + (others > 0 ? others * log(others / (of * (1 - q))) : 0);
}

static double mask_unlikely(const function_state *s)
{
    const function_mask *mask = &s->mask;
    const double p = 1 - 1 / s->scale, vague = 2 * s->bound.rounding;
    const uint64_t all = mask->kept + mask->dropped;
    if (all == 0 || !(p - vague > 0 && p + vague < 1))
        return 0;
    const double in_a_row = -(double)mask->longest * log(p + vague) - log((double)all);
    return fmax(in_a_row,
                fmax(unlikely(mask->dropped, all, p, vague), unlikely(mask->repeated, mask->behind, p, vague)));
}

/* Holds elements back until they say what the factor is: the first, or where all are 0 those behind them. */
static void add_dropout(const assay_meter *m, function_state *s, uint64_t at, const double *y, const double *x,
                        size_t n)
{
    assay_function_fit *fit = (assay_function_fit *)m->kept + ASSAY_FUNCTION_DROPOUT;
    size_t kept;
    for (size_t i = 0, some; i < n && fit->broken != UINT64_MAX; i += some) {
        some = n - i;
        if (s->scale > 0) {
            try_dropout(m, s, fit, y + i, x + i, some, at + i);
            continue;
        }
        some = some < TRIED - s->held ? some : TRIED - s->held;
        memcpy(s->y + s->held, y + i, some * sizeof *y);
        memcpy(s->x + s->held, x + i, some * sizeof *x);
        s->held += some;
        if (s->held < TRIED && at + i + some < m->elements)
            continue;
        s->scale = find_scale(s, &kept);
        if (s->scale > 0 || kept == 0)
            try_dropout(m, s, fit, s->y, s->x, s->held, at + i + some - s->held);
        else
            fit->broken = UINT64_MAX;
        s->held = 0;
    }
}

/* Is the output the input, and nowhere below 0? Then it is exactly what each of the functions that leave such numbers
 * alone makes of it. */
static bool is_left_alone(const double *y, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(y[i] == x[i] && x[i] >= 0))
            return false;
    return true;
}

static bool leaves_alone(int function)
{
    return function == ASSAY_FUNCTION_IDENTITY || function == ASSAY_FUNCTION_RELU ||
           function == ASSAY_FUNCTION_LEAKY_RELU || function == ASSAY_FUNCTION_ELU;
}

static void add(const assay_meter *m, function_state *s, uint64_t at, const double *y, const double *x, size_t n)
{
    const bool as_it_was = is_left_alone(y, x, n);
    const uint64_t end = at + n, first = TRIED < m->elements ? TRIED : m->elements;
    for (int f = 0; f < ASSAY_FUNCTION_DROPOUT; f++) {
        assay_function_fit *fit = (assay_function_fit *)m->kept + f;
        if (fit->broken != UINT64_MAX && !(as_it_was && leaves_alone(f)))
            try_function(m, f, fit, y, x, n, at);
    }
    if (end == first || end % METER_BLOCK == 0)
        close_functions(m, end);
    add_dropout(m, s, at, y, x, n);
}

/* Is there a function that the elements so far may be? */
static bool is_open(const assay_meter *m)
{
    bool any = m->position < TRIED;
    for (int f = 0; f < ASSAY_FUNCTIONS; f++)
        any = any || ((assay_function_fit *)m->kept)[f].broken != UINT64_MAX;
    return any;
}

static bool all_finite(const double *x, size_t n)
{
    double sum[MEASURE_LANES] = {0}; /* no sum waits for another one */
    size_t i = 0;
    for (; i + MEASURE_LANES <= n; i += MEASURE_LANES)
        for (size_t lane = 0; lane < MEASURE_LANES; lane++)
            sum[lane] += 0 * x[i + lane];
    for (; i < n; i++)
        sum[0] += 0 * x[i];
    return meter_joined(sum) == 0;
}

/* Elements of a block that are to be looked at. false: one has an input that is no number. */
static bool try_some(const assay_meter *m, int function, const float *y, const float *x, const uint16_t *which,
                     size_t n, uint64_t at)
{
    const function_state *s = meter_state((assay_meter *)m);
    assay_function_fit *fit = (assay_function_fit *)m->kept + function;
    double of_y[METER_BLOCK], of_x[METER_BLOCK], f[METER_BLOCK], size[METER_BLOCK];
    for (size_t i = 0; i < n; i++) {
        of_y[i] = (double)y[which[i]];
        of_x[i] = (double)x[which[i]];
        if (!isfinite(of_x[i]))
            return false;
    }
    functions_of(m, function, of_x, n, f, size);
    for (size_t i = 0; i < n; i++)
        look(fit, fabs(of_y[i] - f[i]), at_most(&s->bound, f[i], size[i]), at + which[i]);
    return true;
}

/* One function on n floats from `at` on. Those are looked at that may be beyond the bound; where single precision does not tell,
 * those that are worse than all so far. false: nothing was done, since it takes more than that. */
static bool try_floats(const assay_meter *m, int function, const float *y, const float *x, size_t n, uint64_t at)
{
    const function_state *s = meter_state((assay_meter *)m);
    const function_bound limit = limit_of(s, (assay_function_fit *)m->kept + function);
    const uint8_t *of_y = (const uint8_t *)y, *of_x = (const uint8_t *)x;
    uint16_t which[METER_BLOCK];
    const size_t doubts = m->kernels->doubts32(function, of_x, of_y, n, &s->bound, which);
    if (doubts == SIZE_MAX)
        return m->kernels->fits32(function, of_x, of_y, n, &limit);
    return doubts == 0 || try_some(m, function, y, x, which, doubts, at);
}

/* Behind the first elements, of 32 or 16 bits, where one function is left that they may be. false: nothing was done. */
static bool add_floats(const assay_meter *m, uint64_t at, const uint8_t *y, const uint8_t *x, size_t n)
{
    const assay_function_fit *fit = m->kept;
    float of_y[METER_BLOCK], of_x[METER_BLOCK];
    int open = ASSAY_FUNCTION_DROPOUT, count = 0;
    for (int f = 0; f < ASSAY_FUNCTIONS; f++)
        if (fit[f].broken != UINT64_MAX) {
            open = f;
            count++;
        }
    if (at < TRIED || count != 1 || open == ASSAY_FUNCTION_DROPOUT || m->dtype == ASSAY_FLOAT64 ||
        m->reference_dtype == ASSAY_FLOAT64)
        return false;
    y = meter_floats(m->dtype, y, n, of_y);
    x = meter_floats(m->reference_dtype, x, n, of_x);
    if (y != (const uint8_t *)of_y) /* pieces may lie anywhere */
        memcpy(of_y, y, n * sizeof *of_y);
    if (x != (const uint8_t *)of_x)
        memcpy(of_x, x, n * sizeof *of_x);
    if (!try_floats(m, open, of_y, of_x, n, at))
        return false;
    if ((at + n) % METER_BLOCK == 0)
        close_functions(m, at + n);
    return true;
}

static bool feed(assay_meter *m, const meter_piece *piece)
{
    function_state *s = meter_state(m);
    const size_t size = assay_dtype_size(m->dtype), other = assay_dtype_size(m->reference_dtype);
    double y[METER_BLOCK], x[METER_BLOCK];
    if (!s->found || !is_open(m))
        return true;
    for (uint64_t at = 0, n; s->found && at < piece->elements; at += n) {
        const uint64_t position = m->position + at,
                       most = position < TRIED ? TRIED - position : METER_BLOCK - position % METER_BLOCK;
        n = piece->elements - at < most ? piece->elements - at : most;
        if (add_floats(m, position, piece->bytes + at * size, piece->reference + at * other, (size_t)n))
            continue;
        assay_to_double(m->dtype, piece->bytes + at * size, (size_t)n, y);
        assay_to_double(m->reference_dtype, piece->reference + at * other, (size_t)n, x);
        s->found = all_finite(x, (size_t)n);
        if (s->found)
            add(m, s, position, y, x, (size_t)n);
    }
    return true;
}

static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    const function_state *s = meter_state(m);
    result->of.function = (assay_function){.found = s->found, .fit = m->kept, .scale = s->scale};
    if (!s->found)
        return ASSAY_OK;
    if (s->mask.dropped == 0 || s->mask.kept == 0)
        ((assay_function_fit *)m->kept)[ASSAY_FUNCTION_DROPOUT].broken = UINT64_MAX;
    else
        result->of.function.unlikely = mask_unlikely(s);
    return ASSAY_OK;
}

const meter_kind meter_function = {sizeof(function_state), start, feed, NULL, end};
