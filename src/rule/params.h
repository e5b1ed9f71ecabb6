/* params.h - the parameters of one configured rule: parsed, checked, defaults filled in. */
#pragma once

#include <assay/rule.h>

#include "base/json.h"

typedef struct assay_param_value {
    bool has, given;
    bool truth;      /* BOOL */
    int64_t integer; /* INT */
    double real;     /* REAL */
    char **item;     /* TEXT, CHOICE: one; LIST, REGEX: count; owned */
    double *number;  /* REALS: count; owned */
    size_t count;
} assay_param_value;

struct assay_params {
    const assay_rule_ops *ops;
    assay_param_value *value; /* by the number of the definition */
    size_t count;             /* the rule's own definitions and the common ones */
};

/* The i-th definition of a rule: its own in their order, then start_step, end_step and worker, or those of rules that
 * look at time; NULL behind the last. */
const assay_param_def *assay_params_def(const assay_rule_ops *ops, size_t i);

/* Parses `given`, a JSON object of texts, numbers, booleans and lists, or NULL. ASSAY_EPARAM with a message that names
 * rule, parameter and value; ASSAY_ENOMEM. Free with assay_params_free(). */
int assay_params_new(const assay_rule_ops *ops, const cJSON *given, assay_params **out, assay_error *err);
void assay_params_free(assay_params *params);
/* All values as one JSON object, in the order of the definitions; what has no value is null. */
void assay_params_put(const assay_params *params, assay_buf *out);

/* Fills *value from a JSON item, or from a text in SageMaker's string form. `value` is zeroed by the caller, who
 * releases it in any case. The message of a failure says what the value should be, without naming rule or parameter. */
int assay_param_from_json(const assay_param_def *def, const cJSON *item, assay_param_value *value, assay_error *err);
int assay_param_from_text(const assay_param_def *def, const char *text, assay_param_value *value, assay_error *err);
void assay_param_release(assay_param_value *value);
