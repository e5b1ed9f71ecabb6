/* linear.c - y = x Wt + b of a linear layer, and the same of a convolution, which is linear in images and in kernels.
 *
 * With rows of x and y joined into groups g by signs s, and rows of W and columns of y into groups h by signs r,
 *     sum_g,h s r y = (sum_g s x) (sum_h r W)t + (sum_g s) (sum_h r b)
 * holds cell by cell, and needs sketches alone: Freivalds' check (1977), tile by tile.
 *
 * A cell's error, of independent roundings (Higham and Mary 2019), with q^2 = sum x^2 W^2 over all its products:
 *     of the factors, rounded before they are multiplied     5 u_in q
 *     of the sums of K products                              6 u_acc (sqrt(K) / 3 + 2) sqrt(q^2 + sum y^2)
 *     of the output's type                                   4 u_out sqrt(sum y^2)
 * each six times its standard deviation (docs/laws.md). Convolutions may be computed by transforms that round more
 * (Winograd): 16 times as much for sums. Their stride, padding and dilation nobody recorded: those that the shapes allow,
 * of which padding by half a kernel comes first. */
#include "laws/law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FACTORS[LINEAR_FORMS] = {[LINEAR_EXACT] = 0, [LINEAR_TF32] = 0x1p-11, [LINEAR_BFLOAT16] = 0x1p-8};

/* Along one axis of images. */
typedef struct conv_axis {
    int64_t in, out, kernel, stride, padding;
} conv_axis;

typedef struct convolution {
    int64_t channels; /* 0: it is a linear layer */
    conv_axis y, x;
} convolution;

typedef struct linear {
    const assay_sketch *x, *w, *y, *b; /* b NULL: there is none */
    uint64_t rows;                     /* groups of rows that x and y have in common */
    double *xs, *x2;                   /* [rows][inputs] */
    double *ys, *y2;                   /* [rows][groups of outputs][places] */
    double *bs, *b2;                   /* [groups of outputs] */
    uint64_t places;                   /* 1, or pixels of an image that comes out */
    convolution conv;
    linear_rounding rounding;
} linear;

/* Joins groups of rows further, into `rows`. */
static void join_rows(const assay_sketch *s, uint64_t rows, double *sum, double *squares)
{
    for (uint64_t g = 0; g < s->groups; g++) {
        const uint64_t to = assay_sketch_group(g, s->groups, rows) * s->columns;
        for (uint64_t c = 0; c < s->columns; c++) {
            sum[to + c] += s->sum[g * s->columns + c];
            squares[to + c] += s->squares[g * s->columns + c];
        }
    }
}

/* The same of the output, whose columns, or channels, are joined like the rows of the weight. */
static void join_tiles(const linear *l, double *sum, double *squares)
{
    const assay_sketch *s = l->y;
    for (uint64_t c = 0; c < s->columns; c++) {
        const uint64_t output = c / l->places;
        const double sign = assay_sketch_sign(output);
        const uint64_t h = assay_sketch_group(output, l->w->rows, l->w->groups);
        for (uint64_t g = 0; g < s->groups; g++) {
            const uint64_t to =
                (assay_sketch_group(g, s->groups, l->rows) * l->w->groups + h) * l->places + c % l->places;
            sum[to] += sign * s->sum[g * s->columns + c];
            squares[to] += s->squares[g * s->columns + c];
        }
    }
}

double linear_bound(const linear_rounding *r, int form, double products, double outputs, double elements)
{
    const double q = sqrt(products), rounded = fmax(r->factors, FACTORS[form]);
    return 5 * rounded * q + 6 * r->sums * (sqrt(r->products) / 3 + 2) * sqrt(products + outputs) +
           4 * r->output * sqrt(outputs) + r->least * sqrt(elements);
}

/* What a form comes to: the worst cell, and how many rows and columns have one beyond its bound. */
typedef struct linear_fit {
    double row[LAW_WIDTH];
    uint8_t *row_off, *column_off;
} linear_fit;

static void look(linear_fit *fit, const linear *l, uint64_t g, uint64_t h, double apart, double bound)
{
    const double ratio = apart / bound;
    if (ratio > 1)
        fit->row_off[g] = fit->column_off[h] = 1;
    if (!(ratio > fit->row[LAW_RATIO]))
        return;
    fit->row[LAW_RATIO] = ratio;
    fit->row[LAW_APART] = apart;
    fit->row[LAW_BOUND] = bound;
    fit->row[LAW_ROW] = (double)assay_sketch_first_row(g, l->x->rows, l->rows);
    fit->row[LAW_ROW_END] = (double)assay_sketch_first_row(g + 1, l->x->rows, l->rows);
    fit->row[LAW_COLUMN] = (double)assay_sketch_first_row(h, l->w->rows, l->w->groups);
    fit->row[LAW_COLUMN_END] = (double)assay_sketch_first_row(h + 1, l->w->rows, l->w->groups);
}

/* The products of one cell, and of their squares. */
static void multiply(const linear *l, uint64_t g, uint64_t h, double *sum, double *squares)
{
    const uint64_t inputs = l->w->columns;
    const double *xs = l->xs + g * inputs, *x2 = l->x2 + g * inputs;
    const double *ws = l->w->sum + h * inputs, *w2 = l->w->squares + h * inputs;
    for (uint64_t k = 0; k < inputs; k++) {
        *sum += xs[k] * ws[k];
        *squares += x2[k] * w2[k];
    }
}

/* Where in an axis of the input an element of the kernel lies for an element of the output; false: in the padding. */
static bool is_inside(const conv_axis *a, int64_t out, int64_t k, int64_t *at)
{
    *at = out * a->stride + k - a->padding;
    return *at >= 0 && *at < a->in;
}

/* The same of a pixel of a convolution. */
static void convolve(const linear *l, uint64_t g, uint64_t h, uint64_t place, double *sum, double *squares)
{
    const convolution *conv = &l->conv;
    const int64_t image = conv->y.in * conv->x.in, kernel = conv->y.kernel * conv->x.kernel;
    const double *xs = l->xs + g * l->x->columns, *x2 = l->x2 + g * l->x->columns;
    const double *ws = l->w->sum + h * l->w->columns, *w2 = l->w->squares + h * l->w->columns;
    for (int64_t ky = 0, y; ky < conv->y.kernel; ky++)
        for (int64_t kx = 0, x; kx < conv->x.kernel; kx++) {
            if (!is_inside(&conv->y, (int64_t)place / conv->x.out, ky, &y) ||
                !is_inside(&conv->x, (int64_t)place % conv->x.out, kx, &x))
                continue;
            for (int64_t c = 0; c < conv->channels; c++) {
                const int64_t i = c * image + y * conv->x.in + x, k = c * kernel + ky * conv->x.kernel + kx;
                *sum += xs[i] * ws[k];
                *squares += x2[i] * w2[k];
            }
        }
}

static void look_at_cells(const linear *l, linear_fit *fits)
{
    const uint64_t groups = l->w->groups;
    for (uint64_t g = 0; g < l->rows; g++) {
        const uint64_t first = assay_sketch_first_row(g, l->x->rows, l->rows),
                       end = assay_sketch_first_row(g + 1, l->x->rows, l->rows);
        const double signs = l->b ? law_signs(first, end) : 0;
        for (uint64_t i = 0; i < groups * l->places; i++) {
            const uint64_t h = i / l->places;
            double sum = l->b ? signs * l->bs[h] : 0, factors = 0;
            if (l->conv.channels > 0)
                convolve(l, g, h, i % l->places, &sum, &factors);
            else
                multiply(l, g, h, &sum, &factors);
            const double products = factors + (l->b ? (double)(end - first) * l->b2[h] : 0);
            const double elements = (double)((end - first) * (assay_sketch_first_row(h + 1, l->w->rows, groups) -
                                                              assay_sketch_first_row(h, l->w->rows, groups)));
            const double apart = fabs(l->ys[g * groups * l->places + i] - sum);
            for (int form = 0; form < LINEAR_FORMS; form++)
                look(&fits[form], l, g, h, apart,
                     linear_bound(&l->rounding, form, products, l->y2[g * groups * l->places + i], elements));
        }
    }
}

/* Adds a row for each form. */
static int add_forms(const law_step *step, const assay_tensor_view *item, const linear *l)
{
    uint8_t *off = calloc(LINEAR_FORMS, l->rows + l->w->groups);
    linear_fit fits[LINEAR_FORMS] = {{{0}, NULL, NULL}};
    int status = off ? ASSAY_OK : ASSAY_ENOMEM;
    for (int form = 0; off && form < LINEAR_FORMS; form++) {
        fits[form].row_off = off + (size_t)form * (l->rows + l->w->groups);
        fits[form].column_off = fits[form].row_off + l->rows;
    }
    if (off)
        look_at_cells(l, fits);
    for (int form = 0; status == ASSAY_OK && form < LINEAR_FORMS; form++) {
        double *row = fits[form].row;
        row[LAW_OF] = LAW_LINEAR;
        row[LAW_VARIANT] = form;
        row[LAW_ROWS] = (double)l->rows;
        row[LAW_COLUMNS] = (double)l->w->groups;
        for (uint64_t g = 0; g < l->rows; g++)
            row[LAW_ROWS_OFF] += fits[form].row_off[g];
        for (uint64_t h = 0; h < l->w->groups; h++)
            row[LAW_COLUMNS_OFF] += fits[form].column_off[h];
        status = assay_series_add(step->series, step->view->step, item->tensor, item->worker, row);
    }
    free(off);
    return status;
}

/* How many groups of rows: as many as both have, but fewer where that would be much work. 0: too much in any case. */
static uint64_t rows_of(const linear *l)
{
    enum { USUAL_WORK = 1 << 22, MOST_WORK = 1 << 25 };
    const uint64_t work = l->w->groups * l->places * l->w->columns;
    uint64_t rows = l->x->groups < l->y->groups ? l->x->groups : l->y->groups, fewer = 1;
    if (work > MOST_WORK)
        return 0;
    if (rows * work <= USUAL_WORK)
        return rows;
    while (2 * fewer < rows && 2 * fewer * work <= USUAL_WORK)
        fewer *= 2;
    return fewer;
}

static int compare(const law_step *step, const assay_tensor_view *item, linear *l)
{
    const uint64_t groups = l->w->groups, cells = groups * l->places;
    l->rows = rows_of(l);
    if (l->rows == 0)
        return ASSAY_OK;
    double *room = calloc(2 * (l->rows * (l->x->columns + cells) + groups), sizeof *room);
    ASSAY_HAVE(room);
    l->xs = room;
    l->x2 = l->xs + l->rows * l->x->columns;
    l->ys = l->x2 + l->rows * l->x->columns;
    l->y2 = l->ys + l->rows * cells;
    l->bs = l->y2 + l->rows * cells;
    l->b2 = l->bs + groups;
    join_rows(l->x, l->rows, l->xs, l->x2);
    join_tiles(l, l->ys, l->y2);
    if (l->b)
        join_rows(l->b, groups, l->bs, l->b2);
    const int status = add_forms(step, item, l);
    free(room);
    return status;
}

bool linear_set_rounding(linear_rounding *r, int x, int w, int y, double products)
{
    const double factors = fmin(law_rounding(x), law_rounding(w));
    r->products = products;
    r->output = law_rounding(y);
    r->factors = y != ASSAY_FLOAT32 && factors < r->output ? r->output : 0;
    r->sums = y == ASSAY_FLOAT64 ? 0x1p-50 : 0x1p-24;
    r->least = y == ASSAY_FLOAT16 ? 0x1p-24 : 0;
    return factors > 0 && r->output > 0;
}

/* Finds stride and padding along an axis. */
static bool find_axis(conv_axis *a, int64_t in, int64_t out, int64_t kernel)
{
    *a = (conv_axis){in, out, kernel, out > 0 && in / out > 1 ? in / out : 1, (kernel - 1) / 2};
    if (in < 1 || out < 1 || kernel < 1)
        return false;
    for (int even = 1; even >= 0; even--) { /* a stride that divides, then the next larger one */
        if ((in + 2 * a->padding - kernel) / a->stride + 1 == out)
            return true;
        const int64_t missing = (out - 1) * a->stride + kernel - in;
        a->padding = missing > 0 ? (missing + 1) / 2 : 0;
        if (in + 2 * a->padding >= kernel && (in + 2 * a->padding - kernel) / a->stride + 1 == out)
            return true;
        a->stride++;
        a->padding = (kernel - 1) / 2;
    }
    return false;
}

/* What convolution of one or two axes, without dilation and groups, has such shapes. */
static bool find_convolution(convolution *conv, const assay_tensor_view *x, const assay_tensor_view *w,
                             const assay_tensor_view *y)
{
    const int dims = w->dims;
    if (dims > 4 || x->dims != dims || y->dims != dims || x->shape[1] != w->shape[1] || y->shape[1] != w->shape[0] ||
        !find_axis(&conv->x, x->shape[dims - 1], y->shape[dims - 1], w->shape[dims - 1]))
        return false;
    return dims == 3 ? find_axis(&conv->y, 1, 1, 1) : find_axis(&conv->y, x->shape[2], y->shape[2], w->shape[2]);
}

/* One pass of the module that the weight belongs to. */
static int test_pass(const law_step *step, const assay_tensor_view *weight, uint32_t input, uint32_t output,
                     uint32_t bias)
{
    const assay_tensor_view *x = law_item(step, LAW_INPUTS, input, weight->worker);
    const assay_tensor_view *y = law_item(step, LAW_OUTPUTS, output, weight->worker);
    const assay_tensor_view *b = law_item(step, LAW_WEIGHTS, bias, weight->worker);
    linear l = {.w = law_sketch(step, OF_WEIGHT, weight),
                .x = law_sketch(step, weight->dims > 2 ? OF_IMAGES : OF_INPUT, x),
                .y = law_sketch(step, weight->dims > 2 ? OF_IMAGES_OUT : OF_OUTPUT, y),
                .conv = {.channels = weight->dims > 2 ? weight->shape[1] : 0},
                .b = law_sketch(step, OF_WEIGHT, b)};
    if (!l.w || !l.x || !l.y || (bias != ASSAY_NO_TENSOR && !l.b))
        return ASSAY_OK;
    if ((l.conv.channels > 0 ? !find_convolution(&l.conv, x, weight, y)
                             : l.x->columns != l.w->columns || l.y->columns != l.w->rows) ||
        l.x->rows != l.y->rows || (l.b && (l.b->rows != l.w->rows || l.b->groups < l.w->groups)) ||
        !linear_set_rounding(&l.rounding, x->dtype, weight->dtype, y->dtype, (double)l.w->columns))
        return ASSAY_OK;
    l.rounding.sums *= l.conv.channels > 0 ? CONVOLVED : 1;
    l.places = l.y->columns / l.w->rows;
    return compare(step, y, &l);
}

int law_linear(const law_step *step)
{
    const assay_slot_view *weights = &step->view->slot[LAW_WEIGHTS];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < weights->count; i++)
        status = weights->items[i]->dims > 1 ? law_passes(step, weights->items[i], test_pass) : ASSAY_OK;
    return status;
}
