/* sums.h - which tensors sum up to which (LawViolated, sums.c). */
#pragma once

#include "laws/law.h"

enum { SUMS_FIRST = 4 /* steps at which terms have to fit */ };

/* A tensor at a step. */
typedef struct sums_row {
    int mode;
    uint32_t worker, tensor;
    int64_t step;
    double sum, bound; /* with signs; and what its rounding may do to that */
    double rows, columns;
    bool input;
} sums_row;

typedef struct sums_terms {
    uint32_t tensor, of[2]; /* the second is UINT32_MAX: a copy */
} sums_terms;

/* Orders rows by mode, worker, step and tensor. */
int sums_compare(const void *a, const void *b);
/* How many of the rows, in that order, are of the first one's step. */
uint64_t sums_group(const sums_row *rows, uint64_t count);
/* Of n rows of a step, the tensor's; NULL: there is none. */
const sums_row *sums_at(const sums_row *rows, uint64_t n, uint32_t tensor);
/* |x - a - b| and what rounding may make of it; b NULL: x is a copy of a. */
double sums_apart(const sums_row *x, const sums_row *a, const sums_row *b);
double sums_bound(const sums_row *x, const sums_row *a, const sums_row *b);
/* The terms of all inputs, by the first steps of the first worker; `out` has room for as many as there are rows of its first
 * step. ASSAY_ENOMEM. */
int sums_find(const sums_row *rows, uint64_t count, sums_terms *out, uint64_t *found);
