/* Any bytes as what the process of a rule answers: the table of its module, its needs, its verdict; what a rule in
 * Python found at a step. Refused, or what the program can go on with. */
#include <stdlib.h>
#include <string.h>

#include "rule/params.h"
#include "rule/process_pack.h"
#include "rule/python_pack.h"
#include "rule/trial_info.h"
#include "rule/verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

static void read_table(assay_cursor in)
{
    uint32_t count = assay_get_u32(&in);
    for (uint32_t i = 0; i < count && i < ASSAY_MODULE_RULES; i++) {
        assay_rule_ops ops;
        unsigned has;
        int status = assay_rule_table_next(&in, &ops, &has);
        bool ours = status == ASSAY_OK && ops.abi == ASSAY_RULE_ABI && ops.size == sizeof ops;
        for (size_t k = 0; ours && ops.params && ops.params[k].name; k++)
            must((unsigned)ops.params[k].type <= ASSAY_PARAM_CHOICE);
        assay_rule_table_free(&ops);
        if (status != ASSAY_OK)
            return;
    }
}

static void read_need(const assay_instance *instance, assay_cursor in)
{
    assay_need *need = assay_need_new(instance->params);
    must(need != NULL);
    if (assay_need_unpack(&in, need, NULL) == ASSAY_OK)
        for (uint32_t i = 0; i < need->measure_count; i++)
            must(need->measure_slot[i] < need->slot_count && need->slots[need->measure_slot[i]].kinds);
    assay_need_free(need);
}

static void read_verdict(const assay_instance *instance, assay_cursor in)
{
    static assay_catalog catalog;
    assay_trial trial = {.catalog = &catalog, .tensors = assay_dict_new()};
    assay_rule rule = {.ops = instance->ops, .params = instance->params, .trial = &trial};
    assay_verdict verdict;
    must(trial.tensors && assay_verdict_init(&verdict, ASSAY_MAX_FINDINGS) == ASSAY_OK);
    if (assay_verdict_unpack(&in, &rule, &verdict, NULL) == ASSAY_OK)
        for (size_t i = 0; i < verdict.findings->kept; i++)
            must(verdict.findings->list[i].test == 0);
    assay_verdict_release(&verdict);
    assay_dict_free(trial.tensors);
}

static void read_step(assay_cursor in)
{
    static assay_catalog catalog;
    assay_trial trial = {.catalog = &catalog, .tensors = assay_dict_new()};
    assay_findings *findings = assay_findings_new(ASSAY_MAX_FINDINGS);
    assay_python_answer answer;
    must(trial.tensors && findings);
    if (assay_python_answer_read(&in, &trial, 7, findings, &answer, NULL) == ASSAY_OK) {
        must(findings->total <= ASSAY_PYTHON_FINDINGS && findings->datapoints >= findings->total);
        for (size_t i = 0; i < findings->kept; i++)
            must(findings->list[i].tensor == ASSAY_NO_TENSOR && findings->list[i].worker == ASSAY_ALL_WORKERS);
    }
    assay_findings_free(findings);
    assay_dict_free(trial.tensors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static assay_instance *instance;
    if (!instance) {
        must(assay_rule_register_builtin(NULL) == ASSAY_OK);
        must(assay_instance_new("f", "AllZero", ASSAY_WARNING, NULL, &instance) == ASSAY_OK);
    }
    if (size == 0)
        return 0;
    assay_cursor in = assay_cursor_over(data + 1, size - 1);
    switch (data[0] % 4) {
    case 0:
        read_table(in);
        break;
    case 1:
        read_need(instance, in);
        break;
    case 2:
        read_verdict(instance, in);
        break;
    default:
        read_step(in);
        break;
    }
    return 0;
}
