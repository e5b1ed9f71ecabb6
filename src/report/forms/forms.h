/* forms.h - parts of the report's forms that others need: forms share them, or write them elsewhere. Inside report, and
 * for those who write a part of it elsewhere. */
#pragma once

#include "base/json_writer.h"
#include "report/compare/bands.h"
#include "report/compare/comparison.h"
#include "report/form.h"
#include "report/model/report_model.h"
#include "report/text/draw.h"

/* Appends a finding as an object of report.json. */
void report_put_finding(const assay_trial *info, const report_rule *rule, const assay_finding *finding, assay_buf *out);

/* Appends report.jsonl, whole: it goes to standard output too. The buffer's status or ASSAY_ENOMEM. */
int report_put_lines(const assay_report *report, const assay_report_origin *origin, assay_buf *out);

/* Members of report.json: the comparison, and what leaves the bands of good runs. */
void report_put_comparison_json(const assay_comparison *c, assay_jw *w);
void report_put_bands_json(const assay_band_report *report, assay_jw *w);
/* A member with a run's scores (report/compare/noise.h). */
void report_put_score(const char *key, const assay_score *score, assay_jw *w);

/* The member `traces` of a trial; nothing where it has none. (report_traces.c) */
void report_put_traces_json(const assay_trial_outcome *trial, assay_jw *w);
/* The member `profile` of a trial; nothing where it has no timeline. 0 or ASSAY_ENOMEM. (report_profile.c) */
int report_put_profile_json(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_jw *w);
