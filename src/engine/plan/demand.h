/* demand.h - what all rules together want of a tensor at the step of one worker, and what that costs.
 *
 * It is the same for all tensors of a class (plan.h), and for steps in a row: it is computed once for these. */
#pragma once

#include "engine/plan/plan.h"

enum {
    ASSAY_COST_UNIT = 16, /* the cost of a byte that is read and gone through for the statistics */
    ASSAY_COST_OF_RECORD =
        4096, /* in such bytes; measured: a small record costs about as much as 4 KiB of a large one */
    ASSAY_COST_OF_FILE = 65536,
    ASSAY_RESULT_UNIT = 64
};

typedef struct assay_record_demand {
    int64_t from, to; /* steps at which it is the same: [from, to) */
    uint32_t worker;  /* of the parts that it was found for; ASSAY_ALL_WORKERS: it is the same for all */
    uint32_t kinds;   /* bit 1 << kind */
    bool statistics;
    uint32_t byte_cost; /* of a raw record, in parts of ASSAY_COST_UNIT */
    struct {
        uint32_t bytes; /* whatever the record */
        uint32_t parts; /* of its bytes, in parts of ASSAY_RESULT_UNIT; */
        uint64_t small; /* of records of at most so many bytes as much again as they have */
    } result;           /* what the results take when they are packed, about */
    uint32_t measures;
    uint32_t *measure; /* engine's numbers; room for all */
} assay_record_demand;

typedef struct assay_demand {
    const assay_plan *plan;
    const assay_source_plan *source;
    assay_spreads spreads;
    uint32_t ways;           /* in which they take a step, or not */
    assay_record_demand *of; /* [ASSAY_MODES][2][classes][ways] of whole tensors, and of pieces of them */
    uint32_t *measure;       /* of all of these */
} assay_demand;

/* Begins with a source of the plan, which must outlive it. Returns 0 or ASSAY_ENOMEM; release either way. */
int assay_demand_init(assay_demand *w, const assay_plan *plan, uint32_t source);
void assay_demand_release(assay_demand *w);

/* What is wanted of the tensor of an entry of a part. Valid until another part is asked about. */
const assay_record_demand *assay_demand_of(assay_demand *w, const assay_part *part, int mode, const assay_entry *entry);

/* What a record costs, in bytes as above, the opening of its file apart; 0: it is not wanted. */
static inline uint64_t assay_record_cost(const assay_record_demand *wanted, const assay_entry *entry)
{
    return wanted->kinds >> entry->kind & 1 ? entry->length * wanted->byte_cost / ASSAY_COST_UNIT + ASSAY_COST_OF_RECORD
                                            : 0;
}

/* About how many bytes the packed results of a record take that is wanted. A rank that finds no room for results
 * measures again, so this decides only whether it is tried to send them. */
static inline uint64_t assay_record_results(const assay_record_demand *wanted, const assay_entry *entry)
{
    return wanted->result.bytes + entry->length / ASSAY_RESULT_UNIT * wanted->result.parts +
           (entry->length <= wanted->result.small ? 2 * entry->length : 0);
}
