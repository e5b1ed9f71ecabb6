/* run_load.c - from the command line of `assay run` or `assay compare` to a job: see run.h. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/nearest.h"
#include "cli/own_place.h"
#include "cli/run.h"
#include "cli/s3.h"
#include "job/trial_list.h"
#include "hdf5/hdf5_file.h"
#include "report/compare/bands.h"
#include "rule/module.h"
#include "rule/rule_process.h"
#include "report/report.h"

static int set_formats(const char *list, assay_job *job, assay_error *err)
{
    char hint[ASSAY_NEAREST_ROOM];
    unsigned formats = 0;
    for (const char *word = list; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        size_t length = strcspn(word, ",");
        const char *suffix = cli_form_by_suffix(word, length);
        int format = suffix ? assay_job_form_find(&assay_report_forms, suffix, strlen(suffix))
                            : assay_job_form_find(&assay_report_forms, word, length);
        if (format < 0)
            return assay_fail(err, ASSAY_EUSAGE, "--reports: unknown format \"%.*s\"%s; known:" ASSAY_FORM_WORDS,
                              (int)(length < 40 ? length : 40), word,
                              assay_job_form_hint(&assay_report_forms, word, length, hint));
        formats |= 1u << format;
    }
    job->formats = formats ? formats : job->formats;
    return ASSAY_OK;
}

int run_choose_form(const char *command, run_options *options, assay_error *err)
{
    const char *format = options->format;
    const bool is_json = format && strcmp(format, "json") == 0, is_text = format && strcmp(format, "text") == 0;
    options->json = is_json || cli_given()->json;
    if (cli_given()->json && is_text)
        return assay_fail(err, ASSAY_EUSAGE, "%s: --json and --format text exclude each other", command);
    if (!format || is_json || is_text)
        return ASSAY_OK;
    assay_job known = {0};
    assay_error unknown = {""};
    char hint[ASSAY_NEAREST_ROOM];
    if (set_formats(format, &known, &unknown) != ASSAY_OK)
        return assay_fail(
            err, ASSAY_EUSAGE,
            "%s: --format %.40s: expected text or json, how the report is printed%s; --reports says which "
            "files are written",
            command, format, assay_job_form_hint(&assay_report_forms, format, strlen(format), hint));
    if (options->reports) /* a file of defaults may have `format = html` from before --reports */
        return ASSAY_OK;
    assay_log_note("--format %s: the files of a report are chosen by --reports; --format is for what is printed",
                   format);
    options->reports = format;
    return ASSAY_OK;
}

static int fail_no_rule(const assay_job *job, const char *name, assay_error *err)
{
    char hint[ASSAY_NEAREST_ROOM];
    assay_nearest nearest;
    assay_nearest_begin(&nearest, name, strlen(name));
    for (size_t i = 0; i < job->rule_count; i++)
        assay_nearest_offer(&nearest, job->rules[i]->name);
    return assay_fail(err, ASSAY_EUSAGE,
                      "--allow-no-data %.100s: the job has no such rule%s; give its name, or none for all", name,
                      assay_nearest_hint(&nearest, hint));
}

static bool has_rule(const assay_job *job, const char *name)
{
    for (size_t i = 0; i < job->rule_count; i++)
        if (strcmp(job->rules[i]->name, name) == 0 ||
            (job->rules[i]->ops && strcmp(job->rules[i]->ops->name, name) == 0))
            return true;
    return false;
}

/* A rule that there is not, or a parameter that it has not, is a mistake in the job, as `assay check` has it. What a
 * rule of one's own refuses is its own Error. */
static int refuse_mistakes(const assay_job *job, assay_error *err)
{
    for (size_t i = 0; i < job->rule_count + job->aggregation_count; i++) {
        const assay_instance *instance = i < job->rule_count ? job->rules[i] : job->aggregations[i - job->rule_count];
        const bool own = instance->is_python || (instance->ops && assay_module_of(instance->ops));
        if (instance->status == ASSAY_OK || instance->status == ASSAY_ENOMEM || own)
            continue;
        char at[CLI_PLACE];
        return assay_fail(err, ASSAY_EUSAGE, "%s: %s%s \"%s\": %s", job->file, cli_place_of(instance, at),
                          i < job->rule_count ? "rule" : "aggregation", instance->name, cli_mistake_of(instance));
    }
    return ASSAY_OK;
}

/* The job with the command line's wishes. Not collective: the same on every rank. */
static int adjust_job(const run_options *options, assay_job *job, assay_error *err)
{
    int status = set_formats(options->reports, job, err);
    if (options->format && options->json)
        job->formats |= 1u << ASSAY_FORM_JSON; /* it once meant the file */
    ASSAY_THEN(status, assay_job_set_topology(job, options->topology, err));
    ASSAY_THEN(status, assay_job_set_baseline(job, options->baseline, err));
    ASSAY_THEN(status, refuse_mistakes(job, err));
    ASSAY_TRY(status);
    if (options->max_findings > 0)
        job->max_findings = options->max_findings;
    if (job->rule_count == 0 && job->aggregation_count == 0)
        return assay_job_fail(job, "", NULL, err, "nothing to do: neither \"rules\" nor \"aggregations\"");
    if ((job->formats & 1u << ASSAY_FORM_HDF5) && options->checkpoint.resume)
        return assay_fail(err, ASSAY_EUSAGE,
                          "--resume: results.h5 has a row for every tensor that this run reads, and those "
                          "read before are not in a checkpoint; leave out --resume, or the format hdf5");
    if ((job->formats & 1u << ASSAY_FORM_HDF5) && !assay_hdf5_available())
        return assay_fail(err, ASSAY_EUNSUPPORTED,
                          "%s: format hdf5: this build has no parallel HDF5: build assay with ASSAY_WITH_HDF5 and MPI",
                          job->file);
    assay_noise noise = ASSAY_NOISE_DEFAULTS;
    if (options->noise && assay_noise_parse(options->noise, &noise, err) != ASSAY_OK)
        return ASSAY_EUSAGE;
    if (options->noise && !options->learn &&
        !(options->against && strncmp(options->noise, "factor=", 7) == 0 && !strchr(options->noise, ',')))
        return assay_fail(err, ASSAY_EUSAGE, "--noise: goes with --learn; with --against alone, only as factor=N");
    for (size_t i = 0; i < options->no_data.list.count; i++)
        if (!has_rule(job, options->no_data.list.text[i]))
            return fail_no_rule(job, options->no_data.list.text[i], err);
    if (options->several && job->trial_count < 2)
        return assay_fail(err, ASSAY_EUSAGE,
                          "compare: a comparison takes two trials or more: give several, a pattern such as 'runs/*', a "
                          "log of many runs such as mlflow.db, or --against BANDS; `assay run` looks at one");
    job->wants_curves = options->learn || options->against;
    job->curves_asked = job->curves_asked && !job->wants_curves && !assay_job_draws(job);
    if (options->learn && job->trial_count < 2)
        return assay_fail(err, ASSAY_EUSAGE, "--learn: a band takes at least 2 trials, and there is %zu",
                          job->trial_count);
    if (assay_job_add_implicit(job) != ASSAY_OK)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading the job", job->file);
    return ASSAY_OK;
}

/* Custom rules come before the job, which may name them. Not collective: the same on every rank. */
static int prepare_rules(const run_options *options, assay_error *err)
{
    assay_rule_process_set_seconds(options->rule_seconds);
    assay_module_trust(options->trust_rules);
    return cli_load_rules(options->rules_path, err);
}

/* The trials of the command line and of the list. */
static int set_trials(const run_options *options, const assay_buf *text, assay_job *job, assay_error *err)
{
    cli_list all = {0};
    assay_trial_list list = {0};
    int status = options->trials_from ? assay_trial_list_read(options->trials_from, text->data, text->size, &list, err)
                                      : ASSAY_OK;
    bool made = true;
    for (size_t i = 0; made && i < options->trials.count; i++)
        made = cli_list_add(&all, options->trials.text[i]);
    for (size_t i = 0; made && i < list.count; i++)
        made = cli_list_add(&all, list.line[i]);
    if (status == ASSAY_OK && !made)
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory while the list of trials was read");
    if (status == ASSAY_OK && all.count == 0)
        status = assay_fail(err, ASSAY_EUSAGE, "%s: no trial in it; write the path of one in each line",
                            options->trials_from);
    ASSAY_THEN(status, assay_job_set_trials(job, all.text, all.count, err));
    free(all.text);
    assay_trial_list_release(&list);
    return status;
}

/* On rank 0: the texts of the job and of the list of trials. */
static int read_texts(const char *path, const run_options *options, assay_buf *job, assay_buf *list, assay_error *err)
{
    int status = ASSAY_OK;
    if (path)
        status = cli_read_job_text(path, job, err);
    else
        assay_put_bytes(job, options->job_text, options->job_size);
    if (status == ASSAY_OK && options->trials_from)
        status = assay_file_read(options->trials_from, CLI_JOB_CEILING, list, err);
    return status;
}

static int parse_job(const char *path, const run_options *options, const assay_buf *text, const assay_buf *list,
                     assay_job *job, assay_error *err)
{
    int status = prepare_rules(options, err);
    ASSAY_THEN(status, assay_job_parse(path ? path : "the built-in job", text->data, text->size, &assay_report_forms,
                                       job, err));
    job->curves_asked = path != NULL;
    if (status == ASSAY_OK && job->unsigned_s3)
        assay_s3_allow_unsigned();
    for (size_t i = 0; status == ASSAY_OK && !path && i < job->rule_count; i++)
        job->rules[i]->optional = true; /* a trial takes those that it has data for */
    for (size_t i = 0; status == ASSAY_OK && !path && i < job->aggregation_count; i++)
        job->aggregations[i]->optional = true;
    if (status == ASSAY_OK && (options->trials.count > 0 || options->trials_from))
        status = set_trials(options, list, job, err);
    if (status == ASSAY_OK && job->trial_count == 0)
        status = assay_fail(err, ASSAY_EUSAGE,
                            "%s: no trials; name them on the command line, or list them under \"trials\" of the job",
                            job->file);
    return status;
}

const char *run_directory(const run_options *options, const assay_job *job)
{
    const char *directory = options->out ? options->out : job->output_directory;
    return directory ? directory : options->own_place ? options->own_place : OWN_PLACES;
}

int run_load_job(const cli_context *context, int parsed, const char *path, run_options *options, assay_buf *text,
                 assay_job *job, assay_error *err)
{
    assay_comm *comm = context->comm;
    assay_buf list = ASSAY_BUF(CLI_JOB_CEILING);
    int status = assay_comm_agree(comm, parsed, err);
    ASSAY_TRY(status);
    if (assay_comm_rank(comm) == 0)
        status = read_texts(path, options, text, &list, err);
    status = assay_comm_agree(comm, status, err);
    ASSAY_THEN(status, assay_comm_broadcast(comm, text));
    ASSAY_THEN(status, assay_comm_broadcast(comm, &list));
    ASSAY_THEN(status, assay_comm_agree(comm, parse_job(path, options, text, &list, job, err), err));
    assay_buf_release(&list);
    ASSAY_THEN(status, cli_expand_trials(comm, job, err));
    ASSAY_THEN(status, assay_comm_agree(comm, adjust_job(options, job, err), err));
    if (status == ASSAY_OK) {
        const bool own = !options->out && !job->output_directory && !options->dry_run && assay_comm_rank(comm) == 0;
        status = assay_comm_agree(comm, own ? own_place_make(job, &options->own_place, err) : ASSAY_OK, err);
    }
    ASSAY_THEN(status, cli_s3_begin(comm, job, run_directory(options, job), err));
    ASSAY_THEN(status, cli_same_rules(comm, job, err));
    ASSAY_THEN(status,
               run_actions_begin(&options->actions, comm, job, run_directory(options, job), options->dry_run, err));
    return status;
}
