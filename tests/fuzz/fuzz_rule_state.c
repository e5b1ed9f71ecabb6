/* Any bytes as a packed state of any rule: refused, or a state that packs again, joins with itself and comes to an end.
 */
#include <stdlib.h>

#include "rule/instance.h"
#include "rule/trial_info.h"
#include "rule/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void use_state(const assay_rule *rule, void *state)
{
    assay_buf bytes;
    assay_verdict verdict;
    assay_buf_init(&bytes, (size_t)1 << 28);
    must(rule->ops->pack(rule, state, &bytes) == ASSAY_OK);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    void *again = NULL;
    must(rule->ops->unpack(rule, &in, &again, NULL) == ASSAY_OK);
    must(rule->ops->combine(rule, state, again, NULL) == ASSAY_OK);
    rule->ops->state_free(again);
    must(assay_verdict_init(&verdict, ASSAY_MAX_FINDINGS) == ASSAY_OK);
    must(assay_verdict_reach(rule, state, &verdict) == ASSAY_OK);
    assay_verdict_release(&verdict);
    assay_buf_release(&bytes);
}

/* Takes the instance. */
static void try_instance(assay_instance *instance, const uint8_t *data, size_t size)
{
    static char worker[] = "worker_0";
    static char *workers[] = {worker};
    static assay_catalog catalog = {.worker = workers, .workers = 1, .expected_workers = 1};
    const assay_rule_ops *ops = instance->ops;
    assay_trial trial = {.catalog = &catalog, .tensors = assay_dict_new()};
    assay_rule rule = {
        .ops = ops, .params = instance->params, .data = instance->data, .trial = &trial, .end_step = INT64_MAX};
    assay_cursor in = assay_cursor_over(data, size);
    void *state = NULL;
    if (instance->status == ASSAY_OK && ops->unpack(&rule, &in, &state, NULL) == ASSAY_OK) {
        use_state(&rule, state);
        ops->state_free(state);
    }
    assay_dict_free(trial.tensors);
    assay_instance_free(instance);
}

static void try_rule(const assay_rule_ops *ops, const uint8_t *data, size_t size)
{
    assay_instance *instance = NULL;
    must(assay_instance_new("f", ops->name, ASSAY_WARNING, NULL, &instance) == ASSAY_OK);
    try_instance(instance, data, size);
}

/* The one aggregation with a state of its own. */
static void try_pictures(const uint8_t *data, size_t size)
{
    assay_instance *instance = NULL;
    cJSON *parameters = cJSON_CreateObject();
    must(cJSON_AddStringToObject(parameters, "tensor", "images") != NULL);
    must(assay_instance_new_aggregation("f", "wrong_predictions", parameters, &instance) == ASSAY_OK);
    try_instance(instance, data, size);
    cJSON_Delete(parameters);
}

/* Every rule that runs without parameters gets the bytes: most states differ in the width of their series alone. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool registered;
    if (!registered)
        must(assay_rule_register_builtin(NULL) == ASSAY_OK);
    registered = true;
    const assay_rule_ops *ops;
    for (size_t i = 0; (ops = assay_rule_at(i)); i++)
        if (!(ops->traits & ASSAY_RULE_AGGREGATION))
            try_rule(ops, data, size);
    try_pictures(data, size);
    return 0;
}
