/* stats.c - assay stats: the statistics of every tensor as a table, without any rules. */
#include <unistd.h>

#include "base/path.h"
#include "base/search.h"
#include "cli/cli.h"
#include "cli/events_table.h"
#include "cli/metrics.h"
#include "cli/s3.h"
#include "hdf5/hdf5_file.h"
#include "report/results/results.h"
#include "report/text/listing.h"
#include "report/report.h"

typedef struct stats_options {
    const char *out; /* NULL: the table is printed */
    bool metrics, events;
} stats_options;

#define FIELD(name) offsetof(stats_options, name)
static const assay_setting OPTIONS[] = {
    {"out", ASSAY_SETTING_TEXT, FIELD(out), "FILE",
     "Write the table to this file, in the form of its suffix: HDF5 (.h5), comma-separated text (.csv) or an object a "
     "line (.jsonl); -o for short. Default: it is printed."},
    {"metrics", ASSAY_SETTING_SWITCH, FIELD(metrics), NULL,
     "Write the profiler data instead: a row for every sample of every metric and every step."},
    {"events", ASSAY_SETTING_SWITCH, FIELD(events), NULL,
     "Write the events of the timelines instead: a row for each that a process recorded."},
    {0}};

/* What makes the engine read everything: an aggregation over all tensors and kinds that adds nothing up. */
static int want_everything(const assay_params *params, assay_need *need, void **data, assay_error *err)
{
    const assay_slot slot = {.kinds = UINT32_MAX};
    int number = assay_need_slot(need, &slot, err);
    return number < 0 ? number : ASSAY_OK;
}

static int add_nothing(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    return ASSAY_OK;
}

static const assay_rule_ops EVERYTHING = {
    ASSAY_RULE_HEAD,
    .name = "everything",
    .summary = "Reads every tensor.",
    .traits = ASSAY_RULE_AGGREGATION,
    .setup = want_everything,
    .map = add_nothing,
    ASSAY_COMMON_STATE,
};

static bool is_hdf5(const stats_options *options)
{
    return options->out && assay_path_ends(options->out, ".h5");
}

/* The form of rows: what the file is called counts where there is one. */
static assay_listing_form form_of(const stats_options *options)
{
    const bool lines = options->out ? assay_path_ends(options->out, ".jsonl") : cli_given()->form == CLI_JSON;
    return lines ? ASSAY_LISTING_JSON : ASSAY_LISTING_CSV;
}

static int check_options(const stats_options *options, assay_error *err)
{
    const char *out = options->out;
    if (out && !is_hdf5(options) && !assay_path_ends(out, ".csv") && !assay_path_ends(out, ".jsonl"))
        return assay_fail(err, ASSAY_EUSAGE, "stats: %s: the name of the file has to end in .h5, .csv or .jsonl", out);
    if (out && cli_given()->form == CLI_JSON && form_of(options) != ASSAY_LISTING_JSON)
        return assay_fail(err, ASSAY_EUSAGE, "stats: %s: with --json the name of the file has to end in .jsonl", out);
    if (options->metrics && options->events)
        return assay_fail(err, ASSAY_EUSAGE, "stats: --metrics and --events are tables of their own: give one of them");
    if ((options->metrics || options->events) && is_hdf5(options))
        return assay_fail(err, ASSAY_EUSAGE, "stats: %s: --%s writes a .csv or .jsonl file", out,
                          options->metrics ? "metrics" : "events");
    if (is_hdf5(options) && !assay_hdf5_available())
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "%s: this build has no parallel HDF5: build assay with ASSAY_WITH_HDF5 and MPI, "
                          "or write a .csv file",
                          out);
    return ASSAY_OK;
}

/* The job: these trials, and everything in them. */
static int make_job(const char *const *trials, size_t count, assay_job *job, assay_error *err)
{
    static const char text[] =
        "{\"trials\": [], \"aggregations\": [{\"name\": \"everything\", \"kind\": \"everything\"}]}";
    int status = assay_rule_register(&EVERYTHING, err);
    ASSAY_THEN(status, assay_job_parse("stats", text, sizeof text - 1, &assay_report_forms, job, err));
    return status == ASSAY_OK ? assay_job_set_trials(job, trials, count, err) : status;
}

/* On rank 0: what could not be read, or is odd, is said; the exit code. */
/* Has the trial steps, and none of those that were asked for? */
static bool lacks_steps(const assay_trial *trial)
{
    const assay_setting_range *wanted = &cli_given()->steps;
    const uint64_t steps = trial ? assay_trial_steps(trial) : 0;
    uint64_t first = 0;
    ASSAY_SEARCH(first, steps, assay_trial_step(trial, first)->step < wanted->from);
    return steps > 0 && (first == steps || assay_trial_step(trial, first)->step >= wanted->to);
}

static int conclude(const assay_outcome *outcome)
{
    size_t lacking = 0;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        const assay_trial_outcome *trial = &outcome->trials[t];
        const char *of_ranks = assay_event_files_of_ranks(&trial->catalog.events);
        assay_error err = {""};
        if (trial->status != ASSAY_OK)
            return cli_fail(trial->status, &trial->error);
        cli_warn_problems(trial->trial->path, &trial->problems); /* a log beside traces may have been lost */
        if (of_ranks && trial->catalog.format_count == 0)
            return cli_fail(assay_fail(&err, ASSAY_ENOTFOUND, "%s: %s", trial->trial->path, of_ranks), &err);
        lacking += lacks_steps(trial->info);
    }
    if (lacking > 0 && lacking == outcome->trial_count) {
        assay_error err = {""};
        return cli_fail(assay_fail(&err, ASSAY_ENOTFOUND, "%s: no step in --steps", outcome->trials[0].trial->path),
                        &err);
    }
    return assay_outcome_has_losses(outcome) ? CLI_LOSSES : CLI_DONE;
}

static int write_table(const cli_context *context, const stats_options *options, const assay_outcome *outcome,
                       assay_results *results, assay_error *err)
{
    const assay_results_origin origin = {context->version, "assay stats", NULL};
    if (!is_hdf5(options))
        return assay_results_write_rows(context->comm, results, outcome, form_of(options), options->out, err);
    return assay_results_write_hdf5(context->comm, results, outcome, &origin, options->out, err);
}

static int run_job(const cli_context *context, const stats_options *options, const assay_job *job)
{
    assay_error err = {""};
    assay_outcome outcome = {0};
    assay_results *results = assay_results_new(job);
    int code = CLI_DONE, status = assay_comm_agree(context->comm, results ? ASSAY_OK : ASSAY_ENOMEM, &err);
    if (status == ASSAY_OK) {
        const assay_engine_options engine = {.memory = cli_engine_memory(job, cli_given()->memory),
                                             .from = cli_given()->steps.from,
                                             .to = cli_given()->steps.to,
                                             .observer = assay_results_observer(results)};
        status = assay_engine_run(context->comm, job, &engine, &outcome, &err);
    }
    if (status == ASSAY_OK)
        code = cli_share_code(context->comm, assay_comm_rank(context->comm) == 0 ? conclude(&outcome) : CLI_DONE);
    if (status == ASSAY_OK && (code == CLI_DONE || code == CLI_LOSSES))
        status = write_table(context, options, &outcome, results, &err);
    assay_results_free(results);
    assay_outcome_release(&outcome);
    return status == ASSAY_OK ? code : cli_fail(status, &err);
}

/* On rank 0: a table of the profiler data; the exit code. */
static int write_events(const stats_options *options, const char *trial)
{
    assay_error err = {""};
    uint64_t losses = 0;
    int status = cli_events_write(trial, form_of(options), options->out, &losses, &err);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    return losses > 0 ? CLI_LOSSES : CLI_DONE;
}

static int write_metrics(const stats_options *options, const char *trial)
{
    if (options->events)
        return write_events(options, trial);
    cli_metrics metrics;
    assay_error err = {""};
    int status = cli_metrics_read(trial, &metrics, &err);
    ASSAY_THEN(status, cli_metrics_write(&metrics, form_of(options), options->out, &err));
    if (status == ASSAY_OK)
        cli_warn_problems(trial, &metrics.problems);
    const int code = metrics.problems.losses > 0 ? CLI_LOSSES : CLI_DONE;
    cli_metrics_release(&metrics);
    return status == ASSAY_OK ? code : cli_fail(status, &err);
}

static int run(const cli_context *context, int argc, char **argv)
{
    stats_options options = {.out = NULL};
    const char *trial[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    assay_job job = {0};
    int status = cli_options_parse(&cli_stats, argc, argv, &options, trial, &operands, &err);
    ASSAY_THEN(status, check_options(&options, &err));
    if (status == ASSAY_OK && options.out && assay_comm_rank(context->comm) == 0)
        status = cli_claim_file("stats", options.out, cli_given()->overwrite, &err);
    ASSAY_THEN(status, make_job(trial, 1, &job, &err));
    status = assay_comm_agree(context->comm, status, &err);
    const bool in_time = options.metrics || options.events;
    if (status == ASSAY_OK && !in_time)
        status = cli_expand_trials(context->comm, &job, &err);
    ASSAY_THEN(status, cli_s3_begin(context->comm, &job, NULL, &err));
    int code = CLI_DONE;
    if (status != ASSAY_OK)
        code = cli_fail(status, &err);
    else if (in_time)
        code = cli_share_code(context->comm,
                              assay_comm_rank(context->comm) == 0 ? write_metrics(&options, trial[0]) : CLI_DONE);
    else
        code = run_job(context, &options, &job);
    assay_job_release(&job);
    return code;
}

const cli_command cli_stats = {
    "stats",
    "TRIAL",
    "Prints or writes the statistics of every tensor at every step of every worker as a table, or the profiler data.",
    OPTIONS,
    1,
    1,
    CLI_WORLD | CLI_TRIALS | CLI_STEPS | CLI_MEMORY | CLI_OVERWRITE | CLI_TABLE,
    run};
