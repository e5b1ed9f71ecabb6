/* clock.h - how far the clocks of workers are apart, by the starts of the same steps. */
#pragma once

#include <assay/timeline.h>

typedef struct assay_clock { /* of a worker, against the first one that has steps */
    bool known;              /* they have a step in common */
    int64_t offset;          /* microseconds that the worker's is ahead */
} assay_clock;

/* One for each worker of the timeline, in `out`: the lower median over the common steps of the first of the modes
 * TRAIN, GLOBAL, EVAL, PREDICT that has some. 0 or ASSAY_ENOMEM. */
int assay_timeline_clocks(const assay_timeline *line, assay_clock *out);
/* Is it off by more than a second? */
bool assay_clock_is_skewed(const assay_clock *clock);
