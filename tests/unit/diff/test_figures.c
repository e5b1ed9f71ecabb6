/* How two tensors differ, against plain loops: any dtypes, any cuts, with the same bits. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/tensor.h>

#include "diff/figures.h"
#include "tensor/convert.h"

enum { N = 3000 };

static const int DTYPES[] = {ASSAY_FLOAT32, ASSAY_FLOAT64, ASSAY_BFLOAT16, ASSAY_FLOAT16, ASSAY_INT8, ASSAY_COMPLEX64};

static uint64_t state = 1;
static uint8_t random_byte(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint8_t)(state >> 40);
}

static assay_diff_figures feed(int dtype_a, int dtype_b, const uint8_t *a, const uint8_t *b, uint64_t cut)
{
    const assay_diff_tolerance tolerance = {1e-3, 1e-2};
    static assay_differ d;
    assay_differ_init(&d, dtype_a, dtype_b, &tolerance);
    for (uint64_t at = 0, n; at < N; at += n) {
        n = N - at < cut ? N - at : cut;
        assay_differ_feed(&d, a + at * assay_dtype_size(dtype_a), b + at * assay_dtype_size(dtype_b), n);
    }
    assay_differ_end(&d);
    return d.figures;
}

static bool is_close(double a, double b)
{
    return isfinite(a) && isfinite(b) ? fabs(a - b) <= 1e-3 + 1e-2 * fabs(b) : a == b || (isnan(a) && isnan(b));
}

static bool match(int dtype_a, int dtype_b, const uint8_t *a, const uint8_t *b, const assay_diff_figures *got)
{
    static double x[N], y[N];
    const size_t size = assay_dtype_size(dtype_a);
    assay_diff_figures want = {.elements = N, .first = UINT64_MAX};
    assay_to_double(dtype_a, a, N, x);
    assay_to_double(dtype_b, b, N, y);
    for (uint64_t i = 0; i < N; i++) {
        const bool equal = dtype_a == dtype_b ? memcmp(a + i * size, b + i * size, size) == 0
                                              : x[i] == y[i] || (isnan(x[i]) && isnan(y[i]));
        if (isfinite(x[i]) && isfinite(y[i])) {
            want.dot += x[i] * y[i];
            want.squares_a += x[i] * x[i];
            want.squares_b += y[i] * y[i];
        }
        if (equal)
            continue;
        want.first = want.unequal++ == 0 ? i : want.first;
        want.apart += !is_close(x[i], y[i]);
        if (isfinite(x[i] - y[i]))
            want.largest = fmax(want.largest, fabs(x[i] - y[i]));
        if (isfinite(x[i] - y[i]) && x[i] != y[i])
            want.relative = fmax(want.relative, fabs(x[i] - y[i]) / fmax(fabs(x[i]), fabs(y[i])));
    }
    return got->elements == N && got->unequal == want.unequal && got->apart == want.apart && got->first == want.first &&
           got->largest == want.largest && got->relative == want.relative &&
           fabs(got->squares_a - want.squares_a) <= 1e-12 * want.squares_a &&
           fabs(got->squares_b - want.squares_b) <= 1e-12 * want.squares_b &&
           fabs(got->dot - want.dot) <= 1e-12 * sqrt(want.squares_a * want.squares_b);
}

/* Elements of any bits whose squares fit a double; where `odd`, with NaN and infinities. */
static void fill(int dtype, uint8_t *bytes, bool odd)
{
    static double wide[N];
    const size_t size = assay_dtype_size(dtype);
    for (uint64_t i = 0; i < N * size; i++)
        bytes[i] = random_byte();
    assay_to_double(dtype, bytes, N, wide);
    for (uint64_t i = 0; i < N; i++)
        if ((isfinite(wide[i]) && fabs(wide[i]) > 1e100) || (!isfinite(wide[i]) && (!odd || i % 7 != 0)))
            memset(bytes + i * size, 0, size);
}

static void against_loops(void)
{
    static uint8_t a[N * 16], b[N * 16];
    for (size_t i = 0; i < sizeof DTYPES / sizeof *DTYPES; i++)
        for (size_t k = 0; k < sizeof DTYPES / sizeof *DTYPES; k++)
            for (int changes = 0; changes < 3; changes++) {
                fill(DTYPES[i], a, changes == 2);
                fill(DTYPES[k], b, changes == 2);
                if (i == k && changes < 2) {
                    memcpy(b, a, sizeof b);
                    b[1500 * assay_dtype_size(DTYPES[k])] ^= (uint8_t)changes;
                }
                const assay_diff_figures whole = feed(DTYPES[i], DTYPES[k], a, b, N),
                                         seven = feed(DTYPES[i], DTYPES[k], a, b, 7);
                CU_ASSERT_TRUE(match(DTYPES[i], DTYPES[k], a, b, &whole));
                CU_ASSERT_EQUAL(memcmp(&whole, &seven, sizeof whole), 0);
                if (i == k && changes == 0)
                    CU_ASSERT_TRUE(whole.unequal == 0 && assay_diff_cosine(&whole) == 1);
            }
}

static void zeros(void)
{
    const float plus[] = {0, 0}, minus[] = {0, -0.0F}, one[] = {1, 0};
    const assay_diff_tolerance none = {0, 0};
    static assay_differ d;
    assay_differ_init(&d, ASSAY_FLOAT32, ASSAY_FLOAT32, &none);
    assay_differ_feed(&d, (const uint8_t *)plus, (const uint8_t *)minus, 2);
    assay_differ_end(&d);
    CU_ASSERT_TRUE(d.figures.unequal == 1 && d.figures.apart == 0 && d.figures.first == 1 && d.figures.largest == 0);
    CU_ASSERT_EQUAL(assay_diff_cosine(&d.figures), 1);
    assay_differ_init(&d, ASSAY_FLOAT32, ASSAY_FLOAT32, &none);
    assay_differ_feed(&d, (const uint8_t *)plus, (const uint8_t *)one, 2);
    assay_differ_end(&d);
    CU_ASSERT_TRUE(d.figures.relative == 1 && assay_diff_cosine(&d.figures) == 0);
}

int main(void)
{
    CU_TestInfo tests[] = {{"against plain loops", against_loops}, {"zeros", zeros}, CU_TEST_INFO_NULL};
    return unit_main("how tensors differ", tests);
}
