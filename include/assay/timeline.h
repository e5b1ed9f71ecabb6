/* timeline.h - what a trial recorded in time, as rules see it: samples of metrics, steps, loaders, operators.
 *
 * A rule that looks at time and not at tensors sets ASSAY_RULE_TIMELINE in its traits, says in setup by
 * assay_need_timeline() what it will ask for, maps nothing, and tests in finalize, on one rank, what
 * assay_trial_timeline() gives. Its findings carry assay_finding.time. Times are microseconds since 1970, integers;
 * sums are integers too, so that the order in which ranks add does not matter. All lists are in natural order of names,
 * then in order of time. */
#ifndef ASSAY_TIMELINE_H
#define ASSAY_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_NO_TIME INT64_MIN

typedef enum assay_metric {
    ASSAY_METRIC_CPU,        /* percent of each core */
    ASSAY_METRIC_MEMORY,     /* percent of the machine's */
    ASSAY_METRIC_GPU,        /* percent of each GPU */
    ASSAY_METRIC_GPU_MEMORY, /* percent of each GPU's */
    ASSAY_METRIC_IO_WAIT,    /* percent of each core */
    ASSAY_METRIC_NETWORK,    /* bytes a second, received and sent together */
    ASSAY_METRICS
} assay_metric;

/* The value of a series at a time is sum / (1e6 * units); network: sum / 1e6. */
typedef struct assay_sample {
    int64_t time;
    int64_t sum;     /* of millionths, over the units that have a sample at this very time */
    int64_t extreme; /* of one of them: of GPUs the least, of others the most */
    uint32_t units;  /* how many those are */
    uint32_t file;   /* for those who read */
} assay_sample;

typedef struct assay_metric_series {
    const char *unit; /* "gpu0"; "": the node's own, over its units */
    uint32_t node;
    int metric;
    const assay_sample *sample; /* ascending in time, each time once */
    uint64_t count;
} assay_metric_series;

typedef struct assay_time_step { /* one step of a training as its timeline has it */
    int64_t start, duration;
    int64_t number;        /* -1: not said */
    uint32_t worker, mode; /* into assay_timeline.worker, .mode */
} assay_time_step;

#define ASSAY_NO_PROCESS UINT32_MAX
typedef struct assay_loader_event { /* a batch that a loader fetched */
    int64_t start, duration;
    uint32_t worker;
    uint32_t process; /* equal numbers, equal processes; ASSAY_NO_PROCESS: not said */
} assay_loader_event;

typedef struct assay_loader_start { /* a loader that was set up */
    int64_t start;
    int64_t num_workers; /* -1: not said */
    uint32_t worker;
    int pin_memory; /* 1, 0; -1: not said */
} assay_loader_start;

typedef enum assay_time_class {                          /* what summed times are of */
                                ASSAY_TIME_CPU_OPERATOR, /* by name of the event */
                                ASSAY_TIME_GPU_OPERATOR,
                                ASSAY_TIME_HOROVOD,
                                ASSAY_TIME_DATAPARALLEL,
                                ASSAY_TIME_CPU_PHASE, /* by phase */
                                ASSAY_TIME_GPU_PHASE,
                                ASSAY_TIME_FORWARD,
                                ASSAY_TIME_BACKWARD,
                                ASSAY_TIME_GENERAL,
                                ASSAY_TIME_CLASSES
} assay_time_class;
typedef struct assay_time_total {
    const char *name;
    int64_t time; /* over all workers */
    int kind;     /* assay_time_class */
} assay_time_total;

typedef struct assay_timeline_worker {
    const char *name;
    uint32_t node;
    int64_t first, last;    /* start of its first event, end of the one that ends last */
    const uint64_t *events; /* [edges + 1]: events that start before the first edge, from each edge on */
} assay_timeline_worker;

typedef struct assay_timeline {
    const char *const *node;
    uint32_t nodes;        /* of samples and of workers */
    const uint32_t *cores; /* [nodes] distinct cores with a sample */
    const assay_timeline_worker *worker;
    uint32_t workers;
    const char *const *mode; /* names of modes of steps, byte order */
    uint32_t modes;
    const assay_metric_series *series; /* by (node, metric), the node's own before its units' */
    uint64_t series_count;
    const assay_time_step *step; /* by (worker, start, duration, number) */
    uint64_t steps;
    const assay_loader_event *loader; /* by (worker, start) */
    uint64_t loaders;
    const assay_loader_start *loader_start; /* by (start, worker) */
    uint64_t loader_starts;
    const assay_time_total *total; /* by (kind, time descending, name) */
    uint64_t totals;
    const int64_t *edge; /* ascending: starts and ends of what rules look at (assay_need_timeline()) */
    uint64_t edges;
    const int64_t *cell; /* ascending: an event starts in [cell * cell_size, (cell + 1) * cell_size) */
    uint64_t cells;
    int64_t cell_size;  /* divides every scan interval and a minute */
    int64_t origin;     /* the minute in which the data begins: slices count from there */
    int64_t start, end; /* first and last sample; without samples, of the events; ASSAY_NO_TIME: nothing */
    uint64_t samples, other_samples, duplicates, events, other_events, unmatched;
    bool ended;
} assay_timeline;

struct assay_trial;
struct assay_need;
/* The timeline of a trial; NULL: it recorded nothing in time, or this is not the rank that has it. */
const assay_timeline *assay_trial_timeline(const struct assay_trial *trial);

/* Says which slices and stretches of time a rule will ask for: slices of `scan` microseconds (> 0), and what starts in
 * [from, to) (ASSAY_NO_TIME: no such bound). May be called several times. 0 or ASSAY_ENOMEM. */
int assay_need_timeline(struct assay_need *need, int64_t scan, int64_t from, int64_t to);

/* Natural order of names: runs of digits count by their value. */
int assay_natural_order(const char *a, const char *b);

/* Puts numbers in ascending order; none of them is NaN. */
void assay_sort_integers(int64_t *list, size_t n);
void assay_sort_reals(double *list, size_t n);

/* Where a finding of such a rule is, in place of step and tensor. Texts are copied. */
typedef struct assay_time_place {
    int64_t slice;               /* ASSAY_NO_TIME: the finding's step is one of the traces; that as well: all of them */
    const char *worker;          /* a node, a worker, or "*" */
    const char *unit;            /* a GPU, a mode, ...; "": none */
    const char *worker2, *unit2; /* NULL: none */
    const char *extra;           /* further members of the finding in JSON, each with ", " in front; NULL: none */
} assay_time_place;

#ifdef __cplusplus
}
#endif
#endif
