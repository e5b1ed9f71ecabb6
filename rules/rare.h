/* rare.h - tensors that are bad at few of their datapoints only.
 *
 * A gradient of next to nothing is a fault where it is the rule. Where it is the exception, as of an expert that gets a
 * sample now and then, which it knows already, it says nothing. The share of bad datapoints is known at the end. */
#pragma once

#include <assay/rule.h>

#include <stdlib.h>

/* What the counter counts of a tensor, as pairs (tensor, kind); lower kinds are the rule's own. */
enum { RARE_TESTED = 1, RARE_BAD };

#define RARE_PARAM                                                                                                     \
    ASSAY_REAL_PARAM("step_share", "0", 0, 1,                                                                          \
                     "Leave out tensors that are so small at no larger share of their datapoints.")

static inline int rare_count(assay_counter *counter, uint32_t tensor, bool bad)
{
    int status = assay_counter_add(counter, tensor, RARE_TESTED, 1);
    return status == ASSAY_OK && bad ? assay_counter_add(counter, tensor, RARE_BAD, 1) : status;
}

/* [tensors] which tensors were bad at no more than step_share of their datapoints; NULL without memory. The caller
 * frees it. */
static inline bool *rare_tensors(const assay_rule *rule, const assay_counter *counter)
{
    uint32_t tensors = assay_trial_tensors(rule->trial);
    bool *rare = calloc(tensors + (size_t)1, sizeof *rare);
    uint64_t tested = 0; /* of the tensor: its pair comes before that of the bad ones */
    double share = assay_param_real(rule->params, "step_share");
    for (uint64_t i = 0; rare && i < assay_counter_size(counter); i++) {
        int64_t tensor, kind;
        uint64_t count;
        assay_counter_get(counter, i, &tensor, &kind, &count);
        if (kind == RARE_TESTED)
            tested = count;
        else if (kind == RARE_BAD && tensor >= 0 && tensor < tensors)
            rare[tensor] = (double)count <= share * (double)tested;
    }
    return rare;
}

static inline bool is_rare(const assay_rule *rule, const bool *rare, uint32_t tensor)
{
    return tensor < assay_trial_tensors(rule->trial) && rare[tensor];
}
