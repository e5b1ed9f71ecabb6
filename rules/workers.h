/* workers.h - one tensor as all workers saved it: which of them agree. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "selection.h"

/* What the replicas of a model are, by default. */
#define REPLICA_PARAMS(collections)                                                                                    \
    ASSAY_LIST_PARAM("collection_names", collections, "Collections of tensors to test, in addition to tensor_regex."), \
        ASSAY_REGEX_PARAM("tensor_regex", NULL,                                                                        \
                          "Patterns (re.search) for names of tensors to test, in addition to collection_names.")

/* One worker alone cannot be compared: refuses the parameter that narrows a rule to one. 0 or ASSAY_EPARAM. */
static inline int refuse_one_worker(const assay_params *given, assay_error *err)
{
    if (!assay_param_has(given, "worker"))
        return ASSAY_OK;
    return assay_fail(err, ASSAY_EPARAM,
                      "parameter worker has the value %s: the rule compares workers with each other, and needs all of "
                      "them; leave the parameter out",
                      assay_param_text(given, "worker"));
}

enum { WORKER_NOTE = 160 }; /* bytes of a remark that names a worker */

/* How many items from the i-th on are the same tensor. */
static inline uint32_t same_tensor(const assay_slot_view *slot, uint32_t i)
{
    uint32_t n = 1;
    while (i + n < slot->count && slot->items[i + n]->tensor == slot->items[i]->tensor)
        n++;
    return n;
}

/* Are all elements one value, or NaN? Such tensors are equal by chance: zero biases, a normalisation's ones. Of one element
 * alone whole numbers say nothing. */
static inline bool is_one_value(const assay_tensor_view *item)
{
    const assay_stats *s = item->stats;
    if (!s && item->reductions >> ASSAY_DIGEST & 1)
        return item->reduction[ASSAY_DIGEST] <= 0;
    if (!s && has_range_alone(item))
        return item->reduction[ASSAY_MIN] == item->reduction[ASSAY_MAX];
    return !s || s->count == s->nan || (s->min == s->max && (s->count > 1 || s->min == rint(s->min)));
}

/* Says that tensors are averaged every so often. */
static inline void say_averaged(uint64_t tensors, assay_verdict *verdict)
{
    if (tensors > 0)
        assay_verdict_message(verdict,
                              "%llu tensor%s apart on all workers and equal again in turns, as by local SGD: the steps "
                              "between are not tested.",
                              (unsigned long long)tensors, tensors == 1 ? " is" : "s are");
}

enum { BY_RANGE = -1 }; /* in place of a measure */

/* A digest of the least and the largest element, where nothing but statistics was recorded: unlike sums both are exact, in
 * whatever order a device goes through the elements. */
static inline bool range_digest_of(const assay_tensor_view *item, uint64_t *digest)
{
    if (!has_range_alone(item) || isnan(item->reduction[ASSAY_MIN]) || isnan(item->reduction[ASSAY_MAX]))
        return false;
    const float least = (float)item->reduction[ASSAY_MIN], largest = (float)item->reduction[ASSAY_MAX];
    uint32_t a, b;
    memcpy(&a, &least, sizeof a);
    memcpy(&b, &largest, sizeof b);
    *digest = (uint64_t)a << 32 | b;
    return true;
}

/* The digest of an item: that of its elements (measure DIGEST), else the one that was recorded. Of both the leading
 * bits that a double holds, so that the two can be compared. False without one, or where what was recorded is none. */
static inline bool digest_of(const assay_step_view *view, int measure, const assay_tensor_view *item, uint64_t *digest)
{
    if (measure == BY_RANGE)
        return range_digest_of(item, digest);
    const assay_result *result = assay_view_has_values(item) ? assay_view_result(view, measure, item) : NULL;
    const double recorded = has_digest_alone(item) ? fabs(item->reduction[ASSAY_DIGEST]) : (double)NAN;
    const bool is_digest = recorded < 0x1p64;
    *digest = result ? (uint64_t)(double)(result->of.digest >> 1) : is_digest ? (uint64_t)recorded : 0;
    return result || is_digest;
}

/* How the digests of one tensor's workers agree. */
typedef struct agreement {
    uint32_t workers; /* that have a digest */
    uint32_t agree;   /* of them, with `common` */
    uint64_t common;  /* what more than half of them have; else what the first has */
    uint64_t first;   /* of the first worker */
} agreement;

static inline bool agreement_has_majority(const agreement *a)
{
    return a->workers > 1 && a->agree > a->workers / 2;
}

/* Over items[0 .. count), one tensor's. The candidate of the majority is found by Boyer and Moore's vote (1981), in one
 * pass and without memory, then counted. */
static inline agreement agreement_of(const assay_step_view *view, int measure, const assay_tensor_view *const *items,
                                     uint32_t count)
{
    agreement a = {0};
    uint64_t digest, votes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!digest_of(view, measure, items[i], &digest))
            continue;
        a.first = a.workers++ ? a.first : digest;
        a.common = votes ? a.common : digest;
        votes = votes == 0 ? 1 : digest == a.common ? votes + 1 : votes - 1;
    }
    for (int pass = 0; pass < 2; pass++) {
        a.agree = 0;
        for (uint32_t i = 0; i < count; i++)
            a.agree += digest_of(view, measure, items[i], &digest) && digest == a.common;
        if (agreement_has_majority(&a))
            break;
        a.common = a.first;
    }
    return a;
}

/* Says why no two workers could be compared. */
static inline void say_no_replicas(const assay_trial *trial, assay_verdict *verdict)
{
    uint32_t unknown = 0, tensors = assay_trial_tensors(trial);
    if (!assay_trial_relation(trial, 0, 0).known) {
        assay_verdict_no_data(verdict, "no tensor that matches was saved by two workers at one step.");
        return;
    }
    for (uint32_t t = 0; t < tensors; t++)
        unknown += assay_trial_relation(trial, t, 0).unknown;
    assay_verdict_no_data(
        verdict,
        "the topology says of no tensor that matches and that two workers saved at one step that they have copies of "
        "it; of %u of %u tensors it does not say what workers along some axis have (`assay topology` lists them).",
        unknown, tensors);
}

/* setup of a rule that looks at nothing but who wrote when. */
static inline int times_setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = assay_need_slot(need, &(assay_slot){.kinds = UINT32_MAX, .flags = ASSAY_SLOT_TIME_ONLY}, err);
    return slot < 0 ? slot : ASSAY_OK;
}
