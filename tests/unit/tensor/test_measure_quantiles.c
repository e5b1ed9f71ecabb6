/* Quantiles: against sorting; the same from memory and from any number of passes. */
#include "unit.h"

#include <math.h>

#include "take.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double between(double a, double b, double share)
{
    if (share == 0 || a == b)
        return a;
    if (isinf(a) || isinf(b))
        return a * (1 - share) + b * share;
    return share < 0.5 ? a + (b - a) * share : b - (b - a) * (1 - share);
}

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static unsigned check_result(const assay_measure *measure, const tensor *t, const assay_result *got)
{
    uint64_t used = 0;
    unsigned wrong = 0;
    double *sorted = malloc((t->shape.elements + 1) * sizeof *sorted);
    for (uint64_t i = 0; i < t->shape.elements; i++) {
        if (!isnan(t->wide[i]))
            sorted[used++] = t->wide[i];
    }
    qsort(sorted, used, sizeof *sorted, ascending);
    for (uint32_t k = 0; k < measure->numbers; k++) {
        double h = used > 0 ? (double)(used - 1) * measure->number[k] : 0, want = NAN;
        uint64_t at = (uint64_t)floor(h);
        if (used > 0)
            want = between(sorted[at], sorted[at + 1 < used ? at + 1 : at], h - floor(h));
        wrong += !same(got->of.quantiles.value[k], want);
    }
    free(sorted);
    return wrong + (got->of.quantiles.used != used);
}

/* The least budget that a meter of the measure is satisfied with. */
static size_t least_budget(const assay_measure *measure, const assay_shape *shape, assay_arena *arena)
{
    size_t low = 0, high = CEILING;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        assay_meter *meter;
        bool fits = assay_meter_new(measure, shape, NULL, middle, arena, &meter, NULL) == ASSAY_OK;
        assay_arena_clear(arena);
        *(fits ? &high : &low) = middle;
    }
    return high;
}

static const double NUMBERS[] = {0.05, 0.95, 0, 1, 0.5, 0.25, 0.75, 1.0 / 3};

static assay_measure quantiles(uint32_t numbers)
{
    assay_measure measure = {.kind = ASSAY_MEASURE_QUANTILES, .numbers = numbers};
    for (uint32_t k = 0; k < numbers; k++)
        measure.number[k] = k < 8 ? NUMBERS[k] : (double)k / 32;
    return measure;
}

/* From memory; from a single small table, from several, from one or two large ones: right, so the same. */
static unsigned check_tensor(const assay_measure *measure, const tensor *t, assay_arena *arena, int *most_passes)
{
    unsigned wrong = 0;
    size_t least = least_budget(measure, &t->shape, arena);
    const size_t budgets[] = {CEILING, least, least + 3 * 2048, least + (1200 << 10), least + (3 << 20)};
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++) {
        assay_result got;
        int passes = 0;
        assay_error err = {""};
        cut_kind cut = t->shape.elements > 5000 ? (cut_kind)(i % 2) : (cut_kind)(i % CUTS);
        assay_arena_clear(arena);
        int status = take_passes(measure, t, NULL, assay_simd_level(), cut, budgets[i], arena, &got, &passes, &err);
        wrong += status != ASSAY_OK || check_result(measure, t, &got);
        wrong += i == 0 && passes != 1;
        *most_passes = passes > *most_passes ? passes : *most_passes;
    }
    assay_arena_clear(arena);
    return wrong;
}

static void every_dtype(void)
{
    static const int64_t LENGTHS[] = {1, 2, 3, 21, 1000, 5001};
    assay_arena *arena = assay_arena_new(CEILING);
    assay_measure two = quantiles(2), all = quantiles(ASSAY_MEASURE_NUMBERS);
    for (int type = 0; type < NUMERIC_COUNT; type++) {
        unsigned wrong = 0;
        int most_passes = 0;
        for (size_t i = 0; i < sizeof LENGTHS / sizeof LENGTHS[0]; i++) {
            for (data_kind kind = DATA_ORDINARY; kind < DATA_KINDS; kind++) {
                tensor t = tensor_of(NUMERIC[type], kind, 1, &LENGTHS[i]);
                wrong += check_tensor(&two, &t, arena, &most_passes) + check_tensor(&all, &t, arena, &most_passes);
                tensor_release(&t);
            }
        }
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_TRUE(most_passes >= 4);
    }
    assay_arena_free(arena);
}

/* Beyond SHORT_TENSOR the tables are large where the budget allows. */
static void long_tensors(void)
{
    static const int TYPES[] = {ASSAY_FLOAT32, ASSAY_FLOAT64, ASSAY_INT64, ASSAY_BFLOAT16};
    const int64_t dim[] = {70, 1009};
    assay_arena *arena = assay_arena_new(CEILING);
    assay_measure few = quantiles(3);
    for (int i = 0; i < 4; i++) {
        int most_passes = 0;
        tensor t = tensor_of(TYPES[i], i < 2 ? DATA_ORDINARY : DATA_ANY_BITS, 2, dim);
        CU_ASSERT_EQUAL(check_tensor(&few, &t, arena, &most_passes), 0);
        CU_ASSERT_TRUE(most_passes > 2);
        tensor_release(&t);
    }
    assay_arena_free(arena);
}

enum { PATTERNS = 6, LONG = 90011 };

/* Orders and repetitions that a sample of every so many elements sees well, badly or not at all. */
static double pattern_value(int pattern, int64_t i)
{
    switch (pattern) {
    case 0:
        return (double)i;
    case 1:
        return (double)(i % 7); /* ties */
    case 2:
        return i % 22 == 0 ? 1e6 : (double)(i % 1000); /* the sample is unlike the rest */
    case 3:
        return i % 10 == 0 ? 0.25 : 0; /* nearly all equal */
    case 4:
        return i % 3 == 0 ? (double)NAN : (double)((i * 7919) % LONG);
    default:
        return i % 2 ? (double)INFINITY : -(double)INFINITY;
    }
}

/* Floats that are kept as they are, found by bracket or, where that fails, by digits. */
static void floats_in_any_order(void)
{
    assay_arena *arena = assay_arena_new(CEILING);
    assay_measure two = quantiles(2);
    const int64_t dim[] = {LONG};
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        int most_passes = 0;
        tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 1, dim);
        for (int64_t i = 0; i < LONG; i++) {
            float x = (float)pattern_value(pattern, i);
            memcpy(t.bytes + (size_t)i * sizeof x, &x, sizeof x);
            t.wide[i] = x;
        }
        CU_ASSERT_EQUAL(check_tensor(&two, &t, arena, &most_passes), 0);
        tensor_release(&t);
    }
    assay_arena_free(arena);
}

static void check_values(const double *x, int64_t n, double q, double want)
{
    assay_arena *arena = assay_arena_new(CEILING);
    tensor t = tensor_of_doubles(1, &n, x);
    assay_measure measure = {.kind = ASSAY_MEASURE_QUANTILES, .numbers = 1, .number = {q}};
    assay_result got;
    CU_ASSERT_EQUAL(take(&measure, &t, NULL, ASSAY_SIMD_SCALAR, CUT_NONE, arena, &got), ASSAY_OK);
    CU_ASSERT_TRUE(same(got.of.quantiles.value[0], want));
    CU_ASSERT_TRUE(want != 0 || !signbit(got.of.quantiles.value[0])); /* there is one zero */
    tensor_release(&t);
    assay_arena_free(arena);
}

static void known_values(void)
{
    const double inf = INFINITY;
    check_values((double[]){4, 1, 3, 2}, 4, 0.5, 2.5);
    check_values((double[]){4, 1, 3, 2}, 4, 0.25, 1.75);
    check_values((double[]){4, NAN, 1, NAN, 3, 2}, 6, 1, 4);
    check_values((double[]){NAN, NAN}, 2, 0.5, NAN);
    check_values((double[]){inf, -inf, 0}, 3, 0.5, 0);
    check_values((double[]){inf, -inf, 0}, 3, 0.9, inf);
    check_values((double[]){inf, inf, 0}, 3, 0.75, inf);
    check_values((double[]){inf, -inf}, 2, 0.5, NAN);
    check_values((double[]){0.0, -0.0, -1, 1}, 4, 0.5, 0);
    check_values((double[]){-0.0, -0.0, -1}, 3, 1, 0);
    check_values((double[]){-1e308, 1e308}, 2, 1, 1e308);
}

static void bad_numbers(void)
{
    const int64_t dim = 3;
    static const double BAD[] = {-0.1, 1.1, NAN, INFINITY};
    assay_arena *arena = assay_arena_new(CEILING);
    tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 1, &dim);
    for (int i = 0; i < 4; i++) {
        assay_measure measure = {.kind = ASSAY_MEASURE_QUANTILES, .numbers = 1, .number = {BAD[i]}};
        assay_meter *meter;
        assay_error err = {""};
        CU_ASSERT_EQUAL(assay_meter_new(&measure, &t.shape, NULL, CEILING, arena, &meter, &err), ASSAY_EPARAM);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "quantile"));
    }
    CU_ASSERT_EQUAL(assay_arena_used(arena), 0);
    tensor_release(&t);
    assay_arena_free(arena);
}

/* Another content in a later pass is found out, or at least harmless. */
static void content_that_changes(void)
{
    const int64_t dim = 3000;
    assay_arena *arena = assay_arena_new(CEILING);
    assay_measure measure = quantiles(4);
    tensor t = tensor_of(ASSAY_FLOAT64, DATA_ORDINARY, 1, &dim);
    assay_meter *meter;
    assay_result result;
    assay_error err = {""};
    size_t budget = least_budget(&measure, &t.shape, arena);
    CU_ASSERT_EQUAL(assay_meter_new(&measure, &t.shape, NULL, budget, arena, &meter, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_meter_feed(meter, t.bytes, NULL, 3000, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_meter_end(meter, &result, &err), 1);
    memset(t.bytes, 0x7f, 3000 * 8);
    CU_ASSERT_EQUAL(assay_meter_feed(meter, t.bytes, NULL, 3000, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_meter_end(meter, &result, &err), ASSAY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "changed"));
    tensor_release(&t);
    assay_arena_free(arena);
}

int main(void)
{
    CU_TestInfo tests[] = {{"every dtype and budget", every_dtype},
                           {"long tensors", long_tensors},
                           {"floats in any order", floats_in_any_order},
                           {"known values", known_values},
                           {"bad numbers", bad_numbers},
                           {"content that changes", content_that_changes},
                           CU_TEST_INFO_NULL};
    return unit_main("quantiles", tests);
}
