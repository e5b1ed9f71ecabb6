/* watch.h - trials that are still being written: what of them can be evaluated now, and what was evaluated before.
 *
 * Rank 0 looks at the trials (scan.c) and keeps, of every unit, what its index says, and of every step the packed
 * result of its rules. An engine run with its view then sees a trial that has the complete steps alone
 * (watch.c), cut into one chunk a step; chunks whose files are what they were when they were mapped are taken from
 * what is kept (result_cache.c), so that only new and changed steps are read. What such a run says is provisional: the
 * report of a watched job is that of an ordinary run at its end. docs/watch.md. */
#pragma once

#include "parallel/comm.h"
#include "job/job.h"

typedef struct assay_watch assay_watch;

/* `lag`: how many seconds a step waits for workers that have not written it. Every rank makes one; that of rank 0 has
 * the contents. ASSAY_ENOMEM. Not collective. */
int assay_watch_new(assay_comm *comm, const assay_job *job, double lag, assay_watch **out);
void assay_watch_free(assay_watch *watch);

/* The trials as the watch sees them, for assay_engine_options.view; the watch owns it. */
const struct assay_run_view *assay_watch_view(const assay_watch *watch);

typedef struct assay_watch_sight {
    bool changed;            /* something was written since the look before */
    bool due;                /* what can be evaluated is not what was evaluated last */
    bool ended;              /* every trial of the job has its end marker, and the files that it promises are there */
    uint64_t steps, waiting; /* steps that can be evaluated, and those that wait for files */
} assay_watch_sight;

/* Rank 0 looks at the trials at the time `now` (assay_clock_seconds(), seconds). A trial that is not there yet is no
 * failure. ASSAY_ENOMEM; ASSAY_EUSAGE and ASSAY_EUNSUPPORTED for a location that can never be read. Not collective. */
int assay_watch_look(assay_watch *watch, double now, assay_watch_sight *sight, assay_error *err);

/* Rank 0: why a trial of the job cannot be read so far; NULL: it can. */
const char *assay_watch_reason(const assay_watch *watch, size_t trial);

/* ---- signals.c: ranks that wait for each other asleep, where a collective call would keep a processor busy ---- */

typedef enum assay_watch_call {
    ASSAY_WATCH_EVALUATE = 1, /* an engine run with the watch */
    ASSAY_WATCH_FINISH,       /* the ordinary run at the end */
    ASSAY_WATCH_FAIL          /* rank 0 has failed and said why */
} assay_watch_call;

/* From rank 0 to all others, which get it from assay_watch_hear(): these wait for it, asleep. 0 or ASSAY_EMPI.
 * Not collective. */
int assay_watch_tell(assay_watch *watch, assay_watch_call call);
int assay_watch_hear(assay_watch *watch, assay_watch_call *call);
/* On rank 0: sleeps, and ends early with *signalled when a signal (interrupt.h) came to any rank. 0 or ASSAY_EMPI.
 * Not collective. */
int assay_watch_sleep(assay_watch *watch, double seconds, bool *signalled);
/* After the last call: takes what is still on its way. 0 or ASSAY_EMPI. Collective. */
int assay_watch_close(assay_watch *watch);
