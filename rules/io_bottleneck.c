/* io_bottleneck.c - IOBottleneck: GPUs idle while a core waits for I/O, for too large a share of the time. See
 * bottleneck.h. */
#include "bottleneck.h"

static const assay_param_def params[] = {IO_BOTTLENECK_PARAMS(TIMED_OWN){0}};

void io_bottleneck_evaluate(timed *t)
{
    bottleneck_evaluate(t, ASSAY_METRIC_IO_WAIT, "io_threshold");
}

TIMED_FINALIZE(io_bottleneck_evaluate)

static const char *const value_units[] = {"% of the snapshots", NULL};

static const char *const sentences[] = {"GPUs of {worker} waited for I/O at {when}", NULL};

const assay_rule_ops assay_rule_io_bottleneck = {
    .abi = ASSAY_RULE_ABI,
    .size = sizeof(assay_rule_ops),
    .name = "IOBottleneck",
    .summary = "GPUs idle while cores wait for I/O, for too large a share of the time.",
    .advice = "Prefetch, take larger or binary files, or faster storage.",
    .value_units = value_units,
    .sentences = sentences,
    .params = params,
    TIMED_RULE_STATE,
    .finalize = finalize,
};
