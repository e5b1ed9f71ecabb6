/* internal.h - the state of one hook. The API is in hook.c and save.c, the thread that writes in writer.c. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <assay/hook.h>
#include "hook/config.h"
#include "hook/facts.h"
#include "hook/names.h"
#include "hook/output.h"
#include "hook/profile.h"
#include "hook/queue.h"
#include "hook/topology.h"
#include "hook/wait.h"

struct assay_hook {
    pthread_mutex_t lock; /* guards everything below that is not said to be otherwise */
    pthread_cond_t work;  /* the writer has something to do */
    pthread_cond_t done;  /* the writer has done something: room in the queue, a step on disk */
    hook_config config;   /* fixed once `frozen` */
    assay_buf file;       /* text of the configuration file that wins over the program */
    char *file_name;      /* owned; NULL without one */
    int rank, num_workers;
    char *directory, *worker;            /* owned; set when frozen */
    bool frozen, off;                    /* off: this worker records nothing */
    bool beginning;                      /* the writer takes the place in the directory */
    int mode;                            /* 0..3 */
    int64_t step, mode_step[HOOK_MODES]; /* of the current step; -1 before the first */
    struct hook_place {                  /* of a step in the trial */
        int64_t step, mode_step;
        int mode;
    } begun_at[ASSAY_HOOK_FARTHEST_BACK + 1]; /* of the last steps, by how many began before, in turn */
    uint64_t steps_begun;
    int back;               /* what is saved belongs to the step so many before the current one */
    bool again;             /* assay_hook_go_back() was called since the step began */
    uint64_t serial;        /* of the current step, 0 before the first */
    uint64_t closed;        /* steps up to this serial are closed */
    unsigned waiting;       /* savers that wait for room */
    unsigned flushing;      /* callers that wait until all closed steps are on disk */
    unsigned lent;          /* callers that wait until the writer has read their tensor where it is */
    bool gathering;         /* the writer lets steps gather, and is woken only where hook_hurries() */
    _Atomic uint64_t mask;  /* collections saved at the current step; read without the lock */
    _Atomic bool recording; /* frozen, not off, a step has begun; read without the lock */
    hook_names names;
    hook_queue queue;
    uint64_t writing;              /* serial of the step that is open in the writer, 0 for none */
    bool stopping, started, ended; /* of the writer */
    double writer_cost;            /* seconds of processor time, when it last did something */
    double writer_of[ASSAY_HOOK_ACCOUNTS];
    int account;    /* of what is saved now */
    int failure;    /* why recording could not begin */
    uint64_t pulse; /* how often the writer has done something */
    bool stalled;   /* it did nothing for config.stall seconds, and nothing since */
    unsigned forks; /* of the process when the hook was opened (wait.h) */
    pthread_t writer;
    hook_output output;    /* the writer's own while it runs */
    double calls_cost;     /* seconds of the training's threads at saved steps */
    struct timespec begun; /* when recording began, CLOCK_MONOTONIC */
    hook_profile *profile; /* NULL: no profiler data is recorded */
    bool profile_failed;   /* to start: it is not tried again */
    assay_hook_counts counts;
    hook_facts facts;
    hook_recorded recorded;
    hook_topology topology; /* fixed once `frozen` */
    bool warned;
};

/* How many workers record. */
static inline int hook_workers(const assay_hook *hook)
{
    return hook->config.all_workers ? hook->num_workers : 1;
}

/* Notes a failure: count, first text, one warning on stderr. Returns `status`. The caller holds the lock. */
int hook_failed(assay_hook *hook, int status, const char *text);
/* Ends a call that holds the lock: notes a failure, gives the lock back. Returns `status`. */
int hook_leave(assay_hook *hook, int status, const assay_error *err);

/* Works out which collections the current step saves. The caller holds the lock. */
void hook_take_mask(assay_hook *hook);

/* Fixes the configuration and starts the writer, which takes the place in the directory, once; a failure turns the hook
 * off, and so does a disk that does not answer. The caller holds the lock, which is left for the wait. */
int hook_begin(assay_hook *hook);
/* The writer's first act: takes the place in the directory, continues its counts and writes the facts of the run. A
 * failure turns the hook off. Called and left with the lock held. */
void hook_take_place(assay_hook *hook);

/* Starts the recording of profiler data, once. A failure is noted; tensors are recorded all the same. The caller holds
 * the lock. */
void hook_start_profile(assay_hook *hook);

/* Writes run/<worker>.json, with how much was recorded when it has ended. By the writer, without the lock. */
int hook_write_facts(assay_hook *hook, bool ended, assay_error *err);

/* Appends what the hook recorded and what it cost: "1204 records of 40 steps, 1.3 MB, in 63.0 s; ...". By the
 * writer, at its end. */
void hook_cost_put(const assay_hook *hook, assay_buf *out);

/* Starts and ends the writer thread. hook_writer_stop() waits until all is written; the lock is not held. False when
 * the disk did not answer: the writer is still there, and the hook must stay. */
int hook_writer_start(assay_hook *hook, assay_error *err);
bool hook_writer_stop(assay_hook *hook);
/* True when every closed step is on disk. The caller holds the lock. */
bool hook_writer_idle(assay_hook *hook);
/* True when what is queued does not wait until more has gathered: it is much, or somebody waits for it. The caller holds
 * the lock. */
bool hook_hurries(const assay_hook *hook);
