/* run_facts.h - what a run was, by the files run/<worker>.json of its trial (docs/format.md): command, host, commit,
 * versions, settings, and how much of it was recorded. A trial without them is none the worse. */
#ifndef ASSAY_TRIAL_RUN_FACTS_H
#define ASSAY_TRIAL_RUN_FACTS_H

#include <assay/rule.h>

#include "trial/problem.h"
#include "trial/storage/storage.h"

enum {
    ASSAY_RUN_FACTS_CEILING = 1 << 20, /* bytes of a file; a larger one is a problem */
    ASSAY_RUN_FACTS_FILES = 64,        /* files that are read: the first ones in byte order */
    ASSAY_RUN_FACTS_MOST = 2048        /* facts of a file */
};

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
} assay_run_facts;

/* Reads them. Of several workers the first one's count, but for "host", which lists those that differ. What cannot be
 * used becomes a problem that names the file and takes nothing else along. Release with assay_run_facts_release(). 0 or
 * ASSAY_ENOMEM. */
int assay_run_facts_read(assay_store *store, assay_run_facts *out, assay_problems *problems);
void assay_run_facts_release(assay_run_facts *facts);

/* Adds one file's text to `facts` (zeroed or filled before). */
int assay_run_facts_add(assay_run_facts *facts, const char *file, const void *text, size_t size,
                        assay_problems *problems);

/* The value of a fact; NULL: there is none of that name. */
const char *assay_run_fact_of(const assay_run_facts *facts, const char *name);

/* Appends what assay_run_facts_unpack() reads. */
void assay_run_facts_pack(const assay_run_facts *facts, assay_buf *out);
/* 0, ASSAY_EFORMAT or ASSAY_ENOMEM. */
int assay_run_facts_unpack(assay_cursor *in, assay_run_facts *out);

#endif
