/* first_cause.h - where a numeric fault began, and how it spread.
 *
 * A rule adds a row to its series for every tensor that is bad; at the end the first of them all is named: by step,
 * then by the order in which its worker saved its tensors, which is forward for activations and backward for
 * gradients. */
#ifndef ASSAY_RULES_FIRST_CAUSE_H
#define ASSAY_RULES_FIRST_CAUSE_H

#include <assay/rule.h>

enum { FIRST_CAUSE_WIDTH = 3 }; /* series_width of a rule that uses this */

/* The tensor is bad at the step in view; `worker` may be ASSAY_ALL_WORKERS. `bad` tells the element, NULL: none in
 * particular. 0 or ASSAY_ENOMEM. */
int first_cause_add(assay_series *series, const assay_step_view *view, const assay_tensor_view *item, uint32_t worker,
                    const assay_first_bad *bad);

/* Adds "first_cause" to the verdict's JSON and lines to its text, when there is a row at or behind the rule's first
 * step. 0 or ASSAY_ENOMEM. */
int first_cause_put(const assay_rule *rule, const assay_series *series, assay_verdict *verdict, assay_error *err);

/* finalize of a rule that has nothing else to add. */
int first_cause_finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err);

#endif
