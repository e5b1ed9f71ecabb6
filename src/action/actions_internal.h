/* actions_internal.h - the parsed actions, and what a kind of action is. Inside action*.c only. */
#pragma once

#include "action/actions.h"
#include "action/audit.h"
#include "action/notify.h"
#include "action/secret.h"

typedef struct action_texts {
    char **list; /* ends with NULL */
    size_t count;
} action_texts;

struct action_kind;

typedef struct action {
    const struct action_kind *kind; /* NULL until it is known */
    void *own; /* what the kind has read of the job; action_kind.release() frees it; NULL: nothing */
    bool at_end;
    char *name;              /* of the target in log and messages; of "cancel" known when prepared */
    action_texts rules;      /* names; none: all */
    assay_severity severity; /* least */
    unsigned limit, sent;    /* at most so many in a process */
    bool limited;            /* that was said */
} action;

struct assay_actions {
    const assay_job *job;
    action *list;
    size_t count;
    assay_actions_mode mode;
    char *directory;
    assay_audit *audit; /* NULL: not prepared, or shown only */
    uint64_t done, failed, repeated;
};

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

/* ---- kinds of actions ---- */

/* What one firing needs to write its lines. */
typedef struct action_firing {
    assay_actions *actions;
    action *act;
    assay_audit_key key;
    assay_buf what;            /* members of a line of the log */
    assay_audit_result failed; /* what a failure means: FAILED, or UNKNOWN where it may be done all the same */
    char said[80];             /* what came of it, for the log; "": nothing more than that it is done */
} action_firing;

/* Appends a line on the firing to the log. A failure to write the log comes after the deed and can only be told. */
void action_note(action_firing *f, assay_audit_result result, unsigned attempt, const char *text);

/* How often the same deed is done. */
typedef enum action_once { ACTION_ONCE_A_FINDING, ACTION_ONCE_A_TRIAL, ACTION_ONCE } action_once;

/* What an action does; the kinds are listed in actions.def. */
typedef struct action_kind {
    const char *prefix; /* of the action's name, before the target */
    action_once once;   /* ACTION_ONCE: two actions on the same target are one deed, and share a name */
    bool tells;         /* standard error hears that it was done: a message is its own notice */
    /* Reads the job's object into act->own, which is released also after a failure. ASSAY_EJOB with the place,
     * ASSAY_EUNSUPPORTED, ASSAY_ENOMEM. */
    int (*read)(const job_reader *r, const char *place, const cJSON *object, action *act);
    void (*release)(action *act);
    /* The target as the job names it, the same in every run; borrowed. */
    const char *(*target)(const action *act);
    /* Fetches secrets before the work; may replace act->name. `number` is that of the action in the job; NULL: nothing
     * to fetch. ASSAY_EJOB with the place, ASSAY_ENOMEM. */
    int (*prepare)(const assay_actions *actions, size_t number, action *act, assay_error *err);
    /* Does it; sets f->failed and f->said where they are not the usual ones. */
    int (*run)(action_firing *f, const action_event *event, assay_error *err);
    /* Appends what would be sent; NULL: the name says all. */
    void (*preview)(const action *act, const assay_message *message, assay_buf *out);
    /* Sends a test message at once; NULL: there is nothing to try without doing it. */
    int (*test)(const action *act, const assay_message *message, assay_delivery *delivery, assay_error *err);
    /* Appends the members of a listing as JSON that only this kind has, each behind a comma; NULL: none. */
    void (*put_json)(const action *act, assay_buf *out);
} action_kind;

#define X(name, help) extern const action_kind action_##name;
#include "action/actions.def"
#undef X

/* The keys of an action, and of the kinds that no other file reads: "$defs/action" of docs/schema/job.schema.json and
 * places within. */
extern const assay_setting action_settings[], action_cancel_settings[], action_submit_settings[];

/* ---- lists of texts ---- */

enum { ACTION_TEXTS = 1000 };

/* Reads a list of texts, none when it is missing (NULL). `out` is released in any case. */
int action_texts_read(const job_reader *r, const char *place, const char *key, const cJSON *list, action_texts *out);
void action_texts_release(action_texts *texts);
/* Appends `, "key": ["a", "b"]`. */
void action_texts_put(const char *key, const action_texts *texts, assay_buf *out);
