/* worst.c - what statistics and measures cost whatever the values are: nanoseconds an element for normal numbers, and
 * for the dearest of many kinds of values.
 *
 *     worst [RUNS]
 *
 * A tensor of 1024 columns passes by in pieces of half a mebibyte, as it does in a run. Shown are the least of RUNS
 * (default 5) of processor time, and the ratio of the two. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "tensor/measure.h"
#include "tensor/stats.h"
#include "values.h"

enum { COLUMNS = 1024, ROWS = 1024, ELEMENTS = COLUMNS * ROWS, PIECE = 512 << 10 };

typedef enum value_kind {
    NORMAL,
    CONSTANT,
    TWO_VALUES,
    ASCENDING,
    DESCENDING,
    INTERLEAVED,
    ALL_NAN,
    HALF_NAN,
    MASKED,
    ONE_NAN_A_PIECE,
    INFINITIES,
    DENORMAL,
    ZEROS,
    HALF_ZEROS,
    OUTLIER,
    LARGE_MEAN,
    COLUMN_SCALES,
    LAST_BITS,
    VERY_LARGE,
    KINDS
} value_kind;

static const char *const NAMES[KINDS] = {"normal numbers",
                                         "one value",
                                         "two values",
                                         "ascending",
                                         "descending",
                                         "interleaved",
                                         "all NaN",
                                         "half NaN",
                                         "a causal mask",
                                         "a NaN each 4096",
                                         "infinities",
                                         "denormal",
                                         "all 0",
                                         "half 0",
                                         "one outlier",
                                         "a large mean",
                                         "columns of very different size",
                                         "only the last bits differ",
                                         "huge"};

static double normals[ELEMENTS]; /* the same for all kinds of values */

static double random_normal(void)
{
    double sum = 0;
    for (int k = 0; k < 4; k++)
        sum += (double)rand() / RAND_MAX;
    return sum - 2;
}

static double value_of(value_kind kind, size_t i)
{
    double normal = normals[i];
    size_t row = i / COLUMNS, column = i % COLUMNS;
    switch (kind) {
    case CONSTANT:
        return 0.37;
    case TWO_VALUES:
        return normal > 0;
    case ASCENDING:
        return (double)i;
    case DESCENDING:
        return -(double)i;
    case INTERLEAVED:
        return i % 2 ? (double)i : -(double)i;
    case ALL_NAN:
        return (double)NAN;
    case HALF_NAN:
        return normal > 0 ? (double)NAN : normal;
    case MASKED:
        return column > row ? -(double)INFINITY : normal;
    case ONE_NAN_A_PIECE:
        return i % 4096 == 77 ? (double)NAN : normal;
    case INFINITIES:
        return normal > 0 ? (double)INFINITY : -(double)INFINITY;
    case DENORMAL:
        return normal * 1e-41;
    case ZEROS:
        return 0;
    case HALF_ZEROS:
        return normal > 0 ? normal : 0;
    case OUTLIER:
        return i == ELEMENTS / 3 ? 1e30 : normal;
    case LARGE_MEAN:
        return 1e4 + normal;
    case COLUMN_SCALES:
        return normal * exp((double)(column * 7919 % 100) / 3);
    case LAST_BITS:
        return 1 + normal * 1e-6;
    case VERY_LARGE:
        return normal * 1e37;
    default:
        return normal;
    }
}

static void put(void *bytes, int dtype, size_t i, double x)
{
    switch (dtype) {
    case ASSAY_FLOAT64:
        ((double *)bytes)[i] = x;
        break;
    case ASSAY_BFLOAT16:
        ((uint16_t *)bytes)[i] = values_bfloat16((float)x);
        break;
    case ASSAY_FLOAT16:
        ((uint16_t *)bytes)[i] = values_float16((float)x);
        break;
    case ASSAY_INT64:
        ((int64_t *)bytes)[i] = fabs(x) < 1e18 ? (int64_t)(x * 1000) : (int64_t)(x > 0 ? 1 : -1) << 60;
        break;
    default:
        ((float *)bytes)[i] = (float)x;
    }
}

typedef struct subject {
    const char *name;
    assay_measure measure; /* kind ASSAY_MEASURE_KINDS: the statistics */
    double change;         /* of a comparison: relative, between the tensor and its reference */
} subject;

static const subject SUBJECTS[] = {
    {"statistics", {.kind = ASSAY_MEASURE_KINDS}, 0},
    {"quantiles, 2 of them", {.kind = ASSAY_MEASURE_QUANTILES, .numbers = 2, .number = {0.05, 0.95}}, 0},
    {"units of a layer", {.kind = ASSAY_MEASURE_UNITS, .numbers = 2, .number = {-0.5, 0.5}}, 0},
    {"channels", {.kind = ASSAY_MEASURE_CHANNELS, .axis = 1}, 0},
    {"elements equal to 2 numbers", {.kind = ASSAY_MEASURE_EQUALS, .numbers = 2, .number = {0, 1}}, 0},
    {"small and large elements", {.kind = ASSAY_MEASURE_BELOW, .numbers = 1, .number = {0.1}}, 0},
    {"first element that is not finite", {.kind = ASSAY_MEASURE_FIRST_BAD}, 0},
    {"elements below 0", {.kind = ASSAY_MEASURE_NEGATIVE}, 0},
    {"runs of zeros", {.kind = ASSAY_MEASURE_ZERO_RUNS}, 0},
    {"classes of scores", {.kind = ASSAY_MEASURE_CLASSES, .form = ASSAY_CLASS_AUTO}, 0},
    {"digest", {.kind = ASSAY_MEASURE_DIGEST}, 0},
    {"comparison, all figures", {.kind = ASSAY_MEASURE_CHANGE, .rtol = 1e-3, .atol = 1e-8}, 1e-3},
    {"comparison, sums of squares", {.kind = ASSAY_MEASURE_CHANGE, .figures = ASSAY_CHANGE_SQUARES}, 1e-3},
    {"comparison, within its tolerance",
     {.kind = ASSAY_MEASURE_CHANGE, .figures = ASSAY_CHANGE_CLOSE, .rtol = 1e-2, .atol = 1e-8, .equal_nan = 1},
     1e-3},
    {"sketch of rows", {.kind = ASSAY_MEASURE_SKETCH, .axis = 1, .numbers = 3, .number = {32, 32768, 0}}, 0},
    {"sketch of all elements, and of the step before",
     {.kind = ASSAY_MEASURE_SKETCH, .axis = ASSAY_SKETCH_FLAT, .steps = 1, .numbers = 3, .number = {256, 256, 0}},
     1e-3},
    {"function of the input, none of them", {.kind = ASSAY_MEASURE_FUNCTION}, 1e-3},
    {"moments", {.kind = ASSAY_MEASURE_MOMENTS, .numbers = 3, .number = {0.9, 0.999, 1e-5}}, 1e-3},
};
enum { SUBJECT_COUNT = sizeof SUBJECTS / sizeof SUBJECTS[0] };

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "worst: %s\n", what);
    exit(1);
}

static void take_statistics(int dtype, const uint8_t *bytes)
{
    assay_stats_acc acc;
    assay_stats stats;
    const size_t size = assay_dtype_size(dtype);
    if (assay_stats_init(&acc, dtype) != ASSAY_OK)
        fail("no statistics");
    for (size_t i = 0; i < ELEMENTS; i += PIECE / size)
        assay_stats_feed(&acc, bytes + i * size, PIECE / size);
    assay_stats_finish(&acc, &stats);
}

static void take_measure(const assay_measure *measure, int dtype, const uint8_t *bytes, const uint8_t *reference,
                         assay_arena *arena)
{
    const int64_t dim[] = {ROWS, COLUMNS};
    const assay_shape shape = {dtype, 2, dim, ELEMENTS};
    const size_t size = assay_dtype_size(dtype);
    const bool compares = assay_measure_compares(measure);
    assay_meter *meter;
    assay_result result;
    assay_error err = {""};
    if (assay_meter_new(measure, &shape, compares ? &shape : NULL, SIZE_MAX, arena, &meter, &err) != ASSAY_OK)
        fail(err.text);
    for (size_t i = 0; i < ELEMENTS; i += PIECE / size)
        if (assay_meter_feed(meter, bytes + i * size, compares ? reference + i * size : NULL, PIECE / size, &err) !=
            ASSAY_OK)
            fail(err.text);
    if (assay_meter_end(meter, &result, &err) != ASSAY_OK)
        fail(err.text);
    assay_arena_clear(arena);
}

/* Nanoseconds an element. */
static double cost(const subject *s, int dtype, value_kind kind, long runs, uint8_t *bytes, uint8_t *reference,
                   assay_arena *arena)
{
    for (size_t i = 0; i < ELEMENTS; i++) {
        double x = value_of(kind, i);
        put(bytes, dtype, i, x);
        put(reference, dtype, i, x * (1 + s->change));
    }
    double least = INFINITY;
    for (long run = 0; run < runs; run++) {
        double start = processor_time();
        if (s->measure.kind == ASSAY_MEASURE_KINDS)
            take_statistics(dtype, bytes);
        else
            take_measure(&s->measure, dtype, bytes, reference, arena);
        double took = processor_time() - start;
        least = took < least ? took : least;
    }
    return least * 1e9 / ELEMENTS;
}

int main(int argc, char **argv)
{
    static const struct {
        int dtype;
        const char *name;
    } DTYPES[] = {{ASSAY_FLOAT32, "float32"},
                  {ASSAY_FLOAT64, "float64"},
                  {ASSAY_BFLOAT16, "bfloat16"},
                  {ASSAY_FLOAT16, "float16"},
                  {ASSAY_INT64, "int64"}};
    char *end = NULL;
    long runs = argc > 1 ? strtol(argv[1], &end, 10) : 5;
    if (argc > 2 || runs < 1 || runs > 100 || (end && *end))
        fail("usage: worst [RUNS]");
    assay_arena *arena = assay_arena_new((size_t)256 << 20);
    uint8_t *bytes = malloc(ELEMENTS * sizeof(double)), *reference = malloc(ELEMENTS * sizeof(double));
    if (!arena || !bytes || !reference)
        fail("no memory");
    srand(1);
    for (size_t i = 0; i < ELEMENTS; i++)
        normals[i] = random_normal();
    printf("| what | dtype | normal numbers, ns | worst, ns | ratio | of |\n|---|---|---|---|---|---|\n");
    for (size_t s = 0; s < SUBJECT_COUNT; s++)
        for (size_t d = 0; d < sizeof DTYPES / sizeof DTYPES[0]; d++) {
            if (SUBJECTS[s].measure.figures == ASSAY_CHANGE_CLOSE && DTYPES[d].dtype == ASSAY_INT64)
                continue; /* rounding to integers leaves the tolerance: that decides it */
            double usual = 0, worst = 0;
            value_kind dearest = NORMAL;
            for (value_kind k = NORMAL; k < KINDS; k++) {
                double took = cost(&SUBJECTS[s], DTYPES[d].dtype, k, runs, bytes, reference, arena);
                usual = k == NORMAL ? took : usual;
                if (took > worst) {
                    worst = took;
                    dearest = k;
                }
            }
            printf("| %s | %s | %.2f | %.2f | %.2f | %s |\n", SUBJECTS[s].name, DTYPES[d].name, usual, worst,
                   worst / usual, NAMES[dearest]);
            fflush(stdout);
        }
    free(bytes);
    free(reference);
    assay_arena_free(arena);
    return 0;
}
