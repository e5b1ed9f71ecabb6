/* internal.h - what a collector holds. Inside timeline only. */
#pragma once

#include "timeline/collect.h"

/* A list that grows. */
typedef struct rows {
    void *list;
    size_t count, room;
} rows;
/* One more row of that many bytes, zeroed, at the end; NULL without memory. */
void *rows_add(rows *r, size_t size);
void *rows_reserve(rows *r, size_t more, size_t size);

typedef struct unit { /* of a metric on a node; its number is that of its key in assay_collector.units */
    uint32_t node, name, series;
    uint8_t metric;
    int64_t last; /* time of its last sample in this file */
} unit;

typedef struct series {
    uint32_t node, name;
    uint8_t metric;
    int64_t last;  /* time of its last row */
    uint32_t file; /* of that row */
    rows samples;  /* assay_sample */
} series;

typedef struct worker {
    uint32_t name, node; /* node: ASSAY_NO_ID until all nodes are known */
    int64_t first, last;
    uint64_t *events; /* [edges + 1]; owned */
} worker;

typedef struct span_half { /* a beginning or end without its other half in this file */
    uint32_t stack, file, worker, name, phase, process;
    uint8_t ends, kind, has_step;
    int8_t pin_memory;
    uint32_t order; /* among those of its file */
    int64_t time, step, num_workers;
} span_half;

typedef struct open_half { /* a beginning in this file */
    span_half half;
    uint32_t outer; /* the one around it on its stack, + 1 */
    bool closed;
} open_half;

typedef struct loader_start { /* with the file, to tell which of two at one time counts */
    assay_loader_start start;
    uint32_t file;
} loader_start;

typedef struct total {
    int64_t time;
} total;

typedef struct sample_source { /* what its files call it: node, dimension and name of samples */
    uint32_t unit, series;     /* unit: ASSAY_NO_ID for a metric that no rule knows */
    uint32_t next;             /* the one whose sample came behind one of this the last time */
} sample_source;

typedef struct span_class { /* of spans with the same name, in the same phase */
    uint32_t mode;          /* of steps: its text; ASSAY_NO_ID: they are none */
    uint32_t total[2];      /* the sums that their time belongs to */
    uint32_t next;          /* the class that came behind this one the last time */
    uint8_t totals;
    bool loads, sets_up; /* a loader fetched a batch; was set up */
} span_class;

struct assay_collector {
    const assay_timeline_want *want;
    bool exact, again;
    int status;
    assay_dict *texts; /* names of everything */
    assay_dict *units; /* keys of units: metric, node, name */
    assay_dict *keys;  /* keys of series, likewise; in exact mode those of units */
    assay_dict *worker_keys, *totals, *stacks;
    rows unit, series, worker, total;     /* by the numbers in the dictionaries above */
    assay_dict *source_keys, *class_keys; /* what a rank knows for itself: these are not joined */
    rows source, class;                   /* by their numbers */
    uint32_t last_source, last_class;     /* of the sample and the span before; ASSAY_NO_ID: none */
    int64_t cell_start, cell_end;         /* a cell that is known */
    rows step;                            /* assay_time_step, modes as texts */
    rows loader;                          /* assay_loader_event, processes as texts */
    rows loader_start, half, problem, odd, cell;
    size_t cells_sorted;
    uint64_t other_samples, other_events, problems_total, bytes, used;
    uint64_t by_kind[ASSAY_EVENT_KINDS], files, timelines;

    /* The file under way. */
    uint32_t file_number, file_worker;
    uint8_t file_kind;
    uint64_t file_problems;
    bool file_is_odd[ASSAY_ODDITIES];
    rows open; /* open_half: beginnings in this file */
    rows head; /* uint32_t by stack: its innermost open one + 1 */
};

/* A sum that stays at the end of the range instead of leaving it: values that no machine has may be that large. */
static inline int64_t assay_add_clipped(int64_t a, int64_t b)
{
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* Of two values of units the one that assay_sample.extreme has. */
static inline int64_t extreme_of(int metric, int64_t a, int64_t b)
{
    const bool least = metric == ASSAY_METRIC_GPU || metric == ASSAY_METRIC_GPU_MEMORY;
    return (a < b) == least ? a : b;
}

/* The number of a text, which is added when it is new; ASSAY_NO_ID without memory. */
uint32_t collector_text(assay_collector *c, const char *bytes, size_t length);
static inline unit *unit_at(assay_collector *c, uint32_t i)
{
    return (unit *)c->unit.list + i;
}
static inline series *series_at(const assay_collector *c, uint32_t i)
{
    return (series *)c->series.list + i;
}
static inline worker *worker_at(const assay_collector *c, uint32_t i)
{
    return (worker *)c->worker.list + i;
}

/* The metric that a sample belongs to (metric.c). */
uint8_t collector_metric(const assay_event_sample *sample);

/* The number of a series, unit, worker, total; ASSAY_NO_ID without memory. */
uint32_t collector_series(assay_collector *c, uint8_t metric, uint32_t node, uint32_t name);
uint32_t collector_unit(assay_collector *c, uint8_t metric, uint32_t node, uint32_t name);
uint32_t collector_worker(assay_collector *c, uint32_t name, uint32_t node);
uint32_t collector_total(assay_collector *c, int kind, const char *name, size_t length);

/* What a span of that kind of file, phase and name is (span_class.c); valid until the next call. NULL without memory.
 */
const span_class *collector_class(assay_collector *c, uint8_t kind, assay_text phase, assay_text name);

/* ---- spans.c ---- */

/* A file of spans begins: finds its worker. Then each span of it is taken, and what it began and did not end is kept. 0
 * or ASSAY_ENOMEM, all three. */
int collector_begin_spans(assay_collector *c, const assay_event_file *file);
int collector_take_span(assay_collector *c, const assay_event_span *span);
int collector_end_spans(assay_collector *c);
/* Pairs the halves of different files, in their order; returns how many have no other half in *unmatched. */
int collector_pair_halves(assay_collector *c, uint64_t *unmatched);
/* Cells in order, each once. */
void collector_sort_cells(assay_collector *c);
