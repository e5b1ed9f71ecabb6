/* gradients.h - which gradient belongs to which weight: "gradient/NAME" is that of NAME. */
#ifndef ASSAY_RULES_GRADIENTS_H
#define ASSAY_RULES_GRADIENTS_H

#include <assay/rule.h>

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

/* Where the rows of a tensor begin in order[0..count), which assay_series_by_tensor() gave. */
static inline uint64_t first_row_of(const assay_series *series, const uint64_t *order, uint64_t count, uint32_t tensor)
{
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (assay_series_row(series, order[middle]).tensor < tensor)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
