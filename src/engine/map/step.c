/* step.c - one step's items, given to every rule that wants some of them. */
#include "engine/map/mapper.h"

#include <stdlib.h>

/* Items in order of (tensor, worker): what rules are promised. */
static int compare_items(const void *a, const void *b)
{
    const assay_tensor_view *x = &(*(assay_tensor_result *const *)a)->view,
                            *y = &(*(assay_tensor_result *const *)b)->view;
    if (x->tensor != y->tensor)
        return x->tensor < y->tensor ? -1 : 1;
    return (x->worker > y->worker) - (x->worker < y->worker);
}

static bool slot_takes(const assay_mapper *m, const assay_tensor_result *item, uint32_t use)
{
    const assay_use_scope *scope = &m->plan->sources[m->source].scope[use];
    const assay_use *u = &m->plan->uses[use];
    uint32_t flags = assay_job_instance(m->plan->job, u->instance)->need->slots[u->slot].flags;
    if ((flags & ASSAY_SLOT_NO_STRINGS) && item->view.dtype == ASSAY_STRING)
        return false;
    uint32_t kinds = item->kinds & scope->kinds;
    return kinds && assay_scope_wants(scope, m->step->step, m->step->mode, item->view.worker, __builtin_ctz(kinds));
}

/* The uses of an item's class that have a list of their own: the others share one of these. */
static void count_uses(const assay_mapper *m, size_t *room)
{
    const assay_source_plan *plan = &m->plan->sources[m->source];
    for (size_t i = 0; i < m->item_count; i++) {
        const assay_use_class *class = &plan->classes[plan->tensor_class[m->items[i]->view.tensor]];
        for (uint32_t u = 0; u < class->uses; u++)
            room[class->use[u]] += plan->same_use[class->use[u]] == class->use[u];
    }
}

/* How many items each use gets, then the items themselves. */
static int fill_slots(assay_mapper *m, assay_slot_view *slot)
{
    const assay_source_plan *plan = &m->plan->sources[m->source];
    uint32_t uses = m->plan->use_count;
    size_t *room = assay_arena_take_zeroed(m->arena, uses, sizeof *room);
    if (!room)
        return ASSAY_EBUDGET;
    count_uses(m, room);
    for (uint32_t u = 0; u < uses; u++) {
        slot[u] = (assay_slot_view){.items = assay_arena_take(m->arena, room[u] * sizeof *slot->items)};
        if (!slot[u].items)
            return ASSAY_EBUDGET;
    }
    for (size_t i = 0; i < m->item_count; i++) {
        const assay_use_class *class = &plan->classes[plan->tensor_class[m->items[i]->view.tensor]];
        for (uint32_t u = 0; u < class->uses; u++) {
            uint32_t use = class->use[u];
            if (plan->same_use[use] == use && slot_takes(m, m->items[i], use))
                ((const assay_tensor_view **)slot[use].items)[slot[use].count++] = &m->items[i]->view;
        }
    }
    for (uint32_t u = 0; u < uses; u++)
        slot[u] = slot[plan->same_use[u]];
    return ASSAY_OK;
}

/* Maps a step of an aggregation into a state of its own, shows what it counted, and joins it: by the rules' laws that
 * comes to the same as mapping it into the state of all. */
static int map_counted(assay_mapper *m, uint32_t instance, const assay_rule *rule, void *state,
                       const assay_step_view *view, assay_error *err)
{
    void *own = rule->ops->state_new(rule);
    if (!own)
        return ASSAY_ENOMEM;
    int status = rule->ops->map(rule, own, view, err);
    if (status == ASSAY_OK)
        status = m->observer->counts(m->observer->context, m->source, instance - (uint32_t)m->plan->job->rule_count,
                                     m->step, ((const assay_common_state *)own)->counter, &m->observed);
    if (status == ASSAY_OK)
        status = rule->ops->combine(rule, state, own, err);
    rule->ops->state_free(own);
    return status;
}

/* Runs one rule's map; a failing rule is marked and not called again for this chunk. */
static int map_rule(assay_mapper *m, uint32_t instance, const assay_slot_view *slot)
{
    uint32_t first = m->plan->first_use[instance], slots = m->plan->first_use[instance + 1] - first;
    bool any = false;
    for (uint32_t s = 0; s < slots; s++)
        any = any || slot[first + s].count > 0;
    assay_partial_rule *r = &m->node->rule[instance];
    if (!any || r->status != ASSAY_OK)
        return ASSAY_OK;
    const assay_rule *rule = &m->rules[(size_t)m->source * m->plan->instances + instance];
    if (!r->state && !(r->state = rule->ops->state_new(rule)))
        return ASSAY_ENOMEM;
    assay_step_view view = {.step = m->step->step,
                            .mode_step = m->step->mode_step,
                            .mode = m->step->mode,
                            .slots = slots,
                            .slot = slot + first,
                            .measure = m->plan->measure_number[instance]};
    assay_error err = {""};
    size_t named = m->plan->job->rule_count + m->plan->job->aggregation_count;
    bool counted = m->observer && instance < named && (rule->ops->traits & ASSAY_RULE_AGGREGATION) &&
                   rule->ops->state_new == assay_common_new && rule->ops->series_width == 0;
    int status =
        counted ? map_counted(m, instance, rule, r->state, &view, &err) : rule->ops->map(rule, r->state, &view, &err);
    if (status == ASSAY_ENOMEM || status == ASSAY_OK || m->observed.text[0])
        return status;
    return assay_partial_fail(m->node, instance, status, err.text);
}

/* Shows the step's tensors to the observer. */
static int show_tensors(assay_mapper *m)
{
    int status = ASSAY_OK;
    for (size_t i = 0; m->observer && status == ASSAY_OK && i < m->item_count; i++)
        status = m->observer->tensor(m->observer->context, m->source, m->step, &m->items[i]->view, &m->observed);
    return status;
}

int assay_step_map(assay_mapper *m)
{
    if (m->item_count == 0)
        return ASSAY_OK;
    qsort(m->items, m->item_count, sizeof *m->items, compare_items);
    assay_slot_view *slot = assay_arena_take(m->arena, m->plan->use_count * sizeof *slot);
    int status = show_tensors(m);
    if (status != ASSAY_OK)
        return status;
    status = slot ? fill_slots(m, slot) : ASSAY_EBUDGET;
    if (status == ASSAY_EBUDGET) {
        assay_problems_add(&m->node->problems, ASSAY_PROBLEM_BUDGET, m->step->step, "", -1,
                           "the step's tensors, %zu in all, need more memory than the budget allows: raise --memory",
                           m->item_count);
        return ASSAY_OK;
    }
    for (uint32_t i = 0; status == ASSAY_OK && i < m->plan->instances; i++)
        status = map_rule(m, i, slot);
    return status;
}
