/* gradients.h - which gradient belongs to which weight: "gradient/NAME" is that of NAME. */
#ifndef ASSAY_RULES_GRADIENTS_H
#define ASSAY_RULES_GRADIENTS_H

#include <assay/rule.h>

#include <stdio.h>
#include <string.h>

/* The id of a tensor by its name, ASSAY_NO_TENSOR: none. Ids are in byte order of the names. O(log n). */
static inline uint32_t tensor_by_name(const assay_trial *trial, const char *name)
{
    uint32_t low = 0, high = assay_trial_tensors(trial);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int c = strcmp(assay_trial_tensor(trial, middle), name);
        if (c == 0)
            return middle;
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return ASSAY_NO_TENSOR;
}

/* The weight of a gradient, ASSAY_NO_TENSOR: none. */
static inline uint32_t weight_of_gradient(const assay_trial *trial, uint32_t gradient)
{
    const char *name = assay_trial_tensor(trial, gradient), *slash = strchr(name, '/');
    return strncmp(name, "gradient", 8) == 0 && slash ? tensor_by_name(trial, slash + 1) : ASSAY_NO_TENSOR;
}

/* A tensor has one role, whichever slots a job's patterns put it in: a tensor is either a gradient or has one. */
static inline bool is_gradient(const assay_trial *trial, uint32_t tensor)
{
    return strncmp(assay_trial_tensor(trial, tensor), "gradient", 8) == 0;
}

/* The gradient of a weight, ASSAY_NO_TENSOR: none. */
static inline uint32_t gradient_of_weight(const assay_trial *trial, uint32_t weight)
{
    char name[1024];
    int length = snprintf(name, sizeof name, "gradient/%s", assay_trial_tensor(trial, weight));
    return length > 0 && (size_t)length < sizeof name ? tensor_by_name(trial, name) : ASSAY_NO_TENSOR;
}

/* Was the tensor saved in TRAIN steps, by any worker? */
static inline bool has_train_steps(const assay_trial *trial, uint32_t tensor)
{
    return assay_trial_tensor_modes(trial, tensor) >> ASSAY_MODE_TRAIN & 1;
}

/* The first of order[0..count), which assay_series_by_tensor() gave, that is not before (tensor, worker, step); count:
 * none. */
static inline uint64_t row_not_before(const assay_series *series, const uint64_t *order, uint64_t count,
                                      uint32_t tensor, uint32_t worker, int64_t step)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        assay_row row = assay_series_row(series, order[middle]);
        bool before = row.tensor != tensor   ? row.tensor < tensor
                      : row.worker != worker ? row.worker < worker
                                             : row.step < step;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The row of exactly (tensor, worker, step); count: none. */
static inline uint64_t row_of(const assay_series *series, const uint64_t *order, uint64_t count, uint32_t tensor,
                              uint32_t worker, int64_t step)
{
    uint64_t i = row_not_before(series, order, count, tensor, worker, step);
    if (i == count)
        return count;
    assay_row row = assay_series_row(series, order[i]);
    return row.tensor == tensor && row.worker == worker && row.step == step ? i : count;
}

#endif
