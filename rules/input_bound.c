/* input_bound.c - InputBound: the GPU of a rank waited for the data loader.
 *
 * Per rank with activities of a GPU: the time from the first to the end of the last one in which the GPU waited for the data loader.
 * Fires when it exceeds `share` of that time, and min_seconds. See alone.h. */
#include "alone.h"

static const assay_param_def params[] = {
    ALONE_PARAMS("0.1", "A rank is bound by input if its GPU waits for the data loader for this share of the time."),
    {0},
};

static int64_t time_of(const assay_trace_alone *alone)
{
    return alone->idle[ASSAY_CAUSE_INPUT];
}

static void evaluate(traced *t)
{
    alone_evaluate(t, time_of, false);
}

TRACED_FINALIZE(evaluate)

const assay_rule_ops assay_rule_input_bound = {
    ASSAY_RULE_HEAD,
    .name = "InputBound",
    .summary = "The GPU of a rank waited for the data loader.",
    .advice = "Load data faster: more workers, prefetching, a smaller or packed format, nearer storage.",
    .remedies = ASSAY_TEXTS("Give the DataLoader more workers (num_workers), pin_memory and prefetch_factor.",
                            "Move decoding and augmentation off the critical path, or to the GPU.",
                            "Look at the storage: many small files, a cold cache, a shared file system."),
    .value_units = ASSAY_TEXTS("of the time"),
    .sentences = ASSAY_TEXTS("{worker} waited {percent} of the time for input"),
    .params = params,
    TRACED_RULE_STATE,
    .finalize = finalize,
};
