/* map_source.h - the trial whose chunks a rank is mapping. */
#pragma once

#include "engine/map/tensor_result.h"
#include "engine/plan/plan.h"

typedef struct assay_map_source { /* all borrowed */
    const assay_plan *plan;
    const assay_sources *sources; /* of the job: rules may compare with another trial */
    uint32_t number;              /* which of them; ASSAY_NO_ID: none yet */
    const assay_source *source;
    const assay_source_plan *wanted; /* what the rules want of it */
    const assay_rule *rules;         /* [plan->instances], as they are on it */
} assay_map_source;

/* What the uses of a tensor have in common. */
static inline const assay_use_class *assay_map_source_class(const assay_map_source *s, uint32_t tensor)
{
    return &s->wanted->classes[s->wanted->tensor_class[tensor]];
}

/* How its results are packed. */
assay_tensor_result_form assay_map_source_form(const assay_map_source *s);
