/* world.c - generates steps, tensors, statistics and measures for the slots of a rule, whatever they select.
 *
 * Names, shapes, dtypes and values are drawn from small pools in which every kind of trouble occurs: missing workers,
 * other shapes, reductions only, empty tensors, NaN, infinities, zeros, repeats of the step before
 * and of the first worker. */
#include "world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/measure.h"
#include "tensor/stats.h"

typedef struct sample { /* what one worker saved of one tensor at one step */
    bool raw, text;
    int dims;
    int64_t shape[3];
    uint64_t elements;
    double *value;
} sample;

typedef struct maker {
    world *w;
    uint64_t random;
    const uint8_t *bytes; /* what stands for chance as far as it reaches */
    size_t left;
    uint32_t tensors;                   /* of all slots */
    uint32_t *id, *slot;                /* of tensor t: its id in the trial, its slot */
    sample (*saved)[WORLD_WORKERS];     /* [t * WORLD_STEPS + step][worker] */
    sample (*elsewhere)[WORLD_WORKERS]; /* the other trial's */
    const world_spoil *spoil;           /* NULL: values may be anything */
    bool failed;
} maker;

static const char *const POOL[] = {"act0.tanh_input", "train-loss", "validation-loss", "act1.sigmoid_input",
                                   "trees/Yes",       "trees/No",   "fc1.weight",      "gradient/fc1.weight",
                                   "eval_labels",     "trees/Node"};

static uint64_t next_random(maker *m)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    if (m->left > 0) {
        m->left--;
        return (uint64_t)*m->bytes++ << 11; /* below() takes the upper bits */
    }
    return m->random;
}

static uint64_t below(maker *m, uint64_t n)
{
    return (next_random(m) >> 11) % n;
}

static void *take(maker *m, size_t count, size_t size)
{
    void *p = assay_arena_take_zeroed(m->w->arena, count ? count : 1, size);
    m->failed = m->failed || !p;
    return p;
}

static double random_value(maker *m, uint32_t t)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, 1e300, 1e-300, 0.5, -1};
    if (below(m, 60) == 0) {
        const double x = odd[below(m, sizeof odd / sizeof *odd)];
        return m->spoil && !isfinite(x) ? 0 : x;
    }
    if (m->left > 0 && below(m, 4) == 0 && m->left >= sizeof(double)) {
        double any;
        memcpy(&any, m->bytes, sizeof any);
        m->bytes += sizeof any;
        m->left -= sizeof any;
        return any;
    }
    switch (t % 4) {
    case 0:
        return (double)below(m, 4); /* class numbers, ids */
    case 1:
        return ((double)below(m, 2001) - 1000) * 1e-2;
    case 2:
        return below(m, 4) ? 0 : (double)below(m, 3) * 1e-9;
    default:
        return 1 + (double)below(m, 1000) * 1e-3;
    }
}

static void random_shape(maker *m, uint32_t t, sample *s)
{
    static const int64_t shapes[][3] = {{0}, {6}, {6, 4}, {4, 3, 2}};
    s->dims = (int)(t % 4);
    memcpy(s->shape, shapes[s->dims], sizeof s->shape);
    if (s->dims && below(m, 10) == 0)
        s->shape[below(m, (uint64_t)s->dims)] += 1;
    if (s->dims && below(m, 40) == 0)
        s->shape[0] = 0;
    s->elements = 1;
    for (int i = 0; i < s->dims; i++)
        s->elements *= (uint64_t)s->shape[i];
}

static void random_sample(maker *m, uint32_t t, const sample *before, sample *s)
{
    if (before && before->raw && below(m, 3) == 0) {
        *s = *before;
        return;
    }
    s->raw = below(m, 8) > 0;
    random_shape(m, t, s);
    s->value = take(m, s->elements, sizeof *s->value);
    for (uint64_t i = 0; !m->failed && i < s->elements; i++)
        s->value[i] = random_value(m, t);
}

/* Steps 0, 3, 6, ...; every third one EVAL, or all of them GLOBAL. */
static bool make_steps(maker *m, bool global)
{
    assay_trial *trial = &m->w->trial;
    int64_t mode_step[ASSAY_MODES] = {0};
    for (int i = 0; i < WORLD_STEPS; i++) {
        int mode = global ? ASSAY_MODE_GLOBAL : i % 3 == 2 ? ASSAY_MODE_EVAL : ASSAY_MODE_TRAIN;
        trial->steps[i] = (assay_step_info){.step = 3 * i, .mode_step = mode_step[mode], .mode = mode};
        mode_step[mode] += 3;
    }
    trial->step_count = WORLD_STEPS;
    return assay_trial_info_finish(trial, &m->w->catalog.problems) == ASSAY_OK;
}

static void name_tensor(const maker *m, uint32_t slot, uint32_t k, char *out, size_t room)
{
    const assay_slot_need *need = &m->w->instance->need->slots[slot];
    size_t pool = sizeof POOL / sizeof *POOL;
    if (need->name && k == 0)
        snprintf(out, room, "%s", need->name);
    else if (slot > 0 && k == 1) /* the gradient of a tensor of the first slot */
        snprintf(out, room, "gradient/%s_%u_%u", POOL[(1 + m->random % 7) % pool], 0u, 1u);
    else if (k == 3 && m->random % 2) /* statistics that a training logs are told by their names */
        snprintf(out, room, "layer%u_weight_%s", slot, m->random % 4 == 1 ? "underflows%" : "mxfp8_overflows%");
    else
        snprintf(out, room, "%s_%u_%u", POOL[(slot * 3 + k + m->random % 7) % pool], slot, k);
}

static bool make_names(maker *m)
{
    const assay_need *need = m->w->instance->need;
    assay_dict *dict = assay_dict_new();
    m->tensors = need->slot_count * WORLD_TENSORS;
    m->id = take(m, m->tensors, sizeof *m->id);
    m->slot = take(m, m->tensors, sizeof *m->slot);
    uint32_t *sorted = take(m, m->tensors, sizeof *sorted);
    m->w->trial.tensors = dict;
    if (!dict || m->failed)
        return false;
    for (uint32_t t = 0; t < m->tensors; t++) {
        char name[100];
        m->slot[t] = t / WORLD_TENSORS;
        name_tensor(m, m->slot[t], t % WORLD_TENSORS, name, sizeof name);
        m->id[t] = assay_dict_add(dict, name, strlen(name));
    }
    if (assay_dict_sort(dict, sorted))
        return false;
    for (uint32_t t = 0; t < m->tensors; t++)
        m->id[t] = sorted[m->id[t]];
    return true;
}

static void make_samples(maker *m)
{
    size_t rows = (size_t)m->tensors * WORLD_STEPS;
    m->saved = take(m, rows, sizeof *m->saved);
    m->elsewhere = take(m, rows, sizeof *m->elsewhere);
    m->w->trial.tensor_modes = take(m, m->tensors, 1);
    for (size_t row = 0; !m->failed && row < rows; row++)
        for (uint32_t worker = 0; worker < WORLD_WORKERS; worker++) {
            uint32_t t = (uint32_t)(row / WORLD_STEPS), step = (uint32_t)(row % WORLD_STEPS);
            if (worker > 0 && below(m, 2) == 0)
                m->saved[row][worker] = m->saved[row][0];
            else
                random_sample(m, t, step ? &m->saved[row - 1][worker] : NULL, &m->saved[row][worker]);
            random_sample(m, t, &m->saved[row][worker], &m->elsewhere[row][worker]);
            if (m->saved[row][worker].raw)
                m->w->trial.tensor_modes[m->id[t]] |= (uint8_t)(1u << m->w->trial.steps[step].mode);
        }
}

static bool is_spoilt(const maker *m, uint32_t t, int step, uint32_t worker)
{
    const world_spoil *spoil = m->spoil;
    return spoil && spoil->harm != WORLD_UNHARMED && t == spoil->tensor && step >= spoil->from && step < spoil->to &&
           (spoil->worker < 0 || worker == (uint32_t)spoil->worker);
}

/* Samples share their values, so those that are spoilt get some of their own. */
static void spoil_samples(maker *m)
{
    for (uint32_t t = 0; t < m->tensors; t++)
        for (int step = 0; step < WORLD_STEPS; step++)
            for (uint32_t worker = 0; worker < WORLD_WORKERS && !m->failed; worker++) {
                sample *s = &m->saved[(size_t)t * WORLD_STEPS + (size_t)step][worker];
                if (!is_spoilt(m, t, step, worker))
                    continue;
                if (m->spoil->harm == WORLD_ABSENT) {
                    s->raw = false;
                    continue;
                }
                const double *whole = s->value;
                s->value = take(m, s->elements, sizeof *s->value);
                for (uint64_t i = 0; !m->failed && i < s->elements; i++)
                    s->value[i] = m->spoil->harm == WORLD_ALL_NAN || i == s->elements / 2 ? NAN : whole[i];
            }
}

static const sample *reference_of(maker *m, const assay_measure *measure, uint32_t t, int step, uint32_t worker,
                                  int *at)
{
    const size_t row = (size_t)t * WORLD_STEPS;
    int64_t back = measure->reference == ASSAY_REFERENCE_SAVED_BEFORE ? measure->steps : 1;
    *at = step;
    if (measure->reference == ASSAY_REFERENCE_OTHER_TRIAL || assay_measure_pairs(measure))
        return &m->elsewhere[row + (size_t)step][worker];
    if (measure->reference == ASSAY_REFERENCE_FIRST_WORKER)
        return &m->saved[row + (size_t)step][0];
    for (int i = step - 1; i >= 0; i--)
        if (m->saved[row + (size_t)i][worker].raw && m->saved[row + (size_t)i][worker].elements && --back == 0) {
            *at = i;
            return &m->saved[row + (size_t)i][worker];
        }
    return NULL;
}

static assay_shape shape_of(const sample *s)
{
    return (assay_shape){.dtype = ASSAY_FLOAT64, .dims = s->dims, .dim = s->shape, .elements = s->elements};
}

static bool same_shape(const sample *a, const sample *b)
{
    return a->dims == b->dims && memcmp(a->shape, b->shape, (size_t)a->dims * sizeof *a->shape) == 0;
}

static assay_result *texts_result(maker *m, const sample *s)
{
    static const char *const words[] = {"0-1", "0-2", "1-0", "f1", "Leaf", ""};
    assay_result *result = take(m, 1, sizeof *result);
    const char **text = take(m, s->elements, sizeof *text);
    if (m->failed)
        return NULL;
    for (uint64_t i = 0; i < s->elements; i++)
        text[i] = words[below(m, sizeof words / sizeof *words)];
    *result = (assay_result){.kind = ASSAY_MEASURE_TEXTS, .of.texts = {.count = s->elements, .text = text}};
    return result;
}

/* NULL where the measure does not apply. */
static const assay_result *take_measure(maker *m, const assay_measure *measure, uint32_t t, int step, uint32_t worker)
{
    const sample *s = &m->saved[(size_t)t * WORLD_STEPS + (size_t)step][worker], *reference = NULL;
    int at = step;
    if (!s->raw || s->elements == 0)
        return NULL;
    if (assay_measure_is_text(measure))
        return texts_result(m, s);
    if (assay_measure_compares(measure))
        reference = reference_of(m, measure, t, step, worker, &at);
    if (reference && (!reference->raw || reference->elements == 0))
        reference = NULL;
    assay_shape shape = shape_of(s), reference_shape = reference ? shape_of(reference) : shape;
    assay_meter *meter = NULL;
    assay_result *result = take(m, 1, sizeof *result);
    int status =
        assay_meter_new(measure, &shape, reference ? &reference_shape : NULL, 1 << 24, m->w->arena, &meter, NULL);
    if (status || m->failed) {
        m->failed = m->failed || status < 0;
        return NULL;
    }
    do {
        const void *with = reference && same_shape(s, reference) ? reference->value : NULL;
        m->failed = m->failed || assay_meter_feed(meter, s->value, with, s->elements, NULL) != ASSAY_OK;
        status = m->failed ? -1 : assay_meter_end(meter, result, NULL);
    } while (status == 1);
    m->failed = m->failed || status < 0;
    if (measure->kind == ASSAY_MEASURE_CHANGE)
        result->of.change.step = m->w->trial.steps[at].step;
    if (measure->kind == ASSAY_MEASURE_SKETCH)
        result->of.sketch.step = m->w->trial.steps[at].step;
    return m->failed ? NULL : result;
}

static const assay_stats *take_stats(maker *m, const sample *s)
{
    assay_stats *stats = take(m, 1, sizeof *stats);
    assay_stats_acc acc;
    if (m->failed || assay_stats_init(&acc, ASSAY_FLOAT64))
        return NULL;
    assay_stats_feed(&acc, s->value, s->elements);
    assay_stats_finish(&acc, stats);
    return stats;
}

static const assay_tensor_view *make_item(maker *m, uint32_t t, int step, uint32_t worker)
{
    const assay_need *need = m->w->instance->need;
    const assay_slot_need *slot = &need->slots[m->slot[t]];
    const sample *s = &m->saved[(size_t)t * WORLD_STEPS + (size_t)step][worker];
    assay_tensor_view *item = take(m, 1, sizeof *item);
    double *reduction = take(m, ASSAY_KINDS, sizeof *reduction);
    const assay_result **results = take(m, need->measure_count + 1, sizeof *results);
    uint32_t *place = take(m, need->measure_count, sizeof *place);
    if (m->failed)
        return NULL;
    *item = (assay_tensor_view){.tensor = m->id[t],
                                .worker = worker,
                                .name = assay_trial_tensor(&m->w->trial, m->id[t]),
                                .dtype = s->raw ? ASSAY_FLOAT64 : -1,
                                .dims = s->raw ? s->dims : 0,
                                .shape = s->shape,
                                .wall_time = 1e9 + 600.0 * step * step + 10 * worker * worker,
                                .stats = s->raw ? take_stats(m, s) : NULL,
                                .reductions = slot->kinds & ~(1u << ASSAY_RAW),
                                .reduction = reduction,
                                .results = results,
                                .place = place};
    for (int kind = 0; kind < ASSAY_KINDS; kind++)
        reduction[kind] = random_value(m, t);
    for (int kind = 0; kind < ASSAY_KINDS && is_spoilt(m, t, step, worker); kind++)
        reduction[kind] = NAN;
    for (uint32_t k = 0; k < need->measure_count; k++)
        place[k] = k + 1;
    for (uint32_t k = 0; k < need->measure_count; k++)
        if (need->measure_slot[k] == m->slot[t])
            results[k + 1] = take_measure(m, &need->measures[k], t, step, worker);
    return item->stats || item->reductions ? item : NULL;
}

static int by_tensor(const void *a, const void *b)
{
    const assay_tensor_view *const *x = a, *const *y = b;
    if ((*x)->tensor != (*y)->tensor)
        return (*x)->tensor < (*y)->tensor ? -1 : 1;
    return ((*x)->worker > (*y)->worker) - ((*x)->worker < (*y)->worker);
}

static bool slot_sees(const maker *m, const assay_slot_need *slot, int mode)
{
    bool there = slot->modes & m->w->trial.modes;
    if (slot->modes == 0 || (!there && (slot->flags & ASSAY_SLOT_PREFER_MODES)))
        return true;
    return slot->modes >> mode & 1;
}

static void make_slot(maker *m, uint32_t slot, int step, assay_slot_view *out)
{
    const assay_tensor_view **items = take(m, WORLD_TENSORS * WORLD_WORKERS, sizeof *items);
    *out = (assay_slot_view){.items = items};
    if (m->failed || !slot_sees(m, &m->w->instance->need->slots[slot], m->w->trial.steps[step].mode))
        return;
    for (uint32_t t = 0; t < m->tensors; t++)
        for (uint32_t worker = 0; worker < WORLD_WORKERS && m->slot[t] == slot; worker++) {
            bool missing = below(m, 12) == 0;
            const assay_tensor_view *item = missing ? NULL : make_item(m, t, step, worker);
            if (item && !(is_spoilt(m, t, step, worker) && m->spoil->harm == WORLD_ABSENT))
                items[out->count++] = item;
        }
    qsort(items, out->count, sizeof *items, by_tensor);
}

static void make_views(maker *m)
{
    world *w = m->w;
    const assay_need *need = w->instance->need;
    bool looks_back = w->instance->ops->traits & ASSAY_RULE_LOOKS_BACK;
    uint32_t *measure = take(m, need->measure_count, sizeof *measure);
    for (uint32_t k = 0; !m->failed && k < need->measure_count; k++)
        measure[k] = k;
    for (int step = 0; !m->failed && step < WORLD_STEPS; step++) {
        const assay_step_info *info = &w->trial.steps[step];
        assay_slot_view *slots = take(m, need->slot_count, sizeof *slots);
        uint32_t items = 0;
        for (uint32_t s = 0; !m->failed && s < need->slot_count; s++) {
            make_slot(m, s, step, &slots[s]);
            items += slots[s].count;
        }
        if (info->step >= w->rule.end_step || (info->step < w->rule.start_step && !looks_back) || items == 0)
            continue;
        w->views[w->view_count++] = (assay_step_view){.step = info->step,
                                                      .mode_step = info->mode_step,
                                                      .mode = info->mode,
                                                      .slots = need->slot_count,
                                                      .slot = slots,
                                                      .measure = measure};
    }
}

/* What the index of a series of checkpoints says: most steps are whole; names are promised, or second names. */
static void make_claims(maker *m)
{
    assay_manifest *claims = &m->w->trial.claims;
    for (int step = 0; step < WORLD_STEPS && !m->failed; step++)
        for (uint32_t worker = 0; worker < WORLD_WORKERS && !m->failed; worker++) {
            assay_claim claim = {.step = m->w->trial.steps[step].step,
                                 .worker = worker,
                                 .kind = ASSAY_CLAIM_NAMES,
                                 .tensor = ASSAY_NO_TENSOR,
                                 .first = ASSAY_NO_TENSOR};
            m->failed = assay_manifest_add(claims, &claim) != ASSAY_OK;
            claim.kind = ASSAY_CLAIM_OPEN;
            if (below(m, 12) == 0)
                m->failed = m->failed || assay_manifest_add(claims, &claim) != ASSAY_OK;
            claim.tensor = m->id[below(m, m->tensors)];
            claim.kind = ASSAY_CLAIM_PROMISED + below(m, 2);
            claim.first = claim.kind == ASSAY_CLAIM_ALIAS ? m->id[0] : ASSAY_NO_TENSOR;
            m->failed = m->failed || assay_manifest_add(claims, &claim) != ASSAY_OK;
        }
    assay_manifest_sort(claims);
}

static bool fill(world *w, const assay_instance *instance, uint64_t seed, const void *bytes, size_t size,
                 const world_spoil *spoil)
{
    static char names[][12] = {"worker_0", "worker_1", "worker_2"}, mine[] = "generated", theirs[] = "another";
    static char *workers[] = {names[0], names[1], names[2]};
    *w = (world){.instance = instance, .arena = assay_arena_new((size_t)1 << 28)};
    if (!w->arena)
        return false;
    maker m = {.w = w, .random = seed * 0x9E3779B97F4A7C15u + 1, .bytes = bytes, .left = size, .spoil = spoil};
    w->catalog.workers = w->catalog.expected_workers = WORLD_WORKERS;
    w->catalog.worker = workers;
    assay_problems_init(&w->catalog.problems);
    w->trial.catalog = &w->catalog;
    w->trial.name = mine;
    w->trial.steps = take(&m, WORLD_STEPS, sizeof *w->trial.steps);
    if (m.failed || !make_names(&m) || !make_steps(&m, seed % 3 == 2))
        return false;
    w->rule = (assay_rule){.ops = instance->ops,
                           .params = instance->params,
                           .data = instance->data,
                           .trial = &w->trial,
                           .start_step = instance->start_step,
                           .end_step = instance->end_step};
    w->other = w->trial;
    w->other.name = theirs;
    w->rule.other = instance->need->other_trial ? &w->other : NULL;
    make_samples(&m);
    spoil_samples(&m);
    w->other.tensor_modes = w->trial.tensor_modes;
    make_views(&m);
    if (!m.failed)
        make_claims(&m);
    return !m.failed;
}

bool world_make(world *w, const assay_instance *instance, uint64_t seed)
{
    return fill(w, instance, seed, NULL, 0, NULL);
}

bool world_make_of(world *w, const assay_instance *instance, uint64_t seed, const void *bytes, size_t size)
{
    return fill(w, instance, seed, bytes, size, NULL);
}

bool world_make_spoilt(world *w, const assay_instance *instance, uint64_t seed, const world_spoil *spoil)
{
    return fill(w, instance, seed, NULL, 0, spoil);
}

void world_release(world *w)
{
    free(w->trial.mode_rank);
    free(w->trial.matchers);
    free(w->trial.order);
    free(w->trial.role);
    assay_manifest_release(&w->trial.claims);
    if (w->trial.tensors)
        assay_dict_free(w->trial.tensors);
    assay_problems_release(&w->catalog.problems);
    assay_arena_free(w->arena);
}
