/* run.c - assay run: a job over its trials on all ranks, and its report.
 *
 * Every rank parses the command line and the job's text, which rank 0 reads. Rank 0 has the outcome: it writes the report,
 * decides the exit code and tells the others. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/rules_load.h"
#include "cli/run.h"
#include "cli/run_checkpoint.h"
#include "cli/terminal.h"
#include "hdf5/hdf5_file.h"
#include "report/comparison.h"
#include "report/layout.h"
#include "report/report.h"
#include "report/results.h"
#include "rule/guard.h"
#include "rule/module.h"

static const char DEFAULT_DIRECTORY[] = "assay-report";
#define FIELD RUN_FIELD
static const cli_option OPTIONS[] = {
    RUN_SHARED_OPTIONS,
    {"dry-run", CLI_FLAG, FIELD(dry_run), NULL, "Only say what would be read, and which actions there are.", NULL},
    {"checkpoint", CLI_TEXT, FIELD(checkpoint.file), "FILE", RUN_CHECKPOINT_HELP, NULL},
    {"checkpoint-every", CLI_SECONDS, FIELD(checkpoint.minutes), "MINUTES", RUN_CHECKPOINT_EVERY_HELP, NULL},
    {"resume", CLI_FLAG, FIELD(checkpoint.resume), NULL, RUN_RESUME_HELP, NULL},
    {NULL, CLI_FLAG, 0, NULL, NULL, NULL},
};

static int set_formats(const char *list, assay_job *job, assay_error *err)
{
    unsigned formats = 0;
    for (const char *word = list; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        size_t length = strcspn(word, ",");
        int format = assay_job_format(word, length);
        if (format < 0)
            return assay_fail(err, ASSAY_EUSAGE, "run: --format: unknown format \"%.*s\"; known:" ASSAY_FORMAT_WORDS,
                              (int)(length < 40 ? length : 40), word);
        formats |= 1u << format;
    }
    job->formats = formats ? formats : job->formats;
    return ASSAY_OK;
}

/* The job with the command line's wishes. Not collective: the same on every rank. */
static int adjust_job(const run_options *options, assay_job *job, assay_error *err)
{
    int status = set_formats(options->format, job, err);
    if (status == ASSAY_OK && options->trials.count > 0)
        status = assay_job_set_trials(job, options->trials.text, options->trials.count, err);
    if (status != ASSAY_OK)
        return status;
    if (options->max_findings > 0)
        job->max_findings = options->max_findings;
    if (job->trial_count == 0)
        return assay_fail(err, ASSAY_EUSAGE, "%s: no trials; list them under \"trials\" or give --trial PATH", job->file);
    if (job->rule_count == 0 && job->aggregation_count == 0)
        return assay_fail(err, ASSAY_EUSAGE, "%s: nothing to do: neither \"rules\" nor \"aggregations\"", job->file);
    if ((job->formats & 1u << ASSAY_FORMAT_HDF5) && options->checkpoint.resume)
        return assay_fail(err, ASSAY_EUSAGE, "run: --resume: results.h5 has a row for every tensor that this run reads, and those "
                          "read before are not in a checkpoint; leave out --resume, or the format hdf5");
    if ((job->formats & 1u << ASSAY_FORMAT_HDF5) && !assay_hdf5_available())
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "%s: format hdf5: this build has no parallel HDF5: build assay with ASSAY_WITH_HDF5 and MPI", job->file);
    if (assay_job_add_implicit(job) != ASSAY_OK)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading the job", job->file);
    return ASSAY_OK;
}

/* Rules of one's own come before the job, which may name them. Not collective: the same on every rank. */
static int prepare_rules(const run_options *options, assay_error *err)
{
    assay_guard_set_seconds(options->rule_seconds);
    assay_module_trust(options->trust_rules);
    return cli_load_rules(options->rules_path, err);
}

static const char *output_directory(const run_options *options, const assay_job *job)
{
    const char *directory = options->out ? options->out : job->output_directory;
    return directory ? directory : DEFAULT_DIRECTORY;
}

int run_load_job(const cli_context *context, int parsed, const char *path, run_options *options, assay_buf *text,
                 assay_job *job, assay_error *err)
{
    assay_comm *comm = context->comm;
    int status = assay_comm_agree(comm, parsed, err);
    assay_log_init(assay_comm_rank(comm), options->log == RUN_LOG_ALL, options->quiet);
    if (status != ASSAY_OK)
        return status;
    if (assay_comm_rank(comm) == 0)
        status = cli_read_job_text(path, text, err);
    status = assay_comm_agree(comm, status, err);
    if (status == ASSAY_OK)
        status = assay_comm_broadcast(comm, text);
    if (status == ASSAY_OK) {
        int mine = prepare_rules(options, err);
        if (mine == ASSAY_OK)
            mine = assay_job_parse(path, text->data, text->size, job, err);
        if (mine == ASSAY_OK)
            mine = adjust_job(options, job, err);
        status = assay_comm_agree(comm, mine, err);
    }
    if (status == ASSAY_OK)
        status = cli_same_rules(comm, err);
    if (status == ASSAY_OK)
        status = run_actions_begin(&options->actions, comm, job, output_directory(options, job), options->dry_run, err);
    return status;
}

assay_engine_options run_engine_options(const run_options *options)
{
    double progress = options->progress;
    if (options->quiet)
        progress = 0;
    else if (progress < 0 && !isatty(STDERR_FILENO))
        progress = 10;
    return (assay_engine_options){.memory = options->memory,
                                  .from = options->steps.from,
                                  .to = options->steps.to,
                                  .progress = progress,
                                  .dry_run = options->dry_run};
}

static char *command_line(const cli_context *context)
{
    assay_buf line;
    assay_buf_init(&line, 1 << 20);
    for (int i = 0; i < context->argc; i++) {
        assay_put_bytes(&line, " ", i ? 1 : 0);
        assay_put_bytes(&line, context->argv[i], strlen(context->argv[i]));
    }
    assay_put_u8(&line, '\0');
    if (assay_buf_status(&line) != ASSAY_OK) {
        assay_buf_release(&line);
        return NULL;
    }
    return (char *)line.data; /* the buffer's memory, handed on */
}

/* Writes the files; the message of a failure is logged. */
static int write_files(const cli_context *context, const run_options *options, const assay_outcome *outcome)
{
    assay_error err = {""};
    char *command = command_line(context);
    assay_report_origin origin = {context->version, assay_comm_library(context->comm), command ? command : ""};
    int status = assay_report_write(outcome, &origin, output_directory(options, outcome->job), &err);
    free(command);
    if (status != ASSAY_OK)
        assay_log_error("%s", err.text);
    return status;
}

static int print_report(const run_options *options, const assay_outcome *outcome)
{
    char hex[65];
    assay_error err = {""};
    assay_draw draw;
    assay_buf text;
    assay_buf_init(&text, ASSAY_REPORT_CEILING);
    int status = options->dry_run ? run_put_plan(outcome, &text)
                                  : assay_report_put_text(outcome, cli_draw_style(CLI_DRAW_AUTO, &draw), &text);
    if (status == ASSAY_OK && options->digest && !options->dry_run) {
        status = assay_report_digest(outcome, hex, &err);
        if (status == ASSAY_OK)
            assay_put_format(&text, "digest %s\n", hex);
    }
    if (status == ASSAY_OK)
        status = cli_print(&text, &err);
    else
        assay_fail(&err, status, "report: %s", assay_status_text(status));
    assay_buf_release(&text);
    if (status != ASSAY_OK)
        assay_log_error("%s", err.text);
    return status;
}

/* True when no trial at all could be opened; each is named. */
static bool all_unread(const assay_outcome *outcome)
{
    size_t unread = 0;
    for (size_t i = 0; i < outcome->trial_count; i++)
        unread += outcome->trials[i].status != ASSAY_OK;
    for (size_t i = 0; i < outcome->trial_count && unread > 0; i++) {
        const assay_trial_outcome *trial = &outcome->trials[i];
        if (trial->status == ASSAY_OK)
            continue;
        if (unread == outcome->trial_count)
            assay_log_error("%s", trial->error.text);
        else
            assay_log_warn("%s", trial->error.text);
    }
    return unread == outcome->trial_count;
}

/* On rank 0: everything that leaves the program, and the exit code. */
static int conclude(const cli_context *context, const run_options *options, const assay_outcome *outcome)
{
    assay_error err = {""};
    int seen = options->witness.see ? options->witness.see(options->witness.context, outcome, &err) : ASSAY_OK;
    if (seen != ASSAY_OK)
        assay_log_error("%s", err.text);
    int printed = print_report(options, outcome);
    int written = options->dry_run ? ASSAY_OK : write_files(context, options, outcome);
    if (seen != ASSAY_OK || printed != ASSAY_OK || written != ASSAY_OK)
        return CLI_FAILED;
    if (options->fail_on != RUN_FAIL_NEVER && assay_outcome_fails(outcome, (assay_severity)(options->fail_on - 1)))
        return CLI_FINDINGS;
    return assay_outcome_has_losses(outcome) ? CLI_LOSSES : CLI_DONE;
}

/* On rank 0: compares the trials, then concludes. */
static int compare_and_conclude(const cli_context *context, const run_options *options, assay_outcome *outcome)
{
    assay_comparison *comparison = NULL;
    assay_error err = {""};
    if (all_unread(outcome))
        return CLI_USAGE;
    if (!options->dry_run && assay_comparison_make(outcome, &comparison) != ASSAY_OK)
        return cli_fail(assay_fail(&err, ASSAY_ENOMEM, "out of memory while the trials were compared"), &err);
    outcome->comparison = comparison;
    int code = conclude(context, options, outcome);
    outcome->comparison = NULL;
    assay_comparison_free(comparison);
    return code;
}

/* results.h5, by all ranks. Collective. */
static int write_results(const cli_context *context, const run_options *options, const assay_outcome *outcome,
                         const assay_buf *text, assay_results *results)
{
    assay_error err = {""};
    char *command = command_line(context), *path = assay_path_join(output_directory(options, outcome->job), "results.h5");
    char *job = assay_copy_bytes_as_text((const char *)text->data, text->size);
    int status = command && path && job ? ASSAY_OK : assay_fail(&err, ASSAY_ENOMEM, "results.h5: out of memory");
    const assay_results_origin origin = {context->version, command, job};
    status = assay_comm_agree(context->comm, status, &err);
    if (status == ASSAY_OK)
        status = assay_results_write_hdf5(context->comm, results, outcome, &origin, path, &err);
    free(command);
    free(path);
    free(job);
    return status == ASSAY_OK ? CLI_DONE : cli_fail(status, &err);
}

int run_job(const cli_context *context, run_options *options, const assay_job *job, const assay_buf *text)
{
    assay_error err = {""};
    assay_outcome outcome = {0};
    assay_engine_options engine = run_engine_options(options);
    bool tables = (job->formats & 1u << ASSAY_FORMAT_HDF5) && !options->dry_run;
    assay_results *results = tables ? assay_results_new(job) : NULL;
    engine.observer = results ? assay_results_observer(results) : NULL;
    int code = CLI_FAILED, status = assay_comm_agree(context->comm, tables && !results ? ASSAY_ENOMEM : ASSAY_OK, &err);
    if (status == ASSAY_OK)
        status = run_checkpoint_begin(&options->checkpoint, job, text, &engine, &err);
    if (status == ASSAY_OK)
        status = assay_engine_run(context->comm, job, &engine, &outcome, &err);
    if (status != ASSAY_OK) {
        assay_results_free(results);
        return run_checkpoint_fail(status, &err);
    }
    if (assay_comm_rank(context->comm) == 0)
        code = compare_and_conclude(context, options, &outcome);
    code = cli_share_code(context->comm, code);
    if (results && (code == CLI_DONE || code == CLI_FINDINGS || code == CLI_LOSSES)) {
        int wrote = write_results(context, options, &outcome, text, results);
        code = wrote == CLI_DONE ? code : wrote;
    }
    if (assay_comm_rank(context->comm) == 0 && !options->dry_run)
        run_checkpoint_end(&options->checkpoint, code);
    run_actions_end(&options->actions, &outcome, code);
    assay_results_free(results);
    assay_outcome_release(&outcome);
    return code;
}

static int run(const cli_context *context, int argc, char **argv)
{
    const char *path[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    assay_job job = {0};
    assay_buf text;
    assay_buf_init(&text, CLI_JOB_CEILING);
    run_options options = RUN_DEFAULTS;
    int status = cli_options_parse(&cli_run, argc, argv, &options, path, &operands, &err);
    status = run_load_job(context, status, path[0], &options, &text, &job, &err);
    int code = status == ASSAY_OK ? run_job(context, &options, &job, &text) : cli_fail(status, &err);
    run_actions_release(&options.actions);
    assay_buf_release(&text);
    assay_job_release(&job);
    cli_options_release(&cli_run, &options);
    return code;
}

const cli_command cli_run = {
    "run", "JOB", "Runs the rules and aggregations of a job file over its trials, on as many ranks as were started.",
    OPTIONS, 1, 1, true, run};
