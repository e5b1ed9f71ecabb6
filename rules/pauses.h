/* pauses.h - steps at which a weight rightly stands still, because no gradient reached it.
 *
 * An expert that no sample was sent to, and a block that was left out at random, have no gradient at that step, or one
 * that is zero, though others have theirs. Such a pause says nothing about the optimizer. Steps at which no gradient of
 * the worker was saved say nothing about pauses, but for weights without any gradient in the trial: a running mean of
 * the weights does not move over passes behind which nothing is trained, as those that take new statistics for it. */
#ifndef ASSAY_RULES_PAUSES_H
#define ASSAY_RULES_PAUSES_H

#include <assay/rule.h>

#include <math.h>

#include "gradients.h"
#include "updates.h"

/* Rows of gradients have NaN in column 0, where those of weights say what the weight did, and mean |g| in this one. */
enum { PAUSE_MAGNITUDE = 1 };

typedef struct pauses {
    const assay_trial *trial;
    const assay_series *series;
    const uint64_t *order; /* by (tensor, worker, step) */
    assay_counter *saved;  /* (worker, step) at which a gradient was saved; owned */
} pauses;

static inline bool is_gradient_row(assay_row row)
{
    return isnan(row.value[0]);
}

static inline void pauses_release(pauses *p)
{
    assay_counter_free(p->saved);
}

static inline int pauses_make(const assay_trial *trial, const assay_series *series, const uint64_t *order, pauses *p)
{
    *p = (pauses){trial, series, order, assay_counter_new()};
    int status = p->saved ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(series); i++) {
        assay_row row = assay_series_row(series, i);
        if (is_gradient_row(row))
            status = assay_counter_add(p->saved, row.worker, row.step, 1);
    }
    return status;
}

/* Did no gradient reach the weight at a step? O(log rows). */
static inline bool pauses_after(const pauses *p, uint32_t weight, uint32_t worker, int64_t step)
{
    uint64_t count = assay_series_count(p->series);
    uint32_t gradient = gradient_of_weight(p->trial, weight);
    if (gradient == ASSAY_NO_TENSOR)
        return assay_counter_size(p->saved) > 0 && !updates_passes(p->saved, worker, step);
    if (!updates_passes(p->saved, worker, step))
        return false;
    for (uint64_t i = row_not_before(p->series, p->order, count, gradient, worker, step); i < count; i++) {
        assay_row row = assay_series_row(p->series, p->order[i]);
        if (row.tensor != gradient || row.worker != worker || row.step != step)
            break;
        if (is_gradient_row(row))
            return row.value[PAUSE_MAGNITUDE] == 0;
    }
    return true;
}

/* Is there a gradient of the weight on the worker, and none from a step on? O(log rows). */
static inline bool pauses_gradient_ends(const pauses *p, uint32_t weight, uint32_t worker, int64_t step)
{
    uint64_t count = assay_series_count(p->series);
    uint32_t gradient = gradient_of_weight(p->trial, weight);
    if (gradient == ASSAY_NO_TENSOR)
        return false;
    uint64_t next = row_not_before(p->series, p->order, count, gradient, worker, step);
    for (int k = 0; k < 2; k++) { /* the row behind is another tensor's or worker's, the one before is not */
        bool inside = k == 0 ? next < count : next > 0;
        assay_row row = inside ? assay_series_row(p->series, p->order[k == 0 ? next : next - 1]) : (assay_row){0};
        if ((inside && row.tensor == gradient && row.worker == worker) != (k == 1))
            return false;
    }
    return true;
}

#endif
