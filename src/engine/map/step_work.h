/* step_work.h - a step while its records are measured: the results so far, the problems met, and the memory they take.
 *
 * This is a value: everyone who measures records has one (the step being mapped, the later steps of lookahead.h).
 *
 * Memory is granted before it is allocated. What a record needs depends only on its head (dtype, shape, strings) and
 * the measures wanted of it:
 *   held  bytes that stay until the step is mapped: results, and the lists of them that rules get
 *   work  further bytes while the record is measured
 * In the order of records, each is granted what fits the step's budget beside all that is held by then, or is refused.
 * The budget is the same at any number of ranks, and the arena has room for all that is granted, so it never refuses
 * itself. Whoever measures records out of turn starts with nothing held, and reports what they came to hold and the
 * peak. If the step has that much left in their turn, one rank would have granted them the same; if not, they are
 * measured again. */
#pragma once

#include "engine/map/map_source.h"
#include "engine/plan/demand.h"
#include "engine/reduce/partial.h"

/* Part of a step's entries: from entry `first` of one part to the one before entry `end` of the same or a later part.
 */
typedef struct assay_entry_range {
    size_t first_part, first, end_part, end; /* in the shard's lists; empty when first_part > end_part */
} assay_entry_range;

/* A record of a part, and what is wanted of it. All borrowed. */
typedef struct assay_step_record {
    const assay_part *part;
    const assay_entry *entry;
    const assay_record_demand *demand;
} assay_step_record;

/* Bytes that records were granted. */
typedef struct assay_step_charge {
    size_t held; /* until the step was mapped */
    size_t peak; /* at once at most: those and the work of a record */
} assay_step_charge;

typedef struct assay_step_work {
    const assay_map_source *source;
    const assay_step_info *step;
    size_t first_part, next_part;   /* the step's parts in the shard: from the first to the one before next_part */
    const assay_entry_range *range; /* what of the step is read; NULL: all of it */
    const int *measurer;            /* only what this rank has of the tensors is read (split_by_tensor.c); NULL: all */
    assay_partial *partial;         /* takes the problems; borrowed */
    assay_arena *arena;             /* holds the results */
    size_t budget;                  /* bytes, see above */
    assay_step_charge charge;       /* so far */
    assay_tensor_result **results;  /* [count], in the arena */
    size_t count, room;
    size_t first_result;        /* of the part being read */
    uint32_t *result_of;        /* [tensors] its place in results; valid from first_result on */
    const assay_part *unopened; /* the part of the last file that could not be opened */
    uint32_t unopened_file;
    bool refused;                        /* something needed more memory than the step has */
    struct assay_active_measure *active; /* measures.c's, kept from record to record */
    uint32_t active_room;
} assay_step_work;

/* For steps of `budget` bytes. 0 or ASSAY_ENOMEM; release either way. */
int assay_step_work_init(assay_step_work *work, const assay_map_source *source, size_t budget);
void assay_step_work_release(assay_step_work *work);
/* Makes room for a source's tensors, which only assay_step_work_result() needs. 0 or ASSAY_ENOMEM. */
int assay_step_work_enter(assay_step_work *work);

/* Begins with a step: forgets the results of the one before. work->partial is the caller's to set. 0 or ASSAY_ENOMEM.
 */
int assay_step_work_begin(assay_step_work *work, const assay_step_info *step);
/* Forgets the results and what was charged; the step stays. */
void assay_step_work_clear(assay_step_work *work);
/* The same, with a new budget from now on. */
void assay_step_work_limit(assay_step_work *work, size_t budget);

/* Charges the step for bytes that it will hold; false: refused, and nothing is charged. */
bool assay_step_work_charge(assay_step_work *work, size_t bytes);
/* Records working memory of a record, which assay_step_work_left() has granted. */
void assay_step_work_note(assay_step_work *work, size_t bytes);
/* Charges the step for records that were measured out of turn; false: it has not enough left. */
bool assay_step_work_admit(assay_step_work *work, assay_step_charge charge);
/* Bytes that the step may still hold or work with. */
static inline size_t assay_step_work_left(const assay_step_work *work)
{
    return work->budget - work->charge.held;
}

/* The result of a tensor of the part being read, made and charged for at its first record. 0, ASSAY_EBUDGET (refused)
 * or ASSAY_ENOMEM. */
int assay_step_work_result(assay_step_work *work, const assay_part *part, uint32_t tensor, assay_tensor_result **out,
                           assay_error *err);
/* Adds an empty result that was charged for. NULL without memory. */
assay_tensor_result *assay_step_work_add(assay_step_work *work, uint32_t tensor, uint32_t worker);

/* Must the records be measured again, in their turn, by the rank that has the step? Their results or problems may not
 * be those that it would come to. */
static inline bool assay_step_work_must_reread(const assay_step_work *work)
{
    return work->refused || work->unopened;
}

/* Adds a problem of a part's file; `offset` -1: of the file as a whole; ASSAY_NO_TENSOR: not of one record. A failure
 * stays in the partial's list. */
void assay_step_work_problem(assay_step_work *work, const assay_part *part, uint32_t file, uint32_t tensor, int kind,
                             int64_t offset, const char *text);
/* The kind of problem that a status of reading or measuring is. */
int assay_problem_kind_of(int status);
/* Says that the step's memory is used up. Returns ASSAY_EBUDGET. */
int assay_step_work_over_budget(assay_error *err);
/* Counts a record that could not be read, once for each rule that needs it. */
void assay_step_work_unreadable(assay_step_work *work, const assay_part *part, const assay_entry *entry);

/* Does another rank read the records of that tensor? */
static inline bool assay_step_work_leaves(const assay_step_work *work, uint32_t tensor, uint32_t worker)
{
    return work->measurer && assay_plan_measurer(work->source->wanted, tensor, worker) != *work->measurer;
}

/* The entries of a part that are read: [first, end). */
size_t assay_step_work_first(const assay_step_work *work, const assay_part *part);
size_t assay_step_work_end(const assay_step_work *work, const assay_part *part);
