/* map_source.c - see map_source.h. */
#include "engine/map/map_source.h"

assay_tensor_result_form assay_map_source_form(const assay_map_source *s)
{
    return (assay_tensor_result_form){.measures = s->plan->measures,
                                      .measure_count = s->plan->measure_count,
                                      .plan = s->wanted,
                                      .tensors = assay_dict_count(s->source->info->tensors),
                                      .workers = s->source->catalog.workers};
}
