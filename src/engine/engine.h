/* engine.h - one job over its trials on all ranks: list, plan, read and map, ordered combine, finalize. */
#pragma once

#include <stdio.h>

#include "engine/source/options.h"
#include "parallel/comm.h"
#include "job/job.h"
#include "rule/trial_info.h"
#include "rule/verdict.h"
#include "s3/s3.h"
#include "trial/incomplete.h"

typedef struct assay_rule_outcome {
    const assay_instance *instance; /* of the job */
    assay_verdict verdict;
    void *state; /* of ASSAY_RULE_KEEPS_STATE, else NULL; owned */
} assay_rule_outcome;

/* What came of an implicit aggregation: its state itself, for those who draw and compare (report/model/curves.h). */
typedef struct assay_implicit_outcome {
    assay_common_state *state; /* owned; NULL: nothing was read, or the status says why */
    int status;
    uint64_t rows_at, rows_size; /* of its series in the outcome's file; size 0: the series has them */
} assay_implicit_outcome;

/* Room for what a reader of an outcome makes of it once and needs again. */
typedef struct assay_kept {
    void *made; /* NULL: nothing yet */
    void (*release)(void *made);
} assay_kept;

typedef struct assay_trial_outcome {
    const assay_job_trial *trial; /* of the job */
    int status; /* not ASSAY_OK: the trial could not be opened at all, `error` says why; the rest is empty */
    assay_error error;
    assay_trial *info; /* owned */
    assay_catalog catalog;
    assay_store *store; /* in which it was listed, for who reads more of it; owned; NULL: none is kept */
    assay_problems problems;
    char *job_end;       /* how its job failed, in sentences (why/why.h); owned; NULL: no failure is known */
    char *job_seen;      /* what was looked at for that, and what was not; owned; NULL with job_end */
    uint64_t unsummed;   /* bytes of the values read that no checksum covers */
    uint64_t not_finite; /* tensors of a step and worker that rules looked at and that have NaN or infinities */
    char *unsafe;        /* what loading a file of it would run (verify/loading.h), in words; owned; NULL: nothing */
    assay_incomplete *incomplete;
    size_t incomplete_count;
    assay_rule_outcome *rules;        /* [job->rule_count] */
    assay_rule_outcome *aggregations; /* [job->aggregation_count] */
    assay_implicit_outcome *implicit; /* [job->implicit_count] */
    assay_kept *diagnosis; /* for report/model/diagnosis.h, released before all else; owned; NULL: it is made anew */
} assay_trial_outcome;

typedef struct assay_plan_figures {
    uint64_t chunks, records, bytes; /* to read */
    uint64_t steps;
    double cost;                             /* of all chunks, as the plan reckons it */
    uint64_t steps_shared;                   /* measured by several ranks, as far as memory allows */
    double imbalance;                        /* cost of the busiest rank's chunks over the mean, minus 1 */
    double imbalance_of_16, imbalance_of_64; /* what it would be on so many ranks */
} assay_plan_figures;

typedef struct assay_run_figures {
    int ranks, nodes;
    uint64_t bytes_read, records_read, files_opened;
    uint64_t steps_shared;                                               /* that several ranks measured */
    uint64_t steps_moved;                                                /* measured by a rank that was done sooner */
    uint64_t messages, message_bytes;                                    /* all ranks */
    uint64_t peak_memory;                                                /* largest resident size of a rank, bytes */
    double seconds, seconds_listing, seconds_reading, seconds_combining; /* wall time on rank 0 */
    double processor,
        processor_reading;    /* processor time of all ranks: of the run; while records were read and mapped */
    double processor_busiest; /* of the rank that took most while it read */
    assay_s3_counts s3;       /* of all ranks */
} assay_run_figures;

typedef struct assay_outcome {
    const assay_job *job; /* with the rules that are reported: `narrowed`, or the one that was run */
    assay_job *narrowed; /* without the optional rules over what no trial has; NULL: all are reported; its list of rules
                            is owned, the rest belongs to the job that was run */
    assay_trial_outcome *trials; /* [job->trial_count] */
    size_t trial_count;
    int64_t from, to; /* as in the options; 0, 0: all steps, of an outcome that no engine made */
    FILE *rows;       /* of many trials those of the implicit aggregations: assay_outcome_rows(); owned; NULL: none */
    assay_plan_figures plan;
    assay_run_figures run;
} assay_outcome;

/* Runs the job. Collective on comm; `job` and `options` must be the same on every rank. The outcome is filled on rank 0
 * and empty elsewhere; release it everywhere with assay_outcome_release(). A trial that cannot be opened, damaged files
 * and failing rules are in the outcome; a negative status (the same on every rank) means that there is no outcome:
 * ASSAY_ENOMEM, ASSAY_EMPI, ASSAY_EINTERNAL; with options->checkpoint also ASSAY_ESTOPPED when a signal (interrupt.h)
 * came and the checkpoint is written, ASSAY_EIO when it cannot be, ASSAY_EUSAGE when the one to go on from is refused.
 */
int assay_engine_run(assay_comm *comm, const assay_job *job, const assay_engine_options *options, assay_outcome *out,
                     assay_error *err);
void assay_outcome_release(assay_outcome *outcome);

/* The rows of an implicit aggregation, NULL where it has none; *own is to be freed by assay_series_free() then. 0,
 * ASSAY_EIO or ASSAY_ENOMEM. */
int assay_outcome_rows(const assay_outcome *outcome, const assay_implicit_outcome *of, const assay_series **rows,
                       assay_series **own);

/* True when something that the trials promise was damaged or missing: exit code 3. */
bool assay_outcome_has_losses(const assay_outcome *outcome);
