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

/* Of every command that reads trials. */
static assay_s3_options s3 = ASSAY_S3_DEFAULTS;

typedef struct common_options {
    int log;    /* 1: all */
    int colour; /* cli_draw_when */
    bool quiet; /* of commands that have no --quiet of their own, which start no MPI */
    const char *out;
} common_options;

static common_options common;

static const assay_setting common_options_table[] = {
    {"quiet", ASSAY_SETTING_SWITCH, offsetof(common_options, quiet), NULL,
     "No progress, notes or warnings on standard error; errors only."},
    {"log", ASSAY_SETTING_WORD, offsetof(common_options, log), "WHO",
     "Whose messages are printed: first (rank 0) or all ranks. Default: first.", "first|all"},
    {"color", ASSAY_SETTING_WORD, offsetof(common_options, colour), "WHEN",
     "Colours: auto (on a terminal, unless NO_COLOR is set), always or never. Default: auto.", CLI_DRAW_WORDS},
    {0}};

const assay_setting cli_printed_options[] = {{"out", ASSAY_SETTING_TEXT, offsetof(common_options, out), "FILE",
                                              "Write what would be printed to this file; -o for short."},
                                             {0}};

bool cli_list_add(cli_list *list, const char *text)
{
    const char **more = assay_realloc_array(list->text, list->count + 1, sizeof *more);
    if (!more)
        return false;
    more[list->count++] = text;
    list->text = more;
    return true;
}

int cli_form_choose(const char *command, cli_form *choice, assay_error *err)
{
    if (choice->json && choice->form == ASSAY_LISTING_CSV)
        return assay_fail(err, ASSAY_EUSAGE, "%s: --json and CSV exclude each other", command);
    if (choice->json)
        choice->form = ASSAY_LISTING_JSON;
    return ASSAY_OK;
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
    table[count++] = common_options_table;
    if (command->output != CLI_OTHERWISE)
        table[count++] = cli_printed_options;
    if (command->reads)
        table[count++] = cli_s3_options;
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
            *fields = table[t] == cli_s3_options ? (void *)&s3 : (void *)&common;
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
    if (command->world && strcmp(name, CLI_OPTION_MPI) == 0) /* main has seen to it */
        return ASSAY_OK;
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

/* Where a command prints text or JSON and no third form, `--format json` is its `--json`, as of commands that have more. */
static bool is_json_by_format(const cli_command *command, const char *word, const char *next, bool *takes_next)
{
    static const char FORMAT[] = "--format";
    const size_t length = sizeof FORMAT - 1;
    if (strncmp(word, FORMAT, length) != 0 || cli_option_find(command, "format", 6) ||
        !cli_option_find(command, "json", 4))
        return false;
    *takes_next = word[length] == '\0';
    const char *form = *takes_next ? next : word[length] == '=' ? word + length + 1 : NULL;
    return form && strcmp(form, "json") == 0;
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
    cli_default given;
    size_t at = 0;
    int status;
    while ((status = cli_defaults_next(command, &at, &given, err)) > 0) {
        void *owner = fields;
        const assay_setting *option = find_option(command, given.option, strlen(given.option), &owner);
        void *field = (char *)owner + option->at;
        const bool is_switch = option->kind == ASSAY_SETTING_SWITCH;
        if (option->kind == ASSAY_SETTING_REPEATED || option->kind == ASSAY_SETTING_NAMES)
            return assay_fail(err, ASSAY_EUSAGE, "%s: --%s is for the command line: it says what a run is about",
                              given.place, option->name);
        if (is_switch && (!given.value || strcmp(given.value, "true") == 0))
            *(bool *)field = true;
        else if (is_switch ? strcmp(given.value, "false") != 0
                           : !given.value || take_value(option, given.value, field) != ASSAY_OK)
            return assay_fail(err, ASSAY_EUSAGE, "%s: %s: expected %s", given.place, option->name,
                              is_switch ? "true or false" : assay_setting_wanted(option, wanted));
    }
    return status;
}

int cli_options_parse(const cli_command *command, int argc, char **argv, void *fields, const char **operand,
                      size_t *operands, assay_error *err)
{
    bool only_operands = false;
    int status = take_defaults(command, fields, err);
    *operands = 0;
    word_list list = {argv, argc, 0};
    for (; list.at < list.count && status == ASSAY_OK; list.at++) {
        const char *word = argv[list.at];
        const char *whole = only_operands ? NULL : long_option(command, word);
        bool takes_next = false;
        if (!only_operands &&
            is_json_by_format(command, word, list.at + 1 < argc ? argv[list.at + 1] : NULL, &takes_next)) {
            status = parse_option(command, "--json", &list, fields, err);
            list.at += takes_next;
        } else if (!only_operands && are_letters(command, word)) {
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
    assay_s3_configure(&s3);
    cli_set_colour((cli_draw_when)common.colour);
    if (common.out)
        cli_print_into(common.out);
    else if (status == ASSAY_OK && command->output == CLI_PAGED)
        cli_pager_start();
    if (common.quiet)
        assay_log_init(0, true);
    assay_log_all_ranks(common.log);
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

static void put_option_help(const char *name, const char *value, const char *help, bool brief, const assay_draw *draw,
                            assay_buf *out)
{
    char lead[64];
    snprintf(lead, sizeof lead, "  --%s%s%s  ", name, value ? " " : "", value ? value : "");
    assay_text_put_wrapped(out, draw, HELP_INDENT, lead, help, brief ? first_sentence(help) : strlen(help));
}

/* Of those that all commands have, without what the command has of its own. */
static void put_table_help(const assay_setting *table, const cli_command *but, bool brief, const assay_draw *draw,
                           assay_buf *out)
{
    for (const assay_setting *o = table; o->name; o++)
        if (!but || !assay_setting_find(but->options, o->name, strlen(o->name)))
            put_option_help(o->name, o->kind == ASSAY_SETTING_WORD && !o->value ? o->words : o->value, o->help, brief,
                            draw, out);
}

void cli_options_put_help(const cli_command *command, bool brief, const assay_draw *draw, assay_buf *out)
{
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
        put_table_help(table[t], t > 0 ? command : NULL, brief, draw, out);
    if (command->world)
        put_option_help(CLI_OPTION_MPI, NULL,
                        "Start MPI even if no launcher is recognised. A single process does not need it.", brief, draw,
                        out);
    put_option_help("help", NULL, "Print this text. -h is shorter.", brief, draw, out);
    if (brief) {
        snprintf(text, sizeof text, "`assay help %s` says more of each, and so does `man assay-%s`.", command->name,
                 command->name);
        assay_put_u8(out, '\n');
        assay_text_put_wrapped(out, draw, 0, NULL, text, strlen(text));
    }
}
