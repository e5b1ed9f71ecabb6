/* slurm.c - see slurm.h. */
#include "action/slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "action/command.h"
#include "action/slurm_answer.h"
#include "base/fault.h"

static const double SECONDS =
    60; /* for one command: a busy controller answers late, and the commands try again themselves */

/* Checked here too, though callers have: the id is an argument of a command, and an option would be one as well. */
static int check_id(const char *job, assay_error *err)
{
    if (assay_slurm_is_id(job))
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EUSAGE,
                      "\"%.40s\" is not a Slurm job id: expected a number, or one of an array like 123_4", job);
}

static int run(const char *const *argv, assay_command_result *result, assay_error *err)
{
    const assay_command command = {.argv = argv, .seconds = SECONDS};
    return assay_command_run(&command, result, err);
}

static bool says(const assay_buf *output, const char *text)
{
    return output->data && strstr((const char *)output->data, text);
}

/* Success is that the job runs no more: one that had ended by itself counts. */
int assay_slurm_cancel(const char *job, assay_error *err)
{
    const char *const argv[] = {"scancel", job, NULL};
    assay_command_result result;
    ASSAY_TRY(check_id(job, err));
    int status = run(argv, &result, err);
    if (status == ASSAY_EIO && (says(&result.err, "already completing") || says(&result.err, "already completed")))
        status = ASSAY_OK;
    assay_command_release(&result);
    /* scancel is silent about a job that Slurm does not know, so the state is asked for; that question may fail
     * without harm. */
    assay_slurm_job now;
    if (status == ASSAY_OK && assay_slurm_state(job, &now, NULL) == ASSAY_OK && now.phase == ASSAY_SLURM_UNKNOWN)
        status =
            assay_fail(err, ASSAY_EIO, "scancel: Slurm does not know job %s", job); /* scancel itself keeps silent */
    return status;
}

int assay_slurm_release(const char *job, assay_error *err)
{
    const char *const argv[] = {"scontrol", "release", job, NULL};
    assay_command_result result;
    ASSAY_TRY(check_id(job, err));
    int status = run(argv, &result, err);
    assay_command_release(&result);
    return status;
}

static size_t count(const char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

/* Makes sbatch's command line; the caller frees the list, whose texts are borrowed. */
static const char **submit_argv(const assay_slurm_script *script)
{
    size_t used = 0;
    const char **argv = assay_realloc_array(NULL, 6 + count(script->options) + count(script->arguments), sizeof *argv);
    if (!argv)
        return NULL;
    argv[used++] = "sbatch";
    argv[used++] = "--parsable";
    if (count(script->environment) > 0)
        argv[used++] = "--export=ALL";
    for (size_t i = 0; i < count(script->options); i++)
        argv[used++] = script->options[i];
    argv[used++] = "--"; /* what follows is never an option of sbatch */
    argv[used++] = script->script;
    for (size_t i = 0; i < count(script->arguments); i++)
        argv[used++] = script->arguments[i];
    argv[used] = NULL;
    return argv;
}

/* *uncertain: the job may be in the queue. sbatch gets no answer, or is stopped, after the controller has taken it. */
int assay_slurm_submit(const assay_slurm_script *script, char job[ASSAY_SLURM_ID], bool *uncertain, assay_error *err)
{
    assay_command_result result;
    const char **argv = submit_argv(script);
    if (uncertain)
        *uncertain = false;
    if (!argv)
        return assay_fail(err, ASSAY_ENOMEM, "sbatch: out of memory");
    const assay_command command = {
        .argv = argv, .environment = script->environment, .keep = script->keep, .seconds = SECONDS};
    int status = assay_command_run(&command, &result, err);
    free(argv);
    if (status == ASSAY_OK && !slurm_answer_submitted((const char *)result.out.data, job))
        status = assay_fail(err, ASSAY_EIO, "sbatch: expected a job id, got \"%.60s\"", (const char *)result.out.data);
    if (uncertain)
        *uncertain = status != ASSAY_OK && result.started && /* "timed out": it had no answer from the controller */
                     (result.exit_status <= 0 || result.timed_out || says(&result.err, "timed out"));
    assay_command_release(&result);
    return status;
}

/* Asks for a job that the controller has forgotten, which it does minutes after the end. A site without accounting is
 * no failure: the state is then unknown. */
static int ask_accounting(const char *job, assay_slurm_job *out, assay_error *err)
{
    const char *const argv[] = {"sacct", "-X", "-n", "-P", "-j", job, "-o", "State,ExitCode", NULL};
    assay_command_result result;
    int status = run(argv, &result, err);
    *out = (assay_slurm_job){.phase = ASSAY_SLURM_UNKNOWN, .exit_status = -1};
    if (status == ASSAY_OK && result.out.size > 0)
        status = slurm_answer_accounted((const char *)result.out.data, job, out, err);
    bool unavailable = status == ASSAY_ENOTFOUND || says(&result.err, "accounting storage is disabled");
    assay_command_release(&result);
    return unavailable ? ASSAY_OK : status;
}

/* The controller is asked first, as it knows of a job before the accounting does. */
int assay_slurm_state(const char *job, assay_slurm_job *out, assay_error *err)
{
    const char *const argv[] = {"scontrol", "-o", "show", "job", job, NULL};
    assay_command_result result;
    ASSAY_TRY(check_id(job, err));
    int status = run(argv, &result, err);
    if (status == ASSAY_OK)
        status = slurm_answer_shown((const char *)result.out.data, job, out, err);
    else if (status == ASSAY_EIO && says(&result.err, "Invalid job id"))
        status = ask_accounting(job, out, err);
    assay_command_release(&result);
    return status;
}

typedef struct job_filter {
    char name[300], user[40]; /* options of squeue and sacct: this user's jobs that are called so */
} job_filter;

static int set_filter(const char *name, job_filter *filter, assay_error *err)
{
    if (strlen(name) > 200 || strpbrk(name, ",\n"))
        return assay_fail(err, ASSAY_EUSAGE, "\"%.60s\" cannot be looked up as a job's name: too long, or with a comma",
                          name);
    snprintf(filter->name, sizeof filter->name, "--name=%s", name);
    snprintf(filter->user, sizeof filter->user, "--user=%lu", (unsigned long)getuid());
    return ASSAY_OK;
}

/* Names are looked up by a pilot that starts again, which may have died after sbatch: its own user's jobs only. 30
 * days bound what the accounting walks through. */
int assay_slurm_find(const char *name, char job[ASSAY_SLURM_ID], assay_error *err)
{
    char found[ASSAY_SLURM_ID] = "";
    assay_command_result result;
    job_filter by;
    ASSAY_TRY(set_filter(name, &by, err));
    const char *const queue[] = {"squeue", "--noheader", "--states=all", by.user, by.name, "--format=%A", NULL};
    const char *const past[] = {"sacct", "-X", "-n", "-P", "-S", "now-30days", by.user, by.name, "-o", "JobID", NULL};
    int status = run(queue, &result, err);
    if (status == ASSAY_OK)
        slurm_answer_newest((const char *)result.out.data, found);
    assay_command_release(&result);
    if (status == ASSAY_OK && !found[0]) {
        status = run(past, &result, err);
        if (status == ASSAY_OK)
            slurm_answer_newest((const char *)result.out.data, found);
        else if (status == ASSAY_ENOTFOUND || says(&result.err, "accounting storage is disabled"))
            status = ASSAY_OK;
        assay_command_release(&result);
    }
    if (status == ASSAY_OK)
        memcpy(job, found, sizeof found);
    return status;
}

/* Ends waiting jobs of that name but `keep`: a pilot that could not tell whether sbatch had worked may have submitted
 * two. */
int assay_slurm_cancel_waiting(const char *name, const char *keep, assay_error *err)
{
    assay_command_result result;
    job_filter by;
    ASSAY_TRY(set_filter(name, &by, err));
    const char *const queue[] = {"squeue", "--noheader", "--states=PENDING", by.user, by.name, "--format=%A", NULL};
    int status = run(queue, &result, err);
    const char *line = status == ASSAY_OK ? (const char *)result.out.data : "";
    while (*line && status == ASSAY_OK) {
        char job[ASSAY_SLURM_ID];
        line = slurm_answer_next(line, job);
        if (job[0] && strcmp(job, keep) != 0)
            status = assay_slurm_cancel(job, err);
    }
    assay_command_release(&result);
    return status;
}
