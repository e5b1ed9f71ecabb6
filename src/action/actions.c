/* actions.c - see actions.h: which action is due, and doing it at most once. */
#include "action/actions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "action/actions_internal.h"
#include "action/slurm.h"
#include "base/activity.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/path.h"
#include "base/log.h"
#include "base/redact.h"
#include "parallel/interrupt.h"
#include "report/model/report_model.h"
#include "report/report.h"
#include "report/text/layout.h"

enum { FAILURES = 3, PAUSE_SECONDS = 60 }; /* after so many failures in a row a target is left alone for a while */

static int prepare_cancel(const assay_actions *actions, size_t number, action *a, assay_error *err)
{
    char place[300];
    snprintf(place, sizeof place, "%.200s: actions[%zu].cancel.job", actions->job->file, number);
    int status = assay_secret_fetch(&a->job, place, err);
    if (status == ASSAY_OK && !assay_slurm_is_id(a->job.value))
        return assay_fail(err, ASSAY_EJOB, "%s: what %s holds is not a Slurm job id", place, a->job.source);
    ASSAY_TRY(status);
    size_t room = strlen(a->job.value) + 8;
    char *name = assay_alloc(room);
    if (!name)
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", place);
    snprintf(name, room, "cancel %s", a->job.value);
    free(a->name);
    a->name = name;
    return ASSAY_OK;
}

int assay_actions_prepare(assay_actions *actions, const char *directory, assay_actions_mode mode, assay_error *err)
{
    int status = ASSAY_OK;
    if (!actions)
        return ASSAY_OK;
    actions->mode = mode;
    for (size_t i = 0; i < actions->count && status == ASSAY_OK; i++) {
        if (actions->list[i].kind == ACTION_NOTIFY)
            status = assay_notify_prepare(actions->list[i].notify, err);
        else if (actions->list[i].kind == ACTION_CANCEL)
            status = prepare_cancel(actions, i, &actions->list[i], err);
    }
    char *path = assay_path_join(directory, ASSAY_ACTIONS_LOG);
    actions->directory = assay_copy_text(directory);
    actions->audit = path ? assay_audit_new(mode == ASSAY_ACTIONS_DO ? path : NULL) : NULL;
    free(path);
    if (status == ASSAY_OK && (!actions->audit || !actions->directory))
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory for the actions");
    return status;
}

/* What one firing needs to write its lines. */
typedef struct firing {
    assay_actions *actions;
    action *act;
    assay_audit_key key;
    assay_buf what; /* members of a line of the log */
} firing;

/* A failure to write the log comes after the deed and can only be told. */
static void note(firing *f, assay_audit_result result, unsigned attempt, const char *text)
{
    assay_error err = {""};
    if (assay_audit_note(f->actions->audit, &f->key, (const char *)f->what.data, result, attempt, text, &err) !=
        ASSAY_OK)
        assay_log_warn("%s", err.text);
}

static void note_attempt(void *context, unsigned attempt, assay_delivery delivery, const char *what)
{
    if (delivery == ASSAY_NOT_DELIVERED)
        note(context, ASSAY_AUDIT_ATTEMPT, attempt, what);
}

static int notify(firing *f, const action_event *event, assay_audit_result *result, assay_error *err)
{
    action *a = f->act;
    assay_delivery delivery;
    if (a->failures >= FAILURES && assay_clock_seconds() < a->failed_at + PAUSE_SECONDS)
        return assay_fail(err, ASSAY_EIO, "%s: not tried: it failed %u times in a row a moment ago", a->name,
                          a->failures);
    assay_notify_set_hasty(a->notify, a->failures > 0 || assay_interrupt_wished());
    int status = assay_notify_send(a->notify, &event->message, note_attempt, f, &delivery, err);
    a->failures = status == ASSAY_OK ? 0 : a->failures + 1;
    a->failed_at = assay_clock_seconds();
    *result = delivery == ASSAY_DELIVERY_UNKNOWN ? ASSAY_AUDIT_UNKNOWN : ASSAY_AUDIT_FAILED;
    return status;
}

/* "NAME=value"; NULL without memory. */
static char *variable(const char *name, const char *value)
{
    size_t room = strlen(name) + strlen(value) + 2;
    char *text = assay_alloc(room);
    if (text)
        snprintf(text, room, "%s=%s", name, value);
    return text;
}

/* sbatch. The script is told what happened. */
static int submit(firing *f, const action_event *event, char job[ASSAY_SLURM_ID], assay_audit_result *result,
                  assay_error *err)
{
    const action *a = f->act;
    bool uncertain = false;
    char *told[4] = {variable("ASSAY_EVENT", event->message.event), variable("ASSAY_REPORT", f->actions->directory),
                     variable("ASSAY_TRIAL", event->trial ? event->trial : ""),
                     variable("ASSAY_RULE", event->rule ? event->rule : "")};
    const char **environment = assay_realloc_array(NULL, a->environment.count + 5, sizeof *environment);
    int status = ASSAY_OK;
    if (!environment || !told[0] || !told[1] || !told[2] || !told[3])
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", a->name);
    if (status == ASSAY_OK) {
        size_t used = 0;
        for (; used < 4; used++)
            environment[used] = told[used];
        for (size_t i = 0; i < a->environment.count; i++)
            environment[used++] = a->environment.list[i];
        environment[used] = NULL;
        const assay_slurm_script script = {.script = a->script,
                                           .options = (const char *const *)a->options.list,
                                           .arguments = (const char *const *)a->arguments.list,
                                           .environment = environment};
        status = assay_slurm_submit(&script, job, &uncertain, err);
    }
    *result = uncertain ? ASSAY_AUDIT_UNKNOWN : ASSAY_AUDIT_FAILED;
    for (int i = 0; i < 4; i++)
        free(told[i]);
    free(environment);
    return status;
}

/* Does what is due and claimed, and takes note of what came of it. */
static void carry_out(firing *f, const action_event *event)
{
    action *a = f->act;
    assay_error err = {""};
    assay_audit_result result = ASSAY_AUDIT_FAILED;
    char job[ASSAY_SLURM_ID] = "", text[80] = "";
    int status;
    if (a->kind == ACTION_NOTIFY) {
        status = notify(f, event, &result, &err);
    } else if (a->kind == ACTION_CANCEL) {
        status = assay_slurm_cancel(a->job.value, &err);
    } else {
        status = submit(f, event, job, &result, &err);
        snprintf(text, sizeof text, "job %s", job);
    }
    a->sent++;
    if (status == ASSAY_OK) {
        f->actions->done++;
        note(f, ASSAY_AUDIT_DONE, 0, text);
        if (a->kind != ACTION_NOTIFY)
            assay_log_note("%s: done%s%s", a->name, text[0] ? ": " : "", text);
        return;
    }
    f->actions->failed++;
    note(f, result, 0, err.text);
    assay_log_warn("action failed: %s", err.text);
}

/* On standard error, with stdout left to the report. */
static void show(const action *a, const action_event *event)
{
    assay_buf text = ASSAY_BUF(1 << 20);
    assay_put_format(&text, "assay: would do: ");
    assay_text_put_clean(&text, a->name, strlen(a->name));
    assay_put_u8(&text, '\n');
    if (a->kind == ACTION_NOTIFY)
        (void)assay_notify_put_preview(a->notify, &event->message, &text);
    assay_redact_buf(&text, 0);
    assay_activity_hold(true);
    if (assay_buf_status(&text) == ASSAY_OK)
        fwrite(text.data, 1, text.size, stderr);
    assay_activity_hold(false);
    assay_buf_release(&text);
}

/* What makes the deed the same one: a message for each finding and at each end, a submission for each trial, one
 * cancellation of a job. */
static assay_audit_key key_of(const action *a, const action_event *event)
{
    if (a->kind == ACTION_CANCEL)
        return (assay_audit_key){{a->name}, 1};
    if (event->digest)
        return (assay_audit_key){{"end", a->name, event->digest}, 3};
    if (a->kind == ACTION_SUBMIT)
        return (assay_audit_key){{"trial", a->name, event->trial}, 3};
    return (assay_audit_key){{"finding", a->name, event->trial, event->rule}, 4};
}

static bool within_limit(size_t number, action *a)
{
    if (a->at_end || a->sent < a->limit)
        return true;
    if (!a->limited)
        assay_log_warn("actions[%zu]: its limit of %u is reached; further findings are in the report only", number,
                       a->limit);
    a->limited = true;
    return false;
}

static void fire(assay_actions *actions, size_t number, const action_event *event)
{
    action *a = &actions->list[number];
    assay_error err = {""};
    assay_audit_claim_result claim = ASSAY_AUDIT_OURS;
    firing f = {actions, a, key_of(a, event), {0}};
    if (!within_limit(number, a))
        return;
    assay_buf_init(&f.what, 64 << 10);
    assay_put_format(&f.what, "\"event\": \"%s\", \"action\": ", event->message.event);
    assay_json_put_text(&f.what, a->name);
    assay_put_format(&f.what, ", \"trial\": ");
    assay_json_put_text(&f.what, event->trial ? event->trial : "");
    assay_put_format(&f.what, ", \"rule\": ");
    assay_json_put_text(&f.what, event->rule ? event->rule : "");
    assay_put_format(&f.what, ", ");
    assay_put_u8(&f.what, '\0');
    int status = assay_buf_status(&f.what);
    if (status != ASSAY_OK)
        assay_fail(&err, status, "%s", assay_status_text(status));
    else
        status = assay_audit_claim(actions->audit, &f.key, (const char *)f.what.data, &claim, &err);
    if (status != ASSAY_OK) { /* without a log nobody could tell the next run that it was done */
        actions->failed++;
        assay_log_warn("action not done: %s: %s", a->name, err.text);
    } else if (claim == ASSAY_AUDIT_MINE && actions->mode == ASSAY_ACTIONS_SHOW) {
        a->sent++;
        show(a, event);
    } else if (claim == ASSAY_AUDIT_MINE) {
        carry_out(&f, event);
    } else {
        actions->repeated += claim == ASSAY_AUDIT_BEFORE;
    }
    assay_buf_release(&f.what);
}

static bool concerns(const action *a, const assay_instance *rule)
{
    if (a->at_end || rule->severity < a->severity)
        return false;
    for (size_t i = 0; i < a->rules.count; i++) {
        if (strcmp(a->rules.list[i], rule->name) == 0)
            return true;
    }
    return a->rules.count == 0;
}

static bool anyone_concerned(const assay_actions *actions, const assay_instance *rule)
{
    for (size_t i = 0; i < actions->count; i++) {
        if (concerns(&actions->list[i], rule))
            return true;
    }
    return false;
}

static void fire_finding(assay_actions *actions, const assay_outcome *outcome, const assay_trial_outcome *trial,
                         size_t rule)
{
    const assay_instance *instance = outcome->job->rules[rule];
    action_event event;
    if (!anyone_concerned(actions, instance))
        return;
    int status = action_event_finding(&event, outcome, trial, rule);
    if (status != ASSAY_OK) {
        actions->failed++;
        assay_log_warn("%s: no action on its findings: %s", instance->name, assay_status_text(status));
    }
    for (size_t i = 0; i < actions->count && status == ASSAY_OK; i++) {
        if (concerns(&actions->list[i], instance))
            fire(actions, i, &event);
    }
    action_event_release(&event);
}

void assay_actions_findings(assay_actions *actions, const assay_outcome *outcome)
{
    if (!actions)
        return;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        const assay_trial_outcome *trial = &outcome->trials[t];
        for (size_t i = 0; i < outcome->job->rule_count; i++) {
            if (report_rule_of(outcome, trial, i, false).status == ASSAY_ISSUES_FOUND)
                fire_finding(actions, outcome, trial, i);
        }
    }
}

static void tell_tally(const assay_actions *actions)
{
    if (actions->mode == ASSAY_ACTIONS_SHOW)
        return;
    if (actions->repeated > 0)
        assay_log_note("%" PRIu64 " action%s done by an earlier run, as %s/%s says, and %s not repeated",
                       actions->repeated, actions->repeated == 1 ? " was" : "s were", actions->directory,
                       ASSAY_ACTIONS_LOG, actions->repeated == 1 ? "is" : "are");
    if (assay_audit_strangers(actions->audit) > 0)
        assay_log_warn("%s/%s: %" PRIu64 " line%s damaged and left out", actions->directory, ASSAY_ACTIONS_LOG,
                       assay_audit_strangers(actions->audit),
                       assay_audit_strangers(actions->audit) == 1 ? " is" : "s are");
    if (actions->failed > 0)
        assay_log_warn("%" PRIu64 " of %" PRIu64 " actions failed; %s/%s says why; the report is complete",
                       actions->failed, actions->failed + actions->done, actions->directory, ASSAY_ACTIONS_LOG);
}

void assay_actions_end(assay_actions *actions, const assay_report *report, int code)
{
    bool any = false;
    char digest[65];
    action_event event;
    assay_error err = {""};
    if (!actions)
        return;
    for (size_t i = 0; i < actions->count; i++)
        any |= actions->list[i].at_end;
    if (any) {
        int status = assay_report_digest(report, digest, &err);
        if (status == ASSAY_OK) {
            status = action_event_end(&event, report->outcome, code, digest);
            for (size_t i = 0; i < actions->count && status == ASSAY_OK; i++) {
                if (actions->list[i].at_end)
                    fire(actions, i, &event);
            }
            action_event_release(&event);
        }
        if (status != ASSAY_OK) {
            actions->failed++;
            assay_log_warn("no action at the end: %s", assay_status_text(status));
        }
    }
    tell_tally(actions);
}
