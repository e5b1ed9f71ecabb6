/* run_facts.h - what a run was, as its trial says: command, host, commit, versions, settings, and how much of it was
 * recorded. All facts are optional. */
#pragma once

#include <assay/rule.h>

#include "trial/problem.h"
#include <assay/pack.h>

enum { ASSAY_RUN_FACTS_MOST = 2048 };

typedef struct assay_run_fact {
    char *name, *value; /* owned; "host", "config.lr", "versions.torch"; numbers as they stand in the file */
} assay_run_fact;

/* Steps of a mode at which something was saved, of those that the run made. */
typedef struct assay_run_recorded {
    uint64_t steps, of;
    uint64_t every; /* the save interval where it alone decides, else 0 */
} assay_run_recorded;

typedef struct assay_run_facts {
    assay_run_fact *list; /* by name in byte order, each once; owned */
    size_t count;
    uint32_t files; /* that were read; 0: the trial has no facts */
    /* How much was recorded, as the first worker says that says it; zeros while the run goes on. */
    uint64_t recorded_workers, run_workers;
    assay_run_recorded recorded[ASSAY_MODES];
    /* Known to who reads them, and not packed: */
    uint32_t closed;  /* of the files, those of workers that closed */
    double closed_at; /* of the file that was read last: seconds since 1970, NaN: it was not closed */
    uint64_t passed;  /* of that one: steps of all modes that the worker went through */
    char *failed;     /* of that one: the exception that ended its process; owned, NULL: none is known */
} assay_run_facts;

/* Frees what `facts` holds. */
void assay_run_facts_release(assay_run_facts *facts);

/* Adds a fact; takes over name and value, also when it fails (NULL: there was no memory for it). Those beyond
 * ASSAY_RUN_FACTS_MOST are dropped. 0 or ASSAY_ENOMEM. */
int assay_run_facts_put(assay_run_facts *facts, char *name, char *value);
/* Brings them into order, after the last was put; of equal names one stays. */
void assay_run_facts_sort(assay_run_facts *facts);

/* The fact of that name; NULL: there is none. */
assay_run_fact *assay_run_facts_find(const assay_run_facts *facts, const char *name);
/* Is there a fact whose name begins with that? */
bool assay_run_facts_have(const assay_run_facts *facts, const char *begin);
/* The value of a fact; NULL: there is none of that name. */
const char *assay_run_fact_of(const assay_run_facts *facts, const char *name);

/* Appends what assay_run_facts_unpack() reads. */
void assay_run_facts_pack(const assay_run_facts *facts, assay_buf *out);
/* 0, ASSAY_EFORMAT or ASSAY_ENOMEM. */
int assay_run_facts_unpack(assay_cursor *in, assay_run_facts *out);
