/* options.h - the options of a run of the engine. */
#pragma once

#include <assay/rule.h>

/* Looks on while records are read: every tensor at its step, and what each step adds to an aggregation. Called on each
 * rank for its own chunks, in order of (trial, step, tensor, worker): the ranks' calls in rank order are in that order
 * too. A negative return, ASSAY_ENOMEM or ASSAY_EIO with a text, ends the run. */
typedef struct assay_observer {
    void *context;
    int (*tensor)(void *context, uint32_t trial, const assay_step_info *step, const assay_tensor_view *tensor,
                  assay_error *err);
    int (*counts)(void *context, uint32_t trial, uint32_t aggregation, const assay_step_info *step,
                  const assay_counter *counter, assay_error *err);
} assay_observer;

/* Takes what came of some of many trials, which are run some at a time, in the job's order; the engine keeps nothing of
 * them. Called on rank 0. A negative return, with a text, ends the run. */
struct assay_outcome;
typedef struct assay_outcome_sink {
    void *context;
    int (*take)(void *context, struct assay_outcome *some, assay_error *err);
} assay_outcome_sink;

typedef struct assay_engine_options {
    size_t memory;           /* budget of one rank in bytes */
    int64_t from, to;        /* global steps [from, to) that are evaluated; INT64_MIN, INT64_MAX: all */
    double progress;         /* seconds between progress lines on stderr; 0: none; < 0: a rewriting line */
    bool dry_run;            /* plan only: the outcome has the plan and no verdicts */
    const char *checkpoint;  /* the file that checkpoints are written to; NULL: none, signals are not looked at */
    double checkpoint_every; /* seconds between checkpoints; 0: only when the run is asked to stop */
    bool resume;             /* go on from that file if it is there */
    const char *version, *job_digest;  /* with checkpoint: assay's version and the SHA-256 of the job's text */
    const assay_observer *observer;    /* NULL: nobody looks on */
    const struct assay_run_view *view; /* how the run sees the trials (run_view.h); NULL: as they are */
    const assay_outcome_sink *sink;    /* NULL: what came of all trials is in the outcome */
} assay_engine_options;
