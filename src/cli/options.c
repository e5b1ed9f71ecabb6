/* options.c - parses the command line by a command's table. */
#include "cli/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/nearest.h"
#include "cli/s3.h"
#include "cli/terminal.h"
#include "report/text/layout.h"

enum { HELP_INDENT = 26 };

/* Of every command that reads trials. */
static assay_s3_options s3 = ASSAY_S3_DEFAULTS;

typedef struct common_options {
    int colour; /* cli_draw_when */
} common_options;

static common_options common;

const cli_option cli_common_options[] = {
    {"color", CLI_CHOICE, offsetof(common_options, colour), "WHEN",
     "Colours: auto (on a terminal, unless NO_COLOR is set), always or never. Default: auto.", CLI_DRAW_WORDS},
    {NULL, CLI_FLAG, 0, NULL, NULL, NULL},
};

static bool parse_integer(const char *text, const char **end, int64_t *out)
{
    char *stop;
    if ((*text < '0' || *text > '9') && *text != '-')
        return false;
    errno = 0;
    long long value = strtoll(text, &stop, 10);
    if (errno || stop == text)
        return false;
    *end = stop;
    *out = value;
    return true;
}

static bool take_integer(const char *text, void *field)
{
    const char *end;
    cli_integer *out = field;
    out->given = parse_integer(text, &end, &out->value) && *end == '\0';
    return out->given;
}

static bool take_count(const char *text, void *field)
{
    const char *end;
    int64_t value;
    if (!parse_integer(text, &end, &value) || *end || value < 1)
        return false;
    *(size_t *)field = (size_t)value;
    return true;
}

static bool take_size(const char *text, void *field)
{
    static const char units[] = "KMGT";
    const char *end;
    int64_t value;
    if (!parse_integer(text, &end, &value) || value < 1)
        return false;
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    uint64_t bytes = (uint64_t)value;
    if (unit) {
        unsigned shift = 10 * (unsigned)(unit - units + 1);
        if (bytes > SIZE_MAX >> shift)
            return false;
        bytes <<= shift;
        end++;
        end += *end == 'i';
        end += *end == 'B';
    }
    *(size_t *)field = (size_t)bytes;
    return *end == '\0';
}

static bool take_seconds(const char *text, void *field)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < 0)
        return false;
    *(double *)field = value;
    return true;
}

static bool take_range(const char *text, void *field)
{
    cli_range *out = field, range = {INT64_MIN, INT64_MAX};
    const char *at = text;
    if (*at != ':' && !parse_integer(at, &at, &range.from))
        return false;
    if (*at++ != ':')
        return false;
    if (*at && (!parse_integer(at, &at, &range.to) || *at))
        return false;
    *out = range;
    return range.from < range.to;
}

static bool take_choice(const cli_option *option, const char *text, int *field)
{
    int number = 0;
    for (const char *word = option->choices; *word; number++) {
        size_t length = strcspn(word, "|");
        if (strlen(text) == length && memcmp(word, text, length) == 0) {
            *field = number;
            return true;
        }
        word += length + (word[length] == '|');
    }
    return false;
}

bool cli_list_add(cli_list *list, const char *text)
{
    const char **more = assay_realloc_array(list->text, list->count + 1, sizeof *more);
    if (!more)
        return false;
    more[list->count++] = text;
    list->text = more;
    return true;
}

/* False when the text is no value of that kind. */
static bool take_value(const cli_option *option, const char *text, void *field)
{
    switch (option->kind) {
    case CLI_FLAG:
        return false;
    case CLI_TEXT:
        *(const char **)field = text;
        return *text != '\0';
    case CLI_LIST:
        return cli_list_add(field, text);
    case CLI_NAMES:
        return *text != '\0' && cli_list_add(&((cli_names *)field)->list, text);
    case CLI_INTEGER:
        return take_integer(text, field);
    case CLI_COUNT:
        return take_count(text, field);
    case CLI_SIZE:
        return take_size(text, field);
    case CLI_SECONDS:
        return take_seconds(text, field);
    case CLI_RANGE:
        return take_range(text, field);
    case CLI_CHOICE:
        return take_choice(option, text, field);
    }
    return false;
}

/* What a value of the kind looks like, for messages. */
static const char *wanted(const cli_option *option)
{
    switch (option->kind) {
    case CLI_INTEGER:
        return "a whole number";
    case CLI_COUNT:
        return "a whole number from 1";
    case CLI_SIZE:
        return "a size like 512M or 2G";
    case CLI_SECONDS:
        return "seconds, 0 or more";
    case CLI_RANGE:
        return "a range like 100:200, 100: or :200 with the smaller number first";
    case CLI_CHOICE:
        return option->choices + (option->choices[0] == '|'); /* an empty first word stands for "not given" */
    case CLI_FLAG:
    case CLI_TEXT:
    case CLI_LIST:
    case CLI_NAMES:
        break;
    }
    return "a text";
}

static void offer_options(assay_nearest *nearest, const cli_option *table)
{
    for (const cli_option *o = table; o->name; o++)
        assay_nearest_offer(nearest, o->name);
}

static int fail_unknown(const cli_command *command, const char *word, size_t length, assay_error *err)
{
    assay_nearest nearest;
    assay_nearest_begin(&nearest, word + 2, length);
    offer_options(&nearest, command->options);
    offer_options(&nearest, cli_common_options);
    if (command->reads)
        offer_options(&nearest, cli_s3_options);
    return assay_fail(err, ASSAY_EUSAGE, "%s: unknown option \"%.100s\"%s%s%s; `assay %s --help` lists the options",
                      command->name, word, nearest.best ? " (did you mean \"--" : "", nearest.best ? nearest.best : "",
                      nearest.best ? "\"?)" : "", command->name);
}

static const cli_option *find_in(const cli_option *table, const char *name, size_t length)
{
    for (const cli_option *o = table; o->name; o++) {
        if (strlen(o->name) == length && memcmp(o->name, name, length) == 0)
            return o;
    }
    return NULL;
}

/* The option of that name; *fields becomes what its offset is of. */
static const cli_option *find_option(const cli_command *command, const char *name, size_t length, void **fields)
{
    const cli_option *option = find_in(command->options, name, length);
    if (option)
        return option;
    if ((option = find_in(cli_common_options, name, length))) {
        *fields = &common;
        return option;
    }
    if (!command->reads)
        return NULL;
    *fields = &s3;
    return find_in(cli_s3_options, name, length);
}

/* Trials and reports may lie in S3; other files may not. */
static bool is_local(const cli_option *option)
{
    return option->value && (strcmp(option->value, "FILE") == 0 || strcmp(option->value, "DIR") == 0);
}

/* Can the word behind an option whose value may be left out be its value? Options, paths and patterns are none. */
static bool may_be_name(const char *word)
{
    size_t length = strlen(word);
    return word[0] != '-' && !strpbrk(word, "/*?[") && access(word, F_OK) != 0 &&
           !(length > 5 && strcmp(word + length - 5, ".json") == 0);
}

/* Which of the choices was most likely meant; "" where there are none, or none is near. */
static const char *choice_hint(const cli_option *option, const char *value, char hint[ASSAY_NEAREST_ROOM])
{
    char words[256] = "", *rest = words;
    assay_nearest nearest;
    assay_nearest_begin(&nearest, value, strlen(value));
    if (option->kind == CLI_CHOICE)
        snprintf(words, sizeof words, "%s", option->choices);
    for (const char *word = strsep(&rest, "|"); word; word = strsep(&rest, "|"))
        assay_nearest_offer(&nearest, word);
    return assay_nearest_hint(&nearest, hint);
}

/* Parses argv[*i], the option that `word` says, and its value, which may be argv[*i + 1]. */
static int parse_option(const cli_command *command, const char *word, int argc, char **argv, int *i, void *fields,
                        assay_error *err)
{
    const char *name = word + 2, *value = strchr(name, '=');
    size_t length = value ? (size_t)(value - name) : strlen(name);
    const cli_option *option = find_option(command, name, length, &fields);
    if (command->world && strcmp(name, CLI_OPTION_MPI) == 0) /* main has seen to it */
        return ASSAY_OK;
    if (!option)
        return fail_unknown(command, argv[*i], length, err);
    void *field = (char *)fields + option->offset;
    if (option->kind == CLI_FLAG) {
        if (value)
            return assay_fail(err, ASSAY_EUSAGE, "%s: --%s takes no value", command->name, option->name);
        *(bool *)field = true;
        return ASSAY_OK;
    }
    if (value) {
        value++;
    } else if (option->kind == CLI_NAMES && (*i + 1 == argc || !may_be_name(argv[*i + 1]))) {
        ((cli_names *)field)->any = true;
        return ASSAY_OK;
    } else if (*i + 1 < argc) {
        value = argv[++*i];
    } else {
        return assay_fail(err, ASSAY_EUSAGE, "%s: --%s needs a value: %s", command->name, option->name, wanted(option));
    }
    if (is_local(option) && strncasecmp(value, "s3://", 5) == 0)
        return assay_fail(err, ASSAY_EUSAGE,
                          "%s: --%s %.100s: not in S3: only trials and reports lie there; give a file on this machine",
                          command->name, option->name, value);
    if (!take_value(option, value, field)) {
        char hint[ASSAY_NEAREST_ROOM];
        return assay_fail(err, ASSAY_EUSAGE, "%s: --%s %.100s: expected %s%s", command->name, option->name, value,
                          wanted(option), choice_hint(option, value, hint));
    }
    return ASSAY_OK;
}

int cli_options_parse(const cli_command *command, int argc, char **argv, void *fields, const char **operand,
                      size_t *operands, assay_error *err)
{
    bool only_operands = false;
    int status = ASSAY_OK;
    *operands = 0;
    for (int i = 0; i < argc && status == ASSAY_OK; i++) {
        if (!only_operands && strcmp(argv[i], "-o") == 0 && find_in(command->options, "out", 3)) {
            status = parse_option(command, "--out", argc, argv, &i, fields, err);
        } else if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (!only_operands && argv[i][0] == '-' && argv[i][1] == '-') {
            status = parse_option(command, argv[i], argc, argv, &i, fields, err);
        } else if (!only_operands && argv[i][0] == '-' && argv[i][1]) {
            status = assay_fail(err, ASSAY_EUSAGE, "%s: unknown option \"%.100s\"; options begin with two dashes",
                                command->name, argv[i]);
        } else if (*operands == command->most) {
            status =
                assay_fail(err, ASSAY_EUSAGE, "%s: \"%.100s\" is one operand too many; usage: assay %s %s [options]",
                           command->name, argv[i], command->name, command->operands);
        } else {
            operand[(*operands)++] = argv[i];
        }
    }
    assay_s3_configure(&s3);
    cli_set_colour((cli_draw_when)common.colour);
    if (status == ASSAY_OK && *operands < command->least)
        status = assay_fail(err, ASSAY_EUSAGE, "%s: %s is missing; usage: assay %s %s [options]", command->name,
                            command->operands, command->name, command->operands);
    return status;
}

void cli_options_release(const cli_command *command, void *fields)
{
    for (const cli_option *o = command->options; o->name; o++) {
        if (o->kind == CLI_LIST) {
            cli_list *list = (cli_list *)(void *)((char *)fields + o->offset);
            free(list->text);
            *list = (cli_list){NULL, 0};
        } else if (o->kind == CLI_NAMES) {
            cli_names *names = (cli_names *)(void *)((char *)fields + o->offset);
            free(names->list.text);
            *names = (cli_names){0};
        }
    }
}

static void put_option_help(const char *name, const char *value, const char *help, const assay_draw *draw,
                            assay_buf *out)
{
    char lead[64];
    snprintf(lead, sizeof lead, "  --%s%s%s  ", name, value ? " " : "", value ? value : "");
    assay_text_put_wrapped(out, draw, HELP_INDENT, lead, help, strlen(help));
}

static void put_table_help(const cli_option *table, const assay_draw *draw, assay_buf *out)
{
    for (const cli_option *o = table; o->name; o++)
        put_option_help(o->name, o->kind == CLI_CHOICE && !o->value ? o->choices : o->value, o->help, draw, out);
}

void cli_options_put_help(const cli_command *command, const assay_draw *draw, assay_buf *out)
{
    char usage[256];
    snprintf(usage, sizeof usage, "Usage: assay %s%s%s [options]", command->name, command->operands[0] ? " " : "",
             command->operands);
    assay_text_put_wrapped(out, draw, 4, "", usage, strlen(usage));
    assay_put_u8(out, '\n');
    assay_text_put_wrapped(out, draw, 0, NULL, command->summary, strlen(command->summary));
    assay_put_format(out, "\nOptions:\n");
    put_table_help(command->options, draw, out);
    put_table_help(cli_common_options, draw, out);
    if (command->reads)
        put_table_help(cli_s3_options, draw, out);
    if (command->world)
        put_option_help(CLI_OPTION_MPI, NULL,
                        "Start MPI even if no launcher is recognised. A single process does not need it.", draw, out);
    put_option_help("help", NULL, "Print this text.", draw, out);
}
