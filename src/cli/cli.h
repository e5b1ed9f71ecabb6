/* cli.h - shared by the commands: exit codes, standard output, reading a trial record by record. */
#pragma once

#include "base/json_writer.h"
#include "cli/options.h"
#include "engine/engine.h"
#include "source/trial_files.h"

enum { /* docs/design.md; the same on every rank */
       CLI_DONE = 0,
       CLI_FINDINGS = 1,
       CLI_USAGE = 2,
       CLI_LOSSES = 3,
       CLI_FAILED = 4,
       CLI_INCOMPLETE = 5, /* verify: a checkpoint whose writer has not come to its end */
       CLI_RUNS_CODE = 6,  /* verify: loading a checkpoint runs code */
       CLI_UNREAD = 7,     /* verify: a checkpoint of a kind that is not read */
       CLI_STOPPED = 75
};

struct cli_context {
    assay_comm *comm; /* NULL for commands that run on one rank */
    int argc;         /* the whole command line, for the report */
    char **argv;
    const char *version;
};

extern const cli_command cli_run, cli_compare, cli_ls, cli_show, cli_rules, cli_check, cli_stats, cli_pack, cli_unpack,
    cli_hang, cli_why, cli_topology, cli_verify, cli_seal, cli_watch, cli_pilot, cli_notify, cli_history,
    cli_completion;

/* Logs the error and returns its exit code. Not collective. */
int cli_fail(int status, const assay_error *err);
/* Writes the buffer to standard output and empties it. ASSAY_EIO when it is closed or full. Not collective. */
int cli_print(assay_buf *buf, assay_error *err);
/* From now on cli_print() writes to a file, which cli_print_end() puts there. Not collective. */
void cli_print_into(const char *path);
/* Puts the file of cli_print_into() there, unless `code` is of a command that failed. The exit code, of all ranks (`comm`
 * may be NULL). Collective. */
int cli_print_end(assay_comm *comm, int code);
/* What Ctrl-C (SIGINT, or SIGTERM) says before it ends the process, a whole line that stays as it is; NULL: nothing. What is
 * not complete is removed (base/leftovers.h). Not collective. */
void cli_say_when_interrupted(const char *line);
#define CLI_INTERRUPTED "\nassay: interrupted: what was not complete is not kept\n"
/* From now on it is no failure that standard output is closed before all is printed. */
void cli_reader_may_leave(void);
/* As cli_print(), for what stands in a file, too: that nobody reads any more (a pager was quit) is no failure from now
 * on, and does not end the program. Not collective. */
int cli_print_kept(assay_buf *buf, assay_error *err);
/* Ends a command that has made its output: prints the buffer and releases it; `code` unless that fails. Not collective.
 */
int cli_finish(assay_buf *buf, int code);
/* The same of one sentence without its line feed, which is broken between words on a terminal. */
int cli_finish_line(assay_buf *sentence, int code);

/* May files be written over: --overwrite (`given`), or ASSAY_OVERWRITE=1? Not collective. */
bool cli_may_overwrite(bool given);
/* Before a command works for long on what it writes to a file: ASSAY_EUSAGE where one is there and may not be written
 * over. Not collective. */
int cli_claim_file(const char *command, const char *path, bool overwrite, assay_error *err);
#define CLI_OVERWRITE_HELP "Write over a file that is there. Default: that is refused."

/* Rank 0's exit code to everyone. Collective. */
int cli_share_code(assay_comm *comm, int code);

/* Reads a job file's text into an initialised buffer. Statuses all mean exit code 2 but ASSAY_ENOMEM. Not collective.
 */
int cli_read_job_text(const char *path, assay_buf *text, assay_error *err);
enum { CLI_JOB_CEILING = 64 << 20, CLI_PLACE = 64 };
/* "line 5, column 9: " of what is wrong with a rule or an aggregation of the job, "" where that is not known. Returns
 * `room`. */
const char *cli_place_of(const assay_instance *instance, char room[CLI_PLACE]);
/* What is wrong with it, behind the name: which the text begins with as well where a job gave it no other. */
const char *cli_mistake_of(const assay_instance *instance);

/* Appends an item list "[2, 3]" of a shape. Not collective. */
void cli_put_shape(assay_buf *out, const int64_t *dim, int dims);
/* Writes an item of a JSON list of problems, each on a line of its own; offset below 0: null. Not collective. */
void cli_put_json_problem(assay_jw *w, const char *kind, const char *file, int64_t offset, const char *text);
/* Warns of all of them, each with its file. Not collective. */
void cli_warn_problems(const char *trial, const assay_problems *problems);
/* Writes all of them. Not collective. */
void cli_put_json_problems(const assay_problems *problems, assay_jw *w);

/* Puts the trials that patterns and places of several runs stand for into the job. They are looked up on one rank, so
 * that all have the same. Collective. */
int cli_expand_trials(assay_comm *comm, assay_job *job, assay_error *err);
