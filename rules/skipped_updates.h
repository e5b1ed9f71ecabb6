/* skipped_updates.h - gradients that overflowed at steps whose update was left out, as dynamic loss scaling does.
 *
 * A loss scaler multiplies the loss as far as half precision allows. Where a gradient overflows, it leaves the update
 * out and lowers its factor. An infinite gradient that an optimizer applied would leave a weight that is not finite at
 * every later step. So the gradients of a worker that are bad at a step belong to an update that was left out when
 *
 *   1. nothing but gradients is bad on the worker at this step, and a gradient is infinite
 *   2. a training step behind it, before anything is bad again, has no bad tensor; or the next step is such a one too
 *   3. weights of the worker were recorded later, and were good
 *   4. no more than half of the steps are such
 *
 * What is bad on purpose (masks) does not count. */
#ifndef ASSAY_RULES_SKIPPED_UPDATES_H
#define ASSAY_RULES_SKIPPED_UPDATES_H

#include <assay/rule.h>

#include <stdlib.h>

#include "updates.h"

#define SKIPPED_HARM     ((uint64_t)1 << 48) /* in a count of (worker, step): a tensor that is no gradient is bad */
#define SKIPPED_OVERFLOW ((uint64_t)1 << 24) /* a gradient is infinite */

/* What the onsets say of one worker. */
typedef struct skipped_worker {
    int64_t weights_until; /* the last step at which a weight was good, before it was bad; ASSAY_NO_STEP: none */
    uint64_t tested;       /* the largest number of steps at which a gradient was judged */
} skipped_worker;

/* [workers] NULL without memory; the caller frees it. */
static inline skipped_worker *skipped_workers(const assay_trial *trial, const assay_onsets *onsets)
{
    const uint32_t workers = assay_trial_workers(trial);
    skipped_worker *list = calloc(workers + (size_t)1, sizeof *list);
    for (uint32_t w = 0; list && w < workers; w++)
        list[w].weights_until = ASSAY_NO_STEP;
    for (uint64_t i = 0; list && i < assay_onsets_count(onsets); i++) {
        assay_onset o = assay_onsets_get(onsets, i);
        if (o.worker >= workers)
            continue;
        skipped_worker *w = &list[o.worker];
        uint64_t tested = 0;
        for (int m = 0; m < ASSAY_MODES; m++)
            tested += o.tested[m];
        assay_role role = assay_trial_role(trial, o.tensor);
        if (role == ASSAY_ROLE_GRADIENT && tested > w->tested)
            w->tested = tested;
        if (role == ASSAY_ROLE_WEIGHT && o.last_good > w->weights_until)
            w->weights_until = o.last_good;
    }
    return list;
}

/* Is there a step of training between two steps, or behind `from` where `to` is ASSAY_NO_STEP? */
static inline bool skipped_trains_between(const assay_trial *trial, int64_t from, int64_t to)
{
    for (uint64_t i = assay_trial_find_step(trial, from); i != UINT64_MAX && ++i < assay_trial_steps(trial);) {
        const assay_step_info *info = assay_trial_step(trial, i);
        if (to != ASSAY_NO_STEP && info->step >= to)
            return false;
        if (info->mode == ASSAY_MODE_TRAIN || info->mode == ASSAY_MODE_GLOBAL)
            return true;
    }
    return false;
}

/* How many of the entries [from, to) of `bad`, which are one worker's, are updates that were left out. Adds them to
 * `left_out`, NULL: only counts. */
static inline int skipped_of_worker(const assay_trial *trial, const skipped_worker *w, const assay_counter *bad,
                                    uint64_t from, uint64_t to, assay_counter *left_out, uint64_t *found)
{
    int64_t worker, step, next = ASSAY_NO_STEP;
    bool skipped = false; /* is the entry behind one? */
    int status = ASSAY_OK;
    *found = 0;
    for (uint64_t i = to; status == ASSAY_OK && i > from; i--) {
        uint64_t count;
        assay_counter_get(bad, i - 1, &worker, &step, &count);
        bool overflows = count >= SKIPPED_OVERFLOW && count < SKIPPED_HARM;
        bool went_on = step < w->weights_until && skipped_trains_between(trial, step, next);
        skipped = overflows && (went_on || skipped);
        next = step;
        *found += skipped;
        if (skipped && left_out)
            status = assay_counter_add(left_out, worker, step, 1);
    }
    return status;
}

/* The (worker, step) of updates that were left out, of `bad`: the (worker, step) at which anything is bad that is not
 * on purpose, with SKIPPED_HARM and SKIPPED_OVERFLOW added for such tensors. NULL without memory; the caller frees it.
 */
static inline assay_counter *skipped_updates(const assay_trial *trial, const assay_onsets *onsets,
                                             const assay_counter *bad)
{
    assay_counter *left_out = assay_counter_new();
    skipped_worker *workers = skipped_workers(trial, onsets);
    uint64_t size = assay_counter_size(bad);
    int status = left_out && workers ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t from = 0, to; status == ASSAY_OK && from < size; from = to) {
        int64_t worker, other, step;
        uint64_t count;
        assay_counter_get(bad, from, &worker, &step, &count);
        for (to = from + 1; to < size; to++) {
            assay_counter_get(bad, to, &other, &step, &count);
            if (other != worker)
                break;
        }
        if (worker < 0 || worker >= assay_trial_workers(trial))
            continue;
        const skipped_worker *w = &workers[worker];
        uint64_t found;
        status = skipped_of_worker(trial, w, bad, from, to, NULL, &found);
        if (status == ASSAY_OK && 2 * found <= w->tested)
            status = skipped_of_worker(trial, w, bad, from, to, left_out, &found);
    }
    free(workers);
    if (status == ASSAY_OK)
        return left_out;
    assay_counter_free(left_out);
    return NULL;
}

#endif
