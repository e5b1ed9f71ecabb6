/* test_run_json.c - facts of runs: modules of many workers leave room for what comes behind them. */
#include <stdio.h>

#include "base/fault.h"
#include "format/smdebug/run_json.h"
#include "unit.h"

/* A file of a worker whose modules have names of its own. */
static void add_worker(assay_run_facts *facts, int worker, int modules, assay_problems *problems)
{
    assay_buf text = ASSAY_BUF(SIZE_MAX);
    char file[32];
    snprintf(file, sizeof file, "run/worker_%d.json", worker);
    assay_put_format(&text, "{\"worker\": \"worker_%d\", \"host\": \"n%d\", \"modules\": {", worker, worker);
    for (int i = 0; i < modules; i++)
        assay_put_format(&text, "%s\"stage%d.%d\": \"torch.Linear\"", i ? ", " : "", worker, i);
    assay_put_format(&text, "}}");
    CU_ASSERT_EQUAL(assay_run_json_add(facts, file, text.data, text.size, problems), ASSAY_OK);
    assay_buf_release(&text);
}

static void test_many_modules(void)
{
    assay_run_facts facts = {0};
    assay_problems problems;
    assay_problems_init(&problems);
    for (int worker = 0; worker < 2; worker++)
        add_worker(&facts, worker, 900, &problems);
    CU_ASSERT_EQUAL(problems.total, 0);
    for (int worker = 2; worker < 5; worker++)
        add_worker(&facts, worker, 900, &problems);
    CU_ASSERT_EQUAL(problems.total, 3); /* each of these files is named */
    CU_ASSERT_EQUAL(problems.losses, 0);
    CU_ASSERT(facts.count + 32 < ASSAY_RUN_FACTS_MOST);
    CU_ASSERT_PTR_NOT_NULL(assay_run_fact_of(&facts, "module.stage1.899"));
    CU_ASSERT_EQUAL(assay_run_facts_put(&facts, assay_copy_text("unclosed"), assay_copy_text("worker_3")), ASSAY_OK);
    assay_run_facts_sort(&facts);
    CU_ASSERT_PTR_NOT_NULL(assay_run_fact_of(&facts, "unclosed"));
    assay_run_facts_release(&facts);
    assay_problems_release(&problems);
}

static void test_modules_that_differ(void)
{
    static const char *const files[] = {"{\"modules\": {\"fc\": \"torch.Linear\", \"act\": \"torch.ReLU\"}}",
                                        "{\"modules\": {\"fc\": \"torch.Conv2d\", \"act\": \"torch.ReLU\"}}"};
    assay_run_facts facts = {0};
    assay_problems problems;
    assay_problems_init(&problems);
    for (size_t i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(assay_run_json_add(&facts, "f", files[i], strlen(files[i]), &problems), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(assay_run_fact_of(&facts, "module.fc"), ""); /* nobody knows which */
    CU_ASSERT_STRING_EQUAL(assay_run_fact_of(&facts, "module.act"), "torch.ReLU");
    assay_run_facts_release(&facts);
    assay_problems_release(&problems);
}

static void test_what_ended_it(void)
{
    static const struct {
        const char *failed, *is;
    } of[] = {
        {"{\"type\": \"ValueError\", \"message\": \"a\\nb\\u0007\", \"mode\": \"TRAIN\", \"mode_step\": 7}",
         "ValueError: a b , in TRAIN step 7"},
        {"{\"type\": \"ValueError\", \"mode\": \"OTHER\", \"mode_step\": 7}", "ValueError"},
        {"{\"type\": \"E\", \"message\": \"\", \"mode\": \"EVAL\", \"mode_step\": -7}", "E"},
        {"{\"type\": \"\", \"message\": \"m\"}", NULL},
        {"{\"type\": 4}", NULL},
        {"[1]", NULL},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        assay_run_facts facts = {0};
        assay_problems problems;
        char text[400];
        assay_problems_init(&problems);
        for (int ended = 0; ended < 2; ended++) {
            snprintf(text, sizeof text, "{\"failed\": %s%s}", of[i].failed,
                     ended ? ", \"ended\": \"2001-09-09T01:46:59Z\", \"closed\": 1" : "");
            CU_ASSERT_EQUAL(assay_run_json_add(&facts, "f", text, strlen(text), &problems), ASSAY_OK);
            CU_ASSERT_EQUAL(facts.failed != NULL, ended && of[i].is);
        }
        if (facts.failed)
            CU_ASSERT_STRING_EQUAL(facts.failed, of[i].is);
        CU_ASSERT_EQUAL(problems.total, 0);
        assay_run_facts_release(&facts);
        assay_problems_release(&problems);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"more modules than there is room for", test_many_modules},
                           {"what ended a process", test_what_ended_it},
                           {"modules of two workers", test_modules_that_differ},
                           CU_TEST_INFO_NULL};
    return unit_main("format/run_json", tests);
}
