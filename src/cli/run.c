/* run.c - assay run: evaluates a job over its trials on all ranks, and writes its report.
 *
 * Every rank parses the command line and the job's text, which rank 0 reads. Rank 0 has the outcome: it writes the
 * report, decides the exit code and tells the others. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/activity.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/redact.h"
#include "cli/cli.h"
#include "cli/own_place.h"
#include "cli/run.h"
#include "cli/run_checkpoint.h"
#include "cli/run_operands.h"
#include "cli/s3.h"
#include "cli/terminal.h"
#include "parallel/interrupt.h"
#include "report/compare/bands.h"
#include "report/compare/comparison.h"
#include "report/forms/forms.h"
#include "report/model/report_model.h"
#include "report/output.h"
#include "report/report.h"
#include "report/results/results.h"
#include "report/text/layout.h"
#include "verify/verify.h"
#include "why/why.h"

/* ---- run plan ---- */

/* The output of assay run --dry-run. */

static void put_list(const char *what, assay_instance *const *list, size_t count, assay_buf *out)
{
    assay_put_format(out, "%-13s %zu\n", what, count);
    for (size_t i = 0; i < count; i++) {
        if (list[i]->status == ASSAY_OK)
            continue;
        assay_put_format(out, "  cannot run: ");
        assay_text_put_clean(out, list[i]->name, strlen(list[i]->name));
        assay_put_format(out, ": ");
        assay_text_put_clean(out, list[i]->error.text, strlen(list[i]->error.text));
        assay_put_u8(out, '\n');
    }
}

static void put_list_as_json(assay_jw *w, const char *key, assay_instance *const *list, size_t count)
{
    assay_jw_line(w, 1);
    assay_jw_array(w, key);
    for (size_t i = 0; i < count; i++) {
        assay_jw_line(w, 2);
        if (list[i]->status == ASSAY_OK)
            ASSAY_JW_OBJECT(w, NULL, "name", list[i]->name);
        else
            ASSAY_JW_OBJECT(w, NULL, "name", list[i]->name, "error", list[i]->error.text);
    }
    assay_jw_end(w);
}

/* The same as run_put_plan() for programs. */
static int put_plan_as_json(const assay_outcome *outcome, assay_buf *out)
{
    const assay_plan_figures *plan = &outcome->plan;
    assay_jw w = assay_jw_over(out);
    assay_jw_object(&w, NULL);
    assay_jw_array(&w, "trials");
    for (size_t i = 0; i < outcome->trial_count; i++) {
        const assay_trial_outcome *trial = &outcome->trials[i];
        assay_jw_line(&w, 2);
        if (trial->status == ASSAY_OK && trial->info)
            ASSAY_JW_OBJECT(&w, NULL, "name", trial->trial->name, "workers", trial->catalog.workers, "steps",
                            assay_trial_steps(trial->info), "tensors", assay_trial_tensors(trial->info), "problems",
                            trial->problems.total);
        else
            ASSAY_JW_OBJECT(&w, NULL, "name", trial->trial->name, "error", trial->error.text);
    }
    assay_jw_end(&w);
    put_list_as_json(&w, "rules", outcome->job->rules, outcome->job->rule_count);
    put_list_as_json(&w, "aggregations", outcome->job->aggregations, outcome->job->aggregation_count);
    assay_jw_line(&w, 1);
    ASSAY_JW(&w, "records", plan->records, "bytes", plan->bytes, "steps", plan->steps, "chunks", plan->chunks);
    ASSAY_JW(&w, "ranks", outcome->run.ranks, "imbalance", plan->imbalance, "imbalance_of_16", plan->imbalance_of_16,
             "imbalance_of_64", plan->imbalance_of_64, "steps_shared", plan->steps_shared);
    assay_jw_end(&w);
    assay_put_u8(out, '\n');
    return assay_buf_status(out);
}

/* Appends what a dry run says: the plan. Returns the buffer's status. Not collective. */
static int run_put_plan(const assay_outcome *outcome, assay_buf *out)
{
    const assay_plan_figures *plan = &outcome->plan;
    for (size_t i = 0; i < outcome->trial_count; i++) {
        const assay_trial_outcome *trial = &outcome->trials[i];
        assay_put_format(out, "trial         ");
        assay_text_put_clean(out, trial->trial->name, strlen(trial->trial->name));
        if (trial->status == ASSAY_OK && trial->info)
            assay_put_format(
                out, ": %" PRIu32 " worker%s, %" PRIu64 " step%s, %" PRIu32 " tensor%s, %" PRIu64 " problem%s\n",
                trial->catalog.workers, assay_plural(trial->catalog.workers), assay_trial_steps(trial->info),
                assay_plural(assay_trial_steps(trial->info)), assay_trial_tensors(trial->info),
                assay_plural(assay_trial_tensors(trial->info)), trial->problems.total,
                assay_plural(trial->problems.total));
        else
            assay_put_format(out, ": cannot be opened\n");
    }
    put_list("rules", outcome->job->rules, outcome->job->rule_count, out);
    put_list("aggregations", outcome->job->aggregations, outcome->job->aggregation_count, out);
    assay_put_format(out, "to read       %" PRIu64 " record%s, ", plan->records, assay_plural(plan->records));
    assay_text_put_bytes(out, plan->bytes);
    assay_put_format(out, ", of %" PRIu64 " step%s in %" PRIu64 " chunk%s\n", plan->steps, assay_plural(plan->steps),
                     plan->chunks, assay_plural(plan->chunks));
    assay_put_format(
        out, "ranks         %d; the busiest has %.1f %% more to do than the mean; %" PRIu64 " step%s shared\n",
        outcome->run.ranks, 100 * plan->imbalance, plan->steps_shared, plan->steps_shared == 1 ? " is" : "s are");
    assay_put_format(out, "              on 16 ranks %.1f %%, on 64 ranks %.1f %%\n", 100 * plan->imbalance_of_16,
                     100 * plan->imbalance_of_64);
    return assay_buf_status(out);
}

/* ---- run output ---- */

/* Where a run's report goes, as its ranks have it: rank 0 writes, the others know what came of it. */

static int say_trials(const assay_job *job, assay_output *output, assay_error *err)
{
    char whole[PATH_MAX];
    int status = ASSAY_OK;
    for (size_t i = 0; i < job->trial_count && status == ASSAY_OK; i++) {
        const char *path = job->trials[i].path;
        status = assay_output_is_of(output, realpath(path, whole) ? whole : path);
    }
    return status == ASSAY_OK ? status : assay_fail(err, status, "out of memory for the names of trials");
}

/* Before hours of reading: rank 0 opens the output and finds out whether files can be written there. *out stays NULL on
 * the other ranks. Its failure is everyone's. Collective. */
static int run_output_begin(assay_comm *comm, const run_options *options, const assay_job *job, assay_output **out,
                            assay_error *err)
{
    int status = ASSAY_OK;
    if (assay_comm_rank(comm) == 0) {
        status = assay_output_open(run_directory(options, job), out, err);
        ASSAY_THEN(status, say_trials(job, *out, err));
        ASSAY_THEN(status, assay_output_probe(*out, cli_may_overwrite(options->overwrite), err));
        if (status == ASSAY_OK && options->learn)
            status = cli_claim_file("--learn", options->learn, options->overwrite, err);
    }
    return assay_comm_agree(comm, status, err);
}

/* The path of a file that all ranks write together; the caller frees it. Collective. */
static int run_output_make(assay_comm *comm, assay_output *output, const char *name, char **path, assay_error *err)
{
    assay_buf text = ASSAY_BUF(SIZE_MAX / 4);
    *path = NULL;
    int status = output ? assay_output_make(output, name, path, err) : ASSAY_OK;
    if (*path) {
        assay_put_text(&text, *path);
        status = assay_buf_status(&text);
    }
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, &text));
    if (status == ASSAY_OK && !*path) {
        assay_cursor in = assay_cursor_over(text.data, text.size);
        *path = assay_get_copy(&in);
    }
    ASSAY_THEN(status, assay_comm_agree(
                           comm, *path ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", name), err));
    assay_buf_release(&text);
    return status;
}

/* That file is complete. Collective. */
static int run_output_take(assay_comm *comm, assay_output *output, const char *name, const char *path, assay_error *err)
{
    return assay_comm_agree(comm, output ? assay_output_take(output, name, path, err) : ASSAY_OK, err);
}

/* After all files of a run that ends with `code`: the code that it ends with then. Collective. */
static int run_output_end(assay_comm *comm, assay_output *output, int code)
{
    assay_error err = {""};
    bool done = code == CLI_DONE || code == CLI_FINDINGS || code == CLI_LOSSES;
    if (output && code == CLI_USAGE)
        assay_output_discard(output); /* nothing was read, and nothing written */
    if (!done)
        return code;
    int status = output ? assay_output_finish(output, &err) : ASSAY_OK;
    return cli_share_code(comm, status == ASSAY_OK ? code : cli_fail(status, &err));
}

/* ---- run origin ---- */

/* Who made a report, when and where. */

/* The command line as a shell takes it, without secrets; to be freed. NULL without memory. Not collective. */
static char *run_command_line(const cli_context *context)
{
    assay_buf line = ASSAY_BUF(1 << 20);
    for (int i = 0; i < context->argc; i++) {
        assay_put_bytes(&line, " ", i ? 1 : 0);
        assay_put_shell_word(&line, context->argv[i]);
    }
    assay_redact_buf(&line, 0);
    assay_put_u8(&line, '\0');
    if (assay_buf_status(&line) != ASSAY_OK) {
        assay_buf_release(&line);
        return NULL;
    }
    return (char *)line.data; /* the buffer's memory, handed on */
}

static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text ? text : "";
}

/* "4711"; "4711_3" for a task of an array. */
static void find_slurm_job(char *out, size_t room)
{
    const char *array = variable("SLURM_ARRAY_JOB_ID"), *task = variable("SLURM_ARRAY_TASK_ID");
    if (*array && *task)
        snprintf(out, room, "%s_%s", array, task);
    else
        snprintf(out, room, "%s", variable("SLURM_JOB_ID"));
}

/* Of the process, whatever the environment says: USER survives a change of user. */
static void find_user(char *out, size_t room)
{
    char space[4096];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(geteuid(), &entry, space, sizeof space, &found) == 0 && found)
        snprintf(out, room, "%s", entry.pw_name);
    else
        snprintf(out, room, "%lu", (unsigned long)geteuid());
}

/* Fills *origin. Returns the text that origin->command borrows, to be freed; NULL without memory, with the command "".
 * Not collective. */
static char *run_find_origin(const cli_context *context, assay_report_origin *origin)
{
    time_t now = time(NULL);
    struct tm parts;
    char *command = run_command_line(context);
    *origin = (assay_report_origin){
        .version = context->version, .library = assay_comm_library(context->comm), .command = command ? command : ""};
    if (gmtime_r(&now, &parts))
        (void)strftime(origin->date, sizeof origin->date, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (gethostname(origin->host, sizeof origin->host - 1) != 0)
        origin->host[0] = '\0';
    find_user(origin->user, sizeof origin->user);
    find_slurm_job(origin->slurm_job, sizeof origin->slurm_job);
    return command;
}

/* ---- run checkpoint ---- */

/* See run_checkpoint.h. */

/* Checks the options, tells the engine of them, and from then on takes signals as wishes to stop. `text` is the job
 * file's. ASSAY_EUSAGE when options contradict each other. The same on every rank. */
static int run_checkpoint_begin(run_checkpoint *checkpoint, const assay_job *job, const assay_buf *text,
                                assay_engine_options *engine, assay_error *err)
{
    if (!checkpoint->file && (checkpoint->resume || checkpoint->minutes > 0))
        return assay_fail(err, ASSAY_EUSAGE, "--resume and --checkpoint-every need --checkpoint FILE");
    if (!checkpoint->file || engine->dry_run)
        return ASSAY_OK;
    if (job->formats & 1u << ASSAY_FORM_HDF5)
        return assay_fail(err, ASSAY_EUSAGE,
                          "--checkpoint does not go with the format hdf5, which needs every record in one run: "
                          "leave one out");
    assay_sha256 hash;
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, text->data, text->size);
    assay_sha256_hex(&hash, checkpoint->job_digest);
    engine->checkpoint = checkpoint->file;
    engine->checkpoint_every = 60 * checkpoint->minutes;
    engine->resume = checkpoint->resume;
    engine->version = ASSAY_VERSION;
    engine->job_digest = checkpoint->job_digest;
    assay_interrupt_listen();
    assay_interrupt_listen_to(SIGINT);
    return ASSAY_OK;
}

/* Says why there is no outcome; the exit code. The same on every rank. */
static int run_checkpoint_fail(int status, const assay_error *err)
{
    if (status == ASSAY_ESTOPPED) {
        assay_log_note("%s", err->text);
        return CLI_STOPPED;
    }
    int code = cli_fail(status, err);
    return status == ASSAY_EUSAGE || status == ASSAY_EJOB ? code : CLI_FAILED; /* EJOB: a topology */
}

/* On rank 0, when the run has ended with that exit code: a checkpoint that has served its purpose is removed. */
static void run_checkpoint_end(const run_checkpoint *checkpoint, int code)
{
    bool reported = code == CLI_DONE || code == CLI_FINDINGS || code == CLI_LOSSES;
    if (checkpoint->file && reported && unlink(checkpoint->file) != 0 && errno != ENOENT)
        assay_log_warn("%s: cannot remove the checkpoint: %s", checkpoint->file, strerror(errno));
}

/* ---- run ---- */

static const assay_setting OPTIONS[] = {RUN_SHARED_OPTIONS, RUN_ONCE_OPTIONS, {0}};

assay_engine_options run_engine_options(const run_options *options, const assay_job *job)
{
    const cli_shared *given = cli_given();
    double progress = cli_progress();
    if (progress < 0 && !isatty(STDERR_FILENO))
        progress = 10;
    if (progress == 0)
        assay_activity_show(false);
    return (assay_engine_options){.memory = cli_engine_memory(job, given->memory),
                                  .from = given->steps.from,
                                  .to = given->steps.to,
                                  .progress = progress,
                                  .dry_run = options->dry_run};
}

/* Writes the files; the message of a failure is logged. */
static int write_files(const cli_context *context, assay_output *output, const assay_report *report)
{
    assay_error err = {""};
    assay_report_origin origin;
    char *command = run_find_origin(context, &origin);
    int status = assay_report_write(report, &origin, output, &err);
    free(command);
    if (status != ASSAY_OK)
        assay_log_error("%s", err.text);
    return status;
}

/* What standard output gets of the report. */
static int put_report(const cli_context *context, const run_options *options, const assay_report *report,
                      assay_buf *out)
{
    assay_draw draw;
    assay_report_origin origin;
    if (options->dry_run)
        return options->json ? put_plan_as_json(report->outcome, out) : run_put_plan(report->outcome, out);
    if (!options->json)
        return assay_report_put_text(report, cli_draw_style(CLI_DRAW_AUTO, &draw), out);
    char *command = run_find_origin(context, &origin);
    const int status =
        options->lines ? report_put_lines(report, &origin, out) : assay_report_put_body(report, NULL, out);
    if (!options->lines)
        assay_report_put_run(report->outcome, &origin, out);
    free(command);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

static int print_report(const cli_context *context, const run_options *options, const assay_report *report)
{
    char hex[65];
    assay_error err = {""};
    assay_buf text = ASSAY_BUF(ASSAY_REPORT_CEILING);
    int status = put_report(context, options, report, &text);
    if (status == ASSAY_OK && options->digest && !options->dry_run && !options->json) {
        status = assay_report_digest(report, hex, &err);
        if (status == ASSAY_OK)
            assay_put_format(&text, "digest %s\n", hex);
    }
    if (status == ASSAY_OK)
        status = cli_print_kept(&text, &err);
    else
        assay_fail(&err, status, "report: %s", assay_status_text(status));
    assay_buf_release(&text);
    if (status != ASSAY_OK)
        assay_log_error("%s", err.text);
    return status;
}

/* On standard error: the report may be for programs. */
static void note_job(const char *path)
{
    assay_log_note("%s has outputs of a job: `assay why %s` says how it ended", path, path);
}

/* True when no trial at all could be opened, and no job is known to have failed; each is named. */
static bool all_unread(const assay_outcome *outcome)
{
    size_t unread = 0;
    for (size_t i = 0; i < outcome->trial_count; i++)
        unread += outcome->trials[i].status != ASSAY_OK;
    for (size_t i = 0; i < outcome->trial_count && unread > 0; i++) {
        const assay_trial_outcome *trial = &outcome->trials[i];
        if (trial->status == ASSAY_OK)
            continue;
        const assay_json_place at = assay_job_place_of_trial(outcome->job, trial->trial->path);
        char said[CLI_PLACE + ASSAY_ERROR_TEXT + PATH_MAX];
        if (at.line > 0)
            snprintf(said, sizeof said, "%s: line %zu, column %zu: %s", outcome->job->file, at.line, at.column,
                     trial->error.text);
        else
            snprintf(said, sizeof said, "%s", trial->error.text);
        if (unread == outcome->trial_count)
            assay_log_error("%s", said);
        else
            assay_log_warn("%s", said);
    }
    bool died = false;
    for (size_t i = 0; i < outcome->trial_count && unread == outcome->trial_count; i++) {
        died = died || outcome->trials[i].job_end;
        if (!outcome->trials[i].job_end && assay_why_is_job(outcome->trials[i].trial->path))
            note_job(outcome->trials[i].trial->path);
    }
    return unread == outcome->trial_count && !died;
}

/* On rank 0: everything that leaves the program, and the exit code. */
static int conclude(const cli_context *context, const run_options *options, assay_output *output,
                    const assay_report *report)
{
    const assay_outcome *outcome = report->outcome;
    assay_error err = {""};
    int seen = options->witness.see ? options->witness.see(options->witness.context, outcome, &err) : ASSAY_OK;
    if (seen != ASSAY_OK)
        assay_log_error("%s", err.text);
    int written = options->dry_run ? ASSAY_OK : write_files(context, output, report); /* before a pager may be quit */
    /* Once memory was refused nothing is printed either, and one message is enough. */
    int printed = written == ASSAY_ENOMEM ? written : print_report(context, options, report);
    if (seen != ASSAY_OK || printed != ASSAY_OK || written != ASSAY_OK)
        return CLI_FAILED;
    for (size_t i = 0; i < outcome->trial_count && !options->dry_run; i++)
        if (outcome->trials[i].status == ASSAY_OK && !outcome->trials[i].job_end &&
            assay_why_has_outputs(outcome->trials[i].trial->path))
            note_job(outcome->trials[i].trial->path);
    for (size_t i = 0; i < outcome->trial_count && !options->dry_run; i++)
        if (report_is_little(&report->gate, &outcome->trials[i]))
            assay_log_error(
                "%s: %.3g %% of its TRAIN steps, or of its workers, were recorded: less than --min-coverage asks for",
                outcome->trials[i].trial->path, report_coverage(&outcome->trials[i]));
    bool outside = report->bands && assay_band_report_fires(report->bands) && report->gate.least <= ASSAY_WARNING;
    if (!options->dry_run && ((report->gate.on && outside) || report_is_stopped(report) || report_job_failed(report)))
        return CLI_FINDINGS;
    if (!options->dry_run && !report->gate.allow_no_data && !report->bands && report_nothing_tested(report)) {
        assay_log_error(
            "no rule had anything to test: nothing is known of it; with --allow-no-data this counts as passed");
        return CLI_FINDINGS;
    }
    for (size_t i = 0; i < outcome->trial_count; i++)
        if (outcome->trials[i].unsafe)
            return CLI_LOSSES;
    return assay_outcome_has_losses(outcome) ? CLI_LOSSES : CLI_DONE;
}

/* Writes the bands of the trials. */
static int learn(const run_options *options, const assay_outcome *outcome, assay_error *err)
{
    assay_buf text = ASSAY_BUF(ASSAY_BAND_CEILING);
    assay_noise noise = ASSAY_NOISE_DEFAULTS;
    const char *path = options->learn;
    if (options->noise && assay_noise_parse(options->noise, &noise, err) != ASSAY_OK)
        return ASSAY_EUSAGE;
    int status = assay_bands_put(outcome, &noise, &text);
    if (status == ASSAY_OK)
        status = assay_file_write(path, text.data, text.size, err);
    else
        assay_fail(err, status, "%s: cannot make the bands: %s", path, assay_status_text(status));
    assay_buf_release(&text);
    return status;
}

/* On rank 0: compares the trials, with each other and with the bands, then concludes. What was made for the report
 * stays in it until release_report(). */
static int compare_and_conclude(const cli_context *context, const run_options *options, const assay_bands *bands,
                                assay_output *output, assay_report *report)
{
    const assay_outcome *outcome = report->outcome;
    assay_comparison *comparison = NULL;
    assay_band_report *against = NULL;
    assay_error err = {""};
    int status = ASSAY_OK;
    if (all_unread(outcome))
        return CLI_USAGE;
    if (!options->dry_run)
        status = assay_comparison_make(outcome, &comparison);
    if (status == ASSAY_OK && bands && !options->dry_run)
        status = assay_bands_check(bands, outcome, &against);
    report->comparison = comparison;
    report->bands = against;
    if (status != ASSAY_OK)
        assay_fail(&err, status, "out of memory while the trials were compared");
    if (status == ASSAY_OK && options->learn && !options->dry_run)
        status = learn(options, outcome, &err);
    if (status == ASSAY_OK)
        return conclude(context, options, output, report);
    assay_log_error("%s", err.text);
    return CLI_FAILED;
}

static void release_report(assay_report *report)
{
    assay_band_report_free((assay_band_report *)report->bands);
    assay_comparison_free((assay_comparison *)report->comparison);
}

/* results.h5, by all ranks. Collective. */
static int write_results(const cli_context *context, assay_output *output, const assay_outcome *outcome,
                         const assay_buf *text, assay_results *results)
{
    static const char name[] = "results.h5";
    assay_error err = {""};
    char *command = run_command_line(context), *path = NULL;
    char *job = assay_copy_bytes_as_text((const char *)text->data, text->size);
    int status = command && job ? ASSAY_OK : assay_fail(&err, ASSAY_ENOMEM, "%s: out of memory", name);
    if (job)
        assay_redact_text(job);
    const assay_results_origin origin = {context->version, command, job};
    status = assay_comm_agree(context->comm, status, &err);
    ASSAY_THEN(status, run_output_make(context->comm, output, name, &path, &err));
    ASSAY_THEN(status, assay_results_write_hdf5(context->comm, results, outcome, &origin, path, &err));
    ASSAY_THEN(status, run_output_take(context->comm, output, name, path, &err));
    free(command);
    free(path);
    free(job);
    return status == ASSAY_OK ? CLI_DONE : cli_fail(status, &err);
}

/* On rank 0, before anything else is read: the bands to hold the trials against. Its failure is everyone's. Collective.
 */
static int read_bands(assay_comm *comm, const run_options *options, assay_bands *out, assay_error *err)
{
    assay_buf text = ASSAY_BUF(ASSAY_BAND_CEILING);
    int status = ASSAY_OK;
    if (options->against && assay_comm_rank(comm) == 0) {
        status = assay_file_read(options->against, ASSAY_BAND_CEILING, &text, err);
        ASSAY_THEN(status, assay_bands_parse(options->against, text.data, text.size, out, err));
        if (status == ASSAY_OK && options->noise)
            status = assay_noise_parse(options->noise, &out->noise, err);
    }
    assay_buf_release(&text);
    return assay_comm_agree(comm, status, err);
}

static assay_gate gate_of(const run_options *options)
{
    return (assay_gate){.on = options->fail_on != RUN_FAIL_NEVER,
                        .least = (assay_severity)(options->fail_on > 0 ? options->fail_on - 1 : 0),
                        .least_coverage = options->min_coverage,
                        .allow_no_data = options->no_data.any,
                        .allowed = options->no_data.list.text,
                        .allowed_count = options->no_data.list.count};
}

int run_report_so_far(const cli_context *context, const run_options *options, const assay_job *job,
                      const assay_outcome *outcome, assay_error *err)
{
    assay_comparison *comparison = NULL;
    assay_output *output = NULL;
    assay_report_origin origin;
    int status = assay_comparison_make(outcome, &comparison);
    if (status != ASSAY_OK)
        assay_fail(err, status, "out of memory while the trials were compared");
    else
        status = assay_output_open(run_directory(options, job), &output, err);
    ASSAY_THEN(status, say_trials(job, output, err));
    if (status == ASSAY_OK) {
        const assay_report report = {
            .outcome = outcome, .comparison = comparison, .gate = gate_of(options), .so_far = true};
        char *command = run_find_origin(context, &origin);
        status = assay_report_write(&report, &origin, output, err);
        free(command);
    }
    ASSAY_THEN(status, assay_output_finish(output, err));
    assay_output_close(output);
    assay_comparison_free(comparison);
    return status;
}

int run_job(const cli_context *context, run_options *options, const assay_job *job, const assay_buf *text)
{
    assay_error err = {""};
    assay_bands bands = {0};
    assay_outcome outcome = {0};
    assay_report report = {.outcome = &outcome, .only_odd = options->only_odd, .gate = gate_of(options)};
    assay_engine_options engine = run_engine_options(options, job);
    bool tables = (job->formats & 1u << ASSAY_FORM_HDF5) && !options->dry_run;
    assay_results *results = tables ? assay_results_new(job) : NULL;
    engine.observer = results ? assay_results_observer(results) : NULL;
    assay_output *output = NULL;
    int code = CLI_FAILED, status = assay_comm_agree(context->comm, tables && !results ? ASSAY_ENOMEM : ASSAY_OK, &err);
    ASSAY_THEN(status, read_bands(context->comm, options, &bands, &err));
    if (status == ASSAY_OK && !options->dry_run)
        status = run_output_begin(context->comm, options, job, &output, &err);
    if (status != ASSAY_OK) {
        assay_output_close(output);
        assay_bands_release(&bands);
        assay_results_free(results);
        return cli_fail(status, &err);
    }
    status = run_checkpoint_begin(&options->checkpoint, job, text, &engine, &err);
    const bool tells = !engine.checkpoint && !options->dry_run && assay_comm_rank(context->comm) == 0;
    if (tells)
        cli_say_when_interrupted("\nassay: interrupted: no report was written; with --checkpoint FILE a run that is "
                                 "interrupted keeps what is done, and --resume goes on from there\n");
    ASSAY_THEN(status, assay_engine_run(context->comm, job, &engine, &outcome, &err));
    if (status == ASSAY_OK && !options->dry_run)
        status = assay_verify_outcome(context->comm, &outcome, &engine, &err);
    if (status == ASSAY_OK && !options->dry_run)
        status = assay_why_outcome(context->comm, &outcome, &engine, &err);
    if (tells)
        cli_say_when_interrupted(CLI_INTERRUPTED);
    if (status != ASSAY_OK) {
        assay_bands_release(&bands);
        assay_results_free(results);
        assay_output_discard(output);
        assay_output_close(output);
        return run_checkpoint_fail(status, &err);
    }
    if (assay_comm_rank(context->comm) == 0)
        code = compare_and_conclude(context, options, options->against ? &bands : NULL, output, &report);
    code = cli_share_code(context->comm, code);
    if (results && (code == CLI_DONE || code == CLI_FINDINGS || code == CLI_LOSSES)) {
        int wrote = write_results(context, output, &outcome, text, results);
        code = wrote == CLI_DONE ? code : wrote;
    }
    code = run_output_end(context->comm, output, code);
    if (assay_comm_rank(context->comm) == 0 && !options->dry_run)
        run_checkpoint_end(&options->checkpoint, code);
    run_actions_end(&options->actions, &report, code);
    release_report(&report);
    assay_output_close(output);
    assay_results_free(results);
    assay_outcome_release(&outcome);
    assay_bands_release(&bands);
    return code;
}

void run_end(assay_comm *comm, run_options *options, const assay_job *job, int code)
{
    const bool there = !options->dry_run && (code == CLI_DONE || code == CLI_FINDINGS || code == CLI_LOSSES);
    run_actions_release(&options->actions);
    if (options->own_place && there)
        own_place_keep(options->own_place);
    const bool aside = options->json; /* standard output is for programs */
    if (there && assay_comm_rank(comm) == 0 && !(aside && cli_given()->quiet))
        fprintf(aside ? stderr : stdout, "The report is in %s.\n", run_directory(options, job));
    own_place_end(options->own_place);
}

int run_command_job(const cli_context *context, const cli_command *command, int parsed, const char *path,
                    run_options *options, assay_error *err)
{
    assay_job job = {0};
    assay_buf text = ASSAY_BUF(CLI_JOB_CEILING);
    int status = run_load_job(context, parsed, path, options, &text, &job, err);
    int code = status == ASSAY_OK ? run_job(context, options, &job, &text) : cli_fail(status, err);
    run_end(context->comm, options, &job, code);
    assay_buf_release(&text);
    assay_job_release(&job);
    cli_options_release(command, options);
    return code;
}

static int run_as(const cli_command *command, const cli_context *context, int argc, char **argv)
{
    static const char *operand[RUN_OPERANDS_MOST];
    const char *job = NULL;
    size_t operands = 0;
    assay_error err = {""};
    run_options options = RUN_DEFAULTS;
    int parsed = cli_options_parse(command, argc, argv, &options, operand, &operands, &err);
    ASSAY_THEN(parsed, run_choose_form(command->name, &options, &err));
    parsed = run_take_operands(context, parsed, operand, operands, &options, &job, &err);
    return run_command_job(context, command, parsed, job, &options, &err);
}

static int run(const cli_context *context, int argc, char **argv)
{
    return run_as(&cli_run, context, argc, argv);
}

static int hang(const cli_context *context, int argc, char **argv)
{
    return run_as(&cli_hang, context, argc, argv);
}

const cli_command cli_run = {
    "run",
    "[JOB] [TRIAL...]",
    "Runs the rules and aggregations of a job file over its trials, or over those given here. Without a "
    "job file it uses the built-in rules, as far as a trial has data for them.",
    OPTIONS,
    0,
    RUN_OPERANDS_MOST,
    RUN_TAKES,
    run};

const cli_command cli_hang = {
    "hang",
    "DUMPS",
    "Says who hung: the ranks that the others wait for, from dumps of PyTorch's flight recorder. It runs the built-in "
    "rules, and takes the options of `assay run`.",
    OPTIONS,
    1,
    RUN_OPERANDS_MOST,
    RUN_TAKES,
    hang};
