/* internal.h - what a collector holds of the files that were read. Inside trace only. */
#pragma once

#include <assert.h>

#include "base/search.h"
#include "base/vec.h"
#include "trace/trace.h"
#include "trial/names.h"

#define TRACE_NONE INT64_MIN /* a number that the file does not say */

/* ---- a file while it is read: times are those of the file, without its base ---- */

typedef enum activity_class { CLASS_COMPUTATION, CLASS_COMMUNICATION, CLASS_COPY } activity_class;

/* A correlation, an external id: a number, or the hash of a text; 0: none. */
typedef uint64_t trace_id;

typedef struct activity { /* of a GPU */
    int64_t begin, end;
    trace_id correlation;
    uint32_t name;
    uint8_t class;
    bool computes; /* a kernel that makes bins busy */
} activity;

typedef struct runtime_call { /* of the host */
    int64_t begin, end;
    trace_id correlation;
    uint32_t thread;
    bool blocks;
} runtime_call;

typedef struct operator_span {
    int64_t begin, end;
    uint32_t thread, name;
} operator_span;

typedef struct interval {
    int64_t begin, end;
} interval;

typedef struct step_span {
    int64_t number, begin, end;
    uint64_t order; /* in the file: the first of a number counts */
} step_span;

typedef struct host_launch { /* record_param_comms */
    trace_id external;
    int64_t time;
} host_launch;

typedef struct communication {
    int64_t begin, end, sequence;
    trace_id external;
    int32_t source, destination; /* -1: not said */
    uint32_t group;              /* text: name, 0, ranks; ASSAY_NO_ID: not said */
    uint32_t call;               /* into calls */
    uint32_t order;              /* in the file */
} communication;

typedef struct said_group { /* ranks of a group by its name, as the head of the file says */
    uint32_t name, ranks;   /* texts */
} said_group;

typedef struct trace_file {
    ASSAY_VEC(activity) activity;
    ASSAY_VEC(runtime_call) runtime;
    ASSAY_VEC(operator_span) operators;
    ASSAY_VEC(interval) input;
    ASSAY_VEC(step_span) step;
    ASSAY_VEC(host_launch) launch;
    ASSAY_VEC(communication) communication;
    ASSAY_VEC(said_group) said;
    assay_dict *threads;
    uint64_t kept;       /* activities, runtime calls, operators */
    const char *refused; /* why nothing more of it is kept */
    int64_t base;        /* ns since 1970 that times count from */
    int32_t rank;        /* -1: not said */
    int64_t world;
} trace_file;

/* ---- rows of the collector ---- */

typedef enum file_state { FILE_USED, FILE_SET_ASIDE, FILE_NO_RANK } file_state;

typedef struct file_row {
    uint32_t number; /* in the list */
    int32_t rank;    /* -1: not known */
    uint8_t state;
    bool whole_file, has_launches, has_steps;
    uint64_t events, kernels, without_description, without_time, too_large;
    uint64_t steps, communications, sums; /* rows of it */
    int64_t begin, end;                   /* of its steps, ns since 1970 */
    int64_t first, last;                  /* its launches and activities, else operators; first > last: none */
    assay_trace_alone alone;
} file_row;

typedef struct step_row {
    int64_t number, begin, end, input; /* ns since 1970 */
    int64_t from, to;                  /* the window of its communication */
    int64_t own, busy, exposed;        /* bins within the window */
    int64_t own_from;                  /* the own clock at its beginning */
    bool has_window, has_activities;
    assay_trace_figures figures;
} step_row;

typedef struct kernel_row {     /* in order of begin, then end */
    int64_t begin, end, launch; /* ns since 1970 */
    int64_t own_begin, own_end; /* the own clock, bins */
    int64_t sequence;
    trace_id external;
    int32_t source, destination;
    uint32_t group, call;
    uint32_t step; /* of those of its file; ASSAY_NO_ID: none */
    bool waits;    /* the rank stood there for its end */
} kernel_row;

typedef struct call_row { /* what a kernel of communication was called for */
    uint32_t description, operation, dtype, unused;
    int64_t in, out, size;
} call_row;
/* Its bytes are a key: what lay in a gap would make equal calls differ. */
static_assert(sizeof(call_row) == 4 * sizeof(uint32_t) + 3 * sizeof(int64_t), "a call has no gaps");

typedef struct problem_row {
    uint32_t file, text;
} problem_row;

struct assay_trace_collector {
    assay_dict *texts; /* names of everything, groups (name, 0, ranks) among them */
    assay_dict *calls; /* keys: bytes of call_row; its numbers are those of `call` */
    ASSAY_VEC(call_row) call;
    ASSAY_VEC(file_row) file;
    ASSAY_VEC(step_row) step;
    ASSAY_VEC(kernel_row) kernel;
    ASSAY_VEC(assay_trace_sum) sum;
    ASSAY_VEC(problem_row) problem;
    ASSAY_VEC(uint8_t) name_class; /* by text: what a kernel of that name is, + 1 */
    uint64_t bytes;
    /* The file under way. */
    trace_file now;
    file_row row;
    assay_buf key, why; /* why: what is wrong with it */
};

/* The number of a call, which is added when it is new; ASSAY_NO_ID without memory. */
uint32_t trace_add_call(assay_trace_collector *c, const call_row *call);
/* Sums that stay at the end of the range: durations of hostile files add up to anything. */
static inline int64_t trace_add(int64_t a, int64_t b)
{
    int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Gets what the reader finds in a file; begins, ends and drops it (file.c). All 0 or ASSAY_ENOMEM. */
extern const assay_event_sink trace_file_sink;
int trace_file_begin(assay_trace_collector *c, uint32_t number);
int trace_file_end(assay_trace_collector *c, const assay_event_file *file);
/* The rank that a file's name has behind the word "rank"; -1: none, or one within a node. */
int32_t trace_file_named_rank(const char *path);
void trace_file_release(trace_file *f);

/* What a file alone tells (alone.c). 0 or ASSAY_ENOMEM. */
int trace_file_alone(assay_trace_collector *c, trace_file *f, file_row *row, step_row *steps);
/* Appends the rows of a file's steps; of one without steps, once `first` and `last` are known, the one that it is as a
 * whole. Appends the rows of its kernels of communication, and what the steps' windows come to. 0 or ASSAY_ENOMEM.
 * (own_time.c) */
int trace_file_steps(assay_trace_collector *c, trace_file *f, file_row *row);
int trace_file_kernels(assay_trace_collector *c, trace_file *f, file_row *row, step_row *steps);
/* The step (into `steps`, ascending in begin) that what was launched then belongs to; ASSAY_NO_ID: none. */
uint32_t trace_step_of(const step_row *steps, size_t count, int64_t launch);

/* ---- intervals (intervals.c) ---- */

/* Sorts and joins what overlaps or touches; returns how many are left. */
size_t trace_union(interval *list, size_t count);
/* Is the time within one of a union? */
bool trace_holds(const interval *list, size_t count, int64_t time);
/* The length of a union before a time; `sums` as of trace_prefix(). */
int64_t trace_length_before(const interval *list, const int64_t *sums, size_t count, int64_t time);
/* sums[i] = length of the first i; room for count + 1. NULL without memory; the caller frees. */
int64_t *trace_prefix(const interval *list, size_t count);
/* What of a is not in b, both unions, into `out` (room for a + b). Returns how many. */
size_t trace_without(const interval *a, size_t a_count, const interval *b, size_t b_count, interval *out);
