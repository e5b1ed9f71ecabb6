/* The contract of meters: what does not apply, unsound shapes, budgets, ceilings, failing allocations, wrong feeding.
 */
#include "unit.h"

#include <math.h>

#include "base/fault.h"
#include "take.h"

static assay_measure measure_of(uint32_t kind)
{
    assay_measure measure = {.kind = kind};
    if (kind == ASSAY_MEASURE_UNITS)
        measure = (assay_measure){.kind = kind, .numbers = 2, .number = {0, INFINITY}};
    else if (kind == ASSAY_MEASURE_EQUALS || kind == ASSAY_MEASURE_BELOW || kind == ASSAY_MEASURE_QUANTILES)
        measure = (assay_measure){.kind = kind, .numbers = 1, .number = {0.5}};
    else if (kind == ASSAY_MEASURE_IMAGES)
        measure = (assay_measure){.kind = kind, .numbers = 1, .number = {2}};
    else if (kind == ASSAY_MEASURE_SKETCH)
        measure = (assay_measure){.kind = kind, .axis = ASSAY_SKETCH_FLAT, .numbers = 3, .number = {4, 4, 1e-5}};
    return measure;
}

static int new_meter(uint32_t kind, const assay_shape *shape, size_t budget, assay_arena *arena, assay_error *err)
{
    assay_measure measure = measure_of(kind);
    assay_meter *meter;
    return assay_meter_new(&measure, shape, assay_measure_compares(&measure) ? shape : NULL, budget, arena, &meter,
                           err);
}

static void what_does_not_apply(void)
{
    const int64_t three = 3, empty[] = {INT64_MAX, 0, INT64_MAX};
    const assay_shape text = {ASSAY_STRING, 1, &three, 3}, none = {ASSAY_FLOAT32, 3, empty, 0},
                      unknown = {7, 1, &three, 3};
    assay_arena *arena = assay_arena_new(CEILING);
    for (uint32_t kind = 0; kind < ASSAY_MEASURE_KINDS; kind++) {
        CU_ASSERT_EQUAL(new_meter(kind, &text, CEILING, arena, NULL), 1);
        CU_ASSERT_EQUAL(new_meter(kind, &none, CEILING, arena, NULL), 1);
        CU_ASSERT_EQUAL(new_meter(kind, &unknown, CEILING, arena, NULL), 1);
    }
    const assay_shape sound = {ASSAY_FLOAT32, 1, &three, 3};
    CU_ASSERT_EQUAL(new_meter(ASSAY_MEASURE_TEXTS, &sound, CEILING, arena, NULL), 1);
    CU_ASSERT_EQUAL(assay_arena_used(arena), 0);
    assay_arena_free(arena);
}

static void unsound_shapes(void)
{
    const int64_t huge[] = {INT64_C(1) << 32, INT64_C(1) << 32}, negative[] = {-1, -3}, three = 3, emptied[] = {0, -1};
    const assay_shape shapes[] = {{ASSAY_FLOAT32, 2, huge, 0},    {ASSAY_FLOAT32, 2, negative, 3},
                                  {ASSAY_FLOAT32, 1, &three, 4},  {ASSAY_FLOAT32, 1, &three, 0},
                                  {ASSAY_FLOAT32, -1, &three, 1}, {ASSAY_FLOAT32, 65, huge, 1},
                                  {ASSAY_FLOAT32, 2, emptied, 0}, {ASSAY_FLOAT32, 0, NULL, 2}};
    assay_arena *arena = assay_arena_new(CEILING);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (uint32_t kind = 0; kind < ASSAY_MEASURE_KINDS; kind++) {
            assay_error err = {""};
            CU_ASSERT_EQUAL(new_meter(kind, &shapes[i], CEILING, arena, &err), ASSAY_EFORMAT);
            CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "shape"));
        }
    }
    assay_arena_free(arena);
}

static void unsound_measures(void)
{
    const int64_t three = 3;
    const assay_shape shape = {ASSAY_FLOAT32, 1, &three, 3};
    const assay_measure wrong[] = {
        {.kind = ASSAY_MEASURE_KINDS},
        {.kind = UINT32_MAX},
        {.kind = ASSAY_MEASURE_EQUALS, .numbers = ASSAY_MEASURE_NUMBERS + 1},
        {.kind = ASSAY_MEASURE_UNITS, .numbers = 1},
        {.kind = ASSAY_MEASURE_UNITS, .form = 2, .numbers = 2},
        {.kind = ASSAY_MEASURE_CLASSES, .form = 4},
        {.kind = ASSAY_MEASURE_IMAGES, .numbers = 1, .number = {0}},
        {.kind = ASSAY_MEASURE_IMAGES, .numbers = 1, .number = {NAN}},
        {.kind = ASSAY_MEASURE_SKETCH},
        {.kind = ASSAY_MEASURE_SKETCH, .numbers = 3, .number = {0, 1, 0}},
        {.kind = ASSAY_MEASURE_SKETCH, .numbers = 3, .number = {1, NAN, 0}},
        {.kind = ASSAY_MEASURE_SKETCH, .form = ASSAY_SKETCH_WHOLE + 1, .numbers = 3, .number = {1, 1, 0}},
        {.kind = ASSAY_MEASURE_IMAGES},
        {.kind = ASSAY_MEASURE_IMAGES, .form = 2, .numbers = 1, .number = {64}}};
    assay_arena *arena = assay_arena_new(CEILING);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assay_meter *meter;
        assay_error err = {""};
        CU_ASSERT_EQUAL(assay_meter_new(&wrong[i], &shape, NULL, CEILING, arena, &meter, &err), ASSAY_EPARAM);
        CU_ASSERT_TRUE(err.text[0] != '\0');
    }
    CU_ASSERT_EQUAL(assay_arena_used(arena), 0);
    assay_arena_free(arena);
}

/* Shapes so large that what a kind needs does not fit a size_t, let alone the budget. */
static void huge_shapes(void)
{
    const int64_t wide[] = {2, INT64_C(1) << 61}, flat = INT64_C(1) << 62;
    const assay_shape two = {ASSAY_FLOAT64, 2, wide, UINT64_C(1) << 62},
                      one = {ASSAY_FLOAT64, 1, &flat, UINT64_C(1) << 62};
    assay_measure channels = {.kind = ASSAY_MEASURE_CHANNELS, .axis = 1};
    assay_arena *arena = assay_arena_new(CEILING);
    assay_meter *meter;
    assay_error err = {""};
    CU_ASSERT_EQUAL(new_meter(ASSAY_MEASURE_UNITS, &two, CEILING, arena, &err), ASSAY_EBUDGET);
    CU_ASSERT_EQUAL(new_meter(ASSAY_MEASURE_UNITS, &one, CEILING, arena, &err), ASSAY_EUNSUPPORTED);
    CU_ASSERT_EQUAL(new_meter(ASSAY_MEASURE_VALUES, &one, CEILING, arena, &err), ASSAY_EBUDGET);
    CU_ASSERT_EQUAL(new_meter(ASSAY_MEASURE_VALUES, &two, SIZE_MAX, arena, &err), ASSAY_EBUDGET);
    CU_ASSERT_EQUAL(new_meter(ASSAY_MEASURE_CLASSES, &one, CEILING, arena, &err), ASSAY_EBUDGET);
    CU_ASSERT_EQUAL(assay_meter_new(&channels, &two, NULL, CEILING, arena, &meter, &err), ASSAY_EBUDGET);
    CU_ASSERT_EQUAL(new_meter(ASSAY_MEASURE_QUANTILES, &one, CEILING, arena, &err), ASSAY_OK); /* pass after pass */
    assay_arena_free(arena);
}

static void budgets(void)
{
    const int64_t dim[] = {2, INT64_C(3) << 27};
    const assay_shape shape = {ASSAY_FLOAT32, 2, dim, UINT64_C(3) << 28};
    assay_arena *arena = assay_arena_new(CEILING);
    assay_error err = {""};
    CU_ASSERT_EQUAL(new_meter(ASSAY_MEASURE_VALUES, &shape, 100 << 20, arena, &err), ASSAY_EBUDGET);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "needs 6.0 GiB"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "100.0 MiB are left"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--memory"));
    for (uint32_t kind = 0; kind < ASSAY_MEASURE_KINDS; kind++) {
        if (kind != ASSAY_MEASURE_TEXTS)
            CU_ASSERT_EQUAL(new_meter(kind, &shape, 16, arena, &err), ASSAY_EBUDGET);
    }
    CU_ASSERT_EQUAL(assay_arena_used(arena), 0);
    assay_arena_free(arena);
}

/* A block of the arena has room where a new one has none: a meter cannot live there, and that is no lack of memory. */
static void full_arenas(void)
{
    const int64_t dim[] = {10, 1, 1};
    const assay_shape shape = {ASSAY_FLOAT32, 3, dim, 10};
    for (uint32_t kind = 0; kind < ASSAY_MEASURE_KINDS; kind++) {
        assay_arena *arena = assay_arena_new(1 << 20);
        assay_error err = {""};
        while (assay_arena_lendable(arena) >= 16)
            CU_ASSERT_PTR_NOT_NULL_FATAL(assay_arena_take(arena, 16));
        CU_ASSERT_TRUE(assay_arena_left(arena) > 8192);
        if (kind != ASSAY_MEASURE_TEXTS)
            CU_ASSERT_EQUAL(new_meter(kind, &shape, assay_arena_left(arena), arena, &err), ASSAY_EBUDGET);
        assay_arena_free(arena);
    }
}

/* The budget promises more than the arena has. */
static void ceilings(void)
{
    const int64_t dim[] = {2, 100000};
    const assay_shape shape = {ASSAY_FLOAT32, 2, dim, 200000};
    for (size_t ceiling = 0; ceiling < 700000; ceiling += 1000 + ceiling / 16) {
        assay_arena *arena = assay_arena_new(ceiling);
        assay_error err = {""};
        int status = new_meter(ASSAY_MEASURE_UNITS, &shape, SIZE_MAX, arena, &err);
        CU_ASSERT_EQUAL(status, ASSAY_EBUDGET);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--memory"));
        assay_arena_free(arena);
    }
    assay_arena *enough = assay_arena_new(2000000);
    CU_ASSERT_EQUAL(new_meter(ASSAY_MEASURE_UNITS, &shape, SIZE_MAX, enough, NULL), ASSAY_OK);
    assay_arena_free(enough);
}

static void wrong_feeding(void)
{
    const int64_t dim[] = {10, 1, 1};
    assay_arena *arena = assay_arena_new(CEILING);
    tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 3, dim);
    for (uint32_t kind = 0; kind < ASSAY_MEASURE_KINDS; kind++) {
        assay_measure measure = measure_of(kind);
        assay_meter *meter;
        assay_result result = {.kind = 1234};
        assay_error err = {""};
        const assay_shape *reference = assay_measure_compares(&measure) ? &t.shape : NULL;
        const void *other = reference ? t.bytes : NULL;
        if (kind == ASSAY_MEASURE_TEXTS)
            continue;
        CU_ASSERT_EQUAL(assay_meter_new(&measure, &t.shape, reference, CEILING, arena, &meter, &err), ASSAY_OK);
        CU_ASSERT_EQUAL(assay_meter_feed(meter, t.bytes, other, 7, &err), ASSAY_OK);
        CU_ASSERT_EQUAL(assay_meter_feed(meter, NULL, NULL, 0, &err), ASSAY_OK);
        CU_ASSERT_EQUAL(assay_meter_feed(meter, t.bytes, other, 4, &err), ASSAY_EFORMAT);
        CU_ASSERT_EQUAL(assay_meter_feed(meter, t.bytes, other, UINT64_MAX, &err), ASSAY_EFORMAT);
        CU_ASSERT_EQUAL(assay_meter_end(meter, &result, &err), ASSAY_EFORMAT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "7 of the 10"));
        CU_ASSERT_EQUAL(result.kind, 1234);
    }
    tensor_release(&t);
    assay_arena_free(arena);
}

/* Whatever allocation fails: a clean status, and all memory can still be given back. */
static void failing_allocations(void)
{
    const int64_t dim[] = {4, 10, 5};
    tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 3, dim);
    for (uint32_t kind = 0; kind < ASSAY_MEASURE_KINDS; kind++) {
        int status = ASSAY_ENOMEM, call = 1;
        for (; status == ASSAY_ENOMEM && call < 10 && kind != ASSAY_MEASURE_TEXTS; call++) {
            char fault[32];
            assay_measure measure = measure_of(kind);
            assay_result result;
            assay_error err = {""};
            assay_arena *arena = assay_arena_new(CEILING);
            snprintf(fault, sizeof fault, "alloc:%d", call);
            setenv("ASSAY_FAULT", fault, 1);
            assay_fault_arm(0);
            status = take_passes(&measure, &t, assay_measure_compares(&measure) ? &t : NULL, assay_simd_level(),
                                 CUT_NONE, CEILING, arena, &result, NULL, &err);
            CU_ASSERT_TRUE(status == ASSAY_OK || strstr(err.text, "no memory"));
            unsetenv("ASSAY_FAULT");
            assay_fault_arm(0);
            assay_arena_free(arena);
        }
        CU_ASSERT_TRUE(kind == ASSAY_MEASURE_TEXTS || (status == ASSAY_OK && call > 2));
    }
    tensor_release(&t);
}

/* What a meter borrowed goes back at its end; only the result stays. */
static void memory_goes_back(void)
{
    const int64_t dim[] = {10, 60, 50};
    assay_arena *arena = assay_arena_new(CEILING);
    tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 3, dim);
    for (uint32_t kind = 0; kind < ASSAY_MEASURE_KINDS; kind++) {
        assay_measure measure = measure_of(kind);
        assay_result result;
        if (kind == ASSAY_MEASURE_TEXTS)
            continue;
        CU_ASSERT_EQUAL(take(&measure, &t, NULL, assay_simd_level(), CUT_NONE, arena, &result), ASSAY_OK);
        bool is_long = kind == ASSAY_MEASURE_VALUES || kind == ASSAY_MEASURE_CLASSES;
        CU_ASSERT_TRUE(assay_arena_used(arena) <= (is_long ? 240000 : kind == ASSAY_MEASURE_UNITS ? 24000 : 480));
        assay_arena_clear(arena);
    }
    tensor_release(&t);
    assay_arena_free(arena);
}

int main(void)
{
    CU_TestInfo tests[] = {{"what does not apply", what_does_not_apply},
                           {"unsound shapes", unsound_shapes},
                           {"unsound measures", unsound_measures},
                           {"huge shapes", huge_shapes},
                           {"budgets", budgets},
                           {"ceilings", ceilings},
                           {"full arenas", full_arenas},
                           {"wrong feeding", wrong_feeding},
                           {"failing allocations", failing_allocations},
                           {"memory goes back", memory_goes_back},
                           CU_TEST_INFO_NULL};
    return unit_main("meters", tests);
}
