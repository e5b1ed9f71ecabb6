/* names.h - the names a trial uses: workers and reductions. */
#pragma once

#include "base/dict.h"

/* Saved reductions. A tensor entry's kind is ASSAY_RAW or one of these: [abs_]min .. l2. X(enum, text) */
#define ASSAY_REDUCTION_LIST(X)                                                                                        \
    X(MIN, "min")                                                                                                      \
    X(MAX, "max")                                                                                                      \
    X(MEAN, "mean") X(STD, "std") X(VARIANCE, "variance") X(SUM, "sum") X(PROD, "prod") X(L1, "l1") X(L2, "l2")

/* A worker's name in file names against the one people use: "_job-worker_replica-0" is "/job:worker/replica:0".
 * `out` has room for length + 1. */
void assay_worker_display_name(const char *file_form, size_t length, char *out);
/* Natural order: runs of digits compare as numbers ("worker_2" before "worker_10"), then byte order. */
int assay_worker_compare(const char *a, const char *b);
