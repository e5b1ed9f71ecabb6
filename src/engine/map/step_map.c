/* step_map.c - see step_map.h. */
#include "engine/map/step_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

typedef struct step_mapping {
    assay_step_work *work;
    const assay_observer *observer;
    assay_error *observed;
    bool stopped;          /* by the observer: what it said ends the run, and is no failure of the rule under way */
    assay_slot_view *slot; /* [uses] */
} step_mapping;

/* In order of (tensor, worker): what rules are promised. */
static int compare_results(const void *a, const void *b)
{
    const assay_tensor_view *x = &(*(assay_tensor_result *const *)a)->view,
                            *y = &(*(assay_tensor_result *const *)b)->view;
    if (x->tensor != y->tensor)
        return x->tensor < y->tensor ? -1 : 1;
    return (x->worker > y->worker) - (x->worker < y->worker);
}

/* Counts the tensors, then puts the results in their places: those of a tensor come in the order of workers. False
 * where there are many more tensors than results, or without memory. */
static bool sort_counted(assay_step_work *work)
{
    const size_t tensors = assay_dict_count(work->source->source->info->tensors);
    uint32_t *next = work->result_of; /* the parts have been read, and it may be anything */
    for (size_t i = 1; i < work->count; i++)
        if (work->results[i]->view.worker < work->results[i - 1]->view.worker)
            return false;
    if (tensors / 4 > work->count)
        return false;
    assay_tensor_result **sorted = assay_alloc(work->count * sizeof(assay_tensor_result *));
    if (!sorted)
        return false;
    memset(next, 0, tensors * sizeof *next);
    for (size_t i = 0; i < work->count; i++)
        next[work->results[i]->view.tensor]++;
    uint32_t before = 0;
    for (size_t t = 0; t < tensors; t++) {
        const uint32_t here = next[t];
        next[t] = before;
        before += here;
    }
    for (size_t i = 0; i < work->count; i++)
        sorted[next[work->results[i]->view.tensor]++] = work->results[i];
    memcpy(work->results, sorted, work->count * sizeof(assay_tensor_result *));
    free(sorted);
    return true;
}

static bool slot_takes(const assay_step_work *work, const assay_tensor_result *result, uint32_t use)
{
    const assay_plan *plan = work->source->plan;
    const assay_use_scope *scope = &work->source->wanted->scope[use];
    const assay_use *u = &plan->uses[use];
    uint32_t flags = assay_job_instance(plan->job, u->instance)->need->slots[u->slot].flags;
    if ((flags & ASSAY_SLOT_NO_STRINGS) && result->view.dtype == ASSAY_STRING)
        return false;
    if ((flags & ASSAY_SLOT_WORKERS) && result->kinds >> ASSAY_RAW & 1 && result->view.dims > 0 &&
        assay_trial_is_split(work->source->source->info, result->view.tensor))
        return false; /* of a tensor in pieces this use gets the pieces */
    uint32_t kinds = result->kinds & scope->kinds;
    return kinds &&
           assay_scope_wants(scope, work->step->step, work->step->mode, result->view.worker, __builtin_ctz(kinds));
}

/* Has a lower worker a copy of the same at this step? What is counted together takes one copy of several. The results
 * are in order of (tensor, worker). */
static bool is_counted_already(const assay_step_work *work, size_t number, uint32_t use)
{
    const assay_trial *trial = work->source->source->info;
    const assay_tensor_view *own = &work->results[number]->view;
    if (!trial->relations || work->source->wanted->scope[use].worker != ASSAY_ALL_WORKERS ||
        !assay_use_pools(work->source->plan, use))
        return false;
    const uint32_t lowest = assay_trial_relation(trial, own->tensor, own->worker).replicas;
    for (size_t i = lowest == own->worker ? 0 : number; i-- > 0 && work->results[i]->view.tensor == own->tensor;)
        if (assay_trial_relation(trial, own->tensor, work->results[i]->view.worker).replicas == lowest &&
            slot_takes(work, work->results[i], use))
            return true;
    return false;
}

/* How many results each use may get that has a list of its own: the others share one of these lists. */
static void count_uses(const assay_step_work *work, size_t *room)
{
    const uint32_t *same_use = work->source->wanted->same_use;
    for (size_t i = 0; i < work->count; i++) {
        const assay_use_class *class = assay_map_source_class(work->source, work->results[i]->view.tensor);
        for (uint32_t u = 0; u < class->uses; u++)
            room[class->use[u]] += same_use[class->use[u]] == class->use[u];
    }
}

/* The lists, whose memory the step was charged for with its results. 0 or ASSAY_ENOMEM. */
static int make_slots(step_mapping *mapping)
{
    assay_arena *arena = mapping->work->arena;
    uint32_t uses = mapping->work->source->plan->use_count;
    assay_slot_view *slot = assay_arena_take(arena, uses * sizeof *slot);
    size_t *room = assay_arena_take_zeroed(arena, uses, sizeof *room);
    ASSAY_HAVE(slot && room);
    count_uses(mapping->work, room);
    for (uint32_t u = 0; u < uses; u++) {
        slot[u] = (assay_slot_view){.items = assay_arena_take(arena, room[u] * sizeof *slot->items)};
        ASSAY_HAVE(slot[u].items);
    }
    mapping->slot = slot;
    return ASSAY_OK;
}

static void fill_slots(step_mapping *mapping)
{
    const assay_step_work *work = mapping->work;
    const uint32_t *same_use = work->source->wanted->same_use;
    assay_slot_view *slot = mapping->slot;
    for (size_t i = 0; i < work->count; i++) {
        const assay_use_class *class = assay_map_source_class(work->source, work->results[i]->view.tensor);
        for (uint32_t u = 0; u < class->uses; u++) {
            uint32_t use = class->use[u];
            if (same_use[use] == use && slot_takes(work, work->results[i], use) && !is_counted_already(work, i, use))
                ((const assay_tensor_view **)slot[use].items)[slot[use].count++] = &work->results[i]->view;
        }
    }
    for (uint32_t u = 0; u < work->source->plan->use_count; u++)
        slot[u] = slot[same_use[u]];
}

/* Maps a step of an aggregation into a state of its own, shows what it counted, and joins it: by the rules' laws that
 * comes to the same as mapping it into the state of all. */
static int map_counted(step_mapping *mapping, uint32_t instance, const assay_rule *rule, void *state,
                       const assay_step_view *view, assay_error *err)
{
    const assay_map_source *source = mapping->work->source;
    const assay_observer *observer = mapping->observer;
    void *own = rule->ops->state_new(rule);
    ASSAY_HAVE(own);
    int status = rule->ops->map(rule, own, view, err);
    if (status == ASSAY_OK) {
        status = observer->counts(observer->context, source->number, instance - (uint32_t)source->plan->job->rule_count,
                                  mapping->work->step, ((const assay_common_state *)own)->counter, mapping->observed);
        mapping->stopped = status != ASSAY_OK;
    }
    ASSAY_THEN(status, rule->ops->combine(rule, state, own, err));
    rule->ops->state_free(own);
    return status;
}

static bool is_counted(const step_mapping *mapping, uint32_t instance, const assay_rule *rule)
{
    const assay_job *job = mapping->work->source->plan->job;
    return mapping->observer && instance < job->rule_count + job->aggregation_count &&
           (rule->ops->traits & ASSAY_RULE_COUNTS);
}

/* Runs one rule's map; a failing rule is marked and not called again for this chunk. */
static int map_rule(step_mapping *mapping, uint32_t instance)
{
    const assay_step_work *work = mapping->work;
    const assay_plan *plan = work->source->plan;
    uint32_t first = plan->first_use[instance], slots = plan->first_use[instance + 1] - first;
    bool any = false;
    for (uint32_t s = 0; s < slots; s++)
        any = any || mapping->slot[first + s].count > 0;
    assay_partial_rule *partial = &work->partial->rule[instance];
    if (!any || partial->status != ASSAY_OK)
        return ASSAY_OK;
    const assay_rule *rule = &work->source->rules[instance];
    if (!partial->state && !(partial->state = rule->ops->state_new(rule)))
        return ASSAY_ENOMEM;
    assay_step_view view = {.step = work->step->step,
                            .mode_step = work->step->mode_step,
                            .mode = work->step->mode,
                            .slots = slots,
                            .slot = mapping->slot + first,
                            .measure = plan->measure_number[instance]};
    assay_error err;
    err.text[0] = '\0';
    int status = is_counted(mapping, instance, rule) ? map_counted(mapping, instance, rule, partial->state, &view, &err)
                                                     : rule->ops->map(rule, partial->state, &view, &err);
    if (status == ASSAY_OK)
        return assay_partial_bound(work->partial, instance, work->source->rules);
    if (status == ASSAY_ENOMEM || mapping->stopped)
        return status;
    return assay_partial_fail(work->partial, instance, status, err.text);
}

/* Shows the step's tensors to the observer. */
static int show_tensors(const step_mapping *mapping)
{
    const assay_step_work *work = mapping->work;
    int status = ASSAY_OK;
    for (size_t i = 0; mapping->observer && status == ASSAY_OK && i < work->count; i++)
        status = mapping->observer->tensor(mapping->observer->context, work->source->number, work->step,
                                           &work->results[i]->view, mapping->observed);
    return status;
}

/* Bytes read of a tensor without a checksum; a saved reduction is one number. */
static uint64_t count_unsummed(const assay_tensor_result *result)
{
    const uint32_t raw = 1u << ASSAY_RAW | 1u << ASSAY_PIECE, kinds = result->unsummed & result->kinds;
    uint64_t elements = result->view.dtype > 0 ? 1 : 0;
    for (int d = 0; d < result->view.dims; d++)
        elements *= (uint64_t)result->view.shape[d];
    uint64_t bytes = kinds & raw && result->view.dtype > 0 ? elements * assay_dtype_size(result->view.dtype) : 0;
    return bytes + (uint64_t)__builtin_popcount(kinds & ~raw) * sizeof(double);
}

/* Has a tensor NaN or infinities? A mask of zeros and infinities of one sign is made so. */
static bool is_not_finite(const assay_tensor_view *item)
{
    static const uint8_t saved[] = {ASSAY_MIN, ASSAY_MAX, ASSAY_MEAN, ASSAY_L2, ASSAY_ABS_MEAN};
    const assay_stats *s = item->stats;
    bool some = false;
    for (size_t k = 0; k < sizeof saved && !assay_view_has_values(item); k++)
        some = some || (item->reductions >> saved[k] & 1 && !isfinite(item->reduction[saved[k]]));
    if (!s || !assay_view_has_values(item))
        return some;
    const uint64_t infinite = s->pos_inf + s->neg_inf;
    const bool is_mask = s->count > 1 && (s->pos_inf == 0 || s->neg_inf == 0) && infinite + s->zeros == s->count;
    return s->nan > 0 || (infinite > 0 && !is_mask);
}

/* Counts what is not finite, and calls the rules. */
static int map_rules(step_mapping *mapping)
{
    const assay_step_work *work = mapping->work;
    int status = ASSAY_OK;
    for (size_t i = 0; i < work->count; i++)
        work->partial->not_finite += is_not_finite(&work->results[i]->view);
    for (uint32_t i = 0; status == ASSAY_OK && i < work->source->plan->instances; i++)
        status = map_rule(mapping, i);
    return status;
}

int assay_step_map(assay_step_work *work, const assay_observer *observer, assay_error *observed,
                   assay_slot_view **slots)
{
    step_mapping mapping = {.work = work, .observer = observer, .observed = observed};
    *slots = NULL;
    if (work->count == 0)
        return ASSAY_OK;
    if (work->count > 1 && !sort_counted(work))
        qsort(work->results, work->count, sizeof *work->results, compare_results);
    for (size_t i = 0; i < work->count; i++)
        work->partial->unsummed += count_unsummed(work->results[i]);
    int status = show_tensors(&mapping);
    ASSAY_THEN(status, make_slots(&mapping));
    ASSAY_TRY(status);
    fill_slots(&mapping);
    *slots = mapping.slot;
    return map_rules(&mapping);
}

int assay_step_map_again(assay_step_work *work, assay_slot_view *slots)
{
    step_mapping mapping = {.work = work, .slot = slots};
    return map_rules(&mapping);
}
