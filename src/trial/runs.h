/* runs.h - several trials at one place: a log in which many runs are kept, and names within it ("mlflow.db/calm-owl-1",
 * "wandb/cc33dd44", "mlruns/mnist/..."). */
#pragma once

#include "trial/catalog.h"

typedef struct assay_trial_run {
    char *name, *path;            /* what people call it, and where they find it; owned */
    assay_trial_options *options; /* with which it is read; owned */
} assay_trial_run;

typedef struct assay_trial_runs {
    assay_trial_run *list;
    size_t count, room;
    char *unread; /* what could not be looked at, the first of it: there may be other runs, or one alone; NULL; owned */
} assay_trial_runs;

/* The trials that a location stands for, in byte order of their names; none: the location is one trial, or nothing is
 * there, as opening it will tell. The rest of a location behind what exists is a shell pattern. Looks at the file
 * system of this machine. ASSAY_EUSAGE: there is a log, and no such run in it; ASSAY_EIO, ASSAY_ENOMEM. Release in any
 * case. */
int assay_trial_runs_find(const char *location, const assay_trial_options *given, assay_trial_runs *out,
                          assay_error *err);
void assay_trial_runs_release(assay_trial_runs *runs);

/* Opens the one trial that a location stands for, and lists it. The catalog borrows *options (NULL: none), which the
 * caller releases after it, as it closes the store. ASSAY_EUSAGE: the location stands for several, as the message says, or
 * ASSAY_EIO where not all of it could be looked at; else as assay_trial_runs_find(), assay_store_open() and assay_catalog_read(). After a failure nothing is open. */
int assay_trial_list(const char *location, assay_store **store, assay_trial_options **options, assay_catalog *catalog,
                     assay_error *err);
