/* test_report_traces.c - which ranks the member `traces` of a report names as those that lost the most. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "report/forms/forms.h"
#include "rule/trial_info.h"

enum { RANKS = 20, STEPS = 2 };

/* The numbers behind `"worker": "worker_` from `from` on, as "3,4,". */
static void named(const char *from, char *out, size_t size)
{
    static const char key[] = "\"worker\": \"worker_";
    size_t length = 0;
    out[0] = 0;
    for (const char *at = from; (at = strstr(at, key)) != NULL; at += sizeof key - 1)
        length += (size_t)snprintf(out + length, size - length, "%ld,", strtol(at + sizeof key - 1, NULL, 10));
}

/* What the report says of the works; own times are in `own`, their median is 100. */
static void report(assay_trace_work *work, const int64_t *own, assay_buf *out)
{
    static int64_t step[STEPS] = {7, 9}, duration[STEPS];
    for (size_t i = 0; i < STEPS * RANKS; i++)
        work[i] = (assay_trace_work){.step = (uint32_t)(i / RANKS),
                                     .rank = (int32_t)(i % RANKS),
                                     .own = own[i],
                                     .own_median = 100,
                                     .peers = RANKS};
    assay_trace_data data = {
        .step = step, .step_duration = duration, .steps = STEPS, .work = work, .works = STEPS * RANKS};
    assay_trial info = {.traces = &data};
    assay_trial_outcome trial = {.info = &info};
    assay_jw w = assay_jw_over(out);
    assay_jw_object(&w, NULL);
    report_put_traces_json(&trial, &w);
    assay_jw_end(&w);
    CU_ASSERT_TRUE(assay_jw_done(&w));
    assay_put_u8(out, 0);
    CU_ASSERT_EQUAL_FATAL(assay_buf_status(out), ASSAY_OK);
}

static void checks(const int64_t *own, const char *first, const char *second)
{
    assay_trace_work work[STEPS * RANKS];
    char found[512], *between;
    assay_buf out = ASSAY_BUF(SIZE_MAX);
    report(work, own, &out);
    const char *lost = strstr((const char *)out.data, "\"lost\"");
    CU_ASSERT_PTR_NOT_NULL_FATAL(lost);
    between = strstr(lost, "\"step\": 9");
    named(between ? between : "", found, sizeof found);
    CU_ASSERT_STRING_EQUAL(found, second);
    if (between)
        *between = 0;
    named(lost, found, sizeof found);
    CU_ASSERT_STRING_EQUAL(found, first);
    assay_buf_release(&out);
}

/* Eight a step, in the order of ranks; of equal ones the first; those at the median are not named. */
static void the_worst_of_each_step(void)
{
    int64_t own[STEPS * RANKS];
    for (size_t i = 0; i < STEPS * RANKS; i++)
        own[i] = 100;
    checks(own, "", "");
    for (int64_t r = 0; r < RANKS; r++)
        own[r] = 200 + r;
    own[RANKS + 3] = 101;
    own[RANKS + 5] = 50;
    checks(own, "12,13,14,15,16,17,18,19,", "3,");
    for (int64_t r = 0; r < RANKS; r++)
        own[r] = r == 11 || r == 19 ? 300 : 200;
    for (int64_t r = 0; r < RANKS; r++)
        own[RANKS + r] = 300 - r;
    checks(own, "0,1,2,3,4,5,11,19,", "0,1,2,3,4,5,6,7,");
}

int main(void)
{
    CU_TestInfo tests[] = {{"the worst of each step", the_worst_of_each_step}, CU_TEST_INFO_NULL};
    return unit_main("report traces", tests);
}
