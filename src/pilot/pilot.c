/* pilot.c - decides the next step. */
#include "pilot/pilot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "action/command.h"
#include "base/fault.h"
#include "base/log.h"
#include "pilot/pilot_internal.h"

/* ---- notify ---- */

/* Sends messages about a relaunch and about the end. */

enum { TEXT = 1 << 16 };

static void put_text(const assay_pilot *pilot, assay_buf *out)
{
    assay_put_format(out, "%s\n\nlast launch: %s (job %s), %s, rules: %s\n", pilot->reason, pilot->job_name,
                     pilot->job_id, pilot_job_word[pilot->job_status], pilot_rule_word[pilot->rule_status]);
    assay_put_format(out, "history: ");
    pilot_put_json(pilot->history, 1, 0, out);
    assay_put_format(out, "\nrun_spec%s: ", pilot->message == PILOT_MESSAGE_RELAUNCH ? " of the next launch" : "");
    pilot_put_json(pilot->run_spec, 1, 0, out);
    assay_put_u8(out, '\n');
}

/* A value as JSON, terminated. */
static void put_field(const cJSON *object, const char *word, assay_buf *out)
{
    if (object)
        pilot_put_json(object, 0, 0, out);
    else
        assay_json_put_text(out, word);
    assay_put_u8(out, '\0');
}

static const char *bytes_of(const assay_buf *buf)
{
    return (const char *)buf->data;
}

/* Sends to all targets. A target that cannot be reached is warned of, and does not stop the pilot. */
static void send_all(assay_pilot *pilot, const assay_message *message)
{
    for (size_t i = 0; i < pilot->targets; i++) {
        assay_error err = {""};
        if (assay_notify_send(pilot->target[i], message, NULL, NULL, NULL, &err) != ASSAY_OK)
            assay_log_warn("%s", err.text);
    }
}

/* The message is sent before the state says so: who dies in between sends it twice, which is better than never. */
static int pilot_step_notify(assay_pilot *pilot, assay_error *err)
{
    enum { REASON, JOB, RULES, HISTORY, SPEC, FIELDS };
    static const char *const names[FIELDS] = {"reason", "job_status", "rule_status", "history", "run_spec"};
    const char *const words[FIELDS] = {pilot->reason, pilot_job_word[pilot->job_status],
                                       pilot_rule_word[pilot->rule_status], NULL, NULL};
    const cJSON *const objects[FIELDS] = {NULL, NULL, NULL, pilot->history, pilot->run_spec};
    assay_message_field field[FIELDS];
    assay_buf text, value[FIELDS];
    char subject[PILOT_BASE + 120];
    bool clean = assay_pilot_clean(pilot, NULL);
    int status = ASSAY_OK;
    snprintf(subject, sizeof subject, "assay pilot %s: %s", pilot->base,
             pilot->message == PILOT_MESSAGE_RELAUNCH ? "trains again"
             : clean                                  ? "ended with a clean run"
                                                      : "ended without a clean run");
    assay_buf_init(&text, TEXT);
    put_text(pilot, &text);
    assay_put_u8(&text, '\0');
    status = assay_buf_status(&text);
    for (int i = 0; i < FIELDS; i++) {
        assay_buf_init(&value[i], TEXT);
        put_field(objects[i], words[i], &value[i]);
        status = status == ASSAY_OK ? assay_buf_status(&value[i]) : status;
        field[i] = (assay_message_field){names[i], bytes_of(&value[i])};
    }
    if (status == ASSAY_OK) {
        const assay_message message = {pilot_message_word[pilot->message], subject, bytes_of(&text), field, FIELDS};
        send_all(pilot, &message);
    } else {
        assay_log_warn("%s: the message cannot be made: %s", pilot->file, assay_status_text(status));
    }
    for (int i = 0; i < FIELDS; i++)
        assay_buf_release(&value[i]);
    assay_buf_release(&text);
    assay_fault_die("notify-sent");
    pilot->message = PILOT_MESSAGE_NONE;
    status = pilot_write(pilot, err);
    assay_fault_die("notify-written");
    return status;
}

/* ---- pilot ---- */

typedef enum pilot_step {
    STEP_STOP,
    STEP_NOTIFY,
    STEP_NAME,
    STEP_SUBMIT,
    STEP_RELEASE,
    STEP_OBSERVE,
    STEP_NONE
} pilot_step;

static const double STOPPING_SECONDS = 1; /* between two looks at a job that is ending */

/* Decides by the state alone, so a pilot that starts again goes on where the last one was; docs/pilot.md has this as
 * a table. Order: a job is stopped and people are told before anything is launched. */
static pilot_step next_step(const assay_pilot *pilot)
{
    if (pilot->job_status == PILOT_JOB_STOPPING)
        return STEP_STOP;
    if (pilot->message != PILOT_MESSAGE_NONE)
        return STEP_NOTIFY;
    if (pilot->next_action == PILOT_END)
        return STEP_NONE;
    if (pilot->next_action == PILOT_MONITOR)
        return STEP_OBSERVE;
    return pilot->job_status == PILOT_JOB_SUBMITTING ? STEP_SUBMIT
           : pilot->job_status == PILOT_JOB_HELD     ? STEP_RELEASE
                                                     : STEP_NAME;
}

bool assay_pilot_ended(const assay_pilot *pilot)
{
    return next_step(pilot) == STEP_NONE;
}

bool assay_pilot_clean(const assay_pilot *pilot, bool *damaged)
{
    bool trained = pilot->next_action == PILOT_END && pilot->job_status == PILOT_JOB_COMPLETED;
    if (damaged)
        *damaged = trained && pilot->rule_status == PILOT_RULE_DAMAGED;
    return trained && pilot->rule_status == PILOT_RULE_NO_ISSUES;
}

/* Runs `assay check JOB`: what is wrong with the job file shows before a training has run for an hour. */
static int check_job(const assay_pilot *pilot, assay_error *err)
{
    const char *const argv[] = {pilot->program, "check", pilot->job, NULL};
    const assay_command command = {.argv = argv, .seconds = 60};
    assay_command_result result;
    assay_error cause = {""};
    int status = assay_command_run(&command, &result, &cause);
    if (status != ASSAY_OK && result.started && result.err.size > 0)
        status = assay_fail(err, ASSAY_EJOB, "%s: monitor.job: %.*s", pilot->file,
                            (int)strcspn((const char *)result.err.data, "\n"), (const char *)result.err.data);
    else if (status != ASSAY_OK)
        status = assay_fail(err, status, "%s", cause.text);
    assay_command_release(&result);
    return status;
}

/* Called once, with the lock, before the first step. Nothing is checked of a pilot that has ended. */
int assay_pilot_prepare(assay_pilot *pilot, const char *program, assay_error *err)
{
    int status = ASSAY_OK;
    pilot->program = assay_copy_text(program);
    if (!pilot->program)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", pilot->file);
    if (assay_pilot_ended(pilot))
        return ASSAY_OK;
    for (size_t i = 0; i < pilot->targets && status == ASSAY_OK; i++)
        status = assay_notify_prepare(pilot->target[i], err);
    if (status == ASSAY_OK && access(pilot->script, R_OK) != 0)
        status = assay_fail(err, ASSAY_EJOB, "%s: launch.script: %s: %s", pilot->file, pilot->script, strerror(errno));
    return status == ASSAY_OK ? check_job(pilot, err) : status;
}

static int take_step(assay_pilot *pilot, pilot_step step, assay_error *err)
{
    switch (step) {
    case STEP_STOP:
        return pilot_step_stop(pilot, err);
    case STEP_NOTIFY:
        return pilot_step_notify(pilot, err);
    case STEP_NAME:
        return pilot_step_name(pilot, err);
    case STEP_SUBMIT:
        return pilot_step_submit(pilot, err);
    case STEP_RELEASE:
        return pilot_step_release(pilot, err);
    case STEP_OBSERVE:
        return pilot_step_observe(pilot, err);
    case STEP_NONE:
        break;
    }
    return ASSAY_OK;
}

/* One step, and how long to wait before the next. `turned` is false where the next step belongs to this one: naming,
 * submitting and releasing are one launch to whoever counts. */
int assay_pilot_step(assay_pilot *pilot, assay_pilot_did *did, assay_error *err)
{
    pilot_step step = next_step(pilot);
    *did = (assay_pilot_did){.turned = true};
    int status = pilot->stale ? assay_fail(err, ASSAY_EIO, "%s could not be written: start again", pilot->file)
                              : take_step(pilot, step, err);
    did->final = pilot->stale;
    ASSAY_TRY(status);
    pilot_step next = next_step(pilot);
    if (next == STEP_STOP && step == STEP_STOP)
        did->wait = STOPPING_SECONDS;
    else if (next == STEP_OBSERVE && (step == STEP_OBSERVE || step == STEP_RELEASE))
        did->wait = pilot->poll_seconds;
    else if (next == STEP_STOP || next == STEP_NOTIFY || next == STEP_SUBMIT || next == STEP_RELEASE)
        did->turned = false;
    return ASSAY_OK;
}

/* For a dry run, like all below: what pilot_plan() would do. */
static void put_plan(const assay_pilot *pilot, assay_buf *out)
{
    const pilot_strategy *s = pilot_next_strategy(pilot);
    assay_put_format(out, "  on findings: stop job %s and ", pilot->job_id);
    if (!s || pilot_count(pilot, "num_retraining") >= pilot->most_retraining) {
        assay_put_format(out, "end: %s\n", s ? "caps.num_retraining is reached" : "every strategy is used up");
        return;
    }
    assay_put_format(out, "launch again with ");
    pilot_put_change(pilot, s, out);
    assay_put_u8(out, '\n');
}

void assay_pilot_put_next(const assay_pilot *pilot, assay_buf *out)
{
    pilot_step step = next_step(pilot);
    if (step == STEP_STOP)
        assay_put_format(out, "stop job %s (%s)\n", pilot->job_id, pilot->job_name);
    if (pilot->message != PILOT_MESSAGE_NONE)
        assay_put_format(out, "tell %zu target%s of the %s: %s\n", pilot->targets, assay_plural(pilot->targets),
                         pilot_message_word[pilot->message], pilot->reason);
    if (pilot->next_action == PILOT_LAUNCH_NEW && pilot->job_status == PILOT_JOB_HELD) {
        assay_put_format(out, "release job %s (%s)\n", pilot->job_id, pilot->job_name);
    } else if (pilot->next_action == PILOT_LAUNCH_NEW) {
        assay_put_format(out, "launch a training%s\n",
                         pilot->job_status == PILOT_JOB_SUBMITTING ? ", unless Slurm has it already"
                                                                   : ", under a new name");
        pilot_put_submission(pilot, out);
    } else if (pilot->next_action == PILOT_MONITOR) {
        assay_put_format(out, "look at job %s (%s) with %s\n", pilot->job_id, pilot->job_name, pilot->job);
        put_plan(pilot, out);
    } else if (step == STEP_NONE) {
        assay_put_format(out, "nothing: ended%s%s\n", pilot->reason[0] ? ": " : "", pilot->reason);
    }
}
