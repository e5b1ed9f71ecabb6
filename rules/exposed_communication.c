/* exposed_communication.c - ExposedCommunication: a rank communicates while it computes nothing, for too large a share of the time.
 *
 * Per rank with activities of a GPU: the time from the first to the end of the last one in which the rank communicated and computed nothing; that is transfer and waiting for other ranks together.
 * Fires when it exceeds `share` of that time, and min_seconds. See alone.h. */
#include "alone.h"

static const assay_param_def params[] = {
    ALONE_PARAMS("0.2", "Communication is exposed if it covers this share of the time beside no computation."),
    {0},
};

static int64_t time_of(const assay_trace_alone *alone)
{
    return alone->figures.exposed_communication;
}

static void evaluate(traced *t)
{
    alone_evaluate(t, time_of, false);
}

TRACED_FINALIZE(evaluate)

const assay_rule_ops assay_rule_exposed_communication = {
    ASSAY_RULE_HEAD,
    .name = "ExposedCommunication",
    .summary = "A rank communicates while it computes nothing, for too large a share of the time.",
    .advice = "Overlap communication with computation, or communicate less.",
    .remedies = ASSAY_TEXTS("With traces of all ranks see LateRank: much of it may be waiting for one rank.",
                            "Overlap: bucketed gradients, asynchronous gathers, prefetching of shards.",
                            "Communicate less: gradient accumulation, lower precision, another split of the model."),
    .value_units = ASSAY_TEXTS("of the time"),
    .sentences = ASSAY_TEXTS("{worker} only communicated for {percent} of the time"),
    .params = params,
    TRACED_RULE_STATE,
    .finalize = finalize,
};
