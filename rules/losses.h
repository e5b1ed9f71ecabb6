/* losses.h - the loss of a step: the mean over the (tensor, worker) pairs of the mean of their elements. */
#pragma once

#include <assay/rule.h>

#include <string.h>

/* Over the tensors whose names begin with one of `prefixes` (NULL-terminated; NULL: all). False when there is none. */
static inline bool step_loss(const assay_slot_view *slot, const char *const *prefixes, double *loss)
{
    double sum = 0;
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < slot->count; i++) {
        const assay_tensor_view *item = slot->items[i];
        bool counts = !prefixes;
        for (size_t k = 0; prefixes && prefixes[k] && !counts; k++)
            counts = strncmp(item->name, prefixes[k], strlen(prefixes[k])) == 0;
        if (!counts || !assay_view_has_values(item))
            continue;
        sum += assay_stats_mean(item->stats);
        pairs++;
    }
    if (pairs > 0)
        *loss = sum / (double)pairs;
    return pairs > 0;
}
