/* instance.h - the registry of rules, and a rule that a job configured: parameters parsed, needs declared. */
#pragma once

#include <assay/rule.h>

#include "base/json.h"
#include "base/nearest.h"
#include "rule/need.h"

/* Adds a rule, or an aggregation (trait ASSAY_RULE_AGGREGATION): the two have names of their own, so that "confusion"
 * may be both. ASSAY_EUSAGE when its abi or size is not ours, a function is missing, a parameter's default is no value
 * of it, or the name is taken. The ops must outlive the program's use of the registry. Call before any job is
 * read. */
int assay_rule_register(const assay_rule_ops *ops, assay_error *err);
/* Adds every built-in rule and aggregation once; later calls do nothing. Defined in rules/builtin.c (library
 * assay_rules). */
int assay_rule_register_builtin(assay_error *err);
/* A rule by either name style ("DeadRelu", "dead_relu"); NULL when unknown. */
const assay_rule_ops *assay_rule_find(const char *name);
/* An aggregation by its kind ("class_counts", "confusion"); NULL when unknown. */
const assay_rule_ops *assay_aggregation_find(const char *kind);
/* The hint for a name that none of them has, see assay_nearest_hint(). */
const char *assay_rule_hint(const char *name, bool aggregation, char room[ASSAY_NEAREST_ROOM]);
/* The i-th of all, rules first, each in byte order of name; NULL behind the last. */
const assay_rule_ops *assay_rule_at(size_t i);
/* "vanishing_gradient" for "VanishingGradient"; writes at most `room` bytes. */
void assay_rule_snake_name(const char *name, char *out, size_t room);

typedef enum assay_severity { ASSAY_INFO, ASSAY_WARNING, ASSAY_ERROR } assay_severity;
/* "info", "warning" or "error"; "" for other numbers. */
const char *assay_severity_name(int severity);

/* One entry of the job's rules (or aggregations). A bad one is kept with its status and text: it is reported as
 * Error. */
typedef struct assay_instance {
    char *name;                /* owned */
    char *rule_name;           /* as the job gave it; owned */
    const assay_rule_ops *ops; /* NULL: unknown rule */
    assay_severity severity;
    assay_params *params; /* owned; NULL after a failure */
    assay_need *need;     /* owned; NULL after a failure */
    void *data;
    int64_t start_step, end_step;
    bool is_python; /* the job names it as FILE:CLASS, whether it could be loaded or not */
    bool optional;  /* may have no data: one of a set of which a trial takes what it has data for */
    char *worker;   /* only this one; NULL: all; owned */
    int status;     /* ASSAY_OK or why it cannot run */
    assay_error error;
    size_t line, column; /* in the job file, of what is wrong; 0: unknown */
} assay_instance;

/* Configures a rule. `parameters` is a JSON object of texts, numbers, booleans and lists (borrowed), or NULL. What is
 * wrong with the rule or its parameters goes into the instance (status, error), not into the return value, which is 0
 * or ASSAY_ENOMEM. */
int assay_instance_new(const char *name, const char *rule_name, assay_severity severity, const cJSON *parameters,
                       assay_instance **out);
/* The same for a rule in Python, "FILE:CLASS" (rule/python_rule.h). */
int assay_instance_new_python(const char *name, const char *place, assay_severity severity, const cJSON *parameters,
                              assay_instance **out);
/* The same for an entry of the job's aggregations. */
int assay_instance_new_aggregation(const char *name, const char *kind, const cJSON *parameters, assay_instance **out);
/* Frees an instance of any of these; NULL is nothing. */
void assay_instance_free(assay_instance *instance);
/* Makes an instance that was configured one that was not, for a reason that showed later. */
void assay_instance_fail(assay_instance *instance, int status, const char *text);
/* All parameters with their values, defaults included, as a JSON object. */
void assay_instance_put_parameters(const assay_instance *instance, assay_buf *out);
