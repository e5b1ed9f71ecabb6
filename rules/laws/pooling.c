/* pooling.c - the output of a pooling is the largest number of each window of its input, or their mean.
 *
 * Nobody recorded kernel, stride and padding: of those that the shapes allow, and of windows that share the input
 * (adaptive pooling), the one counts that fewest elements break, and only if most elements that are spread over the
 * output keep it. The largest is copied. A mean of K numbers is off by 6 u_acc (sqrt(K) / 3 + 2) sqrt(sum x^2 + (sum x)^2)
 * / K, as a cell of a product, and by 2 u of its type. */
#include <math.h>

#include "laws/law.h"

enum {
    POOL_KERNEL = 15, /* the widest that is tried */
    POOL_READINGS = 512,
    POOL_TRIED = 64
};

/* How windows lie along an axis. */
typedef struct pool_axis {
    int64_t in, out;
    int64_t kernel, stride, padding; /* kernel 0: windows share the input */
} pool_axis;

typedef struct pooling {
    const double *x, *y;
    pool_axis row, column;
    bool padded;           /* a mean: by the window's size, padding included */
    double rounding, sums; /* u of the type, and of the sums of a mean */
    int form;
} pooling;

static bool is_adaptive(const pool_axis *a)
{
    return a->kernel == 0;
}

/* Where a window lies; returns its size with its padding. */
static int64_t window_of(const pool_axis *a, int64_t i, int64_t *from, int64_t *end)
{
    if (is_adaptive(a)) {
        *from = i * a->in / a->out;
        *end = ((i + 1) * a->in + a->out - 1) / a->out;
        return *end - *from;
    }
    const int64_t first = i * a->stride - a->padding, last = first + a->kernel, most = a->in + a->padding;
    *from = first > 0 ? first : 0;
    *end = last < a->in ? last : a->in;
    return (last < most ? last : most) - first;
}

/* How far an element is from what its window gives. */
static double apart_at(const pooling *p, uint64_t i, double *bound)
{
    const uint64_t plane = (uint64_t)(p->row.out * p->column.out);
    const int64_t at = (int64_t)(i % plane);
    const double *x = p->x + i / plane * (uint64_t)(p->row.in * p->column.in);
    int64_t top, bottom, left, right;
    const int64_t high = window_of(&p->row, at / p->column.out, &top, &bottom),
                  wide = window_of(&p->column, at % p->column.out, &left, &right);
    double largest = -INFINITY, sum = 0, squares = 0;
    for (int64_t r = top; r < bottom; r++)
        for (int64_t c = left; c < right; c++) {
            const double of = x[r * p->column.in + c];
            largest = of > largest ? of : largest;
            sum += of;
            squares += of * of;
        }
    *bound = 0x1p-149;
    if (p->form == POOLING_LARGEST)
        return fabs(p->y[i] - largest);
    const double count = (double)(p->padded ? high * wide : (bottom - top) * (right - left));
    *bound += 2 * p->rounding * fabs(sum / count) +
              6 * p->sums * (sqrt(count) / 3 + 2) * sqrt(squares + sum * sum) / count +
              (p->rounding == 0x1p-11) * 0x1p-24;
    return fabs(p->y[i] - sum / count);
}

/* Do most elements here and there keep it? */
static bool may_be(const pooling *p, uint64_t count)
{
    const uint64_t tried = count < POOL_TRIED ? count : POOL_TRIED;
    uint64_t broken = 0;
    double bound;
    for (uint64_t k = 0; k < tried && 8 * broken <= tried; k++)
        broken += !(apart_at(p, (k * count / tried + 7 * k) % count, &bound) <= bound);
    return 8 * broken <= tried;
}

/* Of all elements; left unfinished where more are broken than in another reading. */
static void try_reading(const pooling *p, uint64_t count, assay_function_fit *best)
{
    assay_function_fit fit = {.index = UINT64_MAX};
    if (!may_be(p, count))
        return;
    for (uint64_t i = 0; i < count && fit.broken < best->broken; i++) {
        double bound;
        const double apart = apart_at(p, i, &bound), ratio = isnan(apart) ? (double)INFINITY : apart / bound;
        fit.broken += ratio > 1;
        if (!(ratio > fit.largest))
            continue;
        fit.largest = ratio;
        fit.index = i;
        fit.apart = isnan(apart) ? (double)INFINITY : apart;
        fit.bound = bound;
    }
    if (fit.broken < best->broken)
        *best = fit;
}

/* What windows an axis of such lengths may have, the likeliest first. */
static int list_axis(int64_t in, int64_t out, pool_axis *list, int room)
{
    int n = 0;
    list[n++] = (pool_axis){.in = in, .out = out};
    for (int64_t kernel = 2; kernel <= POOL_KERNEL; kernel++)
        for (int64_t padding = 0; padding <= kernel / 2; padding++)
            for (int64_t stride = kernel; stride > (out == 1 ? kernel - 1 : 0); stride--) {
                const int64_t rest = in + 2 * padding - kernel;
                const bool fits = rest >= 0 && (rest / stride + 1 == out || ((rest + stride - 1) / stride + 1 == out &&
                                                                             (out - 1) * stride < in + padding));
                if (fits && n < room)
                    list[n++] = (pool_axis){in, out, kernel, stride, padding};
            }
    return n;
}

static bool is_like(const pool_axis *a, const pool_axis *b)
{
    return a->kernel == b->kernel && a->stride == b->stride && a->padding == b->padding;
}

/* Tries all that fit the shapes, those of like axes first, and of axes of the same lengths alone. */
static void find_reading(pooling *p, uint64_t count, const pool_axis *rows, int n, const pool_axis *columns, int m,
                         assay_function_fit *best)
{
    const bool square = rows->in == columns->in && rows->out == columns->out;
    for (int like = 1; like >= square; like--)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < m && best->broken > 0; k++) {
                p->row = rows[i];
                p->column = columns[k];
                if (is_like(&p->row, &p->column) != (like > 0))
                    continue;
                for (int padded = 1;
                     padded >= (p->form == POOLING_LARGEST || (p->row.padding == 0 && p->column.padding == 0));
                     padded--) {
                    p->padded = padded > 0;
                    try_reading(p, count, best);
                }
            }
}

static const assay_values *values_of(const law_step *step, const assay_tensor_view *item)
{
    const assay_result *result =
        item && assay_view_has_values(item) ? assay_view_result(step->view, OF_POOLED, item) : NULL;
    return result ? &result->of.values : NULL;
}

static bool all_finite(const assay_values *v)
{
    double sum = 0;
    for (uint64_t i = 0; i < v->count; i++)
        sum += 0 * v->value[i];
    return sum == 0;
}

/* Of images one behind the other: [samples][channels][length] or [samples][channels][rows][columns]. */
static int test_output(const law_step *step, const assay_tensor_view *y, const assay_tensor_view *x)
{
    const assay_values *of_x = values_of(step, x), *of_y = values_of(step, y);
    pooling p = {.rounding = law_rounding(y->dtype)};
    pool_axis rows[POOL_READINGS] = {{.in = 1, .out = 1}}, columns[POOL_READINGS];
    int n = 1, status = ASSAY_OK;
    if (!of_x || !of_y || of_y->count == 0 || p.rounding == 0 || x->dtype != y->dtype || x->dims != y->dims ||
        x->dims < 3 || x->dims > 4 || x->shape[0] != y->shape[0] || x->shape[1] != y->shape[1] || x->shape[2] == 0 ||
        x->shape[x->dims - 1] == 0 || !all_finite(of_x))
        return ASSAY_OK;
    p.x = of_x->value;
    p.y = of_y->value;
    if (x->dims == 4)
        n = list_axis(x->shape[2], y->shape[2], rows, POOL_READINGS);
    const int m = list_axis(x->shape[x->dims - 1], y->shape[x->dims - 1], columns, POOL_READINGS);
    for (p.form = 0; status == ASSAY_OK && p.form < POOLING_FORMS; p.form++) {
        assay_function_fit best = {.broken = UINT64_MAX};
        p.sums = p.form == POOLING_MEAN_ROUNDED ? p.rounding : fmin(p.rounding, 0x1p-24);
        if (p.form < POOLING_MEAN_ROUNDED || p.rounding > 0x1p-24)
            find_reading(&p, of_y->count, rows, n, columns, m, &best);
        if (best.broken != UINT64_MAX)
            status = law_add_fit(step, y, (double)of_y->count, LAW_POOLING, p.form, &best);
    }
    return status;
}

int law_pooling(const law_step *step)
{
    const assay_slot_view *items = &step->view->slot[LAW_POOLED];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < items->count; i++) {
        const uint32_t input = law_input(step, items->items[i]->name);
        if (input != ASSAY_NO_TENSOR)
            status = test_output(step, items->items[i], law_item(step, LAW_POOLED, input, items->items[i]->worker));
    }
    return status;
}
