/* launch_bound.c - LaunchBound: the host of a rank launches kernels more slowly than the GPU runs them.
 *
 * Per rank with activities of a GPU: the time from the first to the end of the last one in which the host launched too slowly.
 * Fires when it exceeds `share` of that time, and min_seconds. See alone.h. */
#include "alone.h"

static const assay_param_def params[] = {
    ALONE_PARAMS("0.2", "A rank is bound by launches if its GPU waits for the host for this share of the time."),
    {0},
};

static int64_t time_of(const assay_trace_alone *alone)
{
    return alone->idle[ASSAY_CAUSE_HOST];
}

static void evaluate(traced *t)
{
    alone_evaluate(t, time_of, false);
}

TRACED_FINALIZE(evaluate)

const assay_rule_ops assay_rule_launch_bound = {
    ASSAY_RULE_HEAD,
    .name = "LaunchBound",
    .summary = "The host of a rank launches kernels more slowly than the GPU runs them.",
    .advice = "Launch less: larger batches, fused kernels, torch.compile, CUDA graphs.",
    .remedies =
        ASSAY_TEXTS("Use torch.compile or CUDA graphs, so that one launch starts many kernels.",
                    "Take larger batches, or fuse small operators.",
                    "Look for work in Python between launches: logging, metrics, other processes on the cores."),
    .value_units = ASSAY_TEXTS("of the time"),
    .sentences = ASSAY_TEXTS("the GPU of {worker} waited {percent} of the time for launches by the host"),
    .params = params,
    TRACED_RULE_STATE,
    .finalize = finalize,
};
