/* pauses.h - steps at which a weight rightly stands still, because no gradient reached it.
 *
 * An expert that no sample was sent to, and a block that was left out at random, have no gradient at that step, or one
 * that is zero, though others have theirs. Such a pause says nothing about the optimizer. Steps at which no gradient of
 * the worker was saved say nothing about pauses, except for weights without any gradient in the trial: a running mean
 * of the weights does not move over passes behind which nothing is trained, as those that take new statistics for it.
 * No such weight pauses where one that has a gradient moves. */
#pragma once

#include <assay/rule.h>

#include <math.h>
#include <stdlib.h>

#include "gradients.h"
#include "updates.h"

/* Rows of gradients have NaN in column 0, where those of weights say what the weight did, and mean |g| in this one. */
enum { PAUSE_MAGNITUDE = 1 };

typedef struct pauses {
    const assay_trial *trial;
    const assay_series *series;
    const uint64_t *order; /* by (tensor, worker, step) */
    assay_counter *saved;  /* (worker, step) at which a gradient was saved; owned */
    assay_counter *moved;  /* (worker, step) at which a weight that has a gradient moved; owned */
    int64_t *last; /* [tensors] the last step at which any worker saved the gradient; ASSAY_NO_STEP: none; owned */
} pauses;

static inline bool is_gradient_row(assay_row row)
{
    return isnan(row.value[0]);
}

static inline bool is_move(assay_row row)
{
    return row.value[0] == MOVED || row.value[0] == CREPT;
}

static inline void pauses_release(pauses *p)
{
    assay_counter_free(p->saved);
    assay_counter_free(p->moved);
    free(p->last);
}

static inline int pauses_make(const assay_trial *trial, const assay_series *series, const uint64_t *order, pauses *p)
{
    uint32_t tensors = assay_trial_tensors(trial), tensor = ASSAY_NO_TENSOR;
    *p = (pauses){trial, series, order, assay_counter_new(), assay_counter_new(), NULL};
    p->last = malloc((tensors + (size_t)1) * sizeof *p->last);
    int status = p->saved && p->moved && p->last ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t t = 0; status == ASSAY_OK && t < tensors; t++)
        p->last[t] = ASSAY_NO_STEP;
    bool has_gradient = false;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(series); i++) {
        assay_row row = assay_series_row(series, order[i]);
        if (row.tensor != tensor)
            has_gradient = gradient_of_weight(trial, row.tensor) != ASSAY_NO_TENSOR;
        tensor = row.tensor;
        if (is_gradient_row(row)) {
            status = assay_counter_add(p->saved, row.worker, row.step, 1);
            if (tensor < tensors && row.step > p->last[tensor])
                p->last[tensor] = row.step;
        } else if (has_gradient && is_move(row)) {
            status = assay_counter_add(p->moved, row.worker, row.step, 1);
        }
    }
    return status;
}

/* Did no gradient reach the weight at a step, behind which it stood still until `next`? O(log rows). */
static inline bool pauses_after(const pauses *p, uint32_t weight, uint32_t worker, int64_t step, int64_t next)
{
    uint64_t count = assay_series_count(p->series);
    uint32_t gradient = gradient_of_weight(p->trial, weight);
    if (gradient == ASSAY_NO_TENSOR)
        return assay_counter_size(p->saved) > 0 && !updates_passes(p->saved, worker, step) &&
               !updates_passes(p->moved, worker, next);
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

/* Is there a gradient of the weight on the worker, and none on any worker from a step on? O(log rows). */
static inline bool pauses_gradient_ends(const pauses *p, uint32_t weight, uint32_t worker, int64_t step)
{
    uint64_t count = assay_series_count(p->series);
    uint32_t gradient = gradient_of_weight(p->trial, weight);
    if (gradient == ASSAY_NO_TENSOR || p->last[gradient] >= step)
        return false;
    uint64_t next = row_not_before(p->series, p->order, count, gradient, worker, step);
    if (next == 0)
        return false;
    assay_row row = assay_series_row(p->series, p->order[next - 1]);
    return row.tensor == gradient && row.worker == worker;
}

/* Did the worker save gradients, of whatever weights, at `least` steps from this one on? O(log steps). */
static inline bool pauses_gradients_go_on(const pauses *p, uint32_t worker, int64_t step, uint64_t least)
{
    return counted_not_before(p->saved, worker, INT64_MAX) - counted_not_before(p->saved, worker, step) >= least;
}
