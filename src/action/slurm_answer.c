/* slurm_answer.c - see slurm_answer.h. */
#include "action/slurm_answer.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* "--parsable" gives ID or ID;CLUSTER. */
bool slurm_answer_submitted(const char *text, char job[ASSAY_SLURM_ID])
{
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

/* Finds the value of "KEY=" in a line of scontrol, up to the next blank; false when it is not there. Another key may
 * end with this one, so it has to begin behind a blank. */
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

/* Tells what a state means; false for a word that no Slurm is known to say: it must not be taken for an end, after
 * which a pilot would train again. */
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

/* "STATUS:SIGNAL", each of them a small number. */
static void read_exit(const char *code, assay_slurm_job *out)
{
    size_t status = digits(code), signal = code[status] == ':' ? digits(code + status + 1) : 0;
    if (status == 0 || status > 4 || signal == 0 || signal > 4)
        return;
    out->exit_status = (int)strtol(code, NULL, 10);
    out->exit_signal = (int)strtol(code + status + 1, NULL, 10);
}

/* From a state ("CANCELLED by 0", "CANCELLED+") and an exit code "STATUS:SIGNAL". */
static int set_job(assay_slurm_job *out, const char *job, const char *state, const char *code, assay_error *err)
{
    *out = (assay_slurm_job){.exit_status = -1};
    size_t length = strspn(state, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    snprintf(out->state, sizeof out->state, "%.*s", (int)length, state);
    if (!phase_of(out->state, &out->phase))
        return assay_fail(err, ASSAY_EIO, "Slurm gives job %s the state \"%.*s\", which does not exist", job,
                          (int)strcspn(state, "|\n"), state);
    if (out->phase == ASSAY_SLURM_ENDED)
        read_exit(code, out);
    return ASSAY_OK;
}

/* The file of the job's output, whose path may have blanks: it ends where the next KEY= begins. */
static void read_log(const char *line, assay_slurm_job *out)
{
    const char *at = strstr(line, " StdOut=");
    if (!at)
        return;
    at += strlen(" StdOut=");
    size_t length = 0;
    while (at[length] && at[length] != '\n') {
        size_t key =
            at[length] == ' ' ? strspn(at + length + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") : 0;
        if (key > 0 && at[length + 1 + key] == '=')
            break;
        length++;
    }
    while (length > 0 && at[length - 1] == ' ')
        length--;
    if (length < sizeof out->log)
        snprintf(out->log, sizeof out->log, "%.*s", (int)length, at);
}

/* The line is Slurm's, with names that users chose: fields are looked for by their keys, and each is bounded. */
int slurm_answer_shown(const char *line, const char *job, assay_slurm_job *out, assay_error *err)
{
    char state[64] = "", code[32] = "";
    if (!field(line, "JobState", state, sizeof state))
        return assay_fail(err, ASSAY_EIO, "scontrol: no JobState for job %s: \"%.60s\"", job, line);
    (void)field(line, "ExitCode", code, sizeof code);
    int status = set_job(out, job, state, code, err);
    if (status == ASSAY_OK)
        read_log(line, out);
    return status;
}

int slurm_answer_accounted(const char *line, const char *job, assay_slurm_job *out, assay_error *err)
{
    const char *bar = strchr(line, '|');
    return set_job(out, job, line, bar ? bar + 1 : "", err);
}

/* *job is the largest so far, "" for none, so that several answers can be walked one after the other. Ids grow, so
 * the largest is the newest. */
void slurm_answer_newest(const char *line, char job[ASSAY_SLURM_ID])
{
    unsigned long long largest = strtoull(job, NULL, 10);
    for (; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        unsigned long long id = strtoull(line, NULL, 10);
        if (isdigit((unsigned char)*line) && id > largest) {
            largest = id;
            snprintf(job, ASSAY_SLURM_ID, "%llu", id);
        }
    }
}

const char *slurm_answer_next(const char *lines, char job[ASSAY_SLURM_ID])
{
    snprintf(job, ASSAY_SLURM_ID, "%.*s", (int)digits(lines), lines);
    lines += strcspn(lines, "\n");
    return lines + (*lines == '\n');
}
