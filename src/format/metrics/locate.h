/* locate.h - the runs that a location stands for. */
#pragma once

#include "trial/runs.h"

/* As assay_trial_runs_find(). */
int metrics_locate(const char *location, const assay_trial_options *given, assay_trial_runs *out, assay_error *err);
