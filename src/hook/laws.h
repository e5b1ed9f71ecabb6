/* laws.h - what becomes a record of a law of computation, of tensors that are at hand. Inside hook only. */
#pragma once

#include <assay/hook.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HOOK_LAW_GROUPS = 8,
    HOOK_LAW_CELLS = HOOK_LAW_GROUPS * HOOK_LAW_GROUPS,
    HOOK_LAW_COLUMN_GROUPS = 4, /* of the sums of a row that are kept for its gradient */
    HOOK_LAW_NUMBERS = 16 + 2 * (1 + 3 * HOOK_LAW_CELLS),
};

typedef struct hook_law_record {
    size_t count;
    float number[HOOK_LAW_NUMBERS];
} hook_law_record;

/* What the gradient of a parameter has to be: of each cell and place of a kernel the sum, the squares that rounding goes
 * by, and how large the square was on the way. */
typedef struct hook_law_expected {
    uint64_t products; /* that are in each number; 0: nothing is known */
    int dtypes[2];     /* of x and dy */
    int groups, tiles;
    size_t places, room; /* room: numbers that sums can hold */
    double *sums;        /* owned */
} hook_law_expected;

static inline int hook_law_column_groups(uint64_t columns)
{
    return columns < HOOK_LAW_COLUMN_GROUPS ? (int)columns : HOOK_LAW_COLUMN_GROUPS;
}

/* The weight [outputs][inputs] in `tiles` groups: `out` has room for two times tiles x inputs numbers. */
bool hook_law_sum_weight(const assay_hook_law *law, double *out);
/* y = x Wt + b. of_columns: NULL, or gets sums of the columns of x, hook_law_column_groups() of them. False: there is no such
 * record; so below. */
bool hook_law_linear(const assay_hook_law *law, const double *of_weight, double *of_columns, hook_law_record *r);
bool hook_law_norm(const assay_hook_law *law, hook_law_record *r);
/* Adds what one more pass gives to a gradient: [3][cells] sums, which are changed. There is room for them. Each pass is
 * rounded before it is added; sums on the way are of float32, in units of what the output rounds. */
void hook_law_expect(hook_law_expected *e, const int dtypes[2], uint64_t products, double *sums, size_t cells);
/* The gradient `weight` [outputs][inputs], or of a bias if there are no inputs, by its rows in as many groups. */
bool hook_law_gradient(const assay_hook_law *law, const double *of_rows, const hook_law_expected *e,
                       hook_law_record *r);
/* assay_hook_sketch() of tensor i: number k of a cell is at out + k stride + the cell. */
void hook_law_sum_columns(int form, const assay_hook_columns *of, size_t i, size_t stride, double *out);
