/* digests.h - what recorded digests say of a tensor since the saved step before: that it changed, or that it did not; and
 * that it crept, where its least and largest element and its mean, recorded beside them, moved by no more than rounding. */
#pragma once

#include <assay/rule.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "updates.h"

/* The last columns of a row; NaN: not recorded. */
enum {
    DIGESTS_LEAST = -4,
    DIGESTS_LARGEST = -3,
    DIGESTS_MEAN = -2,
    DIGESTS_DIGEST = -1,
    DIGESTS_COLUMNS = 4,
    DIGESTS_WIDTH_MOST = 7
};

enum { DIGESTS_KINDS = 1u << ASSAY_DIGEST | 1u << ASSAY_MIN | 1u << ASSAY_MAX | 1u << ASSAY_MEAN };

/* Sets these columns of a row of so many, from an item of which no values were recorded; NULL: from none. */
static inline void digests_set(const assay_tensor_view *item, double *row, int width)
{
    static const int kinds[] = {ASSAY_MIN, ASSAY_MAX, ASSAY_MEAN, ASSAY_DIGEST};
    const bool recorded = item && item->dtype < 0 && item->reductions >> ASSAY_DIGEST & 1;
    for (int i = 0; i < DIGESTS_COLUMNS; i++)
        row[width + DIGESTS_LEAST + i] =
            recorded && item->reductions >> kinds[i] & 1 ? item->reduction[kinds[i]] : (double)NAN;
}

/* What a tensor did that changed. Weights that are clipped have one range, whatever they do: their mean tells. */
static inline double digests_movement(const double *before, const double *row, int width)
{
    const double *a = before + width, *b = row + width;
    const double rounding = ROUNDING * 0x1p-23 * fmax(fabs(b[DIGESTS_LEAST]), fabs(b[DIGESTS_LARGEST]));
    const bool crept = fabs(a[DIGESTS_LEAST] - b[DIGESTS_LEAST]) <= rounding &&
                       fabs(a[DIGESTS_LARGEST] - b[DIGESTS_LARGEST]) <= rounding &&
                       !(fabs(a[DIGESTS_MEAN] - b[DIGESTS_MEAN]) > rounding);
    return crept ? CREPT : MOVED;
}

/* About how far it moved, in parts of its largest element: its range and its mean tell. */
static inline double digests_size(const double *before, const double *row, int width)
{
    const double *a = before + width, *b = row + width;
    const double far = fmax(
                     fmax(fabs(a[DIGESTS_LEAST] - b[DIGESTS_LEAST]), fabs(a[DIGESTS_LARGEST] - b[DIGESTS_LARGEST])),
                     fabs(a[DIGESTS_MEAN] - b[DIGESTS_MEAN])),
                 scale = fmax(fabs(b[DIGESTS_LEAST]), fabs(b[DIGESTS_LARGEST]));
    return scale > 0 ? far / scale : (double)NAN;
}

/* Does any row have a digest in its last column? */
static inline bool digests_any(const assay_series *series, uint32_t width)
{
    for (uint64_t i = 0; i < assay_series_count(series); i++)
        if (!isnan(assay_series_row(series, i).value[width - 1]))
            return true;
    return false;
}

/* The same rows once more; in those that have a digest, the first column gets MOVED or STOOD_STILL against the row of
 * the same tensor and worker before, where that has one, and the column before those of the digest the size of the movement. `order` is assay_series_by_tensor(). The caller frees it; NULL
 * without memory. */
static inline assay_series *digests_compared(const assay_series *series, const uint64_t *order, uint32_t width)
{
    uint64_t count = assay_series_count(series);
    double *moved = malloc(2 * (count + 1) * sizeof *moved), *size = moved ? moved + count + 1 : NULL;
    assay_series *made = moved ? assay_series_new(width) : NULL;
    assay_row before = {.tensor = ASSAY_NO_TENSOR};
    int status = made ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; made && i < count; i++) {
        assay_row row = assay_series_row(series, order[i]);
        bool pair = row.tensor == before.tensor && row.worker == before.worker && !isnan(row.value[width - 1]) &&
                    !isnan(before.value[width - 1]);
        bool same = pair && row.value[width - 1] == before.value[width - 1];
        moved[order[i]] = !pair  ? row.value[0]
                          : same ? STOOD_STILL
                                 : digests_movement(before.value, row.value, (int)width);
        size[order[i]] = pair ? digests_size(before.value, row.value, (int)width) : (double)NAN;
        before = row;
    }
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        double value[DIGESTS_WIDTH_MOST];
        assay_row row = assay_series_row(series, i);
        memcpy(value, row.value, width * sizeof *value);
        value[0] = moved[i];
        if (!isnan(size[i]))
            value[width - DIGESTS_COLUMNS - 1] = size[i];
        status = assay_series_add(made, row.step, row.tensor, row.worker, value);
    }
    free(moved);
    if (status != ASSAY_OK) {
        assay_series_free(made);
        made = NULL;
    }
    return made;
}
