/* check.c - assay check: is this job file valid, and what are its defaults? */
#include <string.h>

#include "action/actions.h"
#include "base/fault.h"
#include "base/log.h"
#include "cli/built_in.h"
#include "cli/own_place.h"
#include "cli/rules_load.h"
#include "job/job.h"
#include "report/report.h"
#include "report/text/layout.h"
#include "rule/module.h"
#include "rule/no_data.h"
#include "source/trial_files.h"

/* ---- check trial ---- */

/* Which rules of a job would have no data in a trial; reads only its index. */

/* Steps, and the modes in which each tensor was saved raw. */
static int collect(const assay_trial_files *files, assay_trial *info)
{
    const assay_shard *s = &files->shard;
    info->steps = assay_alloc_zeroed(s->count, sizeof *info->steps);
    info->tensor_modes = assay_alloc_zeroed(assay_dict_count(files->tensors), 1);
    ASSAY_HAVE(info->steps && info->tensor_modes);
    for (size_t p = 0; p < s->count; p++) {
        const assay_part *part = &s->parts[p];
        for (size_t e = part->first; e < (size_t)part->first + part->count; e++)
            if (s->entries[e].kind == ASSAY_RAW)
                info->tensor_modes[s->entries[e].tensor] |= (uint8_t)(1u << part->mode);
        if (p == 0 || part->step != s->parts[p - 1].step)
            info->steps[info->step_count++] = (assay_step_info){part->step, part->mode_step, part->mode};
    }
    return ASSAY_OK;
}

/* Opens a trial as rules know it; *info is to be freed, and the files to be released. */
static int open_trial(const char *path, assay_trial_files *files, assay_trial **info, assay_error *err)
{
    int status = assay_trial_open(path, files, err);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOMEM ? status : ASSAY_ENOTFOUND; /* whatever the reason: look at the path */
    assay_trial *trial = assay_alloc_zeroed(1, sizeof *trial);
    status = trial ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK) {
        trial->path = assay_copy_text(path);
        trial->name = assay_copy_text(path);
        trial->catalog = &files->catalog;
        trial->tensors = files->tensors;
        status = trial->path && trial->name ? collect(files, trial) : ASSAY_ENOMEM;
    }
    ASSAY_THEN(status, assay_trial_info_finish(trial, &files->problems));
    *info = trial;
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "%s: %s", path, assay_status_text(status));
}

static void release_trial(assay_trial_files *files, assay_trial *info)
{
    if (info) {
        info->tensors = NULL; /* the files' */
        assay_trial_info_free(info);
    }
    if (files->store)
        assay_trial_release(files);
}

static void check_rule(const assay_instance *instance, const assay_trial *info, const char *path, assay_jw *w)
{
    assay_buf why = ASSAY_BUF(1 << 16);
    assay_rule rule = {.ops = instance->ops,
                       .params = instance->params,
                       .data = instance->data,
                       .trial = info,
                       .start_step = instance->start_step,
                       .end_step = instance->end_step};
    if (instance->status == ASSAY_OK && assay_no_data_explain(&rule, instance, &why)) {
        assay_jw_line(w, 3);
        assay_jw_object(w, NULL);
        assay_jw_text(w, "name", instance->name);
        assay_jw_text_n(w, "message", (const char *)why.data, why.size);
        assay_jw_end(w);
        assay_log_warn("%s: rule \"%s\" has nothing to test: %.*s", path, instance->name, (int)why.size,
                       (const char *)why.data);
    }
    assay_buf_release(&why);
}

/* Appends the list "no_data" of what `assay check` prints: of each trial the rules that can have no data, with the
 * reason that a run would give. Warns of each. ASSAY_ENOTFOUND when a trial cannot be opened, ASSAY_ENOMEM. */
static int check_trials(const assay_job *job, const char *const *trial, size_t count, assay_buf *out, assay_error *err)
{
    assay_jw w = assay_jw_over(out);
    int status = ASSAY_OK;
    assay_jw_array(&w, NULL);
    for (size_t t = 0; status == ASSAY_OK && t < count; t++) {
        assay_trial_files files = {0};
        assay_trial *info = NULL;
        status = open_trial(trial[t], &files, &info, err);
        assay_jw_line(&w, 2);
        assay_jw_object(&w, NULL);
        assay_jw_text(&w, "path", trial[t]);
        assay_jw_array(&w, "rules");
        for (size_t i = 0; status == ASSAY_OK && i < job->rule_count; i++)
            check_rule(job->rules[i], info, trial[t], &w);
        assay_jw_end(&w);
        assay_jw_end(&w);
        release_trial(&files, info);
    }
    assay_jw_end(&w);
    return status;
}

/* ---- check ---- */

typedef struct check_options {
    const char *rules_path;
    cli_list trials;
} check_options;

static const assay_setting OPTIONS[] = {
    {"rules-path", ASSAY_SETTING_TEXT, offsetof(check_options, rules_path), "DIRS", CLI_RULES_PATH_HELP},
    {"trial", ASSAY_SETTING_REPEATED, offsetof(check_options, trials), "PATH",
     "Also say which rules have no data in this trial, and why; reads only its index. Repeatable."},
    {0}};

static void put_instance(assay_jw *w, const char *key, const assay_instance *instance)
{
    assay_jw_line(w, 2);
    assay_jw_object(w, NULL);
    assay_jw_text(w, "name", instance->name);
    assay_jw_text(w, key, instance->ops ? instance->ops->name : instance->rule_name);
    if (instance->ops && assay_module_of(instance->ops))
        assay_jw_text(w, "module", assay_module_of(instance->ops));
    if (instance->is_python)
        assay_jw_text(w, "python", instance->rule_name);
    if (strcmp(key, "rule") == 0)
        assay_jw_text(w, "severity", assay_severity_name(instance->severity));
    if (instance->params) {
        assay_jw_line(w, 3);
        assay_instance_put_parameters(instance, assay_jw_value(w, "parameters"));
    }
    if (instance->status != ASSAY_OK) {
        assay_jw_line(w, 3);
        assay_jw_text(w, "error", instance->error.text);
    }
    assay_jw_end(w);
}

static void put_instances(assay_jw *w, const char *list, const char *key, assay_instance *const *instance, size_t count)
{
    assay_jw_line(w, 1);
    assay_jw_array(w, list);
    for (size_t i = 0; i < count; i++)
        put_instance(w, key, instance[i]);
    assay_jw_end(w);
}

static void put_job(const assay_job *job, const assay_actions *actions, const assay_buf *no_data, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    assay_jw_object(&w, NULL);
    assay_jw_array(&w, "trials");
    for (size_t i = 0; i < job->trial_count; i++) {
        assay_jw_line(&w, 2);
        ASSAY_JW_OBJECT(&w, NULL, "path", job->trials[i].path, "name", job->trials[i].name);
    }
    assay_jw_end(&w);
    put_instances(&w, "rules", "rule", job->rules, job->rule_count);
    put_instances(&w, "aggregations", "kind", job->aggregations, job->aggregation_count);
    if (no_data->size > 0) {
        assay_jw_line(&w, 1);
        assay_put_bytes(assay_jw_value(&w, "no_data"), no_data->data, no_data->size);
    }
    assay_jw_line(&w, 1);
    (void)assay_actions_put_json(actions, assay_jw_value(&w, "actions"));
    assay_jw_line(&w, 1);
    assay_jw_object(&w, "comparison");
    assay_jw_text(&w, "baseline", job->baseline_name); /* null: the first trial */
    assay_jw_number(&w, "tolerance", job->tolerance);
    assay_jw_end(&w);
    assay_jw_line(&w, 1);
    assay_jw_object(&w, "output");
    assay_jw_text(&w, "directory", job->output_directory ? job->output_directory : OWN_PLACES);
    assay_jw_array(&w, "formats");
    for (int f = 0; f < ASSAY_FORM_COUNT; f++)
        if (job->formats & 1u << f)
            assay_jw_text(&w, NULL, job->forms->list[f].word);
    assay_jw_end(&w);
    assay_jw_u64(&w, "max_findings", job->max_findings);
    assay_jw_end(&w);
    assay_jw_line(&w, 1);
    ASSAY_JW_OBJECT(&w, "s3", "unsigned", job->unsigned_s3);
    assay_jw_end(&w);
    assay_put_u8(out, '\n');
}

/* A message may go on in further lines, which point at a place in a text. */
static void log_error(const char *file, const char *what, const assay_instance *instance)
{
    const char *line = cli_mistake_of(instance), *end = strchr(line, '\n');
    char at[CLI_PLACE];
    assay_log_error("%s: %s%s \"%s\": %.*s", file, cli_place_of(instance, at), what, instance->name,
                    (int)(end ? end - line : (ptrdiff_t)strlen(line)), line);
    while (end) {
        line = end + 1;
        end = strchr(line, '\n');
        assay_log_error("%.*s", (int)(end ? end - line : (ptrdiff_t)strlen(line)), line);
    }
}

/* Logs what is wrong with each; returns how many are. */
static size_t log_errors(const char *file, const char *what, assay_instance *const *instance, size_t count)
{
    size_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        if (instance[i]->status == ASSAY_OK)
            continue;
        log_error(file, what, instance[i]);
        bad++;
    }
    return bad;
}

static int check(const cli_context *context, int argc, char **argv)
{
    const char *path[1] = {NULL};
    size_t operands = 0;
    assay_error err = {""};
    assay_job job = {0};
    assay_actions *actions = NULL;
    assay_buf text = ASSAY_BUF(CLI_JOB_CEILING), no_data = ASSAY_BUF(ASSAY_REPORT_CEILING),
              out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    check_options options = {.rules_path = NULL};
    int status = cli_options_parse(&cli_check, argc, argv, &options, path, &operands, &err);
    if (status != ASSAY_OK)
        return cli_fail(status, &err);
    status = cli_load_rules(options.rules_path, &err);
    if (status == ASSAY_OK && path[0])
        status = cli_read_job_text(path[0], &text, &err);
    else if (status == ASSAY_OK)
        assay_put_bytes(&text, cli_built_in_job, cli_built_in_job_size);
    path[0] = path[0] ? path[0] : "the built-in job";
    ASSAY_THEN(status, assay_job_parse(path[0], text.data, text.size, &assay_report_forms, &job, &err));
    if (status == ASSAY_OK && job.unsigned_s3)
        assay_s3_allow_unsigned();
    ASSAY_THEN(status, assay_actions_parse(&job, &actions, &err));
    if (status == ASSAY_OK && options.trials.count > 0)
        status = check_trials(&job, options.trials.text, options.trials.count, &no_data, &err);
    assay_buf_release(&text);
    cli_options_release(&cli_check, &options);
    if (status != ASSAY_OK) {
        assay_buf_release(&no_data);
        assay_actions_free(actions);
        assay_job_release(&job);
        return cli_fail(status, &err);
    }
    size_t bad = log_errors(path[0], "rule", job.rules, job.rule_count) +
                 log_errors(path[0], "aggregation", job.aggregations, job.aggregation_count);
    if (job.rule_count + job.aggregation_count == 0) {
        assay_log_error("%s: nothing to do: neither \"rules\" nor \"aggregations\"", path[0]);
        bad++;
    }
    put_job(&job, actions, &no_data, &out);
    assay_buf_release(&no_data);
    assay_actions_free(actions);
    assay_job_release(&job);
    return cli_finish(&out, bad ? CLI_USAGE : CLI_DONE);
}

const cli_command cli_check = {"check",
                               "[JOB]",
                               "Checks a job file, or the built-in job, and prints it with all defaults.",
                               OPTIONS,
                               0,
                               1,
                               CLI_TRIALS | CLI_DOCUMENT | CLI_PAGED,
                               check};
