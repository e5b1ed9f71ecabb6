/* not_finite.c - a NaN has one cause, and rules that are about something else do not fire for it.
 *
 * One tensor of a world of finite values is harmed: one of its elements, or all at one step of one worker, or all from one step on, as
 * they are once a training is lost. Whatever a rule finds then it finds as well in the world as it was, or in one where that tensor was not
 * saved: what is left out can shorten a past, and nothing more. */
#include "not_finite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "rule/params.h"
#include "rule/verdict.h"
#include "variants.h"
#include "world.h"

enum { SEEDS = UNIT_SANITIZED ? 1 : 2, SPOILS = 6 };

/* Rules whose subject it is, or that are asked to look at it: a NaN is no number of a class; where one of two that are compared has it, they
 * differ; an expression says what it likes; and a loss of NaN is not lower than the one before, as tests/data/trials has it. */
static bool may_fire(const assay_rule_ops *ops)
{
    static const char *const names[] = {
        "ExplodingTensor",   "Expression", "LabelOutOfRange", "PoorWeightInitialization", "ReplicaDivergence",
        "SimilarAcrossRuns", NULL};
    for (size_t i = 0; names[i]; i++)
        if (strcmp(ops->name, names[i]) == 0)
            return true;
    return false;
}

/* With equal_nan a NaN that stays is unchanged; with only_finite false norms may be anything. */
static bool asks_for_it(const assay_instance *instance)
{
    const assay_param_def *def;
    for (size_t i = 0; (def = assay_params_def(instance->ops, i)); i++)
        if ((strcmp(def->name, "equal_nan") == 0 && assay_param_bool(instance->params, def->name)) ||
            (strcmp(def->name, "only_finite") == 0 && !assay_param_bool(instance->params, def->name)))
            return true;
    return false;
}

typedef struct outcome {
    world w;
    assay_verdict verdict;
} outcome;

static bool reach(outcome *o, const assay_instance *instance, uint64_t seed, const world_spoil *spoil)
{
    bool ok = world_make_spoilt(&o->w, instance, seed, spoil);
    void *state = ok ? o->w.rule.ops->state_new(&o->w.rule) : NULL;
    ok = assay_verdict_init(&o->verdict, ASSAY_MAX_FINDINGS) == ASSAY_OK && state;
    for (uint64_t i = 0; ok && i < o->w.view_count; i++)
        ok = o->w.rule.ops->map(&o->w.rule, state, &o->w.views[i], NULL) == ASSAY_OK;
    ok = ok && assay_verdict_reach(&o->w.rule, state, &o->verdict) == ASSAY_OK;
    if (state)
        o->w.rule.ops->state_free(state);
    return ok;
}

static void release(outcome *o)
{
    assay_verdict_release(&o->verdict);
    world_release(&o->w);
}

static bool has(const outcome *o, const assay_finding *f)
{
    const assay_findings *all = o->verdict.findings;
    for (size_t i = 0; i < all->kept; i++)
        if (all->list[i].step == f->step && all->list[i].tensor == f->tensor && all->list[i].worker == f->worker)
            return true;
    return false;
}

/* Prints the first finding of `harmed` that none of the others has. */
static bool only_known(const outcome *harmed, const outcome *others, size_t count, const char *how)
{
    const assay_findings *all = harmed->verdict.findings;
    for (size_t i = 0; i < all->kept; i++) {
        const assay_finding *f = &all->list[i];
        bool known = false;
        for (size_t k = 0; k < count; k++)
            known = known || has(&others[k], f);
        if (!known) {
            assay_buf given;
            assay_buf_init(&given, 1 << 20);
            assay_instance_put_parameters(harmed->w.instance, &given);
            printf("\n%s fires for %s: step %lld, tensor %u, worker %u, %g against %g%s%s; %.*s\n",
                   harmed->w.rule.ops->name, how, (long long)f->step, f->tensor, f->worker, f->value, f->threshold,
                   f->note ? ", " : "", f->note ? f->note : "", (int)given.size, (const char *)given.data);
            assay_buf_release(&given);
            return false;
        }
    }
    return true;
}

static bool keeps_the_law(const assay_instance *instance, uint64_t seed, world_spoil spoil)
{
    enum { UNHARMED, ABSENT, LOST, ONE, WORLDS };
    static const world_harm harm[WORLDS] = {WORLD_UNHARMED, WORLD_ABSENT, WORLD_ALL_NAN, WORLD_ONE_NAN};
    outcome o[WORLDS];
    bool ok = true;
    for (int i = 0; i < WORLDS; i++) {
        spoil.harm = harm[i];
        ok = reach(&o[i], instance, seed, &spoil) && ok;
    }
    CU_ASSERT_TRUE(ok);
    ok = only_known(&o[LOST], o, LOST, "a tensor of NaN") && only_known(&o[ONE], o, ONE, "one NaN");
    if (!ok)
        printf("tensor %u, steps %d to %d, worker %d\n", spoil.tensor, 3 * spoil.from, 3 * spoil.to - 3, spoil.worker);
    for (int i = 0; i < WORLDS; i++)
        release(&o[i]);
    return ok;
}

static uint64_t check(const assay_instance *instance)
{
    uint64_t broken = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (uint32_t i = 0; i < SPOILS; i++) {
            const int from = 2 + (int)(i * 5 + seed) % (WORLD_STEPS - 3);
            const bool on = i % 2;
            const uint32_t tensors = instance->need->slot_count * WORLD_TENSORS;
            const world_spoil spoil = {.tensor = (i * 3 + (uint32_t)seed) % (tensors ? tensors : 1),
                                       .from = from,
                                       .to = on ? WORLD_STEPS : from + 1,
                                       .worker = on ? -1 : (int)(i / 2 % WORLD_WORKERS)};
            broken += !keeps_the_law(instance, seed, spoil);
        }
    return broken;
}

void not_finite_counts_nowhere(void)
{
    const assay_rule_ops *ops;
    for (size_t rules = 0; (ops = assay_rule_at(rules)); rules++) {
        if (ops->traits & (ASSAY_RULE_TIMELINE | ASSAY_RULE_AGGREGATION) || may_fire(ops))
            continue;
        assay_instance *variant[MOST_VARIANTS];
        assay_error err = {{0}};
        uint64_t broken = 0;
        const size_t count = variants_make(ops, variant, &err);
        for (size_t i = 0; i < count; i++) {
            broken += asks_for_it(variant[i]) ? 0 : check(variant[i]);
            assay_instance_free(variant[i]);
        }
        CU_ASSERT_EQUAL(broken, 0);
    }
}
