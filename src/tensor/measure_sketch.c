/* measure_sketch.c - SKETCH: rows of a tensor, joined into a few, each with its fixed random sign.
 *
 * A law that is linear in the rows, such as y = x Wt + b or m' = b1 m + (1 - b1) g, holds between sketches of its tensors
 * too, so that it is tested with a few numbers of each, whatever the tensors are and in whatever order they come. Signs
 * keep two errors from cancelling each other, as Freivalds' random vectors do; the squares say how large rounding can
 * be. With as many groups as rows nothing is lost but signs.
 *
 * A column's sum is taken row by row; where there is one column, in MEASURE_LANES lanes by the number of the row. So a
 * sum depends on the elements alone. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "tensor/convert.h"
#include "tensor/measure_kind.h"

enum { MOST_OF_A_GROUP = 4 /* times as many cells as there should be, in one group */ };

/* What is summed of one of the two tensors. */
typedef struct sketch_side {
    double *sum, *squares;
    double *row; /* NORMALISED: the row that is incomplete */
    channel_lanes lanes;
} sketch_side;

typedef struct sketch_state {
    uint64_t rows, columns, groups;
    int form; /* PLAIN where there is no reference that another one needs */
    bool two; /* sums of the reference beside the others */
    sketch_side own, before;
} sketch_state;

static bool is_signed(const sketch_state *s)
{
    return s->form != ASSAY_SKETCH_UNSIGNED && s->form != ASSAY_SKETCH_PRODUCT;
}

static uint64_t rows_of(const assay_meter *m)
{
    const int axis = m->measure.axis, rows = axis < 0 ? m->dims + axis : axis;
    uint64_t count = 1;
    for (int d = 0; d < m->dims && d < rows; d++)
        count *= (uint64_t)m->dim[d];
    return count;
}

/* Large tensors of what modules compute row by row, and matrices, have more groups, as long as there are 64
 * elements for each number: the roundings of few hide less. Those of bfloat16 hide most. But no sketch takes more than
 * 8 MiB for that, whatever the tensor has: it has to fit into little memory beside others. */
static void refine(const assay_meter *m, uint64_t *groups, uint64_t *cells)
{
    enum { OF_A_GROUP = 1 << 17, MOST_CELLS = 1 << 19 };
    const uint64_t more = m->dtype == ASSAY_BFLOAT16 ? 2 : 1, of_a_cell = 64 / more;
    const bool is_by_rows = m->measure.axis == -1 && m->measure.form != ASSAY_SKETCH_WHOLE;
    if ((!is_by_rows && (m->measure.axis != 1 || m->dims != 2)) || m->elements / of_a_cell <= *cells ||
        *cells >= MOST_CELLS)
        return;
    *cells = m->elements / of_a_cell < MOST_CELLS ? m->elements / of_a_cell : MOST_CELLS;
    for (uint64_t k = 0; k < more && 2 * *groups <= m->elements * more / OF_A_GROUP; k++)
        *groups *= 2;
}

/* Where every element is a row, a group has 64 of them, but there are 32 groups at least: more would cost more than the
 * elements themselves. */
static void coarsen(const assay_meter *m, uint64_t *groups)
{
    enum { OF_A_GROUP = 64, LEAST_GROUPS = 32 };
    const uint64_t enough = m->elements / OF_A_GROUP > LEAST_GROUPS ? m->elements / OF_A_GROUP : LEAST_GROUPS;
    if (m->measure.axis == ASSAY_SKETCH_FLAT && enough < *groups)
        *groups = enough;
}

static int start(assay_meter *m, assay_error *err)
{
    sketch_state *s = meter_state(m);
    uint64_t most_groups = (uint64_t)m->measure.number[0], most_cells = (uint64_t)m->measure.number[1];
    s->rows = rows_of(m);
    s->columns = m->elements / s->rows;
    s->groups = s->rows;
    if (s->columns > MOST_OF_A_GROUP * most_cells || (m->measure.axis == 0 && m->dims != 1) ||
        (m->measure.form == ASSAY_SKETCH_IMAGES && m->dims < 3) ||
        (m->measure.form == ASSAY_SKETCH_WHOLE && m->dims < SKETCH_OF_IMAGES))
        return 1;
    refine(m, &most_groups, &most_cells);
    coarsen(m, &most_groups);
    /* Not every row by itself: a power of two, so that groups of tensors with as many rows can be joined further. */
    if (s->rows > most_groups || s->rows * s->columns > most_cells)
        for (s->groups = 1;
             2 * s->groups <= most_groups && 2 * s->groups < s->rows && 2 * s->groups * s->columns <= most_cells;)
            s->groups *= 2;
    s->form = (int)m->measure.form;
    if (s->form >= ASSAY_SKETCH_IMAGES ||
        (!m->same_shape && (s->form == ASSAY_SKETCH_PRODUCT || s->form == ASSAY_SKETCH_ADAM)))
        s->form = ASSAY_SKETCH_PLAIN;
    s->two = m->same_shape && s->form != ASSAY_SKETCH_PRODUCT;
    const size_t sides = s->two ? 2 : 1;
    const uint64_t cells = s->groups * s->columns;
    const size_t row = m->measure.form == ASSAY_SKETCH_NORMALISED ? meter_bytes(s->columns, sides * sizeof(double)) : 0;
    ASSAY_TRY(meter_take(m, meter_bytes(cells, 2 * sides * sizeof(double)), row, row, err));
    s->own = (sketch_side){.sum = m->kept, .squares = (double *)m->kept + cells, .row = m->borrowed};
    if (s->two)
        s->before = (sketch_side){.sum = s->own.squares + cells,
                                  .squares = s->own.squares + 2 * cells,
                                  .row = row > 0 ? s->own.row + s->columns : NULL};
    return ASSAY_OK;
}

/* n elements of one row, from a column on. */
static void add_to_row(const assay_meter *m, sketch_side *side, uint64_t row, uint64_t column, const double *x,
                       size_t n)
{
    const sketch_state *s = meter_state((assay_meter *)m);
    const double sign = is_signed(s) ? assay_sketch_sign(row) : 1;
    const uint64_t cell = assay_sketch_group(row, s->rows, s->groups) * s->columns + column;
    double signed_x[METER_BLOCK];
    for (size_t i = 0; i < n; i++)
        signed_x[i] = sign * x[i];
    m->kernels->column_sums(side->sum + cell, side->squares + cell, signed_x, n);
}

static void close_lanes(sketch_side *side, uint64_t group)
{
    side->sum[group] += meter_joined(side->lanes.sum);
    side->squares[group] += meter_joined(side->lanes.squares);
    memset(&side->lanes, 0, sizeof side->lanes);
}

/* n rows of one column and one group. */
static void add_to_lanes(const assay_meter *m, channel_lanes *lanes, uint64_t row, const double *x, size_t n)
{
    for (size_t i = 0; i < n;) {
        const size_t lane = (size_t)((row + i) % MEASURE_LANES);
        if (lane == 0 && n - i >= MEASURE_LANES) {
            const size_t groups = (n - i) / MEASURE_LANES;
            m->kernels->channel_sums(lanes, x + i, groups);
            i += groups * MEASURE_LANES;
        } else {
            lanes->sum[lane] += x[i];
            lanes->squares[lane] += x[i] * x[i];
            i++;
        }
    }
}

/* n rows of one column. */
static void add_rows(const assay_meter *m, sketch_side *side, uint64_t row, const double *x, size_t n)
{
    const sketch_state *s = meter_state((assay_meter *)m);
    double signed_x[METER_BLOCK];
    for (size_t i = 0; i < n;) {
        const uint64_t signs = is_signed(s) ? assay_sketch_signs((row + i) / 64) : 0, from = (row + i) % 64;
        const size_t run = 64 - from < n - i ? (size_t)(64 - from) : n - i;
        for (size_t k = 0; k < run; k++) { /* without a branch, which nobody could predict */
            uint64_t bits;
            memcpy(&bits, x + i + k, sizeof bits);
            bits ^= signs >> (from + k) << 63;
            memcpy(signed_x + i + k, &bits, sizeof bits);
        }
        i += run;
    }
    for (size_t i = 0, some; i < n; i += some) {
        const uint64_t group = assay_sketch_group(row + i, s->rows, s->groups);
        const uint64_t rest = assay_sketch_first_row(group + 1, s->rows, s->groups) - (row + i);
        some = rest < n - i ? (size_t)rest : n - i;
        add_to_lanes(m, &side->lanes, row + i, signed_x + i, some);
        if (some == rest)
            close_lanes(side, group);
    }
}

/* What brings a row to mean 0 and variance 1, or its mean square alone to 1, by its sums. Where the sum of squares
 * is no float, a module of floats computes something else: NaN. */
static void find_scale(const assay_meter *m, const channel_lanes *lanes, uint64_t n, double *mean, double *scale)
{
    const bool floats = m->dtype == ASSAY_FLOAT32 || m->dtype == ASSAY_BFLOAT16;
    const double sum = meter_joined(lanes->squares), most = floats ? (double)FLT_MAX : HUGE_VAL;
    const double squares = sum <= most ? sum / (double)n : (double)NAN;
    *mean = signbit(m->measure.number[2]) ? 0 : meter_joined(lanes->sum) / (double)n;
    *scale = 1 / sqrt(fmax(squares - *mean * *mean, squares * 0) + fabs(m->measure.number[2]));
}

/* A row that is complete. */
static void normalise(const assay_meter *m, double *x, uint64_t n, double *mean, double *scale)
{
    channel_lanes lanes = {{0}, {0}};
    add_to_lanes(m, &lanes, 0, x, (size_t)n);
    find_scale(m, &lanes, n, mean, scale);
    for (uint64_t i = 0; i < n; i++)
        x[i] = (x[i] - *mean) * *scale;
}

static void add_normalised(const assay_meter *m, sketch_side *side, uint64_t row, uint64_t column, const double *x,
                           size_t n)
{
    const sketch_state *s = meter_state((assay_meter *)m);
    memcpy(side->row + column, x, n * sizeof *x);
    if (column + n < s->columns)
        return;
    double mean, scale;
    normalise(m, side->row, s->columns, &mean, &scale);
    for (uint64_t at = 0; at < s->columns; at += METER_BLOCK)
        add_to_row(m, side, row, at, side->row + at,
                   s->columns - at < METER_BLOCK ? (size_t)(s->columns - at) : METER_BLOCK);
    double *squares = side->squares + assay_sketch_group(row, s->rows, s->groups) * s->columns;
    for (uint64_t c = 0; c < s->columns; c++)
        squares[c] += mean * scale * (mean * scale);
}

/* n elements, at most METER_BLOCK. */
static void add(const assay_meter *m, sketch_side *side, uint64_t position, const double *x, size_t n)
{
    const sketch_state *s = meter_state((assay_meter *)m);
    if (s->columns == 1 && m->measure.form != ASSAY_SKETCH_NORMALISED) {
        add_rows(m, side, position, x, n);
        return;
    }
    for (size_t at = 0, some; at < n; at += some) {
        const uint64_t row = (position + at) / s->columns, column = (position + at) % s->columns;
        some = n - at < s->columns - column ? n - at : (size_t)(s->columns - column);
        (m->measure.form == ASSAY_SKETCH_NORMALISED ? add_normalised : add_to_row)(m, side, row, column, x + at, some);
    }
}

/* Of first and second moments, what ADAM sums up: m gets the update, v what a smaller e adds to that. */
static void divide(double *m, double *v, size_t n, double e)
{
    const double smaller = e / 32;
    for (size_t i = 0; i < n; i++) {
        const double root = sqrt(v[i]);
        m[i] /= root + e;
        v[i] = m[i] * (e - smaller) / (root + smaller);
    }
}

/* ---- of floats ---- */

/* One row of one column, as the kernels have it. */
static void add_one(const assay_meter *m, sketch_state *s, uint64_t row, float x, float y)
{
    const size_t lane = (size_t)(row % MEASURE_LANES);
    const double sign = is_signed(s) ? assay_sketch_sign(row) : 1;
    const float e = (float)m->measure.number[2], smaller = e / 32, root = sqrtf(y);
    double value = (double)x, other = (double)y;
    if (s->form == ASSAY_SKETCH_ADAM) {
        const float of = x / ((root + e) * (root + smaller));
        value = (double)(of * (root + smaller));
        other = (double)(of * (e - smaller));
    } else if (s->form == ASSAY_SKETCH_PRODUCT) {
        value *= other;
    }
    s->own.lanes.sum[lane] += sign * value;
    s->own.lanes.squares[lane] += value * value;
    s->before.lanes.sum[lane] += sign * other;
    s->before.lanes.squares[lane] += other * other;
}

/* n rows of one column and group. */
static void add_group32(const assay_meter *m, uint64_t row, const uint8_t *x, const uint8_t *y, size_t n)
{
    sketch_state *s = meter_state((assay_meter *)m);
    for (size_t i = 0, some; i < n; i += some) {
        some = (row + i) % MEASURE_LANES == 0 ? (n - i) / MEASURE_LANES * MEASURE_LANES : 0;
        if (some > 0) {
            m->kernels->sketch32(s->form, &s->own.lanes, s->two ? &s->before.lanes : NULL, x + 4 * i,
                                 y ? y + 4 * i : NULL, row + i, some / MEASURE_LANES, (float)m->measure.number[2]);
            continue;
        }
        float own, other = 0;
        memcpy(&own, x + 4 * i, sizeof own);
        if (y)
            memcpy(&other, y + 4 * i, sizeof other);
        add_one(m, s, row + i, own, other);
        some = 1;
    }
}

static void add_flat32(const assay_meter *m, uint64_t position, const uint8_t *x, const uint8_t *y, uint64_t n)
{
    sketch_state *s = meter_state((assay_meter *)m);
    for (uint64_t i = 0, some; i < n; i += some) {
        const uint64_t row = position + i, group = assay_sketch_group(row, s->rows, s->groups);
        const uint64_t rest = assay_sketch_first_row(group + 1, s->rows, s->groups) - row;
        some = rest < n - i ? rest : n - i;
        add_group32(m, row, x + 4 * i, y ? y + 4 * i : NULL, (size_t)some);
        if (some < rest)
            continue;
        close_lanes(&s->own, group);
        if (s->two)
            close_lanes(&s->before, group);
    }
}

/* Whole rows of one group, at most SKETCH_ROWS. */
static void add_normalised32(const assay_meter *m, sketch_side *side, uint64_t cell, uint64_t row, uint64_t rows,
                             const uint8_t *x)
{
    const sketch_state *s = meter_state((assay_meter *)m);
    const size_t n = (size_t)s->columns, whole = n / MEASURE_LANES * MEASURE_LANES;
    double mean[SKETCH_ROWS], scale[SKETCH_ROWS];
    for (uint64_t r = 0; r < rows; r++) {
        const uint8_t *of = x + 4 * r * n;
        channel_lanes lanes = {{0}, {0}};
        double rest[MEASURE_LANES];
        m->kernels->sketch32(ASSAY_SKETCH_UNSIGNED, &lanes, NULL, of, NULL, 0, whole / MEASURE_LANES, 0);
        assay_to_double(ASSAY_FLOAT32, of + 4 * whole, n - whole, rest);
        add_to_lanes(m, &lanes, whole, rest, n - whole);
        find_scale(m, &lanes, n, &mean[r], &scale[r]);
    }
    m->kernels->normalised32(side->sum + cell, side->squares + cell, x, row, (size_t)rows, n, mean, scale);
}

/* A part of a row that has to be complete before it counts. */
static void add_part32(const assay_meter *m, sketch_side *side, uint64_t row, uint64_t column, const uint8_t *x,
                       uint64_t n)
{
    double part[METER_BLOCK];
    for (uint64_t at = 0, some; at < n; at += some) {
        some = n - at < METER_BLOCK ? n - at : METER_BLOCK;
        assay_to_double(ASSAY_FLOAT32, x + 4 * at, (size_t)some, part);
        add_normalised(m, side, row, column + at, part, (size_t)some);
    }
}

/* n elements from a position on, as rows. */
static void add_rows32(const assay_meter *m, sketch_side *side, uint64_t position, const uint8_t *x, uint64_t n)
{
    const sketch_state *s = meter_state((assay_meter *)m);
    for (uint64_t i = 0, some; i < n; i += some) {
        const uint64_t row = (position + i) / s->columns, column = (position + i) % s->columns;
        const uint64_t group = assay_sketch_group(row, s->rows, s->groups);
        uint64_t rows = assay_sketch_first_row(group + 1, s->rows, s->groups) - row, width = s->columns - column;
        rows = rows < SKETCH_ROWS ? rows : SKETCH_ROWS;
        if (column > 0 || n - i < s->columns)
            rows = 1;
        else if (rows > (n - i) / s->columns)
            rows = (n - i) / s->columns;
        width = width < n - i ? width : n - i;
        some = rows * width;
        const uint64_t cell = group * s->columns + column;
        if (s->form != ASSAY_SKETCH_NORMALISED)
            m->kernels->rows32(side->sum + cell, side->squares + cell, x + 4 * i, (size_t)s->columns, row, (size_t)rows,
                               (size_t)width);
        else if (width == s->columns)
            add_normalised32(m, side, cell, row, rows, x + 4 * i);
        else
            add_part32(m, side, row, column, x + 4 * i, width);
    }
}

/* n elements from a position on, of floats. */
static void add_floats(const assay_meter *m, uint64_t position, const uint8_t *x, const uint8_t *y, uint64_t n)
{
    sketch_state *s = meter_state((assay_meter *)m);
    if (s->columns == 1 && s->form != ASSAY_SKETCH_NORMALISED) {
        add_flat32(m, position, x, m->same_shape ? y : NULL, n);
        return;
    }
    add_rows32(m, &s->own, position, x, n);
    if (s->two)
        add_rows32(m, &s->before, position, y, n);
}

static bool is_16_bits(int dtype)
{
    return dtype == ASSAY_FLOAT16 || dtype == ASSAY_BFLOAT16;
}

/* Are all elements floats, of which the kernels make the same sums? */
static bool takes_floats(const assay_meter *m)
{
    const sketch_state *s = meter_state((assay_meter *)m);
    const bool own16 = is_16_bits(m->dtype), other16 = m->same_shape && is_16_bits(m->reference_dtype);
    return (m->dtype == ASSAY_FLOAT32 || own16) && (!m->same_shape || m->reference_dtype == ASSAY_FLOAT32 || other16) &&
           (s->form != ASSAY_SKETCH_ADAM || (!own16 && !other16)) &&
           (s->columns == 1 || s->form == ASSAY_SKETCH_PLAIN || s->form == ASSAY_SKETCH_NORMALISED);
}

enum { FLOATS = 8 * METER_BLOCK /* elements of 16 bits that become floats at a time: some rows together */ };

/* Elements from meter->position + at on, at most METER_BLOCK. */
static void add_doubles(const assay_meter *m, uint64_t at, const uint8_t *bytes, const uint8_t *reference, size_t n)
{
    sketch_state *s = meter_state((assay_meter *)m);
    double x[METER_BLOCK], other[METER_BLOCK];
    assay_to_double(m->dtype, bytes, n, x);
    if (m->same_shape)
        assay_to_double(m->reference_dtype, reference, n, other);
    for (size_t i = 0; s->form == ASSAY_SKETCH_PRODUCT && i < n; i++)
        x[i] *= other[i];
    if (s->form == ASSAY_SKETCH_ADAM)
        divide(x, other, n, m->measure.number[2]);
    add(m, &s->own, m->position + at, x, n);
    if (s->two)
        add(m, &s->before, m->position + at, other, n);
}

static bool feed(assay_meter *m, const meter_piece *piece)
{
    const size_t size = assay_dtype_size(m->dtype), before = assay_dtype_size(m->reference_dtype);
    const bool floats = takes_floats(m);
    const bool as_they_are = size == 4 && (!m->same_shape || before == 4);
    const uint64_t most = !floats ? METER_BLOCK : as_they_are ? piece->elements : FLOATS;
    float own[FLOATS], other[FLOATS];
    for (uint64_t at = 0, n; at < piece->elements; at += n) {
        n = piece->elements - at < most ? piece->elements - at : most;
        const uint8_t *x = piece->bytes + at * size, *y = m->same_shape ? piece->reference + at * before : NULL;
        if (floats)
            add_floats(m, m->position + at, meter_floats(m->dtype, x, (size_t)n, own),
                       y ? meter_floats(m->reference_dtype, y, (size_t)n, other) : NULL, n);
        else
            add_doubles(m, at, x, y, (size_t)n);
    }
    return true;
}

void assay_meter_put_before(assay_meter *m, const double *sums)
{
    sketch_state *s = meter_state(m);
    memcpy(s->before.sum, sums, 2 * s->groups * s->columns * sizeof *sums);
    m->same_shape = s->two = false;
}

/* Sums of the columns from `at` to `end` of a row of floats. */
static void sum_columns(const measure_kernels *kernels, const uint8_t *x, uint64_t at, uint64_t end, double *sum,
                        double *squares)
{
    channel_lanes lanes = {{0}, {0}};
    while (at < end) {
        const size_t lane = (size_t)(at % MEASURE_LANES), groups = (size_t)((end - at) / MEASURE_LANES);
        if (lane == 0 && groups > 0) {
            kernels->sketch32(ASSAY_SKETCH_PLAIN, &lanes, NULL, x + 4 * at, NULL, at, groups, 0);
            at += groups * MEASURE_LANES;
            continue;
        }
        float value32;
        memcpy(&value32, x + 4 * at, sizeof value32);
        const double value = (double)value32;
        lanes.sum[lane] += assay_sketch_sign(at) * value;
        lanes.squares[lane] += value * value;
        at++;
    }
    *sum = meter_joined(lanes.sum);
    *squares = meter_joined(lanes.squares);
}

/* The same of ROWS_AT_ONCE rows of floats at once, whose numbers follow each other. */
static void sum_columns_together(const measure_kernels *kernels, const uint8_t *x, size_t columns, uint64_t at,
                                 uint64_t end, double *sum, double *squares)
{
    channel_lanes lanes[ROWS_AT_ONCE];
    const size_t stride = 4 * columns;
    kernels->row_sums32(lanes, x + 4 * at, stride, at, (size_t)(end - at) / MEASURE_LANES);
    for (size_t k = 0; k < ROWS_AT_ONCE; k++) {
        sum[k] = meter_joined(lanes[k].sum);
        squares[k] = meter_joined(lanes[k].squares);
    }
}

/* The same of other floats, which become doubles. */
static void sum_other_columns(int dtype, const uint8_t *x, uint64_t at, uint64_t end, double *sum, double *squares)
{
    const size_t size = assay_dtype_size(dtype);
    double values[METER_BLOCK];
    *sum = *squares = 0;
    for (uint64_t n; at < end; at += n) {
        n = end - at < METER_BLOCK ? end - at : METER_BLOCK;
        assay_to_double(dtype, x + at * size, (size_t)n, values);
        for (uint64_t i = 0; i < n; i++) {
            *sum += assay_sketch_sign(at + i) * values[i];
            *squares += values[i] * values[i];
        }
    }
}

int assay_sketch_columns(const assay_matrix *of, uint64_t groups, uint64_t stride, double *sum, double *squares)
{
    const int dtype = of->dtype;
    const uint64_t rows = of->rows, columns = of->columns;
    const measure_kernels *kernels = assay_measure_kernels_of(assay_simd_level());
    const size_t size = assay_dtype_size(dtype);
    const bool floats = dtype == ASSAY_FLOAT32 || (is_16_bits(dtype) && columns <= FLOATS);
    float room[FLOATS];
    if (!floats && !is_16_bits(dtype) && dtype != ASSAY_FLOAT64)
        return 1;
    const bool whole = dtype == ASSAY_FLOAT32 && columns % (groups * MEASURE_LANES) == 0;
    for (uint64_t r = 0; r < rows; r++) {
        const uint8_t *row = (const uint8_t *)of->x + r * columns * size;
        if (whole && rows - r >= ROWS_AT_ONCE) { /* all groups are of whole lanes */
            for (uint64_t g = 0, n = columns / groups; g < groups; g++)
                sum_columns_together(kernels, row, (size_t)columns, g * n, (g + 1) * n, sum + g * stride + r,
                                     squares + g * stride + r);
            r += ROWS_AT_ONCE - 1;
            continue;
        }
        if (floats)
            row = meter_floats(dtype, row, (size_t)columns, room);
        for (uint64_t g = 0; g < groups; g++) {
            const uint64_t at = assay_sketch_first_row(g, columns, groups),
                           end = assay_sketch_first_row(g + 1, columns, groups);
            if (floats)
                sum_columns(kernels, row, at, end, sum + g * stride + r, squares + g * stride + r);
            else
                sum_other_columns(dtype, row, at, end, sum + g * stride + r, squares + g * stride + r);
        }
    }
    return ASSAY_OK;
}

assay_products assay_sketch_products(const double *x, const double *x_squares, const double *y, const double *y_squares,
                                     size_t n)
{
    double lanes[3][MEASURE_LANES];
    const size_t groups = n / MEASURE_LANES;
    assay_measure_kernels_of(assay_simd_level())->product_sums(lanes, x, x_squares, y, y_squares, groups);
    for (size_t i = groups * MEASURE_LANES; i < n; i++) {
        const size_t lane = i % MEASURE_LANES;
        lanes[0][lane] += x[i] * y[i];
        lanes[1][lane] += x_squares[i] * y_squares[i];
        lanes[2][lane] += x[i] * x[i] * y_squares[i] + x_squares[i] * (y[i] * y[i]);
    }
    return (assay_products){meter_joined(lanes[0]), meter_joined(lanes[1]), meter_joined(lanes[2])};
}

void assay_sketch_multiply(const double *x, const double *y, uint64_t n, uint64_t rows, double *out)
{
    const measure_kernels *kernels = assay_measure_kernels_of(assay_simd_level());
    const uint64_t groups = n / MEASURE_LANES;
    for (uint64_t row = 0, some; row < rows; row += some) {
        double lanes[DOTS_AT_ONCE][MEASURE_LANES];
        const double *of = y + row * n;
        some = rows - row < DOTS_AT_ONCE ? 1 : DOTS_AT_ONCE;
        kernels->dots(lanes, x, of, some > 1 ? (size_t)n : 0, (size_t)groups);
        for (uint64_t k = 0; k < some; k++) {
            for (uint64_t i = groups * MEASURE_LANES; i < n; i++)
                lanes[k][i % MEASURE_LANES] += x[i] * of[k * n + i];
            out[row + k] = meter_joined(lanes[k]);
        }
    }
}

static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    const sketch_state *s = meter_state(m);
    const uint64_t cells = s->groups * s->columns;
    double *kept = m->kept;
    for (uint64_t i = 0; i < (s->two ? 4 : 2) * cells; i++)
        kept[i] = meter_one_nan(kept[i]);
    result->of.sketch = (assay_sketch){.rows = s->rows,
                                       .columns = s->columns,
                                       .groups = s->groups,
                                       .sum = s->own.sum,
                                       .squares = s->own.squares,
                                       .before = s->before.sum,
                                       .squares_before = s->before.squares};
    return ASSAY_OK;
}

const meter_kind meter_sketch = {sizeof(sketch_state), start, feed, NULL, end};
