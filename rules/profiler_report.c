/* profiler_report.c - ProfilerReport: all other rules that look at time at once. Fires once for each that fires. */
#include <inttypes.h>

#include "timed.h"

static const assay_param_def params[] = {
    {.name = "opt_out_telemetry",
     .type = ASSAY_PARAM_BOOL,
     .flags = ASSAY_PARAM_QUIET,
     .help = "Taken over from SageMaker's jobs and ignored: assay sends nothing."},
    BATCH_SIZE_PARAMS(TIMED_OTHERS) CPU_BOTTLENECK_PARAMS(TIMED_OTHERS) IO_BOTTLENECK_PARAMS(TIMED_OTHERS)
        GPU_MEMORY_INCREASE_PARAMS(TIMED_OTHERS) LOW_GPU_UTILIZATION_PARAMS(TIMED_OTHERS)
            LOAD_BALANCING_PARAMS(TIMED_OTHERS) MAX_INITIALIZATION_TIME_PARAMS(TIMED_OTHERS)
                STEP_OUTLIER_PARAMS(TIMED_OTHERS) DATALOADER_PARAMS(TIMED_OTHERS){0}};

/* In the order of the summary. */
static const struct {
    const assay_rule_ops *ops;
    const char *prefix;
    timed_evaluate *evaluate;
} rules[] = {
    {&assay_rule_cpu_bottleneck, "CPUBottleneck_", cpu_bottleneck_evaluate},
    {&assay_rule_io_bottleneck, "IOBottleneck_", io_bottleneck_evaluate},
    {&assay_rule_low_gpu_utilization, "LowGPUUtilization_", low_gpu_utilization_evaluate},
    {&assay_rule_step_outlier, "StepOutlier_", step_outlier_evaluate},
    {&assay_rule_gpu_memory_increase, "GPUMemoryIncrease_", gpu_memory_increase_evaluate},
    {&assay_rule_batch_size, "BatchSize_", batch_size_evaluate},
    {&assay_rule_max_initialization_time, "MaxInitializationTime_", max_initialization_time_evaluate},
    {&assay_rule_load_balancing, "LoadBalancing_", load_balancing_evaluate},
    {&assay_rule_overall_system_usage, "OverallSystemUsage_", overall_system_usage_evaluate},
    {&assay_rule_dataloader, "Dataloader_", dataloader_evaluate},
    {&assay_rule_overall_framework_metrics, "OverallFrameworkMetrics_", overall_framework_metrics_evaluate},
};
enum { RULES = sizeof rules / sizeof *rules };

/* The place of a rule's name among all of them, in natural order. */
static uint64_t order_of(size_t rule)
{
    uint64_t order = 0;
    for (size_t i = 0; i < RULES; i++)
        order += assay_natural_order(rules[i].ops->name, rules[rule].ops->name) < 0;
    return order;
}

static void add_rule(timed *t, size_t i, const timed *one)
{
    const char *status = one->findings > 0 ? "IssuesFound" : one->datapoints > 0 ? "NoIssuesFound" : "NoData";
    assay_put_format(&t->details,
                     "%s{\"rule\": \"%s\", \"status\": \"%s\", \"samples\": %" PRIu64 ", \"datapoints\": %" PRIu64
                     ", \"triggered\": %zu}",
                     i ? ", " : "", rules[i].ops->name, status, one->samples, one->datapoints, one->findings);
    t->samples += one->samples;
    if (one->datapoints == 0) {
        assay_put_format(&t->silent, "%s%s", t->untested++ ? ", " : "", rules[i].ops->name);
        return;
    }
    const timed_finding *first = one->findings > 0 ? &one->finding[0] : NULL;
    const timed_finding finding = {.time = first ? first->time : 0,
                                   .slice = first ? first->slice : 0,
                                   .order = order_of(i),
                                   .worker = "*",
                                   .unit = rules[i].ops->name,
                                   .value = (double)one->findings};
    timed_test(t, first != NULL, &finding);
}

static void evaluate(timed *t)
{
    const assay_rule *rule = t->rule;
    assay_put_format(&t->details, "{\"rules\": [");
    for (size_t i = 0; i < RULES && t->status == ASSAY_OK; i++) {
        timed one;
        t->status = timed_run(rule, rules[i].ops, rules[i].prefix, rules[i].evaluate, &one);
        if (t->status == ASSAY_OK)
            add_rule(t, i, &one);
        timed_release(&one);
    }
    assay_put_format(&t->details, "]}");
}

TIMED_FINALIZE(evaluate)

const assay_rule_ops assay_rule_profiler_report = {
    ASSAY_RULE_HEAD,
    .name = "ProfilerReport",
    .summary = "Runs all other rules over profiler data at once; fires once for each that fires.",
    .advice = "See the rules that fired: each says what to do.",
    .value_units = ASSAY_TEXTS("finding(s)"),
    .params = params,
    TIMED_RULE_STATE,
    .finalize = finalize,
};
