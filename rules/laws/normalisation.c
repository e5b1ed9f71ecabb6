/* normalisation.c - y = (x - mean) / sqrt(variance + e) w + b, with e = 1e-5 unless the trial says another:
 *   layer    mean and variance of each row of the last axis: the sketch is of rows that were normalised
 *   batch    of each channel over the batch, as in training; linear in images, once they are known
 *   root     y = x / sqrt(mean of squares + e) w of each row, or with 1 + w; where the trial says that it is such a module
 * An element rounds in its type, six times as much where steps between do too, and by 64 u of its terms: of a mean that
 * is subtracted, and of sums. Where both are large beside what comes out, three steps between round by 4 u of the type each
 * (PyTorch on the CPU has x times the scale, and the mean times it, in 16 bits). The mean is a sum of x, which rounds by what
 * these are in mean, whatever comes out: 1, once it is normalised. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "laws/law.h"

typedef struct norm {
    const assay_sketch *x, *y, *w, *b; /* w and b: one row; b NULL: there is none */
    const assay_channels *channels;    /* NULL: by rows */
    int dtype;                         /* of the output */
    double e, more;                    /* w + more */
} norm;

double norm_bound(int dtype, double outputs, double terms)
{
    const double arithmetic = dtype == ASSAY_FLOAT64 ? 0x1p-52 : 0x1p-24, u = law_rounding(dtype);
    return 24 * u * sqrt(outputs) + fmax(64 * arithmetic, 12 * u) * sqrt(terms) + 0x1p-126;
}

/* What a cell of the output is to be, and the squares of its terms. */
static double expected(const norm *n, uint64_t rows, uint64_t c, double x, double x2, double signs, double *squares)
{
    const double sign = assay_sketch_sign(0), w = sign * n->w->sum[c] + n->more, b = n->b ? sign * n->b->sum[c] : 0;
    double scale = w, mean = 0;
    if (n->channels) {
        const double count = (double)n->channels->elements;
        mean = n->channels->sum[c] / count;
        scale = w / sqrt(fmax(n->channels->squares[c] / count - mean * mean, 0) + n->e);
    }
    *squares = scale * scale * x2 + (double)rows * (scale * scale * mean * mean + w * w + b * b);
    return scale * (x - signs * mean) + signs * b;
}

static int compare(const law_step *step, const assay_tensor_view *item, const norm *n, int form)
{
    const uint64_t columns = n->x->columns, places = columns / n->w->columns;
    double row[LAW_WIDTH] = {[LAW_OF] = LAW_NORMALISATION, [LAW_VARIANT] = form};
    uint8_t *off = calloc(n->w->columns, 1);
    ASSAY_HAVE(off);
    for (uint64_t g = 0; g < n->x->groups; g++) {
        const uint64_t first = assay_sketch_first_row(g, n->x->rows, n->x->groups),
                       end = assay_sketch_first_row(g + 1, n->x->rows, n->x->groups);
        const double signs = law_signs(first, end);
        bool row_off = false;
        for (uint64_t i = 0; i < columns; i++) {
            const uint64_t at = g * columns + i;
            double squares;
            const double want = expected(n, end - first, i / places, n->x->sum[at], n->x->squares[at], signs, &squares);
            const double apart = fabs(n->y->sum[at] - want);
            const double bound = norm_bound(n->dtype, n->y->squares[at], squares);
            const double ratio = apart / bound;
            row_off = row_off || ratio > 1;
            off[i / places] |= ratio > 1;
            if (!(ratio > row[LAW_RATIO]))
                continue;
            row[LAW_RATIO] = ratio;
            row[LAW_APART] = apart;
            row[LAW_BOUND] = bound;
            row[LAW_ROW] = (double)first;
            row[LAW_ROW_END] = (double)end;
            row[LAW_COLUMN] = (double)(i / places);
            row[LAW_COLUMN_END] = row[LAW_COLUMN] + 1;
        }
        row[LAW_ROWS_OFF] += row_off;
    }
    row[LAW_ROWS] = (double)n->x->groups;
    row[LAW_COLUMNS] = (double)n->w->columns;
    for (uint64_t c = 0; c < n->w->columns; c++)
        row[LAW_COLUMNS_OFF] += off[c];
    free(off);
    return assay_series_add(step->series, step->view->step, item->tensor, item->worker, row);
}

static bool is_complete(const norm *n, bool has_bias)
{
    return n->x && n->y && n->w && (n->b || !has_bias) && n->x->rows == n->y->rows && n->x->columns == n->y->columns &&
           n->x->groups == n->y->groups && n->w->rows == 1 && n->x->columns % n->w->columns == 0 &&
           (!n->b || n->b->columns == n->w->columns);
}

/* Are sums of squares of a channel more than a float? Then a module of floats computes something else. */
static bool is_beyond_floats(const assay_channels *channels, int dtype)
{
    bool is = false;
    for (uint64_t c = 0; dtype != ASSAY_FLOAT64 && c < channels->channels; c++)
        is = is || !(channels->squares[c] <= (double)FLT_MAX);
    return is;
}

/* Did a norm of batches take its running figures, and not those of the batch? */
static bool is_in_eval(const law_step *step, const assay_tensor_view *weight)
{
    const char *module;
    size_t length;
    if (!law_module(step, weight->name, &module, &length))
        return false;
    const uint32_t mean = law_tensor(step, "%.*s.running_mean", (int)length, module);
    const assay_sketch *s = mean == ASSAY_NO_TENSOR
                                ? NULL
                                : law_sketch(step, OF_AVERAGE, law_item(step, LAW_AVERAGES, mean, weight->worker));
    return s && law_stands(s);
}

static int test_pass(const law_step *step, const assay_tensor_view *weight, uint32_t input, uint32_t output,
                     uint32_t bias)
{
    const assay_tensor_view *x = law_item(step, LAW_INPUTS, input, weight->worker);
    const assay_tensor_view *y = law_item(step, LAW_OUTPUTS, output, weight->worker);
    norm n = {.w = law_sketch(step, OF_VECTOR, weight),
              .b = law_sketch(step, OF_VECTOR, law_item(step, LAW_WEIGHTS, bias, weight->worker)),
              .dtype = y ? y->dtype : 0};
    if (!x || !y || law_rounding(y->dtype) == 0 || x->dims < 2)
        return ASSAY_OK;
    n.x = law_sketch(step, OF_NORMALISED, x);
    n.y = law_sketch(step, OF_OUTPUT, y);
    const char *module = assay_trial_module_of(step->rule->trial, y->name);
    const bool roots = assay_module_kind_of(module) == ASSAY_MODULE_NORM_ROOT;
    if (is_complete(&n, bias != ASSAY_NO_TENSOR) && n.w->columns == n.x->columns) {
        ASSAY_TRY(compare(step, y, &n, roots ? NORMALISED_BY_ROOTS : NORMALISED_BY_ROWS));
        n.more = 1;
        ASSAY_TRY(roots ? compare(step, y, &n, NORMALISED_BY_ROOTS_PLUS) : ASSAY_OK);
        n.more = 0;
    }
    if (!assay_module_number(module, "eps", 0, &n.e) || !(n.e >= 0))
        n.e = 1e-5;
    const assay_result *channels = assay_view_result(step->view, OF_CHANNELS, x);
    n.x = law_images(step, OF_IMAGES, OF_INPUT, x);
    n.y = law_images(step, OF_IMAGES_OUT, OF_OUTPUT, y);
    n.channels = channels ? &channels->of.channels : NULL;
    if (!n.channels || !is_complete(&n, bias != ASSAY_NO_TENSOR) || n.channels->channels != n.w->columns ||
        is_beyond_floats(n.channels, y->dtype) || is_in_eval(step, weight))
        return ASSAY_OK;
    return compare(step, y, &n, NORMALISED_BY_CHANNELS);
}

int law_normalisation(const law_step *step)
{
    const assay_slot_view *weights = &step->view->slot[LAW_WEIGHTS];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < weights->count; i++)
        status = weights->items[i]->dims == 1 ? law_passes(step, weights->items[i], test_pass) : ASSAY_OK;
    return status;
}
