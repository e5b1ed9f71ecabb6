/* outcome.h - from combined states to the outcome: the last part of the run, on rank 0. */
#pragma once

#include "engine/engine.h"
#include "engine/reduce/partial.h"
#include "engine/plan/plan.h"
#include "engine/source/source.h"

/* Finalizes every rule of every trial. Listings, trial infos and problems move from the sources into the outcome.
 * `rules` are [trial * instances + instance], whole the combined partials of the trials. With `dry_run` only the plan
 * and the listings are filled in. Returns 0 or ASSAY_ENOMEM. */
int assay_outcome_fill(assay_outcome *out, assay_sources *sources, const assay_plan *plan, const assay_rule *rules,
                       assay_partial *whole, bool dry_run);
