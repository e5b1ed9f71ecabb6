/* watch_tell.h - what a watch prints between its beginning and the report: a line for each cause, for people, or every
 * finding as columns, for programs. Both are used on rank 0 alone; docs/watch.md has the forms. */
#pragma once

#include "engine/engine.h"

/* The findings printed so far. */
typedef struct watch_findings watch_findings;
/* NULL without memory. Free it with watch_findings_free(), which takes NULL, too. */
watch_findings *watch_findings_new(void);
void watch_findings_free(watch_findings *findings);
/* Prints a line on standard output for every finding of the outcome that was not told of yet, and for every one told of
 * that it has no more. ASSAY_ENOMEM, ASSAY_EIO. */
int watch_findings_tell(watch_findings *findings, const assay_outcome *outcome, assay_error *err);

/* The causes printed so far. */
typedef struct watch_causes watch_causes;
/* `lines`: as JSON, an object a line. */
watch_causes *watch_causes_new(bool lines);
void watch_causes_free(watch_causes *causes);
/* Prints a line for every cause that the findings of a trial come to (diagnosis/diagnosis.h) and that was not told of
 * yet: one that only follows from another, and advice, wait for the report. A cause told of whose rule finds nothing any
 * more is withdrawn. ASSAY_ENOMEM, ASSAY_EIO. */
int watch_causes_tell(watch_causes *causes, const assay_outcome *outcome, assay_error *err);
