/* bottleneck.h - what CPUBottleneck and IOBottleneck share. */
#pragma once

#include "timed.h"

/* Per node, the times of its GPU samples and of those of `metric` form groups: of times at most 20 ms behind the first.
 * A group with both kinds is a snapshot, a bottleneck when a GPU is below gpu_threshold while a core is above `limit`
 * (the name of a parameter). Fires when more than `threshold` percent of the snapshots so far are bottlenecks. */
void bottleneck_evaluate(timed *t, int metric, const char *limit);
