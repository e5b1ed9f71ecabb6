/* budget.h - deals out --memory: what a step may need, what is kept for comparisons, beside the program, the index and
 * the rows that rules keep.
 *
 * What a step may need decides which tensors are refused, so it follows from the job and the trials alone: it is the
 * same at any number of ranks, as if one rank held the whole index and all rows. What is kept for comparisons changes
 * no result and goes by what the process holds. */
#ifndef ASSAY_ENGINE_PLAN_BUDGET_H
#define ASSAY_ENGINE_PLAN_BUDGET_H

#include "engine/plan/plan.h"

typedef struct assay_budget {
    size_t step;    /* bytes for the tensors of a step and their results */
    size_t rows;    /* bytes of rows that rules keep, of all trials and steps, divided by the ranks */
    uint64_t index; /* bytes that the index of all trials takes, on all ranks together */
} assay_budget;

/* Call it while every index entry is on the rank that read it: before assay_plan_redistribute(). Collective. */
int assay_budget_deal_out(assay_comm *comm, const assay_plan *plan, const assay_sources *sources, size_t memory,
                          assay_budget *out);

/* What may be kept for comparisons, by what is resident now; `more` is what the caller will take beside it. Not
 * collective. */
size_t assay_budget_keep(const assay_budget *budget, size_t memory, size_t more);

/* Says on rank 0 when what the ranks hold leaves less than what a step may need. Collective. */
int assay_budget_warn(assay_comm *comm, const assay_budget *budget, size_t memory);

#endif
