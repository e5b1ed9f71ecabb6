/* actions.c - see actions.h: which action is due, and doing it at most once. */
#include "action/actions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "action/actions_internal.h"
#include "base/activity.h"
#include "base/fault.h"
#include "base/path.h"
#include "base/log.h"
#include "base/redact.h"
#include "report/model/report_model.h"
#include "report/report.h"
#include "report/text/layout.h"

/* ASSAY_ACTIONS_SHOW claims in memory alone, so that nothing is written. What prepare() fetches is fetched now: a
 * secret that is not there shows before hours of work. */
int assay_actions_prepare(assay_actions *actions, const char *directory, assay_actions_mode mode, assay_error *err)
{
    int status = ASSAY_OK;
    if (!actions)
        return ASSAY_OK;
    actions->mode = mode;
    for (size_t i = 0; i < actions->count && status == ASSAY_OK; i++) {
        action *a = &actions->list[i];
        status = a->kind->prepare ? a->kind->prepare(actions, i, a, err) : ASSAY_OK;
    }
    char *path = assay_path_join(directory, ASSAY_ACTIONS_LOG);
    actions->directory = assay_copy_text(directory);
    actions->audit = path ? assay_audit_new(mode == ASSAY_ACTIONS_DO ? path : NULL) : NULL;
    free(path);
    if (status == ASSAY_OK && (!actions->audit || !actions->directory))
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory for the actions");
    return status;
}

void action_note(action_firing *f, assay_audit_result result, unsigned attempt, const char *text)
{
    assay_error err = {""};
    const assay_audit_line line = {(const char *)f->what.data, result, attempt, text};
    if (assay_audit_note(f->actions->audit, &f->key, &line, &err) != ASSAY_OK)
        assay_log_warn("%s", err.text);
}

/* Does what is due and claimed, and takes note of what came of it. A failure is warned of and counted; the run and
 * its exit code go on without it. */
static void carry_out(action_firing *f, const action_event *event)
{
    action *a = f->act;
    assay_error err = {""};
    const int status = a->kind->run(f, event, &err);
    a->sent++;
    if (status == ASSAY_OK) {
        f->actions->done++;
        action_note(f, ASSAY_AUDIT_DONE, 0, f->said);
        if (a->kind->tells)
            assay_log_note("%s: done%s%s", a->name, f->said[0] ? ": " : "", f->said);
        return;
    }
    f->actions->failed++;
    action_note(f, f->failed, 0, err.text);
    assay_log_warn("action failed: %s", err.text);
}

/* On standard error, with stdout left to the report. */
static void show(const action *a, const action_event *event)
{
    assay_buf text = ASSAY_BUF(1 << 20);
    assay_put_format(&text, "assay: would do: ");
    assay_text_put_clean(&text, a->name, strlen(a->name));
    assay_put_u8(&text, '\n');
    if (a->kind->preview)
        a->kind->preview(a, &event->message, &text);
    /* The text may hold what was fetched for a target. */
    assay_redact_buf(&text, 0);
    assay_activity_hold(true);
    if (assay_buf_status(&text) == ASSAY_OK)
        fwrite(text.data, 1, text.size, stderr);
    assay_activity_hold(false);
    assay_buf_release(&text);
}

/* What makes the deed the same one. At the end it is the report's digest, so that a report that came out otherwise is
 * told of again. */
static assay_audit_key key_of(const action *a, const action_event *event)
{
    if (a->kind->once == ACTION_ONCE)
        return (assay_audit_key){{a->name}, 1};
    if (event->digest)
        return (assay_audit_key){{"end", a->name, event->digest}, 3};
    if (a->kind->once == ACTION_ONCE_A_TRIAL)
        return (assay_audit_key){{"trial", a->name, event->trial}, 3};
    return (assay_audit_key){{"finding", a->name, event->trial, event->rule}, 4};
}

/* Of a process, not of a job: the log keeps a deed from being repeated, the limit keeps a run from flooding somebody.
 * The end is told of in any case. */
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

/* Order: claim first, which writes "trying" into the log and sees it safe, then do it. Who dies in between leaves a
 * claim that nobody repeats: better not done than done twice. */
static void fire(assay_actions *actions, size_t number, const action_event *event)
{
    action *a = &actions->list[number];
    assay_error err = {""};
    assay_audit_claim_result claim = ASSAY_AUDIT_OURS;
    action_firing f = {.actions = actions, .act = a, .key = key_of(a, event), .failed = ASSAY_AUDIT_FAILED};
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
        /* ASSAY_AUDIT_OURS: this run did it a moment ago, which is no news. */
        actions->repeated += claim == ASSAY_AUDIT_BEFORE;
    }
    assay_buf_release(&f.what);
}

/* No names stand for all rules. */
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

/* Making the message takes time for long reports, so it is only made when somebody gets it. */
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

/* A trial whose rule has no data or is in error is told of at the end only. */
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

/* Called when the report is written and `code` is known: the digest is of that report. */
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
