/* laws.c - both sides of the laws of computation, in cells, and the records of them: what they are of is said, and decided,
 * by assay_recording/laws.py. Here is what would take longer than reading the tensors if Python did it.
 *
 * A matrix is joined to groups of rows by sketch.c; columns are joined to tiles here, with the signs that rows have. */
#include <assay/hook.h>
#include <assay/measure.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "hook/laws.h"
#include "hook/sketch.h"
#include "tensor/convert.h"
#include "tensor/measure.h"

enum {
    MOST_GROUPS = HOOK_LAW_GROUPS,
    MOST_CELLS = HOOK_LAW_CELLS,
    MOST_COLUMNS = 8192, /* so that there are as many groups as were asked for */
    MOST_OF_A_COLUMN = 256,
    PARTS = 8, /* of the rows of a sum */
};

/* As numpy.maximum(): NaN where one of them is. */
static double larger(double a, double b)
{
    return a >= b || isnan(a) ? a : b;
}

static bool is_group_count(int n)
{
    return n > 0 && n <= MOST_GROUPS;
}

static bool has_cells(const assay_hook_law *law)
{
    return is_group_count(law->groups) && is_group_count(law->tiles);
}

/* ---- a record ---- */

static void put(hook_law_record *r, double x)
{
    r->number[r->count++] = (float)x;
}

static void put_all(hook_law_record *r, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put(r, x[i]);
}

int assay_hook_save_floats(assay_hook *hook, size_t count, const char *const *names, const uint64_t *sizes,
                           const float *values)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < count; values += sizes[i++]) {
        const int64_t shape[] = {(int64_t)sizes[i]};
        ASSAY_THEN(status, assay_hook_save(hook, names[i], ASSAY_FLOAT32, 1, shape, values));
    }
    return status;
}

/* ---- sums ---- */

/* Sums and squares of a matrix, [groups][columns] each; `sum` is what to free. */
typedef struct joined_rows {
    double *sum, *squares;
} joined_rows;

static bool join_rows(assay_hook_operand x, uint64_t rows, uint64_t columns, int groups, joined_rows *out)
{
    const size_t cells = (size_t)groups * (size_t)columns;
    if (columns == 0 || columns > MOST_COLUMNS || (uint64_t)groups > rows)
        return false;
    *out = (joined_rows){.sum = assay_alloc(2 * cells * sizeof(double))};
    out->squares = out->sum ? out->sum + cells : NULL;
    const hook_sketch_part part = {HOOK_SKETCH_ROWS, groups, out->sum};
    return out->sum && hook_sketch_together(&(assay_hook_rows){x.values, NULL, x.dtype, rows, columns}, &part, 1);
}

/* Adds columns to the tiles that they are in. */
static void join_columns(const double *x, uint64_t columns, int tiles, bool is_signed, double *out)
{
    for (int h = 0; h < tiles; h++)
        for (uint64_t j = assay_sketch_first_row((uint64_t)h, columns, (uint64_t)tiles),
                      end = assay_sketch_first_row((uint64_t)h + 1, columns, (uint64_t)tiles);
             j < end; j++)
            out[h] += is_signed ? assay_sketch_sign(j) * x[j] : x[j];
}

/* The sum of the signs of a group's rows. */
static double signs_of(int group, uint64_t rows, int groups)
{
    double sum = 0;
    for (uint64_t i = assay_sketch_first_row((uint64_t)group, rows, (uint64_t)groups),
                  end = assay_sketch_first_row((uint64_t)group + 1, rows, (uint64_t)groups);
         i < end; i++)
        sum += assay_sketch_sign(i);
    return sum;
}

/* n numbers of a weight or bias; `other` where there is none. False: it is of no type that has numbers. */
static bool read_vector(assay_hook_operand x, double other, uint64_t n, double *out)
{
    for (uint64_t i = 0; !x.values && i < n; i++)
        out[i] = other;
    if (x.values)
        assay_to_double(x.dtype, x.values, (size_t)n, out);
    return !x.values || assay_dtype_size(x.dtype) > 0;
}

void hook_law_sum_columns(int form, const assay_hook_columns *of, size_t i, size_t stride, double *out)
{
    double own[4 * MOST_OF_A_COLUMN];
    const uint64_t groups = of->first[i + 1] - of->first[i];
    if (of->x[i] && groups > 0 && groups <= MOST_OF_A_COLUMN &&
        assay_hook_sketch(form,
                          &(assay_hook_rows){of->x[i], of->y ? of->y[i] : NULL, of->dtypes[i], of->elements[i], 1},
                          (int)groups, own) == (int)groups)
        for (size_t kind = 0; kind < (form == ASSAY_SKETCH_ADAM ? 4 : 2); kind++)
            memcpy(out + kind * stride + of->first[i], own + kind * groups, groups * sizeof *out);
}

/* ---- y = x Wt + b ---- */

/* Of each cell: how far y is from that, squares of the products, squares of y. */
static void linear_cells(const assay_hook_law *law, const double *of_weight, const joined_rows *x, const joined_rows *y,
                         const double *bias, double *cells)
{
    const uint64_t inputs = law->inputs, outputs = law->outputs;
    const int groups = law->groups, tiles = law->tiles;
    double sums[MOST_GROUPS] = {0}, squares[MOST_GROUPS] = {0}, squared[MOST_COLUMNS];
    const double *w = of_weight, *w_squares = w + (size_t)tiles * inputs;
    for (uint64_t j = 0; j < outputs; j++)
        squared[j] = bias[j] * bias[j];
    join_columns(bias, outputs, tiles, true, sums);
    join_columns(squared, outputs, tiles, false, squares);
    for (int g = 0; g < groups; g++) {
        const double *own = x->sum + (size_t)g * inputs, *own_squares = x->squares + (size_t)g * inputs;
        double *at = cells + (size_t)g * (size_t)tiles, *products = at + (size_t)groups * (size_t)tiles;
        double *out = products + (size_t)groups * (size_t)tiles;
        const double signs = signs_of(g, law->rows, groups);
        join_columns(y->sum + (size_t)g * outputs, outputs, tiles, true, at);
        join_columns(y->squares + (size_t)g * outputs, outputs, tiles, false, out);
        for (int h = 0; h < tiles; h++) {
            const assay_products p = assay_sketch_products(own, own_squares, w + (size_t)h * inputs,
                                                           w_squares + (size_t)h * inputs, (size_t)inputs);
            at[h] -= p.sum + signs * sums[h];
            products[h] = larger(p.squares, p.crossed / 2) + (double)law->rows / groups * squares[h];
        }
    }
}

bool hook_law_sum_weight(const assay_hook_law *law, double *out)
{
    const hook_sketch_part part = {HOOK_SKETCH_ROWS, law->tiles, out};
    return is_group_count(law->tiles) && law->inputs <= MOST_COLUMNS && (uint64_t)law->tiles <= law->outputs &&
           hook_sketch_together(
               &(assay_hook_rows){law->weight.values, NULL, law->weight.dtype, law->outputs, law->inputs}, &part, 1);
}

bool hook_law_linear(const assay_hook_law *law, const double *of_weight, double *of_columns, hook_law_record *r)
{
    joined_rows of_x = {0}, of_y = {0};
    double of_bias[MOST_COLUMNS], cells[3 * MOST_CELLS] = {0};
    bool is_made =
        has_cells(law) && law->inputs > 0 && law->inputs <= MOST_COLUMNS && (uint64_t)law->groups <= law->rows;
    if (is_made) {
        const size_t of_a_row = (size_t)law->groups * (size_t)law->inputs;
        of_x.sum = assay_alloc(2 * of_a_row * sizeof(double));
        of_x.squares = of_x.sum ? of_x.sum + of_a_row : NULL;
        const hook_sketch_part parts[] = {{HOOK_SKETCH_ROWS, law->groups, of_x.sum},
                                          {HOOK_SKETCH_COLUMNS, hook_law_column_groups(law->inputs), of_columns}};
        is_made = of_x.sum &&
                  hook_sketch_together(&(assay_hook_rows){law->x.values, NULL, law->x.dtype, law->rows, law->inputs},
                                       parts, of_columns ? 2 : 1);
    }
    is_made = is_made && join_rows(law->y, law->rows, law->outputs, law->groups, &of_y) &&
              read_vector(law->bias, 0, law->outputs, of_bias);
    if (is_made) {
        linear_cells(law, of_weight, &of_x, &of_y, of_bias, cells);
        put_all(r, (double[]){(double)law->inputs, (double)law->rows, (double)law->outputs}, 3);
        put_all(r, (double[]){law->groups, law->tiles, 0}, 3);
        put_all(r, (double[]){law->x.dtype, law->weight.dtype, law->y.dtype}, 3);
        put_all(r, cells, 3 * (size_t)law->groups * (size_t)law->tiles);
    }
    free(of_x.sum);
    free(of_y.sum);
    return is_made;
}

/* ---- dW = dyt x ---- */

int assay_hook_law_products(const double *x, const double *y, uint64_t rows, int of_x, int of_y, double *out)
{
    if (!is_group_count(of_x) || !is_group_count(of_y))
        return -1;
    const int cells = of_x * of_y;
    double *sum = out, *squares = out + cells, *largest = out + 2 * (ptrdiff_t)cells, crossed[MOST_CELLS] = {0};
    for (int i = 0; i < 3 * cells; i++)
        out[i] = 0;
    for (uint64_t part = 0; part < PARTS; part++) {
        const uint64_t begin = part * rows / PARTS, n = (part + 1) * rows / PARTS - begin;
        double mean = 0;
        for (int c = 0; c < cells; c++) {
            const double *of = y + (uint64_t)(c / of_x) * rows + begin, *of_squares = of + (uint64_t)of_y * rows;
            assay_products p = {0};
            if (x) {
                const double *other = x + (uint64_t)(c % of_x) * rows + begin;
                p = assay_sketch_products(other, other + (uint64_t)of_x * rows, of, of_squares, (size_t)n);
            }
            for (uint64_t i = 0; !x && i < n; i++) {
                p.sum += of[i];
                p.squares += of_squares[i];
            }
            sum[c] += p.sum;
            squares[c] += p.squares;
            crossed[c] += p.crossed;
            mean += sum[c] * sum[c] / cells;
        }
        for (int c = 0; c < cells; c++)
            largest[c] = larger(largest[c], larger(sum[c] * sum[c], mean));
    }
    for (int c = 0; c < cells; c++)
        squares[c] = larger(squares[c], crossed[c] / 2);
    return ASSAY_OK;
}

/* Half the distance from 1 to the next number. */
static double half_step(int dtype)
{
    return dtype == ASSAY_FLOAT64    ? 0x1p-53
           : dtype == ASSAY_FLOAT16  ? 0x1p-11
           : dtype == ASSAY_BFLOAT16 ? 0x1p-8
                                     : 0x1p-24;
}

void hook_law_expect(hook_law_expected *e, const int dtypes[2], uint64_t products, double *sums, size_t cells)
{
    const double u = half_step(dtypes[1]), of_floats = half_step(ASSAY_FLOAT32);
    const double share = 6 * of_floats * (sqrt((double)products) / 3 + 2) / (4 * u);
    double alone = 0;
    for (size_t c = 0; u > of_floats && share < 1 && c < cells; c++)
        sums[2 * cells + c] *= share * share;
    for (size_t c = 0; e->products > 0 && c < cells; c++)
        alone += (sums[c] * sums[c] + e->sums[c] * e->sums[c]) / (double)cells;
    for (size_t i = 0; i < 3 * cells; i++)
        e->sums[i] = sums[i] + (e->products > 0 ? e->sums[i] : 0) + (i >= 2 * cells ? alone : 0);
    e->products += products;
    memcpy(e->dtypes, dtypes, sizeof e->dtypes);
}

bool hook_law_gradient(const assay_hook_law *law, const double *of_rows, const hook_law_expected *e, hook_law_record *r)
{
    const int groups = e->groups, tiles = e->tiles;
    const bool is_bias = law->inputs == 0; /* of which each output has one number */
    const uint64_t columns = is_bias ? 1 : law->inputs;
    if (!is_group_count(groups) || !is_group_count(tiles) || e->places != 1 || (uint64_t)tiles > columns)
        return false;
    const size_t cells = (size_t)groups * (size_t)tiles;
    const double *of_squares = of_rows + (size_t)groups * columns;
    double got[MOST_CELLS] = {0}, squares[MOST_CELLS] = {0};
    for (int g = 0; g < groups; g++) {
        join_columns(of_rows + (size_t)g * columns, columns, tiles, !is_bias, got + (ptrdiff_t)g * tiles);
        join_columns(of_squares + (size_t)g * columns, columns, tiles, false, squares + (ptrdiff_t)g * tiles);
    }
    for (size_t c = 0; c < cells; c++) {
        got[c] -= e->sums[c];
        squares[c] = larger(squares[c], e->sums[2 * cells + c]);
    }
    /* A product of 16 bits that was cast behind it. */
    const bool cast = assay_dtype_size(law->weight.dtype) > 2 && assay_dtype_size(e->dtypes[1]) == 2;
    put_all(r, (double[]){(double)e->products, (double)law->outputs, (double)columns, groups, tiles, is_bias}, 6);
    put_all(r, (double[]){e->dtypes[0], e->dtypes[1], cast ? e->dtypes[1] : law->weight.dtype}, 3);
    put_all(r, got, cells);
    put_all(r, e->sums + cells, cells);
    put_all(r, squares, cells);
    return true;
}

/* ---- norms of rows ---- */

typedef struct norm_sides {
    joined_rows normalised, y;
    double weight[MOST_COLUMNS], bias[MOST_COLUMNS];
    double want[MOST_COLUMNS], terms[MOST_COLUMNS]; /* of one group, each column by itself */
} norm_sides;

/* One form of it: what has to come out, with a weight that is larger by `more`. */
static void put_norm(hook_law_record *r, const assay_hook_law *law, norm_sides *n, double form, double more)
{
    const uint64_t rows = law->rows, columns = law->inputs;
    const int groups = law->groups, tiles = law->tiles;
    double cells[3 * MOST_CELLS] = {0};
    const size_t all = (size_t)groups * (size_t)tiles;
    for (int g = 0; g < groups; g++) {
        const double *x = n->normalised.sum + (size_t)g * columns,
                     *x_squares = n->normalised.squares + (size_t)g * columns;
        const double signs = signs_of(g, rows, groups);
        const double count = (double)(assay_sketch_first_row((uint64_t)g + 1, rows, (uint64_t)groups) -
                                      assay_sketch_first_row((uint64_t)g, rows, (uint64_t)groups));
        for (uint64_t j = 0; j < columns; j++) {
            const double w = n->weight[j] + more, b = n->bias[j];
            n->want[j] = n->y.sum[(size_t)g * columns + j] - (w * x[j] + signs * b);
            n->terms[j] = w * w * (x_squares[j] + count) + count * b * b;
        }
        double *at = cells + (ptrdiff_t)g * tiles;
        join_columns(n->want, columns, tiles, true, at);
        join_columns(n->y.squares + (size_t)g * columns, columns, tiles, false, at + all);
        join_columns(n->terms, columns, tiles, false, at + 2 * all);
    }
    put(r, form);
    put_all(r, cells, 3 * all);
}

bool hook_law_norm(const assay_hook_law *law, hook_law_record *r)
{
    norm_sides *n = assay_alloc_zeroed(1, sizeof *n);
    const uint64_t rows = law->rows, columns = law->inputs;
    const bool roots = signbit(law->e);
    bool is_made = false;
    if (n && has_cells(law) && (uint64_t)law->tiles <= columns &&
        join_rows(law->y, rows, columns, law->groups, &n->y) && read_vector(law->weight, 1, columns, n->weight) &&
        read_vector(law->bias, 0, columns, n->bias)) {
        const size_t cells = (size_t)law->groups * (size_t)columns;
        n->normalised.sum = assay_alloc(2 * cells * sizeof(double));
        if (n->normalised.sum &&
            hook_sketch_normalised(&(assay_hook_rows){law->x.values, NULL, law->x.dtype, rows, columns}, law->groups,
                                   law->e, n->normalised.sum) == law->groups) {
            n->normalised.squares = n->normalised.sum + cells;
            put_all(r, (double[]){(double)rows, (double)columns, law->groups, law->tiles, law->y.dtype}, 5);
            put_norm(r, law, n, roots ? 2 : 0, 0);
            if (roots)
                put_norm(r, law, n, 3, 1);
            is_made = true;
        }
        free(n->normalised.sum);
    }
    if (n)
        free(n->y.sum);
    free(n);
    return is_made;
}
