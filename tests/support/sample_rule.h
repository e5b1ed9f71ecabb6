/* sample_rule.h - a rule and an aggregation with a parameter of every type, for tests of jobs and reports. */
#ifndef ASSAY_TESTS_SAMPLE_RULE_H
#define ASSAY_TESTS_SAMPLE_RULE_H

#include "rule/instance.h"

static const assay_param_def sample_params[] = {
    {.name = "flag", .type = ASSAY_PARAM_BOOL, .initial = "False", .help = "A truth."},
    {.name = "count", .type = ASSAY_PARAM_INT, .initial = "3", .least = 1, .most = 100, .help = "A number."},
    {.name = "limit", .type = ASSAY_PARAM_REAL, .initial = "0.5", .least = 0, .most = 1, .help = "A share."},
    {.name = "text", .type = ASSAY_PARAM_TEXT, .help = "A text."},
    {.name = "names", .type = ASSAY_PARAM_LIST, .help = "Some texts."},
    {.name = "numbers", .type = ASSAY_PARAM_REALS, .help = "Some numbers."},
    {.name = "tensor_regex", .type = ASSAY_PARAM_REGEX, .initial = ".*", .help = "Some patterns."},
    {.name = "form", .type = ASSAY_PARAM_CHOICE, .initial = "wide", .choices = "wide|narrow", .help = "A choice."},
    {0},
};

static int sample_setup(const assay_params *params, assay_need *need, void **data, assay_error *err)
{
    (void)params;
    (void)data;
    int slot = assay_need_slot(need, &(assay_slot){.regexes = "tensor_regex"}, err);
    return slot < 0 ? slot : ASSAY_OK;
}

static int sample_map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    (void)rule;
    (void)state;
    (void)view;
    (void)err;
    return ASSAY_OK;
}

static const char *const sample_tests[] = {"first", "second", NULL};

static const assay_rule_ops sample_rule = {.abi = ASSAY_RULE_ABI,
                                           .size = sizeof(assay_rule_ops),
                                           .name = "SampleRule",
                                           .summary = "Tests something.",
                                           .advice = "Do something.",
                                           .params = sample_params,
                                           .tests = sample_tests,
                                           .setup = sample_setup,
                                           .map = sample_map,
                                           ASSAY_COMMON_STATE};

static const assay_rule_ops sample_aggregation = {.abi = ASSAY_RULE_ABI,
                                                  .size = sizeof(assay_rule_ops),
                                                  .name = "sample_counts",
                                                  .summary = "Counts something.",
                                                  .params = sample_params,
                                                  .traits = ASSAY_RULE_AGGREGATION,
                                                  .setup = sample_setup,
                                                  .map = sample_map,
                                                  ASSAY_COMMON_STATE};

/* Registers both; 0 or a negative status. */
static inline int sample_register(assay_error *err)
{
    int status = assay_rule_register(&sample_rule, err);
    return status == ASSAY_OK ? assay_rule_register(&sample_aggregation, err) : status;
}

#endif
