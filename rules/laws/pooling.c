/* pooling.c - the output of a pooling is the largest number of each window of its input, or their mean.
 *
 * Kernel, stride and padding are those that the trial says (assay/module.h). Where it says none: of those that the shapes
 * allow, and of windows that share the input (adaptive pooling), the one counts that fewest elements break, and only if
 * most elements that are spread over the output keep it. The largest is copied. A mean of K numbers is off by 6 u_acc (sqrt(K) / 3 + 2) sqrt(sum x^2 + (sum x)^2)
 * / K, as a cell of a product, and by 2 u of its type. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "laws/law.h"

enum {
    POOL_KERNEL = 15,      /* the widest that is tried */
    POOL_WIDEST = 1 << 15, /* that a trial may say */
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
    bool said;              /* what it is, by the trial */
    double *room;           /* of two rows of the input */
    struct window *columns; /* of each output of a row */
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

/* Of an axis of windows, the input of output i. */
typedef struct window {
    int64_t from, end, size; /* size: with padding */
} window;

static window window_at(const pool_axis *a, int64_t i)
{
    window w;
    w.size = window_of(a, i, &w.from, &w.end);
    return w;
}

/* How far the sum of a window may be from what a mean of it gives. */
static double mean_bound(const pooling *p, double count, double sum, double squares)
{
    return 0x1p-149 + 2 * p->rounding * fabs(sum / count) +
           6 * p->sums * (sqrt(count) / 3 + 2) * sqrt(squares + sum * sum) / count + (p->rounding == 0x1p-11) * 0x1p-24;
}

static double count_of(const pooling *p, const window *row, const window *column)
{
    return (double)(p->padded ? row->size * column->size : (row->end - row->from) * (column->end - column->from));
}

/* How far an element is from what its window gives. */
static double apart_at(const pooling *p, uint64_t i, double *bound)
{
    const uint64_t plane = (uint64_t)(p->row.out * p->column.out);
    const int64_t at = (int64_t)(i % plane);
    const double *x = p->x + i / plane * (uint64_t)(p->row.in * p->column.in);
    const window row = window_at(&p->row, at / p->column.out), column = window_at(&p->column, at % p->column.out);
    double largest = -INFINITY, sum = 0, squares = 0;
    for (int64_t r = row.from; r < row.end; r++)
        for (int64_t c = column.from; c < column.end; c++) {
            const double of = x[r * p->column.in + c];
            largest = of > largest ? of : largest;
            sum += of;
            squares += of * of;
        }
    *bound = 0x1p-149;
    if (p->form == POOLING_LARGEST)
        return fabs(p->y[i] - largest);
    const double count = count_of(p, &row, &column);
    *bound = mean_bound(p, count, sum, squares);
    return fabs(p->y[i] - sum / count);
}

/* Of the columns of one window: the largest of each, in p->room. */
static void join_largest(const pooling *p, const double *x, const window *row)
{
    const int64_t n = p->column.in;
    for (int64_t c = 0; c < n; c++)
        p->room[c] = -INFINITY;
    for (int64_t r = row->from; r < row->end; r++)
        for (int64_t c = 0; c < n; c++)
            p->room[c] = x[r * n + c] > p->room[c] ? x[r * n + c] : p->room[c];
}

/* Their sums, and behind these the sums of their squares. */
static void join_sums(const pooling *p, const double *x, const window *row)
{
    const int64_t n = p->column.in;
    memset(p->room, 0, 2 * (size_t)n * sizeof *p->room);
    for (int64_t r = row->from; r < row->end; r++)
        for (int64_t c = 0; c < n; c++) {
            const double of = x[r * n + c];
            p->room[c] += of;
            p->room[n + c] += of * of;
        }
}

/* Is an element, of joined columns, surely no further off than `share` of its bound? Sums in another order than
 * apart_at()'s differ by a billionth of the bound. */
static bool is_within(const pooling *p, double y, const window *row, const window *column, double share)
{
    static const double ORDER = 1e-6;
    double largest = -INFINITY, sum = 0, squares = 0;
    for (int64_t c = column->from; p->form == POOLING_LARGEST && c < column->end; c++)
        largest = p->room[c] > largest ? p->room[c] : largest;
    if (p->form == POOLING_LARGEST)
        return y == largest;
    for (int64_t c = column->from; c < column->end; c++) {
        sum += p->room[c];
        squares += p->room[p->column.in + c];
    }
    const double count = count_of(p, row, column);
    return fabs(y - sum / count) <= (share - ORDER) * mean_bound(p, count, sum, squares);
}

static void look(const pooling *p, uint64_t i, assay_function_fit *fit)
{
    double bound;
    const double apart = apart_at(p, i, &bound), ratio = isnan(apart) ? (double)INFINITY : apart / bound;
    fit->broken += ratio > 1;
    if (!(ratio > fit->largest))
        return;
    fit->largest = ratio;
    fit->index = i;
    fit->apart = isnan(apart) ? (double)INFINITY : apart;
    fit->bound = bound;
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
    const uint64_t width = (uint64_t)p->column.out, high = (uint64_t)p->row.out;
    const uint64_t image = (uint64_t)(p->row.in * p->column.in);
    assay_function_fit fit = {.index = UINT64_MAX};
    if (!p->said && !may_be(p, count))
        return;
    for (uint64_t k = 0; k < (uint64_t)p->column.out; k++)
        p->columns[k] = window_at(&p->column, (int64_t)k);
    for (uint64_t r = 0; width > 0 && r < count / width && fit.broken < best->broken; r++) {
        const window row = window_at(&p->row, (int64_t)(r % high));
        const double *x = p->x + r / high * image;
        (p->form == POOLING_LARGEST ? join_largest : join_sums)(p, x, &row);
        for (uint64_t c = 0; c < width; c++)
            if (!is_within(p, p->y[r * width + c], &row, &p->columns[c], fmin(fit.largest, 1)))
                look(p, r * width + c, &fit);
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

/* A whole number from `least` on that a module says of axis `at`, or of all axes at once. */
static bool take_argument(const char *module, const char *name, int at, int64_t least, int64_t *value)
{
    double x;
    if ((!assay_module_number(module, name, at, &x) && !assay_module_number(module, name, 0, &x)) ||
        !(x >= (double)least && x <= POOL_WIDEST) || x != floor(x))
        return false;
    *value = (int64_t)x;
    return true;
}

/* Windows along axis `at` of a module that says them; false: it does not, or others come out of them. */
static bool take_axis(pool_axis *a, const char *module, int at, bool adaptive)
{
    double number;
    int64_t dilation = 1;
    if (adaptive)
        return true;
    if (!take_argument(module, "kernel_size", at, 1, &a->kernel) ||
        !take_argument(module, "stride", at, 1, &a->stride) || !take_argument(module, "padding", at, 0, &a->padding) ||
        (assay_module_number(module, "dilation", 0, &number) &&
         (!take_argument(module, "dilation", at, 1, &dilation) || dilation != 1)))
        return false;
    return a->in + 2 * a->padding >= a->kernel && (a->out - 1) * a->stride < a->in + a->padding;
}

/* Is what a pooling is known? */
static bool take_said(pooling *p, const char *module, int dims)
{
    static const char *const BEGIN[] = {"torch.MaxPool", "torch.AvgPool", "torch.AdaptiveMax", "torch.AdaptiveAvg"};
    size_t k = 0;
    while (k < 4 && (!module || strncmp(module, BEGIN[k], strlen(BEGIN[k])) != 0))
        k++;
    if (k == 4 || (dims == 4 && !take_axis(&p->row, module, 0, k >= 2)) ||
        !take_axis(&p->column, module, dims - 3, k >= 2))
        return false;
    p->form = k % 2 == 0 ? POOLING_LARGEST : POOLING_MEAN;
    p->padded = !assay_module_says(module, "count_include_pad", "false");
    return true;
}

/* The reading of a form that fewest elements break. */
static assay_function_fit best_of(pooling *p, uint64_t count, const pool_axis *rows, int n, const pool_axis *columns,
                                  int m)
{
    assay_function_fit best = {.broken = UINT64_MAX};
    p->sums = p->form == POOLING_MEAN_ROUNDED ? p->rounding : fmin(p->rounding, 0x1p-24);
    if (p->form == POOLING_MEAN_ROUNDED && p->rounding <= 0x1p-24)
        return best;
    if (p->said)
        try_reading(p, count, &best);
    else
        find_reading(p, count, rows, n, columns, m, &best);
    return best;
}

static int try_forms(const law_step *step, const assay_tensor_view *x, const assay_tensor_view *y, pooling *p,
                     uint64_t count)
{
    pool_axis rows[POOL_READINGS] = {p->row}, columns[POOL_READINGS];
    int n = 1, m = 0, status = ASSAY_OK;
    const pool_axis row = p->row, column = p->column;
    p->said = take_said(p, assay_trial_module_of(step->rule->trial, y->name), x->dims);
    if (!p->said) {
        p->row = row;
        p->column = column;
    }
    if (!p->said && x->dims == 4)
        n = list_axis(p->row.in, p->row.out, rows, POOL_READINGS);
    if (!p->said)
        m = list_axis(p->column.in, p->column.out, columns, POOL_READINGS);
    const int only = p->form;
    for (int form = 0; status == ASSAY_OK && form < POOLING_FORMS; form++) {
        if (p->said && (form == POOLING_LARGEST) != (only == POOLING_LARGEST))
            continue;
        p->form = form;
        const assay_function_fit best = best_of(p, count, rows, n, columns, m);
        if (best.broken != UINT64_MAX)
            status = law_add_fit(step, y, (double)count, LAW_POOLING, form, &best);
    }
    return status;
}

/* Of images one behind the other: [samples][channels][length] or [samples][channels][rows][columns]. */
static int test_output(const law_step *step, const assay_tensor_view *y, const assay_tensor_view *x)
{
    const assay_values *of_x = values_of(step, x), *of_y = values_of(step, y);
    pooling p = {.rounding = law_rounding(y->dtype)};
    if (!of_x || !of_y || of_y->count == 0 || p.rounding == 0 || x->dtype != y->dtype || x->dims != y->dims ||
        x->dims < 3 || x->dims > 4 || x->shape[0] != y->shape[0] || x->shape[1] != y->shape[1] || x->shape[2] == 0 ||
        x->shape[x->dims - 1] == 0 || !law_finite(x) || !law_finite(y))
        return ASSAY_OK;
    p.x = of_x->value;
    p.y = of_y->value;
    p.row = x->dims == 4 ? (pool_axis){.in = x->shape[2], .out = y->shape[2]} : (pool_axis){.in = 1, .out = 1};
    p.column = (pool_axis){.in = x->shape[x->dims - 1], .out = y->shape[y->dims - 1]};
    p.room = malloc(2 * (size_t)p.column.in * sizeof *p.room);
    p.columns = malloc((size_t)p.column.out * sizeof *p.columns);
    const int status = p.room && p.columns ? try_forms(step, x, y, &p, of_y->count) : ASSAY_ENOMEM;
    free(p.columns);
    free(p.room);
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
