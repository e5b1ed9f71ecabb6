/* first_cause_internal.h - a first cause as first_cause.c finds it and first_cause_text.c writes it. */
#pragma once

#include "parts/first_cause.h"

enum { STAGES_MOST = 32, NAMES_MOST = 8 };

/* How far the fault has come by the end of a step. */
typedef struct stage {
    int64_t step;
    uint64_t tensors;  /* bad so far, whatever the worker */
    uint32_t workers;  /* likewise */
    uint32_t from, to; /* the workers new at this step: arrival[from .. to) */
} stage;

typedef struct cause {
    const assay_rule *rule;
    const char *became;        /* as of first_cause_put() */
    const assay_onset **onset; /* those that were bad, by (step, order of computation, worker) */
    uint64_t count;
    assay_onset *all; /* the onsets of all tensors, in ascending order of (tensor, worker) */
    uint64_t all_count;
    int64_t step;                /* of the first */
    const assay_step_info *info; /* of that step; NULL: unknown */
    bool pooled;                 /* over the workers */
    uint32_t worker;             /* who was first; ASSAY_ALL_WORKERS: not known, or pooled */
    uint32_t bad_workers;        /* at the first bad step: arrival[0 .. bad_workers) */
    const assay_onset **first;   /* [workers] of each bad worker its first onset */
    int64_t last_good;           /* step; ASSAY_NO_STEP: none */
    bool gap;                    /* steps lie between last_good and step */
    bool by_loss;                /* last_good is a step whose losses were good, which are computed from the weights */
    uint32_t before; /* the last good tensor before operations that nobody recorded; ASSAY_NO_TENSOR: there are none */
    bool unseen;     /* what a module was given is bad, and nothing that it was made of was recorded */
    uint32_t unrecorded;        /* tensors that are computed before, and were not saved at that step */
    uint32_t unrecorded_tensor; /* the first of them */
    uint32_t silent_workers;    /* that recorded nothing at all */
    stage stage[STAGES_MOST];
    uint32_t stages;
    uint32_t *arrival; /* [workers] in the order in which they were first bad */
    bool *worker_bad, *tensor_bad;
} cause;

/* Do the records prove it: see first_cause.h, 4. */
bool first_cause_is_certain(const cause *c);
/* "data", "forward", "backward" or "update". */
const char *first_cause_phase(const cause *c);
/* Append the member "first_cause" and the lines below the rule. */
void first_cause_put_json(const cause *c, assay_buf *out);
void first_cause_put_text(const cause *c, assay_buf *out);
