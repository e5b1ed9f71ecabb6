/* sketch.h - several sums of one tensor that is read once. Inside hook only. */
#pragma once

#include <assay/hook.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOOK_SKETCH_ROWS, HOOK_SKETCH_COLUMNS, HOOK_SKETCH_FLAT };

/* Sums of rows in groups, and squares, as assay_hook_sketch() has them: `out` has room for two times groups x columns
 * numbers. COLUMNS: of each row sums of its columns in groups, with the signs that rows have, and squares, each
 * [groups][rows] (float32; 16 bits, of up to 8192 columns). FLAT: each element is a row. There are as many groups as
 * `groups` says, or no sums. */
typedef struct hook_sketch_part {
    int kind, groups;
    double *out;
} hook_sketch_part;

/* At most two parts. False: not of a type that has them, too large, or without memory. */
bool hook_sketch_together(const assay_hook_rows *of, const hook_sketch_part *parts, size_t count);
/* assay_hook_sketch() of rows that are normalised before, by mean and variance + e, or below 0 by the mean square - e. */
int hook_sketch_normalised(const assay_hook_rows *of, int groups, double e, double *out);
