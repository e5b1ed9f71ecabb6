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
    double every;
    bool all;
    cli_list trials;
    cli_names names;
} fields;

static const assay_setting OPTIONS[] = {
    {"out", ASSAY_SETTING_TEXT, offsetof(fields, out), "PLACE", "Where."},
    {"every", ASSAY_SETTING_REAL, offsetof(fields, every), "N", "How often.", .initial = "2.5"},
    {"all", ASSAY_SETTING_SWITCH, offsetof(fields, all), NULL, "Everything."},
    {"trial", ASSAY_SETTING_REPEATED, offsetof(fields, trials), "TRIAL", "One more."},
    {"allow", ASSAY_SETTING_NAMES, offsetof(fields, names), "[NAME]", "This one, or any."},
    {0}};
static const cli_command COMMAND = {"test", "A [B]", "Tests.", OPTIONS, 1, 2, CLI_LISTS | CLI_MEMORY | CLI_STEPS, NULL};

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
    static const char *const words[] = {"a",         "-o",    "place", "--memory=2M", "--trial", "x",
                                        "--trial=y", "--all", "--",    "--trial",     NULL};
    fields f;
    const char *operand[2];
    size_t operands;
    assay_error err = {""};
    CU_ASSERT_EQUAL_FATAL(parse(words, &f, operand, &operands, &err), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(f.out, "place");
    CU_ASSERT_EQUAL(cli_given()->memory, 2 << 20);
    CU_ASSERT(cli_given()->steps.from == INT64_MIN && cli_given()->steps.to == INT64_MAX);
    CU_ASSERT_EQUAL(f.every, 2.5);
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

/* The form that "a" and these words ask for; -1: refused. */
static int form_of(const char *one, const char *other)
{
    fields f;
    const char *operand[2];
    size_t operands;
    assay_error err = {""};
    const int status = parse((const char *const[]){"a", one, other, NULL}, &f, operand, &operands, &err);
    CU_ASSERT(status == ASSAY_OK || strstr(err.text, "exclude each other"));
    return status == ASSAY_OK ? cli_given()->form : -1;
}

static void test_forms(void)
{
    CU_ASSERT_EQUAL(form_of(NULL, NULL), CLI_TEXT);
    CU_ASSERT_EQUAL(form_of("--json", NULL), CLI_JSON);
    CU_ASSERT_EQUAL(form_of("--csv", NULL), CLI_CSV);
    CU_ASSERT_EQUAL(form_of("--format=json", "--json"), CLI_JSON);
    CU_ASSERT_EQUAL(form_of("--format=csv", "--json"), -1);
    CU_ASSERT_EQUAL(form_of("--format=text", "--csv"), -1);
    CU_ASSERT_EQUAL(form_of("--csv", "--json"), -1);
}

/* Parses "a" and a word with a file of defaults. */
static int parse_with(const char *defaults, const char *word, fields *out, assay_error *err)
{
    char path[] = "/tmp/assay-test-options-XXXXXX";
    const char *operand[2];
    size_t operands;
    const int number = mkstemp(path);
    CU_ASSERT_FATAL(number >= 0 && write(number, defaults, strlen(defaults)) == (ssize_t)strlen(defaults));
    close(number);
    setenv("ASSAY_CONFIG", path, 1);
    int status = cli_defaults_read(NULL, err);
    ASSAY_THEN(status, parse((const char *const[]){"a", word, NULL}, out, operand, &operands, err));
    cli_defaults_release();
    unlink(path);
    return status;
}

/* What the command line says counts more than a file of defaults, in whichever words. */
static void test_defaults(void)
{
    fields f;
    assay_error err = {""};
    CU_ASSERT_EQUAL(parse_with("format = json,markdown\n# no\nmemory=1M\n", "--all", &f, &err), ASSAY_OK);
    CU_ASSERT(cli_given()->form == CLI_TEXT && cli_given()->memory == 1 << 20);
    CU_ASSERT_EQUAL(parse_with("format = csv\n", "--all", &f, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(cli_given()->form, CLI_CSV);
    CU_ASSERT_EQUAL(parse_with("format = csv\n", "--json", &f, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(cli_given()->form, CLI_JSON);
    CU_ASSERT_EQUAL(parse_with("json\n", "--format=text", &f, &err), ASSAY_OK);
    CU_ASSERT_EQUAL(cli_given()->form, CLI_TEXT);
    CU_ASSERT_EQUAL(parse_with("memory = lots\n", "--all", &f, &err), ASSAY_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, ":1: memory: expected"));
}

int main(void)
{
    CU_TestInfo tests[] = {{"values and operands", test_values},  {"values that may be left out", test_names},
                           {"what is refused", test_refused},     {"forms of listings", test_forms},
                           {"defaults in a file", test_defaults}, CU_TEST_INFO_NULL};
    return unit_main("options", tests);
}
