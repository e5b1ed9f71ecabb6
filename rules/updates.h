/* updates.h - the steps at which a worker's optimizer changed anything, and those between its regular updates.
 *
 * With accumulated gradients, weights change only at every k-th step. The updates of a worker are the pairs of saved
 * steps over which any weight or bias changed. If nearly all of them have the same distance of two or more, up to one,
 * the pairs between them are skipped, but no more of them in a row than that distance allows. With only two updates,
 * the first must be as far from the beginning. Before the first update there may be one more: a warm-up that begins at
 * a learning rate of zero. A layer that does not change at the updates either, or a model that stands still for longer,
 * is not excused.
 *
 * A weight may also come to rest: at the end of a cosine schedule, or of a loss near zero, its changes fade out until
 * rounding takes them. Its last change before it stands still was one of rounding. That of a weight which the optimizer
 * dropped was not. Or its changes have faded to a part of the usual (REST_FADED) when they end, and it stands for a small
 * part of the steps at which it moved (REST_SHARE): a schedule that is done before the training is. */
#pragma once

#include <assay/rule.h>

#include <math.h>
#include <stdlib.h>

#include "counted.h"
#include "gradients.h"
#include "robust.h"

/* What a row says of its tensor since the saved step before. CREPT: it moved by no more than rounding. */
enum { NO_PAIR = -1, MOVED, CREPT, STOOD_STILL };
enum { ROUNDING = 4 }; /* in steps of the format, of the whole tensor's norm */

/* The distance from 1 to the next number of the format; 0: not a format of weights. */
static inline double step_of_format(int dtype)
{
    switch (dtype) {
    case ASSAY_FLOAT64:
        return 0x1p-52;
    case ASSAY_FLOAT32:
        return 0x1p-23;
    case ASSAY_FLOAT16:
        return 0x1p-10;
    case ASSAY_BFLOAT16:
        return 0x1p-7;
    default:
        return 0;
    }
}

/* What a CHANGE since the saved step before, with all its figures, says. NULL: none was measured. */
static inline double movement_of(const assay_change *change, int dtype)
{
    if (!change || !change->found)
        return NO_PAIR;
    if (!change->same_shape)
        return MOVED;
    double rounding = ROUNDING * step_of_format(dtype);
    bool crept = change->squares <= rounding * rounding * change->reference_squares && change->reference_squares > 0;
    return change->close ? STOOD_STILL : crept ? CREPT : MOVED;
}

/* The size of a CHANGE in parts of the tensor's norm; NaN: it is not known. */
static inline double size_of_movement(const assay_change *change)
{
    return change && change->found && change->same_shape && change->reference_squares > 0
               ? sqrt(change->squares / change->reference_squares)
               : (double)NAN;
}

/* How a tensor moved so far. */
typedef struct movements {
    double sum, last; /* of the sizes, of which each was known; the last one */
    uint64_t count;
} movements;

static inline void movements_add(movements *m, double size)
{
    if (!isfinite(size))
        return;
    m->sum += size;
    m->last = size;
    m->count++;
}

/* Had it faded when it came to stand, for so many pairs of saved steps? */
static inline bool movements_have_faded(const movements *m, int64_t still)
{
    enum { REST_SHARE = 10 };
    static const double REST_FADED = 0.1;
    return m->count >= REST_SHARE && m->last < REST_FADED * m->sum / (double)m->count &&
           REST_SHARE * still <= (int64_t)m->count;
}

/* Networks that are trained by turns, each at some steps, as an actor at every other one of its critic's: the pauses of a
 * tensor between its changes. */
enum { TURNS_RECUR = 3, TURNS_PAUSES = 32 };
typedef struct turns {
    unsigned paused[TURNS_PAUSES]; /* how often for so many pairs of saved steps */
    int64_t longest;               /* that it made TURNS_RECUR times or more, and moved behind; 0: none */
} turns;

static inline void turns_add(turns *t, uint64_t pause)
{
    if (pause < TURNS_PAUSES && ++t->paused[pause] == TURNS_RECUR && (int64_t)pause > t->longest)
        t->longest = (int64_t)pause;
}

#define UPDATE_MARK ((uint64_t)1 << 32) /* more than there are still pairs of a step */

/* Counts (worker, step): one for each tensor that stood still there, UPDATE_MARK for each that moved. One that never moves
 * tells nothing of updates: a network that is not trained may be recorded at steps at which no other is. */
static inline int updates_count(const assay_trial *trial, const assay_series *series, int column, assay_counter *steps)
{
    const uint32_t tensors = assay_trial_tensors(trial);
    bool *moves = calloc((size_t)tensors + 1, sizeof *moves);
    int status = moves ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; moves && i < assay_series_count(series); i++) {
        const assay_row row = assay_series_row(series, i);
        if (row.tensor < tensors && row.value[column] >= 0 && row.value[column] != STOOD_STILL)
            moves[row.tensor] =
                !is_gradient(trial, row.tensor) && (assay_trial_in_collection(trial, "weights", row.tensor) ||
                                                    assay_trial_in_collection(trial, "biases", row.tensor));
    }
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(series); i++) {
        const assay_row row = assay_series_row(series, i);
        if (row.tensor < tensors && moves[row.tensor] && row.value[column] >= 0)
            status = assay_counter_add(steps, row.worker, row.step, row.value[column] == STOOD_STILL ? 1 : UPDATE_MARK);
    }
    free(moves);
    return status;
}

/* The usual distance of the updates among entries [from, to) of `steps`, which are one worker's; 1: none that is
 * regular. `gap` has room for as many. */
static inline uint64_t updates_period(const assay_counter *steps, uint64_t from, uint64_t to, double *gap)
{
    uint64_t gaps = 0, regular = 0, last = UINT64_MAX;
    double longest = 1, lead = 0; /* steps up to the first update */
    for (uint64_t i = from; i < to; i++) {
        int64_t worker, step;
        uint64_t count;
        assay_counter_get(steps, i, &worker, &step, &count);
        if (count < UPDATE_MARK)
            continue;
        if (last != UINT64_MAX)
            gap[gaps++] = (double)(i - last);
        else
            lead = (double)(i - from + 1);
        last = i;
    }
    if (gaps == 0 || (gaps == 1 && fabs(gap[0] - lead) > 1))
        return 1;
    double usual = floor(robust_median(gap, gaps));
    for (uint64_t k = 0; k < gaps; k++) {
        bool fits = fabs(gap[k] - usual) <= 1;
        regular += fits;
        longest = fits && gap[k] > longest ? gap[k] : longest;
    }
    return usual >= 2 && 4 * regular >= 3 * gaps ? (uint64_t)longest : 1;
}

/* Adds to `passed` the (worker, step) between regular updates. */
static inline int updates_pass(const assay_counter *steps, assay_counter *passed)
{
    uint64_t size = assay_counter_size(steps);
    double *gap = malloc((size ? size : 1) * sizeof *gap);
    int status = gap ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t from = 0, to; status == ASSAY_OK && from < size; from = to) {
        int64_t worker, other, step;
        uint64_t count, still = 0;
        assay_counter_get(steps, from, &worker, &step, &count);
        for (to = from + 1; to < size; to++) {
            assay_counter_get(steps, to, &other, &step, &count);
            if (other != worker)
                break;
        }
        uint64_t period = updates_period(steps, from, to, gap);
        uint64_t most = period > 1 ? 2 * period : period; /* pairs from one update to the next */
        for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
            assay_counter_get(steps, i, &worker, &step, &count);
            still = count < UPDATE_MARK ? still + 1 : 0;
            most = count < UPDATE_MARK ? most : period;
            if (still > 0 && still < most)
                status = assay_counter_add(passed, worker, step, 1);
        }
    }
    free(gap);
    return status;
}

/* The (worker, step) that lie between regular updates of the worker; NULL without memory. The rows' `column` says
 * whether their tensor moved. The caller frees it. */
static inline assay_counter *updates_between(const assay_trial *trial, const assay_series *series, int column)
{
    assay_counter *steps = assay_counter_new(), *passed = assay_counter_new();
    bool made = steps && passed && updates_count(trial, series, column, steps) == ASSAY_OK &&
                updates_pass(steps, passed) == ASSAY_OK;
    assay_counter_free(steps);
    if (made)
        return passed;
    assay_counter_free(passed);
    return NULL;
}

/* Is (worker, step) among them? O(log n). */
static inline bool updates_passes(const assay_counter *passed, uint32_t worker, int64_t step)
{
    uint64_t i = counted_not_before(passed, worker, step), count;
    int64_t a, b;
    if (i == assay_counter_size(passed))
        return false;
    assay_counter_get(passed, i, &a, &b, &count);
    return a == worker && b == step;
}
