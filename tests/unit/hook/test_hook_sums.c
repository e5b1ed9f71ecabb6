/* The sums that laws=True keeps are those of the elements one by one, of all types and of shapes that fill no vector. Tensors end
 * where their memory does, so that a sanitizer sees what is read behind them. */
#include "unit.h"

#include <ftw.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <assay/hook.h>
#include <assay/measure.h>

static int forget(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

/* Element i of a tensor: a number of few bits, which all types have. */
static double element(uint64_t i)
{
    return (double)((i * 2654435761u >> 7) % 61) / 16 - 1.75;
}

static size_t size_of(int dtype)
{
    return dtype == ASSAY_FLOAT64 ? 8 : dtype == ASSAY_FLOAT32 ? 4 : 2;
}

static void put_16_bits(int dtype, float value, uint8_t *at)
{
    uint32_t word;
    uint16_t half;
    memcpy(&word, &value, sizeof word);
    if (dtype == ASSAY_BFLOAT16)
        half = (uint16_t)(word >> 16);
    else if ((word & 0x7fffffff) == 0)
        half = (uint16_t)(word >> 16);
    else
        half = (uint16_t)((word >> 16 & 0x8000) | (((word >> 23 & 0xff) - 112) << 10) | (word >> 13 & 0x3ff));
    memcpy(at, &half, sizeof half);
}

/* Just as much memory as n elements take; with `positive` without their signs. */
static void *tensor_of(int dtype, uint64_t n, bool positive)
{
    const size_t size = size_of(dtype);
    uint8_t *x = malloc(n * size);
    for (uint64_t i = 0; x && i < n; i++) {
        const double value = positive ? fabs(element(i)) : element(i);
        const float single = (float)value;
        if (dtype == ASSAY_FLOAT64)
            memcpy(x + i * size, &value, size);
        else if (dtype == ASSAY_FLOAT32)
            memcpy(x + i * size, &single, size);
        else
            put_16_bits(dtype, single, x + i * size);
    }
    return x;
}

static const int DTYPES[] = {ASSAY_FLOAT32, ASSAY_FLOAT64, ASSAY_BFLOAT16, ASSAY_FLOAT16};
static const uint64_t SHAPES[][2] = {{1, 1}, {7, 5}, {33, 17}, {64, 64}, {100, 1}, {4099, 1}, {3, 1031}, {129, 40}};

static void check_sums(int form, int dtype, uint64_t rows, uint64_t columns, int groups)
{
    void *x = tensor_of(dtype, rows * columns, false);
    double *out = malloc(4 * (size_t)groups * columns * sizeof *out), apart = 0;
    CU_ASSERT_FATAL(x && out);
    const int found = assay_hook_sketch(form, &(assay_hook_rows){x, NULL, dtype, rows, columns}, groups, out);
    CU_ASSERT_TRUE_FATAL(found >= 1 && found <= groups);
    for (int g = 0; g < found; g++)
        for (uint64_t c = 0; c < columns; c++) {
            double sum = 0, squares = 0;
            for (uint64_t r = assay_sketch_first_row((uint64_t)g, rows, (uint64_t)found);
                 r < assay_sketch_first_row((uint64_t)g + 1, rows, (uint64_t)found); r++) {
                const double value = element(r * columns + c);
                sum += form == ASSAY_SKETCH_UNSIGNED ? value : assay_sketch_sign(r) * value;
                squares += value * value;
            }
            const double *of = out + (uint64_t)g * columns + c;
            apart = fmax(apart, fmax(fabs(*of - sum), fabs(of[(uint64_t)found * columns] - squares)));
        }
    CU_ASSERT_EQUAL(apart, 0); /* sums of so few bits are exact in any order */
    free(out);
    free(x);
}

static void test_sums(void)
{
    for (size_t d = 0; d < sizeof DTYPES / sizeof *DTYPES; d++)
        for (size_t s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++)
            for (int groups = 1; groups <= 8; groups *= 2) {
                check_sums(ASSAY_SKETCH_PLAIN, DTYPES[d], SHAPES[s][0], SHAPES[s][1], groups);
                check_sums(ASSAY_SKETCH_UNSIGNED, DTYPES[d], SHAPES[s][0], SHAPES[s][1], groups);
            }
}

/* Of a quotient the squares of m / (root v + e): v is m here, so that it is the root. */
static void test_quotient(void)
{
    enum { ROWS = 1037 };
    void *m = tensor_of(ASSAY_FLOAT32, ROWS, true), *v = tensor_of(ASSAY_FLOAT32, ROWS, true);
    double *out = malloc(4 * sizeof *out), squares = 0;
    CU_ASSERT_FATAL(m && v && out);
    CU_ASSERT_EQUAL(assay_hook_sketch(ASSAY_SKETCH_ADAM, &(assay_hook_rows){m, v, ASSAY_FLOAT32, ROWS, 1}, 1, out), 1);
    for (uint64_t i = 0; i < ROWS; i++)
        squares += fabs(element(i));
    CU_ASSERT_DOUBLE_EQUAL(out[1], squares, 1e-3 * squares);
    free(out);
    free(v);
    free(m);
}

static void test_function(void)
{
    for (size_t d = 0; d < sizeof DTYPES / sizeof *DTYPES; d++)
        for (uint64_t n = 1000; n < 1040; n += 13) {
            double *out = malloc((size_t)(ASSAY_HOOK_FIT * ASSAY_FUNCTIONS + 1) * sizeof *out);
            uint8_t *x = tensor_of(DTYPES[d], n, false), *y = tensor_of(DTYPES[d], n, false);
            const size_t size = size_of(DTYPES[d]);
            CU_ASSERT_FATAL(x && y && out);
            for (uint64_t i = 0; i < n; i++)
                if (element(i) < 0)
                    memset(y + i * size, 0, size);
            CU_ASSERT_EQUAL(assay_hook_function(DTYPES[d], y, DTYPES[d], x, n, out), ASSAY_FUNCTIONS);
            CU_ASSERT_EQUAL(out[ASSAY_HOOK_FIT * ASSAY_FUNCTION_RELU], 0);
            CU_ASSERT_NOT_EQUAL(out[ASSAY_HOOK_FIT * ASSAY_FUNCTION_TANH], 0);
            free(y);
            free(x);
            free(out);
        }
}

static void test_products(void)
{
    for (uint64_t rows = 1; rows < 40; rows += 6) {
        enum { OF_X = 3, OF_Y = 2 };
        double *x = tensor_of(ASSAY_FLOAT64, 2 * OF_X * rows, false),
               *y = tensor_of(ASSAY_FLOAT64, 2 * OF_Y * rows, false);
        double *out = malloc(3 * (size_t)(OF_X * OF_Y) * sizeof *out), apart = 0;
        CU_ASSERT_FATAL(x && y && out);
        CU_ASSERT_TRUE(assay_hook_law_products(x, y, rows, OF_X, OF_Y, out) >= 0);
        for (uint64_t j = 0; j < OF_Y; j++)
            for (uint64_t k = 0; k < OF_X; k++) {
                double sum = 0;
                for (uint64_t r = 0; r < rows; r++)
                    sum += y[j * rows + r] * x[k * rows + r];
                apart = fmax(apart, fabs(sum - out[j * OF_X + k]));
            }
        CU_ASSERT_EQUAL(apart, 0);
        CU_ASSERT_TRUE(assay_hook_law_products(NULL, y, rows, 1, OF_Y, out) >= 0);
        free(out);
        free(y);
        free(x);
    }
}

/* What is summed of norms, of many tensors at once and of kernels, by a thread and by the caller, and records of floats. */
static void take_all(assay_hook *hook, int threads)
{
    enum { ROWS = 37, WIDTH = 29, TENSORS = 2, STRIDE = 16, CELLS = 12 };
    assay_hook_laws *laws;
    float *x = tensor_of(ASSAY_FLOAT32, (uint64_t)ROWS * WIDTH, false), *y = calloc((size_t)ROWS * WIDTH, sizeof *y);
    float *w = tensor_of(ASSAY_FLOAT32, WIDTH, true);
    double *sums = calloc(4 * STRIDE, sizeof *sums), *added = tensor_of(ASSAY_FLOAT64, 3 * CELLS, true);
    int dtypes[TENSORS] = {ASSAY_FLOAT32, ASSAY_FLOAT32};
    const double *expected;
    CU_ASSERT_FATAL(x && y && w && sums && added);
    CU_ASSERT_EQUAL_FATAL(assay_hook_laws_new(hook, threads, &laws), 0);
    const assay_hook_law norm = {.kind = ASSAY_LAW_NORM,
                                 .name = "state/laws/norm/n_output_0",
                                 .x = {x, ASSAY_FLOAT32},
                                 .y = {y, ASSAY_FLOAT32},
                                 .weight = {w, ASSAY_FLOAT32},
                                 .rows = ROWS,
                                 .inputs = WIDTH,
                                 .outputs = WIDTH,
                                 .groups = 4,
                                 .tiles = 4,
                                 .e = 1e-5,
                                 .parameter = -1,
                                 .of_bias = -1};
    CU_ASSERT_TRUE(assay_hook_laws_take(laws, &norm, 0) >= 0);
    const void *tensors[TENSORS] = {x, w};
    const uint64_t elements[TENSORS] = {(uint64_t)ROWS * WIDTH, WIDTH}, first[TENSORS + 1] = {0, 8, 16};
    const assay_hook_columns columns = {TENSORS, dtypes, tensors, NULL, elements, first};
    CU_ASSERT_TRUE(assay_hook_laws_take_columns(laws, ASSAY_SKETCH_PLAIN, &columns, STRIDE, sums) >= 0);
    const assay_hook_added of_pass = {{ASSAY_FLOAT32, ASSAY_FLOAT32}, 2, 2, 3, ROWS, added};
    CU_ASSERT_EQUAL(assay_hook_laws_expect(laws, 0, &of_pass), 0);
    CU_ASSERT_EQUAL(assay_hook_laws_expected(laws, 0, dtypes, &expected), ROWS);
    CU_ASSERT_PTR_NOT_NULL(expected);
    assay_hook_laws_wait(laws);
    CU_ASSERT_TRUE(sums[STRIDE] > 0 && sums[STRIDE + 15] > 0);
    CU_ASSERT_EQUAL(assay_hook_laws_finish(laws), 0);
    const char *names[] = {"state/laws/update/a", "state/laws/update/b"};
    CU_ASSERT_EQUAL(assay_hook_save_floats(hook, TENSORS, names, (uint64_t[]){7, WIDTH - 7}, w), 0);
    assay_hook_laws_free(laws);
    free(added);
    free(sums);
    free(w);
    free(y);
    free(x);
}

static void test_equations(void)
{
    char directory[] = "/tmp/assay-sums-XXXXXX";
    assay_hook *hook;
    assay_hook_counts counts;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(directory));
    CU_ASSERT_EQUAL_FATAL(assay_hook_open(directory, 0, 1, &hook, NULL), 0);
    assay_hook_set(hook, "save_interval", "1");
    assay_hook_set(hook, "save_all", "true");
    assay_hook_set(hook, "save_raw_tensor", "true");
    for (int threads = 0; threads < 3; threads++) {
        assay_hook_step(hook);
        take_all(hook, threads);
    }
    assay_hook_step(hook);
    assay_hook_flush(hook);
    assay_hook_get_counts(hook, &counts);
    CU_ASSERT_EQUAL(counts.tensors, 9);
    CU_ASSERT_EQUAL(counts.dropped + counts.errors, 0);
    CU_ASSERT_EQUAL(assay_hook_close(hook), 0);
    nftw(directory, forget, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    CU_TestInfo tests[] = {{"sums", test_sums},         {"quotient", test_quotient},   {"function", test_function},
                           {"products", test_products}, {"equations", test_equations}, CU_TEST_INFO_NULL};
    return unit_main("hook sums", tests);
}
