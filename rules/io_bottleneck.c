/* io_bottleneck.c - IOBottleneck: GPUs idle while a core waits for I/O, for too large a share of the time. See
 * bottleneck.h. */
#include "bottleneck.h"

static const assay_param_def params[] = {IO_BOTTLENECK_PARAMS(TIMED_OWN){0}};

void io_bottleneck_evaluate(timed *t)
{
    bottleneck_evaluate(t, ASSAY_METRIC_IO_WAIT, "io_threshold");
}

TIMED_FINALIZE(io_bottleneck_evaluate)

const assay_rule_ops assay_rule_io_bottleneck = {
    ASSAY_RULE_HEAD,
    .name = "IOBottleneck",
    .summary = "GPUs idle while cores wait for I/O, for too large a share of the time.",
    .advice = "Prefetch, take larger or binary files, or faster storage.",
    .value_units = ASSAY_TEXTS("% of the snapshots"),
    .sentences = ASSAY_TEXTS("GPUs of {worker} waited for I/O at {when}"),
    .params = params,
    TIMED_RULE_STATE,
    .finalize = finalize,
};
