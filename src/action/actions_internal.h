/* actions_internal.h - the parsed actions. Inside actions*.c only. */
#pragma once

#include "action/actions.h"
#include "action/audit.h"
#include "action/notify.h"
#include "action/secret.h"

typedef enum action_kind { ACTION_NOTIFY, ACTION_CANCEL, ACTION_SUBMIT } action_kind;

typedef struct action_texts {
    char **list; /* ends with NULL */
    size_t count;
} action_texts;

typedef struct action {
    action_kind kind;
    bool at_end;
    char *name;              /* of the target in log and messages; of "cancel" known when prepared */
    action_texts rules;      /* names; none: all */
    assay_severity severity; /* least */
    unsigned limit, sent;    /* at most so many in a process */
    bool limited;            /* that was said */

    assay_notify *notify; /* NOTIFY: webhook or mail */
    unsigned failures;    /* in a row */
    double failed_at;

    assay_secret job; /* CANCEL: the job's id or where it is */

    char *script; /* SUBMIT */
    action_texts options, arguments, environment;
} action;

/* The keys of an action, and of its targets: "$defs/action" of docs/schema/job.schema.json and places within. */
extern const assay_setting action_settings[], action_cancel_settings[], action_submit_settings[];

struct assay_actions {
    const assay_job *job;
    action *list;
    size_t count;
    assay_actions_mode mode;
    char *directory;
    assay_audit *audit; /* NULL: not prepared, or shown only */
    uint64_t done, failed, repeated;
};

enum { ACTIONS = 100, ACTION_MOST = 100000 };

/* What an action is about, and the message that goes out; actions_message.c makes it. */
typedef struct action_event {
    const char *trial, *rule; /* NULL at the end */
    const char *digest;       /* at the end */
    assay_message message;
    assay_message_field fields[6];
    assay_buf subject, text, json[6];
} action_event;

/* The message for rule `rule` of the trial, which fired. ASSAY_ENOMEM. Release with action_event_release(). */
int action_event_finding(action_event *event, const assay_outcome *outcome, const assay_trial_outcome *trial,
                         size_t rule);
/* The message for the end, with the report's digest, which is borrowed. */
int action_event_end(action_event *event, const assay_outcome *outcome, int code, const char *digest);
void action_event_release(action_event *event);
