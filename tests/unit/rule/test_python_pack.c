/* test_python_pack.c - what a rule in Python is told of a step, and what it answers: figures, findings, damage. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rule/python_pack.h"
#include "rule/trial_info.h"
#include "rule/verdict.h"
#include "tensor/stats.h"

enum { CEILING = 1 << 24, TENSORS = 3, WORKERS = 2, FIGURES = 10 };

static assay_catalog catalog = {.workers = WORKERS};

static assay_trial trial_of_three(void)
{
    static const char *const names[TENSORS] = {"a", "b", "c"};
    assay_trial trial = {.catalog = &catalog, .tensors = assay_dict_new()};
    for (uint32_t i = 0; i < TENSORS; i++)
        CU_ASSERT_EQUAL(assay_dict_add(trial.tensors, names[i], 1), i);
    return trial;
}

static void figures_of_a_step(void)
{
    const float values[] = {-3, 0, 1};
    const double saved[ASSAY_KINDS] = {[ASSAY_MEAN] = 0.25, [ASSAY_ABS + ASSAY_MAX] = 7};
    assay_stats_acc acc;
    assay_stats stats;
    CU_ASSERT_EQUAL(assay_stats_init(&acc, ASSAY_FLOAT32), ASSAY_OK);
    assay_stats_feed(&acc, values, 3);
    assay_stats_finish(&acc, &stats);
    const assay_tensor_view whole = {.tensor = 1, .worker = 0, .stats = &stats};
    const assay_tensor_view reduced = {
        .tensor = 2, .worker = 1, .reductions = 1u << ASSAY_MEAN | 1u << (ASSAY_ABS + ASSAY_MAX), .reduction = saved};
    const assay_tensor_view *const items[] = {&whole, &reduced};
    const assay_slot_view slot = {items, 2};
    const assay_step_view view = {.step = 20, .mode_step = 10, .mode = ASSAY_MODE_TRAIN, .slots = 1, .slot = &slot};
    assay_buf bytes;
    assay_buf_init(&bytes, CEILING);
    assay_python_step_pack(&view, true, &bytes);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    CU_ASSERT_EQUAL(assay_get_u8(&in), 1);
    CU_ASSERT_EQUAL(assay_get_i64(&in), 20);
    CU_ASSERT_EQUAL(assay_get_i64(&in), 10);
    CU_ASSERT_EQUAL(assay_get_u32(&in), ASSAY_MODE_TRAIN);
    CU_ASSERT_EQUAL(assay_get_u32(&in), 2);
    const double expected[2][FIGURES] = {{-3, 1, assay_stats_mean(&stats), -2, assay_stats_std(&stats),
                                          assay_stats_variance(&stats), 4, sqrt(10), 4.0 / 3, 3},
                                         {NAN, NAN, 0.25, NAN, NAN, NAN, NAN, NAN, NAN, 7}};
    for (size_t row = 0; row < 2; row++) {
        CU_ASSERT_EQUAL(assay_get_u32(&in), row + 1);
        CU_ASSERT_EQUAL(assay_get_u32(&in), row);
        CU_ASSERT_EQUAL(assay_get_u64(&in), row ? 0 : 3); /* elements */
        CU_ASSERT_EQUAL(assay_get_u64(&in), 0);
        CU_ASSERT_EQUAL(assay_get_u64(&in), 0);
        CU_ASSERT_EQUAL(assay_get_u64(&in), row ? 0 : 1); /* zeros */
        for (size_t i = 0; i < FIGURES; i++) {
            double got = assay_get_f64(&in);
            CU_ASSERT_TRUE(isnan(expected[row][i]) ? isnan(got) : fabs(got - expected[row][i]) < 1e-12);
        }
    }
    CU_ASSERT_FALSE(assay_cursor_bad(&in));
    assay_buf_release(&bytes);
}

static void put_finding(uint32_t tensor, uint32_t worker, double value, const char *note, assay_buf *out)
{
    assay_put_u32(out, tensor);
    assay_put_u32(out, worker);
    assay_put_f64(out, value);
    assay_put_f64(out, 0.5);
    assay_put_text(out, note);
}

static void put_head(uint8_t flags, uint64_t quiet, uint32_t count, assay_buf *out)
{
    assay_put_u8(out, flags);
    assay_put_u64(out, quiet);
    assay_put_u32(out, count);
}

/* Reads the first `size` bytes. */
static int read_answer(const assay_buf *bytes, size_t size, assay_findings *findings, assay_python_answer *out)
{
    assay_trial trial = trial_of_three();
    assay_error err = {""};
    assay_cursor in = assay_cursor_over(bytes->data, size);
    int status = assay_python_answer_read(&in, &trial, 20, findings, out, &err);
    CU_ASSERT_EQUAL(status != ASSAY_OK, err.text[0] != '\0');
    assay_dict_free(trial.tensors);
    return status;
}

static void answers_are_read(void)
{
    assay_buf bytes;
    assay_python_answer answer = {false};
    assay_findings *findings = assay_findings_new(100);
    assay_buf_init(&bytes, CEILING);
    put_head(0, 7, 2, &bytes);
    put_finding(2, 1, 3, "a note", &bytes);
    put_finding(ASSAY_NO_TENSOR, ASSAY_ALL_WORKERS, NAN, "", &bytes);
    CU_ASSERT_EQUAL(read_answer(&bytes, bytes.size, findings, &answer), ASSAY_OK);
    CU_ASSERT_FALSE(answer.needs_order);
    CU_ASSERT_EQUAL(findings->datapoints, 9);
    CU_ASSERT_EQUAL(findings->total, 2);
    CU_ASSERT_EQUAL_FATAL(findings->kept, 2);
    CU_ASSERT_TRUE(findings->list[0].tensor == ASSAY_NO_TENSOR && isnan(findings->list[0].value));
    CU_ASSERT_PTR_NULL(findings->list[0].note);
    CU_ASSERT_TRUE(findings->list[1].tensor == 2 && findings->list[1].worker == 1 && findings->list[1].step == 20);
    CU_ASSERT_STRING_EQUAL(findings->list[1].note, "a note");
    assay_findings_free(findings);
    for (size_t size = 0; size < bytes.size; size++) {
        findings = assay_findings_new(100);
        CU_ASSERT_EQUAL(read_answer(&bytes, size, findings, &answer), ASSAY_EFORMAT);
        assay_findings_free(findings);
    }
    assay_buf_release(&bytes);
}

static void order_is_asked_for(void)
{
    assay_buf bytes;
    assay_python_answer answer = {false};
    assay_findings *findings = assay_findings_new(100);
    assay_buf_init(&bytes, CEILING);
    put_head(1, 0, 0, &bytes);
    CU_ASSERT_EQUAL(read_answer(&bytes, bytes.size, findings, &answer), ASSAY_OK);
    CU_ASSERT_TRUE(answer.needs_order);
    CU_ASSERT_EQUAL(findings->datapoints, 0);
    assay_findings_free(findings);
    assay_buf_release(&bytes);
}

static void what_cannot_be_is_refused(void)
{
    const struct {
        uint8_t flags;
        uint64_t quiet;
        uint32_t count, tensor, worker;
        size_t more; /* bytes behind it */
    } cases[] = {
        {0, 0, 1, TENSORS, 0, 0},
        {0, 0, 1, 0, WORKERS, 0},
        {0, 0, 2, 0, 0, 0},
        {0, 0, 1, 0, 0, 1},
        {2, 0, 1, 0, 0, 0},
        {0, UINT64_MAX, 1, 0, 0, 0},
        {0, 0, ASSAY_PYTHON_FINDINGS + 1, 0, 0, (ASSAY_PYTHON_FINDINGS + 1) * (size_t)28},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_buf bytes;
        assay_python_answer answer = {false};
        assay_findings *findings = assay_findings_new(1);
        assay_buf_init(&bytes, CEILING);
        put_head(cases[i].flags, cases[i].quiet, cases[i].count, &bytes);
        put_finding(cases[i].tensor, cases[i].worker, 1, "", &bytes);
        for (size_t k = 0; k < cases[i].more; k++)
            assay_put_u8(&bytes, 0);
        CU_ASSERT_EQUAL(read_answer(&bytes, bytes.size, findings, &answer), ASSAY_EFORMAT);
        assay_findings_free(findings);
        assay_buf_release(&bytes);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"figures of a step", figures_of_a_step},
                           {"answers are read", answers_are_read},
                           {"order is asked for", order_is_asked_for},
                           {"what cannot be is refused", what_cannot_be_is_refused},
                           CU_TEST_INFO_NULL};
    return unit_main("python pack", tests);
}
