/* saved_order.h - the order in which tensors are saved within a step, found from units that several ranks read.
 *
 * Each tensor has a predecessor: the tensor whose record lies before its own where it was first saved, by (step,
 * worker). That is the same however the units are divided, and joins like a first-come dictionary. Placing each
 * tensor right after its predecessor gives one order of all tensors, including those saved at different steps. */
#pragma once

#include "trial/index.h"

/* A predecessor: the number of a tensor + 1, or one of these. */
enum { SAVED_FIRST = 0, SAVED_NEVER = UINT32_MAX };

/* The predecessors of `tensors` tensors in a shard; the caller frees the list. NULL: out of memory. */
uint32_t *saved_order_of(const assay_shard *shard, uint32_t tensors);

/* The position of each of `tensors` tensors, [tensors], different for each; those that were never saved come last. The
 * caller frees it. NULL: out of memory. */
uint32_t *saved_order_positions(const uint32_t *predecessor, uint32_t tensors);
