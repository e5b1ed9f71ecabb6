/* guess.h - what a loss of a step would be by a guess that does not look at the inputs: the best constant answer.
 *
 * The variance of the targets (MSELoss), the entropy of the shares of classes (CrossEntropyLoss), or that of the mean
 * target (BCEWithLogitsLoss), of the batch, and with what a batch of n underestimates: n - 1 for n, and (classes - 1) /
 * 2n (Miller, 1955). NaN where the targets were not recorded, or the loss is of another kind: nobody knows what is a
 * good value of it. 0: all targets are one, as where the right one of several always stands first. */
#pragma once

#include <math.h>
#include <string.h>

#include "pairs.h"

/* The targets of LOSS_output_0: the item LOSS_input_1 of its worker in a slot. NULL: there are none. */
static inline const assay_tensor_view *guess_targets(const assay_slot_view *slot, const assay_tensor_view *loss)
{
    const char *end = strstr(loss->name, "_output_0");
    for (uint32_t i = 0; end && i < slot->count; i++) {
        const assay_tensor_view *item = slot->items[i];
        if (item->worker == loss->worker && strncmp(item->name, loss->name, (size_t)(end - loss->name)) == 0 &&
            strcmp(item->name + (end - loss->name), "_input_1") == 0)
            return item;
    }
    return NULL;
}

static inline double guess_entropy(const assay_classes *classes)
{
    assay_counter *counter = classes ? assay_counter_new() : NULL;
    uint64_t all = 0;
    double entropy = 0;
    for (uint64_t k = 0; counter && k < classes->count; k++) {
        if (classes->value[k] < 0) /* ASSAY_NO_CLASS, and what stands for no label */
            continue;
        if (assay_counter_add(counter, classes->value[k], 0, 1) != ASSAY_OK)
            all = UINT64_MAX;
        all += all < UINT64_MAX;
    }
    const uint64_t kinds = counter ? assay_counter_size(counter) : 0;
    for (uint64_t i = 0; i < kinds; i++) {
        int64_t class, of;
        uint64_t count;
        assay_counter_get(counter, i, &class, &of, &count);
        entropy -= (double)count / (double)all * log((double)count / (double)all);
    }
    assay_counter_free(counter);
    return kinds == 0 || all == UINT64_MAX ? (double)NAN
           : kinds == 1                    ? 0
                                           : entropy + (double)(kinds - 1) / (2 * (double)all);
}

/* `measure`: the number of a measure of classes (ASSAY_CLASS_ROUND) of the slot. */
static inline double guess_of(const assay_step_view *view, int slot, int measure, const assay_tensor_view *loss)
{
    const assay_tensor_view *targets = guess_targets(&view->slot[slot], loss);
    if (!targets || !assay_view_has_values(targets) || targets->stats->count < 2)
        return NAN;
    const double n = (double)targets->stats->count, mean = assay_stats_mean(targets->stats);
    if (strncmp(loss->name, "MSELoss", 7) == 0)
        return assay_stats_variance(targets->stats) * n / (n - 1);
    if (strncmp(loss->name, "BCEWithLogitsLoss", 17) == 0)
        return targets->stats->min < 0 || targets->stats->max > 1 ? (double)NAN
               : mean > 0 && mean < 1                             ? -mean * log(mean) - (1 - mean) * log(1 - mean)
                                                                  : 0;
    return strncmp(loss->name, "CrossEntropyLoss", 16) == 0 && are_classes(targets, NULL)
               ? guess_entropy(classes_by(view, measure, targets))
               : (double)NAN;
}
