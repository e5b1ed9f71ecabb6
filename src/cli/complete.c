/* complete.c - how an unfinished command line can go on: see cli_complete().
 *
 * Everything comes from the tables that parse the command line and print --help, from the registry of rules, and from
 * the trial that the line names. Names that hold control characters are left out: a shell takes a line for a value. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "report/report.h"
#include "rule/params.h"

enum { TEXT_COLUMNS = 60, WORDS_MOST = 64 };

/* Where candidates go. Those that begin with `start` are printed behind `lead`, which stands on the line already. */
typedef struct offers {
    const char *start, *lead; /* "wa" and "--fail-on=" of --fail-on=wa */
    size_t lead_length;
    assay_buf *out;
} offers;

/* The words of a line without options and their values. */
typedef struct line_words {
    const char *word[WORDS_MOST];
    size_t count;
} line_words;

static bool can_be_offered(const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < 0x20 || *name == 0x7f)
            return false;
    return true;
}

static void offer(const char *value, const char *what, const offers *to)
{
    if (strncmp(value, to->start, strlen(to->start)) != 0 || !can_be_offered(value))
        return;
    assay_put_bytes(to->out, to->lead, to->lead_length);
    assay_put_bytes(to->out, value, strlen(value));
    if (what && *what) {
        size_t length = strcspn(what, ".;");
        assay_put_format(to->out, "\t%.*s", (int)(length < TEXT_COLUMNS ? length : TEXT_COLUMNS), what);
    }
    assay_put_u8(to->out, '\n');
}

static void offer_files(const offers *to)
{
    assay_put_format(to->out, ":files\n");
}

static void offer_words(const char *words, const offers *to)
{
    while (*words) {
        char word[64];
        size_t length = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (*word)
            offer(word, NULL, to);
        words += length + (words[length] == '|');
    }
}

/* The options of a table that the command means by their names. */
static void offer_options(const cli_command *command, const assay_setting *table, const offers *to)
{
    char name[64];
    for (const assay_setting *o = table; o->name; o++) {
        if (cli_option_find(command, o->name, strlen(o->name)) != o)
            continue;
        snprintf(name, sizeof name, "--%s", o->name);
        offer(name, o->help, to);
    }
}

static void offer_commands(const offers *to)
{
    for (size_t i = 0; cli_command_at(i); i++)
        offer(cli_command_at(i)->name, cli_command_at(i)->summary, to);
}

static void offer_rules(bool aggregations, const offers *to)
{
    for (size_t i = 0; assay_rule_at(i); i++) {
        const assay_rule_ops *ops = assay_rule_at(i);
        if (aggregations || !(ops->traits & ASSAY_RULE_AGGREGATION))
            offer(ops->name, ops->summary, to);
    }
}

static void offer_parameters(const char *rule, const offers *to)
{
    const assay_rule_ops *ops = assay_rule_find(rule);
    const assay_param_def *def;
    for (size_t i = 0; ops && (def = assay_params_def(ops, i)); i++)
        offer(def->name, def->help, to);
}

/* What of a trial is offered. */
typedef enum trial_part { TENSORS, WORKERS, COLLECTIONS } trial_part;

/* Trials in S3 are not asked: that takes longer than one waits for a key. */
static void offer_of_trial(const char *location, trial_part part, const offers *to)
{
    assay_trial_files files = {0};
    assay_error err = {""};
    if (strncmp(location, "s3://", 5) == 0 || assay_trial_open(location, &files, &err) != ASSAY_OK)
        return;
    for (uint32_t t = 0; part == TENSORS && t < assay_dict_count(files.tensors); t++)
        offer(assay_dict_name(files.tensors, t, &(size_t){0}), NULL, to);
    for (uint32_t w = 0; part == WORKERS && w < files.catalog.workers; w++)
        offer(files.catalog.worker[w], NULL, to);
    for (size_t c = 0; part == COLLECTIONS && c < files.catalog.collections.count; c++)
        offer(files.catalog.collections.list[c].name, NULL, to);
    assay_trial_release(&files);
}

/* The option of a word "--name" or "--name=value". */
static const assay_setting *option_of(const cli_command *command, const char *word)
{
    if (strcmp(word, "-o") == 0)
        word = "--out";
    return strncmp(word, "--", 2) == 0 ? cli_option_find(command, word + 2, strcspn(word + 2, "=")) : NULL;
}

/* The option whose value is the next word. */
static const assay_setting *takes_value(const cli_command *command, const char *word)
{
    const assay_setting *option = strchr(word, '=') ? NULL : option_of(command, word);
    return option && option->kind != ASSAY_SETTING_SWITCH && option->kind != ASSAY_SETTING_NAMES ? option : NULL;
}

/* The trial stands first in every command that has an option with names of one. */
static void offer_value(const assay_setting *option, const line_words *operands, const offers *to)
{
    const char *trial = operands->count > 0 ? operands->word[0] : NULL;
    if (option->kind == ASSAY_SETTING_WORD)
        offer_words(option->words, to);
    else if (strcmp(option->name, "reports") == 0)
        for (int f = 0; f < assay_report_forms.count; f++)
            offer(assay_report_forms.list[f].word, NULL, to);
    else if (strcmp(option->name, "worker") == 0 && trial)
        offer_of_trial(trial, WORKERS, to);
    else if (strcmp(option->name, "collection") == 0 && trial)
        offer_of_trial(trial, COLLECTIONS, to);
    else if (option->kind == ASSAY_SETTING_TEXT || option->kind == ASSAY_SETTING_REPEATED)
        offer_files(to);
}

static void offer_operand(const cli_command *command, const line_words *operands, const offers *to)
{
    if (command == &cli_completion) {
        offer_words(command->operands, to);
    } else if (command == &cli_rules) {
        if (operands->count == 0) {
            offer_rules(true, to);
            offer("new", "Starts a rule of your own", to);
        } else if (operands->count == 1) {
            offer_parameters(operands->word[0], to);
        }
    } else if (command == &cli_show && operands->count == 1) {
        offer_of_trial(operands->word[0], TENSORS, to);
    } else if (operands->count < command->most) {
        offer_files(to);
    }
}

static void complete_command(const cli_command *command, int argc, char **argv, const offers *to)
{
    line_words operands = {.count = 0};
    const assay_setting *pending = NULL; /* its value is due */
    for (int i = 0; i + 1 < argc; i++) {
        if (pending)
            pending = NULL;
        else if (argv[i][0] == '-')
            pending = takes_value(command, argv[i]);
        else if (operands.count < WORDS_MOST)
            operands.word[operands.count++] = argv[i];
    }
    const char *value = strchr(to->start, '=');
    offers behind = {value ? value + 1 : "", to->start, value ? (size_t)(value + 1 - to->start) : 0, to->out};
    const assay_setting *given = value ? option_of(command, to->start) : NULL;
    if (pending) {
        offer_value(pending, &operands, to);
    } else if (given) {
        offer_value(given, &operands, &behind);
    } else if (to->start[0] == '-') {
        const assay_setting *table[CLI_TABLES];
        for (size_t t = 0, tables = cli_option_tables(command, table); t < tables; t++)
            offer_options(command, table[t], to);
        offer("--help", NULL, to);
    } else {
        if (argc > 1 && option_of(command, argv[argc - 2]) &&
            option_of(command, argv[argc - 2])->kind == ASSAY_SETTING_NAMES)
            offer_rules(false, to);
        offer_operand(command, &operands, to);
    }
}

int cli_complete(int argc, char **argv)
{
    assay_error err = {""};
    assay_buf out = ASSAY_BUF(64 << 20);
    if (argc < 1 || assay_rule_register_builtin(&err) != ASSAY_OK)
        return CLI_DONE;
    const cli_command *command = argc > 1 ? cli_command_find(argv[0]) : NULL;
    offers to = {.start = argv[argc - 1], .lead = argv[argc - 1], .out = &out};
    if (command) {
        complete_command(command, argc - 1, argv + 1, &to);
    } else if (argc == 1 || (argc == 2 && strcmp(argv[0], "help") == 0)) {
        offer_commands(&to);
        if (argc == 1) {
            offer("help", NULL, &to);
            offer("--version", NULL, &to);
        }
    }
    return cli_finish(&out, CLI_DONE);
}
