/* traces.h - where the time of a training went, by the traces of its ranks, as rules see it.
 *
 * A rule that looks at traces sets ASSAY_RULE_TIMELINE and ASSAY_RULE_TRACES in its traits, maps nothing, and tests in
 * finalize, on one rank, what assay_trial_traces() gives. Lengths are whole nanoseconds. */
#ifndef ASSAY_TRACES_H
#define ASSAY_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ASSAY_TRACE_BIN = 1024, /* ns */
    ASSAY_TRACE_GAPS = 5,   /* the longest are listed */
    ASSAY_TRACE_TOP = 10,   /* kernels, operators */
    ASSAY_TRACE_STEPS_ALONE = 64,
    ASSAY_TRACE_WORST = 8,        /* ranks of a step that reports name */
    ASSAY_TRACE_NAME_SHOWN = 200, /* bytes of a kernel's name in reports; C++ names have thousands */
    ASSAY_TRACE_GAP_SHOWN = 120
};

/* ---- what one rank alone tells ---- */

typedef enum assay_trace_cause {
    ASSAY_CAUSE_INPUT,   /* within the data loader */
    ASSAY_CAUSE_SYNC,    /* the host let the device run dry to wait for it */
    ASSAY_CAUSE_HOST,    /* the host launches too slowly */
    ASSAY_CAUSE_QUEUED,  /* launched before: the device waited for itself */
    ASSAY_CAUSE_UNKNOWN, /* the file has no launches */
    ASSAY_CAUSES
} assay_trace_cause;
/* "input", "sync", "host", "queued", "unknown". */
const char *assay_trace_cause_word(int cause);

/* Lengths in ns. computation + exposed_communication + exposed_copy + idle = total; busy = total - idle. */
typedef struct assay_trace_figures {
    int64_t total, computation, exposed_communication, exposed_copy, busy, idle, communication, copy;
} assay_trace_figures;

typedef struct assay_trace_gap {
    int64_t length, at; /* at: from the first activity of its file on */
    uint32_t cause, name;
} assay_trace_gap;

typedef struct assay_trace_alone {
    uint64_t activities, launched_before;
    assay_trace_figures figures;
    int64_t idle[ASSAY_CAUSES];
    assay_trace_gap gap[ASSAY_TRACE_GAPS]; /* longest first */
    uint32_t gaps;
} assay_trace_alone;

typedef enum assay_trace_sum_kind {
    ASSAY_SUM_KERNELS,
    ASSAY_SUM_OPERATORS,      /* by the time of the kernels that they launched */
    ASSAY_SUM_HOST_OPERATORS, /* by their own time on the host */
    ASSAY_SUM_KINDS
} assay_trace_sum_kind;

typedef struct assay_trace_sum {
    uint32_t name, kind;
    uint64_t count;
    int64_t time;
} assay_trace_sum;

typedef struct assay_trace_step_alone {
    int64_t number;
    assay_trace_figures figures;
} assay_trace_step_alone;

typedef struct assay_trace_rank {
    int32_t rank;
    bool whole_file; /* it has no steps: the file counts as one */
    bool evaluated;  /* it has the steps that were evaluated */
    bool has_launches;
    int64_t first_step, last_step;
    assay_trace_alone alone;
    assay_trace_sum *sum; /* by kind, time descending, name; owned */
    size_t sums;
    assay_trace_step_alone *step; /* that have an activity, in order; owned */
    size_t steps;
    uint64_t step_count; /* all of its files */
} assay_trace_rank;

/* ---- ranks side by side ---- */

typedef struct assay_trace_group {
    const char *name, *description; /* "" where the files do not say */
    int32_t *member;                /* ascending; owned */
    uint32_t members;
} assay_trace_group;

/* What a rank came last by in a group during a step. */
typedef struct assay_trace_late {
    uint32_t step, group; /* into steps, groups */
    int32_t rank;
    int64_t own, lost; /* ns: of the margins what the rank lost itself; all of them */
    uint64_t last, operations;
} assay_trace_late;

/* What a rank did during a step, in ns. */
typedef struct assay_trace_work {
    uint32_t step;
    int32_t rank;
    int64_t own, busy, exposed, input;
    int64_t from, to;     /* the window, by the first rank's clock */
    uint32_t role, peers; /* ranks with the same role, this one included; 0: it has no operation in the step */
    int64_t own_median, busy_median, input_median; /* over the peers */
} assay_trace_work;

/* Operations of one kind in one group that were matched, whole and symmetric. */
typedef struct assay_trace_class {
    uint32_t group;
    const char *operation, *dtype, *description;
    int64_t in, out; /* elements; -1: not said */
    uint64_t operations;
    int64_t median; /* ns that the shortest kernel took */
    int64_t others; /* lower median of the medians of other groups; -1: there is none */
    uint64_t first; /* of its transfers */
} assay_trace_class;
typedef struct assay_trace_transfer {
    uint32_t step;
    int64_t duration, number;
} assay_trace_transfer;

typedef struct assay_trace_what_if {
    bool known;
    bool rough;                                                  /* the simulation is more than a tenth off */
    double measured, simulated, ideal;                           /* seconds, all steps together */
    double without_own, without_slow_groups, without_late_input; /* share of the simulated time that would be saved */
    struct {
        int32_t rank;
        double share;
    } rank[8];
    uint32_t ranks;
} assay_trace_what_if;

typedef struct assay_trace_problem {
    uint32_t file; /* its number in the list */
    char *text;    /* owned */
    bool used;     /* the file is, all the same */
} assay_trace_problem;

typedef struct assay_trace_data {
    struct assay_dict *texts; /* owned: all names */
    uint64_t files, events, kernels, without_description, without_group, without_time, too_large;
    uint64_t matched, unmatched, different; /* operations */
    bool symmetric;                         /* some matched operation is one */
    int32_t *no_file, *set_aside;           /* ascending; owned */
    size_t no_files, sets_aside;
    int64_t *step, *step_duration; /* evaluated; ns; owned */
    size_t steps;
    assay_trace_rank *rank; /* ascending, also those of other steps; owned */
    size_t ranks;
    int64_t *clock;           /* [ranks] ns ahead of the first rank's; owned */
    assay_trace_group *group; /* by members, then name */
    size_t groups;
    assay_trace_late *late; /* by step, group, rank; owned */
    size_t lates;
    assay_trace_work *work; /* by step, rank; owned */
    size_t works;
    assay_trace_class *kind; /* by group, operation, dtype, elements; owned */
    size_t classes;
    assay_trace_transfer *transfer;
    size_t transfers;
    assay_trace_what_if what_if;
    assay_trace_problem *problem; /* by file; owned */
    size_t problems;
} assay_trace_data;

/* A name by its number; "" for none. */
const char *assay_trace_text(const assay_trace_data *data, uint32_t text);

struct assay_trial;
/* What the traces of a trial come to; NULL: it has none, or this is not the rank that has it. (rule/trial_info.c) */
const assay_trace_data *assay_trial_traces(const struct assay_trial *trial);

#ifdef __cplusplus
}
#endif
#endif
