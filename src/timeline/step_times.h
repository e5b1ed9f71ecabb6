/* step_times.h - tensors and times together: when each worker of a trial was at a step, how long it took, and what its
 * machine did meanwhile.
 *
 * Tensors and timelines name workers differently. A worker of the timeline is that of the tensors
 *   1. whose name it has, or
 *   2. whose number it has ("worker_3" and "3-host" or "algo-1-3"), where this holds for all workers, or
 *   3. that is the same in order, where there are as many of both.
 * Steps are those of the same mode and number within the mode. */
#pragma once

#include <assay/timeline.h>

typedef struct assay_step_times assay_step_times;

/* `worker` are the workers of the tensors; both are borrowed. NULL without memory. */
assay_step_times *assay_step_times_new(const assay_timeline *line, const char *const *worker, uint32_t workers);
/* NULL is ignored. */
void assay_step_times_free(assay_step_times *times);

/* A step of a worker. */
typedef struct assay_step_time {
    const assay_time_step *step;
    const char *worker, *node, *mode; /* as the timeline names them */
    int64_t median;                   /* of the durations of this worker's steps in this mode: the lower one */
    double use[ASSAY_METRICS];        /* mean of the node's samples during the step, or the nearest one within a second;
                                         NAN: none */
} assay_step_time;

/* The step of worker `worker` of the tensors; ASSAY_ANY_WORKER: of the one that took longest at it. False: the timeline
 * has no such step. */
enum { ASSAY_ANY_WORKER = UINT32_MAX };
bool assay_step_times_find(const assay_step_times *times, uint32_t worker, const char *mode, int64_t number,
                           assay_step_time *out);

/* A step before another one of the same worker and mode that was out of the ordinary: it took longer than twice the
 * median and than the mean by three standard deviations (of at least 20 steps), or the worker had done no step for more
 * than a second and ten times the median before it. */
typedef struct assay_slow_step {
    assay_step_time at;
    bool stalled;   /* no step was done before it; else it took long itself */
    int64_t length; /* of the step, or of the time without one */
    uint64_t back;  /* so many steps of the mode before the other one; 0: the worker stood still right before that */
} assay_slow_step;
/* The last one among ASSAY_SLOW_WITHIN steps before `at`. False: there is none. */
enum { ASSAY_SLOW_WITHIN = 100 };
bool assay_step_times_slow_before(const assay_step_times *times, const assay_step_time *at, assay_slow_step *out);
