/* pairs.h - labels and predictions of a step, paired per worker and in match order. */
#pragma once

#include <assay/rule.h>

#include "classes.h"

typedef struct class_slot { /* where labels, or predictions, come from */
    int slot, measure;      /* by the rule's numbers; the measure is CLASSES */
    int axis_1;             /* the measure of CLASSES on axis 1; 0: none */
} class_slot;

/* Declares a slot and its measure of class numbers; of scores (any form but ROUND) a second one, on axis 1. */
static inline int class_slot_add(assay_need *need, const assay_slot *slot, uint32_t form, assay_error *err)
{
    int number = assay_need_slot(need, slot, err);
    assay_measure measure = {.kind = ASSAY_MEASURE_CLASSES, .form = form};
    int status = number < 0 ? number : assay_need_measure(need, number, &measure, err);
    measure.axis = 1;
    if (status >= 0 && form != ASSAY_CLASS_ROUND)
        status = assay_need_measure(need, number, &measure, err);
    return status < 0 ? status : ASSAY_OK;
}

static inline const assay_classes *classes_by(const assay_step_view *view, int measure, const assay_tensor_view *item)
{
    const assay_result *result = assay_view_result(view, measure, item);
    return result && result->of.classes.count ? &result->of.classes : NULL;
}

/* The class numbers of the i-th tensor, scores on the last axis; NULL without any. */
static inline const assay_classes *classes_of(const assay_step_view *view, class_slot from, uint32_t i)
{
    return classes_by(view, from.measure, view->slot[from.slot].items[i]);
}

/* The number of the predictions that belong to the i-th labels: as many tensors of the same worker come before them.
 * UINT32_MAX when there are none. */
static inline uint32_t partner_number(const assay_slot_view *labels, uint32_t i, const assay_slot_view *predictions)
{
    uint32_t worker = labels->items[i]->worker, before = 0;
    for (uint32_t k = 0; k < i; k++)
        before += labels->items[k]->worker == worker;
    for (uint32_t k = 0; k < predictions->count; k++)
        if (predictions->items[k]->worker == worker && before-- == 0)
            return k;
    return UINT32_MAX;
}

/* The classes that `scores` predict for `labels` (NULL: there are none), on the axis that the shapes tell. */
static inline const assay_classes *predicted_classes(const assay_trial *trial, const assay_step_view *view,
                                                     class_slot predictions, const assay_tensor_view *labels,
                                                     const assay_tensor_view *scores)
{
    bool axis_1 = predictions.axis_1 && class_axis(trial, labels, scores) == AXIS_1;
    const assay_classes *classes = axis_1 ? classes_by(view, predictions.axis_1, scores) : NULL;
    return classes ? classes : classes_by(view, predictions.measure, scores);
}

/* The classes predicted for the i-th labels; NULL without a partner of the same length. */
static inline const assay_classes *partner_of(const assay_trial *trial, const assay_step_view *view, class_slot labels,
                                              uint32_t i, class_slot predictions)
{
    const assay_slot_view *from = &view->slot[labels.slot], *to = &view->slot[predictions.slot];
    uint32_t k = partner_number(from, i, to);
    if (k == UINT32_MAX)
        return NULL;
    const assay_classes *mine = classes_of(view, labels, i);
    const assay_classes *partner = predicted_classes(trial, view, predictions, from->items[i], to->items[k]);
    return mine && partner && mine->count == partner->count ? partner : NULL;
}

/* Counts the tensors of predictions whose scores fit the labels on two axes (ambiguous_axis_say()). */
static inline int note_ambiguous_axes(assay_counter *counter, const assay_step_view *view, class_slot labels,
                                      class_slot predictions)
{
    const assay_slot_view *from = &view->slot[labels.slot], *to = &view->slot[predictions.slot];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && predictions.axis_1 && i < from->count; i++) {
        uint32_t k = partner_number(from, i, to);
        if (k != UINT32_MAX && classes_by(view, predictions.axis_1, to->items[k]))
            status = ambiguous_axis_add(counter, from->items[i], to->items[k]);
    }
    return status;
}

/* Adds the step's pairs (label, prediction), or (prediction, label) when `turned`; pairs that are not finite are
 * dropped. */
static inline int add_pairs(assay_counter *counter, const assay_trial *trial, const assay_step_view *view,
                            class_slot labels, class_slot predictions, bool turned)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[labels.slot].count; i++) {
        const assay_classes *l = classes_of(view, labels, i), *p = partner_of(trial, view, labels, i, predictions);
        for (uint64_t k = 0; p && status == ASSAY_OK && k < l->count; k++) {
            if (l->value[k] == ASSAY_NO_CLASS || p->value[k] == ASSAY_NO_CLASS)
                continue;
            status = turned ? assay_counter_add(counter, p->value[k], l->value[k], 1)
                            : assay_counter_add(counter, l->value[k], p->value[k], 1);
        }
    }
    return status;
}
