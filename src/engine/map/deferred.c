/* deferred.c - see apart.h. */
#include "engine/map/deferred.h"

const assay_rule *assay_apart_rules(const assay_mapper *m)
{
    return m->rules + (size_t)m->source * m->plan->instances;
}

assay_item_form assay_apart_form(const assay_mapper *m)
{
    const assay_source *source = &m->sources->list[m->source];
    return (assay_item_form){.measures = m->plan->measures,
                             .measure_count = m->plan->measure_count,
                             .plan = &m->plan->sources[m->source],
                             .tensors = assay_dict_count(source->info->tensors),
                             .workers = source->listing.workers};
}

assay_needs assay_apart_needs(const assay_mapper *m)
{
    const assay_source_plan *plan = &m->plan->sources[m->source];
    uint64_t uses = 0;
    for (size_t i = 0; i < m->item_count; i++)
        uses += plan->classes[plan->tensor_class[m->items[i]->view.tensor]].uses;
    return (assay_needs){assay_arena_used(m->arena) + uses * sizeof(void *), assay_arena_most(m->arena)};
}

assay_needs assay_apart_least(const assay_mapper *m)
{
    enum { ROUNDING = 16 }; /* of the list of each use */
    return (assay_needs){m->plan->use_count * (sizeof(assay_slot_view) + sizeof(size_t) + ROUNDING), 0};
}

assay_needs assay_apart_both(assay_needs a, assay_needs b)
{
    return (assay_needs){a.held + b.held, a.most > b.most ? a.most : b.most};
}

/* The arena wastes at most a block, and less than it holds; and each measure that is faster with more memory takes at
 * most half of what is left (measure_quantiles.c). */
bool assay_apart_fits(const assay_mapper *m, assay_needs needs)
{
    uint64_t ceiling = assay_arena_ceiling(m->arena), left = ceiling - ceiling / ASSAY_ARENA_BLOCKS;
    if (needs.held > left / 2)
        return false;
    left = (left - 2 * needs.held) / 2;
    for (uint32_t k = 0; k < m->plan->measure_count; k++)
        left /= m->plan->measures[k].kind == ASSAY_MEASURE_QUANTILES ? 2 : 1;
    return needs.most <= left;
}

int assay_apart_settle(assay_mapper *m, assay_node *whole, assay_node *measured, int status)
{
    m->node = whole;
    if (status == ASSAY_OK && m->alone)
        status = assay_mapper_read_step(m);
    else if (status == ASSAY_OK)
        status = assay_node_combine(whole, measured, assay_apart_rules(m));
    assay_node_release(measured, assay_apart_rules(m));
    return status;
}
