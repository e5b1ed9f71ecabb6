/* xgboost_sections.h - the rows that CreateXgboostReport keeps of each step, and the report's sections made of them. */
#pragma once

#include <assay/rule.h>

/* What a row holds in A, B, C, D:
 * METRIC, WEIGHT    value of the row's tensor and worker
 * TASK              one of the tasks below
 * CELL              label, prediction, count
 * SCORE             interval of the score, label (0 or 1), count
 * ERROR, RESIDUAL   interval from, to, count, sum of |label - prediction| */
enum { METRIC, WEIGHT, TASK, CELL, SCORE, ERROR, RESIDUAL };
enum { SECTION, A, B, C, D, WIDTH }; /* values of a row */
enum { NO_TASK, BINARY, MULTICLASS, REGRESSION, TASKS };
enum { BINS = 1024 /* of scores in 0..1 */ };

/* Writes every section that the series has rows for. 0 or ASSAY_ENOMEM. */
int xgboost_sections_put(const assay_rule *rule, const assay_series *series, assay_buf *json, assay_buf *text);
