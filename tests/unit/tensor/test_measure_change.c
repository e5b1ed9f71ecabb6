/* Comparisons: every pair of dtypes against a plain loop, the same bits from every instruction set and cut. */
#include "unit.h"

#include <math.h>

#include "take.h"
#include "tensor/stats.h"

typedef struct expected {
    uint64_t apart;
    double largest;
    long double squares, reference_squares, scale;
} expected;

/* numpy's isclose, element by element. */
static bool is_close(double a, double b, const assay_measure *measure)
{
    if (isnan(a) || isnan(b))
        return measure->equal_nan && isnan(a) && isnan(b);
    if (isinf(a) || isinf(b))
        return a == b;
    return a == b || fabs(a - b) <= measure->atol + measure->rtol * fabs(b);
}

static expected compare(const assay_measure *measure, const tensor *a, const tensor *b)
{
    expected e = {0};
    for (uint64_t i = 0; i < a->shape.elements; i++) {
        double x = a->wide[i], y = b->wide[i], d = x == y || (isnan(x) && isnan(y)) ? 0 : fabs(x - y);
        e.apart += !is_close(x, y, measure);
        e.largest = isnan(d) || isnan(e.largest) ? (double)NAN : fmax(e.largest, d);
        e.squares += (long double)(x - y) * (x - y);
        e.reference_squares += (long double)y * y;
    }
    return e;
}

static bool near(double got, long double want)
{
    if (want > 1e308L) /* beyond doubles */
        return isinf(got);
    return isnan((double)want) ? isnan(got) : fabsl(got - want) <= 1e-12L * want + 1e-300L;
}

static bool matches(const expected *e, const assay_change *got, bool same_dtype)
{
    return got->found && got->same_shape && got->same_dtype == same_dtype && got->apart == e->apart &&
           got->close == (e->apart == 0) &&
           (got->largest == e->largest || (isnan(got->largest) && isnan(e->largest))) &&
           near(got->squares, e->squares) && near(got->reference_squares, e->reference_squares);
}

static bool same_bits(const assay_change *a, const assay_change *b)
{
    return memcmp(&a->largest, &b->largest, 8) == 0 && memcmp(&a->squares, &b->squares, 8) == 0 &&
           memcmp(&a->reference_squares, &b->reference_squares, 8) == 0 && a->apart == b->apart;
}

static bool five_digits(double got, double want)
{
    return isfinite(want) ? fabs(got - want) <= 1e-5 * want : memcmp(&got, &want, sizeof got) == 0;
}

/* What is wanted alone is what it is among all. */
static unsigned check_figures(const assay_measure *measure, const tensor *a, const tensor *b, const assay_change *all,
                              assay_simd level, cut_kind cut, assay_arena *arena)
{
    assay_measure some = *measure;
    assay_result got, whole;
    some.figures = ASSAY_CHANGE_CLOSE;
    unsigned wrong = take(&some, a, b, level, cut, arena, &got) != ASSAY_OK;
    wrong += got.of.change.close != all->close || got.of.change.same_dtype != all->same_dtype;
    some.figures = ASSAY_CHANGE_SQUARES;
    wrong += take(&some, a, b, level, cut, arena, &got) != ASSAY_OK;
    wrong += memcmp(&got.of.change.squares, &all->squares, 8) != 0 ||
             memcmp(&got.of.change.reference_squares, &all->reference_squares, 8) != 0;
    some.figures = ASSAY_CHANGE_DISTANCE;
    wrong += take(&some, a, b, level, cut, arena, &got) != ASSAY_OK;
    wrong += got.of.change.close != all->close || memcmp(&got.of.change.squares, &all->squares, 8) != 0 ||
             memcmp(&got.of.change.reference_squares, &all->reference_squares, 8) != 0;
    some.figures = ASSAY_CHANGE_MOVED;
    wrong += take(&some, a, b, level, cut, arena, &got) != ASSAY_OK;
    wrong += got.of.change.close != all->close || !five_digits(got.of.change.squares, all->squares) ||
             !five_digits(got.of.change.reference_squares, all->reference_squares);
    wrong += take(&some, a, b, ASSAY_SIMD_SCALAR, CUT_NONE, arena, &whole) != ASSAY_OK;
    wrong += memcmp(&got.of.change.squares, &whole.of.change.squares, 8) != 0 ||
             memcmp(&got.of.change.reference_squares, &whole.of.change.reference_squares, 8) != 0;
    return wrong;
}

static unsigned check_pair(const assay_measure *measure, const tensor *a, const tensor *b, assay_arena *arena)
{
    expected e = compare(measure, a, b);
    assay_result first, got;
    unsigned wrong = take(measure, a, b, ASSAY_SIMD_SCALAR, CUT_NONE, arena, &first) != ASSAY_OK;
    wrong += !matches(&e, &first.of.change, a->shape.dtype == b->shape.dtype);
    for (int level = 0; level < ASSAY_SIMD_LEVELS; level++) {
        for (cut_kind cut = CUT_NONE; cut < CUTS && assay_simd_has((assay_simd)level); cut++) {
            wrong += take(measure, a, b, (assay_simd)level, cut, arena, &got) != ASSAY_OK;
            wrong += !same_bits(&first.of.change, &got.of.change);
            wrong += check_figures(measure, a, b, &first.of.change, (assay_simd)level, cut, arena);
        }
    }
    assay_arena_clear(arena);
    return wrong;
}

/* Most elements of the reference are those of the tensor, so that close ones are among them. */
static void mix(tensor *to, const tensor *from)
{
    size_t size = assay_dtype_size(to->shape.dtype);
    for (uint64_t i = 0; i < to->shape.elements && to->shape.dtype == from->shape.dtype; i++) {
        if (random_bits() % 4 != 0)
            memcpy(to->bytes + i * size, from->bytes + i * size, size);
    }
    tensor_widen(to);
}

static void every_dtype(void)
{
    static const int64_t LENGTHS[] = {1, 7, 8, 9, 63, 4095, 4096, 4097, 9001};
    static const double TOLERANCE[][2] = {{0, 0}, {1e-5, 1e-8}, {0.5, 0.1}, {-1, 0}, {NAN, 1}, {INFINITY, 0}};
    assay_arena *arena = assay_arena_new(CEILING);
    unsigned wrong = 0;
    for (int type = 0; type < NUMERIC_COUNT; type++) {
        for (int other = 0; other < NUMERIC_COUNT; other++) {
            for (size_t i = other == type ? 0 : 4; i < sizeof LENGTHS / sizeof LENGTHS[0]; i += other == type ? 1 : 9) {
                for (data_kind kind = DATA_ORDINARY; kind < DATA_KINDS; kind++) {
                    tensor a = tensor_of(NUMERIC[type], kind, 1, &LENGTHS[i]);
                    tensor b = tensor_of(NUMERIC[other], kind, 1, &LENGTHS[i]);
                    mix(&b, &a);
                    const double *tolerance = TOLERANCE[(type + i) % 6];
                    assay_measure measure = {
                        .kind = ASSAY_MEASURE_CHANGE, .equal_nan = i % 2, .rtol = tolerance[0], .atol = tolerance[1]};
                    wrong += check_pair(&measure, &a, &b, arena);
                    tensor_release(&a);
                    tensor_release(&b);
                }
            }
        }
    }
    CU_ASSERT_EQUAL(wrong, 0);
    assay_arena_free(arena);
}

/* Long enough for many blocks. */
static void long_tensor(void)
{
    const int64_t dim[] = {301, 997};
    assay_arena *arena = assay_arena_new(CEILING);
    tensor a = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 2, dim), b = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 2, dim);
    assay_measure measure = {.kind = ASSAY_MEASURE_CHANGE, .rtol = 0.1, .atol = 0.01};
    CU_ASSERT_EQUAL(check_pair(&measure, &a, &b, arena), 0);
    tensor_release(&a);
    tensor_release(&b);
    assay_arena_free(arena);
}

/* Squares that no float has, and blocks of them between others. */
static void tiny_and_huge(void)
{
    static const double SCALES[] = {1e-25, 1e-40, 1e25, 1};
    const int64_t n = 3 * 2048 + 5;
    const assay_measure measure = {.kind = ASSAY_MEASURE_CHANGE};
    assay_arena *arena = assay_arena_new(CEILING);
    for (size_t scale = 0; scale < sizeof SCALES / sizeof SCALES[0]; scale++) {
        for (int type = 0; type < 2; type++) {
            const int dtype = type ? ASSAY_BFLOAT16 : ASSAY_FLOAT32;
            tensor a = tensor_new(dtype, 1, &n), b = tensor_new(dtype, 1, &n);
            for (uint64_t i = 0; i < (uint64_t)n; i++) {
                const double x = random_normal() * (i / 2048 == 1 ? SCALES[scale] : 1);
                put_real(dtype, x, a.bytes + i * assay_dtype_size(dtype));
                put_real(dtype, 1.5 * x, b.bytes + i * assay_dtype_size(dtype));
            }
            tensor_widen(&a);
            tensor_widen(&b);
            CU_ASSERT_EQUAL(check_pair(&measure, &a, &b, arena), 0);
            tensor part_a = a, part_b = b; /* the middle block by itself */
            const int64_t middle = 2048;
            const size_t skipped = (size_t)middle * assay_dtype_size(dtype);
            part_a.shape = part_b.shape = (assay_shape){dtype, 1, &middle, (uint64_t)middle};
            part_a.bytes += skipped, part_a.wide += middle;
            part_b.bytes += skipped, part_b.wide += middle;
            CU_ASSERT_EQUAL(check_pair(&measure, &part_a, &part_b, arena), 0);
            tensor_release(&a);
            tensor_release(&b);
        }
    }
    assay_arena_free(arena);
}

/* What two workers may have without tolerances: the same with the same NaN and infinities, and a single difference
 * beside them, in a block of its own or in theirs. */
static void distances(void)
{
    static const float SPECIAL[] = {0, NAN, INFINITY};
    static const float APART[] = {0, 0x1p-149F, 1, NAN};
    const int64_t n = 5 * 4096 + 13;
    const uint64_t places[] = {3, 4096 + 7, 3 * 4096 + 1, (uint64_t)n - 1};
    const assay_measure measure = {.kind = ASSAY_MEASURE_CHANGE, .equal_nan = 1};
    assay_arena *arena = assay_arena_new(CEILING);
    unsigned wrong = 0;
    for (size_t special = 0; special < sizeof SPECIAL / sizeof SPECIAL[0]; special++)
        for (size_t apart = 0; apart < sizeof APART / sizeof APART[0]; apart++)
            for (size_t place = 0; place < sizeof places / sizeof places[0]; place++) {
                tensor a = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 1, &n),
                       b = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 1, &n);
                memcpy(a.bytes + 4 * 4099, &SPECIAL[special], 4);
                memset(a.bytes + 4 * places[place], 0, 4);
                memcpy(b.bytes, a.bytes, (size_t)n * 4);
                memcpy(b.bytes + 4 * places[place], &APART[apart], 4);
                tensor_widen(&a);
                tensor_widen(&b);
                wrong += check_pair(&measure, &a, &b, arena);
                tensor_release(&a);
                tensor_release(&b);
            }
    CU_ASSERT_EQUAL(wrong, 0);
    assay_arena_free(arena);
}

static assay_change change_of(double a, double b, uint32_t equal_nan)
{
    const int64_t dim = 1;
    assay_arena *arena = assay_arena_new(CEILING);
    tensor x = tensor_of_doubles(1, &dim, &a), y = tensor_of_doubles(1, &dim, &b);
    assay_measure measure = {.kind = ASSAY_MEASURE_CHANGE, .equal_nan = equal_nan, .rtol = 1e-5, .atol = 1e-8};
    assay_result result;
    CU_ASSERT_EQUAL(check_pair(&measure, &x, &y, arena), 0);
    CU_ASSERT_EQUAL(take(&measure, &x, &y, ASSAY_SIMD_SCALAR, CUT_NONE, arena, &result), ASSAY_OK);
    tensor_release(&x);
    tensor_release(&y);
    assay_arena_free(arena);
    return result.of.change;
}

static void special_pairs(void)
{
    const double inf = INFINITY, nan = NAN;
    CU_ASSERT_TRUE(change_of(inf, inf, 0).close);
    CU_ASSERT_EQUAL(change_of(-inf, -inf, 0).largest, 0);
    CU_ASSERT_FALSE(change_of(inf, -inf, 0).close);
    CU_ASSERT_EQUAL(change_of(inf, -inf, 0).largest, inf);
    CU_ASSERT_FALSE(change_of(1, inf, 0).close); /* though the tolerance is infinite */
    CU_ASSERT_FALSE(change_of(inf, 1, 0).close);
    CU_ASSERT_FALSE(change_of(nan, nan, 0).close);
    CU_ASSERT_EQUAL(change_of(nan, nan, 0).largest, 0);
    CU_ASSERT_TRUE(change_of(nan, nan, 1).close);
    CU_ASSERT_FALSE(change_of(nan, 1, 1).close);
    CU_ASSERT_TRUE(isnan(change_of(nan, 1, 1).largest));
    CU_ASSERT_TRUE(isnan(change_of(1, nan, 1).largest));
    CU_ASSERT_TRUE(isnan(change_of(nan, inf, 1).largest));
    CU_ASSERT_TRUE(change_of(0.0, -0.0, 0).close);
    CU_ASSERT_EQUAL(change_of(3, 1, 0).squares, 4);
    CU_ASSERT_EQUAL(change_of(3, -5, 0).reference_squares, 25);
    /* b is the reference: |a - b| is between the two tolerances */
    CU_ASSERT_TRUE(change_of(100000, 100001.00001, 0).close);
    CU_ASSERT_FALSE(change_of(100001.00001, 100000, 0).close);
}

/* The tolerance itself is close. */
static void at_the_tolerance(void)
{
    const int64_t dim = 3;
    assay_arena *arena = assay_arena_new(CEILING);
    assay_measure measure = {.kind = ASSAY_MEASURE_CHANGE, .atol = 0.5, .rtol = 0.25};
    tensor a = tensor_of_doubles(1, &dim, (double[]){3.5, 0.5, 2.75});
    tensor b = tensor_of_doubles(1, &dim, (double[]){2, -0.125, 1});
    assay_result result;
    CU_ASSERT_EQUAL(take(&measure, &a, &b, assay_simd_level(), CUT_NONE, arena, &result), ASSAY_OK);
    CU_ASSERT_EQUAL(result.of.change.apart, 3);
    tensor c = tensor_of_doubles(1, &dim, (double[]){3, 0.40625, 1.75});
    CU_ASSERT_EQUAL(take(&measure, &c, &b, assay_simd_level(), CUT_NONE, arena, &result), ASSAY_OK);
    CU_ASSERT_EQUAL(result.of.change.apart, 0);
    CU_ASSERT_EQUAL(result.of.change.largest, 1);
    tensor_release(&a);
    tensor_release(&b);
    tensor_release(&c);
    assay_arena_free(arena);
}

static void no_pair(void)
{
    const int64_t dim[] = {2, 3}, turned[] = {3, 2}, flat = 6;
    assay_arena *arena = assay_arena_new(CEILING);
    assay_measure measure = {.kind = ASSAY_MEASURE_CHANGE};
    tensor a = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 2, dim), b = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 2, turned);
    tensor c = tensor_of(ASSAY_INT8, DATA_ORDINARY, 1, &flat);
    assay_result result;
    CU_ASSERT_EQUAL(take(&measure, &a, NULL, ASSAY_SIMD_SCALAR, CUT_TINY, arena, &result), ASSAY_OK);
    CU_ASSERT_FALSE(result.of.change.found);
    CU_ASSERT_EQUAL(take(&measure, &a, &b, ASSAY_SIMD_SCALAR, CUT_TINY, arena, &result), ASSAY_OK);
    CU_ASSERT_TRUE(result.of.change.found && !result.of.change.same_shape && result.of.change.same_dtype);
    CU_ASSERT_EQUAL(take(&measure, &a, &c, ASSAY_SIMD_SCALAR, CUT_TINY, arena, &result), ASSAY_OK);
    CU_ASSERT_TRUE(result.of.change.found && !result.of.change.same_shape && !result.of.change.same_dtype);
    assay_meter *meter;
    assay_shape text = {ASSAY_STRING, 2, dim, 6};
    CU_ASSERT_EQUAL(assay_meter_new(&measure, &a.shape, &text, CEILING, arena, &meter, NULL), 1);
    CU_ASSERT_EQUAL(assay_meter_new(&measure, &a.shape, &a.shape, CEILING, arena, &meter, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_meter_feed(meter, a.bytes, NULL, 6, NULL), ASSAY_EINTERNAL);
    tensor_release(&a);
    tensor_release(&b);
    tensor_release(&c);
    assay_arena_free(arena);
}

static void put(tensor *t, uint64_t i, float x)
{
    memcpy(t->bytes + i * sizeof x, &x, sizeof x);
    t->wide[i] = x;
}

/* Whether all are close is decided by floats where they can: pairs that differ by the limit, and by a little more or
 * less. */
static void close_by_a_hair(void)
{
    static const double LIMITS[][2] = {{1e-5, 1e-8}, {0.01, 0.001}, {0, 0},      {0, 1e-44},
                                       {1e-30, 0},   {1e300, 0},    {0.5, 1e39}, {3, 1e-20}};
    static const float SIZES[] = {0, 1e-45F, 1e-40F, 1e-30F, 1e-8F, 1, 3e5F, 3e38F, INFINITY, NAN};
    const int64_t n = 69;
    assay_arena *arena = assay_arena_new(CEILING);
    tensor a = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 1, &n), b = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 1, &n);
    unsigned wrong = 0, close = 0;
    for (uint64_t i = 0; i < (uint64_t)n; i++)
        put(&a, i, (float)b.wide[i]);
    for (unsigned round = 0; round < 8 * 10 * 9; round++) {
        const double *limits = LIMITS[round % 8];
        assay_measure measure = {
            .kind = ASSAY_MEASURE_CHANGE, .figures = ASSAY_CHANGE_CLOSE, .rtol = limits[0], .atol = limits[1]};
        uint64_t at = round % (unsigned)n;
        float y = SIZES[round / 8 % 10] * (round % 2 ? 1 : -1), kept = (float)b.wide[at], x;
        x = (float)((double)y + (limits[1] + limits[0] * fabs((double)y)) * (round % 3 ? 1 : -1));
        for (int ulps = (int)(round / 80) - 4; ulps != 0; ulps += ulps < 0 ? 1 : -1)
            x = nextafterf(x, ulps < 0 ? -INFINITY : INFINITY);
        put(&a, at, x);
        put(&b, at, y);
        for (int level = 0; level < ASSAY_SIMD_LEVELS; level++) {
            assay_result got;
            if (!assay_simd_has((assay_simd)level))
                continue;
            wrong += take(&measure, &a, &b, (assay_simd)level, CUT_NONE, arena, &got) != ASSAY_OK;
            wrong += got.of.change.close != (compare(&measure, &a, &b).apart == 0);
            close += got.of.change.close;
            assay_arena_clear(arena);
        }
        put(&a, at, kept);
        put(&b, at, kept);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_TRUE(close > 100);
    tensor_release(&a);
    tensor_release(&b);
    assay_arena_free(arena);
}

/* What the statistics say of a tensor beside itself is what looking at its elements says. */
static void beside_itself(void)
{
    const int64_t dim[1] = {10007};
    for (size_t d = 0; d < sizeof NUMERIC / sizeof *NUMERIC; d++)
        for (int kind = 0; kind < 2 * DATA_KINDS; kind++) {
            const assay_measure measure = {.kind = ASSAY_MEASURE_CHANGE, .equal_nan = kind < DATA_KINDS};
            tensor t = tensor_of(NUMERIC[d], (data_kind)(kind % DATA_KINDS), 1, dim);
            const expected e = compare(&measure, &t, &t);
            assay_change of_stats;
            assay_stats_acc acc;
            assay_stats stats;
            CU_ASSERT_EQUAL(assay_stats_init(&acc, NUMERIC[d]), ASSAY_OK);
            assay_stats_feed(&acc, t.bytes, t.shape.elements);
            assay_stats_finish(&acc, &stats);
            assay_change_of_itself(&measure, &stats, &of_stats);
            CU_ASSERT_TRUE(matches(&e, &of_stats, true));
            tensor_release(&t);
        }
}

int main(void)
{
    CU_TestInfo tests[] = {{"every pair of dtypes", every_dtype},
                           {"long tensor", long_tensor},
                           {"squares that no float has", tiny_and_huge},
                           {"NaN, infinities and zeros", special_pairs},
                           {"at the tolerance", at_the_tolerance},
                           {"no reference, other shapes", no_pair},
                           {"close by a hair", close_by_a_hair},
                           {"distances of workers", distances},
                           {"beside itself", beside_itself},
                           CU_TEST_INFO_NULL};
    return unit_main("comparisons", tests);
}
