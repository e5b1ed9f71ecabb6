/* deferred.h - tensors that are measured apart from their step: by another rank (step_sharing.h), or while an earlier
 * step was read (lookahead.h). They come to the step as bytes.
 *
 * The report does not tell who measured what, nor when. Whoever reads a step as a whole might refuse a tensor because
 * the others take all the memory; so what was measured apart is used only where the whole step is sure to fit its
 * budget and nothing was refused. Else the step is read as a whole. */
#ifndef ASSAY_ENGINE_MAP_DEFERRED_H
#define ASSAY_ENGINE_MAP_DEFERRED_H

#include "engine/map/mapper.h"

/* Bytes that tensors of a step take. */
typedef struct assay_needs {
    uint64_t held; /* by their results, and by the lists of them that rules are given */
    uint64_t most; /* by one record while it is measured */
} assay_needs;

/* Of m->items as they are. This and all below: not collective. */
assay_needs assay_deferred_needs(const assay_mapper *m);
/* What the lists of a step take, whatever is in them. */
assay_needs assay_deferred_least(const assay_mapper *m);
assay_needs assay_deferred_both(assay_needs a, assay_needs b);
/* Would one rank that reads all of it refuse nothing? */
bool assay_deferred_fits(const assay_mapper *m, assay_needs needs);

/* How items of the source under way are packed. */
assay_tensor_result_form assay_deferred_form(const assay_mapper *m);
/* The rules of the source under way. */
const assay_rule *assay_deferred_rules(const assay_mapper *m);

/* Ends the reading of a step with parts that were measured apart: its problems are in `measured`, which is released,
 * and not yet in `whole`, which becomes m->node. When m->alone says that this is not what reading it as a whole comes
 * to, it is read so. `status` is how it fared so far; returns that, 0 or ASSAY_ENOMEM. */
int assay_deferred_settle(assay_mapper *m, assay_partial *whole, assay_partial *measured, int status);

#endif
