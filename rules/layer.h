/* layer.h - the share of inactive units of a layer, pooled over workers (DeadRelu, SaturatedActivation).
 *
 * A unit's activity is the percentage of samples for which it lies inside the measured range. Counts are added over the
 * workers of the step; if the shapes after axis 0 differ, each worker is a separate layer. What has elements that are not finite tells
 * nothing of units, and is left out. */
#pragma once

#include <assay/rule.h>

#include "parts/first_cause.h"
#include "workers.h"

typedef struct layer_limits {
    int measure;                      /* UNITS, by the rule's number */
    double inactivity;                /* a unit with less activity, in percent, is inactive */
    double layer;                     /* more inactive units, in percent, fire */
    uint64_t samples;                 /* fewer than these, of all workers, say nothing of a unit */
    const assay_common_state *causes; /* takes what is judged (parts/first_cause.h); NULL: nobody asks */
} layer_limits;

static inline const assay_units *layer_units(const assay_step_view *view, const layer_limits *limits,
                                             const assay_tensor_view *item)
{
    const assay_stats *s = item->stats;
    const bool finite = !s || s->nan + s->pos_inf + s->neg_inf == 0;
    const assay_result *result = finite ? assay_view_result(view, limits->measure, item) : NULL;
    return result && result->of.units.samples && result->of.units.units ? &result->of.units : NULL;
}

/* The shapes behind axis 0, where the samples are; a scalar is (1, 1), a vector (n, 1). */
static inline bool same_behind_axis_0(const assay_tensor_view *a, const assay_tensor_view *b)
{
    int a_dims = a->dims > 1 ? a->dims : 1, b_dims = b->dims > 1 ? b->dims : 1;
    for (int i = 1; a_dims == b_dims && i < a_dims; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return a_dims == b_dims;
}

/* Tests items[0 .. count), which are one tensor's, as one layer, if they have enough samples. */
static inline int layer_test(assay_findings *findings, const assay_step_view *view, const layer_limits *limits,
                             const assay_tensor_view *const *items, uint32_t count, uint32_t worker)
{
    uint64_t samples = 0, units = 0, inactive = 0;
    for (uint32_t i = 0; i < count; i++) {
        const assay_units *u = layer_units(view, limits, items[i]);
        samples += u ? u->samples : 0;
        units = u ? u->units : units;
    }
    if (samples == 0 || samples < limits->samples)
        return ASSAY_OK;
    for (uint64_t k = 0; k < units; k++) {
        uint64_t inside = 0;
        for (uint32_t i = 0; i < count; i++) {
            const assay_units *u = layer_units(view, limits, items[i]);
            inside += u ? u->inside[k] : 0;
        }
        inactive += 100.0 * (double)inside / (double)samples < limits->inactivity;
    }
    double share = 100.0 * (double)inactive / (double)units;
    assay_finding finding = finding_of(view, items[0], share, limits->layer);
    finding.worker = worker;
    int status = assay_findings_test(findings, share > limits->layer, &finding);
    return status == ASSAY_OK && limits->causes
               ? first_cause_judge(limits->causes, view, items[0]->tensor, worker,
                                   (assay_judgement){.bad = share > limits->layer}, NULL)
               : status;
}

/* Tests one tensor: items[0 .. count) are its workers'. */
static inline int layer_test_workers(assay_findings *findings, const assay_step_view *view, const layer_limits *limits,
                                     const assay_tensor_view *const *items, uint32_t count)
{
    const assay_tensor_view *first = NULL;
    bool same = true;
    for (uint32_t i = 0; i < count; i++) {
        if (!layer_units(view, limits, items[i]))
            continue;
        first = first ? first : items[i];
        same = same && same_behind_axis_0(first, items[i]) &&
               layer_units(view, limits, first)->units == layer_units(view, limits, items[i])->units;
    }
    if (same)
        return layer_test(findings, view, limits, items, count, ASSAY_ALL_WORKERS);
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < count; i++)
        status = layer_test(findings, view, limits, items + i, 1, items[i]->worker);
    return status;
}
