/* budget.h - divides --memory among the step, the reference cache and everything else.
 *
 * How it works:
 *   1. The program, the index and the rows that rules keep take what they need.
 *   2. The step gets the rest, except a part reserved for the reference cache: at least a quarter of --memory, at most
 *      three quarters. That decides which tensors are refused, so it depends only on the job and the trials, as if one
 *      rank held the whole index and all rows, and is the same at any number of ranks.
 *   3. The reference cache changes no result. It gets up to a quarter of what is really free when reading begins. */
#pragma once

#include "engine/plan/plan.h"

typedef struct assay_budget {
    size_t step;    /* bytes for the tensors of a step and their results */
    size_t rows;    /* bytes of rows that rules keep, of all trials and steps, divided by the ranks */
    uint64_t index; /* bytes that the index of all trials takes, on all ranks together */
} assay_budget;

/* Call it while every index entry is on the rank that read it: before assay_plan_redistribute(). Collective. */
int assay_budget_deal_out(assay_comm *comm, const assay_plan *plan, const assay_sources *sources, size_t memory,
                          assay_budget *out);

/* Bytes that the reference cache may use, given the memory resident now; `more` is what the caller will use besides.
 * Not collective. */
size_t assay_budget_keep(const assay_budget *budget, size_t memory, size_t more);

/* Warns on rank 0 if the ranks hold so much that a step may lack memory. Collective. */
int assay_budget_warn(assay_comm *comm, const assay_budget *budget, size_t memory);
