/* SKETCH and FUNCTION against plain loops, with every type, cut and instruction set; and what sketches are for: what is
 * linear holds for them. */
#include "unit.h"

#include <math.h>

#include "take.h"

enum { AXIS_ROWS = 1 };

static assay_measure sketch_of(int axis, double groups, double cells, uint32_t form)
{
    return (assay_measure){
        .kind = ASSAY_MEASURE_SKETCH, .form = form, .axis = axis, .numbers = 3, .number = {groups, cells, 1e-5}};
}

enum { ROOT = 100 /* of sums_match(): NORMALISED with a number below 0 */ };

static double transformed(uint32_t form, const double *row, uint64_t columns, uint64_t c, double *of_mean)
{
    double mean = 0, variance = 0;
    *of_mean = 0;
    if (form != ASSAY_SKETCH_NORMALISED && form != ROOT)
        return row[c];
    for (uint64_t k = 0; k < columns && form != ROOT; k++)
        mean += row[k] / (double)columns;
    for (uint64_t k = 0; k < columns; k++)
        variance += (row[k] - mean) * (row[k] - mean) / (double)columns;
    *of_mean = mean * mean / (variance + 1e-5);
    return (row[c] - mean) / sqrt(variance + 1e-5);
}

static bool near(double a, double b, double size)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-9 * size || !isfinite(size);
}

/* Are these the sums of the elements? */
static bool sums_match(const assay_sketch *s, uint32_t form, const double *x, const double *sum, const double *squares)
{
    double want[4096] = {0}, want_squares[4096] = {0}, size[4096] = {0};
    for (uint64_t r = 0; r < s->rows; r++)
        for (uint64_t c = 0; c < s->columns; c++) {
            double of_mean;
            const double value = transformed(form, x + r * s->columns, s->columns, c, &of_mean);
            const uint64_t cell = assay_sketch_group(r, s->rows, s->groups) * s->columns + c;
            want[cell] += form == ASSAY_SKETCH_UNSIGNED ? value : assay_sketch_sign(r) * value;
            want_squares[cell] += value * value + of_mean;
            size[cell] += fabs(value);
        }
    for (uint64_t i = 0; i < s->groups * s->columns; i++)
        if (!near(sum[i], want[i], size[i]) || !near(squares[i], want_squares[i], want_squares[i]))
            return false;
    return true;
}

static void against_loops(void)
{
    const int64_t dim[] = {7, 9, 16};
    const assay_measure measures[] = {sketch_of(1, 32, 4096, ASSAY_SKETCH_PLAIN),
                                      sketch_of(-1, 32, 4096, ASSAY_SKETCH_PLAIN),
                                      sketch_of(-1, 32, 100, ASSAY_SKETCH_UNSIGNED),
                                      sketch_of(ASSAY_SKETCH_FLAT, 256, 256, ASSAY_SKETCH_PLAIN),
                                      sketch_of(-1, 63, 4096, ASSAY_SKETCH_NORMALISED),
                                      sketch_of(ASSAY_SKETCH_FLAT, 2048, 2048, ASSAY_SKETCH_UNSIGNED),
                                      sketch_of(-1, 63, 4096, ASSAY_SKETCH_NORMALISED),
                                      sketch_of(-1, 63, 4096, ASSAY_SKETCH_NORMALISED)};
    const uint64_t groups[] = {7, 32, 4, 32, 63, 32, 63, 63};
    assay_arena *arena = assay_arena_new(CEILING);
    for (size_t k = 0; k < sizeof measures / sizeof *measures; k++)
        for (int dtype = 0; dtype < NUMERIC_COUNT; dtype++) {
            tensor t = tensor_of(NUMERIC[dtype], DATA_ORDINARY, 3, dim),
                   u = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 3, dim);
            assay_result first = {0}, got;
            unsigned wrong = 0;
            assay_measure measure = measures[k];
            measure.steps = k % 2;
            measure.number[2] = k < 6 ? measure.number[2] : -1e-5;
            const uint32_t form = k < 6 ? measure.form : ROOT;
            for (int level = 0; level < ASSAY_SIMD_LEVELS; level++)
                for (cut_kind cut = CUT_NONE; cut < CUTS && assay_simd_has((assay_simd)level); cut++) {
                    wrong += take(&measure, &t, measure.steps ? &u : NULL, (assay_simd)level, cut, arena, &got) != 0;
                    const assay_sketch *s = &got.of.sketch;
                    const size_t cells = (size_t)(s->groups * s->columns);
                    wrong += s->groups != groups[k] || s->rows * s->columns != t.shape.elements;
                    wrong += !sums_match(s, form, t.wide, s->sum, s->squares);
                    wrong +=
                        measure.steps ? !sums_match(s, form, u.wide, s->before, s->squares_before) : s->before != NULL;
                    if (first.kind == 0)
                        first = got;
                    wrong += memcmp(first.of.sketch.sum, s->sum, cells * sizeof(double)) != 0 ||
                             memcmp(first.of.sketch.squares, s->squares, cells * sizeof(double)) != 0;
                }
            CU_ASSERT_EQUAL(wrong, 0);
            assay_arena_clear(arena);
            tensor_release(&t);
            tensor_release(&u);
        }
    assay_arena_free(arena);
}

static void too_many_columns(void)
{
    const int64_t dim[] = {3, 52};
    tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 2, dim);
    assay_arena *arena = assay_arena_new(CEILING);
    const assay_measure narrow = sketch_of(AXIS_ROWS, 8, 12, ASSAY_SKETCH_PLAIN),
                        one_row = sketch_of(0, 8, 500, ASSAY_SKETCH_PLAIN);
    const assay_measure enough = sketch_of(AXIS_ROWS, 8, 13, ASSAY_SKETCH_PLAIN);
    assay_result got;
    CU_ASSERT_EQUAL(take(&narrow, &t, NULL, assay_simd_level(), CUT_NONE, arena, &got), 1);
    CU_ASSERT_EQUAL(take(&one_row, &t, NULL, assay_simd_level(), CUT_NONE, arena, &got), 1);
    CU_ASSERT_EQUAL_FATAL(take(&enough, &t, NULL, assay_simd_level(), CUT_NONE, arena, &got), ASSAY_OK);
    CU_ASSERT_EQUAL(got.of.sketch.groups, 1);
    assay_arena_free(arena);
    tensor_release(&t);
}

static uint64_t groups_of(int dtype, int64_t rows, int64_t columns)
{
    const int64_t dim[] = {rows, columns};
    const assay_shape shape = {dtype, 2, dim, (uint64_t)(rows * columns)};
    const assay_measure measure = sketch_of(-1, 32, 8192, ASSAY_SKETCH_ROWS);
    assay_arena *arena = assay_arena_new(CEILING);
    assay_meter_needs needs = {0, 0};
    assay_meter *meter;
    CU_ASSERT_EQUAL_FATAL(assay_meter_new_within(&measure, &shape, NULL, CEILING, CEILING, arena, &needs, &meter, NULL),
                          ASSAY_OK);
    assay_meter_drop(meter);
    assay_arena_free(arena);
    return needs.held / (2 * sizeof(double) * (uint64_t)columns);
}

/* Rows of large tensors have more groups, and of bfloat16 most. */
static void large_tensors(void)
{
    CU_ASSERT_EQUAL(groups_of(ASSAY_FLOAT32, 512, 600), 8);
    CU_ASSERT_EQUAL(groups_of(ASSAY_FLOAT32, 2048, 600), 32);
    CU_ASSERT_EQUAL(groups_of(ASSAY_BFLOAT16, 2048, 600), 32);
    CU_ASSERT_EQUAL(groups_of(ASSAY_FLOAT32, 4096, 4096), 64);
    CU_ASSERT_EQUAL(groups_of(ASSAY_FLOAT16, 4096, 4096), 64);
    CU_ASSERT_EQUAL(groups_of(ASSAY_BFLOAT16, 4096, 4096), 128);
    CU_ASSERT_EQUAL(groups_of(ASSAY_BFLOAT16, 4096, 8192), 64); /* 8 MiB */
}

/* The sums of the step before are as good as its elements; of images there are three axes at least. */
static void sums_before(void)
{
    const int64_t dim[] = {7, 9, 16};
    tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 3, dim), u = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 3, dim),
           flat = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 2, dim);
    assay_measure measure = sketch_of(AXIS_ROWS, 4, 4096, ASSAY_SKETCH_IMAGES);
    assay_arena *arena = assay_arena_new(CEILING);
    assay_result of_u, both, known;
    assay_meter *meter;
    CU_ASSERT_EQUAL(take(&measure, &flat, NULL, assay_simd_level(), CUT_NONE, arena, &of_u), 1);
    CU_ASSERT_EQUAL_FATAL(take(&measure, &u, NULL, assay_simd_level(), CUT_NONE, arena, &of_u), ASSAY_OK);
    measure.steps = 1;
    CU_ASSERT_EQUAL_FATAL(take(&measure, &t, &u, assay_simd_level(), CUT_NONE, arena, &both), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_meter_new(&measure, &t.shape, &t.shape, CEILING, arena, &meter, NULL), ASSAY_OK);
    assay_meter_put_before(meter, of_u.of.sketch.sum);
    CU_ASSERT_EQUAL(assay_meter_feed(meter, t.bytes, NULL, t.shape.elements, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_meter_end(meter, &known, NULL), ASSAY_OK);
    const size_t size = 4 * (size_t)(both.of.sketch.groups * both.of.sketch.columns) * sizeof(double);
    CU_ASSERT_EQUAL(memcmp(both.of.sketch.sum, known.of.sketch.sum, size), 0); /* the sums before are behind them */
    assay_arena_free(arena);
    tensor_release(&t);
    tensor_release(&u);
    tensor_release(&flat);
}

/* All elements of an image as one number, and nothing of fewer axes; rows are those of any tensor. */
static void whole_images(void)
{
    const int64_t dim[] = {3, 4, 5, 7};
    tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 4, dim), fewer = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 3, dim);
    const assay_measure whole = sketch_of(ASSAY_SKETCH_FLAT, 1, 1, ASSAY_SKETCH_WHOLE);
    const assay_measure rows = sketch_of(-1, 4, 4096, ASSAY_SKETCH_ROWS),
                        plain = sketch_of(-1, 4, 4096, ASSAY_SKETCH_PLAIN);
    assay_arena *arena = assay_arena_new(CEILING);
    assay_result one, by_rows, by_plain_rows;
    double sum = 0, size = 0;
    CU_ASSERT_EQUAL(take(&whole, &fewer, NULL, assay_simd_level(), CUT_NONE, arena, &one), 1);
    CU_ASSERT_EQUAL_FATAL(take(&whole, &t, NULL, assay_simd_level(), CUT_TINY, arena, &one), ASSAY_OK);
    CU_ASSERT_TRUE(one.of.sketch.rows == t.shape.elements && one.of.sketch.columns == 1 && one.of.sketch.groups == 1);
    for (uint64_t i = 0; i < t.shape.elements; i++) {
        sum += assay_sketch_sign(i) * t.wide[i];
        size += fabs(t.wide[i]);
    }
    CU_ASSERT_TRUE(fabs(sum - one.of.sketch.sum[0]) <= 1e-12 * size);
    CU_ASSERT_EQUAL_FATAL(take(&rows, &t, NULL, assay_simd_level(), CUT_NONE, arena, &by_rows), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(take(&plain, &t, NULL, assay_simd_level(), CUT_NONE, arena, &by_plain_rows), ASSAY_OK);
    CU_ASSERT_EQUAL(memcmp(by_rows.of.sketch.sum, by_plain_rows.of.sketch.sum,
                           (size_t)(by_rows.of.sketch.groups * by_rows.of.sketch.columns) * sizeof(double)),
                    0);
    assay_arena_free(arena);
    tensor_release(&t);
    tensor_release(&fewer);
}

/* Columns in groups are what a sketch makes of the transposed matrix. */
static void columns_in_groups(void)
{
    enum { ROWS = 5, COLUMNS = 37, GROUPS = 4 };
    const int64_t dim[] = {ROWS, COLUMNS};
    const int dtypes[] = {ASSAY_FLOAT32, ASSAY_FLOAT16, ASSAY_BFLOAT16, ASSAY_FLOAT64};
    double sum[GROUPS * ROWS], squares[GROUPS * ROWS];
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        tensor t = tensor_of(dtypes[k], DATA_ORDINARY, 2, dim);
        const assay_matrix of = {dtypes[k], t.bytes, ROWS, COLUMNS};
        CU_ASSERT_EQUAL(assay_sketch_columns(&of, GROUPS, ROWS, sum, squares), ASSAY_OK);
        for (uint64_t r = 0; r < ROWS; r++)
            for (uint64_t g = 0; g < GROUPS; g++) {
                double want = 0, want_squares = 0, size = 0;
                for (uint64_t c = 0; c < COLUMNS; c++) {
                    const double x = assay_sketch_group(c, COLUMNS, GROUPS) == g ? t.wide[r * COLUMNS + c] : 0;
                    want += assay_sketch_sign(c) * x;
                    want_squares += x * x;
                    size += fabs(x);
                }
                CU_ASSERT_TRUE(near(sum[g * ROWS + r], want, size));
                CU_ASSERT_TRUE(near(squares[g * ROWS + r], want_squares, want_squares));
            }
        tensor_release(&t);
    }
    enum { MORE = 7, EVEN = 256 }; /* where groups are of whole vectors, several rows are taken at once */
    const int64_t even[] = {MORE, EVEN};
    tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 2, even);
    double all[2 * GROUPS * MORE], one[2 * GROUPS];
    const assay_matrix of = {ASSAY_FLOAT32, t.bytes, MORE, EVEN};
    CU_ASSERT_EQUAL(assay_sketch_columns(&of, GROUPS, MORE, all, all + GROUPS * MORE), ASSAY_OK);
    for (size_t r = 0; r < MORE; r++) {
        const assay_matrix row = {ASSAY_FLOAT32, t.bytes + 4 * r * EVEN, 1, EVEN};
        CU_ASSERT_EQUAL(assay_sketch_columns(&row, GROUPS, 1, one, one + GROUPS), ASSAY_OK);
        for (size_t i = 0; i < 2 * GROUPS; i++)
            CU_ASSERT_EQUAL(all[i * MORE + r], one[i]);
    }
    tensor_release(&t);
    const assay_matrix integer = {ASSAY_INT32, sum, 1, 1};
    CU_ASSERT_EQUAL(assay_sketch_columns(&integer, 1, 1, sum, squares), 1);
}

/* Groups of fewer are unions of groups of more, so that sketches of different widths can be brought together. */
static void groups_nest(void)
{
    for (uint64_t rows = 1; rows < 300; rows += 7)
        for (uint64_t few = 1; 2 * few <= rows; few *= 2)
            for (uint64_t r = 0; r < rows; r++) {
                const uint64_t many = assay_sketch_group(r, rows, 2 * few);
                CU_ASSERT_EQUAL_FATAL(assay_sketch_group(r, rows, few), many / 2);
                CU_ASSERT_TRUE_FATAL(assay_sketch_first_row(many, rows, 2 * few) <= r);
                CU_ASSERT_TRUE_FATAL(r < assay_sketch_first_row(many + 1, rows, 2 * few));
            }
}

/* What Adam makes of moments, and what a smaller e adds. */
static void adam(void)
{
    const int64_t dim[] = {1000};
    double m[1000], v[1000], update = 0, more = 0;
    for (int i = 0; i < 1000; i++) {
        m[i] = 1e-3 * (i % 17 - 8);
        v[i] = i % 5 == 0 ? 0 : 1e-6 * (i % 11);
        const double sign = assay_sketch_sign((uint64_t)i), root = sqrt(v[i]);
        update += m[i] == 0 ? 0 : sign * m[i] / (root + 1e-8);
        more += m[i] == 0 ? 0 : sign * (m[i] / (root + 1e-8 / 32) - m[i] / (root + 1e-8));
    }
    tensor a = tensor_of_doubles(1, dim, m), b = tensor_of_doubles(1, dim, v);
    assay_arena *arena = assay_arena_new(CEILING);
    assay_measure measure = sketch_of(ASSAY_SKETCH_FLAT, 1, 1, ASSAY_SKETCH_ADAM);
    measure.number[2] = 1e-8;
    measure.reference = ASSAY_REFERENCE_SECOND_MOMENT;
    assay_result got;
    CU_ASSERT_EQUAL_FATAL(take(&measure, &a, &b, assay_simd_level(), CUT_RANDOM, arena, &got), ASSAY_OK);
    CU_ASSERT_DOUBLE_EQUAL(got.of.sketch.sum[0], update, 1e-9 * fabs(update));
    CU_ASSERT_DOUBLE_EQUAL(got.of.sketch.before[0], more, 1e-9 * fabs(more));
    CU_ASSERT_EQUAL_FATAL(take(&measure, &a, NULL, assay_simd_level(), CUT_NONE, arena, &got), ASSAY_OK);
    CU_ASSERT_PTR_NULL(got.of.sketch.before);
    assay_arena_free(arena);
    tensor_release(&a);
    tensor_release(&b);
}

/* ---- functions ---- */

static double function_of(int function, double x)
{
    switch (function) {
    case ASSAY_FUNCTION_RELU:
        return x > 0 ? x : 0;
    case ASSAY_FUNCTION_LEAKY_RELU:
        return x > 0 ? x : 0.01 * x;
    case ASSAY_FUNCTION_ELU:
        return x > 0 ? x : expm1(x);
    case ASSAY_FUNCTION_GELU:
        return 0.5 * x * erfc(-x * sqrt(0.5));
    case ASSAY_FUNCTION_GELU_TANH:
        return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case ASSAY_FUNCTION_SILU:
        return x / (1 + exp(-x));
    case ASSAY_FUNCTION_TANH:
        return tanh(x);
    case ASSAY_FUNCTION_SIGMOID:
        return 1 / (1 + exp(-x));
    case ASSAY_FUNCTION_DROPOUT: /* the numbers that the test has are in no order */
        return fmod(fabs(x) * 83 * 7, 11) < 4 ? 0 : x / 0.6;
    default:
        return x;
    }
}

typedef struct fits {
    bool found;
    assay_function_fit fit[ASSAY_FUNCTIONS];
    double unlikely;
} fits;

static fits fit_of(const float *y, const float *x, int64_t n, cut_kind cut)
{
    tensor a = tensor_new(ASSAY_FLOAT32, 1, &n), b = tensor_new(ASSAY_FLOAT32, 1, &n);
    memcpy(a.bytes, y, (size_t)n * sizeof *y);
    memcpy(b.bytes, x, (size_t)n * sizeof *x);
    const assay_measure measure = {.kind = ASSAY_MEASURE_FUNCTION, .reference = ASSAY_REFERENCE_INPUT};
    assay_arena *arena = assay_arena_new(CEILING);
    assay_result got = {0};
    CU_ASSERT_EQUAL_FATAL(take(&measure, &a, &b, assay_simd_level(), cut, arena, &got), ASSAY_OK);
    fits found = {.found = got.of.function.found, .unlikely = got.of.function.unlikely};
    if (found.found)
        memcpy(found.fit, got.of.function.fit, sizeof found.fit);
    assay_arena_free(arena);
    tensor_release(&a);
    tensor_release(&b);
    return found;
}

/* Each function is found, and no other; one element that is off by a few roundings is named. */
static void every_function(void)
{
    enum { N = 3000, ODD = 2345 };
    float x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)((i * 37 % 1001 - 500) / 83.0);
    for (int f = 0; f < ASSAY_FUNCTIONS; f++) {
        for (int i = 0; i < N; i++)
            y[i] = (float)function_of(f, (double)x[i]);
        fits fit = fit_of(y, x, N, CUT_RANDOM);
        CU_ASSERT_TRUE(fit.found);
        for (int g = 0; g < ASSAY_FUNCTIONS; g++)
            CU_ASSERT_EQUAL(fit.fit[g].broken == 0, g == f);
        y[ODD] = y[ODD] * 1.0001F + 1e-5F;
        fit = fit_of(y, x, N, CUT_TINY);
        CU_ASSERT_EQUAL(fit.fit[f].broken, 1);
        CU_ASSERT_EQUAL(fit.fit[f].index, ODD);
        CU_ASSERT_TRUE(fit.fit[f].largest > 1 && fit.fit[f].apart > fit.fit[f].bound);
        y[ODD] = NAN;
        CU_ASSERT_EQUAL(fit_of(y, x, N, CUT_NONE).fit[f].index, ODD);
    }
}

/* From numbers that are next to nothing to those that exp has no number for. */
static void of_any_size(void)
{
    enum { N = 4000 };
    float x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)((i % 2 ? -1 : 1) * pow(10, -8 + 11.0 * (i * 37 % N) / N));
    for (int f = 0; f < ASSAY_FUNCTION_DROPOUT; f++) {
        for (int i = 0; i < N; i++)
            y[i] = (float)function_of(f, (double)x[i]);
        const fits fit = fit_of(y, x, N, CUT_RANDOM);
        CU_ASSERT_TRUE(fit.found && fit.fit[f].broken == 0 && fit.fit[f].largest < 1);
    }
}

/* Where no input is below 0, four functions are the same: each is found, and what one element breaks breaks all. */
static void left_alone(void)
{
    enum { N = 5000, ODD = 4321 };
    static const int SAME[] = {ASSAY_FUNCTION_IDENTITY, ASSAY_FUNCTION_RELU, ASSAY_FUNCTION_LEAKY_RELU,
                               ASSAY_FUNCTION_ELU};
    float x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = y[i] = i % 3 ? (float)(i * 37 % 1001) / 83 : -0.0F;
    fits fit = fit_of(y, x, N, CUT_RANDOM);
    for (int k = 0; k < 4; k++)
        CU_ASSERT_TRUE(fit.fit[SAME[k]].broken == 0 && fit.fit[SAME[k]].largest == 0);
    y[ODD] += 0.01F;
    fit = fit_of(y, x, N, CUT_TINY);
    for (int k = 0; k < 4; k++)
        CU_ASSERT_TRUE(fit.fit[SAME[k]].broken == 1 && fit.fit[SAME[k]].index == ODD);
    y[ODD] = NAN;
    CU_ASSERT_EQUAL(fit_of(y, x, N, CUT_NONE).fit[ASSAY_FUNCTION_RELU].index, ODD);
}

static double unlikely(double k, double n, double p)
{
    return k * log(k / (n * p)) + (n - k) * log((n - k) / (n * (1 - p)));
}

/* A mask by a plain loop: how unlikely it is goes by how many are dropped, how many behind another, and by the longest row,
 * of inputs that are not 0. */
static double mask_of(const float *y, const float *x, int n)
{
    double kept = 0, dropped = 0, behind = 0, repeated = 0, run = 0, longest = 0;
    bool was = false;
    for (int i = 0; i < n; i++) {
        const bool is = y[i] == 0;
        if (x[i] == 0)
            continue;
        kept += !is;
        dropped += is;
        behind += was;
        repeated += was && is;
        run = is ? run + 1 : 0;
        longest = fmax(longest, run);
        was = is;
    }
    return fmax(-longest * log(0.4) - log(kept + dropped),
                fmax(unlikely(dropped, kept + dropped, 0.4), unlikely(repeated, behind, 0.4)));
}

/* Rows of dropped elements of many lengths, at the ends of words, and behind inputs that are 0. */
static void masks(void)
{
    enum { N = 4000, ROUNDS = 40 };
    float x[N], y[N];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < N; i++) {
            x[i] = round % 4 == 0 && i % 7 == 0 ? 0 : (float)(i * 37 % 1001 + 1) / 83;
            y[i] = random_bits() % 10 < 4 ? 0 : x[i] / 0.6F;
        }
        for (int i = 1000; i < 1000 + 5 * round; i++)
            y[i] = 0;
        const double want = mask_of(y, x, N);
        for (cut_kind cut = CUT_NONE; cut < CUTS; cut++) {
            const fits fit = fit_of(y, x, N, cut);
            CU_ASSERT_TRUE(fit.found && fit.fit[ASSAY_FUNCTION_DROPOUT].broken == 0);
            CU_ASSERT_DOUBLE_EQUAL(fit.unlikely, want, 1e-3 * want + 1e-3);
        }
    }
}

static void no_function(void)
{
    const int64_t dim[] = {600};
    tensor a = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 1, dim), b = tensor_of(ASSAY_INT64, DATA_ORDINARY, 1, dim);
    const assay_measure measure = {.kind = ASSAY_MEASURE_FUNCTION, .reference = ASSAY_REFERENCE_INPUT};
    assay_arena *arena = assay_arena_new(CEILING);
    assay_result got;
    CU_ASSERT_EQUAL_FATAL(take(&measure, &a, &b, assay_simd_level(), CUT_NONE, arena, &got), ASSAY_OK);
    CU_ASSERT_FALSE(got.of.function.found);
    CU_ASSERT_EQUAL_FATAL(take(&measure, &a, NULL, assay_simd_level(), CUT_NONE, arena, &got), ASSAY_OK);
    CU_ASSERT_FALSE(got.of.function.found);
    assay_arena_free(arena);
    tensor_release(&a);
    tensor_release(&b);
}

int main(void)
{
    CU_TestInfo tests[] = {{"sketches against plain loops", against_loops},
                           {"too many columns", too_many_columns},
                           {"large tensors", large_tensors},
                           {"sums of the step before", sums_before},
                           {"whole images", whole_images},
                           {"columns in groups", columns_in_groups},
                           {"groups nest", groups_nest},
                           {"Adam's updates", adam},
                           {"every function", every_function},
                           {"numbers of any size", of_any_size},
                           {"what functions leave alone", left_alone},
                           {"masks of a dropout", masks},
                           {"no function", no_function},
                           CU_TEST_INFO_NULL};
    return unit_main("sketches, and functions of an input", tests);
}
