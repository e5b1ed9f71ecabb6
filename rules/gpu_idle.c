/* gpu_idle.c - GpuIdle: the GPU of a rank stood idle for too large a share of the time.
 *
 * Per rank with activities of a GPU: the time from the first to the end of the last one in which a GPU ran nothing.
 * Fires when it exceeds `share` of that time, and min_seconds. See alone.h. */
#include "alone.h"

static const assay_param_def params[] = {
    ALONE_PARAMS("0.25", "A GPU is idle if it runs nothing for this share of the time."),
    {0},
};

static int64_t time_of(const assay_trace_alone *alone)
{
    return alone->figures.idle;
}

static void evaluate(traced *t)
{
    alone_evaluate(t, time_of, true);
}

TRACED_FINALIZE(evaluate)

const assay_rule_ops assay_rule_gpu_idle = {
    ASSAY_RULE_HEAD,
    .name = "GpuIdle",
    .summary = "The GPU of a rank stood idle for too large a share of the time.",
    .advice = "The finding's cause says what it waited for: input, sync, host or queued.",
    .remedies = ASSAY_TEXTS(
        "See the rule for the cause: InputBound, LaunchBound.",
        "Cause sync: take out .item(), print of tensors and other waits for the device within the step.",
        "Cause queued: kernels wait for one another or are too short; larger batches, fused kernels, CUDA graphs."),
    .value_units = ASSAY_TEXTS("of the time"),
    .sentences = ASSAY_TEXTS("the GPU of {worker} stood idle for {percent} of the time{note}"),
    .params = params,
    TRACED_RULE_STATE,
    .finalize = finalize,
};
