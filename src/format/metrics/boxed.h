/* boxed.h - records of a name and a number a line between bars, as programs of reinforcement learning print them:
 *
 *     ---------------------------
 *     | time/         |         |
 *     |    iterations | 12      |
 *     | loss          | 0.25    |
 *     ---------------------------
 */
#pragma once

#include "format/metrics/pairs.h"

typedef struct metrics_boxed {
    metrics_pairs pairs; /* of the rows since the last border; their names lie in its texts */
    char group[METRICS_PAIR_NAME_MOST];
    size_t group_length; /* "time/": stands before the names of rows that are indented below it */
} metrics_boxed;

/* Takes a row. False: the line is none. */
bool metrics_boxed_take(metrics_boxed *boxed, const char *line, size_t length);
/* Is it a line above or below such rows? */
bool metrics_is_boxed_border(const char *line, size_t length);
void metrics_boxed_clear(metrics_boxed *boxed);
