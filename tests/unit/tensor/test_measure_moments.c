/* NEGATIVE and MOMENTS against plain loops: every pair of dtypes, cut and instruction set; and the bound itself:
 * sequences of gradients that come as near to it as any can. */
#include "unit.h"

#include <math.h>

#include "take.h"

static bool is_moment(int dtype)
{
    return dtype == ASSAY_FLOAT64 || dtype == ASSAY_FLOAT32 || dtype == ASSAY_FLOAT16 || dtype == ASSAY_BFLOAT16;
}

static bool negative_match(const tensor *t, const assay_negative *got)
{
    assay_negative want = {.index = UINT64_MAX};
    for (uint64_t i = 0; i < t->shape.elements; i++) {
        want.count += t->wide[i] < 0;
        if (t->wide[i] < want.smallest) {
            want.smallest = t->wide[i];
            want.index = i;
        }
    }
    return want.count == got->count && want.smallest == got->smallest && want.index == got->index;
}

static double scale_of(const double *number)
{
    return (1 - number[0]) / sqrt((1 - number[1]) * (1 - number[0] * number[0] / number[1]));
}

static bool moments_match(const assay_measure *measure, const tensor *m, const tensor *v, const assay_moments *got)
{
    const bool known = is_moment(m->shape.dtype) && is_moment(v->shape.dtype);
    const double u = v->shape.dtype == ASSAY_FLOAT64 ? 0x1p-1022 : v->shape.dtype == ASSAY_FLOAT16 ? 0x1p-24 : 0x1p-126;
    const double v0 = 4 * u / (1 - measure->number[1]), k = scale_of(measure->number);
    double largest = 0;
    uint64_t beyond = 0, below = 0;
    for (uint64_t i = 0; i < m->shape.elements; i++) {
        const double a = m->wide[i], b = v->wide[i];
        below += a < b;
        if (!isfinite(a) || !isfinite(b) || !(b >= 0))
            continue;
        const double ratio = fabs(a) / (k * sqrt(b + v0));
        beyond += ratio > got->limit;
        largest = ratio > largest ? ratio : largest;
    }
    if (!known)
        return !got->found && got->beyond == 0;
    if (measure->form == ASSAY_MOMENTS_BELOW)
        return got->found && got->beyond == below;
    return got->found && got->beyond == beyond &&
           (got->largest == largest || fabs(got->largest - largest) <= 1e-12 * largest);
}

/* How many levels and cuts give another result than plain loops, or than one another. */
static unsigned check_pair(const assay_measure *measure, const tensor *m, const tensor *v, assay_arena *arena)
{
    assay_result first = {0}, got;
    unsigned wrong = 0;
    for (int level = 0; level < ASSAY_SIMD_LEVELS; level++)
        for (cut_kind cut = CUT_NONE; cut < CUTS && assay_simd_has((assay_simd)level); cut++) {
            const bool pair = measure->kind == ASSAY_MEASURE_MOMENTS;
            wrong += take(measure, m, pair ? v : NULL, (assay_simd)level, cut, arena, &got) != ASSAY_OK;
            wrong += pair ? !moments_match(measure, m, v, &got.of.moments) : !negative_match(m, &got.of.negative);
            if (first.kind == 0)
                first = got;
            wrong += pair ? memcmp(&first.of.moments.beyond, &got.of.moments.beyond, 4 * sizeof(double)) != 0 : 0;
            assay_arena_clear(arena);
        }
    return wrong;
}

static void against_loops(void)
{
    const int64_t dim[] = {37, 61};
    const assay_measure measures[] = {
        {.kind = ASSAY_MEASURE_NEGATIVE},
        {.kind = ASSAY_MEASURE_MOMENTS, .numbers = 3, .number = {0.9, 0.999, NAN}},
        {.kind = ASSAY_MEASURE_MOMENTS, .numbers = 3, .number = {0.9, 0.95, 0.5}},
        {.kind = ASSAY_MEASURE_MOMENTS, .form = ASSAY_MOMENTS_BELOW},
    };
    assay_arena *arena = assay_arena_new(CEILING);
    for (int a = 0; a < NUMERIC_COUNT; a++)
        for (int b = 0; b < NUMERIC_COUNT; b += a < 4 ? 1 : 5)
            for (data_kind kind = DATA_ORDINARY; kind < DATA_KINDS; kind += DATA_ANY_BITS) {
                tensor m = tensor_of(NUMERIC[a], kind, 2, dim), v = tensor_of(NUMERIC[b], kind, 2, dim);
                unsigned wrong = 0;
                for (size_t i = 0; i < sizeof measures / sizeof measures[0]; i++)
                    wrong += check_pair(&measures[i], &m, &v, arena);
                CU_ASSERT_EQUAL(wrong, 0);
                tensor_release(&m);
                tensor_release(&v);
            }
    assay_arena_free(arena);
}

/* The ratio that Adam's moments, in float, have after so many gradients. */
static double ratio_after(const double *gradient, int count, double b1, double b2)
{
    const int64_t one = 1;
    const assay_measure measure = {.kind = ASSAY_MEASURE_MOMENTS, .numbers = 3, .number = {b1, b2, NAN}};
    float first = 0, second = 0;
    for (int i = 0; i < count; i++) {
        const float g = (float)gradient[i];
        first = (float)b1 * first + (float)(1 - b1) * g;
        second = (float)b2 * second + (float)(1 - b2) * g * g;
    }
    tensor m = tensor_new(ASSAY_FLOAT32, 1, &one), v = tensor_new(ASSAY_FLOAT32, 1, &one);
    memcpy(m.bytes, &first, sizeof first);
    memcpy(v.bytes, &second, sizeof second);
    assay_arena *arena = assay_arena_new(CEILING);
    assay_result result = {0};
    CU_ASSERT_EQUAL(take(&measure, &m, &v, assay_simd_level(), CUT_NONE, arena, &result), ASSAY_OK);
    assay_arena_free(arena);
    tensor_release(&m);
    tensor_release(&v);
    return result.of.moments.largest;
}

/* The sequence g_i ~ (b1 / b2)^(t-i) is the worst there is: it reaches the bound, and none goes beyond. */
static void the_bound(void)
{
    static const double BETAS[][2] = {{0.9, 0.999}, {0.9, 0.95}, {0.8, 0.999}, {0.95, 0.98}, {0.5, 0.9}, {0, 0.999}};
    enum { STEPS = 2000 };
    static double worst[STEPS], tiny[STEPS], spike[STEPS];
    for (size_t i = 0; i < sizeof BETAS / sizeof BETAS[0]; i++) {
        const double b1 = BETAS[i][0], b2 = BETAS[i][1];
        for (int t = 0; t < STEPS; t++) {
            worst[t] = t == STEPS - 1 ? 1 : pow(b1 / b2, STEPS - 1 - t);
            tiny[t] = 1e-22 * worst[t];
            spike[t] = t == STEPS - 5 ? 1e3 : 1e-3;
        }
        const double ratio = ratio_after(worst, STEPS, b1, b2);
        CU_ASSERT_TRUE(ratio > 0.9999 && ratio < 1.00001);
        CU_ASSERT_TRUE(ratio_after(tiny, STEPS, b1, b2) < 1.00001);
        CU_ASSERT_TRUE(ratio_after(spike, STEPS, b1, b2) < 1.00001);
    }
}

static void nothing_to_compare_with(void)
{
    const int64_t three = 3, four = 4;
    const assay_measure measure = {.kind = ASSAY_MEASURE_MOMENTS, .numbers = 3, .number = {0.9, 0.999, NAN}};
    assay_arena *arena = assay_arena_new(CEILING);
    tensor m = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 1, &three),
           v = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 1, &four);
    assay_result result = {0};
    CU_ASSERT_EQUAL(take(&measure, &m, NULL, assay_simd_level(), CUT_NONE, arena, &result), ASSAY_OK);
    CU_ASSERT_FALSE(result.of.moments.found);
    CU_ASSERT_EQUAL(take(&measure, &m, &v, assay_simd_level(), CUT_NONE, arena, &result), ASSAY_OK);
    CU_ASSERT_FALSE(result.of.moments.found);
    tensor_release(&m);
    tensor_release(&v);
    assay_arena_free(arena);
}

int main(void)
{
    CU_TestInfo tests[] = {{"against plain loops", against_loops},
                           {"Adam's bound", the_bound},
                           {"nothing to compare with", nothing_to_compare_with},
                           CU_TEST_INFO_NULL};
    return unit_main("measures of an optimizer's moments", tests);
}
