/* gradients.h - which gradient belongs to which weight: "gradient/NAME" is that of NAME. */
#pragma once

#include <assay/rule.h>
#include <assay/search.h>

#include <stdio.h>
#include <string.h>

/* The weight of a gradient, ASSAY_NO_TENSOR: none. */
static inline uint32_t weight_of_gradient(const assay_trial *trial, uint32_t gradient)
{
    const char *name = assay_trial_tensor(trial, gradient), *slash = strchr(name, '/');
    return strncmp(name, "gradient", 8) == 0 && slash ? assay_trial_find_tensor(trial, slash + 1) : ASSAY_NO_TENSOR;
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
    return length > 0 && (size_t)length < sizeof name ? assay_trial_find_tensor(trial, name) : ASSAY_NO_TENSOR;
}

/* Was the tensor saved in TRAIN steps, by any worker? */
static inline bool has_train_steps(const assay_trial *trial, uint32_t tensor)
{
    return assay_trial_tensor_modes(trial, tensor) >> ASSAY_MODE_TRAIN & 1;
}

static inline bool row_is_before(assay_row row, uint32_t tensor, uint32_t worker, int64_t step)
{
    return row.tensor != tensor ? row.tensor < tensor : row.worker != worker ? row.worker < worker : row.step < step;
}

/* The first of order[0..count), which assay_series_by_tensor() gave, that is not before (tensor, worker, step); count:
 * none. */
static inline uint64_t row_not_before(const assay_series *series, const uint64_t *order, uint64_t count,
                                      uint32_t tensor, uint32_t worker, int64_t step)
{
    uint64_t low = 0;
    ASSAY_SEARCH(low, count, row_is_before(assay_series_row(series, order[low]), tensor, worker, step));
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
