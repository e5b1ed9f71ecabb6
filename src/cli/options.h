/* options.h - one table per command, for parsing and for --help; a test compares it with the man page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

#include "base/settings.h"
#include "report/text/draw.h"

/* Kinds of options: those of base/settings.h that a text can give, and two that the command line reads itself:
 * ASSAY_SETTING_REPEATED into a cli_list, ASSAY_SETTING_NAMES into cli_names. */

typedef struct cli_list {
    const char **text; /* owned by the options: cli_options_release() */
    size_t count;
} cli_list;

/* Appends a text (borrowed); false without memory. Not collective. */
bool cli_list_add(cli_list *list, const char *text);

typedef struct cli_names {
    bool any; /* given without a value */
    cli_list list;
} cli_names;

/* How a listing is printed: the two options of every command that lists something. */
typedef struct cli_form {
    int form; /* assay_listing_form */
    bool json;
} cli_form;

#define CLI_FORM_OPTIONS(type, member, as_json, as_csv)                                                                \
    {"format",                                                                                                         \
     ASSAY_SETTING_WORD,                                                                                               \
     offsetof(type, member.form),                                                                                      \
     "FORM",                                                                                                           \
     "How to print it: text, json, or csv (" as_csv ", with a line of names). Default: text.",                         \
     "text|json|csv"},                                                                                                 \
    {                                                                                                                  \
        "json", ASSAY_SETTING_SWITCH, offsetof(type, member.json), NULL, as_json                                       \
    }

/* The form of a report whose files have that suffix where it is not its name: "markdown" for "md"; NULL: none. */
const char *cli_form_by_suffix(const char *word, size_t length);
/* After parsing: sets the form that was chosen. ASSAY_EUSAGE for both JSON and CSV. Not collective. */
int cli_form_choose(const char *command, cli_form *choice, assay_error *err);

typedef struct cli_context cli_context;

/* What a command writes to standard output. */
typedef enum cli_output {
    CLI_OTHERWISE,
    CLI_PRINTED, /* one answer, which --out FILE takes */
    CLI_PAGED    /* the same, and on a terminal it goes through a pager */
} cli_output;

typedef struct cli_command {
    const char *name;
    const char *operands; /* "JOB", as the usage line shows them */
    const char *summary;  /* one sentence */
    const assay_setting *options;
    size_t least, most;                                            /* operands */
    bool world;                                                    /* runs on all ranks */
    int (*run)(const cli_context *context, int argc, char **argv); /* the exit code */
    bool reads;                                                    /* trials: it takes the options of S3 */
    cli_output output;
} cli_command;

/* The options of a command: its own, those of every command, then those of its kind. How many tables there are. */
enum { CLI_TABLES = 4 };
size_t cli_option_tables(const cli_command *command, const assay_setting *table[CLI_TABLES]);
/* --out of commands that print one answer. */
extern const assay_setting cli_printed_options[];

/* An option of every command that runs on all ranks: MPI is started without a launcher, too. main looks for it. */
/* --memory of the commands that read trials: size_t. With less than a megabyte every record would be told as lost. */
#define CLI_MEMORY_OPTION(at, of)                                                                                      \
    {                                                                                                                  \
        "memory", ASSAY_SETTING_SIZE, at, "SIZE",                                                                      \
            of " that a rank may use, with program, index and the rules' states, such as 2G. Default: 512M.",          \
            .least = 1 << 20                                                                                           \
    }

#define CLI_OPTION_MPI "mpi"

/* The option of a command, or one of those that all have; NULL: there is none of that name (`length` bytes). Not collective. */
const assay_setting *cli_option_find(const cli_command *command, const char *name, size_t length);

/* Takes what the defaults say (cli/defaults.h), then parses the arguments behind the command's name into `fields` (-o is short for --out, -q for --quiet, -v for --log=all), whose defaults the caller has
 * set; `operand` gets the operands, which are `*operands` many. Values point into argv. ASSAY_EUSAGE with the option,
 * what is wrong and what to do. Not collective: every rank parses the same arguments. */
int cli_options_parse(const cli_command *command, int argc, char **argv, void *fields, const char **operand,
                      size_t *operands, assay_error *err);
/* Frees the lists. Not collective. */
void cli_options_release(const cli_command *command, void *fields);
/* Appends the text of --help, as wide as the terminal (NULL: there is none); in brief, as for -h: the first sentence of each option. Not collective. */
void cli_options_put_help(const cli_command *command, bool brief, const assay_draw *draw, assay_buf *out);
