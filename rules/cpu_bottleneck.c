/* cpu_bottleneck.c - CPUBottleneck: GPUs idle while a core is saturated, for too large a share of the time. See
 * bottleneck.h. */
#include "bottleneck.h"

static const assay_param_def params[] = {CPU_BOTTLENECK_PARAMS(TIMED_OWN){0}};

void cpu_bottleneck_evaluate(timed *t)
{
    bottleneck_evaluate(t, ASSAY_METRIC_CPU, "cpu_threshold");
}

TIMED_FINALIZE(cpu_bottleneck_evaluate)

static const char *const value_units[] = {"% of the snapshots", NULL};

static const char *const sentences[] = {"GPUs of {worker} waited for a busy CPU core at {when}", NULL};

const assay_rule_ops assay_rule_cpu_bottleneck = {
    .abi = ASSAY_RULE_ABI,
    .size = sizeof(assay_rule_ops),
    .name = "CPUBottleneck",
    .summary = "GPUs idle while a core is saturated, for too large a share of the time.",
    .advice = "More loader processes, prefetching, or less work on the CPU for each sample.",
    .value_units = value_units,
    .sentences = sentences,
    .params = params,
    TIMED_RULE_STATE,
    .finalize = finalize,
};
