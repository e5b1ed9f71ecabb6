/* plan.h - what is read, for which rules, and by which rank.
 *
 * A use is one slot of one rule instance. Tensors that the same uses want form a class: the class says which measures
 * are taken of its tensors. Steps are cut into chunks by the cost of reading them. Chunks depend only on the trial,
 * never on the number of ranks, and results are combined over chunk numbers: that is why the report does not depend on
 * ranks. */
#pragma once

#include "engine/source/options.h"
#include "engine/source/source.h"

typedef struct assay_use {
    uint32_t instance, slot;
} assay_use;

/* A use on one source: where it applies. */
typedef struct assay_use_scope {
    int64_t from, to; /* global steps [from, to) */
    uint32_t modes;   /* bit 1 << mode */
    uint32_t kinds;   /* bit 1 << kind */
    uint32_t worker;  /* only this one, or ASSAY_ALL_WORKERS */
    bool nowhere; /* the instance failed, its worker is not in the trial, or one alone is and workers are compared */
    const assay_trial *spread; /* only some steps of this trial, at even distances in their mode; NULL: all */
    uint64_t most;             /* how many of each mode */
} assay_use_scope;

typedef struct assay_use_class {
    uint32_t *use; /* owned, ascending */
    uint32_t uses;
    uint32_t lists;    /* of its uses, those that are given a list of their own (same_use) */
    uint32_t *measure; /* owned, engine's numbers, each once */
    uint32_t *place;   /* owned, [plan->measure_count]: 1 + where a measure is in the list, 0: nowhere */
    uint32_t measures;
    uint64_t hash;
} assay_use_class;

typedef struct assay_source_plan {
    uint32_t *tensor_class; /* [tensors]; class 0 is wanted by nobody */
    assay_use_class *classes;
    uint32_t class_count, class_room;
    assay_use_scope *scope;       /* [plan->use_count] */
    uint32_t *same_use;           /* [plan->use_count] the first use that takes the same tensors at every step */
    uint64_t first_chunk, chunks; /* in plan->chunks */
    int32_t *rank_of;     /* with plan->by_tensor: [workers * rank_stride + tensors] the rank that measures a tensor */
    uint32_t rank_stride; /* the number of tensors; 0: a tensor of all workers has one rank */
    uint8_t *looks_back;  /* [tensors] 1 where a measure refers to earlier steps; NULL: nowhere */
    uint32_t back;        /* how many saved steps at most */
    int64_t window;       /* how many mode steps at most */
} assay_source_plan;

typedef struct assay_chunk {
    uint32_t source;
    uint64_t first_step, steps; /* positions in the source's steps */
    uint64_t bytes, records, cost;
    uint64_t results;            /* bytes that the packed results take, about (assay_record_results) */
    uint64_t last_cost, largest; /* of its last step: the cost, and that of the dearest record */
    bool done;                   /* its result is in the checkpoint that the run continues from */
} assay_chunk;

#define ASSAY_NO_CHUNK UINT64_MAX

/* How the last step of a chunk is shared: its records, in the order of parts and entries, go to the ranks in theirs. */
typedef struct assay_share {
    uint64_t chunk;
    int first, last; /* ranks; the first has the chunk, the others help. Equal: the step is not shared */
    double begin, stretch;
} assay_share;

/* Two trials that a rule compares: the other one's entries at the own chunks' steps. */
typedef struct assay_pair {
    uint32_t source, other;
    uint32_t *tensor; /* tensor id of `source` -> of `other`, ASSAY_NO_ID */
    assay_shard shard;
} assay_pair;

typedef struct assay_plan {
    const assay_job *job;
    uint32_t instances;
    assay_use *uses;
    uint32_t use_count;
    uint32_t *first_use;     /* [instances + 1] */
    assay_measure *measures; /* different ones */
    uint32_t measure_count;
    uint32_t **measure_number;  /* [instances]: the rule's number -> the engine's */
    assay_source_plan *sources; /* [job trials] */
    uint32_t source_count;
    assay_chunk *chunks; /* by source, then step */
    uint64_t chunk_count;
    bool by_step;         /* one chunk a step, however little it costs */
    uint64_t *rank_chunk; /* [ranks + 1]: rank r has chunks [rank_chunk[r], rank_chunk[r + 1]) */
    uint64_t *helps;      /* [ranks]: the chunk of a lower rank whose last step rank r helps with, or ASSAY_NO_CHUNK */
    bool moves;           /* steps may move to ranks that are done sooner (engine/steal.h) */
    bool by_tensor;       /* each rank measures its own tensors at all steps (split_by_tensor.c); nobody helps */
    double excess_by_tensor; /* then: what the busiest rank has to measure beyond its share, as a part of it */
    assay_pair *pairs;
    uint32_t pair_count;
} assay_plan;

/* Selects tensors, unites measures, cuts and deals out the chunks. Collective; the plan is the same on every rank. */
int assay_plan_make(assay_comm *comm, const assay_job *job, assay_sources *sources, const assay_engine_options *options,
                    assay_plan *out, assay_error *err);
void assay_plan_release(assay_plan *plan);

/* Sends every index entry to the rank that has its chunk and to those that help with its step, with what look-back and
 * comparisons need. Afterwards each source's shard holds the parts of this rank's steps and, marked `before`, those
 * ahead of them. Collective. */
int assay_plan_redistribute(assay_comm *comm, assay_plan *plan, assay_sources *sources, assay_error *err);

/* Packs the index entries of some chunks of one source, all of them this rank's, with what look-back needs; a rank that
 * is done with its own chunks unpacks them in the place of what it had of the source. Not collective. 0, ASSAY_ENOMEM,
 * or what assay_shard_unpack() says. */
int assay_plan_pack_steps(const assay_plan *plan, const assay_sources *sources, uint64_t first_chunk,
                          uint64_t end_chunk, assay_buf *out);
int assay_plan_unpack_steps(assay_shard *shard, const assay_buf *bytes, assay_error *err);

/* Does a use that takes evenly spaced steps take this one? O(log steps). */
bool assay_scope_spreads_to(const assay_use_scope *s, int64_t step, int mode);

/* The different choices of evenly spaced steps that uses of a source make. Steps of a mode that the same of them take, in
 * the same scopes, are wanted by the same uses. */
enum { ASSAY_SPREADS = 2, ASSAY_SPREAD_WAYS = 1 << ASSAY_SPREADS };
typedef struct assay_spreads {
    const assay_trial *trial;
    uint64_t most[ASSAY_SPREADS], stride[ASSAY_SPREADS][ASSAY_MODES];
    uint32_t count;
    bool more; /* there are more than these */
    /* the step that was asked about last: */
    uint64_t position;
    int64_t step;
    int mode; /* -1: none */
    uint32_t taken;
} assay_spreads;
void assay_spreads_init(assay_spreads *s, const assay_plan *plan, const assay_source_plan *source);
/* Which of them take a step, a bit each; fastest for steps in order. */
uint32_t assay_spreads_taken(assay_spreads *s, int64_t step, int mode);

/* Does the use want a record of that kind at that step of that worker? */
static inline bool assay_scope_wants(const assay_use_scope *s, int64_t step, int mode, uint32_t worker, int kind)
{
    return !s->nowhere && (s->kinds >> kind & 1) && (s->modes >> mode & 1) && step >= s->from && step < s->to &&
           (s->worker == ASSAY_ALL_WORKERS || s->worker == worker) &&
           (!s->spread || assay_scope_spreads_to(s, step, mode));
}

/* Are the tensors of a use counted together, whoever has them? Where workers have copies, it takes one of them. */
bool assay_use_pools(const assay_plan *plan, uint32_t use);

/* The rank that has a chunk. O(log ranks). */
int assay_plan_owner(const assay_plan *plan, int ranks, uint64_t chunk);
/* The chunk of a source that holds the step at a position. O(log chunks). */
uint64_t assay_plan_chunk_of(const assay_plan *plan, uint32_t source, uint64_t position);

/* select.c and plan.c (which calls partition.c): the two halves of assay_plan_make. Selecting is not collective,
 * cutting is. */
int assay_plan_select(assay_plan *plan, assay_sources *sources, const assay_engine_options *options,
                      bool name_problems);

/* Deals the chunks out to the ranks by their cost; those that are done cost nothing, and neighbours among them go to
 * one rank. Returns 0 or ASSAY_ENOMEM. Not collective: the same on every rank. */
int assay_plan_partition(assay_plan *plan, int ranks);

/* Divides the tensors among the ranks if that is better than dividing the steps, for ranks of `memory` bytes:
 * split_by_tensor.c. To be called while every index entry is on the rank that read it. Collective; 0 or ASSAY_ENOMEM or
 * ASSAY_EMPI. */
int assay_plan_divide_tensors(assay_comm *comm, assay_plan *plan, const assay_sources *sources, size_t memory,
                              assay_error *err);
/* The rank that measures a tensor of a worker, with plan->by_tensor. */
static inline int assay_plan_measurer(const assay_source_plan *s, uint32_t tensor, uint32_t worker)
{
    return s->rank_of[(size_t)worker * s->rank_stride + tensor];
}

/* How the last step of a chunk is shared. O(chunks). Not collective. */
assay_share assay_plan_share(const assay_plan *plan, int ranks, uint64_t chunk);
/* The rank that measures a record whose middle has this cost, counted from the beginning of the step. Not collective.
 */
int assay_share_rank(const assay_share *share, double middle);
/* How many steps are shared. Not collective. */
uint64_t assay_plan_steps_shared(const assay_plan *plan, int ranks);

/* The cost of the busiest of `ranks` ranks over the mean, minus 1, from the cost of the chunks and, for a shared step,
 * of its most expensive record. Not collective. */
double assay_plan_imbalance(const assay_plan *plan, int ranks);
