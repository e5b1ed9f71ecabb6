/* figures.h - how two tensors of one shape differ, element by element, as they pass by. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct assay_diff_tolerance { /* close when |a - b| <= absolute + relative * |b| */
    double absolute, relative;
} assay_diff_tolerance;

/* Elements count by their bytes where the dtypes are the same: -0.0 is not 0.0, and one NaN need not be another. Where
 * they are not, by their values. */
typedef struct assay_diff_figures {
    uint64_t elements;
    uint64_t unequal; /* elements that are not equal */
    uint64_t apart;   /* elements that are not close; a NaN is close to a NaN, an infinity to the same one */
    uint64_t first;   /* the first unequal one, flat in C order; UINT64_MAX: none */
    double first_a, first_b;
    double largest;                   /* largest |a - b| of finite ones */
    uint64_t largest_at;              /* UINT64_MAX: none */
    double relative;                  /* largest |a - b| / max(|a|, |b|) of finite ones */
    double dot, squares_a, squares_b; /* sums of a b, a a, b b, over finite ones */
} assay_diff_figures;

enum {
    ASSAY_DIFF_BLOCK = 1024 /* elements: sums are taken block by block, so that no cut of the tensors changes them */
};

typedef struct assay_differ {
    assay_diff_figures figures;
    assay_diff_tolerance tolerance;
    int dtype_a, dtype_b;
    size_t filled; /* of the open block */
    bool unequal;  /* in the open block */
    double a[ASSAY_DIFF_BLOCK], b[ASSAY_DIFF_BLOCK];
    uint8_t apart[ASSAY_DIFF_BLOCK]; /* of the open block: elements whose bytes differ */
} assay_differ;

/* Begins with tensors of these dtypes. */
void assay_differ_init(assay_differ *d, int dtype_a, int dtype_b, const assay_diff_tolerance *tolerance);
/* The next `n` elements of both. */
void assay_differ_feed(assay_differ *d, const uint8_t *a, const uint8_t *b, uint64_t n);
/* After the last ones: d->figures are whole. */
void assay_differ_end(assay_differ *d);
/* The cosine of the angle between both, over finite elements; 1 where both are zero, 0 where one is. */
double assay_diff_cosine(const assay_diff_figures *f);
