/* stands.h - where in a log it stands what was so at a step. */
#pragma once

#include "trial/stands.h"

/* As assay_trial_stands(). */
int metrics_stands(assay_store *store, const assay_trial_options *options, int64_t step, const char *tensor,
                   assay_stand *out);
