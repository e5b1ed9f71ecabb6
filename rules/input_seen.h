/* input_seen.h - InputData: which rows of EVAL inputs were rows of TRAIN inputs, whatever the batches.
 *
 * A row, an index of axis 0, is known by its digest. The counter of the state has pairs (digest, tensor * ASSAY_MODES +
 * mode), over all workers; digests are negative there, classes are not. Of long trials only each 2^k-th digest is kept,
 * of large batches the first ROWS_MOST rows: about ROWS_ROOM in all, as the rule is asked for by default. */
#pragma once

#include "input_rows.h"

enum { ROWS_MOST = 64, ROWS_ROOM = 1 << 14, SEEN_LEAST = 8 };
#define SEEN_SHARE 0.1 /* of the rows of evaluation */

/* Digests are kept where these bits of them are 0. */
static inline uint64_t sieve_of(const assay_trial *trial)
{
    const uint64_t rows = assay_trial_steps(trial) * assay_trial_workers(trial) * ROWS_MOST;
    uint64_t sieve = 0;
    while (sieve < UINT32_MAX && rows / (sieve + 1) > ROWS_ROOM)
        sieve = 2 * sieve + 1;
    return sieve;
}

/* Adds the rows of one input. Those of few elements, or of one value, may be alike by chance; so may short texts. */
static inline int count_rows(const assay_trial *trial, const assay_step_view *view, const assay_tensor_view *item,
                             const assay_result *result, assay_counter *counter)
{
    const uint64_t sieve = sieve_of(trial), rows = result ? result->of.rows.count : 0;
    int status = ASSAY_OK;
    if (rows == 0 || item->dims < 2 || !assay_dtype_is_float(item->dtype) || item->stats->count / rows < LEAST_FEATURES)
        return ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < rows && i < ROWS_MOST; i++) {
        const uint64_t digest = result->of.rows.digest[i];
        if (digest != 0 && (digest & sieve) == 0)
            status = assay_counter_add(counter, -2 - (int64_t)(digest >> 2),
                                       (int64_t)item->tensor * ASSAY_MODES + view->mode, 1);
    }
    return status;
}

/* How many rows of EVAL inputs were kept, and how many of them TRAIN has too. */
static inline uint64_t seen_rows(const walk *w, uint32_t tensor, uint64_t *all)
{
    const int64_t key = (int64_t)tensor * ASSAY_MODES;
    const uint64_t size = assay_counter_size(w->labels);
    uint64_t seen = 0;
    *all = 0;
    for (uint64_t i = 0, next; i < size; i = next) {
        int64_t hash, of, same;
        uint64_t count, trained = 0, evaluated = 0;
        assay_counter_get(w->labels, i, &hash, &of, &count);
        for (next = i; next < size; next++) {
            assay_counter_get(w->labels, next, &same, &of, &count);
            if (same != hash)
                break;
            if (of == key + ASSAY_MODE_EVAL)
                evaluated += count;
            else if (of >= key && of < key + ASSAY_MODES && of != key + ASSAY_MODE_PREDICT)
                trained += count;
        }
        *all += hash < 0 ? evaluated : 0;
        seen += hash < 0 && trained > 0 ? evaluated : 0;
    }
    return seen;
}

static inline bool are_seen(uint64_t seen, uint64_t all)
{
    return seen >= SEEN_LEAST && (double)seen >= SEEN_SHARE * (double)all;
}
