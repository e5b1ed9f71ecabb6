/* run.h - what `assay run` shares with other commands that end in a report: the options, and the run itself. */
#pragma once

#include <math.h>

#include "cli/cli.h"
#include "cli/rules_load.h"
#include "cli/run_actions.h"
#include "cli/run_checkpoint.h"

enum { RUN_FAIL_NEVER }; /* then info, warning, error: one more than assay_severity */

/* Looks at the outcome on rank 0 before the report is made of it. */
typedef struct run_witness {
    void *context;
    int (*see)(void *context, const assay_outcome *outcome, assay_error *err);
} run_witness;

typedef struct run_options {
    cli_list trials;         /* [NAME=]PATH or patterns, instead of the job's */
    const char *topology;    /* of all trials: a file */
    const char *trials_from; /* a file with more of them */
    const char *baseline, *learn, *against, *noise;
    const char *job_text; /* a job that is built in: for run_load_job() without a path */
    size_t job_size;      /* bytes of it */
    const char *out, *reports, *format;
    char *own_place; /* of the first rank, where nobody said one: own_place.h */
    int fail_on;
    cli_names no_data; /* rules that may have none */
    size_t max_findings;
    double rule_seconds, min_coverage; /* the last in percent */
    const char *rules_path;
    bool digest, dry_run, trust_rules;
    bool overwrite;
    bool json;     /* what is printed: run_choose_form() */
    bool lines;    /* JSON is an object a line: report.jsonl */
    bool only_odd; /* see assay_report */
    bool several;  /* what is given has to stand for two trials or more */
    run_checkpoint checkpoint;
    run_actions actions;
    run_witness witness; /* see may be NULL */
} run_options;

#define RUN_DEFAULTS                                                                                                   \
    {                                                                                                                  \
        .min_coverage = NAN                                                                                            \
    }
/* What commands that end in a report share with others. */
#define RUN_TAKES (CLI_WORLD | CLI_TRIALS | CLI_STEPS | CLI_MEMORY | CLI_PROGRESS | CLI_SAYS)

/* The rows of the option table that commands share whose fields begin with a run_options. */
#define RUN_FIELD(name) offsetof(run_options, name)
#define RUN_REPORT_OPTIONS                                                                                             \
    {"out", ASSAY_SETTING_TEXT, RUN_FIELD(out), "PLACE",                                                               \
     "Write report.json and report.txt there: a directory, or s3://BUCKET/PREFIX. Default: the job's "                 \
     "output.directory, else a new one below assay-report, to which assay-report/latest leads then."},                 \
        {"overwrite", ASSAY_SETTING_SWITCH, RUN_FIELD(overwrite), NULL,                                                \
         "Write over the report of another trial, and over the file of --learn. Default: that is refused; a report "   \
         "of the same trials is replaced."},                                                                           \
        {"reports", ASSAY_SETTING_TEXT, RUN_FIELD(reports), "LIST",                                                    \
         "Which files to write, separated by commas, out of:" ASSAY_FORM_WORDS                                         \
         ". Default: the job's, else json,text."},                                                                     \
        {"format", ASSAY_SETTING_TEXT, RUN_FIELD(format), "FORM",                                                      \
         "How to print the report: text or json. Default: text. Other words are taken for --reports."},                \
        {"fail-on",                                                                                                    \
         ASSAY_SETTING_WORD,                                                                                           \
         RUN_FIELD(fail_on),                                                                                           \
         "LEVEL",                                                                                                      \
         "Exit with 1 when a rule of at least this severity has findings, has no data or is in error, or the first "   \
         "line gives a reason not to call a trial good (a checkpoint that is not complete, a node that recorded "      \
         "nothing for a while, a run that failed): never, info, warning, error.",                                      \
         "never|info|warning|error",                                                                                   \
         .initial = "never"},                                                                                          \
        {"allow-no-data", ASSAY_SETTING_NAMES, RUN_FIELD(no_data), "[RULE]",                                           \
         "Allow this rule, or without a name any rule, to have no data. Repeatable. Default: --fail-on counts a rule " \
         "without data, and a run in which no rule had data always exits with 1."},                                    \
        {"min-coverage", ASSAY_SETTING_REAL, RUN_FIELD(min_coverage), "PERCENT",                                       \
         "Exit with 1 when less of a trial's TRAIN steps, or of its workers, was recorded. Default: 1 with "           \
         "--fail-on, else nothing is asked for."},                                                                     \
        {"max-findings", ASSAY_SETTING_COUNT, RUN_FIELD(max_findings), "N",                                            \
         "Keep the first N findings of a rule in full, and count all. Default: the job's, else 1000."},                \
        {"digest", ASSAY_SETTING_SWITCH, RUN_FIELD(digest), NULL,                                                      \
         "Also print the SHA-256 of the part that is the same at any number of ranks: report.json up to the line of "  \
         "\"run\"."},                                                                                                  \
        {"no-actions", ASSAY_SETTING_SWITCH, RUN_FIELD(actions.none), NULL, RUN_NO_ACTIONS_HELP},                      \
        {"show-actions", ASSAY_SETTING_SWITCH, RUN_FIELD(actions.show), NULL, RUN_SHOW_ACTIONS_HELP},                  \
        {"rules-path", ASSAY_SETTING_TEXT, RUN_FIELD(rules_path), "DIRS", CLI_RULES_PATH_HELP},                        \
        {"rule-seconds",                                                                                               \
         ASSAY_SETTING_REAL,                                                                                           \
         RUN_FIELD(rule_seconds),                                                                                      \
         "N",                                                                                                          \
         "How long one call of a custom rule may take before the rule counts as failed; 0: no limit.",                 \
         .initial = "60"},                                                                                             \
    {                                                                                                                  \
        "trust-rules", ASSAY_SETTING_SWITCH, RUN_FIELD(trust_rules), NULL,                                             \
            "Call custom rules in the process of assay, not in their own: faster for many small steps, but a crash "   \
            "or an endless loop in them then ends or hangs the run."                                                   \
    }

#define RUN_TRIAL_OPTION                                                                                               \
    {                                                                                                                  \
        "trial", ASSAY_SETTING_REPEATED, RUN_FIELD(trials), "[NAME=]PATH",                                             \
            "Analyse this trial instead of the job's. A pattern such as 'runs/*' stands for all matches. Repeatable.", \
            NULL                                                                                                       \
    }
#define RUN_SHARED_OPTIONS RUN_TRIAL_OPTION, RUN_REPORT_OPTIONS
/* What only goes with trials that are there. */
#define RUN_ONCE_OPTIONS                                                                                               \
    {"topology", ASSAY_SETTING_TEXT, RUN_FIELD(topology), "FILE",                                                      \
     "Which worker has which piece of the trials' tensors, in place of what the job and the trials say."},             \
        {"trials-from", ASSAY_SETTING_TEXT, RUN_FIELD(trials_from), "FILE",                                            \
         "Also analyse the trials that this file lists, one per line, as [NAME=]PATH or a pattern. Lines that begin "  \
         "with "                                                                                                       \
         "# are comments."},                                                                                           \
        {"baseline", ASSAY_SETTING_TEXT, RUN_FIELD(baseline), "NAME",                                                  \
         "Compare the other trials with this one. Default: the job's, else the first."},                               \
        {"learn", ASSAY_SETTING_TEXT, RUN_FIELD(learn), "FILE",                                                        \
         "Write the healthy bands of these trials: what their tensors and losses are at each step."},                  \
        {"noise", ASSAY_SETTING_TEXT, RUN_FIELD(noise), "LIST",                                                        \
         "With --learn: what counts as chance, as points=3,share=0.05,margin=0.05,factor=1.5. With --against: factor " \
         "alone."},                                                                                                    \
        {"against", ASSAY_SETTING_TEXT, RUN_FIELD(against), "FILE",                                                    \
         "Compare the trials with the bands that --learn wrote. What leaves them counts as findings of severity "      \
         "warning."},                                                                                                  \
        {"dry-run", ASSAY_SETTING_SWITCH, RUN_FIELD(dry_run), NULL,                                                    \
         "Only print what would be read, how evenly the ranks share it, and the actions."},                            \
        {"checkpoint", ASSAY_SETTING_TEXT, RUN_FIELD(checkpoint.file), "FILE", RUN_CHECKPOINT_HELP},                   \
        {"checkpoint-every", ASSAY_SETTING_REAL, RUN_FIELD(checkpoint.minutes), "MINUTES", RUN_CHECKPOINT_EVERY_HELP}, \
    {                                                                                                                  \
        "resume", ASSAY_SETTING_SWITCH, RUN_FIELD(checkpoint.resume), NULL, RUN_RESUME_HELP, NULL                      \
    }

/* Sets up the log and reads the job for the options: rank 0 reads the file, all parse the same text, as the command
 * line wishes it; rank 0 looks up patterns of trials. Without a path the job is options->job_text. Prepares the job's
 * actions: release them with run_actions_release(). `parsed` is how this rank fared with its arguments. Collective.
 * (run_load.c) */
int run_load_job(const cli_context *context, int parsed, const char *path, run_options *options, assay_buf *text,
                 assay_job *job, assay_error *err);
/* Where the report goes. Not collective. */
const char *run_directory(const run_options *options, const assay_job *job);
/* After parsing: what --format and --json say of what is printed. Words that no form of it has are the files of
 * --reports, which --format once was; it says so. ASSAY_EUSAGE where options exclude each other. Not collective. */
int run_choose_form(const char *command, run_options *options, assay_error *err);
/* What the options mean for the engine. Not collective. */
assay_engine_options run_engine_options(const run_options *options, const assay_job *job);
/* Loads the job and runs it; releases the options, which are those of `command`. The exit code. Collective. */
int run_command_job(const cli_context *context, const cli_command *command, int parsed, const char *path,
                    run_options *options, assay_error *err);
/* Ends what run_load_job() began, the actions and a directory of the run's own, and says where the report is. `code`: the
 * exit code. Not collective. */
void run_end(assay_comm *comm, run_options *options, const assay_job *job, int code);
/* On rank 0: writes the report of an outcome to which more will come, where the one at the end goes, too; it says so.
 * What holds one trial against bands, and results.h5, wait for the end. ASSAY_EIO, ASSAY_ENOMEM. Not collective. */
int run_report_so_far(const cli_context *context, const run_options *options, const assay_job *job,
                      const assay_outcome *outcome, assay_error *err);
/* Runs the job, prints and writes its report; the exit code. Collective. */
int run_job(const cli_context *context, run_options *options, const assay_job *job, const assay_buf *text);
