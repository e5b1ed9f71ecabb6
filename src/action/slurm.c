/* slurm.c - see slurm.h. */
#include "action/slurm.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "action/command.h"
#include "base/fault.h"

static const double SECONDS =
    60; /* for one command: a busy controller answers late, and the commands try again themselves */

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

bool assay_slurm_is_id(const char *job)
{
    size_t length = digits(job), tail = 0;
    if (length == 0)
        return false;
    if (job[length] == '_')
        tail = digits(job + length + 1) + 1;
    return tail != 1 && job[length + tail] == '\0' && length + tail < ASSAY_SLURM_ID;
}

static int check_id(const char *job, assay_error *err)
{
    if (assay_slurm_is_id(job))
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EUSAGE,
                      "\"%.40s\" is no Slurm job id: expected a number, or one of an array like 123_4", job);
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

int assay_slurm_cancel(const char *job, assay_error *err)
{
    const char *const argv[] = {"scancel", job, NULL};
    assay_command_result result;
    int status = check_id(job, err);
    if (status != ASSAY_OK)
        return status;
    status = run(argv, &result, err);
    if (status == ASSAY_EIO && (says(&result.err, "already completing") || says(&result.err, "already completed")))
        status = ASSAY_OK;
    assay_command_release(&result);
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
    int status = check_id(job, err);
    if (status != ASSAY_OK)
        return status;
    status = run(argv, &result, err);
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

/* The first line up to its end or a ';' (behind it stands the cluster), when that is an id. */
static bool take_id(const assay_buf *output, char job[ASSAY_SLURM_ID])
{
    const char *text = output->data ? (const char *)output->data : "";
    char id[ASSAY_SLURM_ID];
    size_t length = strcspn(text, ";\n");
    if (length >= sizeof id)
        return false;
    memcpy(id, text, length);
    id[length] = '\0';
    if (!assay_slurm_is_id(id))
        return false;
    memcpy(job, id, length + 1);
    return true;
}

/* sbatch's command line; the caller frees it. */
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
    if (status == ASSAY_OK && !take_id(&result.out, job))
        status = assay_fail(err, ASSAY_EIO, "sbatch: expected a job id, got \"%.60s\"", (const char *)result.out.data);
    if (uncertain)
        *uncertain = status != ASSAY_OK && result.started && /* "timed out": it had no answer from the controller */
                     (result.exit_status <= 0 || result.timed_out || says(&result.err, "timed out"));
    assay_command_release(&result);
    return status;
}

/* The value of "KEY=" in a line of scontrol, up to the next blank; false when it is not there. */
static bool field(const char *line, const char *key, char *out, size_t room)
{
    size_t length = strlen(key);
    for (const char *at = line; (at = strstr(at, key)); at += length) {
        if ((at != line && at[-1] != ' ') || at[length] != '=')
            continue;
        size_t value = strcspn(at + length + 1, " \n");
        snprintf(out, room, "%.*s", (int)(value < room ? value : room - 1), at + length + 1);
        return true;
    }
    return false;
}

static bool among(const char *state, const char *const *list)
{
    while (*list && strcmp(*list, state) != 0)
        list++;
    return *list != NULL;
}

/* False for a word that no Slurm is known to say: it must not be taken for an end. */
static bool phase_of(const char *state, assay_slurm_phase *out)
{
    static const char *const waits[] = {"PENDING",       "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT",
                                        "RESV_DEL_HOLD", NULL};
    static const char *const runs[] = {"RUNNING",    "COMPLETING",    "CONFIGURING", "SUSPENDED",
                                       "STOPPED",    "SIGNALING",     "STAGE_OUT",   "RESIZING",
                                       "EXPEDITING", "POWER_UP_NODE", NULL};
    static const char *const ends[] = {"COMPLETED",     "CANCELLED", "FAILED",   "TIMEOUT",       "NODE_FAIL",
                                       "PREEMPTED",     "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "LAUNCH_FAILED",
                                       "RECONFIG_FAIL", "REVOKED",   NULL};
    *out = among(state, waits) ? ASSAY_SLURM_PENDING : among(state, runs) ? ASSAY_SLURM_RUNNING : ASSAY_SLURM_ENDED;
    return *out != ASSAY_SLURM_ENDED || among(state, ends);
}

/* From a state ("CANCELLED by 0", "CANCELLED+") and an exit code "STATUS:SIGNAL". */
static int set_job(assay_slurm_job *out, const char *job, const char *state, const char *code, assay_error *err)
{
    *out = (assay_slurm_job){.exit_status = -1};
    size_t length = strspn(state, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    snprintf(out->state, sizeof out->state, "%.*s", (int)length, state);
    if (!phase_of(out->state, &out->phase))
        return assay_fail(err, ASSAY_EIO, "Slurm says of job %s that its state is \"%.*s\", which is none", job,
                          (int)strcspn(state, "|\n"), state);
    if (out->phase == ASSAY_SLURM_ENDED && sscanf(code, "%d:%d", &out->exit_status, &out->exit_signal) != 2)
        out->exit_status = -1;
    return ASSAY_OK;
}

/* For a job that the controller has forgotten. No accounting is no failure. */
static int ask_accounting(const char *job, assay_slurm_job *out, assay_error *err)
{
    const char *const argv[] = {"sacct", "-X", "-n", "-P", "-j", job, "-o", "State,ExitCode", NULL};
    assay_command_result result;
    int status = run(argv, &result, err);
    *out = (assay_slurm_job){.phase = ASSAY_SLURM_UNKNOWN, .exit_status = -1};
    if (status == ASSAY_OK && result.out.size > 0) {
        const char *line = (const char *)result.out.data, *bar = strchr(line, '|');
        status = set_job(out, job, line, bar ? bar + 1 : "", err);
    }
    bool unavailable = status == ASSAY_ENOTFOUND || says(&result.err, "accounting storage is disabled");
    assay_command_release(&result);
    return unavailable ? ASSAY_OK : status;
}

int assay_slurm_state(const char *job, assay_slurm_job *out, assay_error *err)
{
    const char *const argv[] = {"scontrol", "-o", "show", "job", job, NULL};
    char state[64] = "", code[32] = "";
    assay_command_result result;
    int status = check_id(job, err);
    if (status != ASSAY_OK)
        return status;
    status = run(argv, &result, err);
    if (status == ASSAY_OK) {
        const char *line = (const char *)result.out.data;
        if (!field(line, "JobState", state, sizeof state))
            status = assay_fail(err, ASSAY_EIO, "scontrol: no JobState for job %s: \"%.60s\"", job, line);
        (void)field(line, "ExitCode", code, sizeof code);
        if (status == ASSAY_OK)
            status = set_job(out, job, state, code, err);
    } else if (status == ASSAY_EIO && says(&result.err, "Invalid job id")) {
        status = ask_accounting(job, out, err);
    }
    assay_command_release(&result);
    return status;
}

/* The largest number among the lines. */
static void newest(const assay_buf *output, char job[ASSAY_SLURM_ID])
{
    const char *line = output->data ? (const char *)output->data : "";
    unsigned long long largest = strtoull(job, NULL, 10);
    for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        unsigned long long id = strtoull(line, NULL, 10);
        if (isdigit((unsigned char)*line) && id > largest) {
            largest = id;
            snprintf(job, ASSAY_SLURM_ID, "%llu", id);
        }
    }
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

int assay_slurm_find(const char *name, char job[ASSAY_SLURM_ID], assay_error *err)
{
    char found[ASSAY_SLURM_ID] = "";
    assay_command_result result;
    job_filter by;
    int status = set_filter(name, &by, err);
    if (status != ASSAY_OK)
        return status;
    const char *const queue[] = {"squeue", "--noheader", "--states=all", by.user, by.name, "--format=%A", NULL};
    const char *const past[] = {"sacct", "-X", "-n", "-P", "-S", "now-30days", by.user, by.name, "-o", "JobID", NULL};
    status = run(queue, &result, err);
    if (status == ASSAY_OK)
        newest(&result.out, found);
    assay_command_release(&result);
    if (status == ASSAY_OK && !found[0]) {
        status = run(past, &result, err);
        if (status == ASSAY_OK)
            newest(&result.out, found);
        else if (status == ASSAY_ENOTFOUND || says(&result.err, "accounting storage is disabled"))
            status = ASSAY_OK;
        assay_command_release(&result);
    }
    if (status == ASSAY_OK)
        memcpy(job, found, sizeof found);
    return status;
}

int assay_slurm_cancel_waiting(const char *name, const char *keep, assay_error *err)
{
    assay_command_result result;
    job_filter by;
    int status = set_filter(name, &by, err);
    if (status != ASSAY_OK)
        return status;
    const char *const queue[] = {"squeue", "--noheader", "--states=PENDING", by.user, by.name, "--format=%A", NULL};
    status = run(queue, &result, err);
    const char *line = status == ASSAY_OK ? (const char *)result.out.data : "";
    for (; *line && status == ASSAY_OK; line += strcspn(line, "\n"), line += *line == '\n') {
        char job[ASSAY_SLURM_ID];
        snprintf(job, sizeof job, "%.*s", (int)digits(line), line);
        if (job[0] && strcmp(job, keep) != 0)
            status = assay_slurm_cancel(job, err);
    }
    assay_command_release(&result);
    return status;
}
