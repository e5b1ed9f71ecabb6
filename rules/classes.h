/* classes.h - what is a class: the axis of scores that holds the classes, and the labels that are no class.
 *
 * Labels of shape (N, ...) belong to scores of shape (N, ..., C) or (N, C, ...): the shapes tell which. Labels may also
 * have an axis of length 1 in place of the classes. If both axes fit, the framework decides: PyTorch's losses have
 * classes on axis 1, others on the last axis. */
#pragma once

#include <assay/rule.h>

#include <math.h>
#include <string.h>

enum { LAST_AXIS = 1, AXIS_1 = 2, BOTH_AXES = LAST_AXIS | AXIS_1 };

/* Do the shapes agree where `axis` is left out of that of the scores, and, with `kept`, of the labels too? */
static inline bool axis_fits(const assay_tensor_view *labels, const assay_tensor_view *scores, int axis, bool kept)
{
    if (kept && labels->shape[axis] != 1)
        return false;
    for (int d = 0; d < scores->dims; d++) {
        int at = kept || d < axis ? d : d - 1;
        if (d != axis && labels->shape[at] != scores->shape[d])
            return false;
    }
    return true;
}

static inline uint64_t elements_by_shape(const assay_tensor_view *item)
{
    uint64_t elements = 1;
    for (int d = 0; d < item->dims; d++)
        elements *= (uint64_t)item->shape[d];
    return elements;
}

/* The axes of the scores that may have the classes, as far as the shapes tell: LAST_AXIS, AXIS_1, both or 0. With two
 * axes axis 1 is the last. Labels of other shapes, such as flattened ones, fit by their number. */
static inline unsigned class_axes(const assay_tensor_view *labels, const assay_tensor_view *scores)
{
    int last = scores->dims - 1;
    bool kept = labels->dims == scores->dims;
    unsigned axes = 0;
    if (labels->dtype < 0 || scores->dtype < 0 || scores->dims < 2)
        return 0;
    if (kept || labels->dims == last) {
        axes |= axis_fits(labels, scores, last, kept) ? LAST_AXIS : 0;
        axes |= last > 1 && axis_fits(labels, scores, 1, kept) ? AXIS_1 : 0;
    }
    if (axes || kept)
        return axes;
    uint64_t count = elements_by_shape(labels), all = elements_by_shape(scores);
    axes |= (uint64_t)scores->shape[last] * count == all ? LAST_AXIS : 0;
    axes |= last > 1 && (uint64_t)scores->shape[1] * count == all ? AXIS_1 : 0;
    return axes;
}

static inline bool is_torch_loss_input(const char *name)
{
    return strstr(name, "CrossEntropyLoss_input") || strstr(name, "NLLLoss_input");
}

/* PyTorch names parameters MODULE.weight and MODULE.bias. */
static inline bool is_of_torch(const assay_trial *trial)
{
    for (uint32_t i = 0; i < assay_trial_tensors(trial); i++) {
        const char *name = assay_trial_tensor(trial, i), *dot = strrchr(name, '.');
        if (dot && (strcmp(dot, ".weight") == 0 || strcmp(dot, ".bias") == 0))
            return true;
    }
    return false;
}

/* The axis that the framework has classes on: LAST_AXIS or AXIS_1. */
static inline unsigned class_axis_of_framework(const assay_trial *trial, const char *scores)
{
    return is_torch_loss_input(scores) || is_of_torch(trial) ? AXIS_1 : LAST_AXIS;
}

/* The one axis of the scores that is taken; `labels` may be NULL. */
static inline unsigned class_axis(const assay_trial *trial, const assay_tensor_view *labels,
                                  const assay_tensor_view *scores)
{
    unsigned axes = labels ? class_axes(labels, scores) : 0;
    if (axes == BOTH_AXES)
        return class_axis_of_framework(trial, scores->name);
    if (axes)
        return axes;
    return !labels && scores->dims > 2 && is_torch_loss_input(scores->name) ? AXIS_1 : LAST_AXIS;
}

/* Of both axes fitting a counter keeps (ASSAY_NO_CLASS, tensor of the scores): no class or prediction has that number.
 */
static inline int ambiguous_axis_add(assay_counter *counter, const assay_tensor_view *labels,
                                     const assay_tensor_view *scores)
{
    return class_axes(labels, scores) == BOTH_AXES ? assay_counter_add(counter, ASSAY_NO_CLASS, scores->tensor, 1)
                                                   : ASSAY_OK;
}

/* Says of each such tensor which axis was taken. */
static inline void ambiguous_axis_say(const assay_rule *rule, const assay_counter *counter, assay_verdict *verdict)
{
    for (uint64_t i = 0; i < assay_counter_size(counter); i++) {
        int64_t mark, tensor;
        uint64_t count;
        assay_counter_get(counter, i, &mark, &tensor, &count);
        if (mark != ASSAY_NO_CLASS || tensor < 0 || tensor >= assay_trial_tensors(rule->trial))
            continue;
        const char *name = assay_trial_tensor(rule->trial, (uint32_t)tensor);
        bool torch = class_axis_of_framework(rule->trial, name) == AXIS_1;
        assay_verdict_message(verdict, "The labels' shape fits \"%s\" with classes on axis 1 and on the last axis: %s.",
                              name, torch ? "axis 1 was taken, as PyTorch has it" : "the last one was taken");
    }
}

/* ---- labels that are no class ---- */

#define IGNORE_LABELS_PARAM                                                                                            \
    ASSAY_REALS_PARAM("ignore_labels", "-100", 0, 0,                                                                   \
                      "Values that stand for no label, such as the loss function's ignore_index.")

enum { IGNORED_MOST = 64 };

typedef struct ignored_labels {
    double value[IGNORED_MOST];
    size_t count;
} ignored_labels;

/* The values of a parameter of type REALS; those beyond IGNORED_MOST do not count (ignored_labels_check). */
static inline ignored_labels ignored_labels_of(const assay_params *given, const char *name)
{
    ignored_labels ignored = {.count = assay_param_has(given, name) ? assay_param_count(given, name) : 0};
    ignored.count = ignored.count < IGNORED_MOST ? ignored.count : IGNORED_MOST;
    for (size_t i = 0; i < ignored.count; i++)
        ignored.value[i] = assay_param_number(given, name, i);
    return ignored;
}

static inline int ignored_labels_check(const assay_params *given, const char *name, assay_error *err)
{
    size_t count = assay_param_has(given, name) ? assay_param_count(given, name) : 0;
    return count <= IGNORED_MOST ? ASSAY_OK
                                 : assay_fail(err, ASSAY_EPARAM, "parameter %s has %zu values: at most %d are allowed",
                                              name, count, IGNORED_MOST);
}

static inline bool is_ignored_label(const ignored_labels *ignored, double label)
{
    for (size_t i = 0; i < ignored->count; i++)
        if (ignored->value[i] == label)
            return true;
    return false;
}

static inline bool is_whole(double x)
{
    return x == floor(x);
}

/* Is the score of a sample one number, neither whole nor the probability of a class, as that of a regression is? */
static inline bool are_numbers(const assay_tensor_view *labels, const assay_tensor_view *scores)
{
    const assay_stats *s = scores->stats, *l = labels->stats;
    if (!s || !l || !isfinite(s->sum) || !assay_dtype_is_float(scores->dtype) ||
        elements_by_shape(labels) != elements_by_shape(scores))
        return false;
    return !(is_whole(s->min) && is_whole(s->max) && is_whole(s->sum)) && (l->min < 0 || l->max > 1);
}

/* Are the labels class numbers? Not where they are as many as the scores, several of a sample (targets of a regression,
 * answers to several questions), nor where they are no whole numbers. `scores` may be NULL. */
static inline bool are_classes(const assay_tensor_view *labels, const assay_tensor_view *scores)
{
    bool several = scores && scores->dtype >= 0 && labels->dtype >= 0 && assay_dtype_is_float(scores->dtype) &&
                   assay_dtype_is_float(labels->dtype) && scores->dims == labels->dims && scores->dims > 1 &&
                   scores->shape[scores->dims - 1] > 1;
    for (int d = 0; several && d < scores->dims; d++)
        several = scores->shape[d] == labels->shape[d];
    const assay_stats *s = labels->stats;
    if (scores && scores->dtype >= 0 && labels->dtype >= 0 && are_numbers(labels, scores))
        return false;
    return !several && !(s && isfinite(s->sum) && !(is_whole(s->min) && is_whole(s->max) && is_whole(s->sum)));
}
