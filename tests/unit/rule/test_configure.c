/* test_configure.c - registry, parameters and needs, on a rule of the test's own. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rule/instance.h"
#include "rule/params.h"
#include "rule/process_pack.h"
#include "rule/verdict.h"

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    (void)rule;
    (void)state;
    (void)view;
    (void)err;
    return ASSAY_OK;
}

static int setup(const assay_params *params, assay_need *need, void **data, assay_error *err)
{
    *data = malloc(1);
    if (assay_param_int(params, "count") == 7)
        return assay_fail(err, ASSAY_EPARAM, "parameter count has the value 7, which setup does not like");
    int slot = assay_need_slot(need, &(assay_slot){.collections = "names", .regexes = "pattern"}, err);
    return slot < 0 ? slot : ASSAY_OK;
}

static const assay_param_def params[] = {
    {.name = "count", .type = ASSAY_PARAM_INT, .initial = "3", .least = 1, .most = 10, .help = "h"},
    {.name = "share",
     .type = ASSAY_PARAM_REAL,
     .least = 0,
     .most = 1,
     .flags = ASSAY_PARAM_ABOVE | ASSAY_PARAM_BELOW,
     .help = "h"},
    {.name = "free", .type = ASSAY_PARAM_REAL, .initial = "-1e-3", .help = "h"},
    {.name = "flag", .type = ASSAY_PARAM_BOOL, .initial = "False", .help = "h"},
    {.name = "names", .type = ASSAY_PARAM_LIST, .help = "h"},
    {.name = "pattern", .type = ASSAY_PARAM_REGEX, .initial = "a|b", .help = "h"},
    {.name = "numbers", .type = ASSAY_PARAM_REALS, .initial = "1, 2", .help = "h"},
    {.name = "kind", .type = ASSAY_PARAM_CHOICE, .initial = "one", .choices = "one|two", .help = "h"},
    {.name = "text", .type = ASSAY_PARAM_TEXT, .help = "h"},
    {0},
};

static const assay_rule_ops sample = {.abi = ASSAY_RULE_ABI,
                                      .size = sizeof(assay_rule_ops),
                                      .name = "NLPSampleRule2D",
                                      .summary = "s",
                                      .advice = "a",
                                      .params = params,
                                      .setup = setup,
                                      .data_free = free,
                                      .map = map,
                                      ASSAY_COMMON_STATE};

static assay_instance *configured(const char *json)
{
    cJSON *parameters = NULL;
    assay_instance *instance = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_json_parse("test", json, strlen(json), &parameters, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_instance_new("mine", "NLPSampleRule2D", ASSAY_ERROR, parameters, &instance), ASSAY_OK);
    cJSON_Delete(parameters);
    return instance;
}

static void values_are_taken_in_every_form(void)
{
    static const struct {
        const char *json, *expected;
    } cases[] = {
        {"{}",
         "\"count\": 3, \"share\": null, \"free\": -0.001, \"flag\": false, \"names\": null, \"pattern\": [\"a|b\"], "
         "\"numbers\": [1, 2], \"kind\": \"one\", \"text\": null"},
        {"{\"count\": \" 4 \", \"flag\": \"True\", \"share\": \"5e-1\"}",
         "\"count\": 4, \"share\": 0.5, \"free\": -0.001, \"flag\": true"},
        {"{\"count\": 4.0, \"flag\": true, \"share\": 0.5}",
         "\"count\": 4, \"share\": 0.5, \"free\": -0.001, \"flag\": true"},
        {"{\"count\": \"10.0\", \"flag\": \"false\"}",
         "\"count\": 10, \"share\": null, \"free\": -0.001, \"flag\": false"},
        {"{\"names\": \"x, y\"}", "\"names\": [\"x\", \" y\"]"},
        {"{\"names\": [\"x,y\", \"z\"]}", "\"names\": [\"x,y\", \"z\"]"},
        {"{\"numbers\": 4}", "\"numbers\": [4]"},
        {"{\"numbers\": [\"1\", 2.5]}", "\"numbers\": [1, 2.5]"},
        {"{\"free\": \"-inf\"}", "\"free\": \"-inf\""},
        {"{\"text\": null, \"base_trial\": \"s3://x\", \"start_step\": \"5\"}",
         "\"text\": null, \"start_step\": 5, \"end_step\": null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_instance *instance = configured(cases[i].json);
        CU_ASSERT_EQUAL(instance->status, ASSAY_OK);
        assay_buf out;
        assay_buf_init(&out, 1 << 16);
        assay_instance_put_parameters(instance, &out);
        assay_put_u8(&out, 0);
        if (!strstr((const char *)out.data, cases[i].expected)) {
            printf("\n%s: %s\n", cases[i].json, (const char *)out.data);
            CU_FAIL("not as expected");
        }
        assay_buf_release(&out);
        assay_instance_free(instance);
    }
}

static void bad_values_are_named(void)
{
    static const struct {
        const char *json, *says;
    } cases[] = {
        {"{\"count\": 0}", "NLPSampleRule2D: parameter count has the value 0: it must be at least 1 and at most 10"},
        {"{\"count\": \"11\"}", "parameter count has the value \"11\""},
        {"{\"count\": \"three\"}", "it must be a whole number"},
        {"{\"count\": 1.5}", "it must be a whole number"},
        {"{\"count\": \"0x3\"}", "it must be a whole number"},
        {"{\"count\": true}", "it must not be a boolean"},
        {"{\"count\": 7}", "NLPSampleRule2D: parameter count has the value 7, which setup does not like"},
        {"{\"share\": 1}", "it must be above 0 and below 1"},
        {"{\"share\": \"nan\"}", "it must be above 0 and below 1"},
        {"{\"free\": \"nan\"}", "it must be a number"},
        {"{\"free\": \"1e\"}", "it must be a number"},
        {"{\"free\": \"0x10\"}", "it must be a number"},
        {"{\"free\": \"\"}", "it must be a number"},
        {"{\"free\": [1]}", "it takes one value, not a list"},
        {"{\"flag\": \"yes\"}", "parameter flag has the value \"yes\": it must be True, true, False or false"},
        {"{\"flag\": 1}", "it must be true or false, not a number"},
        {"{\"names\": \"a,,b\"}", "empty element"},
        {"{\"names\": []}", "the list is empty"},
        {"{\"names\": [1]}", "it must be a list of texts"},
        {"{\"pattern\": \"(\"}", "parameter pattern has the value \"(\""},
        {"{\"numbers\": \"1,x\"}", "\"x\" is no number"},
        {"{\"kind\": \"three\"}", "it must be one of one|two"},
        {"{\"kind\": \"on\"}", "it must be one of one|two"},
        {"{\"kind\": \"one|two\"}", "it must be one of one|two"},
        {"{\"text\": {}}", "it must be a text"},
        {"{\"cuont\": 4}",
         "unknown parameter \"cuont\" (value 4) (did you mean \"count\"?); known are count, share, free, flag"},
        {"{\"start_step\": -1}", "parameter start_step has the value -1"},
        {"{\"worker\": 3}", "it must be a text, not a number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_instance *instance = configured(cases[i].json);
        CU_ASSERT_EQUAL(instance->status, ASSAY_EPARAM);
        CU_ASSERT_PTR_NULL(instance->params);
        if (!strstr(instance->error.text, cases[i].says)) {
            printf("\n%s: %s\n", cases[i].json, instance->error.text);
            CU_FAIL("not as expected");
        }
        assay_instance_free(instance);
    }
}

static void a_default_selects_only_where_nothing_is_chosen(void)
{
    static const struct {
        const char *json;
        size_t collections, regexes;
    } cases[] = {{"{}", 0, 1},
                 {"{\"names\": \"c,d\"}", 2, 0},
                 {"{\"pattern\": \"x,y,z\"}", 0, 3},
                 {"{\"names\": \"c\", \"pattern\": \"x\"}", 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_instance *instance = configured(cases[i].json);
        CU_ASSERT_PTR_NOT_NULL_FATAL(instance->need);
        CU_ASSERT_EQUAL(instance->need->slot_count, 1);
        CU_ASSERT_EQUAL(instance->need->slots[0].collections, cases[i].collections);
        CU_ASSERT_EQUAL(instance->need->slots[0].regexes, cases[i].regexes);
        CU_ASSERT_EQUAL(instance->need->slots[0].kinds, 1u << ASSAY_RAW);
        assay_instance_free(instance);
    }
}

static void unknown_rules_are_kept_with_their_error(void)
{
    assay_instance *instance = NULL;
    CU_ASSERT_EQUAL(assay_instance_new("mine", "NoSuchRule", ASSAY_INFO, NULL, &instance), ASSAY_OK);
    CU_ASSERT_EQUAL(instance->status, ASSAY_EPARAM);
    CU_ASSERT_PTR_NULL(instance->ops);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(instance->error.text, "there is no rule \"NoSuchRule\"; `assay rules` lists those there are"));
    assay_instance_free(instance);
}

static void names_are_found_in_both_styles(void)
{
    static const char *const pairs[][2] = {{"VanishingGradient", "vanishing_gradient"},
                                           {"NLPSequenceRatio", "nlp_sequence_ratio"},
                                           {"AllZero", "all_zero"},
                                           {"Overfit", "overfit"},
                                           {"StalledTrainingRule", "stalled_training_rule"},
                                           {"class_counts", "class_counts"}};
    char snake[64];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        assay_rule_snake_name(pairs[i][0], snake, sizeof snake);
        CU_ASSERT_STRING_EQUAL(snake, pairs[i][1]);
    }
    CU_ASSERT_PTR_EQUAL(assay_rule_find("NLPSampleRule2D"), &sample);
    CU_ASSERT_PTR_EQUAL(assay_rule_find("nlp_sample_rule2_d"), &sample);
    CU_ASSERT_PTR_NULL(assay_aggregation_find("NLPSampleRule2D"));
}

static void unfit_rules_are_not_registered(void)
{
    static const assay_param_def twice[] = {{.name = "a", .help = "h"}, {.name = "a", .help = "h"}, {0}};
    static const assay_param_def common[] = {{.name = "worker", .help = "h"}, {0}};
    static const assay_param_def bad_default[] = {{.name = "a", .type = ASSAY_PARAM_INT, .initial = "x", .help = "h"},
                                                  {0}};
    static const assay_param_def helpless[] = {{.name = "a"}, {0}};
    static const char *const unordered[] = {"b", "a", NULL};
    assay_rule_ops bad[11];
    for (size_t i = 0; i < 11; i++) {
        bad[i] = sample;
        bad[i].name = "Another";
    }
    bad[0].name = "NLPSampleRule2D";
    bad[1].abi++;
    bad[2].size--;
    bad[3].map = NULL;
    bad[4].unpack = NULL;
    bad[5].params = twice;
    bad[6].params = common;
    bad[7].params = bad_default;
    bad[8].tests = unordered;
    bad[9].params = helpless;
    bad[10].advice = NULL;
    for (size_t i = 0; i < 11; i++) {
        assay_error err = {{0}};
        CU_ASSERT_EQUAL(assay_rule_register(&bad[i], &err), ASSAY_EUSAGE);
        CU_ASSERT_TRUE(err.text[0] != '\0');
    }
    CU_ASSERT_PTR_NULL(assay_rule_find("Another"));
}

static int failing_finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    (void)rule;
    (void)state;
    assay_verdict_message(verdict, "half a message");
    assay_put_format(assay_verdict_json(verdict), "\"half\": ");
    return assay_fail(err, ASSAY_EPARAM, "it went wrong");
}

/* Of a slot that is there, and what is said last. */
static void rows_are_of_a_slot(void)
{
    assay_need *need = assay_need_new(NULL);
    const assay_rows rows = {.width = 3, .pooled = true, .most = 7};
    CU_ASSERT_PTR_NOT_NULL_FATAL(need);
    CU_ASSERT_EQUAL(assay_need_rows(need, 0, &rows, NULL), ASSAY_EPARAM);
    CU_ASSERT_EQUAL_FATAL(assay_need_slot(need, &(assay_slot){.name = "loss"}, NULL), 0);
    CU_ASSERT_FALSE(need->slots[0].keeps_rows);
    CU_ASSERT_EQUAL(assay_need_rows(need, 1, &rows, NULL), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_need_rows(need, -1, &rows, NULL), ASSAY_EPARAM);
    CU_ASSERT_EQUAL(assay_need_rows(need, 0, &(assay_rows){.width = 1}, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_need_rows(need, 0, &rows, NULL), ASSAY_OK);
    CU_ASSERT_TRUE(need->slots[0].keeps_rows && need->slots[0].rows.pooled && !need->slots[0].rows.compared);
    CU_ASSERT_TRUE(need->slots[0].rows.width == 3 && need->slots[0].rows.most == 7);
    assay_need_free(need);
}

static void status_follows_from_findings(void)
{
    static const struct {
        int datapoints, findings, status;
    } cases[] = {{0, 0, ASSAY_NO_DATA}, {2, 0, ASSAY_NO_ISSUES_FOUND}, {2, 1, ASSAY_ISSUES_FOUND}};
    assay_rule_ops failing = sample;
    failing.finalize = failing_finalize;
    for (size_t i = 0; i < 3; i++) {
        assay_rule rule = {.ops = &sample};
        assay_common_state *state = assay_common_new(&rule);
        assay_findings_datapoints(state->findings, (uint64_t)cases[i].datapoints);
        for (int k = 0; k < cases[i].findings; k++)
            assay_findings_add(state->findings, &(assay_finding){.step = k});
        for (int fails = 0; fails < 2; fails++) {
            assay_verdict v;
            rule.ops = fails ? &failing : &sample;
            CU_ASSERT_EQUAL_FATAL(assay_verdict_init(&v, ASSAY_MAX_FINDINGS), ASSAY_OK);
            CU_ASSERT_EQUAL(assay_verdict_reach(&rule, state, &v), ASSAY_OK);
            CU_ASSERT_EQUAL(v.status, fails ? ASSAY_RULE_ERROR : (assay_verdict_status)cases[i].status);
            CU_ASSERT_EQUAL(v.findings->total, fails ? 0 : (uint64_t)cases[i].findings);
            CU_ASSERT_EQUAL(v.json.size, 0);
            if (fails)
                CU_ASSERT_TRUE(v.message.size == 13 && memcmp(v.message.data, "it went wrong", 13) == 0);
            assay_verdict_release(&v);
        }
        assay_common_free(state);
    }
    CU_ASSERT_STRING_EQUAL(assay_verdict_status_name(ASSAY_NO_DATA), "NoData");
    CU_ASSERT_STRING_EQUAL(assay_verdict_status_name(99), "");
}

/* Returns what the bytes of a process are read as: ASSAY_OK, or why they are refused. */
static int read_params(const uint8_t *bytes, size_t size)
{
    assay_params *read = NULL;
    assay_cursor in = assay_cursor_over(bytes, size);
    const int status = assay_params_unpack(&in, &sample, &read);
    if (status == ASSAY_OK)
        assay_params_free(read);
    return status;
}

static void packed_values_count_what_they_have(void)
{
    static const uint8_t two_names[] = {2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 'x'};
    assay_instance *instance = configured("{\"names\": [\"x\", \"y\"]}");
    assay_buf bytes;
    assay_buf_init(&bytes, 1 << 16);
    assay_params_pack(instance->params, &bytes);
    CU_ASSERT_EQUAL(read_params(bytes.data, bytes.size), ASSAY_OK);
    uint8_t *count = memmem(bytes.data, bytes.size, two_names, sizeof two_names);
    CU_ASSERT_PTR_NOT_NULL_FATAL(count);
    for (uint8_t said = 0; said < 5; said++) {
        *count = said;
        CU_ASSERT_EQUAL(read_params(bytes.data, bytes.size), said == 2 ? ASSAY_OK : ASSAY_EFORMAT);
    }
    *count = 2;
    for (size_t size = 0; size < bytes.size; size++)
        CU_ASSERT_EQUAL(read_params(bytes.data, size), ASSAY_EFORMAT);
    assay_buf_release(&bytes);
    assay_instance_free(instance);
}

int main(void)
{
    assay_error err;
    if (assay_rule_register(&sample, &err) != ASSAY_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    CU_TestInfo tests[] = {
        {"values are taken in every form", values_are_taken_in_every_form},
        {"bad values are named", bad_values_are_named},
        {"a default selects only where nothing is chosen", a_default_selects_only_where_nothing_is_chosen},
        {"unknown rules are kept with their error", unknown_rules_are_kept_with_their_error},
        {"names are found in both styles", names_are_found_in_both_styles},
        {"unfit rules are not registered", unfit_rules_are_not_registered},
        {"rows are of a slot", rows_are_of_a_slot},
        {"status follows from findings", status_follows_from_findings},
        {"packed values count what they have", packed_values_count_what_they_have},
        CU_TEST_INFO_NULL};
    return unit_main("configuring rules", tests);
}
