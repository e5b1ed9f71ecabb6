/* compare.c - assay compare: several trials side by side, without a job file. Otherwise it does what `assay run` does.
 * Two checkpoints, or series of them, are compared tensor by tensor (compare_tensors.c). */
#include "cli/built_in.h"
#include "cli/compare_tensors.h"
#include "cli/run.h"

enum { MOST_TRIALS = 1000 };

typedef struct compare_options {
    run_options run; /* first: the shared rows of the table count on it */
    const char *job;
    bool all, tensors;
    tensors_options of_tensors; /* what they do not share with the run */
} compare_options;

static const assay_setting OPTIONS[] = {
    {"job", ASSAY_SETTING_TEXT, offsetof(compare_options, job), "FILE",
     "Take rules, aggregations and output from this job file, and its trials if none is given here."},
    {"all", ASSAY_SETTING_SWITCH, offsetof(compare_options, all), NULL,
     "Report every trial separately, not only those that are unlike the others."},
    {"tensors", ASSAY_SETTING_SWITCH, offsetof(compare_options, tensors), NULL,
     "Compare two trials tensor by tensor, element by element. That is done without this option where both are "
     "checkpoints "
     "and none of --job, --all, --out, --reports, --learn, --against and --baseline is given. With --format csv: a row for "
     "each tensor that differs."},
    {"map", ASSAY_SETTING_REPEATED, offsetof(compare_options, of_tensors.maps), "REGEX=NAME",
     "With --tensors: a tensor of the first trial in whose name REGEX is found is compared with the one of that NAME, "
     "in which \\1 stands for a group; NAME[0:64], NAME[:, 0:64] and NAME[0/3] (block 0 of 3) mean a part, NAME^T the "
     "transposed tensor. "
     "Repeatable; the first that fits counts."},
    {"rtol", ASSAY_SETTING_REAL, offsetof(compare_options, of_tensors.relative), "X",
     "With --tensors: elements are close when |a - b| <= atol + rtol * |b|.", .initial = "0"},
    {"atol", ASSAY_SETTING_REAL, offsetof(compare_options, of_tensors.absolute), "X", "With --tensors: as above.",
     .initial = "0"},
    RUN_REPORT_OPTIONS,
    RUN_ONCE_OPTIONS,
    {0}};

static bool asks_for_rows(const compare_options *o)
{
    return o->run.format && strcmp(o->run.format, "csv") == 0;
}

/* Is --format a word that is taken for --reports? */
static bool asks_for_files(const compare_options *o)
{
    const char *form = o->run.format;
    return form && !asks_for_rows(o) && strcmp(form, "text") != 0 && strcmp(form, "json") != 0;
}

static bool asks_for_report(const compare_options *o)
{
    const run_options *r = &o->run;
    return o->job || o->all || r->out || r->reports || r->learn || r->against || r->baseline || r->trials_from ||
           asks_for_files(o);
}

static bool asks_for_tensors(const compare_options *o)
{
    const tensors_options *t = &o->of_tensors;
    return o->tensors || t->maps.count > 0 || t->relative > 0 || t->absolute > 0;
}

/* Are two trials to be compared tensor by tensor? 1, 0, or an error. Collective. */
static int by_tensors(const cli_context *context, const compare_options *o, assay_error *err)
{
    const cli_list *trials = &o->run.trials;
    if (asks_for_tensors(o) && (trials->count != 2 || asks_for_report(o)))
        return assay_fail(err, ASSAY_EUSAGE,
                          "compare: --tensors, --map, --rtol and --atol are for two trials, and make no report");
    if (asks_for_tensors(o))
        return 1;
    if (trials->count != 2 || asks_for_report(o))
        return 0;
    return cli_are_checkpoints(context, trials->text[0], trials->text[1], err);
}

/* Can one operand be several trials, be compared with something else, or have an option that says what is wrong? */
static bool may_be_alone(const compare_options *o, const char *trial)
{
    const run_options *r = &o->run;
    return strpbrk(trial, "*?[") || o->job || r->trials_from || r->against || r->learn || r->baseline || r->noise;
}

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
    if (parsed == ASSAY_OK && asks_for_rows(&options) && cli_given()->json)
        parsed = assay_fail(&err, ASSAY_EUSAGE, "compare: --json and --format csv exclude each other");
    const int tensors = parsed == ASSAY_OK ? by_tensors(context, &options, &err) : 0;
    if (tensors < 0)
        parsed = tensors;
    if (tensors == 1 && asks_for_rows(&options))
        options.of_tensors.form = ASSAY_LISTING_CSV;
    else
        ASSAY_THEN(parsed, run_choose_form("compare", &options.run, &err));
    options.run.only_odd = !options.all;
    if (tensors == 1) {
        if (options.run.json)
            options.of_tensors.form = ASSAY_LISTING_JSON;
        options.of_tensors.topology = options.run.topology;
        const int code = cli_compare_tensors(context, trial[0], trial[1], &options.of_tensors);
        cli_options_release(&cli_compare, &options);
        return code;
    }
    options.run.several = trials->count == 1 && !may_be_alone(&options, trial[0]);
    return run_command_job(context, &cli_compare, parsed, options.job, &options.run, &err);
}

const cli_command cli_compare = {
    "compare", "TRIAL...", "Compares trials: rules, losses, classes and tensors side by side.", OPTIONS, 0, MOST_TRIALS,
    RUN_TAKES, compare};
