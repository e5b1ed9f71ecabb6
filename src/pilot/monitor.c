/* monitor.c - one check of a training: the job's state in Slurm, and the findings of `assay run` in the trial so far.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "action/command.h"
#include "pilot/pilot_internal.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/path.h"
#include "base/log.h"
#include "report/model/report_model.h"
#include "report/model/report_parse.h"

enum { REPORT_CEILING = 1 << 28 };                                      /* bytes */
enum { RUN_DONE = 0, RUN_FINDINGS = 1, RUN_USAGE = 2, RUN_LOSSES = 3 }; /* exit codes of assay run: docs/design.md */

/* A severity that is not known counts as the gravest: a report of a newer version must not be passed over. */
static int severity_of(const cJSON *rule)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(rule, "severity");
    for (int s = ASSAY_INFO; cJSON_IsString(item) && s <= ASSAY_ERROR; s++) {
        if (strcmp(item->valuestring, assay_severity_name(s)) == 0)
            return s;
    }
    return ASSAY_ERROR;
}

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void describe_issue(const cJSON *rule, pilot_verdict *out)
{
    const cJSON *first = cJSON_GetObjectItemCaseSensitive(rule, "first");
    const bool in_time = cJSON_HasObjectItem(first, "time_us");
    const char *where = assay_report_text_of(first, in_time ? "unit" : "tensor");
    char when[REPORT_WHEN_ROOM];
    const double time = number_of(first, "time_us");
    if (in_time)
        report_time(fabs(time) < 0x1p53 ? (int64_t)time : 0, when);
    else
        snprintf(when, sizeof when, "step %.0f", number_of(first, "step"));
    snprintf(out->text, sizeof out->text, "%.60s: %.0f findings, first at %s on %.40s%s%.80s",
             assay_report_text_of(rule, "name"), number_of(rule, "findings_total"), when,
             assay_report_text_of(first, "worker"), where[0] ? " in " : "", where);
}

/* The report may be an older one or anybody's: each member may be missing. Findings go before errors, and those
 * before sound rules, whatever the order in the report. */
int pilot_read_report(const char *file, const void *text, size_t size, int fail_on, pilot_verdict *out,
                      assay_error *err)
{
    cJSON *document = NULL;
    ASSAY_TRY(assay_report_parse(file, text, size, &document, err));
    const cJSON *trials = cJSON_GetObjectItemCaseSensitive(document, "trials");
    const cJSON *trial = cJSON_GetArrayItem(trials, 0), *rules = cJSON_GetObjectItemCaseSensitive(trial, "rules"),
                *rule;
    const cJSON *failed = NULL, *issue = NULL;
    size_t tested = 0;
    if (cJSON_GetArraySize(trials) != 1) {
        cJSON_Delete(document);
        return assay_fail(err, ASSAY_EFORMAT, "%s: not a report of one trial (schema assay-report/1)", file);
    }
    cJSON_ArrayForEach(rule, rules)
    {
        const char *said = assay_report_text_of(rule, "status");
        if (severity_of(rule) < fail_on)
            continue;
        issue = !issue && strcmp(said, "IssuesFound") == 0 ? rule : issue;
        failed = !failed && strcmp(said, "Error") == 0 ? rule : failed;
        tested += strcmp(said, "NoIssuesFound") == 0;
    }
    *out = (pilot_verdict){.ended = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(trial, "ended"))};
    snprintf(out->said, sizeof out->said, "%s", assay_report_text_of(document, "verdict"));
    out->status = issue    ? PILOT_RULE_ISSUES
                  : failed ? PILOT_RULE_ERROR
                  : tested ? PILOT_RULE_NO_ISSUES
                           : PILOT_RULE_NO_DATA;
    if (issue)
        describe_issue(issue, out);
    else if (failed)
        snprintf(out->text, sizeof out->text, "%.60s could not be evaluated: %.200s",
                 assay_report_text_of(failed, "name"), assay_report_text_of(failed, "message"));
    else if (!tested)
        snprintf(out->text, sizeof out->text, "no rule found anything to test");
    cJSON_Delete(document);
    return ASSAY_OK;
}

/* Makes assay run JOB --trial TRIAL --out REPORT ...; the list is the caller's to free. At the beginning of a
 * training there are rules without data and steps not yet saved: these are no findings, and the report's first line
 * says them. */
static const char **analysis(const assay_pilot *pilot, const char *trial, const char *report)
{
    size_t lead = 0, used = 0;
    while (pilot->command && pilot->command[lead])
        lead++;
    /* 17: room for the program's own name and for the 15 of `tail`, with its NULL. */
    const char **argv = assay_realloc_array(NULL, lead + 17, sizeof *argv);
    if (!argv)
        return NULL;
    for (size_t i = 0; i < lead; i++)
        argv[used++] = pilot->command[i];
    if (lead == 0)
        argv[used++] = pilot->program ? pilot->program : "assay";
    const char *const tail[] = {"run",
                                pilot->job,
                                "--trial",
                                trial,
                                "--out",
                                report,
                                "--reports",
                                "json,text",
                                "--fail-on",
                                assay_severity_name(pilot->fail_on),
                                "--allow-no-data",
                                "--min-coverage",
                                "0",
                                "--quiet",
                                NULL};
    memcpy(argv + used, tail, sizeof tail);
    return argv;
}

/* Reads the report that a run has written. A damaged one is ASSAY_EIO, which the pilot tries again. */
static int look_at_report(const assay_pilot *pilot, const char *directory, pilot_verdict *out, assay_error *err)
{
    char *path = assay_path_join(directory, "report.json");
    assay_buf text = ASSAY_BUF(REPORT_CEILING);
    int status = path ? assay_file_read(path, REPORT_CEILING, &text, err)
                      : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", pilot->file);
    ASSAY_THEN(status, pilot_read_report(path, text.data, text.size, pilot->fail_on, out, err));
    assay_buf_release(&text);
    free(path);
    return status == ASSAY_ENOMEM ? status : status == ASSAY_OK ? ASSAY_OK : ASSAY_EIO;
}

/* Which file report.json of a directory is at the moment; all zero: there is none. A run puts a new one in its place. */
static struct stat stamp_of(const char *report)
{
    struct stat now = {0};
    char *path = assay_path_join(report, "report.json");
    if (!path || stat(path, &now) != 0)
        now = (struct stat){0};
    free(path);
    return now;
}

/* Device and number alone may be those of a file that was removed; with the time of change they are not. */
static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
           a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* A run over the trial. */
typedef struct trial_look {
    const char *report; /* its directory */
    struct stat before; /* which report.json lay there */
    assay_command_result result;
    assay_error cause; /* of the command's failure */
} trial_look;

/* What the end of a run means. A launcher has exit codes of its own: one that could not start the run ends with 1 as well,
 * and what lies there is then the report of an earlier look. */
static int judge(const assay_pilot *pilot, const trial_look *look, pilot_verdict *out, assay_error *err)
{
    const assay_command_result *result = &look->result;
    const char *report = look->report, *cause = look->cause.text;
    int code = result->started && !result->timed_out ? result->exit_status : -1;
    if (code == RUN_USAGE) { /* a job file that is right, as pilot_prepare() has seen: so there is no trial yet */
        *out = (pilot_verdict){.status = PILOT_RULE_IN_PROGRESS};
        snprintf(out->text, sizeof out->text, "%.290s", cause);
        return ASSAY_OK;
    }
    if (code != RUN_DONE && code != RUN_FINDINGS && code != RUN_LOSSES)
        return assay_fail(err, result->started ? ASSAY_EIO : ASSAY_EJOB, "%s", cause);
    const struct stat now = stamp_of(report);
    int status = look_at_report(pilot, report, out, err);
    if (status == ASSAY_OK && is_same(&look->before, &now))
        return assay_fail(err, ASSAY_EIO, "%s: is not the report of a run that ended with %d, but an older one%s%s",
                          report, code, *cause ? ": " : "", cause);
    if (status == ASSAY_OK && code == RUN_LOSSES && out->status == PILOT_RULE_NO_ISSUES) {
        out->status = PILOT_RULE_DAMAGED;
        snprintf(out->text, sizeof out->text, "part of the trial is damaged or missing");
    } else if (status == ASSAY_OK && code == RUN_FINDINGS &&
               (out->status == PILOT_RULE_NO_ISSUES || out->status == PILOT_RULE_NO_DATA)) {
        out->status = PILOT_RULE_DAMAGED; /* no rule stopped it: what the first line says does */
        snprintf(out->text, sizeof out->text, "%s", out->said);
    }
    return status;
}

/* Runs the rules over what is written. The lock goes along as an open file: a pilot that dies leaves a run behind,
 * during which no other one starts. */
static int analyse(const assay_pilot *pilot, pilot_verdict *out, assay_error *err)
{
    char *trial = pilot_trial(pilot), *report = pilot_report(pilot);
    const char **argv = trial && report ? analysis(pilot, trial, report) : NULL;
    int status;
    if (argv) {
        /* One process without a launcher: Open MPI would start a daemon for it, which outlives it and so keeps the
         * lock. */
        const char *const alone[] = {"OMPI_MCA_ess_singleton_isolated=1", NULL};
        const assay_command command = {.argv = argv,
                                       .environment = pilot->command ? NULL : alone,
                                       .keep = pilot->lock,
                                       .seconds = pilot->time_limit};
        trial_look look = {.report = report, .before = stamp_of(report)};
        (void)assay_command_run(&command, &look.result, &look.cause); /* the exit code tells more than its status */
        status = judge(pilot, &look, out, err);
        assay_command_release(&look.result);
    } else {
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", pilot->file);
    }
    free(argv);
    free(report);
    free(trial);
    return status;
}

/* Says what a job that has ended means for the state. */
static pilot_job end_of(const assay_slurm_job *job, const pilot_verdict *verdict)
{
    if (job->phase == ASSAY_SLURM_UNKNOWN) /* forgotten by Slurm: the trial's own word is left */
        return verdict->ended ? PILOT_JOB_COMPLETED : PILOT_JOB_FAILED;
    if (strcmp(job->state, "CANCELLED") == 0)
        return PILOT_JOB_STOPPED;
    return strcmp(job->state, "COMPLETED") == 0 ? PILOT_JOB_COMPLETED : PILOT_JOB_FAILED;
}

/* Takes in a training that has ended without issues: the pilot ends in any case, and only the words differ. */
static void conclude(assay_pilot *pilot, const assay_slurm_job *job, const pilot_verdict *verdict)
{
    const bool recorded = verdict->status != PILOT_RULE_IN_PROGRESS;
    pilot->rule_status = verdict->status == PILOT_RULE_IN_PROGRESS ? PILOT_RULE_ERROR : verdict->status;
    if (pilot->job_status != PILOT_JOB_COMPLETED && !recorded)
        pilot_set_next(pilot, PILOT_END, "job %s ended as %s before it recorded anything; %s%.250s", pilot->job_id,
                       job->state[0] ? job->state : "unknown to Slurm",
                       job->log[0] ? "its log: " : "Slurm does not say where its log is", job->log);
    else if (pilot->job_status != PILOT_JOB_COMPLETED)
        pilot_set_next(pilot, PILOT_END, "job %s ended as %s, without issues that a strategy is for%s%s", pilot->job_id,
                       job->state[0] ? job->state : "unknown to Slurm", verdict->text[0] ? "; " : "", verdict->text);
    else if (pilot->rule_status == PILOT_RULE_NO_ISSUES)
        pilot_set_next(pilot, PILOT_END, "job %s has trained without issues%s%s", pilot->job_id,
                       verdict->said[0] ? ": " : "", verdict->said);
    else
        pilot_set_next(pilot, PILOT_END, "job %s has trained, but: %s", pilot->job_id, verdict->text);
}

/* Puts what was seen into the state, in memory; pilot_step_observe() writes it. */
static int take_in(assay_pilot *pilot, const assay_slurm_job *job, const pilot_verdict *verdict, assay_error *err)
{
    bool ended = job->phase == ASSAY_SLURM_ENDED || job->phase == ASSAY_SLURM_UNKNOWN;
    pilot_add(pilot, "num_monitor_transitions");
    if (!pilot_note_launch(pilot, "findings", verdict->text) ||
        (job->log[0] && !pilot_note_launch(pilot, "log", job->log)))
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", pilot->file);
    pilot->rule_status = PILOT_RULE_IN_PROGRESS;
    pilot->job_status = ended                               ? end_of(job, verdict)
                        : job->phase == ASSAY_SLURM_PENDING ? PILOT_JOB_PENDING
                                                            : PILOT_JOB_IN_PROGRESS;
    if (verdict->status == PILOT_RULE_ISSUES) {
        pilot->rule_status = PILOT_RULE_ISSUES;
        /* An ended job needs no stopping, a running one is stopped first: next_step() sees to it before anything
         * else. */
        pilot->job_status = ended ? pilot->job_status : PILOT_JOB_STOPPING;
        return pilot_plan(pilot, verdict->text, err);
    }
    if (ended) {
        conclude(pilot, job, verdict);
    } else if (pilot->most_monitor > 0 && pilot_count(pilot, "num_monitor_transitions") >= pilot->most_monitor) {
        pilot->job_status = PILOT_JOB_STOPPING;
        pilot_set_next(pilot, PILOT_END, "caps.num_monitor_transitions is reached");
    }
    return ASSAY_OK;
}

/* Asks Slurm first: of a job that has ended, the run then sees everything that was written. */
int pilot_step_observe(assay_pilot *pilot, assay_error *err)
{
    pilot_verdict verdict = {.status = PILOT_RULE_IN_PROGRESS};
    assay_slurm_job job;
    int status = assay_slurm_state(pilot->job_id, &job, err);
    if (status == ASSAY_OK && job.phase != ASSAY_SLURM_PENDING)
        status = analyse(pilot, &verdict, err);
    assay_fault_die("observe-done");
    if (status == ASSAY_OK) {
        status = take_in(pilot, &job, &verdict, err);
        /* What is half taken in must not be written by a later step. */
        pilot->stale = status != ASSAY_OK;
    }
    ASSAY_TRY(status);
    if (pilot->next_action != PILOT_MONITOR)
        assay_log_note("%s: %s", pilot->job_name, pilot->reason);
    status = pilot_write(pilot, err);
    assay_fault_die("observe-written");
    return status;
}
