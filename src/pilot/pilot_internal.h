/* pilot_internal.h - the state of a pilot, as its parts share it. Inside pilot*.c only. */
#pragma once

#include <stdint.h>

#include "action/notify.h"
#include "pilot/pilot.h"
#include "action/slurm.h"
#include "job/job_internal.h"

/* X(name, word in the file): the first is what a new state has. */
#define PILOT_ACTION_LIST(X)                                                                                           \
    X(PILOT_LAUNCH_NEW, "launch_new")                                                                                  \
    X(PILOT_MONITOR, "monitor")                                                                                        \
    X(PILOT_END, "end")
#define PILOT_JOB_LIST(X)                                                                                              \
    X(PILOT_JOB_NOT_STARTED, "NotStarted")                                                                             \
    X(PILOT_JOB_SUBMITTING, "Submitting") /* has a name; may or may not be known to Slurm */                           \
    X(PILOT_JOB_HELD, "Held")             /* has an id; may or may not have been released */                           \
    X(PILOT_JOB_PENDING, "Pending")                                                                                    \
    X(PILOT_JOB_IN_PROGRESS, "InProgress")                                                                             \
    X(PILOT_JOB_STOPPING, "Stopping") /* is to be cancelled, or was, and has not ended */                              \
    X(PILOT_JOB_STOPPED, "Stopped")                                                                                    \
    X(PILOT_JOB_COMPLETED, "Completed")                                                                                \
    X(PILOT_JOB_FAILED, "Failed")
#define PILOT_RULE_LIST(X)                                                                                             \
    X(PILOT_RULE_NOT_STARTED, "NotStarted")                                                                            \
    X(PILOT_RULE_IN_PROGRESS, "InProgress")                                                                            \
    X(PILOT_RULE_NO_ISSUES, "NoIssuesFound")                                                                           \
    X(PILOT_RULE_ISSUES, "IssuesFound")                                                                                \
    X(PILOT_RULE_NO_DATA, "NoData")                                                                                    \
    X(PILOT_RULE_DAMAGED, "Damaged")                                                                                   \
    X(PILOT_RULE_ERROR, "Error")
#define PILOT_MESSAGE_LIST(X)                                                                                          \
    X(PILOT_MESSAGE_NONE, "")                                                                                          \
    X(PILOT_MESSAGE_RELAUNCH, "relaunch")                                                                              \
    X(PILOT_MESSAGE_END, "end")
#define PILOT_ENUM(name, word) name,
typedef enum pilot_action { PILOT_ACTION_LIST(PILOT_ENUM) PILOT_ACTIONS } pilot_action;
typedef enum pilot_job { PILOT_JOB_LIST(PILOT_ENUM) PILOT_JOBS } pilot_job;
typedef enum pilot_rule { PILOT_RULE_LIST(PILOT_ENUM) PILOT_RULES } pilot_rule;
typedef enum pilot_message { PILOT_MESSAGE_LIST(PILOT_ENUM) PILOT_MESSAGES } pilot_message;
#undef PILOT_ENUM
extern const char *const pilot_action_word[], *const pilot_job_word[], *const pilot_rule_word[],
                                                                           *const pilot_message_word[];

enum {
    PILOT_NAME = 128, /* room for a job's name */
    PILOT_BASE = 80,  /* the longest base_job_name */
    PILOT_REASON = 400,
    PILOT_STRATEGIES = 32,
    PILOT_SPEC = 200,  /* entries of run_spec */
    PILOT_WORDS = 200, /* of a list of options */
    PILOT_TARGETS = 20,
    PILOT_COUNT = 1000000000 /* the largest number in history */
};

typedef struct pilot_strategy { /* texts are borrowed from the document */
    const char *parameter, *counter;
    bool multiplies; /* by `factor`; else sets `value` */
    double factor;
    double least, most; /* a product outside is not taken */
    const cJSON *value;
    uint64_t times;
} pilot_strategy;

struct assay_pilot {
    char *file, *program;
    bool stale;                /* the file could not be written: it is behind what is here */
    int lock;                  /* file number of FILE.lock; -1: not locked */
    cJSON *document;           /* everything; what is below is put there before it is written */
    cJSON *history, *run_spec; /* in the document */

    pilot_action next_action;
    pilot_job job_status;
    pilot_rule rule_status;
    pilot_message message;     /* that has to go out */
    char job_name[PILOT_NAME]; /* history.latest_job_name */
    char job_id[ASSAY_SLURM_ID];
    char reason[PILOT_REASON];

    /* settings, borrowed from the document */
    const char *base, *script, *runs, *job, *reports;
    const cJSON *words;              /* the list that is read */
    const char **options, **command; /* of sbatch; what starts assay, NULL: `program`; lists end with NULL, owned */
    double poll_seconds, time_limit;
    int fail_on;                            /* assay_severity */
    uint64_t most_retraining, most_monitor; /* 0: any number */
    pilot_strategy strategy[PILOT_STRATEGIES];
    size_t strategies;
    assay_notify *target[PILOT_TARGETS];
    size_t targets;
};

/* Numbers of history; every one that is asked for is there. */
uint64_t pilot_count(const assay_pilot *pilot, const char *name);
void pilot_add(assay_pilot *pilot, const char *name);

/* The members of a state file that people write; `kept` stands for those that the pilot writes. */
typedef struct pilot_document {
    const cJSON *run_spec, *launch, *monitor, *strategies, *caps, *notify, *kept;
} pilot_document;

/* The keys, by their places in docs/schema/pilot.schema.json. */
extern const assay_setting pilot_settings[], pilot_launch_settings[], pilot_monitor_settings[], pilot_caps_settings[],
    pilot_strategy_settings[], pilot_target_settings[];

/* settings.c: what people write. */
int pilot_read_settings(const job_reader *r, assay_pilot *pilot);

/* launches.c: the record of the launches. Checks what a state has of it. */
int pilot_read_launches(const job_reader *r, assay_pilot *pilot);
/* Adds the launch that has just got its name, with the settings of run_spec. ASSAY_ENOMEM. */
int pilot_add_launch(assay_pilot *pilot, assay_error *err);
/* Notes under a key what is known of the latest launch, if the state has a record of it. False without memory. */
bool pilot_note_launch(assay_pilot *pilot, const char *key, const char *text);

/* Sets a text in an object, which replaces the one that is there. False without memory. */
bool pilot_set_text(cJSON *object, const char *key, const char *value);
/* Writes the state file, whole or not at all. */
int pilot_write(assay_pilot *pilot, assay_error *err);
/* Appends a value of the document: members of the outer `open` levels stand on lines of their own. */
void pilot_put_json(const cJSON *item, int open, int indent, assay_buf *out);

/* The strategy whose turn it is, or NULL when all are used up. */
const pilot_strategy *pilot_next_strategy(const assay_pilot *pilot);
/* Appends "warmup_learning_rate from 0.4 to 0.1". */
void pilot_put_change(const assay_pilot *pilot, const pilot_strategy *strategy, assay_buf *out);
/* After findings, which `what` tells of: the next launch, or the end where strategies or caps are used up. */
int pilot_plan(assay_pilot *pilot, const char *what, assay_error *err);
/* Sets next_action, reason and the message that has to go out. */
void pilot_set_next(assay_pilot *pilot, pilot_action next, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The place of the latest launch's trial below that of the runs, and of its report below that of the reports: both by
 * the job's name. The caller frees them; NULL without memory. */
char *pilot_trial(const assay_pilot *pilot);
char *pilot_report(const assay_pilot *pilot);

/* Steps; each writes the state at its end. */
int pilot_step_name(assay_pilot *pilot, assay_error *err);
int pilot_step_submit(assay_pilot *pilot, assay_error *err);
int pilot_step_release(assay_pilot *pilot, assay_error *err);
int pilot_step_stop(assay_pilot *pilot,
                    assay_error *err); /* the job may still be ending afterwards: job_status tells */
int pilot_step_observe(assay_pilot *pilot, assay_error *err);
/* Appends the commands of the next submission and observation, for people. */
void pilot_put_submission(const assay_pilot *pilot, assay_buf *out);

typedef struct pilot_verdict {
    pilot_rule status; /* of a training that has ended; IN_PROGRESS: no trial yet */
    bool ended;        /* the trial says that the training has ended */
    char text[300];    /* the first rule with issues, or what is wrong */
    char said[300];    /* the report's first line: how much was looked at, too */
} pilot_verdict;
/* What a report says of its only trial, by the rules of at least `fail_on`. ASSAY_EFORMAT. */
int pilot_read_report(const char *file, const void *text, size_t size, int fail_on, pilot_verdict *out,
                      assay_error *err);
