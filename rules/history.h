/* history.h - a number's robust score against the saved steps before it (NormSpike, LossSpike).
 *
 * The history of a step are the last `window` finite values before it, of the same mode; fewer than `min_history` say
 * nothing. */
#ifndef ASSAY_RULES_HISTORY_H
#define ASSAY_RULES_HISTORY_H

#include <assay/rule.h>

#include "robust.h"

enum { HISTORY_MOST = 1000 };

/* What both rules are asked. */
#define HISTORY_PARAMS(z, ratio_default, what)                                                                         \
    {.name = "threshold",                                                                                              \
     .type = ASSAY_PARAM_REAL,                                                                                         \
     .initial = z,                                                                                                     \
     .least = 0,                                                                                                       \
     .most = 1e308,                                                                                                    \
     .help = "Robust z-score above which " what " is a spike."},                                                       \
        {.name = "ratio",                                                                                              \
         .type = ASSAY_PARAM_REAL,                                                                                     \
         .initial = ratio_default,                                                                                     \
         .least = 1,                                                                                                   \
         .most = 1e308,                                                                                                \
         .help = "A spike is also above the median by at least this factor."},                                         \
        {.name = "window",                                                                                             \
         .type = ASSAY_PARAM_INT,                                                                                      \
         .initial = "20",                                                                                              \
         .least = 2,                                                                                                   \
         .most = HISTORY_MOST,                                                                                         \
         .help = "Saved steps of the mode before the one in question that make its history."},                         \
    {                                                                                                                  \
        .name = "min_history", .type = ASSAY_PARAM_INT, .initial = "5", .least = 2, .most = HISTORY_MOST,              \
        .help = "Saved steps without which nothing is tested."                                                         \
    }

typedef struct history_ring { /* the newest values of one mode */
    double value[HISTORY_MOST];
    uint64_t count; /* ever pushed; the newest is at (count - 1) % window */
} history_ring;

/* A history for each mode; the caller frees it. NULL without memory. */
static inline history_ring *history_new(void)
{
    return calloc(ASSAY_MODES, sizeof(history_ring));
}

static inline void history_clear(history_ring *rings)
{
    for (int mode = 0; mode < ASSAY_MODES; mode++)
        rings[mode].count = 0;
}

/* Spreads of less than this share of the median are no spread: the noise of a converged training is no yardstick. */
#define HISTORY_FLOOR 0.01

/* Scores `value` against the history and then takes it in, if it is finite. False without enough history. */
static inline bool history_score(history_ring *ring, const assay_params *params, double value, robust_score *score)
{
    uint64_t window = (uint64_t)assay_param_int(params, "window"),
             least = (uint64_t)assay_param_int(params, "min_history");
    uint64_t n = ring->count < window ? ring->count : window;
    bool enough = n > 0 && n >= (least < window ? least : window);
    double copy[HISTORY_MOST];
    for (uint64_t i = 0; enough && i < n; i++)
        copy[i] = ring->value[i];
    if (enough)
        *score = robust_score_of(value, robust_center_of(copy, n, HISTORY_FLOOR));
    if (isfinite(value))
        ring->value[ring->count++ % window] = value;
    return enough;
}

/* Above the median, by the z-score and by the factor. A median of zero is no scale: what was off has come on. */
static inline bool history_spike(const assay_params *params, double value, robust_score score)
{
    if (!isfinite(value))
        return true;
    return score.median != 0 && score.z > assay_param_real(params, "threshold") &&
           value - score.median > (assay_param_real(params, "ratio") - 1) * fabs(score.median);
}

enum { HISTORY_VALUE, HISTORY_MODE, HISTORY_WIDTH }; /* of the rows that history_walk() takes */

/* Tests the value of a row that has a history. */
typedef int history_test(const assay_rule *rule, assay_verdict *verdict, assay_row row, robust_score score);

/* Walks the rows of each tensor and worker, and tests those with enough history from the rule's first step on. */
static inline int history_walk(const assay_rule *rule, const assay_series *series, assay_verdict *verdict,
                               history_test *test, assay_error *err)
{
    uint64_t count = assay_series_count(series), *order = assay_series_by_tensor(series);
    history_ring *rings = history_new();
    int status = rings && (order || !count) ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory");
    assay_row before = {0};
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        assay_row row = assay_series_row(series, order[i]);
        double said = row.value[HISTORY_MODE];
        robust_score score;
        if (i == 0 || row.tensor != before.tensor || row.worker != before.worker)
            history_clear(rings);
        before = row;
        int mode = said >= 0 && said < ASSAY_MODES ? (int)said : ASSAY_MODE_NONE;
        if (history_score(&rings[mode], rule->params, row.value[HISTORY_VALUE], &score) && row.step >= rule->start_step)
            status = test(rule, verdict, row, score);
    }
    free(rings);
    free(order);
    return status;
}

#endif
