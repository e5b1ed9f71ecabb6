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

/* Moves the outcome of the next trials of `job` behind those that `to` has, which begins empty but for the job. What
 * trials have decides which rules of a set are reported: ASSAY_EFORMAT where these have other ones. ASSAY_ENOMEM. */
int assay_outcome_join(assay_outcome *to, const assay_job *job, assay_outcome *more);
