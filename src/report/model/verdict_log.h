/* verdict_log.h - the first line of a trial that is a log of metrics (docs/logs.md). */
#pragma once

#include "report/model/report_model.h"

static inline bool report_is_log(const assay_trial_outcome *trial)
{
    return trial->status == ASSAY_OK && trial->catalog.log.kind != NULL;
}
/* Appends what was found in order: "nothing wrong in 2 losses over 60 steps; logs say nothing of weights and
 * gradients". Series that are not judged and were not finite are named, too. */
void report_put_log_passed(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out);
/* Appends how the run ended, as the logger says: " (FAILED by MLflow)", " (exit code 1)"; nothing where all is well. */
void report_put_log_end(const assay_trial_outcome *trial, assay_buf *out);
/* Appends what is said of an attempt whose values a restart dropped: ": metrics/loss was NaN or infinite at step 20, the
 * last metrics/loss was 0.5 at step 39"; nothing where it logged no loss. */
void report_put_log_dropped(const assay_log_range *range, assay_buf *out);
/* What of the log is no reason to say that nothing is wrong. */
report_reservation report_log_reservation(const assay_trial_outcome *trial);
