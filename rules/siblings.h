/* siblings.h - a bias beside the weights of its layer.
 *
 * Before a normalisation a bias has no effect, nor has the bias of the keys before a softmax: its gradient is rounding
 * noise. Measured on trainings in float32, bfloat16 and mixed precision, such gradients have at most 0.022 of the mean
 * magnitude of the gradients of their layer's weights (6e-6 in float32), all others at least 0.066. A bias below
 * ROUNDING_SHARE learns nothing that its layer's weights do not. */
#pragma once

#include <assay/rule.h>
#include <assay/search.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gradients.h"

#define ROUNDING_SHARE 0.03

/* The tensor named like this one but with `word` for its last "bias", ASSAY_NO_TENSOR: none. */
static inline uint32_t sibling_called(const assay_trial *trial, const char *bias, const char *word)
{
    const char *last = NULL;
    char name[1024];
    for (const char *at = bias; (at = strstr(at, "bias")) != NULL; at += 4)
        last = at;
    int length = last ? snprintf(name, sizeof name, "%.*s%s%s", (int)(last - bias), bias, word, last + 4) : -1;
    return length > 0 && (size_t)length < sizeof name ? assay_trial_find_tensor(trial, name) : ASSAY_NO_TENSOR;
}

/* The weights of a bias, or their gradient of its gradient; ASSAY_NO_TENSOR: it is no bias, or they are not there. */
static inline uint32_t weights_beside(const assay_trial *trial, uint32_t bias)
{
    const char *name = assay_trial_tensor(trial, bias);
    uint32_t weights = sibling_called(trial, name, "weight");
    return weights != ASSAY_NO_TENSOR ? weights : sibling_called(trial, name, "kernel");
}

/* The item of a tensor and worker, NULL: none. O(log n). */
static inline const assay_tensor_view *item_in(const assay_slot_view *slot, uint32_t tensor, uint32_t worker)
{
    const assay_tensor_view *const *items = (const assay_tensor_view *const *)slot->items;
    uint32_t low = 0;
    ASSAY_SEARCH(low, slot->count,
                 items[low]->tensor < tensor || (items[low]->tensor == tensor && items[low]->worker < worker));
    return low < slot->count && items[low]->tensor == tensor && items[low]->worker == worker ? items[low] : NULL;
}

/* mean |x| of the values, else the saved reduction; NaN: neither is there. */
static inline double abs_mean_of(const assay_tensor_view *item)
{
    if (assay_view_has_values(item))
        return assay_stats_abs_mean(item->stats);
    return item->dtype < 0 && (item->reductions & 1u << ASSAY_ABS_MEAN) ? item->reduction[ASSAY_ABS_MEAN] : NAN;
}

/* Is the item, with mean |x| = `mean`, a bias that is zero but for rounding beside its weights in the slot? */
static inline bool is_rounding(const assay_trial *trial, const assay_slot_view *slot, const assay_tensor_view *item,
                               double mean)
{
    uint32_t weights = weights_beside(trial, item->tensor);
    const assay_tensor_view *beside = weights == ASSAY_NO_TENSOR ? NULL : item_in(slot, weights, item->worker);
    return beside && mean < ROUNDING_SHARE * abs_mean_of(beside);
}
