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

const char *assay_part_path(const assay_source *source, const assay_part *part, char name[ASSAY_PATH_ROOM])
{
    if (part->event)
        return part->event;
    int length = assay_event_path(&source->catalog, part->step, part->worker, name, ASSAY_PATH_ROOM);
    return length < ASSAY_PATH_ROOM ? name : NULL;
}
