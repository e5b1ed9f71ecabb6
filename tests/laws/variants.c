/* variants.c - finds parameters with which a rule runs, then varies each. */
#include "variants.h"

#include <math.h>
#include <string.h>

#include "rule/params.h"

assay_instance *configure(const assay_rule_ops *ops, const cJSON *parameters)
{
    assay_instance *instance = NULL;
    int status = ops->traits & ASSAY_RULE_AGGREGATION
                     ? assay_instance_new_aggregation("law", ops->name, parameters, &instance)
                     : assay_instance_new("law", ops->name, ASSAY_WARNING, parameters, &instance);
    return status ? NULL : instance;
}

static double some_real(const assay_param_def *def)
{
    if (def->least == 0 && def->most == 0)
        return 1;
    double x = def->least + fmin(1, (def->most - def->least) / 2);
    return x;
}

/* The k-th of "A|B|C"; NULL behind the last. */
static cJSON *some_choice(const char *at, int k)
{
    char choice[128] = "";
    while (at && k-- > 0)
        at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL;
    if (!at)
        return NULL;
    strncat(choice, at, strcspn(at, "|"));
    return cJSON_CreateString(choice);
}

/* A value that the definition allows; for choices the k-th, for others a smallish or a middling one. NULL behind the
 * last. */
static cJSON *some_value(const assay_param_def *def, int k)
{
    if (def->type == ASSAY_PARAM_CHOICE || (def->type == ASSAY_PARAM_TEXT && def->choices))
        return some_choice(def->choices, k);
    switch (def->type) {
    case ASSAY_PARAM_BOOL:
        return k < 2 ? cJSON_CreateBool(k) : NULL;
    case ASSAY_PARAM_INT:
        return k < 3 ? cJSON_CreateNumber(def->least + k * 3 + (def->flags & ASSAY_PARAM_ABOVE ? 1 : 0)) : NULL;
    case ASSAY_PARAM_REAL:
        return k == 0 ? cJSON_CreateNumber(some_real(def)) : k == 1 ? cJSON_CreateNumber(def->least + 1e-3) : NULL;
    case ASSAY_PARAM_REALS:
        return k == 0 ? cJSON_CreateString("0,1") : NULL;
    default:
        return k == 0 ? cJSON_CreateString("act.*") : NULL;
    }
}

static assay_instance *configured_or_null(const assay_rule_ops *ops, const cJSON *parameters, assay_error *err)
{
    assay_instance *instance = configure(ops, parameters);
    if (instance && instance->status) {
        *err = instance->error;
        assay_instance_free(instance);
        return NULL;
    }
    return instance;
}

/* The smallest set of values for parameters without a default with which the rule runs: none, one or two of them. */
static cJSON *find_base(const assay_rule_ops *ops, assay_error *err)
{
    size_t count = 0;
    while (assay_params_def(ops, count))
        count++;
    for (size_t i = 0; i <= count; i++)
        for (size_t k = 0; k <= i; k++) {
            cJSON *base = cJSON_CreateObject();
            const size_t chosen[] = {i, k};
            for (size_t c = 0; c < 2; c++) {
                const assay_param_def *def = chosen[c] ? assay_params_def(ops, chosen[c] - 1) : NULL;
                if (def && !def->initial && !cJSON_GetObjectItem(base, def->name))
                    cJSON_AddItemToObject(base, def->name, some_value(def, 0));
            }
            assay_instance *instance = configured_or_null(ops, base, err);
            if (instance) {
                assay_instance_free(instance);
                return base;
            }
            cJSON_Delete(base);
        }
    return NULL;
}

/* All whole numbers at their least and all shares low at once: what makes most rules fire. */
static assay_instance *eager(const assay_rule_ops *ops, const cJSON *base)
{
    cJSON *parameters = cJSON_Duplicate(base, 1);
    const assay_param_def *def;
    assay_error ignored;
    for (size_t i = 0; (def = assay_params_def(ops, i)); i++)
        if (def->initial && def->type == ASSAY_PARAM_INT && !cJSON_GetObjectItem(parameters, def->name))
            cJSON_AddItemToObject(parameters, def->name, some_value(def, 0));
    assay_instance *instance = configured_or_null(ops, parameters, &ignored);
    cJSON_Delete(parameters);
    return instance;
}

size_t variants_make(const assay_rule_ops *ops, assay_instance **out, assay_error *err)
{
    cJSON *base = find_base(ops, err);
    if (!base)
        return 0;
    size_t count = 0;
    out[count++] = configure(ops, base);
    assay_instance *busy = eager(ops, base);
    if (busy)
        out[count++] = busy;
    const assay_param_def *def;
    for (size_t i = 0; (def = assay_params_def(ops, i)); i++) {
        cJSON *value;
        for (int k = 0; strcmp(def->name, "worker") != 0 && (value = some_value(def, k)); k++) {
            cJSON *parameters = cJSON_Duplicate(base, 1);
            cJSON_DeleteItemFromObject(parameters, def->name);
            cJSON_AddItemToObject(parameters, def->name, value);
            assay_error ignored;
            assay_instance *instance = count < MOST_VARIANTS ? configured_or_null(ops, parameters, &ignored) : NULL;
            if (instance)
                out[count++] = instance;
            cJSON_Delete(parameters);
        }
    }
    cJSON_Delete(base);
    return count;
}
