/* first_cause.c - see first_cause.h: finds the first cause. */
#include "parts/first_cause.h"

#include <stdlib.h>
#include <string.h>

#include <assay/search.h>

#include "parts/first_cause_internal.h"

/* Called from map, for each tensor: what was found is only noted, and joined over ranks by the onsets of the state. */
int first_cause_judge(const assay_common_state *state, const assay_step_view *view, uint32_t tensor, uint32_t worker,
                      assay_judgement judgement, const assay_first_bad *first)
{
    bool known = first && first->index != UINT64_MAX;
    judgement.detail[0] = known ? (double)first->index : -1;
    judgement.detail[1] = known ? first->value : 0;
    return assay_onsets_add(state->onsets, view, tensor, worker, &judgement);
}

typedef struct place { /* of an onset in the order in which faults begin */
    const assay_onset *onset;
    uint32_t order;
} place;

ASSAY_ORDER_BY(compare_places, place, onset->first_bad, order, onset->worker)

/* A state may come from a checkpoint, so tensor and worker are looked at before they are indexes. */
static bool counts(const cause *c, const assay_onset *o, const bool *leave_out)
{
    uint32_t workers = assay_trial_workers(c->rule->trial), tensors = assay_trial_tensors(c->rule->trial);
    return o->first_bad != ASSAY_NO_STEP && o->tensor < tensors &&
           (o->worker < workers || o->worker == ASSAY_ALL_WORKERS) && !(leave_out && leave_out[o->tensor]);
}

/* Collects the onsets, and those that were bad, in order; nothing where none was. `instead` are onsets that the rule
 * has worked over. */
static int collect_onsets(cause *c, const assay_onsets *onsets, const assay_onset *instead, const bool *leave_out)
{
    uint32_t workers = assay_trial_workers(c->rule->trial), tensors = assay_trial_tensors(c->rule->trial);
    /* One more than there are: sizes of nothing are no failure then. */
    const uint64_t all = assay_onsets_count(onsets);
    uint64_t bad = 0;
    for (uint64_t i = 0; i < all; i++) {
        assay_onset o = instead ? instead[i] : assay_onsets_get(onsets, i);
        bad += counts(c, &o, leave_out);
    }
    if (bad == 0)
        return ASSAY_OK;
    c->all_count = all;
    c->all = malloc((size_t)all * sizeof *c->all);
    place *list = malloc((size_t)bad * sizeof *list);
    c->onset = malloc((size_t)bad * sizeof *c->onset);
    c->first = calloc((size_t)workers + 1, sizeof *c->first);
    c->arrival = calloc((size_t)workers + 1, sizeof *c->arrival);
    c->worker_bad = calloc((size_t)workers + 1, sizeof *c->worker_bad);
    c->tensor_bad = calloc((size_t)tensors + 1, sizeof *c->tensor_bad);
    bool ready = list && c->all && c->onset && c->first && c->arrival && c->worker_bad && c->tensor_bad;
    for (uint64_t i = 0; ready && i < all; i++) {
        c->all[i] = instead ? instead[i] : assay_onsets_get(onsets, i);
        if (counts(c, &c->all[i], leave_out))
            list[c->count++] = (place){&c->all[i], assay_trial_order(c->rule->trial, c->all[i].tensor)};
    }
    if (ready)
        qsort(list, c->count, sizeof *list, compare_places);
    for (uint64_t i = 0; ready && i < c->count; i++)
        c->onset[i] = list[i].onset;
    free(list);
    return ready ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Makes one stage for each step at which the fault came further; the last one takes in what is beyond STAGES_MOST.
 * Onsets are in order of steps, so one walk does. */
static void find_stages(cause *c)
{
    stage now = {0};
    uint32_t workers = assay_trial_workers(c->rule->trial);
    for (uint64_t i = 0; i < c->count; i++) {
        const assay_onset *o = c->onset[i];
        if (i > 0 && o->first_bad != now.step && c->stages < STAGES_MOST - 1) {
            c->stage[c->stages++] = now;
            now.from = now.to;
        }
        now.step = o->first_bad;
        now.tensors += !c->tensor_bad[o->tensor];
        c->tensor_bad[o->tensor] = true;
        if (o->worker < workers && !c->worker_bad[o->worker]) {
            c->worker_bad[o->worker] = true;
            c->first[now.to] = o;
            c->arrival[now.to++] = o->worker;
            now.workers++;
        }
    }
    c->stage[c->stages++] = now;
    c->bad_workers = c->stage[0].to;
}

static const assay_step_info *step_info(const cause *c, int64_t step)
{
    return assay_trial_step(c->rule->trial, assay_trial_find_step(c->rule->trial, step));
}

/* Tells whether the first bad tensor is data, which no step before can have spoilt. */
static bool is_fed(const cause *c)
{
    const assay_role role = assay_trial_role(c->rule->trial, c->onset[0]->tensor);
    return role == ASSAY_ROLE_INPUT || role == ASSAY_ROLE_LABEL;
}

/* Tells whether training lies between. Two evaluations are neighbours only if nothing was trained in between: the
 * trial's steps then went further than the mode's own. */
static bool was_trained_between(const cause *c, const assay_step_info *good)
{
    return c->info->mode != ASSAY_MODE_TRAIN && c->info->mode != ASSAY_MODE_GLOBAL &&
           c->info->step - good->step > c->info->mode_step - good->mode_step;
}

/* The last step before the first bad one at which all losses were good that the worker's weights spoilt; ASSAY_NO_STEP: none
 * is known. What is rarely recorded, as weights often are, is known by what is computed from it. */
static int64_t losses_good_until(const cause *c)
{
    const assay_trial *trial = c->rule->trial;
    int64_t until = INT64_MAX;
    if (c->became || !c->info || assay_trial_role(trial, c->onset[0]->tensor) != ASSAY_ROLE_WEIGHT)
        return ASSAY_NO_STEP;
    for (uint64_t i = 0; i < c->all_count; i++) {
        const assay_onset *o = &c->all[i];
        if (o->worker != c->onset[0]->worker || assay_trial_role(trial, o->tensor) != ASSAY_ROLE_LOSS ||
            o->tested[c->info->mode] == 0 || o->first_bad == ASSAY_NO_STEP)
            continue; /* one that stays good is computed from other weights */
        const assay_step_info *good = o->last_good == ASSAY_NO_STEP ? NULL : step_info(c, o->last_good);
        if (!good || good->mode != c->info->mode || o->last_good >= c->step)
            return ASSAY_NO_STEP;
        until = o->last_good < until ? o->last_good : until;
    }
    return until == INT64_MAX ? ASSAY_NO_STEP : until;
}

/* Finds the last step before the first bad one at which the tensor was good, or else anything was; and whether steps
 * that nobody recorded lie between. Steps of other modes in between do not count. */
static void find_last_good(cause *c)
{
    c->last_good = c->onset[0]->last_good;
    for (uint64_t i = 0; c->onset[0]->last_good == ASSAY_NO_STEP && i < c->all_count; i++) {
        int64_t good = c->all[i].last_good;
        c->last_good = good < c->step && good > c->last_good ? good : c->last_good;
    }
    const int64_t losses = losses_good_until(c);
    c->by_loss = losses != ASSAY_NO_STEP && (c->last_good == ASSAY_NO_STEP || losses > c->last_good);
    c->last_good = c->by_loss ? losses : c->last_good;
    const assay_step_info *good = c->last_good == ASSAY_NO_STEP ? NULL : step_info(c, c->last_good);
    if (!good)
        c->gap = c->step > 0;
    else if (c->info && good->mode == c->info->mode)
        c->gap = c->info->mode_step - good->mode_step > 1 || (!is_fed(c) && was_trained_between(c, good));
    else
        c->gap = c->step - c->last_good > 1;
}

/* Finds the onset of a tensor and worker; NULL: none. All onsets are in order of these. */
static const assay_onset *find_onset(const cause *c, uint32_t tensor, uint32_t worker)
{
    uint64_t low = 0;
    ASSAY_SEARCH(low, c->all_count,
                 c->all[low].tensor < tensor || (c->all[low].tensor == tensor && c->all[low].worker < worker));
    const assay_onset *found = low < c->all_count ? &c->all[low] : NULL;
    return found && found->tensor == tensor && found->worker == worker ? found : NULL;
}

/* Tells whether a worker's result holds what only this worker did: whether it is computed before workers exchange
 * gradients. */
static bool is_own_work(const cause *c, const assay_onset *o)
{
    assay_role role = assay_trial_role(c->rule->trial, o->tensor);
    return role == ASSAY_ROLE_INPUT || role == ASSAY_ROLE_LABEL || role == ASSAY_ROLE_ACTIVATION ||
           role == ASSAY_ROLE_LOSS;
}

/* Tells whether the worker saved the tensor of `o` as often as the one of `o`, and whether it was good at the first
 * bad step. */
static bool was_good_elsewhere(const cause *c, const assay_onset *o, uint32_t worker)
{
    const assay_onset *other = find_onset(c, o->tensor, worker);
    int mode = c->info ? c->info->mode : ASSAY_MODE_NONE;
    return other && (other->first_bad == ASSAY_NO_STEP || other->first_bad > c->step) &&
           other->tested[mode] >= o->tested[mode];
}

/* Tells who was first, where several are bad at the first bad step: see first_cause.h, 3. Silent workers might have
 * been it, but for data, which nobody else can have spoilt. */
static bool is_alone(const cause *c)
{
    assay_role role = assay_trial_role(c->rule->trial, c->onset[0]->tensor);
    if (c->silent_workers > 0 && (c->gap || (role != ASSAY_ROLE_INPUT && role != ASSAY_ROLE_LABEL)))
        return false;
    if (c->bad_workers == 1)
        return true;
    if (c->gap || !is_own_work(c, c->onset[0]))
        return false;
    for (uint32_t i = 0; i < c->bad_workers; i++) {
        const assay_onset *o = c->first[i];
        if (o->worker == c->onset[0]->worker)
            continue;
        bool later = !is_own_work(c, o) && assay_trial_order(c->rule->trial, o->tensor) >
                                               assay_trial_order(c->rule->trial, c->onset[0]->tensor);
        if (!later || !was_good_elsewhere(c, c->onset[0], o->worker))
            return false;
    }
    return true;
}

/* Counts tensors of the worker that are computed before the first bad one, are saved in this mode, and were not at
 * this step. Any of them may be the true first. */
static void count_unrecorded(cause *c)
{
    const assay_onset *cause_of = c->onset[0];
    uint32_t order = assay_trial_order(c->rule->trial, cause_of->tensor), nearest = 0;
    int mode = c->info ? c->info->mode : ASSAY_MODE_NONE;
    for (uint64_t i = 0; i < c->all_count; i++) {
        assay_onset o = c->all[i];
        uint32_t at = assay_trial_order(c->rule->trial, o.tensor);
        if (o.worker != cause_of->worker || at >= order || o.tested[mode] == 0 || o.first_bad == c->step)
            continue;
        if (o.tested[mode] < cause_of->tested[mode]) {
            c->unrecorded_tensor = c->unrecorded == 0 || at < nearest ? o.tensor : c->unrecorded_tensor;
            nearest = c->unrecorded == 0 || at < nearest ? at : nearest;
            c->unrecorded++;
        }
    }
}

/* Tested as often as the bad one, so it was recorded at that step. */
static bool was_good_here(const cause *c, const assay_onset *o)
{
    const int mode = c->info ? c->info->mode : ASSAY_MODE_NONE;
    return o->worker == c->onset[0]->worker && o->tested[mode] > 0 &&
           (o->first_bad == ASSAY_NO_STEP || o->first_bad > c->step) && o->tested[mode] >= c->onset[0]->tested[mode];
}

/* Looks whether what a module was given is bad. Then an operation outside of modules, which nobody recorded, made it:
 * c->before is the last tensor in order of computation that was good at that step. */
static void find_before(cause *c)
{
    const assay_trial *trial = c->rule->trial;
    const uint32_t order = assay_trial_order(trial, c->onset[0]->tensor);
    c->before = ASSAY_NO_TENSOR;
    c->unseen = false;
    if (c->became || assay_trial_role(trial, c->onset[0]->tensor) != ASSAY_ROLE_ACTIVATION ||
        !strstr(assay_trial_tensor(trial, c->onset[0]->tensor), "_input_"))
        return;
    for (uint64_t i = 0; i < c->all_count; i++) {
        const assay_onset *o = &c->all[i];
        const assay_role role = assay_trial_role(trial, o->tensor);
        if (was_good_here(c, o) && (role == ASSAY_ROLE_ACTIVATION || role == ASSAY_ROLE_INPUT) &&
            assay_trial_order(trial, o->tensor) < order &&
            (c->before == ASSAY_NO_TENSOR || assay_trial_order(trial, o->tensor) > assay_trial_order(trial, c->before)))
            c->before = o->tensor;
    }
    c->unseen = c->before == ASSAY_NO_TENSOR;
}

/* Every doubt that put_doubts() has words for makes it uncertain. */
bool first_cause_is_certain(const cause *c)
{
    return !c->gap && !c->by_loss && c->before == ASSAY_NO_TENSOR && !c->unseen && c->unrecorded == 0 &&
           c->silent_workers == 0 && (c->pooled || c->worker != ASSAY_ALL_WORKERS);
}

const char *first_cause_phase(const cause *c)
{
    switch (assay_trial_role(c->rule->trial, c->onset[0]->tensor)) {
    case ASSAY_ROLE_INPUT:
    case ASSAY_ROLE_LABEL:
        return "data";
    case ASSAY_ROLE_GRADIENT:
        return "backward";
    case ASSAY_ROLE_WEIGHT:
    case ASSAY_ROLE_OPTIMIZER:
        return "update";
    case ASSAY_ROLE_ACTIVATION:
    case ASSAY_ROLE_LOSS:
    default:
        return "forward";
    }
}

/* In this order: whether somebody was alone needs stages, gap and silent workers. */
static void find_cause(cause *c)
{
    uint32_t workers = assay_trial_workers(c->rule->trial), of = assay_trial_run_workers(c->rule->trial);
    c->step = c->onset[0]->first_bad;
    c->info = step_info(c, c->step);
    c->pooled = c->onset[0]->worker == ASSAY_ALL_WORKERS;
    find_stages(c);
    find_last_good(c);
    c->silent_workers = of > workers ? of - workers : 0;
    c->worker = c->pooled || !is_alone(c) ? ASSAY_ALL_WORKERS : c->onset[0]->worker;
    count_unrecorded(c);
    find_before(c);
}

/* Called by finalize of rules over single tensors. Nothing is put where no onset was bad. `became`: what the rule
 * calls bad, for rules that are not about NaN. */
int first_cause_put(const assay_rule *rule, const assay_common_state *state, const assay_onset *onsets,
                    const bool *leave_out, const char *became, assay_verdict *verdict, assay_error *err)
{
    cause c = {.rule = rule, .became = became};
    int status = collect_onsets(&c, state->onsets, onsets, leave_out);
    if (status == ASSAY_OK && c.count > 0) {
        find_cause(&c);
        first_cause_put_json(&c, assay_verdict_json(verdict));
        first_cause_put_text(&c, assay_verdict_text(verdict));
    }
    free(c.onset);
    free(c.all);
    free(c.first);
    free(c.arrival);
    free(c.worker_bad);
    free(c.tensor_bad);
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "out of memory");
}
