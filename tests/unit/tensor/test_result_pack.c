/* Results of every kind go to bytes and back with all their bits, and no cut of the bytes is taken for a result. */
#include "unit.h"

#include <math.h>

#include "take.h"
#include "tensor/result_pack.h"

static assay_measure measure_of(uint32_t kind)
{
    assay_measure measure = {.kind = kind};
    if (kind == ASSAY_MEASURE_UNITS)
        measure = (assay_measure){.kind = kind, .numbers = 2, .number = {0, INFINITY}};
    else if (kind == ASSAY_MEASURE_EQUALS || kind == ASSAY_MEASURE_BELOW || kind == ASSAY_MEASURE_QUANTILES)
        measure = (assay_measure){.kind = kind, .numbers = 3, .number = {0, 0.5, 1}};
    else if (kind == ASSAY_MEASURE_CHANNELS)
        measure = (assay_measure){.kind = kind, .axis = 1};
    else if (kind == ASSAY_MEASURE_IMAGES)
        measure = (assay_measure){.kind = kind, .numbers = 1, .number = {2}};
    else if (kind == ASSAY_MEASURE_MOMENTS)
        measure = (assay_measure){.kind = kind, .numbers = 3, .number = {0.9, 0.999, NAN}};
    else if (kind == ASSAY_MEASURE_SKETCH)
        measure = (assay_measure){.kind = kind, .axis = 2, .steps = 1, .numbers = 3, .number = {4, 100, 0}};
    return measure;
}

/* A result of the kind, as it is taken of a tensor with all that is not finite. */
static assay_result result_of(const assay_measure *measure, assay_arena *arena)
{
    static const int64_t dim[] = {2, 3, 4, 5};
    static const char *const text[] = {"", "a", "\xff\n", "words and words"};
    assay_result result = {0};
    if (measure->kind == ASSAY_MEASURE_TEXTS) {
        CU_ASSERT_EQUAL_FATAL(assay_texts_new(arena, 4, &result, NULL), ASSAY_OK);
        for (uint64_t i = 0; i < 4; i++)
            CU_ASSERT_EQUAL(assay_texts_set(arena, &result, i, text[i], strlen(text[i]), NULL), ASSAY_OK);
        return result;
    }
    tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 4, dim);
    const float odd[] = {NAN, -NAN, INFINITY, -INFINITY, -0.0f, 1e-42f};
    if (measure->kind != ASSAY_MEASURE_QUANTILES && measure->kind != ASSAY_MEASURE_FUNCTION)
        memcpy(t.bytes + 7 * sizeof(float), odd, sizeof odd);
    tensor_widen(&t);
    const tensor *reference = assay_measure_compares(measure) ? &t : NULL;
    CU_ASSERT_EQUAL_FATAL(take(measure, &t, reference, assay_simd_level(), CUT_NONE, arena, &result), ASSAY_OK);
    tensor_release(&t);
    return result;
}

static assay_buf packed(const assay_measure *measure, const assay_result *result)
{
    assay_buf bytes;
    assay_buf_init(&bytes, SIZE_MAX);
    assay_result_pack(measure, result, &bytes);
    CU_ASSERT_EQUAL_FATAL(assay_buf_status(&bytes), ASSAY_OK);
    return bytes;
}

static int unpacked(const assay_measure *measure, const assay_buf *bytes, size_t size, assay_arena *arena,
                    assay_result *out)
{
    uint8_t *copy = malloc(size + 1); /* of the exact size, for a sanitizer */
    memcpy(copy + 1, bytes->data, size);
    assay_cursor in = assay_cursor_over(copy + 1, size);
    assay_error err = {""};
    int status = assay_result_unpack(&in, measure, arena, out, &err);
    if (status == ASSAY_OK && assay_cursor_bad(&in))
        status = ASSAY_EFORMAT;
    CU_ASSERT_TRUE(status == ASSAY_OK || err.text[0] != '\0' || !in.failed);
    free(copy);
    return status;
}

static bool same_bytes(const void *a, const void *b, uint64_t count)
{
    return memcmp(a, b, (size_t)count * 8) == 0;
}

static bool same_results(const assay_result *a, const assay_result *b, uint32_t numbers)
{
    switch (a->kind) {
    case ASSAY_MEASURE_UNITS:
        return a->of.units.units == b->of.units.units && a->of.units.samples == b->of.units.samples &&
               same_bytes(a->of.units.inside, b->of.units.inside, a->of.units.units);
    case ASSAY_MEASURE_EQUALS:
        return same_bytes(a->of.counts.count, b->of.counts.count, numbers);
    case ASSAY_MEASURE_BELOW:
        return same_bytes(a->of.counts.count, b->of.counts.count, 2 * numbers);
    case ASSAY_MEASURE_CHANNELS:
        return a->of.channels.channels == 3 && same_bytes(&a->of.channels, &b->of.channels, 3) &&
               same_bytes(a->of.channels.sum, b->of.channels.sum, 3) &&
               same_bytes(a->of.channels.squares, b->of.channels.squares, 3);
    case ASSAY_MEASURE_QUANTILES:
        return a->of.quantiles.used == b->of.quantiles.used &&
               same_bytes(a->of.quantiles.value, b->of.quantiles.value, numbers);
    case ASSAY_MEASURE_CLASSES:
        return a->of.classes.count == 120 && b->of.classes.count == 120 &&
               same_bytes(a->of.classes.value, b->of.classes.value, 120);
    case ASSAY_MEASURE_VALUES:
        return a->of.values.count == 120 && b->of.values.count == 120 &&
               same_bytes(a->of.values.value, b->of.values.value, 120);
    case ASSAY_MEASURE_TEXTS:
        for (uint64_t i = 0; i < 4; i++)
            if (strcmp(a->of.texts.text[i], b->of.texts.text[i]) != 0)
                return false;
        return b->of.texts.count == 4;
    case ASSAY_MEASURE_IMAGES:
        return same_bytes(&a->of.images, &b->of.images, 4) &&
               same_bytes(a->of.images.value, b->of.images.value, 2 * 3 * a->of.images.height * a->of.images.width);
    case ASSAY_MEASURE_CHANGE:
        return a->of.change.found == b->of.change.found && a->of.change.same_shape == b->of.change.same_shape &&
               a->of.change.same_dtype == b->of.change.same_dtype && a->of.change.close == b->of.change.close &&
               a->of.change.step == b->of.change.step && a->of.change.apart == b->of.change.apart &&
               same_bytes(&a->of.change.largest, &b->of.change.largest, 3);
    case ASSAY_MEASURE_FIRST_BAD:
        return same_bytes(&a->of.first_bad, &b->of.first_bad, 2);
    case ASSAY_MEASURE_NEGATIVE:
        return same_bytes(&a->of.negative, &b->of.negative, 3);
    case ASSAY_MEASURE_MOMENTS:
        return a->of.moments.found && b->of.moments.found &&
               same_bytes(&a->of.moments.beyond, &b->of.moments.beyond, 4);
    case ASSAY_MEASURE_ROWS:
        return a->of.rows.count == 2 && b->of.rows.count == 2 && same_bytes(a->of.rows.digest, b->of.rows.digest, 2);
    case ASSAY_MEASURE_SKETCH:
        return a->of.sketch.groups == 4 && same_bytes(&a->of.sketch, &b->of.sketch, 3) &&
               a->of.sketch.step == b->of.sketch.step && same_bytes(a->of.sketch.sum, b->of.sketch.sum, 80) &&
               same_bytes(a->of.sketch.squares, b->of.sketch.squares, 80) &&
               same_bytes(a->of.sketch.before, b->of.sketch.before, 80) &&
               same_bytes(a->of.sketch.squares_before, b->of.sketch.squares_before, 80);
    case ASSAY_MEASURE_FUNCTION:
        return a->of.function.found && b->of.function.found &&
               same_bytes(a->of.function.fit, b->of.function.fit, (uint64_t)5 * ASSAY_FUNCTIONS);
    case ASSAY_MEASURE_ZERO_RUNS:
        return same_bytes(&a->of.zero_runs, &b->of.zero_runs, 4);
    default:
        return a->of.digest == b->of.digest;
    }
}

static void every_kind(void)
{
    for (uint32_t kind = 0; kind < ASSAY_MEASURE_KINDS; kind++) {
        assay_arena *arena = assay_arena_new(CEILING);
        assay_measure measure = measure_of(kind);
        assay_result result = result_of(&measure, arena), back = {0}, none = {.kind = 77};
        assay_buf bytes = packed(&measure, &result);
        CU_ASSERT_EQUAL_FATAL(unpacked(&measure, &bytes, bytes.size, arena, &back), ASSAY_OK);
        CU_ASSERT_EQUAL(back.kind, kind);
        CU_ASSERT_TRUE(same_results(&result, &back, measure.numbers));
        for (size_t size = 0; size < bytes.size; size++) {
            CU_ASSERT_EQUAL(unpacked(&measure, &bytes, size, arena, &none), ASSAY_EFORMAT);
            CU_ASSERT_EQUAL(none.kind, 77);
        }
        assay_buf_release(&bytes);
        assay_arena_free(arena);
    }
}

/* Lengths that are beyond the bytes, or beyond what a size can be, ask for no memory. */
static void lying_lengths(void)
{
    static const uint64_t LIES[] = {UINT64_MAX, UINT64_MAX / 8 + 2, UINT64_C(1) << 61, UINT64_C(1) << 32, 121};
    const uint32_t kinds[] = {ASSAY_MEASURE_UNITS, ASSAY_MEASURE_CHANNELS, ASSAY_MEASURE_CLASSES, ASSAY_MEASURE_VALUES,
                              ASSAY_MEASURE_TEXTS, ASSAY_MEASURE_IMAGES,   ASSAY_MEASURE_ROWS};
    assay_arena *arena = assay_arena_new(CEILING);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        assay_measure measure = measure_of(kinds[k]);
        assay_result result = result_of(&measure, arena);
        assay_buf bytes = packed(&measure, &result);
        size_t at = kinds[k] == ASSAY_MEASURE_UNITS ? 8 : kinds[k] == ASSAY_MEASURE_CHANNELS ? 16 : 0;
        for (size_t i = 0; i < sizeof LIES / sizeof *LIES; i++) {
            size_t used = assay_arena_used(arena);
            assay_buf_set_u64(&bytes, at, LIES[i]);
            CU_ASSERT_EQUAL(unpacked(&measure, &bytes, bytes.size, arena, &result), ASSAY_EFORMAT);
            CU_ASSERT_TRUE(assay_arena_used(arena) - used <= 2 * bytes.size + 64);
        }
        assay_buf_release(&bytes);
    }
    assay_arena_free(arena);
}

static void no_room(void)
{
    assay_arena *arena = assay_arena_new(CEILING), *small = assay_arena_new(512);
    assay_measure measure = measure_of(ASSAY_MEASURE_VALUES);
    assay_result result = result_of(&measure, arena);
    assay_buf bytes = packed(&measure, &result);
    CU_ASSERT_EQUAL(unpacked(&measure, &bytes, bytes.size, small, &result), ASSAY_EBUDGET);
    assay_buf_release(&bytes);
    assay_arena_free(small);
    assay_arena_free(arena);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"every kind", every_kind}, {"lying lengths", lying_lengths}, {"no room", no_room}, {NULL, NULL}};
    return unit_main("result_pack", tests);
}
