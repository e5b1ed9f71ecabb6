/* watch_findings.h - the findings printed so far: each is printed once, and withdrawn if a later evaluation lacks it.
 */
#ifndef ASSAY_CLI_WATCH_FINDINGS_H
#define ASSAY_CLI_WATCH_FINDINGS_H

#include "engine/engine.h"
#include "report/text/draw.h"

typedef struct told_finding {
    uint32_t trial;
    const assay_instance *rule; /* borrowed */
    int64_t step;
    uint64_t evaluation; /* the last that had it */
    bool told;           /* and not taken back */
} told_finding;

typedef struct watch_findings {
    assay_dict *lines;  /* trial, step, rule, worker, tensor, test of each, as printed */
    told_finding *list; /* [lines] */
    size_t room;
    uint64_t evaluation;
    uint64_t severe; /* findings told so far of a severity of at least `least` */
    int least;       /* assay_severity */
    assay_draw style;
    const assay_draw *draw; /* NULL: no terminal, and columns between tabs for programs */
} watch_findings;

/* 0 or ASSAY_ENOMEM. */
int watch_findings_init(watch_findings *findings, int least);
void watch_findings_release(watch_findings *findings);

/* Prints a line on standard output for every finding of the outcome that was not told of yet, and for every one told of
 * that it has no more; docs/watch.md has the columns. On a terminal a line is for people. On rank 0. ASSAY_ENOMEM,
 * ASSAY_EIO. */
int watch_findings_tell(watch_findings *findings, const assay_outcome *outcome, assay_error *err);

#endif
