/* compare.c - assay compare: several trials side by side, without a job file. Otherwise it does what `assay run` does.
 */
#include "cli/built_in.h"
#include "cli/run.h"

enum { MOST_TRIALS = 1000 };

typedef struct compare_options {
    run_options run; /* first: the shared rows of the table count on it */
    const char *job;
    bool all;
} compare_options;

static const cli_option OPTIONS[] = {
    {"job", CLI_TEXT, offsetof(compare_options, job), "FILE",
     "Take rules, aggregations and output from this job file, and its trials if none is given here.", NULL},
    {"all", CLI_FLAG, offsetof(compare_options, all), NULL,
     "Report every trial separately, not only those that are unlike the others.", NULL},
    RUN_REPORT_OPTIONS,
    RUN_ONCE_OPTIONS,
    {NULL, CLI_FLAG, 0, NULL, NULL, NULL},
};

static int compare(const cli_context *context, int argc, char **argv)
{
    static const char *trial[MOST_TRIALS];
    assay_error err = {""};
    compare_options options = {.run = RUN_DEFAULTS};
    cli_list *trials = &options.run.trials;
    trials->text = trial; /* the operands: no option of this command adds to them */
    options.run.job_text = (const char *)cli_built_in_job;
    options.run.job_size = cli_built_in_job_size;
    int parsed = cli_options_parse(&cli_compare, argc, argv, &options, trial, &trials->count, &err);
    options.run.only_odd = !options.all;
    return run_command_job(context, &cli_compare, parsed, options.job, &options.run, &err);
}

const cli_command cli_compare = {
    "compare", "TRIAL...", "Compares trials: rules, losses, classes and tensors side by side.",
    OPTIONS,   0,          MOST_TRIALS,
    true,      compare,    true};
