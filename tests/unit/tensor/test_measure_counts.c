/* Every measure but comparisons and quantiles: every dtype, shape, cut and instruction set against plain loops. */
#include "unit.h"

#include <math.h>

#include "take.h"

typedef struct shape_case {
    int dims;
    int64_t dim[4];
} shape_case;

/* Columns that are narrow, wide and as wide as the limit; runs that are short and longer than a block. */
static const shape_case SHAPES[] = {
    {0, {0}},        {1, {1}},       {1, {7}},       {1, {1000}},        {2, {3, 5}},
    {2, {64, 10}},   {2, {40, 1}},   {2, {1, 513}},  {3, {4, 3, 70}},    {4, {2, 3, 4, 5}},
    {3, {6, 8, 64}}, {2, {5, 3000}}, {2, {70, 512}}, {3, {2, 1500, 50}}, {3, {3, 2, 9000}},
};
/* The last ones are for the first dtypes only: for the others they would say nothing new. */
enum { SHAPE_COUNT = sizeof SHAPES / sizeof SHAPES[0], LONG_SHAPES = SHAPE_COUNT - 4 };

typedef bool matches(const assay_measure *measure, const tensor *t, const assay_result *got);

/* Elements behind one index of axes 0..axis. */
static uint64_t behind(const assay_shape *shape, int axis)
{
    uint64_t n = 1;
    for (int d = axis + 1; d < shape->dims; d++)
        n *= (uint64_t)shape->dim[d];
    return n;
}

/* How many of all levels and cuts give another result. */
static unsigned check_tensor(const assay_measure *measure, const tensor *t, matches *match, assay_arena *arena)
{
    unsigned wrong = 0;
    for (int level = 0; level < ASSAY_SIMD_LEVELS; level++) {
        for (cut_kind cut = CUT_NONE; cut < CUTS && assay_simd_has((assay_simd)level); cut++) {
            assay_result got;
            if (cut == CUT_TINY && t->shape.elements > 20000)
                continue;
            int status = take(measure, t, NULL, (assay_simd)level, cut, arena, &got);
            wrong += status != ASSAY_OK || got.kind != measure->kind || !match(measure, t, &got);
            assay_arena_clear(arena);
        }
    }
    return wrong;
}

static void check_measure(const assay_measure *measure, matches *match)
{
    assay_arena *arena = assay_arena_new(CEILING);
    for (int type = 0; type < NUMERIC_COUNT; type++) {
        unsigned wrong = 0;
        for (int i = 0; i < SHAPE_COUNT; i++) {
            for (data_kind kind = DATA_ORDINARY; kind < DATA_KINDS; kind += DATA_ANY_BITS) {
                if (type > 3 && i >= LONG_SHAPES)
                    continue;
                tensor t = tensor_of(NUMERIC[type], kind, SHAPES[i].dims, SHAPES[i].dim);
                wrong += check_tensor(measure, &t, match, arena);
                tensor_release(&t);
            }
        }
        if (wrong > 0)
            printf("%u wrong for %s\n", wrong, assay_dtype_name(NUMERIC[type]));
        CU_ASSERT_EQUAL(wrong, 0);
    }
    assay_arena_free(arena);
}

/* ---- units ---- */

static bool is_inside(double x, double low, double high)
{
    return (x > low || (low == -(double)INFINITY && x == low) || (low == (double)INFINITY && x == low)) &&
           (x < high || (high == (double)INFINITY && x == high) || (high == -(double)INFINITY && x == high));
}

static bool units_match(const assay_measure *measure, const tensor *t, const assay_result *got)
{
    const assay_shape *shape = &t->shape;
    bool channel = measure->form == ASSAY_UNIT_CHANNEL && shape->dims >= 2;
    uint64_t rows = shape->dims > 0 ? (uint64_t)shape->dim[0] : 1, inner = channel ? behind(shape, 1) : 1;
    uint64_t units = channel ? (uint64_t)shape->dim[1] : shape->elements / rows;
    uint64_t *inside = calloc(units, sizeof *inside);
    for (uint64_t i = 0; i < shape->elements; i++)
        inside[i / inner % units] += is_inside(t->wide[i], measure->number[0], measure->number[1]);
    bool right = got->of.units.samples == shape->elements / units && got->of.units.units == units &&
                 memcmp(inside, got->of.units.inside, units * sizeof *inside) == 0;
    free(inside);
    return right;
}

static assay_measure units(uint32_t form, double low, double high)
{
    return (assay_measure){.kind = ASSAY_MEASURE_UNITS, .form = form, .numbers = 2, .number = {low, high}};
}

static void units_of_elements(void)
{
    assay_measure active = units(ASSAY_UNIT_ELEMENT, 0, INFINITY), band = units(ASSAY_UNIT_ELEMENT, -0.3, 0.7);
    check_measure(&active, units_match);
    check_measure(&band, units_match);
}

static void units_of_channels(void)
{
    assay_measure active = units(ASSAY_UNIT_CHANNEL, 0, INFINITY), all = units(ASSAY_UNIT_CHANNEL, -INFINITY, INFINITY);
    check_measure(&active, units_match);
    check_measure(&all, units_match);
}

/* Bounds at, between and beyond floats; elements at and beside them. */
static void units_at_their_bounds(void)
{
    static const double POINTS[] = {-INFINITY,
                                    -1e300,
                                    -3.5e38,
                                    -0x1.fffffep+127,
                                    -1.0,
                                    -0.1,
                                    -0x1p-149,
                                    -0.0,
                                    0,
                                    0x1p-1074,
                                    0x1p-149,
                                    0.1,
                                    0.5,
                                    1.0,
                                    0x1.fffffep+127,
                                    3.5e38,
                                    1e300,
                                    0x1.fffffffffffffp+1023,
                                    INFINITY,
                                    NAN};
    enum { POINT_COUNT = sizeof POINTS / sizeof POINTS[0] };
    const int64_t dim = 4 * POINT_COUNT;
    assay_arena *arena = assay_arena_new(CEILING);
    tensor wide = tensor_new(ASSAY_FLOAT64, 1, &dim), single = tensor_new(ASSAY_FLOAT32, 1, &dim);
    for (int i = 0; i < dim; i++) {
        double x = POINTS[i / 4], y = i % 4 == 0 ? x : i % 4 == 1 ? nextafter(x, INFINITY) : nextafter(x, -INFINITY);
        float narrow = (float)x, near = i % 4 == 0 ? narrow : nextafterf(narrow, i % 4 == 1 ? INFINITY : -INFINITY);
        memcpy(wide.bytes + 8 * i, &y, sizeof y);
        memcpy(single.bytes + 4 * i, &near, sizeof near);
    }
    tensor_widen(&wide);
    tensor_widen(&single);
    unsigned wrong = 0;
    for (int low = 0; low < POINT_COUNT; low++) {
        for (int high = 0; high < POINT_COUNT; high++) {
            assay_measure measure = units(ASSAY_UNIT_ELEMENT, POINTS[low], POINTS[high]);
            wrong +=
                check_tensor(&measure, &wide, units_match, arena) + check_tensor(&measure, &single, units_match, arena);
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    tensor_release(&wide);
    tensor_release(&single);
    assay_arena_free(arena);
}

static void units_are_pooled(void)
{
    uint64_t now[3] = {1, 2, 3}, before[3] = {10, 20, 30};
    assay_result result = {.kind = ASSAY_MEASURE_UNITS, .of.units = {4, 3, now}};
    assay_result earlier = {.kind = ASSAY_MEASURE_UNITS, .of.units = {5, 3, before}};
    assay_meter_pool(&result, &earlier);
    CU_ASSERT_EQUAL(result.of.units.samples, 9);
    CU_ASSERT_TRUE(now[0] == 11 && now[1] == 22 && now[2] == 33 && before[0] == 10);
    earlier.of.units.units = 2;
    assay_meter_pool(&result, &earlier);
    CU_ASSERT_TRUE(result.of.units.samples == 9 && now[0] == 11);
    earlier = (assay_result){.kind = ASSAY_MEASURE_DIGEST};
    assay_meter_pool(&result, &earlier);
    CU_ASSERT_EQUAL(result.of.units.samples, 9);
}

/* ---- equal, small and large elements; the first that is not finite; values ---- */

static bool equals_match(const assay_measure *measure, const tensor *t, const assay_result *got)
{
    for (uint32_t k = 0; k < measure->numbers; k++) {
        uint64_t count = 0;
        for (uint64_t i = 0; i < t->shape.elements; i++)
            count += t->wide[i] == measure->number[k];
        if (got->of.counts.count[k] != count)
            return false;
    }
    return true;
}

static void equals(void)
{
    assay_measure measure = {.kind = ASSAY_MEASURE_EQUALS, .numbers = 6, .number = {0, 1, -1, NAN, INFINITY, 200}};
    check_measure(&measure, equals_match);
}

static bool below_match(const assay_measure *measure, const tensor *t, const assay_result *got)
{
    for (uint32_t k = 0; k < measure->numbers; k++) {
        uint64_t below = 0, above = 0;
        for (uint64_t i = 0; i < t->shape.elements; i++) {
            double size = fabs(t->wide[i]);
            below += size > 0 && size < measure->number[k];
            above += isfinite(size) && size > measure->number[k];
        }
        if (got->of.counts.count[k] != below || got->of.counts.count[measure->numbers + k] != above)
            return false;
    }
    return true;
}

static void below(void)
{
    assay_measure measure = {.kind = ASSAY_MEASURE_BELOW,
                             .numbers = 8,
                             .number = {0.25, 0, 0x1p-149, 1e30, INFINITY, -1, NAN, 0x1.fffffep+127}};
    check_measure(&measure, below_match);
}

/* What half precision flushes and overflows at, as HalfPrecisionRisk asks, in each order: all that is finite may be below
 * a limit, and no first limit may be counted for another. */
static void below_either_first(void)
{
    static const double FIRST[] = {0x1.0000000000001p-25, 0x1.ffdffffffffffp+15, -1, NAN, 0, INFINITY};
    for (size_t i = 0; i < sizeof FIRST / sizeof FIRST[0]; i++) {
        assay_measure measure = {.kind = ASSAY_MEASURE_BELOW, .numbers = 2, .number = {FIRST[i], FIRST[(i + 1) % 2]}};
        check_measure(&measure, below_match);
    }
}

static bool first_bad_match(const assay_measure *measure, const tensor *t, const assay_result *got)
{
    const assay_first_bad *bad = &got->of.first_bad;
    (void)measure;
    for (uint64_t i = 0; i < t->shape.elements; i++) {
        double x = t->wide[i];
        if (!isfinite(x))
            return bad->index == i && (isnan(x) ? isnan(bad->value) : bad->value == x);
    }
    return bad->index == UINT64_MAX;
}

static void first_bad(void)
{
    assay_measure measure = {.kind = ASSAY_MEASURE_FIRST_BAD};
    check_measure(&measure, first_bad_match);
}

/* Bad elements at every place of a tensor that is otherwise finite. */
static void first_bad_anywhere(void)
{
    static const float BAD[] = {NAN, INFINITY, -INFINITY};
    const int64_t dim = 3000;
    assay_measure measure = {.kind = ASSAY_MEASURE_FIRST_BAD};
    assay_arena *arena = assay_arena_new(CEILING);
    tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 1, &dim);
    unsigned wrong = 0;
    for (int64_t at = dim - 1; at >= 0; at -= 17) {
        memcpy(t.bytes + 4 * at, &BAD[at % 3], sizeof BAD[0]);
        tensor_widen(&t);
        wrong += check_tensor(&measure, &t, first_bad_match, arena);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    tensor_release(&t);
    assay_arena_free(arena);
}

/* Elements that are known to be finite need not be fed, to this measure alone. */
static void first_bad_behind_finite(void)
{
    float x[9] = {[7] = -INFINITY};
    const int64_t dim = 9;
    const assay_shape shape = {ASSAY_FLOAT32, 1, &dim, 9};
    const assay_measure measure = {.kind = ASSAY_MEASURE_FIRST_BAD}, other = {.kind = ASSAY_MEASURE_VALUES};
    assay_arena *arena = assay_arena_new(CEILING);
    assay_meter *meter;
    assay_result result;
    CU_ASSERT_EQUAL_FATAL(assay_meter_new(&measure, &shape, NULL, CEILING, arena, &meter, NULL), ASSAY_OK);
    CU_ASSERT_FALSE(assay_meter_pass_finite(meter, 10));
    CU_ASSERT_TRUE(assay_meter_pass_finite(meter, 5));
    CU_ASSERT_EQUAL(assay_meter_feed(meter, x + 5, NULL, 4, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_meter_end(meter, &result, NULL), ASSAY_OK);
    CU_ASSERT_TRUE(result.of.first_bad.index == 7 && isinf(result.of.first_bad.value));
    CU_ASSERT_EQUAL_FATAL(assay_meter_new(&other, &shape, NULL, CEILING, arena, &meter, NULL), ASSAY_OK);
    CU_ASSERT_FALSE(assay_meter_pass_finite(meter, 5));
    assay_arena_free(arena);
}

static bool zero_runs_match(const assay_measure *measure, const tensor *t, const assay_result *got)
{
    const uint64_t size = assay_dtype_size(t->shape.dtype);
    assay_zero_runs want = {.index = UINT64_MAX};
    (void)measure;
    for (uint64_t i = 0, end; i < t->shape.elements; i = end + 1) {
        static const uint8_t zeros[16];
        for (end = i; end < t->shape.elements && memcmp(t->bytes + end * size, zeros, size) == 0;)
            end++;
        if ((end - i) * size < ASSAY_ZERO_RUN_LEAST)
            continue;
        want.runs++;
        want.elements += end - i;
        if (end - i > want.length) {
            want.index = i;
            want.length = end - i;
        }
    }
    return memcmp(&want, &got->of.zero_runs, sizeof want) == 0;
}

/* Zeros of any length at any place, and several of them. */
static void zero_runs(void)
{
    static const int DTYPES[] = {ASSAY_FLOAT32,     ASSAY_BFLOAT16, ASSAY_FLOAT64,
                                 ASSAY_FLOAT8_E5M2, ASSAY_INT8,     ASSAY_INT64};
    const assay_measure measure = {.kind = ASSAY_MEASURE_ZERO_RUNS};
    assay_arena *arena = assay_arena_new(CEILING);
    for (size_t k = 0; k < sizeof DTYPES / sizeof *DTYPES; k++) {
        const int64_t dim = 20000 / (int64_t)assay_dtype_size(DTYPES[k]);
        unsigned wrong = 0;
        for (uint64_t i = 0; i < 60; i++) {
            tensor t = tensor_of(DTYPES[k], DATA_ORDINARY, 1, &dim);
            for (uint64_t j = 0; j <= i % 4; j++) {
                const uint64_t at = (i * 7919 + j * 104729) % 20000 / 8 * 8, size = (i * 131 + j * 17) % 1400 / 8 * 8;
                memset(t.bytes + at, 0, at + size < 20000 ? size : 20000 - at);
            }
            if (i == 59)
                memset(t.bytes, 0, 20000);
            tensor_widen(&t);
            wrong += check_tensor(&measure, &t, zero_runs_match, arena);
            tensor_release(&t);
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
    assay_arena_free(arena);
}

static bool values_match(const assay_measure *measure, const tensor *t, const assay_result *got)
{
    (void)measure;
    for (uint64_t i = 0; i < t->shape.elements; i++) {
        if (got->of.values.value[i] != t->wide[i] && !(isnan(got->of.values.value[i]) && isnan(t->wide[i])))
            return false;
    }
    return got->of.values.count == t->shape.elements;
}

static void values(void)
{
    assay_measure measure = {.kind = ASSAY_MEASURE_VALUES};
    check_measure(&measure, values_match);
}

/* ---- channels ---- */

static bool near(double got, long double want, long double scale)
{
    return isfinite((double)want) ? fabsl(got - want) <= 1e-12L * scale + 1e-300L : isnan((double)want) == isnan(got);
}

static bool channels_match(const assay_measure *measure, const tensor *t, const assay_result *got)
{
    const assay_shape *shape = &t->shape;
    const assay_channels *c = &got->of.channels;
    bool one = measure->axis < 0 || measure->axis >= shape->dims;
    uint64_t channels = one ? 1 : (uint64_t)shape->dim[measure->axis];
    uint64_t inner = one ? shape->elements : behind(shape, measure->axis);
    uint64_t images = shape->dims > 0 ? (uint64_t)shape->dim[0] : 1, wrong = 0;
    for (uint64_t at = 0; at < channels; at++) {
        long double sum = 0, squares = 0, magnitudes = 0;
        for (uint64_t i = at * inner; i < shape->elements; i += (i + 1) % inner == 0 ? (channels - 1) * inner + 1 : 1) {
            sum += t->wide[i];
            squares += (long double)t->wide[i] * t->wide[i];
            magnitudes += fabsl(t->wide[i]);
        }
        /* beyond doubles the order decides between infinity and NaN */
        wrong += !near(c->sum[at], sum, magnitudes) && !(magnitudes > 1e308L);
        wrong += !near(c->squares[at], squares, squares) && !(squares > 1e308L);
    }
    return wrong == 0 && c->channels == channels && c->images == images && c->elements == shape->elements / channels;
}

static void channels_of_axes(void)
{
    for (int32_t axis = -1; axis < 4; axis++) {
        assay_measure measure = {.kind = ASSAY_MEASURE_CHANNELS, .axis = axis};
        check_measure(&measure, channels_match);
    }
}

/* The same bits from every instruction set and cut; long enough for several blocks of rows, and of a run. */
static void channels_same_bits(void)
{
    static const shape_case LONG[] = {{2, {100000, 3}}, {2, {3, 100000}}, {3, {700, 30, 17}}, {4, {2, 3, 99, 101}}};
    assay_arena *arena = assay_arena_new(CEILING);
    for (int i = 0; i < 4; i++) {
        assay_measure measure = {.kind = ASSAY_MEASURE_CHANNELS, .axis = 1};
        tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, LONG[i].dims, LONG[i].dim);
        assay_result first, got;
        CU_ASSERT_EQUAL(take(&measure, &t, NULL, ASSAY_SIMD_SCALAR, CUT_NONE, arena, &first), ASSAY_OK);
        size_t size = (size_t)first.of.channels.channels * sizeof(double);
        CU_ASSERT_TRUE(channels_match(&measure, &t, &first));
        for (int level = 0; level < ASSAY_SIMD_LEVELS; level++) {
            for (cut_kind cut = CUT_NONE; cut < CUTS && assay_simd_has((assay_simd)level); cut++) {
                CU_ASSERT_EQUAL(take(&measure, &t, NULL, (assay_simd)level, cut, arena, &got), ASSAY_OK);
                CU_ASSERT_EQUAL(memcmp(first.of.channels.sum, got.of.channels.sum, size), 0);
                CU_ASSERT_EQUAL(memcmp(first.of.channels.squares, got.of.channels.squares, size), 0);
            }
        }
        tensor_release(&t);
        assay_arena_clear(arena);
    }
    assay_arena_free(arena);
}

int main(void)
{
    CU_TestInfo tests[] = {{"units of elements", units_of_elements},
                           {"units of channels", units_of_channels},
                           {"units at their bounds", units_at_their_bounds},
                           {"units are pooled", units_are_pooled},
                           {"equal elements", equals},
                           {"small and large elements", below},
                           {"below, either limit first", below_either_first},
                           {"first bad element", first_bad},
                           {"first bad element anywhere", first_bad_anywhere},
                           {"first bad element behind finite ones", first_bad_behind_finite},
                           {"runs of zeros", zero_runs},
                           {"values", values},
                           {"channels of every axis", channels_of_axes},
                           {"channels have the same bits", channels_same_bits},
                           CU_TEST_INFO_NULL};
    return unit_main("measures that count", tests);
}
