/* test_options.c - the command line: what options and operands become, what is refused, and what the defaults add. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/defaults.h"
#include "report/text/listing.h"
#include "unit.h"

typedef struct fields {
    const char *out;
    size_t memory;
    bool all;
    cli_list trials;
    cli_names names;
    cli_form form;
} fields;

static const assay_setting OPTIONS[] = {
    {"out", ASSAY_SETTING_TEXT, offsetof(fields, out), "PLACE", "Where."},
    {"memory", ASSAY_SETTING_SIZE, offsetof(fields, memory), "SIZE", "How much."},
    {"all", ASSAY_SETTING_SWITCH, offsetof(fields, all), NULL, "Everything."},
    {"trial", ASSAY_SETTING_REPEATED, offsetof(fields, trials), "TRIAL", "One more."},
    {"allow", ASSAY_SETTING_NAMES, offsetof(fields, names), "[NAME]", "This one, or any."},
    CLI_FORM_OPTIONS(fields, form, "JSON.", "a row"),
    {0}};
static const cli_command COMMAND = {"test", "A [B]", "Tests.", OPTIONS, 1, 2, false, NULL, false, false};

enum { WORDS = 12 };

/* Parses words that end with NULL. */
static int parse(const char *const *words, fields *out, const char **operand, size_t *operands, assay_error *err)
{
    char *argv[WORDS];
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    *out = (fields){.out = NULL};
    return cli_options_parse(&COMMAND, argc, argv, out, operand, operands, err);
}

static void test_values(void)
{
    static const char *const words[] = {"a",         "-o",    "place", "--memory=2K", "--trial", "x",
                                        "--trial=y", "--all", "--",    "--trial",     NULL};
    fields f;
    const char *operand[2];
    size_t operands;
    assay_error err = {""};
    CU_ASSERT_EQUAL_FATAL(parse(words, &f, operand, &operands, &err), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(f.out, "place");
    CU_ASSERT_EQUAL(f.memory, 2048);
    CU_ASSERT(f.all);
    CU_ASSERT_EQUAL_FATAL(f.trials.count, 2);
    CU_ASSERT_STRING_EQUAL(f.trials.text[1], "y");
    CU_ASSERT_EQUAL_FATAL(operands, 2);
    CU_ASSERT_STRING_EQUAL(operand[1], "--trial");
    cli_options_release(&COMMAND, &f);
    CU_ASSERT_EQUAL(f.trials.count, 0);
}

/* A value that may be left out: what looks like an option, a path or a pattern is none. */
static void test_names(void)
{
    fields f;
    const char *operand[2];
    size_t operands;
    assay_error err = {""};
    CU_ASSERT_EQUAL(parse((const char *const[]){"--allow", "Rule", "a", NULL}, &f, operand, &operands, &err), ASSAY_OK);
    CU_ASSERT(!f.names.any && f.names.list.count == 1 && operands == 1);
    cli_options_release(&COMMAND, &f);
    CU_ASSERT_EQUAL(parse((const char *const[]){"--allow", "b/c", NULL}, &f, operand, &operands, &err), ASSAY_OK);
    CU_ASSERT(f.names.any && f.names.list.count == 0 && operands == 1);
    cli_options_release(&COMMAND, &f);
}

static void test_refused(void)
{
    static const struct {
        const char *words[4];
        const char *said;
    } cases[] = {{{"--memry", "1", "a"}, "did you mean \"--memory\"?"},
                 {{"a", "--memory"}, "needs a value"},
                 {{"a", "--memory", "lots"}, "expected"},
                 {{"a", "--all=yes"}, "takes no value"},
                 {{"a", "b", "c"}, "one operand too many"},
                 {{"--all"}, "A [B] is missing"},
                 {{"a", "-x"}, "unknown option \"-x\""},
                 {{"a", "--format", "cvs"}, "expected text, json or csv (did you mean \"csv\"?)"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fields f;
        const char *operand[2];
        size_t operands;
        assay_error err = {""};
        CU_ASSERT_EQUAL(parse(cases[i].words, &f, operand, &operands, &err), ASSAY_EUSAGE);
        if (!strstr(err.text, cases[i].said))
            fprintf(stderr, "%s\n", err.text);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].said));
        cli_options_release(&COMMAND, &f);
    }
}

static void test_forms(void)
{
    assay_error err = {""};
    cli_form form = {.json = true};
    CU_ASSERT_EQUAL(cli_form_choose("test", &form, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(form.form, ASSAY_LISTING_JSON);
    form = (cli_form){.form = ASSAY_LISTING_CSV};
    CU_ASSERT_EQUAL(cli_form_choose("test", &form, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(form.form, ASSAY_LISTING_CSV);
    form.json = true;
    CU_ASSERT_EQUAL(cli_form_choose("test", &form, &err), ASSAY_EUSAGE);
}

/* Parses "a" with a file of defaults. */
static int parse_with(const char *defaults, fields *out, assay_error *err)
{
    char path[] = "/tmp/assay-test-options-XXXXXX";
    const char *operand[2];
    size_t operands;
    const int number = mkstemp(path);
    CU_ASSERT_FATAL(number >= 0 && write(number, defaults, strlen(defaults)) == (ssize_t)strlen(defaults));
    close(number);
    setenv("ASSAY_CONFIG", path, 1);
    int status = cli_defaults_read(NULL, err);
    ASSAY_THEN(status, parse((const char *const[]){"a", NULL}, out, operand, &operands, err));
    cli_defaults_release();
    unlink(path);
    return status;
}

/* `format` is the files of a report for some commands, and a form for others: a line for all counts where it fits. */
static void test_defaults(void)
{
    fields f;
    assay_error err = {""};
    CU_ASSERT_EQUAL(parse_with("format = json,markdown\n# no\nmemory=1K\n", &f, &err), ASSAY_OK);
    CU_ASSERT(f.form.form == ASSAY_LISTING_TEXT && f.memory == 1024);
    CU_ASSERT_EQUAL(parse_with("format = csv\n", &f, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(f.form.form, ASSAY_LISTING_CSV);
    CU_ASSERT_EQUAL(parse_with("memory = lots\n", &f, &err), ASSAY_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, ":1: memory: expected"));
}

int main(void)
{
    CU_TestInfo tests[] = {{"values and operands", test_values},  {"values that may be left out", test_names},
                           {"what is refused", test_refused},     {"forms of listings", test_forms},
                           {"defaults in a file", test_defaults}, CU_TEST_INFO_NULL};
    return unit_main("options", tests);
}
