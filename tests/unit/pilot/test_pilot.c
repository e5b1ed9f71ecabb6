/* The pilot's state file: read strictly, written whole; strategies in order and within caps; what a report says. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pilot/pilot_internal.h"
#include "base/fault.h"
#include "base/file.h"

#define SPEC    "\"run_spec\": {\"base_job_name\": \"net\", \"warmup\": 0.4, \"rate\": 1, \"norm\": 0}"
#define LAUNCH  "\"launch\": {\"script\": \"train.sbatch\"}"
#define MONITOR "\"monitor\": {\"job\": \"rules.json\"}"
#define STRATEGIES                                                                                                     \
    "\"strategies\": [{\"parameter\": \"warmup\", \"multiply\": 0.5, \"times\": 2, \"counter\": "                      \
    "\"num_warmup_adjustments\"},"                                                                                     \
    "{\"parameter\": \"norm\", \"set\": 1, \"times\": 3, \"counter\": \"num_batch_layer_adjustments\"},"               \
    "{\"parameter\": \"rate\", \"multiply\": 0.1, \"times\": 5, \"at_least\": 0.009, \"counter\": "                    \
    "\"num_learning_rate_adjustments\"}]"
#define LEAST SPEC ", " LAUNCH ", " MONITOR ", " STRATEGIES

static assay_pilot *pilot_of(const char *text)
{
    assay_pilot *pilot = NULL;
    assay_error err = {""};
    int status = assay_pilot_parse("state.json", text, strlen(text), &pilot, &err);
    if (status != ASSAY_OK)
        fprintf(stderr, "%s\n", err.text);
    CU_ASSERT_EQUAL_FATAL(status, ASSAY_OK);
    return pilot;
}

static char *state_of(assay_pilot *pilot)
{
    assay_buf out;
    assay_buf_init(&out, ASSAY_PILOT_CEILING);
    CU_ASSERT_EQUAL_FATAL(assay_pilot_put_state(pilot, &out), ASSAY_OK);
    char *text = assay_copy_bytes_as_text((const char *)out.data, out.size);
    assay_buf_release(&out);
    return text;
}

static double spec(const assay_pilot *pilot, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(pilot->run_spec, name)->valuedouble;
}

static void test_defaults(void)
{
    assay_pilot *pilot = pilot_of("{" LEAST "}");
    CU_ASSERT_EQUAL(pilot->next_action, PILOT_LAUNCH_NEW);
    CU_ASSERT_EQUAL(pilot->job_status, PILOT_JOB_NOT_STARTED);
    CU_ASSERT_EQUAL(pilot->rule_status, PILOT_RULE_NOT_STARTED);
    CU_ASSERT_EQUAL(pilot_count(pilot, "num_retraining"), 0);
    CU_ASSERT_EQUAL(pilot->most_retraining, 20);
    CU_ASSERT_EQUAL(pilot->fail_on, ASSAY_WARNING);
    CU_ASSERT_EQUAL(assay_pilot_poll_seconds(pilot), 30);
    CU_ASSERT_STRING_EQUAL(pilot->runs, "runs");
    CU_ASSERT(!assay_pilot_ended(pilot) && !assay_pilot_clean(pilot, NULL));
    assay_pilot_close(pilot);
}

/* What is written reads back as the same, and what people wrote stays. */
static void test_round_trip(void)
{
    assay_pilot *pilot = pilot_of(
        "{" LEAST ", \"notify\": [{\"mail\": {\"to\": [\"a@b.example\"]}}], \"caps\": {\"num_retraining\": 3}}");
    snprintf(pilot->job_name, sizeof pilot->job_name, "net-1-00000000");
    snprintf(pilot->job_id, sizeof pilot->job_id, "17");
    pilot->job_status = PILOT_JOB_STOPPING;
    CU_ASSERT_EQUAL(pilot_plan(pilot, "\"rule\" \xff fired", NULL), ASSAY_OK);
    pilot->rule_status = PILOT_RULE_ISSUES;
    char *first = state_of(pilot);
    assay_pilot *again = pilot_of(first);
    char *second = state_of(again);
    CU_ASSERT_STRING_EQUAL(first, second);
    CU_ASSERT_EQUAL(again->job_status, PILOT_JOB_STOPPING);
    CU_ASSERT_EQUAL(again->message, PILOT_MESSAGE_RELAUNCH);
    CU_ASSERT_EQUAL(again->rule_status, PILOT_RULE_ISSUES);
    CU_ASSERT_STRING_EQUAL(again->job_id, "17");
    CU_ASSERT_STRING_EQUAL(again->job_name, "net-1-00000000");
    CU_ASSERT_EQUAL(again->targets, 1);
    CU_ASSERT_EQUAL(again->most_retraining, 3);
    CU_ASSERT_EQUAL(pilot_count(again, "num_warmup_adjustments"), 1);
    CU_ASSERT_EQUAL(spec(again, "warmup"), 0.2);
    CU_ASSERT_PTR_NOT_NULL(strstr(second, "\n    {\"parameter\": \"warmup\", \"multiply\": 0.5, \"times\": 2,"));
    free(first);
    free(second);
    assay_pilot_close(pilot);
    assay_pilot_close(again);
}

static void refuse(const char *text, const char *expected)
{
    assay_pilot *pilot = NULL;
    assay_error err = {""};
    int status = assay_pilot_parse("state.json", text, strlen(text), &pilot, &err);
    if (status != ASSAY_EJOB || !strstr(err.text, expected))
        fprintf(stderr, "expected \"%s\", got %d \"%s\"\n", expected, status, err.text);
    CU_ASSERT_EQUAL(status, ASSAY_EJOB);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, expected));
    CU_ASSERT(strncmp(err.text, "state.json:", 11) == 0);
    CU_ASSERT_PTR_NULL(pilot);
}

static void test_refusals(void)
{
    refuse("{", "line 1, column 2");
    refuse("[]", "expected an object");
    refuse("{" LEAST ", \"nextaction\": \"end\"}", "unknown key \"nextaction\"");
    refuse("{" LAUNCH ", " MONITOR ", " STRATEGIES "}", "\"run_spec\" is missing");
    refuse("{" SPEC ", " MONITOR ", " STRATEGIES "}", "\"launch\" is missing");
    refuse("{" SPEC ", " LAUNCH ", " STRATEGIES "}", "\"monitor\" is missing");
    refuse("{" SPEC ", " LAUNCH ", " MONITOR "}", "\"strategies\" is missing");
    refuse("{" LEAST ", \"launches\": {}}", "launches: expected a list");
    refuse("{" LEAST ", \"launches\": [5]}", "launches[0]");
    refuse("{" LEAST ", \"launches\": [{\"name\": \"a\"}]}", "\"settings\" has to be an object");
    refuse("{" LEAST ", \"launches\": [{\"name\": \"a\", \"settings\": {}, \"log\": 1}]}", "\"log\" has to be a text");
    refuse("{" LEAST ", \"next_action\": \"launch\"}",
           "\"next_action\" has to be one of \"launch_new\", \"monitor\", \"end\"");
    refuse("{" LEAST ", \"job_status\": 3}", "\"job_status\" has to be one of");
    refuse("{" LEAST ", \"history\": {\"num_launches\": 1}}", "history: unknown key \"num_launches\"");
    refuse("{" LEAST ", \"history\": {\"num_retraining\": -1}}",
           "history: \"num_retraining\" has to be a whole number");
    refuse("{" LEAST ", \"history\": {\"num_retraining\": 0.5}}",
           "history: \"num_retraining\" has to be a whole number");
    refuse("{" LEAST ", \"history\": 1}", "history: expected an object");
    refuse("{" LEAST ", \"next_action\": \"monitor\"}", "\"latest_job_name\" is missing");
    refuse("{" LEAST ", \"job_status\": \"Held\", \"history\": {\"latest_job_name\": \"a\"}}", "\"job_id\" is missing");
    refuse("{" LEAST ", \"job_status\": \"Submitting\", \"history\": {\"latest_job_name\": \"../a\"}}",
           "no name of a launch");
    refuse("{" LEAST ", \"job_status\": \"Held\", \"next_action\": \"end\"}",
           "goes with \"next_action\" \"launch_new\"");
    refuse("{" LEAST ", \"pilot\": {\"job_id\": \"-9\"}}", "pilot: \"job_id\" is not a Slurm job id");
    refuse("{" LEAST ", \"caps\": {\"num_retraining\": 0}}",
           "caps: \"num_retraining\" has to be a whole number from 1");
    refuse("{" LEAST ", \"caps\": {\"num_monitor_transitions\": 1.5}}",
           "caps: \"num_monitor_transitions\" has to be a whole number");
    refuse("{" LEAST ", \"notify\": [{\"sms\": 1}]}", "notify[0]: unknown key \"sms\"");
    refuse("{" LEAST ", \"notify\": [{}]}", "notify[0]: expected either \"notify\" or \"mail\"");
}

static void refuse_part(const char *spec_text, const char *launch, const char *monitor, const char *strategies,
                        const char *expected)
{
    char text[2000];
    snprintf(text, sizeof text, "{%s, %s, %s, %s}", spec_text ? spec_text : SPEC, launch ? launch : LAUNCH,
             monitor ? monitor : MONITOR, strategies ? strategies : STRATEGIES);
    refuse(text, expected);
}

static void test_refused_settings(void)
{
    refuse_part("\"run_spec\": {}", NULL, NULL, NULL, "run_spec: \"base_job_name\" is missing");
    refuse_part("\"run_spec\": {\"base_job_name\": \"a b\"}", NULL, NULL, NULL,
                "run_spec: \"base_job_name\" has letters");
    refuse_part("\"run_spec\": {\"base_job_name\": \"a\", \"PATH\": 1}", NULL, NULL, NULL,
                "run_spec: \"PATH\": a parameter's name");
    refuse_part("\"run_spec\": {\"base_job_name\": \"a\", \"x\": [1]}", NULL, NULL, NULL,
                "run_spec: \"x\" has to be a number, a text");
    refuse_part("\"run_spec\": {\"base_job_name\": \"a\", \"x\": 1, \"x\": 2}", NULL, NULL, NULL,
                "\"x\" is there twice");
    refuse_part(NULL, "\"launch\": {}", NULL, NULL, "launch: \"script\" is missing");
    refuse_part(NULL, "\"launch\": {\"script\": \"s\", \"sbatch_options\": [\"--job-name=x\"]}", NULL, NULL,
                "is the pilot's own to decide");
    refuse_part(NULL, "\"launch\": {\"script\": \"s\", \"sbatch_options\": [\"-Jx\"]}", NULL, NULL,
                "is the pilot's own to decide");
    refuse_part(NULL, "\"launch\": {\"script\": \"s\", \"sbatch_options\": [\"--arr=1-3\"]}", NULL, NULL,
                "is the pilot's own to decide");
    refuse_part(NULL, "\"launch\": {\"script\": \"s\", \"sbatch_options\": [\"-Qa1-3\"]}", NULL, NULL,
                "is the pilot's own to decide");
    refuse_part(NULL, "\"launch\": {\"script\": \"s\", \"sbatch_options\": [\"--clusters=b\"]}", NULL, NULL,
                "is the pilot's own to decide");
    refuse_part(NULL, "\"launch\": {\"script\": \"s\", \"sbatch_options\": [\"other.sbatch\"]}", NULL, NULL,
                "expected an option such as");
    refuse_part(NULL, "\"launch\": {\"script\": \"s\", \"sbatch_options\": [1]}", NULL, NULL,
                "has to be a list of at most 200 texts");
    refuse_part(NULL, NULL, "\"monitor\": {\"job\": \"\"}", NULL, "monitor: \"job\" has to be a text");
    refuse_part(NULL, NULL, "\"monitor\": {\"job\": \"j\", \"poll_seconds\": 0}", NULL,
                "monitor: \"poll_seconds\" has to be a number from 0.1");
    refuse_part(NULL, NULL, "\"monitor\": {\"job\": \"j\", \"fail_on\": \"never\"}", NULL, "unknown fail_on \"never\"");
    refuse_part(NULL, NULL, "\"monitor\": {\"job\": \"j\", \"command\": []}", NULL, "\"command\" is empty");
}

static void refuse_strategy(const char *strategy, const char *expected)
{
    char text[1000];
    snprintf(text, sizeof text, "\"strategies\": [%s]", strategy);
    refuse_part(NULL, NULL, NULL, text, expected);
}

#define COUNTER "\"counter\": \"num_warmup_adjustments\""
static void test_refused_strategies(void)
{
    refuse_strategy("{\"parameter\": \"warmup\", \"multiply\": 0.5}", "strategies[0]: \"counter\" is missing");
    refuse_strategy("{\"parameter\": \"warmup\", \"multiply\": 0.5, \"counter\": \"num_retraining\"}",
                    "has to be a name like");
    refuse_strategy("{\"parameter\": \"depth\", \"multiply\": 0.5, " COUNTER "}",
                    "\"depth\" is not a parameter of run_spec");
    refuse_strategy("{\"parameter\": \"base_job_name\", \"set\": \"x\", " COUNTER "}",
                    "is not a parameter of run_spec that can be changed");
    refuse_strategy("{\"parameter\": \"warmup\", " COUNTER "}", "expected either \"multiply\" or \"set\"");
    refuse_strategy("{\"parameter\": \"warmup\", \"multiply\": 1, " COUNTER "}", "by 1 changes nothing");
    refuse_strategy("{\"parameter\": \"warmup\", \"multiply\": -1, " COUNTER "}",
                    "\"multiply\" has to be a number from 1e-06");
    refuse_strategy("{\"parameter\": \"warmup\", \"multiply\": 0.5, \"times\": 0, " COUNTER "}",
                    "\"times\" has to be a whole number from 1");
    refuse_strategy("{\"parameter\": \"warmup\", \"set\": {}, " COUNTER "}", "\"set\" has to be a number, a text");
    refuse_strategy("{\"parameter\": \"warmup\", \"set\": 1, \"at_least\": 1, " COUNTER "}", "go with \"multiply\"");
    refuse_strategy("{\"parameter\": \"warmup\", \"set\": 1, " COUNTER
                    "}, {\"parameter\": \"rate\", \"set\": 2, " COUNTER "}",
                    "strategies[1]: the counter \"num_warmup_adjustments\" belongs to strategies[0]");
}

/* Each launch of the plan: what run_spec has, until nothing is left to try. */
static void test_order(void)
{
    static const double expected[][3] = {{0.2, 0, 1}, {0.1, 0, 1}, {0.1, 1, 1}, {0.1, 1, 0.1}, {0.1, 1, 0.01}};
    assay_pilot *pilot = pilot_of("{" LEAST "}");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        CU_ASSERT_EQUAL(pilot_plan(pilot, "fired", NULL), ASSAY_OK);
        CU_ASSERT_EQUAL(pilot->next_action, PILOT_LAUNCH_NEW);
        CU_ASSERT_EQUAL(pilot->message, PILOT_MESSAGE_RELAUNCH);
        CU_ASSERT_DOUBLE_EQUAL(spec(pilot, "warmup"), expected[i][0], 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(spec(pilot, "norm"), expected[i][1], 1e-12);
        CU_ASSERT_DOUBLE_EQUAL(spec(pilot, "rate"), expected[i][2], 1e-12);
        CU_ASSERT(i > 0 || strcmp(pilot->reason, "fired; next: warmup from 0.4 to 0.2") == 0);
    }
    CU_ASSERT_EQUAL(pilot_count(pilot, "num_warmup_adjustments"), 2);
    CU_ASSERT_EQUAL(pilot_count(pilot, "num_batch_layer_adjustments"), 1);   /* setting it again would change nothing */
    CU_ASSERT_EQUAL(pilot_count(pilot, "num_learning_rate_adjustments"), 2); /* 0.001 is below at_least */
    CU_ASSERT_EQUAL(pilot_plan(pilot, "fired", NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(pilot->next_action, PILOT_END);
    CU_ASSERT_EQUAL(pilot->message, PILOT_MESSAGE_END);
    CU_ASSERT_STRING_EQUAL(pilot->reason, "fired; every strategy is used up");
    assay_pilot_close(pilot);
}

static void test_cap(void)
{
    assay_pilot *pilot =
        pilot_of("{" LEAST ", \"caps\": {\"num_retraining\": 2}, \"history\": {\"num_retraining\": 1}}");
    CU_ASSERT_EQUAL(pilot_plan(pilot, "fired", NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(pilot->next_action, PILOT_LAUNCH_NEW);
    pilot_add(pilot, "num_retraining");
    CU_ASSERT_EQUAL(pilot_plan(pilot, "fired", NULL), ASSAY_OK);
    CU_ASSERT_EQUAL(pilot->next_action, PILOT_END);
    CU_ASSERT_STRING_EQUAL(pilot->reason, "fired; caps.num_retraining is reached");
    CU_ASSERT_EQUAL(spec(pilot, "warmup"), 0.2);
    assay_pilot_close(pilot);
}

static char directory[] = "/tmp/assay-test-pilot-XXXXXX";

static void set_fault(const char *text)
{
    if (text)
        setenv("ASSAY_FAULT", text, 1);
    else
        unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
}

static char *contents(const char *path)
{
    assay_buf bytes;
    assay_buf_init(&bytes, ASSAY_PILOT_CEILING);
    CU_ASSERT_EQUAL_FATAL(assay_file_read(path, ASSAY_PILOT_CEILING, &bytes, NULL), ASSAY_OK);
    char *text = assay_copy_bytes_as_text((const char *)bytes.data, bytes.size);
    assay_buf_release(&bytes);
    return text;
}

/* One pilot at a time; a state that cannot be written stops it before it does anything more. */
static void test_file(void)
{
    static const char text[] = "{" LEAST "}";
    char path[100], link[100];
    assay_pilot *pilot = NULL, *second = NULL;
    assay_pilot_did did;
    assay_error err = {""};
    snprintf(path, sizeof path, "%s/state.json", directory);
    CU_ASSERT_EQUAL(assay_pilot_open(path, true, &pilot, &err), ASSAY_ENOTFOUND);
    CU_ASSERT_EQUAL_FATAL(assay_file_write(path, text, sizeof text - 1, NULL), ASSAY_OK);
    CU_ASSERT_EQUAL_FATAL(assay_pilot_open(path, true, &pilot, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_pilot_open(path, true, &second, &err), ASSAY_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "another pilot is at work on it"));
    snprintf(link, sizeof link, "%s/link.json", directory);
    CU_ASSERT_EQUAL(symlink("state.json", link), 0);
    CU_ASSERT_EQUAL(assay_pilot_open(link, true, &second, &err), ASSAY_EUSAGE);
    CU_ASSERT_EQUAL(assay_pilot_open(path, false, &second, &err), ASSAY_OK); /* a dry run may look */
    assay_pilot_close(second);
    set_fault("write:1+");
    CU_ASSERT_EQUAL(assay_pilot_step(pilot, &did, &err), ASSAY_EIO);
    set_fault(NULL);
    CU_ASSERT(did.final);
    char *left = contents(path);
    CU_ASSERT_STRING_EQUAL(left, text);
    free(left);
    CU_ASSERT_EQUAL(assay_pilot_step(pilot, &did, &err), ASSAY_EIO); /* not with what is not in the file */
    CU_ASSERT(did.final);
    assay_pilot_close(pilot);
    CU_ASSERT_EQUAL_FATAL(assay_pilot_open(link, true, &pilot, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(assay_pilot_step(pilot, &did, &err), ASSAY_OK);
    CU_ASSERT(!did.turned && pilot->job_status == PILOT_JOB_SUBMITTING && strncmp(pilot->job_name, "net-1-", 6) == 0);
    left = contents(path);
    CU_ASSERT_PTR_NOT_NULL(strstr(left, pilot->job_name));
    free(left);
    assay_pilot_close(pilot);
}

static pilot_verdict verdict_of(const char *rules, int fail_on)
{
    char text[1000];
    pilot_verdict verdict = {.ended = false};
    snprintf(
        text, sizeof text,
        "{\"schema\": \"assay-report/1\", \"verdict\": \"1 rule passed on 2 of 200 TRAIN steps, 1 %%\", \"trials\": [{\"name\": \"t\", \"ended\": true, \"rules\": [%s]}]}",
        rules);
    CU_ASSERT_EQUAL_FATAL(pilot_read_report("report.json", text, strlen(text), fail_on, &verdict, NULL), ASSAY_OK);
    CU_ASSERT(verdict.ended);
    return verdict;
}

#define RULE(name, status, severity)                                                                                   \
    "{\"name\": \"" name "\", \"status\": \"" status "\", \"severity\": \"" severity "\", \"first\": null}"
static void test_report(void)
{
    static const char sound[] = RULE("a", "NoIssuesFound", "error");
    static const char both[] = RULE("a", "NoIssuesFound", "error") ", " RULE("b", "IssuesFound", "warning");
    CU_ASSERT_EQUAL(verdict_of(sound, ASSAY_WARNING).status, PILOT_RULE_NO_ISSUES);
    CU_ASSERT_EQUAL(verdict_of(both, ASSAY_WARNING).status, PILOT_RULE_ISSUES);
    CU_ASSERT(strncmp(verdict_of(both, ASSAY_WARNING).text, "b: 0 findings", 13) == 0);
    CU_ASSERT_EQUAL(verdict_of(both, ASSAY_ERROR).status, PILOT_RULE_NO_ISSUES);
    static const char early[] = RULE("a", "NoIssuesFound", "error") ", " RULE("c", "NoData", "warning");
    CU_ASSERT_EQUAL(verdict_of(early, ASSAY_WARNING).status, PILOT_RULE_NO_ISSUES);
    CU_ASSERT_STRING_EQUAL(verdict_of(early, ASSAY_WARNING).text, "");
    CU_ASSERT_STRING_EQUAL(verdict_of(early, ASSAY_WARNING).said, "1 rule passed on 2 of 200 TRAIN steps, 1 %");
    CU_ASSERT_EQUAL(verdict_of(RULE("a", "NoData", "error"), ASSAY_INFO).status, PILOT_RULE_NO_DATA);
    CU_ASSERT_EQUAL(verdict_of("", ASSAY_INFO).status, PILOT_RULE_NO_DATA);
    CU_ASSERT_EQUAL(verdict_of(RULE("a", "Error", "warning"), ASSAY_WARNING).status, PILOT_RULE_ERROR);
    CU_ASSERT_EQUAL(verdict_of(RULE("a", "Error", "warning") ", " RULE("b", "IssuesFound", "error"), ASSAY_INFO).status,
                    PILOT_RULE_ISSUES);
    pilot_verdict verdict;
    assay_error err = {""};
    CU_ASSERT_EQUAL(pilot_read_report("r", "{}", 2, ASSAY_INFO, &verdict, &err), ASSAY_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a report.json"));
}

static void expect_next(const char *more, const char *expected)
{
    char text[2000];
    assay_buf out;
    snprintf(text, sizeof text, "{" LEAST "%s%s}", more[0] ? ", " : "", more);
    assay_pilot *pilot = pilot_of(text);
    assay_buf_init(&out, ASSAY_PILOT_CEILING);
    assay_pilot_put_next(pilot, &out);
    assay_put_u8(&out, '\0');
    if (!strstr((const char *)out.data, expected))
        fprintf(stderr, "expected \"%s\", got \"%s\"\n", expected, (const char *)out.data);
    CU_ASSERT_PTR_NOT_NULL(strstr((const char *)out.data, expected));
    assay_buf_release(&out);
    assay_pilot_close(pilot);
}

#define NAMED "\"history\": {\"latest_job_name\": \"net-1-0\"}, \"pilot\": {\"job_id\": \"17\"}"
static void test_next(void)
{
    expect_next("", "launch a training, under a new name\n");
    expect_next("", "    RUN_SPEC_WARMUP=0.4\n");
    expect_next("\"job_status\": \"Submitting\", " NAMED, "unless Slurm has it already\n");
    expect_next("\"job_status\": \"Submitting\", " NAMED,
                "--job-name=net-1-0 --comment=assay-pilot:net-1-0 --hold train.sbatch");
    expect_next("\"job_status\": \"Held\", " NAMED, "release job 17 (net-1-0)\n");
    expect_next("\"next_action\": \"monitor\", " NAMED,
                "look at job 17 (net-1-0) with rules.json\n  on findings: stop job 17 and launch "
                "again with warmup from 0.4 to 0.2\n");
    expect_next("\"job_status\": \"Stopping\", " NAMED, "stop job 17 (net-1-0)\nlaunch a training");
    expect_next("\"next_action\": \"end\"", "nothing: ended\n");
}

int main(void)
{
    CU_TestInfo tests[] = {{"defaults", test_defaults},
                           {"round trip", test_round_trip},
                           {"refusals", test_refusals},
                           {"refused settings", test_refused_settings},
                           {"refused strategies", test_refused_strategies},
                           {"order", test_order},
                           {"cap", test_cap},
                           {"file", test_file},
                           {"report", test_report},
                           {"next", test_next},
                           CU_TEST_INFO_NULL};
    char command[100];
    if (!mkdtemp(directory))
        return 2;
    int failed = unit_main("pilot", tests);
    snprintf(command, sizeof command, "rm -r '%s'", directory);
    return system(command) != 0 || failed;
}
