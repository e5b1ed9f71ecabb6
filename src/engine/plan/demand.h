/* demand.h - what all rules together want of a tensor at the step of one worker, and what taking it costs.
 *
 * It is the same for all tensors of a class (plan.h), so it is found once a part and class. */
#ifndef ASSAY_ENGINE_PLAN_DEMAND_H
#define ASSAY_ENGINE_PLAN_DEMAND_H

#include "engine/plan/plan.h"

enum {
    ASSAY_COST_UNIT = 16,        /* the cost of a byte that is read and gone through for the statistics */
    ASSAY_COST_OF_RECORD = 4096, /* in such bytes; measured: a small record costs about as much as 4 KiB of a large one */
    ASSAY_COST_OF_FILE = 65536
};

typedef struct assay_wanted {
    uint64_t stamp;      /* of the part it was found for */
    uint32_t kinds;      /* bit 1 << kind */
    bool statistics;
    uint32_t byte_cost;  /* of a raw record, in parts of ASSAY_COST_UNIT */
    uint32_t measures;
    uint32_t *measure;   /* engine's numbers; room for all */
} assay_wanted;

typedef struct assay_wants {
    const assay_plan *plan;
    const assay_source_plan *source;
    assay_wanted *of; /* [classes] */
    uint64_t stamp;   /* of the part under way */
} assay_wants;

/* Begins with a source of the plan, which must outlive it. Returns 0 or ASSAY_ENOMEM; release either way. Not collective. */
int assay_wants_init(assay_wants *w, const assay_plan *plan, uint32_t source);
void assay_wants_release(assay_wants *w);

/* Begins with another part. Not collective. */
static inline void assay_wants_next(assay_wants *w)
{
    w->stamp++;
}

/* What is wanted of a tensor of the part under way. Valid until the next part. Not collective. */
const assay_wanted *assay_wants_of(assay_wants *w, const assay_part *part, int mode, uint32_t tensor);

/* What a record costs, in bytes as above, the opening of its file apart; 0: it is not wanted. Not collective. */
static inline uint64_t assay_record_cost(const assay_wanted *wanted, const assay_entry *entry)
{
    return wanted->kinds >> entry->kind & 1 ? entry->length * wanted->byte_cost / ASSAY_COST_UNIT + ASSAY_COST_OF_RECORD : 0;
}

#endif
