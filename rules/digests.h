/* digests.h - what recorded digests say of a tensor since the saved step before: that it changed, or that it did not.
 */
#pragma once

#include <assay/rule.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "updates.h"

enum { DIGESTS_WIDTH_MOST = 4 };

/* Does any row have a digest in its last column? */
static inline bool digests_any(const assay_series *series, uint32_t width)
{
    for (uint64_t i = 0; i < assay_series_count(series); i++)
        if (!isnan(assay_series_row(series, i).value[width - 1]))
            return true;
    return false;
}

/* The same rows once more; in those that have a digest, the first column gets MOVED or STOOD_STILL against the row of
 * the same tensor and worker before, where that has one. `order` is assay_series_by_tensor(). The caller frees it; NULL
 * without memory. */
static inline assay_series *digests_compared(const assay_series *series, const uint64_t *order, uint32_t width)
{
    uint64_t count = assay_series_count(series);
    double *moved = malloc((count + 1) * sizeof *moved);
    assay_series *made = moved ? assay_series_new(width) : NULL;
    assay_row before = {.tensor = ASSAY_NO_TENSOR};
    int status = made ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; made && i < count; i++) {
        assay_row row = assay_series_row(series, order[i]);
        bool pair = row.tensor == before.tensor && row.worker == before.worker && !isnan(row.value[width - 1]) &&
                    !isnan(before.value[width - 1]);
        bool same = pair && row.value[width - 1] == before.value[width - 1];
        moved[order[i]] = pair ? (same ? STOOD_STILL : MOVED) : row.value[0];
        before = row;
    }
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        double value[DIGESTS_WIDTH_MOST];
        assay_row row = assay_series_row(series, i);
        memcpy(value, row.value, width * sizeof *value);
        value[0] = moved[i];
        status = assay_series_add(made, row.step, row.tensor, row.worker, value);
    }
    free(moved);
    if (status != ASSAY_OK) {
        assay_series_free(made);
        made = NULL;
    }
    return made;
}
