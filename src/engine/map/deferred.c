/* deferred.c - see deferred.h. */
#include "engine/map/deferred.h"

const assay_rule *assay_deferred_rules(const assay_mapper *m)
{
    return m->rules + (size_t)m->source * m->plan->instances;
}

assay_tensor_result_form assay_deferred_form(const assay_mapper *m)
{
    const assay_source *source = &m->sources->list[m->source];
    return (assay_tensor_result_form){.measures = m->plan->measures,
                                      .measure_count = m->plan->measure_count,
                                      .plan = &m->plan->sources[m->source],
                                      .tensors = assay_dict_count(source->info->tensors),
                                      .workers = source->catalog.workers};
}

assay_needs assay_deferred_needs(const assay_mapper *m)
{
    const assay_source_plan *plan = &m->plan->sources[m->source];
    uint64_t uses = 0;
    for (size_t i = 0; i < m->item_count; i++)
        uses += plan->classes[plan->tensor_class[m->items[i]->view.tensor]].uses;
    return (assay_needs){assay_arena_used(m->arena) + uses * sizeof(void *), assay_arena_most(m->arena)};
}

assay_needs assay_deferred_least(const assay_mapper *m)
{
    enum { ROUNDING = 16 }; /* of the list of each use */
    return (assay_needs){m->plan->use_count * (sizeof(assay_slot_view) + sizeof(size_t) + ROUNDING), 0};
}

assay_needs assay_deferred_both(assay_needs a, assay_needs b)
{
    return (assay_needs){a.held + b.held, a.most > b.most ? a.most : b.most};
}

/* The arena wastes at most a block, and less than it holds; and each measure that is faster with more memory takes at
 * most half of what is left (measure_quantiles.c). */
bool assay_deferred_fits(const assay_mapper *m, assay_needs needs)
{
    uint64_t ceiling = assay_arena_ceiling(m->arena), left = ceiling - ceiling / ASSAY_ARENA_BLOCKS;
    if (needs.held > left / 2)
        return false;
    left = (left - 2 * needs.held) / 2;
    for (uint32_t k = 0; k < m->plan->measure_count; k++)
        left /= m->plan->measures[k].kind == ASSAY_MEASURE_QUANTILES ? 2 : 1;
    return needs.most <= left;
}

int assay_deferred_settle(assay_mapper *m, assay_partial *whole, assay_partial *measured, int status)
{
    m->node = whole;
    if (status == ASSAY_OK && m->alone)
        status = assay_mapper_read_step(m);
    else if (status == ASSAY_OK)
        status = assay_partial_combine(whole, measured, assay_deferred_rules(m));
    assay_partial_release(measured, assay_deferred_rules(m));
    return status;
}
