/* selection.h - the parameters collection_names and tensor_regex, which several rules share. */
#pragma once

#include <assay/rule.h>

#include <math.h>

#define SELECTION_PARAMS                                                                                               \
    ASSAY_LIST_PARAM("collection_names", NULL, "Collections of tensors to test, in addition to tensor_regex."),        \
        ASSAY_REGEX_PARAM("tensor_regex", NULL,                                                                        \
                          "Patterns (re.search) for names of tensors to test, in addition to collection_names.")

/* The slot of those two parameters, with these flags (ASSAY_SLOT_...) beside ASSAY_SLOT_NO_STRINGS; with `required`,
 * one of them has to be given. */
static inline int selection_slot_of(const assay_params *params, assay_need *need, uint32_t kinds, uint32_t flags,
                                    bool required, assay_error *err)
{
    if (required && !assay_param_has(params, "collection_names") && !assay_param_has(params, "tensor_regex"))
        return assay_fail(err, ASSAY_EPARAM, "one of the parameters collection_names and tensor_regex is required");
    return assay_need_slot(need,
                           &(assay_slot){.collections = "collection_names",
                                         .regexes = "tensor_regex",
                                         .kinds = kinds,
                                         .flags = ASSAY_SLOT_NO_STRINGS | flags},
                           err);
}
static inline int selection_slot(const assay_params *params, assay_need *need, uint32_t kinds, bool required,
                                 assay_error *err)
{
    return selection_slot_of(params, need, kinds, 0, required, err);
}

/* A finding of one worker's tensor at the step in view. */
static inline assay_finding finding_of(const assay_step_view *view, const assay_tensor_view *item, double value,
                                       double threshold)
{
    return (assay_finding){.step = view->step,
                           .tensor = item->tensor,
                           .worker = item->worker,
                           .of_worker = item->dtype < 0, /* reductions and digests are of what this worker has */
                           .value = value,
                           .threshold = threshold};
}

/* Was nothing saved of the item but statistics, its least and largest element among them? */
static inline bool has_range_alone(const assay_tensor_view *item)
{
    const uint32_t range = 1u << ASSAY_MIN | 1u << ASSAY_MAX;
    return item->dtype < 0 && !(item->reductions >> ASSAY_DIGEST & 1) && (item->reductions & range) == range;
}

/* Was nothing saved of the item but its digest? */
static inline bool has_digest_alone(const assay_tensor_view *item)
{
    return item->dtype < 0 && item->reductions >> ASSAY_DIGEST & 1;
}
