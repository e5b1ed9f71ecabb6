/* input_channels.h - InputData: images whose channels stand in another order than elsewhere.
 *
 * Of each channel the median of its means over the rows of a tensor, and their median deviation. In another order are
 * those of which two or more are FAR such deviations off, and of which all come within NEAR once they change places. */
#pragma once

#include "input_rows.h"

enum { CHANNEL_ROWS = 5, CREW_LEAST = 3 };
#define NEAR   4.0
#define FAR    8.0
#define STEADY 1e-3 /* of the largest mean: means wander so far at least */

typedef struct channel_means {
    size_t rows;
    double mean[IMAGE_CHANNELS], wander[IMAGE_CHANNELS];
} channel_means;

/* Is it a row of the mode: of this worker, or with `others` of any other one? UINT32_MAX: of all workers. */
static inline bool is_of(const walk *w, uint64_t i, int mode, uint32_t worker, bool others)
{
    return in_mode(w, i, mode) && row_of(w, i)[CHANNELS] > 1 &&
           (worker == UINT32_MAX || (assay_series_row(w->series, w->order[i]).worker == worker) != others);
}

static inline channel_means means_of(const walk *w, uint64_t from, uint64_t to, int mode, uint32_t worker, bool others)
{
    channel_means m = {0};
    double largest = 0;
    for (int c = 0; c < IMAGE_CHANNELS; c++) {
        size_t n = 0;
        for (uint64_t i = from; i < to; i++)
            if (is_of(w, i, mode, worker, others) && isfinite(row_of(w, i)[CHANNEL_MEAN + c]))
                w->room[n++] = row_of(w, i)[CHANNEL_MEAN + c];
        if (n == 0) /* there are not so many channels */
            break;
        const robust_center center = robust_center_of(w->room, n, 0);
        m.rows = n;
        m.mean[c] = center.median;
        m.wander[c] = center.spread / 0.6745;
        largest = fmax(largest, fabs(center.median));
    }
    for (int c = 0; c < IMAGE_CHANNELS; c++)
        m.wander[c] = fmax(m.wander[c], STEADY * largest);
    return m;
}

/* The next order of n numbers, each of 0 to n - 1 once, as digits to the base IMAGE_CHANNELS; false behind the last. */
static inline bool next_order(int *order, int n)
{
    for (int k = n; k-- > 0;) {
        if (++order[k] < n) {
            unsigned used = 0;
            for (int c = 0; c < n; c++)
                used |= 1u << order[c];
            if (used == (1u << n) - 1)
                return true;
            k = n;
            continue;
        }
        order[k] = 0;
    }
    return false;
}

/* Does `is` become `usual` in another order? Writes that order into the note. */
static inline bool is_swapped(const channel_means *usual, const channel_means *is, int n, const char *whose,
                              char note[NOTE_ROOM])
{
    int order[IMAGE_CHANNELS] = {0}, far = 0;
    for (int c = 0; c < n; c++)
        far += fabs(is->mean[c] - usual->mean[c]) > FAR * fmax(usual->wander[c], is->wander[c]);
    while (far >= 2 && next_order(order, n)) {
        size_t used = 0;
        bool near = true;
        for (int c = 0; near && c < n; c++)
            near = fabs(is->mean[c] - usual->mean[order[c]]) <= NEAR * fmax(usual->wander[order[c]], is->wander[c]);
        if (!near)
            continue;
        for (int c = 0; c < n; c++)
            used += (size_t)snprintf(note + used, NOTE_ROOM - used, "%s%d", c > 0 ? ", " : "", order[c]);
        snprintf(note + used, NOTE_ROOM - used, " of %s", whose);
        return true;
    }
    return false;
}

static inline int test_order(const walk *w, uint64_t from, uint64_t to, int mode, uint32_t worker,
                             const channel_means *usual, const char *whose)
{
    const channel_means is = means_of(w, from, to, mode, worker, false);
    const int n = (int)row_of(w, from)[CHANNELS];
    char note[NOTE_ROOM] = "";
    const bool fires = usual->rows >= CHANNEL_ROWS && is.rows > 0 && is_swapped(usual, &is, n, whose, note);
    int status = ASSAY_OK;
    for (uint64_t i = from; status == ASSAY_OK && usual->rows >= CHANNEL_ROWS && i < to; i++)
        if (is_of(w, i, mode, worker, false))
            status = test(w, i, SWAPPED, fires, n, 0, note);
    return status;
}

/* Rows [from, to) of one input, of all workers: evaluation against training, and each of several workers against the
 * others. */
static inline int test_orders(const walk *w, uint64_t from, uint64_t to)
{
    const uint32_t workers = assay_trial_workers(w->rule->trial);
    const channel_means all = means_of(w, from, to, ASSAY_MODE_TRAIN, UINT32_MAX, false);
    if (row_of(w, from)[CHANNELS] <= 1)
        return ASSAY_OK;
    int status = test_order(w, from, to, ASSAY_MODE_EVAL, UINT32_MAX, &all, "training");
    for (uint32_t k = 0; status == ASSAY_OK && workers >= CREW_LEAST && k < workers; k++) {
        const channel_means others = means_of(w, from, to, ASSAY_MODE_TRAIN, k, true);
        status = test_order(w, from, to, ASSAY_MODE_TRAIN, k, &others, "the other workers");
    }
    return status;
}
