/* source.h - the trials of a job as the ranks hold them: listed, with their index read, and steps and tensors known. */
#pragma once

#include "parallel/comm.h"
#include "job/job.h"
#include "rule/trial_info.h"
#include "trial/index.h"
#include "mesh/layout.h"
#include "engine/source/open_places.h"
#include "store/storage.h"

typedef struct assay_source {
    char *path, *name;
    assay_trial_options *options; /* NULL: none; a share */
    int status;                   /* why the trial could not be opened; ASSAY_OK otherwise */
    assay_error error;
    assay_store *store;
    assay_catalog catalog; /* its units: on rank 0 all; elsewhere this rank's share, in order, until they are indexed */
    uint64_t units;        /* of the whole trial */
    assay_layouts layouts; /* where the trial has a topology: of all its tensors, the same on every rank */
    uint64_t *step_end;    /* [steps] likewise: how many units come before the end of each step; owned */
    uint64_t steps;
    assay_unit *listed; /* all of them on the rank that listed the trial, until they are dealt out; owned */
    assay_trial *info;  /* steps and tensors, the same on every rank */
    assay_shard shard; /* after assay_sources_read(): this rank's share; after the redistribution: that of its chunks */
    assay_problems problems; /* rank 0: all that listing and index showed */
} assay_source;

typedef struct assay_sources {
    assay_source *list; /* the job's trials in their order, then those that only a rule compares with */
    uint32_t count;
    uint32_t job_trials;
    bool verbatim;             /* keep units and rows as the files say, on every rank: for packing */
    struct assay_asked *asked; /* what the rules ask for, of which alone logs need to be kept; NULL: all; borrowed */
    const struct assay_run_view *view; /* the trials are seen through it; NULL: as they are; borrowed */
    assay_open_places *places;         /* of the whole run; NULL: each trial's place is opened by itself; borrowed */
    uint32_t *other; /* [rules + aggregations]: the source that the rule compares with, ASSAY_NO_ID: none */
} assay_sources;

/* Names the sources of a job. Not collective. */
int assay_sources_init(assay_sources *sources, const assay_job *job);
void assay_sources_release(assay_sources *sources);

/* Which units of a trial a rank reads: [*first, *end) of them. `base` is the number of its first one when those
 * of all trials are counted. Not collective. */
void assay_sources_share(const assay_sources *sources, uint32_t source, uint64_t base, int rank, int ranks,
                         uint64_t *first, uint64_t *end);

/* Lists every trial (trial i by rank i mod ranks); the names of workers go to everyone, the units to the
 * rank that reads them and to rank 0. A trial that cannot be opened keeps its status. Collective. */
int assay_sources_list(assay_comm *comm, assay_sources *sources, assay_error *err);

/* Reads the index, each rank a contiguous share, and makes the steps and tensors of every trial known to every
 * rank; the entries stay with the rank that read them. Collective. */
int assay_sources_read(assay_comm *comm, assay_sources *sources, assay_error *err);

/* Reads the event files of the job's trials, each rank some of them, and leaves the timeline of each trial on rank 0
 * (assay_trial.timeline), its problems with the trial's. Warns when the rank then holds more than `memory`. Adds the
 * bytes that this rank read to *bytes and the files to *files. Collective. */
int assay_sources_read_events(assay_comm *comm, assay_sources *sources, const assay_job *job, size_t memory,
                              uint64_t *bytes, uint64_t *files, assay_error *err);
