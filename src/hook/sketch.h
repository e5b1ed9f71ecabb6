/* sketch.h - several sums of one tensor that is read once. Inside hook only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOOK_SKETCH_ROWS, HOOK_SKETCH_COLUMNS, HOOK_SKETCH_FLAT };

/* Sums of rows in groups, and squares, as assay_hook_sketch() has them: `out` has room for two times groups x columns
 * numbers. COLUMNS: as assay_hook_sketch_columns(). FLAT: each element is a row. There are as many groups as `groups`
 * says, or no sums. */
typedef struct hook_sketch_part {
    int kind, groups;
    double *out;
} hook_sketch_part;

/* At most two parts. False: not of a type that has them, too large, or without memory. */
bool hook_sketch_together(int dtype, const void *x, uint64_t rows, uint64_t columns, const hook_sketch_part *parts,
                          size_t count);
