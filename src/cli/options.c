/* options.c - parses the command line by a command's table. */
#include "base/path.h"
#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/nearest.h"
#include "cli/cli.h"
#include "cli/defaults.h"
#include "cli/pager.h"
#include "cli/s3.h"
#include "cli/terminal.h"
#include "report/text/listing.h"

enum { HELP_INDENT = 26 };

static cli_shared given;

const cli_shared *cli_given(void)
{
    return &given;
}

double cli_progress(void)
{
    return given.quiet ? 0 : given.progress;
}

#define AT(member) ASSAY_SETTING_AT(cli_shared, member)
#define JSON_ROW                                                                                                       \
    {                                                                                                                  \
        "json", ASSAY_SETTING_SWITCH, AT(json), .help = "The same as --format json."                                   \
    }
#define CSV_ROW                                                                                                        \
    {                                                                                                                  \
        "csv", ASSAY_SETTING_SWITCH, AT(csv), .help = "The same as --format csv."                                      \
    }
/* Every one of these is described here alone, for whatever commands take it. */
enum { SHARED_MOST = 4 };
static const struct {
    unsigned takers; /* 0: all commands */
    assay_setting option[SHARED_MOST];
} SHARED[] = {
    {CLI_STEPS,
     {{"steps", ASSAY_SETTING_RANGE, AT(steps), .value = "A:B",
       .help = "Only the global steps from A up to, but not including, B."}}},
    {CLI_SAYS,
     {{"format", ASSAY_SETTING_WORD, AT(form), .value = "FORM", .words = "text|json", .initial = "text",
       .help = "How to print it: text or json."},
      JSON_ROW}},
    {CLI_LISTS,
     {{"format", ASSAY_SETTING_WORD, AT(form), .value = "FORM", .words = "text|json|csv", .initial = "text",
       .help = "How to print it: text, json, or csv (rows below a line of names)."},
      JSON_ROW,
      CSV_ROW}},
    {CLI_TABLE,
     {{"format", ASSAY_SETTING_WORD, AT(form), .value = "FORM", .words = "csv|json", .initial = "csv",
       .help = "How to print it: csv (rows below a line of names), or json (an object a line)."},
      JSON_ROW,
      CSV_ROW}},
    {CLI_PAGE,
     {{"format", ASSAY_SETTING_WORD, AT(form), .value = "FORM", .words = "text|json|csv|markdown|html",
       .initial = "text", .help = "How to print it: text, json, csv (rows below a line of names), markdown or html."},
      JSON_ROW,
      CSV_ROW}},
    {CLI_DOCUMENT,
     {{"format", ASSAY_SETTING_WORD, AT(form), .value = "FORM", .words = "json", .initial = "json",
       .help = "How to print it: as json."},
      JSON_ROW}},
    /* With less than a megabyte every record would be told as lost. */
    {CLI_MEMORY,
     {{"memory", ASSAY_SETTING_SIZE, AT(memory), .value = "SIZE", .least = 1 << 20, .initial = "512M",
       .help = "Memory that a rank may use, with program, index and the rules' states, such as 2G."}}},
    {CLI_PROGRESS,
     {{"progress", ASSAY_SETTING_REAL, AT(progress), .value = "N",
       .help = "A progress line on standard error every N seconds; 0: none. Default: a line that rewrites itself on a "
               "terminal, else one every 10 seconds."}}},
    {CLI_OVERWRITE,
     {{"overwrite", ASSAY_SETTING_SWITCH, AT(overwrite),
       .help = "Write over a file that is there. Default: that is refused."}}},
    {CLI_PRINTED | CLI_PAGED,
     {{"out", ASSAY_SETTING_TEXT, AT(out), .value = "FILE",
       .help = "Write what would be printed to this file; -o for short."}}},
    {0,
     {{"quiet", ASSAY_SETTING_SWITCH, AT(quiet),
       .help = "No progress, notes or warnings on standard error; errors only. -q for short."},
      {"log", ASSAY_SETTING_WORD, AT(log), .value = "WHO", .words = "first|all", .initial = "first",
       .help = "Whose messages are printed: first (rank 0) or all ranks. -v is --log all."},
      {"color", ASSAY_SETTING_WORD, AT(colour), .value = "WHEN", .words = CLI_DRAW_WORDS, .initial = "auto",
       .help = "Colours: auto (on a terminal, unless NO_COLOR is set), always or never."}}},
    {CLI_TRIALS,
     {{"s3-unsigned", ASSAY_SETTING_SWITCH, AT(s3.unsigned_requests),
       .help = "Where no credentials are found, read s3:// without any, as public buckets allow."},
      {"s3-requests", ASSAY_SETTING_COUNT, AT(s3.requests), .value = "N", .initial = "32",
       .help = "Requests to S3 that a rank has under way at a time."}}},
    {CLI_WORLD,
     {{CLI_OPTION_MPI, ASSAY_SETTING_SWITCH, AT(mpi),
       .help = "Start MPI even if no launcher is recognised. A single process does not need it."}}},
};
#define SHARED_TABLES (sizeof SHARED / sizeof *SHARED)
_Static_assert(SHARED_TABLES < CLI_TABLES, "a command's own options are a table, too");

bool cli_list_add(cli_list *list, const char *text)
{
    const char **more = assay_realloc_array(list->text, list->count + 1, sizeof *more);
    if (!more)
        return false;
    more[list->count++] = text;
    list->text = more;
    return true;
}

const char *cli_form_by_suffix(const char *word, size_t length)
{
    static const char *const suffixes[][2] = {{"md", "markdown"}, {"txt", "text"}, {"h5", "hdf5"}};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (strlen(suffixes[i][0]) == length && memcmp(suffixes[i][0], word, length) == 0)
            return suffixes[i][1];
    return NULL;
}

/* ASSAY_EPARAM when the text is no value of the option. */
static int take_value(const assay_setting *option, const char *text, void *field)
{
    if (option->kind == ASSAY_SETTING_WORD && strcmp(option->name, "format") == 0) {
        const char *form = cli_form_by_suffix(text, strlen(text));
        text = form ? form : text;
    }
    if (option->kind == ASSAY_SETTING_REPEATED)
        return cli_list_add(field, text) ? ASSAY_OK : ASSAY_ENOMEM;
    if (option->kind == ASSAY_SETTING_NAMES)
        return *text != '\0' && cli_list_add(&((cli_names *)field)->list, text) ? ASSAY_OK : ASSAY_EPARAM;
    return assay_setting_take(option, text, field);
}

size_t cli_option_tables(const cli_command *command, const assay_setting *table[CLI_TABLES])
{
    size_t count = 0;
    table[count++] = command->options;
    for (size_t i = 0; i < SHARED_TABLES; i++)
        if (SHARED[i].takers == 0 || SHARED[i].takers & command->takes)
            table[count++] = SHARED[i].option;
    return count;
}

static int fail_unknown(const cli_command *command, const char *word, size_t length, assay_error *err)
{
    const assay_setting *table[CLI_TABLES];
    assay_nearest nearest;
    assay_nearest_begin(&nearest, word + 2, length);
    for (size_t t = 0, tables = cli_option_tables(command, table); t < tables; t++)
        assay_settings_offer(table[t], &nearest);
    return assay_fail(err, ASSAY_EUSAGE, "%s: unknown option \"%.100s\"%s%s%s; `assay %s --help` lists the options",
                      command->name, word, nearest.best ? " (did you mean \"--" : "", nearest.best ? nearest.best : "",
                      nearest.best ? "\"?)" : "", command->name);
}

/* The option of that name; *fields becomes what its offset is of. */
static const assay_setting *find_option(const cli_command *command, const char *name, size_t length, void **fields)
{
    const assay_setting *table[CLI_TABLES], *option = NULL;
    for (size_t t = 0, tables = cli_option_tables(command, table); t < tables && !option; t++)
        if ((option = assay_setting_find(table[t], name, length)) && t > 0)
            *fields = &given;
    return option;
}

const assay_setting *cli_option_find(const cli_command *command, const char *name, size_t length)
{
    void *unused = NULL;
    return find_option(command, name, length, &unused);
}

/* Trials and reports may lie in S3; other files may not. */
static bool is_local(const assay_setting *option)
{
    return option->value && (strcmp(option->value, "FILE") == 0 || strcmp(option->value, "DIR") == 0);
}

/* Can the word behind an option whose value may be left out be its value? Options, paths and patterns are none. */
static bool may_be_name(const char *word)
{
    return word[0] != '-' && !strpbrk(word, "/*?[") && access(word, F_OK) != 0 && !assay_path_ends(word, ".json");
}

/* The words of a command line, while they are parsed. */
typedef struct word_list {
    char **word;
    int count, at;
} word_list;

/* Parses the option at list->at, which `word` says in full, and its value, which may be the next word: that is passed
 * over then. */
static int parse_option(const cli_command *command, const char *word, word_list *list, void *fields, assay_error *err)
{
    const char *next = list->at + 1 < list->count ? list->word[list->at + 1] : NULL;
    char wanted[ASSAY_SETTING_WANTED];
    const char *name = word + 2, *value = strchr(name, '=');
    size_t length = value ? (size_t)(value - name) : strlen(name);
    const assay_setting *option = find_option(command, name, length, &fields);
    if (!option)
        return fail_unknown(command, list->word[list->at], length, err);
    void *field = (char *)fields + option->at;
    if (option->kind == ASSAY_SETTING_SWITCH) {
        if (value)
            return assay_fail(err, ASSAY_EUSAGE, "%s: --%s takes no value", command->name, option->name);
        *(bool *)field = true;
        return ASSAY_OK;
    }
    if (value) {
        value++;
    } else if (option->kind == ASSAY_SETTING_NAMES && !(next && may_be_name(next))) {
        ((cli_names *)field)->any = true;
        return ASSAY_OK;
    } else if (next) {
        value = next;
        list->at++;
    } else {
        return assay_fail(err, ASSAY_EUSAGE, "%s: --%s needs a value: %s", command->name, option->name,
                          assay_setting_wanted(option, wanted));
    }
    if (is_local(option) && strncasecmp(value, "s3://", 5) == 0)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s: --%s %.100s: not in S3: only trials and reports lie there; give a file on this machine",
                          command->name, option->name, value);
    if (take_value(option, value, field) == ASSAY_OK)
        return ASSAY_OK;
    char hint[ASSAY_NEAREST_ROOM];
    return assay_fail(err, ASSAY_EUSAGE, "%s: --%s %.100s: expected %s%s", command->name, option->name, value,
                      assay_setting_wanted(option, wanted), assay_setting_hint(option, value, hint));
}

/* The option that a letter is short for, where the command has it; NULL for other words. */
static const char *long_option(const cli_command *command, const char *word)
{
    static const char *const letters[][2] = {{"-o", "--out"}, {"-q", "--quiet"}, {"-v", "--log=all"}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        const char *name = letters[i][1] + 2;
        if (strcmp(word, letters[i][0]) == 0 && cli_option_find(command, name, strcspn(name, "=")))
            return letters[i][1];
    }
    return NULL;
}

/* "-qv": letters of switches behind one sign. */
static bool are_letters(const cli_command *command, const char *word)
{
    bool all = word[0] == '-' && word[1] != '-' && strlen(word) > 2;
    for (const char *c = word + 1; all && *c; c++) {
        const char one[] = {'-', *c, '\0'}, *whole = long_option(command, one);
        all = whole && strcmp(whole, "--out") != 0;
    }
    return all;
}

/* Sets what the defaults say of the command's options. */
static int take_defaults(const cli_command *command, void *fields, assay_error *err)
{
    char wanted[ASSAY_SETTING_WANTED];
    cli_default line;
    size_t at = 0;
    int status;
    while ((status = cli_defaults_next(command, &at, &line, err)) > 0) {
        void *owner = fields;
        const assay_setting *option = find_option(command, line.option, strlen(line.option), &owner);
        void *field = (char *)owner + option->at;
        const bool is_switch = option->kind == ASSAY_SETTING_SWITCH;
        if (option->kind == ASSAY_SETTING_REPEATED || option->kind == ASSAY_SETTING_NAMES)
            return assay_fail(err, ASSAY_EUSAGE, "%s: --%s is for the command line: it says what a run is about",
                              line.place, option->name);
        if (is_switch && (!line.value || strcmp(line.value, "true") == 0))
            *(bool *)field = true;
        else if (is_switch ? strcmp(line.value, "false") != 0
                           : !line.value || take_value(option, line.value, field) != ASSAY_OK)
            return assay_fail(err, ASSAY_EUSAGE, "%s: %s: expected %s", line.place, option->name,
                              is_switch ? "true or false" : assay_setting_wanted(option, wanted));
    }
    return status;
}

/* Sets what the tables say is the default. */
static int take_initial(const cli_command *command, void *fields)
{
    const assay_setting *table[CLI_TABLES];
    int status = ASSAY_OK;
    given = (cli_shared){.steps = {INT64_MIN, INT64_MAX}, .progress = -1, .s3 = ASSAY_S3_DEFAULTS};
    for (size_t t = 0, tables = cli_option_tables(command, table); t < tables; t++)
        for (const assay_setting *o = table[t]; o->name && status == ASSAY_OK; o++)
            if (o->initial)
                status = assay_setting_take(o, o->initial, (char *)(t ? (void *)&given : fields) + o->at);
    return status;
}

/* Which form the n-th word of a list is. */
static cli_form form_of(const char *words, int n)
{
    static const char *const names[] = {"text", "json", "csv", "markdown", "html"};
    int form = 0;
    for (; n > 0; n--)
        words += strcspn(words, "|") + 1;
    while (strncmp(words, names[form], strlen(names[form])) != 0)
        form++;
    return (cli_form)form;
}

/* Sets *form to what --format says, whose number among the words of this command is given.form, or --json or --csv, where
 * one of them was given, and forgets them. A command whose --format takes other words reads it itself. */
static int settle_form(const cli_command *command, int *form, assay_error *err)
{
    const assay_setting *format = cli_option_find(command, "format", 6);
    if (!format || format->kind != ASSAY_SETTING_WORD)
        return ASSAY_OK;
    const int said = given.form >= 0 ? (int)form_of(format->words, given.form) : -1;
    const int shorter = given.json ? CLI_JSON : given.csv ? CLI_CSV : -1;
    if ((given.json && given.csv) || (said >= 0 && shorter >= 0 && said != shorter))
        return assay_fail(err, ASSAY_EUSAGE, "%s: --json, --csv and another --format exclude each other",
                          command->name);
    *form = said >= 0 ? said : shorter >= 0 ? shorter : *form;
    given.form = -1;
    given.json = given.csv = false;
    return ASSAY_OK;
}

int cli_options_parse(const cli_command *command, int argc, char **argv, void *fields, const char **operand,
                      size_t *operands, assay_error *err)
{
    bool only_operands = false;
    int form = CLI_TEXT, status = take_initial(command, fields);
    ASSAY_THEN(status, settle_form(command, &form, err));
    ASSAY_THEN(status, take_defaults(command, fields, err));
    ASSAY_THEN(status, settle_form(command, &form, err)); /* what is said behind it counts more */
    *operands = 0;
    word_list list = {argv, argc, 0};
    for (; list.at < list.count && status == ASSAY_OK; list.at++) {
        const char *word = argv[list.at];
        const char *whole = only_operands ? NULL : long_option(command, word);
        if (!only_operands && are_letters(command, word)) {
            for (const char *c = word + 1; *c && status == ASSAY_OK; c++) {
                const char one[] = {'-', *c, '\0'};
                status = parse_option(command, long_option(command, one), &list, fields, err);
            }
        } else if (whole) {
            status = parse_option(command, whole, &list, fields, err);
        } else if (!only_operands && strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (!only_operands && word[0] == '-' && word[1] == '-') {
            status = parse_option(command, word, &list, fields, err);
        } else if (!only_operands && word[0] == '-' && word[1]) {
            status = assay_fail(err, ASSAY_EUSAGE, "%s: unknown option \"%.100s\"; `assay %s --help` lists the options",
                                command->name, word, command->name);
        } else if (*operands == command->most) {
            status =
                assay_fail(err, ASSAY_EUSAGE, "%s: \"%.100s\" is one operand too many; usage: assay %s %s [options]",
                           command->name, word, command->name, command->operands);
        } else {
            operand[(*operands)++] = word;
        }
    }
    ASSAY_THEN(status, settle_form(command, &form, err));
    given.form = form;
    assay_s3_configure(&given.s3);
    cli_set_colour((cli_draw_when)given.colour);
    if (given.out)
        cli_print_into(given.out);
    else if (status == ASSAY_OK && command->takes & CLI_PAGED)
        cli_pager_start();
    if (given.quiet)
        assay_log_quiet();
    assay_log_all_ranks(given.log);
    if (status == ASSAY_OK && *operands < command->least)
        status = assay_fail(err, ASSAY_EUSAGE, "%s: %s is missing; usage: assay %s %s [options]", command->name,
                            command->operands, command->name, command->operands);
    return status;
}

void cli_options_release(const cli_command *command, void *fields)
{
    for (const assay_setting *o = command->options; o->name; o++) {
        if (o->kind == ASSAY_SETTING_REPEATED) {
            cli_list *list = (cli_list *)(void *)((char *)fields + o->at);
            free(list->text);
            *list = (cli_list){NULL, 0};
        } else if (o->kind == ASSAY_SETTING_NAMES) {
            cli_names *names = (cli_names *)(void *)((char *)fields + o->at);
            free(names->list.text);
            *names = (cli_names){0};
        }
    }
}

/* How much of a text its first sentence is, with its full stop. */
static size_t first_sentence(const char *help)
{
    const char *end = strstr(help, ". ");
    return end ? (size_t)(end - help) + 1 : strlen(help);
}

static void put_option_help(const assay_setting *o, bool brief, const assay_draw *draw, assay_buf *out)
{
    const char *value = o->kind == ASSAY_SETTING_WORD && !o->value ? o->words : o->value;
    char lead[64];
    assay_buf text = ASSAY_BUF(1 << 16);
    assay_put_bytes(&text, o->help, brief ? first_sentence(o->help) : strlen(o->help));
    if (o->initial && !brief)
        assay_put_format(&text, " Default: %s.", o->initial);
    snprintf(lead, sizeof lead, "  --%s%s%s  ", o->name, value ? " " : "", value ? value : "");
    assay_text_put_wrapped(out, draw, HELP_INDENT, lead, (const char *)text.data, text.size);
    assay_buf_release(&text);
}

void cli_options_put_help(const cli_command *command, bool brief, const assay_draw *draw, assay_buf *out)
{
    static const assay_setting HELP = {.name = "help", .help = "Print this text. -h is shorter."};
    char text[256];
    const assay_setting *table[CLI_TABLES];
    snprintf(text, sizeof text, "assay %s%s%s [options]", command->name, command->operands[0] ? " " : "",
             command->operands);
    assay_text_put_wrapped(out, draw, 7, "Usage: ", text, strlen(text));
    assay_put_u8(out, '\n');
    assay_text_put_wrapped(out, draw, 0, NULL, command->summary,
                           brief ? first_sentence(command->summary) : strlen(command->summary));
    assay_put_format(out, "\nOptions:\n");
    for (size_t t = 0, tables = cli_option_tables(command, table); t < tables; t++)
        for (const assay_setting *o = table[t]; o->name; o++)
            if (cli_option_find(command, o->name, strlen(o->name)) == o)
                put_option_help(o, brief, draw, out);
    put_option_help(&HELP, brief, draw, out);
    if (brief) {
        snprintf(text, sizeof text, "`assay help %s` says more of each, and so does `man assay-%s`.", command->name,
                 command->name);
        assay_put_u8(out, '\n');
        assay_text_put_wrapped(out, draw, 0, NULL, text, strlen(text));
    }
}
