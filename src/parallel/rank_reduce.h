/* rank_reduce.h - joins values of the ranks, in rank order, on rank 0: log2(ranks) messages per rank. */
#pragma once

#include "parallel/comm.h"

typedef struct assay_joiner {
    int (*pack)(const void *mine, assay_buf *out);
    /* Joins what a later rank packed behind `mine`. */
    int (*join)(void *mine, assay_cursor *later, assay_error *err);
} assay_joiner;

/* Collective. `status` is how this rank fared before: a rank that failed takes part all the same, and the failure is
 * everyone's afterwards. On success rank 0's `mine` holds everything. */
int assay_rank_reduce(assay_comm *comm, const assay_joiner *joiner, void *mine, int status, assay_error *err);
