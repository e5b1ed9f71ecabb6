/* facts.h - the facts of a run: its command, host, user, Slurm job, commit, versions and settings. They go into the
 * trial as run/<worker>.json, which other readers of the format ignore.
 *
 * Each worker writes its own file: workers do not communicate, so none knows what another has written, and each has its
 * own host and start. It is written when recording begins, so that a run that dies has it, and again at the end, with
 * how much of the run was recorded. docs/format.md has the members. */
#pragma once

#include <time.h>

#include "hook/config.h"

enum {
    HOOK_FACTS = 1000,       /* settings and versions at most */
    HOOK_MODULES = 1000,     /* modules of the network at most */
    HOOK_FACT_NAME = 200,    /* bytes of a name; a longer one is refused */
    HOOK_FACT_VALUE = 1000,  /* bytes of a value that are kept */
    HOOK_MODULE_VALUE = 200, /* of what a module is */
    HOOK_END_TYPE = 80,      /* of the kind of exception that ended the process */
    HOOK_END_MESSAGE = 160,  /* and of its message */
    HOOK_COMMAND_ARGUMENTS = 256,
    HOOK_FACTS_CEILING = 1 << 20 /* bytes of the file */
};

typedef enum hook_fact_kind { HOOK_SETTING, HOOK_VERSION, HOOK_MODULE } hook_fact_kind;

typedef struct hook_fact {
    hook_fact_kind kind;
    char *name, *value; /* owned; the value as it stands in JSON, without secrets */
} hook_fact;

/* The exception that ended the process, as far as anybody knows. */
typedef struct hook_end_cause {
    char *type, *message; /* owned, as they stand in JSON, without secrets; NULL: none is known */
    bool passing;         /* somebody may yet catch it */
    int mode;
    int64_t step, mode_step; /* that it came in; -1: before the first */
    uint64_t steps_begun;
} hook_end_cause;

typedef struct hook_facts {
    hook_fact *list;       /* owned */
    size_t count, modules; /* of which so many are modules */
    time_t started;
    hook_end_cause ended_by;
} hook_facts;

/* Begins with now as the start. Release with hook_facts_release(). */
void hook_facts_init(hook_facts *facts);
void hook_facts_release(hook_facts *facts);

/* Adds a fact, or replaces the one of that name; what two modules of one name are is "". A number, true, false or null stays what it is, all else becomes a
 * text; what looks like a secret is masked. ASSAY_EPARAM for a name that is empty or too long, or one fact too many,
 * ASSAY_ENOMEM. */
int hook_facts_add(hook_facts *facts, hook_fact_kind kind, const char *name, const char *value, assay_error *err);

/* Takes the exception that ended the process, in place of one before; `at` says the rest of it. ASSAY_ENOMEM. */
int hook_facts_end(hook_facts *facts, const char *type, const char *message, const hook_end_cause *at,
                   assay_error *err);

/* Takes it back: the training went on behind it. */
void hook_facts_forget_end(hook_facts *facts);

/* How much of a run was recorded, of one worker. */
typedef struct hook_recorded {
    uint64_t passed[HOOK_MODES], saved[HOOK_MODES]; /* steps */
} hook_recorded;

/* Appends the file. `recorded` is NULL while the run goes on. */
void hook_facts_put(const hook_facts *facts, const hook_config *config, const char *worker, int rank, int workers,
                    const hook_recorded *recorded, assay_buf *out);

/* Appends what was left out by choice, "1 of 4 workers, 1 of 60 TRAIN steps (every 500th)"; nothing when all was
 * recorded. */
void hook_recorded_put(const hook_recorded *recorded, const hook_config *config, int workers, assay_buf *out);
