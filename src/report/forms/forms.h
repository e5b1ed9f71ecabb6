/* forms.h - the forms that the report is written in, and the parts that they share. Inside report, and for those who
 * write a part of it elsewhere. */
#ifndef ASSAY_REPORT_FORMS_FORMS_H
#define ASSAY_REPORT_FORMS_FORMS_H

#include "report/compare/bands.h"
#include "report/compare/comparison.h"
#include "report/model/report_model.h"
#include "report/report.h"
#include "report/text/draw.h"

/* Appends a finding as an object of report.json. */
void report_put_finding(const assay_trial *info, const report_rule *rule, const assay_finding *finding, assay_buf *out);

/* The files of the forms beside report.json and report.txt, whole. Their bytes do not depend on the number of ranks.
 * Return the buffer's status or ASSAY_ENOMEM. */
int report_put_verdict_csv(const assay_report *report, const assay_report_origin *origin, assay_buf *out);
int report_put_findings_csv(const assay_report *report, const assay_report_origin *origin, assay_buf *out);
int report_put_class_counts_csv(const assay_report *report, const assay_report_origin *origin, assay_buf *out);
int report_put_confusion_csv(const assay_report *report, const assay_report_origin *origin, assay_buf *out);
int report_put_loss_csv(const assay_report *report, const assay_report_origin *origin, assay_buf *out);
int report_put_junit(const assay_report *report, const assay_report_origin *origin, assay_buf *out);
int report_put_markdown(const assay_report *report, const assay_report_origin *origin, assay_buf *out);

/* Writes tensorboard/TRIAL/events.out.tfevents.* of every trial, whatever fails; the first failure, with the place. */
int report_write_tensorboard(const assay_outcome *outcome, assay_output *output, assay_error *err);

/* Appends the comparison to report.json (" \"comparison\": {...},\n"). */
void report_put_comparison_json(const assay_comparison *c, assay_buf *out);

/* Appends a member with a run's scores (report/compare/noise.h), behind a comma. */
void report_put_score(const char *key, const assay_score *score, assay_buf *out);

/* The same of what leaves the bands of good runs (" \"bands\": {...},\n"). */
void report_put_bands_json(const assay_band_report *report, assay_buf *out);

/* Appends the member `traces` of a trial; nothing where it has none. (report_traces.c) */
void report_put_traces_json(const assay_trial_outcome *trial, assay_buf *out);
/* Appends the member `profile` of a trial; nothing where it has no timeline. 0 or ASSAY_ENOMEM. (report_profile.c) */
int report_put_profile_json(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out);

#endif
