/* measure_function.c - FUNCTION: is the output of a module a function of its input, element by element, and which?
 *
 * All functions are tried on the first elements, and from there on those alone that seven in eight of these are. An element may
 * differ by the rounding of its type, by that of the arithmetic (single precision where the types have 16 bits), and
 * where the function comes of a difference, by as much of what is subtracted. */
#include <math.h>
#include <string.h>

#include "tensor/convert.h"
#include "tensor/measure_kind.h"

enum {
    TRIED = 256,  /* elements on which all functions are tried */
    FEW = 8,      /* so many elements of the right function may be broken */
    ROUNDINGS = 8 /* of the arithmetic: exp and its like, two products, a division */
};

typedef struct function_state {
    bool found;
    function_bound bound; /* rounding of the type, of what computes, and what is lost because it is small */
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

/* f(x), and the size of what its arithmetic rounds. */
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
        *size = fabs(y) * (1 + fabs(x));
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

/* The same of n elements, at most METER_BLOCK, with exp from the kernels where single precision is enough. */
static void functions_of(const assay_meter *m, int function, const double *x, size_t n, double *y, double *size)
{
    const bool single = m->dtype != ASSAY_FLOAT64;
    double e[METER_BLOCK];
    if (function == ASSAY_FUNCTION_RELU || function == ASSAY_FUNCTION_IDENTITY) {
        for (size_t i = 0; i < n; i++)
            y[i] = function == ASSAY_FUNCTION_IDENTITY || x[i] > 0 ? x[i] : 0;
        memset(size, 0, n * sizeof *size);
        return;
    }
    if (!single || (function != ASSAY_FUNCTION_SILU && function != ASSAY_FUNCTION_SIGMOID &&
                    function != ASSAY_FUNCTION_GELU_TANH)) {
        for (size_t i = 0; i < n; i++)
            y[i] = function_of(function, x[i], &size[i]);
        return;
    }
    const bool gelu = function == ASSAY_FUNCTION_GELU_TANH;
    for (size_t i = 0; i < n; i++) /* 0.5 (1 + tanh z) = 1 / (1 + exp(-2 z)) */
        e[i] = gelu ? -2 * 0.79788456080286535588 * (x[i] + 0.044715 * x[i] * x[i] * x[i]) : -x[i];
    m->kernels->exps(e, n);
    for (size_t i = 0; i < n; i++) {
        const double factor = function == ASSAY_FUNCTION_SIGMOID ? 1 : x[i];
        y[i] = factor / (1 + e[i]);
        size[i] = gelu ? fabs(x[i]) : fabs(y[i]) * (1 + fabs(x[i]));
    }
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
        const double bound = at_most(&s->bound, f[i], size[i]);
        const double ratio = isnan(apart) ? (double)INFINITY : apart / bound;
        fit->broken += ratio > 1;
        if (ratio > fit->largest) {
            fit->largest = ratio;
            fit->index = at + i;
            fit->apart = isnan(apart) ? (double)INFINITY : apart;
            fit->bound = bound;
            limit = limit_of(s, fit);
        }
    }
}

/* Behind the first elements, and behind each block: a function that too many elements are not is looked at no further.
 * Where another one is that of all, few are too many. */
static void close_functions(const assay_meter *m, uint64_t looked_at)
{
    assay_function_fit *fit = m->kept;
    bool any = false;
    for (int f = 0; f < ASSAY_FUNCTIONS; f++)
        any = any || fit[f].broken == 0;
    for (int f = 0; f < ASSAY_FUNCTIONS; f++)
        if ((any && fit[f].broken > FEW) || (looked_at <= TRIED && 8 * fit[f].broken > looked_at))
            fit[f].broken = UINT64_MAX;
}

static void add(assay_meter *m, uint64_t at, const double *y, const double *x, size_t n)
{
    const uint64_t end = at + n, first = TRIED < m->elements ? TRIED : m->elements;
    for (int f = 0; f < ASSAY_FUNCTIONS; f++) {
        assay_function_fit *fit = (assay_function_fit *)m->kept + f;
        if (fit->broken != UINT64_MAX)
            try_function(m, f, fit, y, x, n, at);
    }
    if (end == first || end % METER_BLOCK == 0)
        close_functions(m, end);
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
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += 0 * x[i];
    return sum == 0;
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
        assay_to_double(m->dtype, piece->bytes + at * size, (size_t)n, y);
        assay_to_double(m->reference_dtype, piece->reference + at * other, (size_t)n, x);
        s->found = all_finite(x, (size_t)n);
        if (s->found)
            add(m, position, y, x, (size_t)n);
    }
    return true;
}

static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    const function_state *s = meter_state(m);
    result->of.function = (assay_function){.found = s->found, .fit = m->kept};
    return ASSAY_OK;
}

const meter_kind meter_function = {sizeof(function_state), start, feed, NULL, end};
