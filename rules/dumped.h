/* dumped.h - what the rules over dumps of flight recorders have in common: they map nothing, and look at who hung
 * (assay/hang.h) when they finalize. */
#pragma once

#include <string.h>

#include <assay/hang.h>
#include <assay/rule.h>
#include <assay/timeline.h>

/* A default, checked by the parser; files older than that are left over from an earlier attempt. */
#define DUMPED_PARAMS                                                                                                  \
    ASSAY_REAL_PARAM(                                                                                                  \
        "max_age_seconds", "3600", 0, 1e9,                                                                             \
        "A dump whose newest entry is this much older than that of most others is left over from before."),

typedef struct dumped_finding {
    uint32_t order, test;
    int64_t rank; /* -1: a whole group */
    double value;
    void (*put)(const void *what, assay_buf *out); /* its members in JSON */
    const void *what;
    const char *text;
} dumped_finding;

/* As assay_hang_put_cause() and assay_hang_put_mismatch(). */
void dumped_put_cause(const void *cause, assay_buf *out);
void dumped_put_mismatch(const void *mismatch, assay_buf *out);
/* Adds a finding; `counted`: it is a datapoint of its own. Findings come in their order: what is not kept of them is not
 * made, for each may name all ranks. 0 or ASSAY_ENOMEM. */
int dumped_add(const assay_rule *rule, assay_findings *findings, bool counted, const dumped_finding *finding);

/* For a rule's ops. `find` gets what the dumps come to, and adds findings: 0 or ASSAY_ENOMEM. */
typedef int dumped_find(const assay_rule *rule, const assay_hang *hang, assay_verdict *verdict);
int dumped_finalize(const assay_rule *rule, assay_verdict *verdict, dumped_find *find, assay_error *err);
int dumped_setup(const assay_params *params, assay_need *need, void **data, assay_error *err);
int dumped_map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err);

/* Defines the rule's finalize(): `function` tests its dumps as a whole. */
#define DUMPED_FINALIZE(function)                                                                                      \
    static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)           \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        return dumped_finalize(rule, verdict, function, err);                                                          \
    }

#define DUMPED_RULE_STATE                                                                                              \
    .traits = ASSAY_RULE_TIMELINE | ASSAY_RULE_DUMPS | ASSAY_RULE_POOLS, .setup = dumped_setup, .map = dumped_map,     \
    ASSAY_COMMON_STATE
