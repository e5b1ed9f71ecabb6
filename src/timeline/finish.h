/* finish.h - a timeline while it is made. Inside timeline only. */
#pragma once

#include "timeline/internal.h"

typedef struct finisher {
    assay_collector *c;
    const assay_event_files *files;
    assay_timeline_data *t;
    rows nodes;          /* their names */
    uint32_t *node_of;   /* [texts] the node of that name */
    uint32_t *worker_of; /* [workers of the collector] */
} finisher;

/* Puts the samples in order: of each node its own series, and those of its GPUs. *again: which sample counts can only
 * be told with all units. 0 or ASSAY_ENOMEM. (series.c) */
int finisher_find_series(finisher *f, bool *again);
