/* linear.c - y = x Wt + b of a linear layer, and the same of a convolution, which is linear in images and in kernels.
 *
 * With rows of x and y joined into groups g by signs s, and rows of W and columns of y into groups h by signs r,
 *     sum_g,h s r y = (sum_g s x) (sum_h r W)t + (sum_g s) (sum_h r b)
 * holds cell by cell, and needs sketches alone: Freivalds' check (1977), tile by tile.
 *
 * A cell's error, of independent roundings (Higham and Mary 2019), with q^2 = sum x^2 W^2 over all its products:
 *     of the factors, rounded before they are multiplied     5 u_in q + 2 u_in sqrt(sum y^2), where they are alike
 *     of the sums of K products                              6 u_acc (sqrt(K) / 3 + 2) sqrt(q^2 + sum y^2)
 *     of the output's type                                   4 u_out sqrt(sum y^2)
 * each six times its standard deviation (docs/laws.md). Convolutions may be computed by transforms that round more
 * (Winograd): 16 times as much for sums. Their stride, padding and dilation are those that the trial says (assay/module.h),
 * else those that the shapes allow, of which padding by half a kernel comes first, without dilation. With groups of
 * channels, the outputs of a cell have to be of one group. */
#include "laws/law.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double FACTORS[LINEAR_FORMS] = {[LINEAR_EXACT] = 0, [LINEAR_TF32] = 0x1p-11, [LINEAR_BFLOAT16] = 0x1p-8};

/* Along one axis of images. */
typedef struct conv_axis {
    int64_t in, out, kernel, stride, padding, dilation;
} conv_axis;

typedef struct convolution {
    int64_t channels; /* that an output is computed of; 0: it is a linear layer */
    uint64_t groups;  /* of channels, and of outputs */
    conv_axis y, x;
} convolution;

typedef struct linear {
    const assay_sketch *x, *w, *y, *b; /* b NULL: there is none */
    uint64_t rows;                     /* groups of rows that x and y have in common */
    const double *xs, *x2;             /* [rows][inputs] */
    double *ys, *y2;                   /* [rows][groups of outputs][places] */
    const double *bs, *b2;             /* [groups of outputs] */
    uint64_t places;                   /* 1, or pixels of an image that comes out */
    convolution conv;
    linear_rounding rounding;
} linear;

/* Joins groups of rows further, into `rows`, if they are more: else they stay where they are. `room` is for both. */
static void join_rows(const assay_sketch *s, uint64_t rows, double *room, const double **sum, const double **squares)
{
    *sum = s->groups == rows ? s->sum : room;
    *squares = s->groups == rows ? s->squares : room + rows * s->columns;
    for (uint64_t g = 0; s->groups != rows && g < s->groups; g++) {
        const uint64_t to = assay_sketch_group(g, s->groups, rows) * s->columns, from = g * s->columns;
        for (uint64_t c = 0; c < s->columns; c++) {
            room[to + c] += s->sum[from + c];
            room[rows * s->columns + to + c] += s->squares[from + c];
        }
    }
}

/* The same of the output, whose columns, or channels, are joined like the rows of the weight. `signs` is room for one of
 * each. */
static void join_tiles(const linear *l, double *signs)
{
    const assay_sketch *s = l->y;
    for (uint64_t output = 0; output < l->w->rows; output++)
        signs[output] = assay_sketch_sign(output);
    for (uint64_t g = 0; g < s->groups; g++)
        for (uint64_t h = 0; h < l->w->groups; h++) {
            const uint64_t to = (assay_sketch_group(g, s->groups, l->rows) * l->w->groups + h) * l->places;
            const uint64_t end = assay_sketch_first_row(h + 1, l->w->rows, l->w->groups);
            for (uint64_t output = assay_sketch_first_row(h, l->w->rows, l->w->groups); output < end; output++) {
                const uint64_t from = g * s->columns + output * l->places;
                for (uint64_t i = 0; i < l->places; i++) {
                    l->ys[to + i] += signs[output] * s->sum[from + i];
                    l->y2[to + i] += s->squares[from + i];
                }
            }
        }
}

/* The bias in groups of outputs: of a sketch of each of its elements, or of as many groups at least. */
static void join_bias(linear *l, double *room)
{
    const uint64_t groups = l->w->groups;
    if (l->b->columns == 1) {
        join_rows(l->b, groups, room, &l->bs, &l->b2);
        return;
    }
    for (uint64_t output = 0; output < l->w->rows; output++) {
        const uint64_t h = assay_sketch_group(output, l->w->rows, groups);
        room[h] += assay_sketch_sign(0) * assay_sketch_sign(output) * l->b->sum[output];
        room[groups + h] += l->b->squares[output];
    }
    l->bs = room;
    l->b2 = room + groups;
}

void linear_bounds(const linear_rounding *r, double products, double outputs, double elements,
                   double bound[LINEAR_FORMS])
{
    const double q = sqrt(products);
    const double rest = 6 * r->sums * (sqrt(r->products) / 3 + 2) * sqrt(products + outputs) +
                        4 * r->output * sqrt(outputs) + r->least * sqrt(elements);
    for (int form = 0; form < LINEAR_FORMS; form++)
        bound[form] = fmax(r->factors, FACTORS[form]) * (5 * q + 2 * sqrt(outputs)) + rest;
}

/* What a form comes to: the worst cell, and how many rows and columns have one beyond its bound. */
typedef struct linear_fit {
    double row[LAW_WIDTH];
    uint8_t *row_off, *column_off;
} linear_fit;

static void look(linear_fit *fit, const linear *l, uint64_t g, uint64_t h, double apart, double bound)
{
    if (apart <= bound && apart <= fit->row[LAW_RATIO] * bound) /* as nearly always: no division */
        return;
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

/* What rounded factors of one cell add up to where its rows are alike: each meets the sum of the others in its group, whose
 * square is larger than the sum of their squares, and is rounded as they are. */
static double of_alike_rows(const linear *l, uint64_t g, uint64_t h)
{
    const uint64_t inputs = l->w->columns;
    const double *xs = l->xs + g * inputs, *x2 = l->x2 + g * inputs;
    const double *ws = l->w->sum + h * inputs, *w2 = l->w->squares + h * inputs;
    double sum = 0;
    for (uint64_t k = 0; k < inputs; k++)
        sum += xs[k] * xs[k] * w2[k] + x2[k] * ws[k] * ws[k];
    return sum / 2;
}

/* Along an axis, the outputs [from, end) of which element k of the kernel meets the input and not its padding. */
static void find_inside(const conv_axis *a, int64_t k, int64_t *from, int64_t *end)
{
    const int64_t before = a->padding - k * a->dilation, behind = a->in - 1 + before;
    *from = before > 0 ? (before + a->stride - 1) / a->stride : 0;
    *end = behind < 0 ? 0 : behind / a->stride + 1;
    *end = *end < a->out ? *end : a->out;
}

/* Adds what one element of the kernel makes of a channel at all places. */
static void add_element(const convolution *conv, int64_t ky, int64_t kx, const double *image, double w, double *out)
{
    int64_t top, bottom, left, right;
    find_inside(&conv->y, ky, &top, &bottom);
    find_inside(&conv->x, kx, &left, &right);
    for (int64_t y = top; y < bottom; y++) {
        const double *in = image + (y * conv->y.stride + ky * conv->y.dilation - conv->y.padding) * conv->x.in;
        const int64_t shift = kx * conv->x.dilation - conv->x.padding;
        double *to = out + y * conv->x.out;
        if (conv->x.stride == 1) /* the compiler makes vectors of this */
            for (int64_t x = left; x < right; x++)
                to[x] += w * in[x + shift];
        else
            for (int64_t x = left; x < right; x++)
                to[x] += w * in[x * conv->x.stride + shift];
    }
}

/* The products of one group of rows and of outputs at all places of a convolution, or those of their squares. */
static void convolve(const linear *l, uint64_t g, uint64_t h, bool squares, double *sum)
{
    const convolution *conv = &l->conv;
    const int64_t image = conv->y.in * conv->x.in, kernel = conv->y.kernel * conv->x.kernel;
    const uint64_t group = assay_sketch_first_row(h, l->w->rows, l->w->groups) * conv->groups / l->w->rows;
    const double *xs = (squares ? l->x2 : l->xs) + g * l->x->columns + group * (uint64_t)(conv->channels * image);
    const double *ws = (squares ? l->w->squares : l->w->sum) + h * l->w->columns;
    memset(sum, 0, l->places * sizeof *sum);
    for (int64_t c = 0; c < conv->channels; c++)
        for (int64_t k = 0; k < kernel; k++)
            add_element(conv, k / conv->x.kernel, k % conv->x.kernel, xs + c * image, ws[c * kernel + k], sum);
}

/* One group of rows. */
typedef struct linear_rows {
    uint64_t g;
    double count, signs;
} linear_rows;

/* One group of rows and of outputs, of which `sum` and `factors` are the products at all places. */
static void look_at_cell(const linear *l, const linear_rows *rows, uint64_t h, const double *sum, const double *factors,
                         linear_fit *fits)
{
    const uint64_t g = rows->g;
    const double bias = l->b ? rows->signs * l->bs[h] : 0, of_bias = l->b ? rows->count * l->b2[h] : 0;
    const double elements = rows->count * (double)(assay_sketch_first_row(h + 1, l->w->rows, l->w->groups) -
                                                   assay_sketch_first_row(h, l->w->rows, l->w->groups));
    const uint64_t at = (g * l->w->groups + h) * l->places;
    for (uint64_t i = 0; i < l->places; i++) {
        double bound[LINEAR_FORMS];
        linear_bounds(&l->rounding, factors[i] + of_bias, l->y2[at + i], elements, bound);
        const double apart = fabs(l->ys[at + i] - (sum[i] + bias));
        if (apart > bound[LINEAR_TF32] && l->conv.channels == 0) /* rarely: this takes as long as all before */
            linear_bounds(&l->rounding, fmax(factors[i], of_alike_rows(l, g, h)) + of_bias, l->y2[at + i], elements,
                          bound);
        for (int form = 0; form < LINEAR_FORMS; form++)
            look(&fits[form], l, g, h, apart, bound[form]);
    }
}

/* Are all cells of a group of rows, at all places, within what the roundings of their outputs alone allow? Then nobody needs
 * to know the squares of products, which are half of the work. */
static bool are_near(const linear *l, const linear_rows *rows, uint64_t h, uint64_t count, const double *sum)
{
    double bound[LINEAR_FORMS];
    linear_bounds(&l->rounding, 0, 1, 0, bound);
    const double most = bound[LINEAR_EXACT] * bound[LINEAR_EXACT];
    const uint64_t at = (rows->g * l->w->groups + h) * l->places;
    bool near = true;
    for (uint64_t i = 0; i < count; i++) {
        const double bias = l->b ? rows->signs * l->bs[h + i / l->places] : 0;
        const double apart = l->ys[at + i] - (sum[i] + bias);
        near &= apart * apart <= most * l->y2[at + i];
    }
    return near;
}

/* Of a linear layer. `sum` and `factors` are room for the cells of one group of rows. */
static void look_at_products(const linear *l, const linear_rows *rows, double *sum, double *factors, linear_fit *fits)
{
    const uint64_t inputs = l->w->columns, groups = l->w->groups;
    assay_sketch_multiply(l->xs + rows->g * inputs, l->w->sum, inputs, groups, sum);
    if (are_near(l, rows, 0, groups, sum))
        return;
    assay_sketch_multiply(l->x2 + rows->g * inputs, l->w->squares, inputs, groups, factors);
    for (uint64_t h = 0; h < groups; h++)
        look_at_cell(l, rows, h, sum + h, factors + h, fits);
}

/* `sum` and `factors` are room for the places of one cell, or for the cells of one group of rows. */
static void look_at_cells(const linear *l, double *sum, double *factors, linear_fit *fits)
{
    for (uint64_t g = 0; g < l->rows; g++) {
        const uint64_t first = assay_sketch_first_row(g, l->x->rows, l->rows),
                       end = assay_sketch_first_row(g + 1, l->x->rows, l->rows);
        const linear_rows rows = {g, (double)(end - first), l->b ? law_signs(first, end) : 0};
        if (l->conv.channels == 0)
            look_at_products(l, &rows, sum, factors, fits);
        for (uint64_t h = 0; l->conv.channels > 0 && h < l->w->groups; h++) {
            convolve(l, g, h, false, sum);
            if (are_near(l, &rows, h, l->places, sum))
                continue;
            convolve(l, g, h, true, factors);
            look_at_cell(l, &rows, h, sum, factors, fits);
        }
    }
}

/* Cells that are multiplied together. */
static uint64_t at_once(const linear *l)
{
    return l->conv.channels == 0 ? l->w->groups : l->places;
}

/* Adds a row for each form. */
static int add_forms(const law_step *step, const assay_tensor_view *item, const linear *l, double *room)
{
    uint8_t *off = calloc(LINEAR_FORMS, l->rows + l->w->groups);
    linear_fit fits[LINEAR_FORMS] = {{{0}, NULL, NULL}};
    int status = off ? ASSAY_OK : ASSAY_ENOMEM;
    for (int form = 0; off && form < LINEAR_FORMS; form++) {
        fits[form].row_off = off + (size_t)form * (l->rows + l->w->groups);
        fits[form].column_off = fits[form].row_off + l->rows;
    }
    if (off)
        look_at_cells(l, room, room + at_once(l), fits);
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

/* How many groups of rows: as many as both have, but fewer where that would be much work: more products than numbers that
 * were read for them, four times as many where the output's roundings are large. 0: too much in any case. */
static uint64_t rows_of(const linear *l)
{
    enum { LEAST_WORK = 1 << 22, MOST_WORK = 1 << 25 };
    const uint64_t work = l->w->groups * l->places * l->w->columns;
    const uint64_t read = (l->x->rows * l->x->columns + l->w->rows * l->w->columns + l->y->rows * l->y->columns) / 3;
    const uint64_t most = l->rounding.output > 0x1p-10 ? 4 * read : read;
    const uint64_t usual = l->conv.channels == 0 && most > LEAST_WORK ? most : LEAST_WORK;
    uint64_t rows = l->x->groups < l->y->groups ? l->x->groups : l->y->groups, fewer = 1;
    if (work > MOST_WORK)
        return 0;
    if (rows * work <= usual)
        return rows;
    while (2 * fewer < rows && 2 * fewer * work <= usual)
        fewer *= 2;
    return fewer;
}

static int compare(const law_step *step, const assay_tensor_view *item, linear *l)
{
    const uint64_t groups = l->w->groups, cells = groups * l->places;
    l->rows = rows_of(l);
    if (l->rows == 0)
        return ASSAY_OK;
    double *room = calloc(2 * (l->rows * (l->x->columns + cells) + groups + at_once(l)) + l->w->rows, sizeof *room);
    ASSAY_HAVE(room);
    double *of_x = room + 2 * at_once(l), *of_b = of_x + 2 * l->rows * l->x->columns;
    l->ys = of_b + 2 * groups;
    l->y2 = l->ys + l->rows * cells;
    join_rows(l->x, l->rows, of_x, &l->xs, &l->x2);
    join_tiles(l, l->y2 + l->rows * cells);
    if (l->b)
        join_bias(l, of_b);
    const int status = add_forms(step, item, l, room);
    free(room);
    return status;
}

bool linear_set_rounding(linear_rounding *r, int x, int w, int y, double products, double outputs)
{
    enum {
        FEW = 16 * 16 * 16
    }; /* multiplications: PyTorch on the CPU rounds the sum behind each of them, if it has 16 bits */
    const double factors = fmin(law_rounding(x), law_rounding(w));
    r->products = products;
    r->output = law_rounding(y);
    r->factors = y != ASSAY_FLOAT32 && factors < r->output ? r->output : 0;
    r->sums = y == ASSAY_FLOAT64 ? 0x1p-50 : products * outputs <= FEW ? fmax(r->output, 0x1p-24) : 0x1p-24;
    r->least = y == ASSAY_FLOAT16 ? 0x1p-24 : 0;
    return factors > 0 && r->output > 0;
}

bool linear_says_something(const linear_rounding *r)
{
    return 6 * r->sums * (sqrt(r->products) / 3 + 2) < 0.5;
}

/* An argument of a convolution along axis `at`, from `least` on. */
static bool take_argument(const char *module, const char *name, int at, int64_t least, int64_t *value)
{
    enum { MOST = 1 << 20 };
    double x;
    if (!assay_module_number(module, name, at, &x) || !(x >= (double)least) || x > MOST || x != floor(x))
        return false;
    *value = (int64_t)x;
    return true;
}

/* Stride, padding and dilation along axis `at` as the trial says them. */
static bool take_axis(conv_axis *a, const char *module, int at)
{
    if (!take_argument(module, "stride", at, 1, &a->stride) || !take_argument(module, "dilation", at, 1, &a->dilation))
        return false;
    const int64_t reach = a->dilation * (a->kernel - 1);
    if (assay_module_says(module, "padding", "same")) {
        a->padding = reach / 2;
        return a->stride == 1 && a->in == a->out;
    }
    if (assay_module_says(module, "padding", "valid"))
        a->padding = 0;
    else if (!take_argument(module, "padding", at, 0, &a->padding))
        return false;
    return a->in + 2 * a->padding > reach && (a->in + 2 * a->padding - reach - 1) / a->stride + 1 == a->out;
}

/* Finds stride and padding along axis `at` of a module; NULL: what it is is not known. */
static bool find_axis(conv_axis *a, int64_t in, int64_t out, int64_t kernel, const char *module, int at)
{
    *a = (conv_axis){in, out, kernel, out > 0 && in / out > 1 ? in / out : 1, (kernel - 1) / 2, 1};
    if (in < 1 || out < 1 || kernel < 1)
        return false;
    if (assay_module_kind_of(module) == ASSAY_MODULE_CONVOLUTION)
        return take_axis(a, module, at);
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

/* What convolution of one or two axes has such shapes. */
static bool find_convolution(convolution *conv, const char *module, const assay_tensor_view *x,
                             const assay_tensor_view *w, const assay_tensor_view *y)
{
    const int dims = w->dims, kind = assay_module_kind_of(module);
    if (dims > 4 || x->dims != dims || y->dims != dims || w->shape[1] < 1 || x->shape[1] % w->shape[1] != 0 ||
        y->shape[1] != w->shape[0] || (kind != ASSAY_MODULE_UNKNOWN && kind != ASSAY_MODULE_CONVOLUTION) ||
        (kind == ASSAY_MODULE_CONVOLUTION && !assay_module_says(module, "padding_mode", "zeros")) ||
        !find_axis(&conv->x, x->shape[dims - 1], y->shape[dims - 1], w->shape[dims - 1], module, dims - 3))
        return false;
    conv->groups = (uint64_t)(x->shape[1] / w->shape[1]);
    return dims == 3 ? find_axis(&conv->y, 1, 1, 1, NULL, 0)
                     : find_axis(&conv->y, x->shape[2], y->shape[2], w->shape[2], module, 0);
}

/* Are the outputs of each cell of one group of channels? */
static bool are_apart(const convolution *conv, const assay_sketch *w)
{
    if (conv->groups < 1 || w->rows % conv->groups != 0)
        return false;
    for (uint64_t h = 0; conv->groups > 1 && h < w->groups; h++)
        if (assay_sketch_first_row(h, w->rows, w->groups) * conv->groups / w->rows !=
            (assay_sketch_first_row(h + 1, w->rows, w->groups) - 1) * conv->groups / w->rows)
            return false;
    return true;
}

/* The bias of a weight, in groups of which those of the weight can be joined; NULL: there is none. */
static const assay_sketch *bias_of(const law_step *step, const assay_tensor_view *item, const assay_sketch *w)
{
    const assay_sketch *b = law_sketch(step, OF_WEIGHT, item);
    if (b && b->rows == w->rows && b->groups >= w->groups)
        return b;
    b = item && item->dims == 1 ? law_sketch(step, OF_VECTOR, item) : NULL;
    return b && b->columns == w->rows ? b : NULL;
}

/* One pass of the module that the weight belongs to. */
static int test_pass(const law_step *step, const assay_tensor_view *weight, uint32_t input, uint32_t output,
                     uint32_t bias)
{
    const assay_tensor_view *x = law_item(step, LAW_INPUTS, input, weight->worker);
    const assay_tensor_view *y = law_item(step, LAW_OUTPUTS, output, weight->worker);
    const assay_tensor_view *b = law_item(step, LAW_WEIGHTS, bias, weight->worker);
    linear l = {
        .w = law_sketch(step, OF_WEIGHT, weight),
        .x = law_sketch(step, weight->dims > 2 ? OF_IMAGES : OF_INPUT, x),
        .y = law_sketch(step, weight->dims > 2 ? OF_IMAGES_OUT : OF_OUTPUT, y),
        .conv = {.channels = weight->dims > 2 ? weight->shape[1] : 0},
    };
    if (!l.w || !l.x || !l.y)
        return ASSAY_OK;
    if (l.conv.channels > 0) {
        if (!find_convolution(&l.conv, assay_trial_module_of(step->rule->trial, y->name), x, weight, y))
            return ASSAY_OK;
        if (!are_apart(&l.conv, l.w))
            l.w = law_sketch(step, OF_KERNELS, weight);
        if (!l.w || !are_apart(&l.conv, l.w))
            return ASSAY_OK;
    }
    l.b = bias_of(step, b, l.w);
    if ((l.conv.channels == 0 && (l.x->columns != l.w->columns || l.y->columns != l.w->rows)) ||
        l.x->rows != l.y->rows || (bias != ASSAY_NO_TENSOR && !l.b) ||
        !linear_set_rounding(&l.rounding, x->dtype, weight->dtype, y->dtype, (double)l.w->columns,
                             (double)(l.y->rows * l.y->columns)))
        return ASSAY_OK;
    l.rounding.sums *= l.conv.channels > 0 ? CONVOLVED : 1;
    if (!linear_says_something(&l.rounding))
        return ASSAY_OK;
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
