/* side.h - ranks side by side, while they are compared. Inside trace only. */
#pragma once

#include "base/search.h"
#include "trace/internal.h"

typedef struct stretch { /* rows of a file in the lists of the collector */
    uint32_t file;
    uint64_t steps, kernels, sums; /* the first of each */
} stretch;

/* What becomes of a kernel beside its row. */
typedef struct kernel_mark {
    uint32_t operation; /* ASSAY_NO_ID: none */
    uint32_t step;      /* into the evaluated ones; ASSAY_NO_ID: none */
    uint32_t rank;      /* into side.rank */
    int64_t own;        /* bins since the kernel before began; TRACE_NONE: there is none */
    int64_t excess;     /* of it over the other members; TRACE_NONE: not known */
} kernel_mark;

typedef struct member { /* a rank's part of an operation */
    uint32_t rank;
    uint32_t kernel; /* the first of them */
    int64_t begin, end;
} member;

typedef struct operation {
    uint32_t group, step, call;
    int64_t number;
    uint64_t first; /* into side.member */
    uint32_t members;
    bool matched, whole, symmetric, pair;
    int64_t transfer; /* its shortest kernel */
} operation;

typedef struct side_group {
    uint32_t key;       /* text */
    uint32_t with_file; /* members of it that are evaluated */
} side_group;

typedef struct side_rank {
    int32_t rank;
    uint32_t first, files; /* into side.file */
    bool evaluated;
    uint64_t first_place; /* its kernels in side.place */
    uint64_t kernels;
} side_rank;

typedef struct side {
    assay_trace_collector *c;
    assay_trace_data *data;
    ASSAY_VEC(stretch) file; /* that count: by rank, then time */
    ASSAY_VEC(side_rank) rank;
    uint32_t *step_of; /* [steps of all files] into data.step, ASSAY_NO_ID: not evaluated */
    uint32_t *place;   /* kernels of evaluated ranks, by rank in order of time: numbers of rows */
    uint64_t places;
    kernel_mark *mark;  /* [kernels of all files] */
    side_group *group;  /* [data.groups] */
    uint32_t *group_of; /* [texts] into data.group */
    ASSAY_VEC(operation) operation;
    ASSAY_VEC(member) member;
    int64_t *transfer_goal; /* [operations] ns that a transfer would take in a sound group; 0: as it is */
} side;

static inline const kernel_row *side_kernel(const side *s, uint32_t kernel)
{
    return &s->c->kernel.list[kernel];
}
static inline const call_row *side_call(const side *s, uint32_t call)
{
    return &s->c->call.list[call];
}
/* A group is slow in the simulation as CollectiveSlow finds it by default. */
#define TRACE_SLOW_RATIO 1.5

/* The rank of that number; NULL: it has no file that counts. */
static inline const side_rank *side_find_rank(const side *s, int32_t number)
{
    size_t low = 0;
    ASSAY_SEARCH(low, s->rank.count, s->rank.list[low].rank < number);
    return low < s->rank.count && s->rank.list[low].rank == number ? &s->rank.list[low] : NULL;
}
/* The lower median: the one with index (n - 1) / 2 in ascending order. Sorts the list; n > 0. */
int64_t trace_lower_median(int64_t *list, size_t n);
/* The row of a rank's step with a window; NULL: it has none there. */
const step_row *trace_window_of(const side *s, const side_rank *rank, uint32_t step);
/* all_to_all in any spelling: its numbers of elements differ by rank. */
bool trace_is_all_to_all(const char *name);

/* The passes that compare ranks: assay_trace_finish calls each once, in this order, for each takes what those before it
 * left. 0 or ASSAY_ENOMEM. */
int trace_match(side *s);        /* groups, operations, excesses (match.c) */
int trace_find_clocks(side *s);  /* data.clock: how far a rank's clock is ahead of the first one's (clocks.c) */
int trace_find_late(side *s);    /* data.late: who came last to operations (tables.c) */
int trace_find_work(side *s);    /* data.work: what each rank did in each step, against those of its role */
int trace_find_classes(side *s); /* data.kind and data.transfer: operations of a kind; transfer_goal for the replay */
int trace_what_if(side *s);      /* data.what_if: the steps, replayed without what went wrong (what_if.c) */
