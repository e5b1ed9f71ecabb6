/* test_onsets.c - when a tensor was first bad, and last good before that: however the steps are cut. */
#include "unit.h"

#include <string.h>

#include "rule/common_state.h"

enum { STEPS = 12, TENSORS = 3, WORKERS = 2, CEILING = 1 << 20 };

static bool is_bad(int64_t step, uint32_t tensor, uint32_t worker)
{
    return tensor == 0 ? false : tensor == 1 ? step >= 5 + (int64_t)worker : step % 4 == 3;
}

/* Tensor 2 is saved at every other step; each step in descending order of tensors, which costs more and is allowed. */
static assay_onsets *made(int64_t from, int64_t to)
{
    assay_onsets *onsets = assay_onsets_new();
    for (int64_t step = from; step < to; step++) {
        assay_step_view view = {.step = step, .mode = step % 3 == 2 ? ASSAY_MODE_EVAL : ASSAY_MODE_TRAIN};
        for (uint32_t t = TENSORS; t-- > 0;)
            for (uint32_t w = 0; w < WORKERS; w++) {
                assay_judgement j = {
                    .bad = is_bad(step, t, w), .whole = step > 6, .detail = {(double)step, 1}, .kind = 2};
                if (t != 2 || step % 2 == 1)
                    CU_ASSERT_EQUAL(assay_onsets_add(onsets, &view, t, w, &j), ASSAY_OK);
            }
    }
    return onsets;
}

static void onsets_are_found(void)
{
    assay_onsets *onsets = made(0, STEPS);
    CU_ASSERT_EQUAL_FATAL(assay_onsets_count(onsets), (uint64_t)TENSORS * WORKERS);
    assay_onset never = assay_onsets_get(onsets, 0), late = assay_onsets_get(onsets, 3),
                often = assay_onsets_get(onsets, 4);
    CU_ASSERT_TRUE(never.tensor == 0 && never.first_bad == ASSAY_NO_STEP && never.last_good == STEPS - 1);
    CU_ASSERT_TRUE(never.tested[ASSAY_MODE_TRAIN] == 8 && never.tested[ASSAY_MODE_EVAL] == 4);
    CU_ASSERT_TRUE(late.tensor == 1 && late.worker == 1 && late.first_bad == 6 && late.last_good == 5);
    CU_ASSERT_TRUE(late.bad == 6 && late.whole == 5 && late.detail[0] == 6 && late.kind == 2);
    CU_ASSERT_TRUE(often.tensor == 2 && often.first_bad == 3 && often.last_good == 1 && often.bad == 3);
    assay_onsets_free(onsets);
}

static void pack(const assay_onsets *onsets, assay_buf *out)
{
    assay_buf_init(out, CEILING);
    assay_onsets_pack(onsets, out);
    CU_ASSERT_EQUAL(assay_buf_status(out), ASSAY_OK);
}

static void cuts_do_not_matter(void)
{
    assay_onsets *all = made(0, STEPS);
    assay_buf whole, part;
    pack(all, &whole);
    for (int64_t cut = 0; cut <= STEPS; cut++) {
        assay_onsets *a = made(0, cut), *b = made(cut, STEPS);
        CU_ASSERT_EQUAL(assay_onsets_join(a, b), ASSAY_OK);
        pack(a, &part);
        CU_ASSERT_TRUE(part.size == whole.size && memcmp(part.data, whole.data, whole.size) == 0);
        assay_buf_release(&part);
        assay_onsets_free(a);
        assay_onsets_free(b);
    }
    assay_buf_release(&whole);
    assay_onsets_free(all);
}

static int unpack(const uint8_t *bytes, size_t size, assay_onsets **out)
{
    assay_cursor in = assay_cursor_over(bytes, size);
    return assay_onsets_unpack(&in, out, NULL);
}

static void damage_is_refused(void)
{
    assay_onsets *onsets = made(0, STEPS), *back = NULL;
    assay_buf bytes;
    pack(onsets, &bytes);
    CU_ASSERT_EQUAL_FATAL(unpack(bytes.data, bytes.size, &back), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_onsets_get(back, 3).last_good, 5);
    assay_onsets_free(back);
    for (size_t size = 0; size < bytes.size; size++)
        CU_ASSERT_EQUAL(unpack(bytes.data, size, &back), ASSAY_EFORMAT);
    bytes.data[8] = 9; /* the first tensor comes behind the second */
    CU_ASSERT_EQUAL(unpack(bytes.data, bytes.size, &back), ASSAY_EFORMAT);
    assay_buf_release(&bytes);
    assay_onsets_free(onsets);
}

int main(void)
{
    CU_TestInfo tests[] = {{"onsets are found", onsets_are_found},
                           {"cuts do not matter", cuts_do_not_matter},
                           {"damage is refused", damage_is_refused},
                           CU_TEST_INFO_NULL};
    return unit_main("onsets", tests);
}
