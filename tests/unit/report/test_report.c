/* test_report.c - an outcome made by hand, as report.json and as text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "report/compare/comparison.h"
#include "report/report.h"
#include "sample_rule.h"
#include "unit.h"

static const assay_report_origin origin = {
    .version = "9.9", .library = "serial", .command = "assay run \"x\"", .date = "2026-01-02T03:04:05Z"};

/* Three workers, of which the third never wrote and the second not at step 20; steps 0, 10, 20; tensors "a" and "b\n".
 */
typedef struct made {
    assay_job job;
    assay_trial info;
    assay_trial_outcome trial[2];
    assay_rule_outcome rules[3], aggregations[1];
    assay_outcome outcome;
    assay_report report;
    assay_comparison *comparison;
    assay_step_info steps[3];
    uint32_t ranks[3];
    uint32_t missing[3];
    assay_incomplete incomplete[3];
    char *workers[2];
} made;

static void add_finding(assay_findings *f, int64_t step, uint32_t tensor, uint32_t worker, double value)
{
    const assay_finding finding = {
        .step = step, .tensor = tensor, .worker = worker, .test = tensor, .value = value, .threshold = 2};
    CU_ASSERT(assay_findings_add(f, &finding) == ASSAY_OK);
}

static void make_verdicts(made *m)
{
    for (int i = 0; i < 3; i++) {
        m->rules[i].instance = m->job.rules[i];
        CU_ASSERT_FATAL(assay_verdict_init(&m->rules[i].verdict, ASSAY_MAX_FINDINGS) == ASSAY_OK);
    }
    assay_findings *f = assay_verdict_findings(&m->rules[0].verdict);
    assay_findings_datapoints(f, 9);
    add_finding(f, 0, 0, 0, 3);
    add_finding(f, 0, 0, 1, 5);
    add_finding(f, 10, 1, 1, NAN);
    add_finding(f, 20, 1, ASSAY_ALL_WORKERS, INFINITY);
    assay_verdict_message(&m->rules[0].verdict, "Said \"so\".");
    m->rules[0].verdict.status = ASSAY_ISSUES_FOUND;
    m->rules[1].verdict.status = ASSAY_NO_DATA;
    m->aggregations[0].instance = m->job.aggregations[0];
    CU_ASSERT_FATAL(assay_verdict_init(&m->aggregations[0].verdict, ASSAY_MAX_FINDINGS) == ASSAY_OK);
    assay_put_format(assay_verdict_json(&m->aggregations[0].verdict),
                     "\"classes\": {\"0\": 3, \"7\": 1}, \"samples\": 4");
}

static void make_trial(made *m)
{
    for (int i = 0; i < 3; i++)
        m->steps[i] = (assay_step_info){10 * i, i, i == 2 ? ASSAY_MODE_EVAL : ASSAY_MODE_TRAIN};
    static char first[] = "worker_0", second[] = "worker_1", name[] = "t", path[] = "p";
    m->workers[0] = first;
    m->workers[1] = second;
    m->trial[0].catalog = (assay_catalog){.worker = m->workers, .workers = 2, .expected_workers = 3, .ended = true};
    m->info = (assay_trial){.name = name,
                            .path = path,
                            .catalog = &m->trial[0].catalog,
                            .tensors = assay_dict_new(),
                            .steps = m->steps,
                            .mode_rank = m->ranks,
                            .step_count = 3,
                            .modes = 6};
    CU_ASSERT_FATAL(m->info.tensors != NULL);
    assay_dict_add(m->info.tensors, "a", 1);
    assay_dict_add(m->info.tensors, "b\n", 2);
    m->missing[0] = 1;
    m->missing[1] = 2;
    m->missing[2] = 2;
    m->incomplete[0] = (assay_incomplete){0, &m->missing[2], 1, 0};
    m->incomplete[1] = (assay_incomplete){10, &m->missing[2], 1, 0};
    m->incomplete[2] = (assay_incomplete){20, &m->missing[0], 2, 0};
    m->trial[0].trial = &m->job.trials[0];
    m->trial[0].info = &m->info;
    m->trial[0].incomplete = m->incomplete;
    m->trial[0].incomplete_count = 3;
    m->trial[0].rules = m->rules;
    m->trial[0].aggregations = m->aggregations;
    assay_problems_init(&m->trial[0].problems);
    assay_problems_add(&m->trial[0].problems, ASSAY_PROBLEM_RECORD, 10, "events/x", 77, "broken \"record\"");
    m->trial[1] =
        (assay_trial_outcome){.trial = &m->job.trials[1], .status = ASSAY_ENOTFOUND, .error = {"q: no such directory"}};
}

static void make(made *m, size_t trials)
{
    static const char text[] =
        "{\"trials\": [{\"path\": \"p\", \"name\": \"t\"}, \"q\"], \"rules\": [{\"rule\": \"SampleRule\", \"severity\":"
        " \"error\"}, {\"rule\": \"SampleRule\", \"name\": \"quiet\"}, {\"rule\": \"Gone\"}],"
        " \"aggregations\": [{\"kind\": \"sample_counts\", \"name\": \"counts\"}]}";
    assay_error err = {""};
    memset(m, 0, sizeof *m);
    CU_ASSERT_FATAL(assay_job_parse("j", text, strlen(text), &assay_report_forms, &m->job, &err) == ASSAY_OK);
    make_verdicts(m);
    make_trial(m);
    m->outcome = (assay_outcome){.job = &m->job, .trials = m->trial, .trial_count = trials};
    m->outcome.run.ranks = 3;
    m->outcome.run.nodes = 1;
    CU_ASSERT_FATAL(assay_comparison_make(&m->outcome, &m->comparison) == ASSAY_OK);
    CU_ASSERT((m->comparison != NULL) == (trials > 1));
    m->report = (assay_report){.outcome = &m->outcome, .comparison = m->comparison};
}

static void release(made *m)
{
    assay_comparison_free(m->comparison);
    for (int i = 0; i < 3; i++)
        assay_verdict_release(&m->rules[i].verdict);
    assay_verdict_release(&m->aggregations[0].verdict);
    assay_problems_release(&m->trial[0].problems);
    assay_dict_free(m->info.tensors);
    assay_job_release(&m->job);
}

static cJSON *json_of(const made *m, assay_buf *out)
{
    cJSON *json = NULL;
    assay_error err = {""};
    assay_buf_init(out, 1 << 20);
    CU_ASSERT_FATAL(assay_report_put_body(&m->report, NULL, out) == ASSAY_OK);
    assay_report_put_run(&m->outcome, &origin, out);
    CU_ASSERT(assay_json_parse("report.json", out->data, out->size, &json, &err) == ASSAY_OK);
    if (err.text[0])
        printf("%s\n%.*s\n", err.text, (int)out->size, (const char *)out->data);
    CU_ASSERT_FATAL(json != NULL);
    return json;
}

static const cJSON *at(const cJSON *item, const char *key)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(item, key);
    CU_ASSERT_FATAL(found != NULL);
    return found;
}

/* The keys of an object in their order, joined by blanks. */
static void expect_keys(const cJSON *object, const char *expected)
{
    char keys[512] = "";
    for (const cJSON *item = object->child; item; item = item->next) {
        size_t used = strlen(keys);
        snprintf(keys + used, sizeof keys - used, "%s%s", used ? " " : "", item->string);
    }
    CU_ASSERT_STRING_EQUAL(keys, expected);
}

static void test_json(void)
{
    made m;
    assay_buf out;
    make(&m, 1);
    cJSON *json = json_of(&m, &out);
    expect_keys(json, "schema verdict trials run");
    CU_ASSERT_STRING_EQUAL(at(json, "schema")->valuestring, "assay-report/1");
    const cJSON *trial = at(json, "trials")->child;
    expect_keys(trial, "name path workers modes steps tensors ended incomplete problems_total problems causes rules "
                       "aggregations");
    const cJSON *cause = at(trial, "causes")->child;
    CU_ASSERT(at(cause, "sentence")->valuestring[0] && cJSON_IsBool(at(cause, "wrong")));
    CU_ASSERT_STRING_EQUAL(at(cause, "explains")->child->valuestring,
                           at(at(trial, "rules")->child, "name")->valuestring);
    CU_ASSERT(at(at(at(trial, "modes"), "TRAIN"), "steps")->valueint == 2 &&
              at(at(at(trial, "modes"), "EVAL"), "first")->valueint == 20);
    const cJSON *missing = at(cJSON_GetArrayItem(at(trial, "incomplete"), 2), "missing_workers");
    CU_ASSERT_STRING_EQUAL(missing->child->valuestring, "worker_1");
    CU_ASSERT_STRING_EQUAL(missing->child->next->valuestring, "worker_2");
    CU_ASSERT(at(at(trial, "problems")->child, "offset")->valueint == 77);
    const cJSON *rule = at(trial, "rules")->child;
    expect_keys(
        rule,
        "name rule status severity parameters datapoints findings_total steps first findings message recommendation");
    CU_ASSERT_STRING_EQUAL(at(rule, "status")->valuestring, "IssuesFound");
    CU_ASSERT_STRING_EQUAL(at(rule, "severity")->valuestring, "error");
    CU_ASSERT_STRING_EQUAL(at(rule, "message")->valuestring, "Said \"so\".");
    CU_ASSERT_STRING_EQUAL(at(rule, "recommendation")->valuestring, "Do something.");
    CU_ASSERT(at(rule, "datapoints")->valueint == 9 && at(rule, "findings_total")->valueint == 4);
    CU_ASSERT(cJSON_GetArraySize(at(rule, "steps")) == 3 && cJSON_GetArraySize(at(rule, "findings")) == 4);
    expect_keys(at(rule, "first"), "step mode mode_step worker tensor value threshold test");
    const cJSON *third = cJSON_GetArrayItem(at(rule, "findings"), 2), *last = third->next;
    CU_ASSERT_STRING_EQUAL(at(third, "value")->valuestring, "nan");
    CU_ASSERT_STRING_EQUAL(at(third, "tensor")->valuestring, "b\n");
    CU_ASSERT_STRING_EQUAL(at(third, "test")->valuestring, "second");
    CU_ASSERT_STRING_EQUAL(at(last, "worker")->valuestring, "*");
    CU_ASSERT_STRING_EQUAL(at(last, "mode")->valuestring, "EVAL");
    CU_ASSERT_STRING_EQUAL(at(rule->next, "status")->valuestring, "NoData");
    CU_ASSERT(cJSON_IsNull(at(rule->next, "first")) && cJSON_IsNull(at(rule->next, "recommendation")));
    CU_ASSERT_STRING_EQUAL(at(rule->next->next, "status")->valuestring, "Error");
    CU_ASSERT(strstr(at(rule->next->next, "message")->valuestring, "Gone") != NULL);
    expect_keys(at(trial, "aggregations")->child, "name kind classes samples");
    CU_ASSERT_STRING_EQUAL(at(at(json, "run"), "version")->valuestring, "9.9");
    CU_ASSERT(at(at(json, "run"), "ranks")->valueint == 3);
    cJSON_Delete(json);
    assay_buf_release(&out);
    release(&m);
}

/* A trial that could not be opened is in the report, and none of its rules passes. */
static void test_unread_trial(void)
{
    made m;
    assay_buf out;
    make(&m, 2);
    cJSON *json = json_of(&m, &out);
    expect_keys(json, "schema verdict trials comparison run");
    const cJSON *trial = cJSON_GetArrayItem(at(json, "trials"), 1);
    CU_ASSERT_STRING_EQUAL(at(at(trial, "problems")->child, "text")->valuestring, "q: no such directory");
    CU_ASSERT(at(trial, "problems_total")->valueint == 1 && cJSON_GetArraySize(at(trial, "rules")) == 3);
    for (const cJSON *rule = at(trial, "rules")->child; rule; rule = rule->next)
        CU_ASSERT_STRING_EQUAL(at(rule, "status")->valuestring, "Error");
    CU_ASSERT(cJSON_GetArraySize(at(at(json, "comparison"), "rules")) == 3);
    cJSON_Delete(json);
    assay_buf_release(&out);
    release(&m);
}

/* What differs from run to run does not change the digest, everything else does. */
static void test_digest(void)
{
    made m;
    assay_buf body;
    assay_sha256 hash;
    char first[65], again[65], by_hand[65];
    make(&m, 1);
    CU_ASSERT(assay_report_digest(&m.report, first, NULL) == ASSAY_OK);
    m.outcome.run.ranks = 16;
    m.outcome.run.seconds = 99;
    m.outcome.plan.imbalance = 0.5;
    CU_ASSERT(assay_report_digest(&m.report, again, NULL) == ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(first, again);
    assay_buf_init(&body, 1 << 20);
    CU_ASSERT(assay_report_put_body(&m.report, NULL, &body) == ASSAY_OK);
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, body.data, body.size);
    assay_sha256_hex(&hash, by_hand);
    CU_ASSERT_STRING_EQUAL(first, by_hand);
    CU_ASSERT(body.size > 0 && body.data[body.size - 1] == '\n'); /* "run" begins a line of its own */
    m.trial[0].catalog.ended = false;
    CU_ASSERT(assay_report_digest(&m.report, again, NULL) == ASSAY_OK);
    CU_ASSERT_STRING_NOT_EQUAL(first, again);
    assay_buf_release(&body);
    release(&m);
}

static void test_text(void)
{
    static const char *const words[] = {
        "SampleRule",
        "quiet",
        "4 of 9",
        "Found in 4 of 9 tests, at steps 0-20 (3 steps)",
        "worker_0-1  3 .. 5",
        "b\\n",
        "nan",
        "inf",
        "What to do: Do something.",
        "Not tested: nothing is known of it",
        "could not run",
        "worker_2: steps 0-10 (2 steps)",
        "worker_1-2: step 20",
        "damaged-record events/x at byte 77 (step 10): broken \"record\"",
        "(of 3 expected)",
        "    0            3   75 %",
        "q: no such directory",
        "Trials side by side",
    };
    made m;
    assay_buf out;
    make(&m, 2);
    assay_buf_init(&out, 1 << 20);
    CU_ASSERT_FATAL(assay_report_put_text(&m.report, NULL, &out) == ASSAY_OK);
    assay_put_u8(&out, '\0');
    const char *text = (const char *)out.data;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        CU_ASSERT(strstr(text, words[i]) != NULL);
        if (!strstr(text, words[i]))
            printf("\"%s\" is missing in\n%s\n", words[i], text);
    }
    const char *lead = strstr(text, "\n\n"); /* the verdicts, each whole on its line */
    CU_ASSERT_FATAL(lead != NULL);
    for (const char *line = lead + 2; *line;) {
        size_t length = strcspn(line, "\n");
        CU_ASSERT(length <= 100);
        line += length + (line[length] == '\n');
    }
    assay_buf_release(&out);
    release(&m);
}

static void test_write(void)
{
    made m;
    assay_error err = {""};
    char folder[] = "/tmp/assay-report-XXXXXX", path[128];
    assay_buf file;
    make(&m, 1);
    CU_ASSERT_FATAL(mkdtemp(folder) != NULL);
    assay_output *output = NULL;
    CU_ASSERT_FATAL(assay_output_open(folder, &output, &err) == ASSAY_OK);
    CU_ASSERT(assay_report_write(&m.report, &origin, output, &err) == ASSAY_OK);
    assay_output_close(output);
    static const char *const names[] = {"report.json", "report.txt"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assay_buf_init(&file, 1 << 20);
        CU_ASSERT(assay_file_read(path, 1 << 20, &file, &err) == ASSAY_OK && file.size > 100);
        assay_buf_release(&file);
        if (i == 1) { /* a report cannot be written below a file */
            CU_ASSERT_FATAL(assay_output_open(path, &output, &err) == ASSAY_OK);
            CU_ASSERT(assay_report_write(&m.report, &origin, output, &err) == ASSAY_EIO && strstr(err.text, path));
            assay_output_close(output);
        }
        unlink(path);
    }
    rmdir(folder);
    release(&m);
}

int main(void)
{
    CU_TestInfo tests[] = {{"report.json", test_json},  {"a trial that could not be opened", test_unread_trial},
                           {"the digest", test_digest}, {"text", test_text},
                           {"files", test_write},       CU_TEST_INFO_NULL};
    assay_error err = {""};
    if (sample_register(&err) != ASSAY_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    return unit_main("report", tests);
}
