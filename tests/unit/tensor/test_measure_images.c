/* test_measure_images.c - IMAGES against a sum pixel by pixel, for every dtype, cut anywhere; and shapes that are no
 * images. */
#include "unit.h"

#include <math.h>

#include "take.h"

static assay_measure images(uint32_t form, double most)
{
    return (assay_measure){.kind = ASSAY_MEASURE_IMAGES, .form = form, .numbers = 1, .number = {most}};
}

/* The element of the tensor at a place of an image. */
static double element(const tensor *t, bool last, const assay_images *of, const uint64_t at[4], uint64_t high,
                      uint64_t wide)
{
    uint64_t i = at[0], c = at[1], y = at[2], x = at[3];
    return t
        ->wide[last ? ((i * high + y) * wide + x) * of->channels + c : ((i * of->channels + c) * high + y) * wide + x];
}

/* One pixel of the result: the mean over its square, summed in the order of the elements. */
static double mean_of(const tensor *t, bool last, const assay_images *of, uint64_t side, const uint64_t at[4],
                      uint64_t high, uint64_t wide)
{
    double sum = 0;
    uint64_t pixels = 0;
    for (uint64_t y = at[2] * side; y < (at[2] + 1) * side && y < high; y++) {
        for (uint64_t x = at[3] * side; x < (at[3] + 1) * side && x < wide; x++, pixels++)
            sum += element(t, last, of, (const uint64_t[]){at[0], at[1], y, x}, high, wide);
    }
    return sum / (double)pixels;
}

static unsigned wrong_pixels(const tensor *t, bool last, const assay_images *of, uint64_t side, uint64_t high,
                             uint64_t wide)
{
    unsigned wrong = of->height != (high + side - 1) / side || of->width != (wide + side - 1) / side;
    const double *value = of->value;
    uint64_t at[4];
    for (at[0] = 0; wrong == 0 && at[0] < of->images; at[0]++)
        for (at[1] = 0; at[1] < of->channels; at[1]++)
            for (at[2] = 0; at[2] < of->height; at[2]++)
                for (at[3] = 0; at[3] < of->width; at[3]++, value++) {
                    double should = mean_of(t, last, of, side, at, high, wide);
                    wrong += !(*value == should || (isnan(*value) && isnan(should)));
                }
    return wrong;
}

static void check(int dims, const int64_t *dim, bool last, double most, uint64_t side,
                  const uint64_t channels_high_wide[3])
{
    static const int types[] = {ASSAY_FLOAT32, ASSAY_FLOAT64, ASSAY_UINT8, ASSAY_FLOAT16, ASSAY_INT64};
    assay_measure measure = images(last ? ASSAY_IMAGES_CHANNELS_LAST : ASSAY_IMAGES_CHANNELS_FIRST, most);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        tensor t = tensor_of(types[k], k == 1 ? DATA_ORDINARY : (data_kind)0, dims, dim);
        for (cut_kind cut = 0; cut < CUTS; cut++) {
            assay_arena *arena = assay_arena_new(CEILING);
            assay_result result;
            CU_ASSERT_EQUAL_FATAL(take(&measure, &t, NULL, assay_simd_level(), cut, arena, &result), ASSAY_OK);
            CU_ASSERT_EQUAL(result.of.images.images, (uint64_t)dim[0]);
            CU_ASSERT_EQUAL(result.of.images.channels, channels_high_wide[0]);
            CU_ASSERT_EQUAL(
                wrong_pixels(&t, last, &result.of.images, side, channels_high_wide[1], channels_high_wide[2]), 0);
            assay_arena_free(arena);
        }
        tensor_release(&t);
    }
}

static void small_images_stay_as_they_are(void)
{
    check(4, (const int64_t[]){5, 3, 8, 6}, false, 64, 1, (const uint64_t[]){3, 8, 6});
    check(4, (const int64_t[]){5, 8, 6, 3}, true, 64, 1, (const uint64_t[]){3, 8, 6});
    check(3, (const int64_t[]){7, 4, 9}, false, 9, 1, (const uint64_t[]){1, 4, 9});
    check(3, (const int64_t[]){7, 4, 9}, true, 9, 1, (const uint64_t[]){1, 4, 9});
    check(4, (const int64_t[]){1, 1, 1, 1}, false, 64, 1, (const uint64_t[]){1, 1, 1});
}

static void large_images_become_small(void)
{
    check(4, (const int64_t[]){3, 3, 70, 131}, false, 64, 3, (const uint64_t[]){3, 70, 131});
    check(4, (const int64_t[]){3, 70, 131, 3}, true, 64, 3, (const uint64_t[]){3, 70, 131});
    check(4, (const int64_t[]){2, 1, 128, 5}, false, 64, 2, (const uint64_t[]){1, 128, 5});
    check(3, (const int64_t[]){2, 1, 2000}, false, 64, 32, (const uint64_t[]){1, 1, 2000});
    check(4, (const int64_t[]){4, 3, 9, 9}, false, 1, 9, (const uint64_t[]){3, 9, 9});
}

static void other_shapes_are_no_images(void)
{
    const struct {
        int dims;
        int64_t dim[5];
        bool last;
    } shapes[] = {
        {0, {0}, false},          {1, {6}, false},         {2, {4, 64}, false},     {5, {1, 1, 1, 2, 2}, false},
        {4, {2, 4, 8, 8}, false}, {4, {2, 3, 8, 8}, true}, {4, {2, 2, 8, 8}, false}};
    assay_arena *arena = assay_arena_new(CEILING);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        assay_measure measure = images(shapes[i].last ? ASSAY_IMAGES_CHANNELS_LAST : ASSAY_IMAGES_CHANNELS_FIRST, 64);
        assay_meter *meter;
        tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, shapes[i].dims, shapes[i].dim);
        CU_ASSERT_EQUAL(assay_meter_new(&measure, &t.shape, NULL, CEILING, arena, &meter, NULL), 1);
        tensor_release(&t);
    }
    assay_arena_free(arena);
}

/* Memory goes with what is kept, not with the tensor. */
static void memory_is_that_of_the_small_images(void)
{
    const int64_t dim[] = {2, 3, 512, 512};
    assay_measure measure = images(ASSAY_IMAGES_CHANNELS_FIRST, 64);
    assay_arena *arena = assay_arena_new(CEILING);
    tensor t = tensor_of(ASSAY_FLOAT32, DATA_ORDINARY, 4, dim);
    assay_result result;
    CU_ASSERT_EQUAL(take(&measure, &t, NULL, assay_simd_level(), CUT_NONE, arena, &result), ASSAY_OK);
    CU_ASSERT_TRUE(assay_arena_used(arena) <= 2 * 3 * 64 * 64 * sizeof(double) + 160);
    tensor_release(&t);
    assay_arena_free(arena);
}

int main(void)
{
    CU_TestInfo tests[] = {{"small images stay as they are", small_images_stay_as_they_are},
                           {"large images become small", large_images_become_small},
                           {"other shapes are no images", other_shapes_are_no_images},
                           {"memory is that of the small images", memory_is_that_of_the_small_images},
                           CU_TEST_INFO_NULL};
    return unit_main("images", tests);
}
