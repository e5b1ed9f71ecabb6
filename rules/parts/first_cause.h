/* first_cause.h - where a numeric fault began, as far as the records prove it, and how it spread.
 *
 * How it works:
 *   1. map judges every tensor of every worker (first_cause_judge()). The common state's onsets keep when each became
 *      bad, and when it was last good before that.
 *   2. The first cause is the earliest onset, by step and then by order of computation (assay_trial_order()).
 *   3. A worker is named only if no other can have been first: it alone is bad at that step, or it alone was bad in the
 *      pass before gradients are exchanged, while the others saved the same tensor and it was good. Where some workers
 *      recorded nothing, only what a worker was fed is its own: all else may have come from those.
 *   4. `certain` holds if the step before was good, everything that is computed earlier was recorded, and a worker is
 *      named. Otherwise the report says between which steps it began and what to record to know more.
 *      Weights that were not recorded count as good up to the last step at which all losses were that they spoilt. */
#pragma once

#include <assay/rule.h>

/* What was bad, as assay_judgement.kind: bits. */
enum { FIRST_CAUSE_NAN = 1, FIRST_CAUSE_INF = 2 };

/* A tensor is judged at the step in view; `worker` may be ASSAY_ALL_WORKERS. `first` tells the element, NULL: none in
 * particular. 0 or ASSAY_ENOMEM. */
int first_cause_judge(const assay_common_state *state, const assay_step_view *view, uint32_t tensor, uint32_t worker,
                      assay_judgement judgement, const assay_first_bad *first);

/* Adds "first_cause" to the verdict's JSON and lines to its text, when a tensor was bad. `onsets` are those of the
 * state as the rule puts them right, as many and in the same order; NULL: those of the state. Tensors with
 * leave_out[tensor] do not count (NULL: all do). `became` tells what happened to a tensor: "vanished"; NULL: NaN and
 * Inf, by the kind. 0 or ASSAY_ENOMEM. */
int first_cause_put(const assay_rule *rule, const assay_common_state *state, const assay_onset *onsets,
                    const bool *leave_out, const char *became, assay_verdict *verdict, assay_error *err);
