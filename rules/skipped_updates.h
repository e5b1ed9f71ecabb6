/* skipped_updates.h - gradients that overflowed at steps whose update was left out, as dynamic loss scaling does.
 *
 * A loss scaler multiplies the loss as far as half precision allows. Where a gradient overflows, it leaves the update
 * out and lowers its factor: at the first steps, until the factor fits, and seldom after that. An infinite gradient
 * that an optimizer adds to its weight leaves it not finite at every later step. So the gradients of a worker that are
 * bad at a step belong to an update that was left out when
 *
 *   1. nothing but gradients is bad on the worker at this step, and a gradient is infinite
 *   2. a later training step is good before anything is bad again; or the next bad entry is itself a left-out update
 *   3. their weights were recorded later on this worker, and were good
 *   4. it is one of an unbroken run from the worker's first step on, of at most SKIPPED_LEADING steps; or of no more
 *      than one in SKIPPED_SHARE of its steps behind them
 *
 * An optimizer that clips gradients by value, or takes only their signs, keeps its weights finite too. At so few steps
 * that looks the same. What is bad on purpose (masks) does not count. */
#pragma once

#include <assay/rule.h>

#include <stdlib.h>

#include "updates.h"

#define SKIPPED_HARM     ((uint64_t)1 << 48) /* in a count of (worker, step): bad, and by point 1 or 3 no such update */
#define SKIPPED_OVERFLOW ((uint64_t)1 << 24) /* a gradient is infinite, and its weight was good later */

enum { SKIPPED_LEADING = 24, SKIPPED_SHARE = 20 }; /* halvings that a factor needs to fit; growth is rarer than that */

static inline int64_t skipped_step(const assay_counter *steps, uint64_t i)
{
    int64_t worker, step;
    uint64_t count;
    assay_counter_get(steps, i, &worker, &step, &count);
    return step;
}

/* Is there an entry of the worker between two steps? */
static inline bool skipped_any_between(const assay_counter *steps, uint32_t worker, int64_t from, int64_t to)
{
    uint64_t begin = counted_not_before(steps, worker, from) + updates_passes(steps, worker, from);
    return counted_not_before(steps, worker, to) > begin;
}

/* Fills skipped[i] for entries [from, to) of `bad`, which are one worker's: is it such an update, by points 1 to 3? */
static inline void skipped_mark(const assay_counter *judged, const assay_counter *bad, uint64_t from, uint64_t to,
                                bool *skipped)
{
    int64_t worker, step, next = INT64_MAX;
    for (uint64_t i = to; i > from; i--) {
        uint64_t count;
        assay_counter_get(bad, i - 1, &worker, &step, &count);
        bool overflows = count >= SKIPPED_OVERFLOW && count < SKIPPED_HARM;
        bool went_on = skipped_any_between(judged, (uint32_t)worker, step, next);
        skipped[i - 1] = overflows && (went_on || (i < to && skipped[i]));
        next = step;
    }
}

/* Adds those of entries [from, to) that are such updates by point 4, too. */
static inline int skipped_add(const assay_counter *judged, const assay_counter *bad, uint32_t worker, uint64_t from,
                              uint64_t to, const bool *skipped, assay_counter *left_out)
{
    uint64_t first = counted_not_before(judged, worker, INT64_MIN);
    uint64_t tested = counted_not_before(judged, worker, INT64_MAX) - first, leading = 0, later = 0;
    while (from + leading < to && leading < tested && skipped[from + leading] &&
           skipped_step(bad, from + leading) == skipped_step(judged, first + leading))
        leading++;
    if (leading > SKIPPED_LEADING)
        leading = 0;
    for (uint64_t i = from + leading; i < to; i++)
        later += skipped[i];
    bool few = later <= 1 || later <= tested / SKIPPED_SHARE;
    int status = ASSAY_OK;
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++)
        if (skipped[i] && (few || i < from + leading))
            status = assay_counter_add(left_out, worker, skipped_step(bad, i), 1);
    return status;
}

/* The (worker, step) of updates that were left out. `judged`: the (worker, step) of training at which gradients were
 * tested. `bad`: those at which anything is bad that is not on purpose, with SKIPPED_HARM and SKIPPED_OVERFLOW added
 * for such tensors. NULL without memory; the caller frees it. */
static inline assay_counter *skipped_updates(const assay_counter *judged, const assay_counter *bad)
{
    uint64_t size = assay_counter_size(bad);
    assay_counter *left_out = assay_counter_new();
    bool *skipped = calloc(size + 1, sizeof *skipped);
    int status = left_out && skipped ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t from = 0, to; status == ASSAY_OK && from < size; from = to) {
        int64_t worker, step;
        uint64_t count;
        assay_counter_get(bad, from, &worker, &step, &count);
        to = counted_not_before(bad, (uint32_t)worker + 1, INT64_MIN);
        skipped_mark(judged, bad, from, to, skipped);
        status = skipped_add(judged, bad, (uint32_t)worker, from, to, skipped, left_out);
    }
    free(skipped);
    if (status == ASSAY_OK)
        return left_out;
    assay_counter_free(left_out);
    return NULL;
}
