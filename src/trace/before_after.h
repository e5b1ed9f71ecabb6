/* before_after.h - two traces of a training, before and after a change: what took longer (docs/traces.md). */
#pragma once

#include <assay/traces.h>

enum { ASSAY_TRACE_CHANGES = 20, /* the largest are kept */ ASSAY_TRACE_CHANGED_FIGURES = 5 + ASSAY_CAUSES };

/* Nanoseconds a step, of all ranks together: [0] before, [1] after. */
typedef struct assay_trace_change {
    const char *name; /* of the data, or a constant */
    double time[2];
    uint64_t count[2]; /* all in the files; not of figures */
} assay_trace_change;

typedef struct assay_trace_changes {
    assay_trace_change list[ASSAY_TRACE_CHANGES]; /* by the size of the difference, the largest first, then by name */
    uint32_t count;
    uint64_t names, common; /* in one of both, in both */
} assay_trace_changes;

typedef struct assay_trace_before_after {
    uint64_t files[2], steps[2]; /* steps of all files, 1 where they have none */
    assay_trace_change figure[ASSAY_TRACE_CHANGED_FIGURES];
    assay_trace_changes kernels, operators; /* operators of traces of CPUs alone: by their own time on the host */
} assay_trace_before_after;

/* The names of a kind that took longest, of all ranks and files together: time[0], count[0]. *kept of at most `most`. 0 or
 * ASSAY_ENOMEM. */
int assay_trace_top(const assay_trace_data *data, assay_trace_sum_kind kind, assay_trace_change *list, uint32_t most,
                    uint32_t *kept);

/* Sets two traces side by side; names stay theirs. 0 or ASSAY_ENOMEM. */
int assay_trace_compare(const assay_trace_data *before, const assay_trace_data *after, assay_trace_before_after *out);
