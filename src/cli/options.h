/* options.h - one table per command, and one of what commands share: the command line is parsed by them, and --help, the
 * man pages (tests/e2e/man_pages.py), completion and the table in docs/configuration.md are made of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

#include "base/settings.h"
#include "report/text/draw.h"
#include "s3/s3.h"

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

/* The form of a report whose files have that suffix where it is not its name: "markdown" for "md"; NULL: none. */
const char *cli_form_by_suffix(const char *word, size_t length);

typedef struct cli_context cli_context;

/* What a command is, and the options that it shares with others: options.c describes each of them once. */
enum {
    CLI_WORLD = 1 << 0,     /* runs on all ranks */
    CLI_TRIALS = 1 << 1,    /* reads trials: the options of S3 */
    CLI_PRINTED = 1 << 2,   /* prints one answer, which --out FILE takes */
    CLI_PAGED = 1 << 3,     /* likewise, and on a terminal it goes through a pager */
    CLI_STEPS = 1 << 4,     /* --steps */
    CLI_MEMORY = 1 << 5,    /* --memory */
    CLI_PROGRESS = 1 << 6,  /* --progress */
    CLI_OVERWRITE = 1 << 7, /* --overwrite of a file */
    /* --format and --json, and which forms there are */
    CLI_SAYS = 1 << 8,      /* text, json */
    CLI_LISTS = 1 << 9,     /* text, json, csv */
    CLI_TABLE = 1 << 10,    /* csv, json */
    CLI_PAGE = 1 << 11,     /* text, json, csv, markdown, html */
    CLI_DOCUMENT = 1 << 12, /* json */
};

/* The forms of an answer, in the order of their words; the first three are those of a listing. */
typedef enum cli_form { CLI_TEXT, CLI_JSON, CLI_CSV, CLI_MARKDOWN, CLI_HTML } cli_form;

/* What the options that commands share were set to. */
typedef struct cli_shared {
    int log;    /* 1: all */
    int colour; /* cli_draw_when */
    bool quiet, json, csv, overwrite, mpi;
    const char *out;
    assay_setting_range steps;
    size_t memory;
    double progress; /* seconds; negative: nobody said */
    assay_s3_options s3;
    int form; /* cli_form, of --format, --json and --csv */
} cli_shared;
/* Of the command line that was parsed last. Not collective. */
const cli_shared *cli_given(void);
/* Seconds between two lines of progress as the engine takes it: 0 with --quiet. */
double cli_progress(void);

typedef struct cli_command {
    const char *name;
    const char *operands; /* "JOB", as the usage line shows them */
    const char *summary;  /* one sentence */
    const assay_setting *options;
    size_t least, most;                                            /* operands */
    unsigned takes;                                                /* CLI_WORLD and so on */
    int (*run)(const cli_context *context, int argc, char **argv); /* the exit code */
} cli_command;

/* The options of a command: its own, then those that it shares. How many tables there are; its own count where both have
 * one. */
enum { CLI_TABLES = 16 };
size_t cli_option_tables(const cli_command *command, const assay_setting *table[CLI_TABLES]);

/* An option of every command that runs on all ranks: MPI is started without a launcher, too. main looks for it. */
#define CLI_OPTION_MPI "mpi"

/* The option of a command, or one of those that all have; NULL: there is none of that name (`length` bytes). Not collective. */
const assay_setting *cli_option_find(const cli_command *command, const char *name, size_t length);

/* Sets `fields` to what the table says is the default where it says one, then to what the file of defaults says
 * (cli/defaults.h), then to the arguments behind the command's name (-o is short for --out, -q for --quiet, -v for
 * --log=all). `operand` gets the operands, which are `*operands` many. Values point into argv. ASSAY_EUSAGE with the
 * option, what is wrong and what to do. Not collective: every rank parses the same arguments. */
int cli_options_parse(const cli_command *command, int argc, char **argv, void *fields, const char **operand,
                      size_t *operands, assay_error *err);
/* Frees the lists. Not collective. */
void cli_options_release(const cli_command *command, void *fields);
/* Appends the text of --help, as wide as the terminal (NULL: there is none); in brief, as for -h: the first sentence of each option. Not collective. */
void cli_options_put_help(const cli_command *command, bool brief, const assay_draw *draw, assay_buf *out);
