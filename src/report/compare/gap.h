/* gap.h - how far the losses of evaluations lie above those of training.
 *
 * A training on part of its data learns that part: its training loss falls faster and its evaluations get no better.
 * Each of the two may stay in its band; their ratio does not. Single losses are noisy, so both are averaged over the
 * later half of the training so far. */
#pragma once

#include "report/model/curves.h"

/* The gap of a loss at its EVAL steps: out[i] gets mean log(EVAL losses) - mean log(TRAIN losses), each over the points
 * whose global step is above half of that step's. Steps at which one of these losses is not above 0, or with fewer than
 * three TRAIN losses, have no gap. `out` has room for eval->count points. Returns how many it got; 0 also for a loss
 * that is not of EVAL, or has no TRAIN curve. */
size_t assay_gap_of(const assay_curves *curves, const assay_loss_curve *eval, assay_loss_point *out);
