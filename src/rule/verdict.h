/* verdict.h - the results of finalize: findings, message, extra JSON and text, and the status that follows. */
#pragma once

#include <assay/rule.h>

#include "rule/instance.h"

typedef enum assay_verdict_status {
    ASSAY_ISSUES_FOUND,
    ASSAY_NO_ISSUES_FOUND,
    ASSAY_NO_DATA,
    ASSAY_RULE_ERROR
} assay_verdict_status;
const char *assay_verdict_status_name(int status); /* "IssuesFound", ... */

struct assay_findings {
    assay_finding *list; /* sorted by (step, order of computation of the tensor, worker, test); cells and notes owned */
    const assay_trial *trial; /* knows that order; NULL: by tensor id; borrowed */
    size_t kept, room;
    size_t most; /* at most so many are kept: the job's maximum */
    uint64_t total, datapoints;
    int64_t *steps; /* ascending, each once: every step with a finding */
    size_t step_count, step_room;
    int status;
};
assay_findings *assay_findings_new(size_t most);
/* Sorts what is added from now on by the trial's order of computation; to be called while there is nothing. */
void assay_findings_order_by(assay_findings *f, const assay_trial *trial);
/* Frees findings; NULL is nothing. Then: adds those of later records, which keeps order and maximum for any cut of the
 * work; 0 or ASSAY_ENOMEM. As bytes for other ranks. */
void assay_findings_free(assay_findings *f);
int assay_findings_append(assay_findings *earlier, const assay_findings *later);
void assay_findings_pack(const assay_findings *f, assay_buf *out);
/* `trial` as of assay_findings_order_by(). Findings that were packed before the order was known in full (a trial that
 * grows) are sorted again. */
int assay_findings_unpack(assay_cursor *in, size_t most, const assay_trial *trial, assay_findings **out,
                          assay_error *err);

/* The most findings that a rule keeps. */
static inline size_t assay_rule_max_findings(const assay_rule *rule)
{
    return rule->max_findings > 0 ? rule->max_findings : ASSAY_MAX_FINDINGS;
}

struct assay_verdict {
    assay_verdict_status status;
    assay_findings *findings; /* owned */
    assay_buf message, json, text;
    assay_buf no_data; /* what the rule says of why it has nothing to test */
    size_t untested;   /* parts of the rule that had nothing to test, while others had */
};
/* An empty verdict that keeps at most `max_findings` findings. 0 or ASSAY_ENOMEM; release with assay_verdict_release().
 */
int assay_verdict_init(assay_verdict *v, size_t max_findings);
void assay_verdict_release(assay_verdict *v);

/* Runs finalize over the combined state of a configured rule: fills *v (initialised) and sets its status: issues found,
 * none found, no data where there is no datapoint, error. A failing finalize gives status Error and its text as
 * message. Returns 0 or ASSAY_ENOMEM. */
int assay_verdict_reach(const assay_rule *rule, const void *state, assay_verdict *v);
