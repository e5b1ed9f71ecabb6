/* test_job.c - job files: what is read, what is refused and with which words. */
#include <stdlib.h>
#include <string.h>

#include "job/job.h"
#include "sample_rule.h"
#include "unit.h"

enum { JSON, TEXT, HTML };
static const assay_job_form FORM_LIST[] = {{"json", false, true}, {"text", false, true}, {"html", true, false}};
static const assay_job_forms FORMS = {FORM_LIST, 3};

static int parse(const char *text, assay_job *job, assay_error *err)
{
    *err = (assay_error){""};
    return assay_job_parse("job.json", text, strlen(text), &FORMS, job, err);
}

static void test_whole_job(void)
{
    static const char text[] =
        "{\"trials\": [\"runs/a/\", {\"path\": \"s3://bucket/b\", \"name\": \"second\"}, \"other/a\"],"
        " \"rules\": [{\"rule\": \"SampleRule\"}, {\"rule\": \"sample_rule\", \"name\": \"mine\", \"severity\": "
        "\"error\","
        "   \"parameters\": {\"count\": \"7\", \"flag\": true, \"names\": \"x,y\", \"numbers\": [1, 2.5]}},"
        "  {\"rule\": \"SampleRule\"}, {\"rule\": \"Missing\"}, {\"rule\": \"SampleRule\", \"parameters\": {\"limit\": "
        "2}}],"
        " \"aggregations\": [{\"kind\": \"sample_counts\", \"name\": \"n\", \"count\": 9}, {\"kind\": "
        "\"sample_counts\"}],"
        " \"output\": {\"directory\": \"out\", \"formats\": [\"text\"], \"max_findings\": 17}, "
        "\"s3\": {\"unsigned\": true}}";
    assay_job job = {0};
    assay_error err;
    CU_ASSERT_FATAL(parse(text, &job, &err) == ASSAY_OK);
    CU_ASSERT(job.trial_count == 3 && job.rule_count == 5 && job.aggregation_count == 2);
    CU_ASSERT_STRING_EQUAL(job.trials[0].path, "runs/a/");
    CU_ASSERT_STRING_EQUAL(job.trials[0].name, "a");
    CU_ASSERT_STRING_EQUAL(job.trials[1].name, "second");
    CU_ASSERT_STRING_EQUAL(job.trials[2].name, "other/a");
    CU_ASSERT_STRING_EQUAL(job.rules[0]->name, "SampleRule");
    CU_ASSERT_STRING_EQUAL(job.rules[1]->name, "mine");
    CU_ASSERT_STRING_EQUAL(job.rules[2]->name, "SampleRule-2");
    CU_ASSERT(job.rules[1]->severity == ASSAY_ERROR && job.rules[0]->severity == ASSAY_WARNING);
    CU_ASSERT(job.rules[1]->status == ASSAY_OK && assay_param_int(job.rules[1]->params, "count") == 7);
    CU_ASSERT(assay_param_count(job.rules[1]->params, "names") == 2);
    CU_ASSERT(job.rules[3]->status != ASSAY_OK && strstr(job.rules[3]->error.text, "Missing") != NULL);
    CU_ASSERT(job.rules[4]->status == ASSAY_EPARAM && strstr(job.rules[4]->error.text, "limit") != NULL);
    CU_ASSERT_STRING_EQUAL(job.aggregations[0]->name, "n");
    CU_ASSERT(assay_param_int(job.aggregations[0]->params, "count") == 9);
    CU_ASSERT_STRING_EQUAL(job.aggregations[1]->name, "sample_counts");
    CU_ASSERT_STRING_EQUAL(job.output_directory, "out");
    CU_ASSERT(job.formats == 1u << TEXT && job.max_findings == 17 && job.unsigned_s3);
    assay_job_release(&job);
    CU_ASSERT(job.rules == NULL && job.trial_count == 0);
}

static void test_defaults(void)
{
    assay_job job = {0};
    assay_error err;
    CU_ASSERT_FATAL(parse("{}", &job, &err) == ASSAY_OK);
    CU_ASSERT(job.trial_count == 0 && job.rule_count == 0 && job.aggregation_count == 0);
    CU_ASSERT(job.output_directory == NULL && job.max_findings == 1000 && !job.unsigned_s3);
    CU_ASSERT(job.formats == (1u << JSON | 1u << TEXT));
    assay_job_release(&job);
}

/* Made-up names avoid those that were given, wherever they stand. */
static void test_names(void)
{
    static const char text[] = "{\"rules\": [{\"rule\": \"SampleRule\"}, {\"rule\": \"SampleRule\"},"
                               "{\"rule\": \"SampleRule\", \"name\": \"SampleRule\"},"
                               "{\"rule\": \"SampleRule\", \"name\": \"SampleRule-2\"}]}";
    assay_job job = {0};
    assay_error err;
    CU_ASSERT_FATAL(parse(text, &job, &err) == ASSAY_OK);
    for (size_t i = 0; i < job.rule_count; i++) {
        for (size_t k = 0; k < i; k++)
            CU_ASSERT(strcmp(job.rules[i]->name, job.rules[k]->name) != 0);
    }
    CU_ASSERT_STRING_EQUAL(job.rules[2]->name, "SampleRule");
    assay_job_release(&job);
}

static void test_sagemaker(void)
{
    static const char entry[] =
        "{\"RuleConfigurationName\": \"c\", \"RuleEvaluatorImage\": \"i\", \"InstanceType\": \"t\", "
        "\"VolumeSizeInGB\": 1,"
        " \"LocalPath\": \"p\", \"S3OutputPath\": \"s\","
        " \"RuleParameters\": {\"rule_to_invoke\": \"SampleRule\", \"count\": \"5\", \"flag\": \"True\"}}";
    static const char *const forms[][2] = {
        {"{\"rules\": [", "]}"},
        {"{\"DebugRuleConfigurations\": [", "]}"},
        {"{\"ProfilerRuleConfigurations\": [", "]}"},
        {"[", "]"},
        {"{\"DebugHookConfig\": {\"S3OutputPath\": \"s3://b\"}, \"ProfilerConfig\": {}, \"TensorBoardOutputConfig\": {}, "
         "\"DebugRuleConfigurations\": [",
         "]}"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char text[1024];
        assay_job job = {0};
        assay_error err;
        snprintf(text, sizeof text, "%s%s%s", forms[i][0], entry, forms[i][1]);
        CU_ASSERT_FATAL(parse(text, &job, &err) == ASSAY_OK);
        CU_ASSERT_FATAL(job.rule_count == 1 && job.rules[0]->status == ASSAY_OK);
        CU_ASSERT_STRING_EQUAL(job.rules[0]->name, "c");
        CU_ASSERT(assay_param_int(job.rules[0]->params, "count") == 5 &&
                  assay_param_bool(job.rules[0]->params, "flag"));
        assay_job_release(&job);
    }
}

static void test_refusals(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "job.json"},
        {"[1]", "DebugRuleConfigurations[0]"},
        {"{\"rule\": []}", "unknown key \"rule\""},
        {"{\"rules\": {}}", "\"rules\" has to be a list"},
        {"{\"rules\": [1]}", "rules[0]"},
        {"{\"rules\": [{\"rule\": \"\"}]}", "\"rule\" has to be a text"},
        {"{\"rules\": [{\"rule\": \"A\"}, {\"name\": \"b\"}]}", "rules[1]: neither"},
        {"{\"rules\": [{\"rule\": \"A\", \"severity\": \"bad\"}]}", "unknown severity \"bad\""},
        {"{\"rules\": [{\"rule\": \"A\", \"parameters\": 1}]}", "\"parameters\""},
        {"{\"rules\": [{\"rule\": \"A\", \"name\": \"n\"}, {\"rule\": \"B\", \"name\": \"n\"}]}",
         "\"n\" is there twice"},
        {"{\"rules\": [{\"rule\": \"A\", \"rule\": \"B\"}]}", "twice"},
        {"{\"trials\": 1}", "trials"},
        {"{\"trials\": [\"a\", \"file://./a/\"]}", "listed twice"},
        {"{\"trials\": [{\"path\": \"a\", \"name\": \"b\"}, {\"path\": \"c\", \"name\": \"b\"}]}", "listed twice"},
        {"{\"trials\": [{\"name\": \"b\"}]}", "\"path\" is missing"},
        {"{\"trials\": [\"\"]}", "empty"},
        {"{\"trials\": [{\"path\": \"a\", \"steps\": \"x\"}]}", "trials[0].steps: expected a list"},
        {"{\"trials\": [{\"path\": \"a\", \"steps\": []}]}", "trials[0].steps: expected a list"},
        {"{\"trials\": [{\"path\": \"a\", \"steps\": [\"(\"]}]}", "trials[0].steps[0]: regular expression"},
        {"{\"trials\": [{\"path\": \"a\", \"steps\": [\"a([0-9]+)\", \"b\"]}]}", "trials[0].steps[1]"},
        {"{\"trials\": [{\"path\": \"a\", \"void\": {\"V2\": \"float\"}}]}", "no dtype \"float\""},
        {"{\"trials\": [{\"path\": \"a\", \"void\": {\"V4\": \"bfloat16\"}}]}", "has 16 bits"},
        {"{\"trials\": [{\"path\": \"a\", \"void\": {\"f2\": \"bfloat16\"}}]}", "not a void type"},
        {"{\"aggregations\": [5]}", "aggregations[0]"},
        {"{\"aggregations\": [{}]}", "\"kind\" is missing"},
        {"{\"aggregations\": [{\"kind\": \"a\", \"name\": \"n\"}, {\"kind\": \"a\", \"name\": \"n\"}]}", "twice"},
        {"{\"images\": []}", "\"images\" has to be an object"},
        {"{\"images\": {\"tensor\": \"i\", \"label\": \"l\"}}", "unknown key \"label\""},
        {"{\"output\": 1}", "output"},
        {"{\"output\": {\"formats\": [\"pdf\"]}}", "unknown format \"pdf\""},
        {"{\"output\": {\"max_findings\": 1.5}}", "max_findings"},
        {"{\"output\": {\"directory\": 5}}", "directory"},
        {"{\"s3\": {\"unsigned\": \"yes\"}}", "s3: \"unsigned\" has to be true or false"},
        {"{\"DebugRuleConfigurations\": [{\"RuleConfigurationName\": \"x\"}]}", "RuleParameters"},
        {"{\"rules\": [{\"RuleParameters\": {\"rule_to_invoke\": 1}}]}", "rule_to_invoke"},
        {"[{\"RuleParameters\": {\"rule_to_invoke\": \"Mine\", \"source_s3_uri\": \"s3://b/mine.py\"}}]",
         "\"FILE:Mine\""},
        {"{\"rules\": [{\"RuleParameters\": {}, \"severity\": \"info\"}]}", "unknown key \"severity\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_job job = {.rule_count = 99};
        assay_error err;
        int status = parse(cases[i].text, &job, &err);
        CU_ASSERT(status == ASSAY_EJOB);
        CU_ASSERT(strstr(err.text, cases[i].words) != NULL);
        CU_ASSERT(strncmp(err.text, "job.json", 8) == 0);
        CU_ASSERT(job.rule_count == 99); /* untouched */
        if (status != ASSAY_EJOB || !strstr(err.text, cases[i].words))
            printf("case %s: %d %s\n", cases[i].text, status, err.text);
    }
}

static void test_set_trials(void)
{
    static const char *const good[] = {"runs/a", "named=runs/b", "runs/lr=0.1/"};
    static const char *const twice[] = {"runs/a", "x=./runs/a"};
    static const char *const empty[] = {"x="};
    assay_job job = {0};
    assay_error err;
    CU_ASSERT_FATAL(parse("{\"trials\": [\"old\"]}", &job, &err) == ASSAY_OK);
    CU_ASSERT(assay_job_set_trials(&job, twice, 2, &err) == ASSAY_EUSAGE && strstr(err.text, "listed twice"));
    CU_ASSERT(assay_job_set_trials(&job, empty, 1, &err) == ASSAY_EUSAGE);
    CU_ASSERT_STRING_EQUAL(job.trials[0].path, "old");
    CU_ASSERT_FATAL(assay_job_set_trials(&job, good, 3, &err) == ASSAY_OK && job.trial_count == 3);
    CU_ASSERT_STRING_EQUAL(job.trials[1].name, "named");
    CU_ASSERT_STRING_EQUAL(job.trials[1].path, "runs/b");
    CU_ASSERT_STRING_EQUAL(job.trials[2].name, "lr=0.1");
    CU_ASSERT_STRING_EQUAL(job.trials[2].path, "runs/lr=0.1/");
    assay_job_release(&job);
}

int main(void)
{
    CU_TestInfo tests[] = {{"a whole job", test_whole_job},
                           {"defaults", test_defaults},
                           {"made-up names avoid given ones", test_names},
                           {"SageMaker's entries", test_sagemaker},
                           {"what is refused", test_refusals},
                           {"--trial", test_set_trials},
                           CU_TEST_INFO_NULL};
    assay_error err = {""};
    if (sample_register(&err) != ASSAY_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    return unit_main("job", tests);
}
