/* select.c - which tensors each rule's slots want, and which measures of every tensor follow. */
#include "engine/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "engine/source/asked.h"
#include "tensor/measure.h"

static const assay_need *need_of(const assay_plan *plan, uint32_t instance)
{
    return assay_job_instance(plan->job, instance)->need;
}

static int count_uses(assay_plan *plan)
{
    uint32_t uses = 0, measures = 0;
    for (uint32_t i = 0; i < plan->instances; i++) {
        uses += need_of(plan, i) ? need_of(plan, i)->slot_count : 0;
        measures += need_of(plan, i) ? need_of(plan, i)->measure_count : 0;
    }
    plan->uses = assay_alloc(uses * sizeof *plan->uses);
    plan->first_use = assay_alloc((plan->instances + 1) * sizeof *plan->first_use);
    plan->measures = assay_alloc_zeroed(measures, sizeof *plan->measures);
    plan->measure_number = assay_alloc_zeroed(plan->instances, sizeof *plan->measure_number);
    return plan->uses && plan->first_use && plan->measures && plan->measure_number ? ASSAY_OK : ASSAY_ENOMEM;
}

/* The engine's number of a measure: equal descriptions are taken once. Comparisons with another trial are equal when
 * the trial is. */
static uint32_t unite_measure(assay_plan *plan, const assay_measure *asked, uint32_t other)
{
    assay_measure measure = *asked;
    if (measure.kind == ASSAY_MEASURE_CHANGE && measure.reference == ASSAY_REFERENCE_OTHER_TRIAL)
        measure.other = other;
    uint32_t k = 0;
    while (k < plan->measure_count && memcmp(&plan->measures[k], &measure, sizeof measure) != 0)
        k++;
    if (k == plan->measure_count)
        plan->measures[plan->measure_count++] = measure;
    return k;
}

static int list_uses(assay_plan *plan, const assay_sources *sources)
{
    if (count_uses(plan) != ASSAY_OK)
        return ASSAY_ENOMEM;
    for (uint32_t i = 0; i < plan->instances; i++) {
        const assay_need *need = need_of(plan, i);
        plan->first_use[i] = plan->use_count;
        for (uint32_t s = 0; need && s < need->slot_count; s++)
            plan->uses[plan->use_count++] = (assay_use){i, s};
        plan->measure_number[i] = assay_alloc((need ? need->measure_count : 0) * sizeof(uint32_t));
        ASSAY_HAVE(plan->measure_number[i]);
        for (uint32_t m = 0; need && m < need->measure_count; m++)
            plan->measure_number[i][m] = unite_measure(plan, &need->measures[m], sources->other[i]);
    }
    plan->first_use[plan->instances] = plan->use_count;
    return ASSAY_OK;
}

static uint32_t find_worker(const assay_catalog *catalog, const char *name)
{
    for (uint32_t w = 0; w < catalog->workers; w++)
        if (strcmp(catalog->worker[w], name) == 0 || strcmp(catalog->worker_key[w], name) == 0)
            return w;
    return ASSAY_ALL_WORKERS;
}

/* The global step behind the first `count` steps of the modes. */
static int64_t end_of_first_steps(const assay_trial *info, uint32_t modes, int64_t count)
{
    for (uint64_t i = 0; i < info->step_count; i++)
        if ((modes >> info->steps[i].mode & 1) && --count == 0)
            return info->steps[i].step + 1;
    return INT64_MAX;
}

/* Are the steps of a mode more than a use takes, so that some are left out? */
static bool leaves_steps_out(const assay_trial *info, uint64_t most)
{
    bool leaves = false;
    for (int mode = 0; mode < ASSAY_MODES; mode++)
        leaves = leaves || assay_spread_stride(assay_trial_mode_steps(info, mode), most) > 1;
    return leaves;
}

static assay_use_scope scope_of(const assay_plan *plan, const assay_use *use, const assay_source *source,
                                const assay_engine_options *options)
{
    const assay_instance *instance = assay_job_instance(plan->job, use->instance);
    const assay_slot_need *slot = &instance->need->slots[use->slot];
    assay_use_scope scope = {.modes = slot->modes, .worker = ASSAY_ALL_WORKERS};
    const bool alone = slot->keeps_rows && slot->rows.compared && source->catalog.workers < 2;
    scope.kinds = slot->kinds | (slot->flags & ASSAY_SLOT_WORKERS ? 1u << ASSAY_PIECE : 0);
    scope.nowhere = instance->status != ASSAY_OK || alone;
    scope.from = instance->start_step > options->from ? instance->start_step : options->from;
    scope.to = instance->end_step < options->to ? instance->end_step : options->to;
    if (instance->ops->traits & ASSAY_RULE_LOOKS_BACK)
        scope.from = INT64_MIN;
    bool none_there = (source->info->modes & scope.modes) == 0;
    if (scope.modes == 0 || (none_there && (slot->flags & ASSAY_SLOT_PREFER_MODES)))
        scope.modes = UINT32_MAX;
    if (slot->first_steps > 0 && (slot->flags & ASSAY_SLOT_SPREAD)) {
        if (leaves_steps_out(source->info, (uint64_t)slot->first_steps)) {
            scope.spread = source->info;
            scope.most = (uint64_t)slot->first_steps;
        }
    } else if (slot->first_steps > 0) {
        int64_t end = end_of_first_steps(source->info, scope.modes, slot->first_steps);
        scope.to = end < scope.to ? end : scope.to;
    }
    if (instance->worker) {
        scope.worker = find_worker(&source->catalog, instance->worker);
        scope.nowhere = scope.nowhere || scope.worker == ASSAY_ALL_WORKERS;
    }
    return scope;
}

/* Rules of elements and of workers make nothing of a log's numbers; and which workers there are is known of some logs
 * only. */
static bool is_of_log(const assay_instance *instance, const assay_slot_need *slot, const assay_source *source,
                      uint32_t tensor)
{
    const bool attends = (slot->flags & ASSAY_SLOT_TIME_ONLY) && !source->catalog.log.workers_known;
    return ((instance->ops->traits & ASSAY_RULE_NOT_LOGGED) || attends) && assay_trial_logged(source->info, tensor);
}

/* Figures of addends say little of their sum: rules get them only where they ask. */
static bool is_left_out(const assay_instance *instance, const assay_slot_need *slot, const assay_source *source,
                        uint32_t tensor)
{
    if (is_of_log(instance, slot, source, tensor))
        return true;
    return !(slot->flags & (ASSAY_SLOT_WORKERS | ASSAY_SLOT_SUMS | ASSAY_SLOT_TIME_ONLY)) &&
           assay_trial_relation(source->info, tensor, 0).sum;
}

/* The measures of a class: those of its uses' slots, each once. */
static int collect_measures(const assay_plan *plan, assay_use_class *class)
{
    class->measure = assay_alloc((plan->measure_count + 1) * sizeof *class->measure);
    class->place = assay_alloc_zeroed(plan->measure_count + 1, sizeof *class->place);
    uint8_t *seen = assay_alloc_zeroed(plan->measure_count + 1, 1);
    if (!class->measure || !class->place || !seen) {
        free(seen);
        return ASSAY_ENOMEM;
    }
    for (uint32_t u = 0; u < class->uses; u++) {
        assay_use use = plan->uses[class->use[u]];
        const assay_need *need = need_of(plan, use.instance);
        for (uint32_t m = 0; m < need->measure_count; m++)
            if (need->measure_slot[m] == use.slot)
                seen[plan->measure_number[use.instance][m]] = 1;
    }
    for (uint32_t m = 0; m < plan->measure_count; m++)
        if (seen[m]) {
            class->measure[class->measures++] = m;
            class->place[m] = class->measures;
        }
    free(seen);
    return ASSAY_OK;
}

static int add_class(const assay_plan *plan, assay_source_plan *source, const uint32_t *use, uint32_t uses,
                     uint64_t hash)
{
    if (source->class_count == source->class_room) {
        uint32_t room = source->class_room ? source->class_room * 2 : 16;
        assay_use_class *grown = assay_realloc_array(source->classes, room, sizeof *grown);
        ASSAY_HAVE(grown);
        source->classes = grown;
        source->class_room = room;
    }
    assay_use_class *class = &source->classes[source->class_count++];
    *class = (assay_use_class){.uses = uses, .hash = hash};
    class->use = assay_alloc(uses * sizeof *class->use);
    ASSAY_HAVE(class->use);
    if (uses > 0)
        memcpy(class->use, use, uses * sizeof *use);
    return collect_measures(plan, class);
}

static int class_of(const assay_plan *plan, assay_source_plan *source, const uint32_t *use, uint32_t uses,
                    uint32_t *number)
{
    uint64_t hash = assay_hash_bytes(use, uses * sizeof *use);
    for (uint32_t c = 0; c < source->class_count; c++) {
        const assay_use_class *class = &source->classes[c];
        if (class->hash == hash && class->uses == uses && memcmp(class->use, use, uses * sizeof *use) == 0) {
            *number = c;
            return ASSAY_OK;
        }
    }
    *number = source->class_count;
    return add_class(plan, source, use, uses, hash);
}

/* Is a use the report's curves of tensors, which of a log are made of what others ask for alone? Uses are in the order of the
 * instances, and curves of tensors are the last. */
static bool follows_others(const assay_plan *plan, const assay_source *source, uint32_t use)
{
    const assay_job *job = plan->job;
    return job->curves_asked && plan->uses[use].instance == assay_job_instances(job) - 1 &&
           job->implicit_count == ASSAY_IMPLICITS && assay_trial_is_log(source->info);
}

static int classify_tensors(const assay_plan *plan, assay_source_plan *to, const assay_source *source,
                            assay_problems *problems)
{
    uint32_t tensors = assay_dict_count(source->info->tensors), none;
    uint32_t *use = assay_alloc(plan->use_count * sizeof *use);
    to->tensor_class = assay_alloc_zeroed(tensors, sizeof *to->tensor_class);
    int status = use && to->tensor_class ? class_of(plan, to, use, 0, &none) : ASSAY_ENOMEM;
    for (uint32_t t = 0; status == ASSAY_OK && t < tensors; t++) {
        uint32_t uses = 0;
        for (uint32_t u = 0; status == ASSAY_OK && u < plan->use_count; u++) {
            const assay_instance *instance = assay_job_instance(plan->job, plan->uses[u].instance);
            const assay_slot_need *slot = &instance->need->slots[plan->uses[u].slot];
            const bool nowhere = to->scope[u].nowhere || is_left_out(instance, slot, source, t) ||
                                 (uses == 0 && follows_others(plan, source, u));
            int selects = nowhere ? 0 : assay_slot_selects(slot, source->info, t, problems);
            if (selects == 1)
                use[uses++] = u;
            status = selects < 0 ? selects : ASSAY_OK;
        }
        ASSAY_THEN(status, class_of(plan, to, use, uses, &to->tensor_class[t]));
    }
    free(use);
    return status;
}

bool assay_use_pools(const assay_plan *plan, uint32_t use)
{
    const assay_instance *instance = assay_job_instance(plan->job, plan->uses[use].instance);
    const uint32_t flags = instance->need->slots[plan->uses[use].slot].flags;
    return instance->ops->traits & ASSAY_RULE_POOLS && !(flags & (ASSAY_SLOT_WORKERS | ASSAY_SLOT_TIME_ONLY));
}

static bool is_in_class(const assay_use_class *class, uint32_t use)
{
    for (uint32_t u = 0; u < class->uses; u++)
        if (class->use[u] == use)
            return true;
    return false;
}

/* Do two uses take the same tensors at every step? Where workers have copies, those that pool take one of them. */
static bool take_the_same(const assay_plan *plan, const assay_source_plan *source, bool copies, uint32_t a, uint32_t b)
{
    const assay_use_scope *x = &source->scope[a], *y = &source->scope[b];
    uint32_t flags = need_of(plan, plan->uses[a].instance)->slots[plan->uses[a].slot].flags ^
                     need_of(plan, plan->uses[b].instance)->slots[plan->uses[b].slot].flags;
    bool same = !(flags & (ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_WORKERS)) && x->kinds == y->kinds &&
                x->modes == y->modes && x->worker == y->worker && x->from == y->from && x->to == y->to &&
                x->nowhere == y->nowhere && x->spread == y->spread && x->most == y->most;
    same = same && !(copies && assay_use_pools(plan, a) != assay_use_pools(plan, b));
    for (uint32_t c = 0; same && c < source->class_count; c++)
        same = is_in_class(&source->classes[c], a) == is_in_class(&source->classes[c], b);
    return same;
}

/* Many rules look at all tensors, or all gradients: they are given one list of them. */
static int find_same_uses(const assay_plan *plan, assay_source_plan *to, bool copies)
{
    to->same_use = assay_alloc(plan->use_count * sizeof *to->same_use);
    ASSAY_HAVE(to->same_use);
    for (uint32_t u = 0; u < plan->use_count; u++) {
        uint32_t first = 0;
        while (first < u && !take_the_same(plan, to, copies, first, u))
            first++;
        to->same_use[u] = first;
    }
    for (uint32_t c = 0; c < to->class_count; c++)
        for (uint32_t u = 0; u < to->classes[c].uses; u++)
            to->classes[c].lists += to->same_use[to->classes[c].use[u]] == to->classes[c].use[u];
    return ASSAY_OK;
}

/* How far back the measures of a class look; false when they do not. */
static bool class_looks_back(const assay_plan *plan, const assay_use_class *class, uint32_t *back, int64_t *window)
{
    bool any = false;
    for (uint32_t k = 0; k < class->measures; k++) {
        const assay_measure *m = &plan->measures[class->measure[k]];
        uint32_t steps = m->kind == ASSAY_MEASURE_UNITS && m->window > 1 ? m->window - 1 : 0;
        int64_t within = 0;
        if (assay_measure_looks_back(m) && m->reference == ASSAY_REFERENCE_SAVED_BEFORE)
            steps = (uint32_t)m->steps;
        if (assay_measure_looks_back(m) && m->reference == ASSAY_REFERENCE_OLDEST_WITHIN)
            within = m->steps;
        *back = steps > *back ? steps : *back;
        *window = within > *window ? within : *window;
        any = any || steps > 0 || within > 0;
    }
    return any;
}

static int mark_look_back(const assay_plan *plan, assay_source_plan *to, uint32_t tensors)
{
    for (uint32_t t = 0; t < tensors; t++) {
        if (!class_looks_back(plan, &to->classes[to->tensor_class[t]], &to->back, &to->window))
            continue;
        if (!to->looks_back)
            to->looks_back = assay_alloc_zeroed(tensors, 1);
        ASSAY_HAVE(to->looks_back);
        to->looks_back[t] = 1;
    }
    return ASSAY_OK;
}

static int add_pair(assay_plan *plan, const assay_sources *sources, uint32_t source, uint32_t other)
{
    for (uint32_t i = 0; i < plan->pair_count; i++)
        if (plan->pairs[i].source == source && plan->pairs[i].other == other)
            return ASSAY_OK;
    assay_pair *pair = &plan->pairs[plan->pair_count++];
    *pair = (assay_pair){.source = source, .other = other};
    assay_shard_init(&pair->shard);
    const assay_dict *own = sources->list[source].info->tensors, *theirs = sources->list[other].info->tensors;
    pair->tensor = assay_alloc(assay_dict_count(own) * sizeof *pair->tensor);
    ASSAY_HAVE(pair->tensor);
    for (uint32_t t = 0; t < assay_dict_count(own); t++) {
        size_t length;
        const char *name = assay_dict_name(own, t, &length);
        pair->tensor[t] = assay_dict_find(theirs, name, length);
    }
    return ASSAY_OK;
}

static int list_pairs(assay_plan *plan, const assay_sources *sources)
{
    uint32_t comparing = 0;
    for (uint32_t i = 0; i < plan->instances; i++)
        comparing += sources->other[i] != ASSAY_NO_ID;
    plan->pairs = assay_alloc((size_t)comparing * sources->job_trials * sizeof *plan->pairs);
    ASSAY_HAVE(plan->pairs);
    for (uint32_t i = 0; i < plan->instances; i++)
        for (uint32_t s = 0; sources->other[i] != ASSAY_NO_ID && s < sources->job_trials; s++)
            if (add_pair(plan, sources, s, sources->other[i]) != ASSAY_OK)
                return ASSAY_ENOMEM;
    return ASSAY_OK;
}

int assay_plan_select(assay_plan *plan, assay_sources *sources, const assay_engine_options *options, bool name_problems)
{
    int status = list_uses(plan, sources);
    plan->sources = assay_alloc_zeroed(sources->job_trials, sizeof *plan->sources);
    ASSAY_HAVE(plan->sources);
    plan->source_count = sources->job_trials;
    for (uint32_t s = 0; status == ASSAY_OK && s < plan->source_count; s++) {
        assay_source *source = &sources->list[s];
        assay_source_plan *to = &plan->sources[s];
        to->scope = assay_alloc(plan->use_count * sizeof *to->scope);
        ASSAY_HAVE(to->scope);
        for (uint32_t u = 0; u < plan->use_count; u++)
            to->scope[u] = scope_of(plan, &plan->uses[u], source, options);
        status = classify_tensors(plan, to, source, name_problems ? &source->problems : NULL);
        ASSAY_THEN(status, find_same_uses(plan, to, source->info->relations != NULL));
        ASSAY_THEN(status, mark_look_back(plan, to, assay_dict_count(source->info->tensors)));
    }
    return status == ASSAY_OK ? list_pairs(plan, sources) : status;
}
