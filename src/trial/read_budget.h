/* read_budget.h - how many bytes may pass by when the records of a unit are read.
 *
 * Reading takes time by the bytes that it makes of a record, and few bytes of an index can make very many: records that
 * lie at one place, views that repeat their elements, deflated zeros. So a unit has a budget of work, which follows
 * from the bytes that its records lie in. Records that go beyond it are left out, and a problem says so.
 *
 * Work is counted in bytes and not in seconds: a report must not depend on the machine or on the number of ranks. The
 * index of a unit is read by one rank, which sees all of its records, in the same order every time. */
#pragma once

#include "trial/index.h"

enum {
    ASSAY_READ_BUDGET_A_BYTE = 2048, /* of what lies in files; deflate makes at most 1032 of one, Zstandard far more */
    ASSAY_READ_BUDGET_LEAST = 64 << 20, /* of any unit: small tensors may repeat what they like */
    ASSAY_READ_BUDGET_ROW = 64          /* a row of an index counts as so many bytes */
};

/* The budget of a unit whose records lie in so many bytes, each counted once. */
uint64_t assay_read_budget(uint64_t bytes, uint64_t rows);

/* Looks at the parts behind the first `before`. Where the records of a part have more bytes than it is granted, leaves
 * out the last ones. Bytes beyond a file's end do not count. */
void assay_shard_limit_work(assay_shard *shard, size_t before, assay_store *store, const assay_catalog *catalog,
                            assay_problems *problems);
