/* why.h - why did a job end: one answer from everything in its directory (docs/why.md).
 *
 * How it works:
 *   1. find.c looks for what there is: outputs of ranks, dumps, checkpoints, logs of metrics, traces, records; and what
 *      Slurm said of the job (facts.c).
 *   2. Ranks share the outputs, and read them into events (trial/job_log.h); rank 0 gets all of them (events.c).
 *   3. other.c asks the rooms of the other sources: who hung, which checkpoint is sound, what the tensors say.
 *   4. combine.c says what came first: by time as far as clocks go, by rank, a cause before what follows from it.
 *   5. answer.c and report.c say it.
 *
 * What is said follows from the events alone, in the order of files and lines: how many ranks read them does not matter. */
#pragma once

#include <assay/pack.h>
#include <assay/status.h>

#include "engine/engine.h"
#include "parallel/comm.h"
#include "report/text/draw.h"

typedef struct assay_why_options {
    size_t memory;     /* of one rank, bytes */
    double progress;   /* as assay_engine_options has it */
    const char *job;   /* the Slurm job to look at where a directory has several; NULL: the newest */
    const char *rules; /* text of the job whose rules are asked of records and dumps */
    size_t rules_size;
    bool outputs_only; /* of all sources only the outputs of ranks */
} assay_why_options;

typedef struct assay_why assay_why;

/* Finds out why the job ended. Collective; options are the same on every rank. *out is filled on rank 0 and NULL
 * elsewhere; free it with assay_why_free(). ASSAY_ENOTFOUND where there is no such directory, ASSAY_EJOB for a job.json
 * that is wrong, ASSAY_ENOMEM, ASSAY_EMPI, on every rank alike. */
int assay_why_run(assay_comm *comm, const char *directory, const assay_why_options *options, assay_why **out,
                  assay_error *err);
void assay_why_free(assay_why *why); /* NULL is ignored */

/* Adds to the outcome of a run how the jobs failed whose outputs lie with its trials, in the directory of one that was
 * opened, or anywhere below one that is no trial. Collective; options are the engine's, and the outcome is filled on
 * rank 0. Errors as assay_why_run(). */
int assay_why_outcome(assay_comm *comm, assay_outcome *outcome, const assay_engine_options *engine, assay_error *err);

/* Does a directory have outputs of a job? False where it cannot be listed. Not collective. */
bool assay_why_is_job(const char *directory);

/* Do outputs lie in a directory by names that nothing else has? One listing: quick, for who came for something else. Not
 * collective. */
bool assay_why_has_outputs(const char *directory);

/* Was a failure found? */
bool assay_why_failed(const assay_why *why);
/* Could something not be read, so that the answer may be another? */
bool assay_why_has_losses(const assay_why *why);

/* Append the answer: as text, as JSON of the schema assay-why/1, as a page of HTML, in Markdown; as comma-separated values its
 * timeline, a row for each event and each thing that another source says, and no row where no failure was found. */
void assay_why_put_text(const assay_why *why, const assay_draw *draw, assay_buf *out);
void assay_why_put_json(const assay_why *why, assay_buf *out);
void assay_why_put_csv(const assay_why *why, assay_buf *out);
void assay_why_put_html(const assay_why *why, assay_buf *out);
void assay_why_put_markdown(const assay_why *why, assay_buf *out);
