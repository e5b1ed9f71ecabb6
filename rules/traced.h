/* traced.h - what the rules that look at traces have in common. Such a rule maps nothing: it tests on one rank what the
 * traces of all came to (trace/trace.h). */
#pragma once

#include <assay/rule.h>
#include <assay/traces.h>

/* A rule while it is evaluated. */
typedef struct traced {
    const assay_rule *rule;
    const assay_trace_data *data; /* never NULL */
    assay_verdict *verdict;
    assay_findings *findings;
    const char *worker; /* NULL: all */
    int64_t from, to;   /* steps; to: ASSAY_NO_TIME without an end */
    uint64_t datapoints;
    assay_buf extra; /* further members of the finding that is tested next */
    uint32_t order;
    int status;
} traced;

typedef void traced_evaluate(traced *t);

/* For a rule's ops. */
int traced_setup(const assay_params *params, assay_need *need, void **data, assay_error *err);
int traced_map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err);
int traced_finalize(const assay_rule *rule, assay_verdict *verdict, traced_evaluate *evaluate, assay_error *err);

/* Does the rule look at the step, by its number, or at the rank? */
bool traced_sees_step(const traced *t, int64_t step);
/* The same of a rank. */
bool traced_sees_rank(const traced *t, int32_t rank);
/* Begins the members that follow those of the next finding, and appends some. */
void traced_extra(traced *t);
/* A whole number. */
void traced_put_integer(traced *t, const char *key, int64_t value);
/* NaN is null. */
void traced_put_number(traced *t, const char *key, double value);
/* A text, quoted. */
void traced_put_text(traced *t, const char *key, const char *text);
/* The name of a group and its ranks, the first 1024 of them. */
void traced_put_group(traced *t, uint32_t group);

typedef struct traced_finding {
    int64_t step; /* its number; ASSAY_NO_TIME: all */
    int32_t rank; /* -1: "*" */
    uint32_t test;
    double value, threshold;
    const char *note; /* NULL: none */
} traced_finding;
/* "group 3, ranks 0, 1, 2 and 5 more" into a room of that many bytes; returns it. */
const char *traced_group_in_words(const traced *t, uint32_t group, char *room, size_t size);
/* One datapoint, and a finding with what was written behind it if it fired. */
void traced_test(traced *t, bool fired, const traced_finding *finding);

/* Defines the rule's finalize(): `function` tests its traces as a whole. */
#define TRACED_FINALIZE(function)                                                                                      \
    static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)           \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        return traced_finalize(rule, verdict, function, err);                                                          \
    }

#define TRACED_RULE_STATE                                                                                              \
    .traits = ASSAY_RULE_TIMELINE | ASSAY_RULE_TRACES | ASSAY_RULE_POOLS, .setup = traced_setup, .map = traced_map,    \
    ASSAY_COMMON_STATE
