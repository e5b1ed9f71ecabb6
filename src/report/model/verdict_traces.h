/* verdict_traces.h - what the sentence about a trial says of its traces. */
#pragma once

#include "report/model/report_model.h"

/* Appends where the time went. `tested`: rules found nothing wrong in them; else none of them had data. Nothing where
 * the trial has no traces. */
void report_put_traces(const assay_trial_outcome *trial, bool tested, assay_buf *out);
