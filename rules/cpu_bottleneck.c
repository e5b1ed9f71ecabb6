/* cpu_bottleneck.c - CPUBottleneck: GPUs idle while a core is saturated, for too large a share of the time. See
 * bottleneck.h. */
#include "bottleneck.h"

static const assay_param_def params[] = {CPU_BOTTLENECK_PARAMS(TIMED_OWN){0}};

void cpu_bottleneck_evaluate(timed *t)
{
    bottleneck_evaluate(t, ASSAY_METRIC_CPU, "cpu_threshold");
}

TIMED_FINALIZE(cpu_bottleneck_evaluate)

const assay_rule_ops assay_rule_cpu_bottleneck = {
    ASSAY_RULE_HEAD,
    .name = "CPUBottleneck",
    .summary = "GPUs idle while a core is saturated, for too large a share of the time.",
    .advice = "More loader processes, prefetching, or less work on the CPU for each sample.",
    .value_units = ASSAY_TEXTS("% of the snapshots"),
    .sentences = ASSAY_TEXTS("GPUs of {worker} waited for a busy CPU core at {when}"),
    .params = params,
    TIMED_RULE_STATE,
    .finalize = finalize,
};
