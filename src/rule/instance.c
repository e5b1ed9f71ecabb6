/* instance.c - configures a rule from an entry of the job: parameters, needs, step range. */
#include "rule/instance.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "rule/params.h"
#include "rule/python_rule.h"

const char *assay_severity_name(int severity)
{
    static const char *const names[] = {"info", "warning", "error"};
    return severity >= ASSAY_INFO && severity <= ASSAY_ERROR ? names[severity] : "";
}

void assay_instance_free(assay_instance *instance)
{
    if (!instance)
        return;
    if (instance->data && instance->ops && instance->ops->data_free)
        instance->ops->data_free(instance->data);
    assay_need_free(instance->need);
    assay_params_free(instance->params);
    free(instance->worker);
    free(instance->name);
    free(instance->rule_name);
    free(instance);
}

/* The setup's message names the parameter; the rule's name goes in front. */
static int run_setup(assay_instance *instance)
{
    /* Called when a rule cannot be set up. Its message gets the rule's name in front unless it begins with it. */
    assay_error detail = {{0}};
    int status = instance->ops->setup(instance->params, instance->need, &instance->data, &detail);
    if (status && strncmp(detail.text, instance->ops->name, strlen(instance->ops->name)) == 0)
        instance->error = detail;
    else if (status)
        assay_fail(&instance->error, status, "%s: %.400s", instance->ops->name, detail.text);
    return status;
}

static int configure(assay_instance *instance, const cJSON *parameters)
{
    int status = assay_params_new(instance->ops, parameters, &instance->params, &instance->error);
    if (status)
        return status;
    /* Rules over time have no steps of their own (params.c, common_in_time). */
    if (!(instance->ops->traits & ASSAY_RULE_TIMELINE)) { /* those look for the worker themselves */
        instance->start_step = assay_param_int(instance->params, "start_step");
        if (assay_param_has(instance->params, "end_step"))
            instance->end_step = assay_param_int(instance->params, "end_step");
        const char *worker = assay_param_text(instance->params, "worker");
        if (worker && !(instance->worker = assay_copy_text(worker)))
            return ASSAY_ENOMEM;
    }
    instance->need = assay_need_new(instance->params);
    return instance->need ? run_setup(instance) : ASSAY_ENOMEM;
}

/* Nobody shall run it by mistake. Only name, severity and message are left of a rule that failed: the report needs
 * those. */
static void disable(assay_instance *instance)
{
    if (instance->data && instance->ops->data_free)
        instance->ops->data_free(instance->data);
    instance->data = NULL;
    assay_need_free(instance->need);
    assay_params_free(instance->params);
    instance->need = NULL;
    instance->params = NULL;
}

void assay_instance_fail(assay_instance *instance, int status, const char *text)
{
    if (instance->status != ASSAY_OK)
        return;
    instance->status = assay_fail(&instance->error, status, "%s", text);
    disable(instance);
}

typedef enum rule_origin { REGISTERED_RULE, REGISTERED_AGGREGATION, RULE_IN_PYTHON } rule_origin;

static int unknown_rule(assay_instance *instance, bool aggregation)
{
    char hint[ASSAY_NEAREST_ROOM];
    return assay_fail(&instance->error, ASSAY_EPARAM, "there is no %s \"%.60s\"%s; `assay rules` lists those there are",
                      aggregation ? "kind of aggregation" : "rule", instance->rule_name,
                      assay_rule_hint(instance->rule_name, aggregation, hint));
}

/* Finds the rule that instance->rule_name names. */
static int find_ops(assay_instance *instance, rule_origin origin)
{
    if (origin == RULE_IN_PYTHON)
        return assay_python_rule_load(instance->rule_name, &instance->ops, &instance->error);
    const bool aggregation = origin == REGISTERED_AGGREGATION;
    instance->ops = aggregation ? assay_aggregation_find(instance->rule_name) : assay_rule_find(instance->rule_name);
    return instance->ops ? ASSAY_OK : unknown_rule(instance, aggregation);
}

/* ASSAY_ENOMEM alone leaves no instance. A rule that cannot be configured is an instance with a status, so that the
 * job goes on with the others. */
static int new_instance(const char *name, const char *rule_name, assay_severity severity, const cJSON *parameters,
                        rule_origin origin, assay_instance **out)
{
    assay_instance *instance = assay_alloc_zeroed(1, sizeof *instance);
    ASSAY_HAVE(instance);
    instance->severity = severity;
    instance->end_step = INT64_MAX;
    instance->is_python = origin == RULE_IN_PYTHON;
    instance->name = assay_copy_text(name);
    instance->rule_name = assay_copy_text(rule_name);
    int status = instance->name && instance->rule_name ? ASSAY_OK : ASSAY_ENOMEM;
    ASSAY_THEN(status, find_ops(instance, origin));
    ASSAY_THEN(status, configure(instance, parameters));
    if (status == ASSAY_ENOMEM) {
        assay_instance_free(instance);
        return status;
    }
    instance->status = status;
    if (status)
        disable(instance);
    *out = instance;
    return ASSAY_OK;
}

int assay_instance_new(const char *name, const char *rule_name, assay_severity severity, const cJSON *parameters,
                       assay_instance **out)
{
    return new_instance(name, rule_name, severity, parameters, REGISTERED_RULE, out);
}

int assay_instance_new_python(const char *name, const char *place, assay_severity severity, const cJSON *parameters,
                              assay_instance **out)
{
    return new_instance(name, place, severity, parameters, RULE_IN_PYTHON, out);
}

int assay_instance_new_aggregation(const char *name, const char *kind, const cJSON *parameters, assay_instance **out)
{
    return new_instance(name, kind, ASSAY_INFO, parameters, REGISTERED_AGGREGATION, out);
}

void assay_instance_put_parameters(const assay_instance *instance, assay_buf *out)
{
    if (instance->params)
        assay_params_put(instance->params, out);
    else
        assay_put_format(out, "{}");
}
