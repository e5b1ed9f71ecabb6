/* action_cancel.c - the action "cancel": scancel of one job, once, whatever asks for it.
 *
 * action.own is an assay_secret: the job's id, or where it is kept. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "action/actions_internal.h"
#include "action/slurm.h"
#include "base/fault.h"

static const char DEFAULT_JOB[] = "TRAIN_JOB_ID"; /* the variable that slurm/ uses for the training's job */

const assay_setting action_cancel_settings[] = {
    {.name = "job",
     .kind = ASSAY_SETTING_ITEM,
     .help = "a Slurm job id, or where it is found; the variable TRAIN_JOB_ID otherwise"},
    {0}};

/* A number needs no secret around it, so it is read here; a text may be an id or stand for where one is kept, and the
 * literal form is checked below. */
static int read_id(const job_reader *r, const char *place, const cJSON *object, action *a)
{
    assay_secret *own = assay_alloc_zeroed(1, sizeof *own);
    char where[ASSAY_JOB_PLACE];
    const cJSON *job = NULL;
    if (!own)
        return job_no_memory(r);
    a->own = own;
    snprintf(where, sizeof where, "%.80s.job", place);
    int status = job_read(r, place, action_cancel_settings, object, &job);
    int64_t number;
    char digits[32] = "";
    if (job && assay_json_i64(job, &number))
        snprintf(digits, sizeof digits, "%lld", (long long)number);
    if (status != ASSAY_OK || (job && !digits[0])) {
        status = status == ASSAY_OK ? assay_secret_read(r, where, job, own) : status;
    } else {
        *own = (assay_secret){job ? ASSAY_SECRET_LITERAL : ASSAY_SECRET_ENV,
                              assay_copy_text(job ? digits : DEFAULT_JOB), NULL};
        status = own->source ? ASSAY_OK : job_no_memory(r);
    }
    if (status == ASSAY_OK && own->kind == ASSAY_SECRET_LITERAL && !assay_slurm_is_id(own->source))
        status = job_fail(r, where, "expected a Slurm job id like 123 or \"123_4\", or {\"env\": NAME}");
    return status;
}

static void release(action *a)
{
    if (a->own)
        assay_secret_release(a->own);
    free(a->own);
}

/* Empty: which job it is is not known before its id is fetched; prepare() makes the name then. */
static const char *target(const action *a)
{
    (void)a;
    return "";
}

/* The name is the key of the log of actions, so it has the fetched id: two entries that lead to the same job cancel
 * it once. */
static int prepare(const assay_actions *actions, size_t number, action *a, assay_error *err)
{
    assay_secret *job = a->own;
    char place[300];
    snprintf(place, sizeof place, "%.200s: actions[%zu].cancel.job", actions->job->file, number);
    int status = assay_secret_fetch(job, place, err);
    if (status == ASSAY_OK && !assay_slurm_is_id(job->value))
        return assay_fail(err, ASSAY_EJOB, "%s: what %s holds is not a Slurm job id", place, job->source);
    ASSAY_TRY(status);
    const size_t room = strlen(job->value) + 8;
    char *name = assay_alloc(room);
    if (!name)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", place);
    snprintf(name, room, "cancel %s", job->value);
    free(a->name);
    a->name = name;
    return ASSAY_OK;
}

static int run(action_firing *f, const action_event *event, assay_error *err)
{
    const assay_secret *job = f->act->own;
    (void)event;
    return assay_slurm_cancel(job->value, err);
}

/* Writes the id as a job file has it, or where one is kept; never what was found there. */
static void put_json(const action *a, assay_buf *out)
{
    const assay_secret *job = a->own;
    static const char *const kept[] = {[ASSAY_SECRET_ENV] = "env", [ASSAY_SECRET_FILE] = "file"};
    assay_put_format(out, ", \"job\": ");
    if (job->kind != ASSAY_SECRET_LITERAL)
        assay_put_format(out, "{\"%s\": ", kept[job->kind]);
    assay_json_put_text(out, job->source);
    if (job->kind != ASSAY_SECRET_LITERAL)
        assay_put_u8(out, '}');
}

const action_kind action_cancel = {.prefix = "cancel",
                                   .once = ACTION_ONCE,
                                   .tells = true,
                                   .read = read_id,
                                   .release = release,
                                   .target = target,
                                   .prepare = prepare,
                                   .run = run,
                                   .put_json = put_json};
