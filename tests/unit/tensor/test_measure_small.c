/* Class numbers, digests and texts. */
#include "unit.h"

#include <math.h>

#include "take.h"

/* ---- classes ---- */

static int64_t rounded(double x)
{
    if (!isfinite(x) || fabs(x) > 0x1p62)
        return ASSAY_NO_CLASS;
    double down = floor(x), rest = x - down;
    bool up = rest > 0.5 || (rest == 0.5 && fmod(down, 2) != 0);
    return (int64_t)(up ? down + 1 : down);
}

/* As numpy.argmax. */
static int64_t argmax(const double *x, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isnan(x[i]))
            return i;
        best = x[i] > x[best] ? i : best;
    }
    return best;
}

static bool all_integral(const tensor *t)
{
    for (uint64_t i = 0; i < t->shape.elements; i++) {
        if (isfinite(t->wide[i]) && t->wide[i] != floor(t->wide[i]))
            return false;
    }
    return true;
}

/* Is every element a probability? */
static bool is_share(const tensor *t)
{
    bool share = true;
    for (uint64_t i = 0; i < t->shape.elements; i++)
        share = share && (!isfinite(t->wide[i]) || (t->wide[i] >= 0 && t->wide[i] <= 1));
    return share;
}

static unsigned check_classes(uint32_t form, const tensor *t, const assay_classes *got)
{
    const assay_shape *shape = &t->shape;
    int64_t last = shape->dims >= 2 ? shape->dim[shape->dims - 1] : 0;
    bool rows = form == ASSAY_CLASS_ARGMAX ? last > 0
                                           : form == ASSAY_CLASS_AUTO && last > 1 && assay_dtype_is_float(shape->dtype);
    bool halves = form == ASSAY_CLASS_AUTO && !rows && !all_integral(t);
    double limit = is_share(t) ? 0.5 : 0;
    uint64_t count = rows ? shape->elements / (uint64_t)last : shape->elements;
    if (got->count != count)
        return 1;
    for (uint64_t i = 0; i < count; i++) {
        int64_t want = rows ? argmax(t->wide + i * (uint64_t)last, last) : rounded(t->wide[i]);
        if (halves)
            want = isfinite(t->wide[i]) ? t->wide[i] >= limit : ASSAY_NO_CLASS;
        if (got->value[i] != want)
            return 1;
    }
    return 0;
}

static unsigned check_forms(const tensor *t, assay_arena *arena)
{
    unsigned wrong = 0;
    for (uint32_t form = ASSAY_CLASS_ROUND; form <= ASSAY_CLASS_AUTO; form++) {
        for (cut_kind cut = CUT_NONE; cut < CUTS; cut++) {
            assay_measure measure = {.kind = ASSAY_MEASURE_CLASSES, .form = form};
            assay_result got;
            wrong += take(&measure, t, NULL, assay_simd_level(), cut, arena, &got) != ASSAY_OK ||
                     check_classes(form, t, &got.of.classes);
            assay_arena_clear(arena);
        }
    }
    const assay_measure codes = {.kind = ASSAY_MEASURE_CLASSES, .form = ASSAY_CLASS_CODES};
    const bool wide = !assay_dtype_is_float(t->shape.dtype) &&
                      (assay_dtype_size(t->shape.dtype) > 1 || (t->shape.dtype == ASSAY_UINT8 && t->shape.dims < 3));
    assay_result got;
    const int status = take(&codes, t, NULL, assay_simd_level(), CUT_NONE, arena, &got);
    wrong += wide ? status != ASSAY_OK || check_classes(ASSAY_CLASS_ROUND, t, &got.of.classes) : status <= ASSAY_OK;
    assay_arena_clear(arena);
    return wrong;
}

static void classes_of_every_dtype(void)
{
    static const int64_t DIMS[][3] = {{1, 1, 1}, {7, 10, 1}, {300, 1, 1}, {2, 1500, 3}, {9, 1100, 1}};
    assay_arena *arena = assay_arena_new(CEILING);
    for (int type = 0; type < NUMERIC_COUNT; type++) {
        unsigned wrong = 0;
        for (int i = 0; i < 5; i++) {
            for (int dims = 0; dims <= 3; dims++) {
                for (data_kind kind = DATA_ORDINARY; kind < DATA_KINDS; kind += DATA_ANY_BITS) {
                    tensor t = tensor_of(NUMERIC[type], kind, dims, DIMS[i]);
                    wrong += check_forms(&t, arena);
                    tensor_release(&t);
                }
            }
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
    assay_arena_free(arena);
}

static void check_known(int dims, const int64_t *dim, const double *x, uint32_t form, uint64_t count,
                        const int64_t *want)
{
    assay_arena *arena = assay_arena_new(CEILING);
    tensor t = tensor_of_doubles(dims, dim, x);
    assay_measure measure = {.kind = ASSAY_MEASURE_CLASSES, .form = form};
    assay_result got;
    CU_ASSERT_EQUAL(take(&measure, &t, NULL, ASSAY_SIMD_SCALAR, CUT_TINY, arena, &got), ASSAY_OK);
    CU_ASSERT_EQUAL(got.of.classes.count, count);
    CU_ASSERT_EQUAL(memcmp(got.of.classes.value, want, count * sizeof *want), 0);
    tensor_release(&t);
    assay_arena_free(arena);
}

/* As numpy.argmax(x, axis=1) over (outer, classes, inner). */
static unsigned check_axis_1(const tensor *t, const assay_classes *got)
{
    uint64_t classes = (uint64_t)t->shape.dim[1], inner = t->shape.elements / classes / (uint64_t)t->shape.dim[0];
    unsigned wrong = got->count != t->shape.elements / classes;
    for (uint64_t i = 0; !wrong && i < got->count; i++) {
        double column[64];
        for (uint64_t c = 0; c < classes; c++)
            column[c] = t->wide[(i / inner * classes + c) * inner + i % inner];
        wrong += got->value[i] != argmax(column, (int64_t)classes);
    }
    return wrong;
}

static void classes_on_axis_1(void)
{
    static const int64_t DIMS[][4] = {{3, 5, 7, 1}, {2, 1, 9, 4}, {1, 64, 1100, 1}, {5, 3, 1, 1}, {2, 4, 33, 31}};
    assay_arena *arena = assay_arena_new(CEILING);
    for (int type = 0; type < NUMERIC_COUNT; type++) {
        unsigned wrong = 0;
        for (int i = 0; i < 5; i++) {
            for (cut_kind cut = CUT_NONE; cut < CUTS; cut++) {
                tensor t = tensor_of(NUMERIC[type], DATA_ANY_BITS, i % 2 ? 4 : 3, DIMS[i]);
                assay_measure measure = {.kind = ASSAY_MEASURE_CLASSES, .form = ASSAY_CLASS_ARGMAX, .axis = 1};
                assay_result got;
                wrong += take(&measure, &t, NULL, assay_simd_level(), cut, arena, &got) != ASSAY_OK ||
                         check_axis_1(&t, &got.of.classes);
                assay_arena_clear(arena);
                tensor_release(&t);
            }
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
    assay_arena_free(arena);
}

/* Fewer than three axes, one class, whole numbers: no result of that axis. */
static void classes_without_axis_1(void)
{
    static const int64_t DIMS[][3] = {{3, 5, 0}, {3, 1, 4}, {3, 5, 4}};
    assay_arena *arena = assay_arena_new(CEILING);
    for (int i = 0; i < 3; i++) {
        tensor t = tensor_of(i == 2 ? ASSAY_INT64 : ASSAY_FLOAT32, DATA_ORDINARY, i == 0 ? 2 : 3, DIMS[i]);
        assay_measure measure = {.kind = ASSAY_MEASURE_CLASSES, .form = ASSAY_CLASS_AUTO, .axis = 1};
        assay_meter *meter = NULL;
        assay_error err = {""};
        CU_ASSERT_EQUAL(assay_meter_new(&measure, &t.shape, NULL, CEILING, arena, &meter, &err), 1);
        measure.axis = 2;
        CU_ASSERT_EQUAL(assay_meter_new(&measure, &t.shape, NULL, CEILING, arena, &meter, &err), ASSAY_EPARAM);
        tensor_release(&t);
    }
    assay_arena_free(arena);
}

static void classes_known(void)
{
    const int64_t five = 5, pairs[] = {3, 2}, column[] = {3, 1}, none = ASSAY_NO_CLASS;
    check_known(1, &five, (double[]){0.5, 1.5, 2.5, -0.5, -1.5}, ASSAY_CLASS_ROUND, 5, (int64_t[]){0, 2, 2, 0, -2});
    check_known(1, &five, (double[]){NAN, INFINITY, 1e19, -0x1p62, 0x1.8p62}, ASSAY_CLASS_ROUND, 5,
                (int64_t[]){none, none, none, -(INT64_C(1) << 62), none});
    check_known(2, pairs, (double[]){1, 1, NAN, NAN, 5, NAN}, ASSAY_CLASS_ARGMAX, 3, (int64_t[]){0, 0, 1});
    check_known(2, pairs, (double[]){-INFINITY, -INFINITY, 2, INFINITY, -1, -2}, ASSAY_CLASS_AUTO, 3,
                (int64_t[]){0, 1, 0});
    check_known(2, column, (double[]){3, 0, 2}, ASSAY_CLASS_ARGMAX, 3, (int64_t[]){0, 0, 0});
    check_known(2, column, (double[]){3, NAN, 2}, ASSAY_CLASS_AUTO, 3, (int64_t[]){3, none, 2});
    check_known(2, column, (double[]){0.5, 0.49, 1}, ASSAY_CLASS_AUTO, 3, (int64_t[]){1, 0, 1});
    check_known(2, column, (double[]){0.2, -0.1, 0.4}, ASSAY_CLASS_AUTO, 3, (int64_t[]){1, 0, 1});
    check_known(2, column, (double[]){0.2, NAN, 1.5}, ASSAY_CLASS_AUTO, 3, (int64_t[]){1, none, 1});
    check_known(1, column, (double[]){0.5, NAN, INFINITY}, ASSAY_CLASS_AUTO, 3, (int64_t[]){1, none, none});
}

/* ---- digests ---- */

static uint64_t digest_of(const tensor *t, cut_kind cut, assay_arena *arena)
{
    assay_measure measure = {.kind = ASSAY_MEASURE_DIGEST};
    assay_result got = {0};
    CU_ASSERT_EQUAL(take(&measure, t, NULL, assay_simd_level(), cut, arena, &got), ASSAY_OK);
    return got.of.digest;
}

static void digests_of_every_cut(void)
{
    assay_arena *arena = assay_arena_new(CEILING);
    for (int type = 0; type < NUMERIC_COUNT; type++) {
        for (int64_t n = 1; n < 300; n += n < 20 ? 1 : 37) {
            tensor t = tensor_of(NUMERIC[type], DATA_ANY_BITS, 1, &n);
            uint64_t digest = digest_of(&t, CUT_NONE, arena);
            CU_ASSERT_EQUAL(digest, digest_of(&t, CUT_RANDOM, arena));
            CU_ASSERT_EQUAL(digest, digest_of(&t, CUT_TINY, arena));
            tensor_release(&t);
        }
    }
    assay_arena_free(arena);
}

/* Each row has the digest of its bytes, wherever it is and however the content is cut; one value has none. */
static void rows_by_themselves(void)
{
    static const int64_t dim[] = {5, 3, 40};
    const assay_measure measure = {.kind = ASSAY_MEASURE_ROWS};
    const size_t row = 3 * 40 * sizeof(float);
    assay_arena *arena = assay_arena_new(CEILING);
    tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 3, dim);
    memcpy(t.bytes + 3 * row, t.bytes + row, row);
    memset(t.bytes + 4 * row, 0, row);
    const cut_kind cuts[] = {CUT_NONE, CUT_RANDOM, CUT_TINY};
    for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        assay_result got = {0};
        CU_ASSERT_EQUAL_FATAL(take(&measure, &t, NULL, assay_simd_level(), cuts[k], arena, &got), ASSAY_OK);
        CU_ASSERT_EQUAL_FATAL(got.of.rows.count, 5);
        CU_ASSERT_EQUAL(got.of.rows.digest[1], got.of.rows.digest[3]);
        CU_ASSERT_NOT_EQUAL(got.of.rows.digest[0], got.of.rows.digest[1]);
        CU_ASSERT_NOT_EQUAL(got.of.rows.digest[1], got.of.rows.digest[2]);
        CU_ASSERT_EQUAL(got.of.rows.digest[4], 0);
    }
    tensor_release(&t);
    assay_arena_free(arena);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static unsigned equal_ones(uint64_t *digest, size_t count)
{
    unsigned equal = 0;
    qsort(digest, count, sizeof *digest, ascending);
    for (size_t i = 1; i < count; i++)
        equal += digest[i] == digest[i - 1];
    return equal;
}

/* Every single bit and pairs of sign bits, of zeros and of ordinary numbers: what a weak hash confuses. */
static void digests_of_flipped_bits(void)
{
    enum { BYTES = 400, FLOATS = BYTES / 4, FLIPS = BYTES * 8 + FLOATS * (FLOATS - 1) / 2 + 1 };
    const int64_t dim = FLOATS;
    assay_arena *arena = assay_arena_new(CEILING);
    uint64_t *digest = malloc(FLIPS * sizeof *digest);
    for (int zeros = 0; zeros < 2; zeros++) {
        tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 1, &dim);
        if (zeros)
            memset(t.bytes, 0, BYTES);
        size_t count = 0;
        digest[count++] = digest_of(&t, CUT_NONE, arena);
        for (int bit = 0; bit < BYTES * 8; bit++) {
            t.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            digest[count++] = digest_of(&t, CUT_NONE, arena);
            t.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        for (int i = 0; i < FLOATS; i++) {
            for (int j = 0; j < i; j++) {
                t.bytes[4 * i + 3] ^= 0x80;
                t.bytes[4 * j + 3] ^= 0x80;
                digest[count++] = digest_of(&t, CUT_NONE, arena);
                t.bytes[4 * i + 3] ^= 0x80;
                t.bytes[4 * j + 3] ^= 0x80;
            }
        }
        CU_ASSERT_EQUAL(count, FLIPS);
        CU_ASSERT_EQUAL(equal_ones(digest, count), 0);
        tensor_release(&t);
    }
    free(digest);
    assay_arena_free(arena);
}

/* The same 48 zero bytes under other dtypes and shapes. */
static void digests_of_shapes(void)
{
    static const int64_t DIMS[][3] = {{12},      {3, 4}, {4, 3}, {1, 12}, {12, 1}, {1, 3, 4},
                                      {3, 1, 4}, {6},    {13},   {24},    {48}};
    static const int RANKS[] = {1, 2, 2, 2, 2, 3, 3, 1, 1, 1, 1};
    static const int TYPES[] = {ASSAY_FLOAT32, ASSAY_INT32, ASSAY_UINT8, ASSAY_INT8, ASSAY_FLOAT64};
    uint64_t digest[55];
    size_t count = 0;
    assay_arena *arena = assay_arena_new(CEILING);
    for (int type = 0; type < 5; type++) {
        for (int i = 0; i < 11; i++) {
            tensor t = tensor_of(TYPES[type], DATA_ORDINARY, RANKS[i], DIMS[i]);
            memset(t.bytes, 0, t.shape.elements * assay_dtype_size(TYPES[type]));
            digest[count++] = digest_of(&t, CUT_NONE, arena);
            tensor_release(&t);
        }
    }
    CU_ASSERT_EQUAL(equal_ones(digest, count), 0);
    assay_arena_free(arena);
}

/* ---- texts ---- */

static void texts(void)
{
    assay_arena *arena = assay_arena_new(1 << 20);
    assay_result result;
    assay_error err = {""};
    CU_ASSERT_EQUAL(assay_texts_new(arena, 3, &result, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_texts_set(arena, &result, 0, "first", 3, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_texts_set(arena, &result, 2, NULL, 0, &err), ASSAY_OK);
    CU_ASSERT_TRUE(result.kind == ASSAY_MEASURE_TEXTS && result.of.texts.count == 3);
    CU_ASSERT_STRING_EQUAL(result.of.texts.text[0], "fir");
    CU_ASSERT_STRING_EQUAL(result.of.texts.text[1], "");
    CU_ASSERT_STRING_EQUAL(result.of.texts.text[2], "");
    CU_ASSERT_EQUAL(assay_texts_set(arena, &result, 3, "x", 1, &err), ASSAY_EINTERNAL);
    CU_ASSERT_EQUAL(assay_texts_set(arena, &result, 1, "x", 2 << 20, &err), ASSAY_EBUDGET);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "--memory"));
    CU_ASSERT_EQUAL(assay_texts_set(arena, &result, 1, "x", SIZE_MAX, &err), ASSAY_EBUDGET);
    CU_ASSERT_STRING_EQUAL(result.of.texts.text[1], "");
    CU_ASSERT_EQUAL(assay_texts_new(arena, UINT64_MAX / 4, &result, &err), ASSAY_EBUDGET);
    CU_ASSERT_EQUAL(assay_texts_new(arena, 1 << 20, &result, &err), ASSAY_EBUDGET);
    CU_ASSERT_EQUAL(assay_texts_new(arena, 0, &result, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(result.of.texts.count, 0);
    assay_arena_free(arena);
}

int main(void)
{
    CU_TestInfo tests[] = {{"classes of every dtype", classes_of_every_dtype},
                           {"classes on axis 1", classes_on_axis_1},
                           {"classes without axis 1", classes_without_axis_1},
                           {"classes that are known", classes_known},
                           {"digests do not depend on cuts", digests_of_every_cut},
                           {"rows by themselves", rows_by_themselves},
                           {"digests of flipped bits", digests_of_flipped_bits},
                           {"digests of dtypes and shapes", digests_of_shapes},
                           {"texts", texts},
                           CU_TEST_INFO_NULL};
    return unit_main("classes, digests and texts", tests);
}
