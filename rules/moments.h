/* moments.h - names of what an optimizer keeps of its parameters: optimizer/PARAMETER/KEY. */
#pragma once

#include <assay/rule.h>

#include <string.h>

/* Bytes of a name up to its last slash, that included; 0 without one. */
static inline size_t moments_owner(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? (size_t)(slash + 1 - name) : 0;
}

/* Is a key one of a list that ends with NULL? */
static inline bool moments_is_one_of(const char *key, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(key, *list) == 0)
            return true;
    return false;
}

/* Does the trial keep nothing of a tensor's parameter but keys of the list? Names of one parameter stand together in
 * the order of names. */
static inline bool moments_keeps_only(const assay_trial *trial, uint32_t tensor, const char *const *list)
{
    const char *name = assay_trial_tensor(trial, tensor);
    const size_t owner = moments_owner(name);
    if (owner == 0)
        return true;
    for (uint32_t t = tensor; t < assay_trial_tensors(trial); t++) {
        const char *other = assay_trial_tensor(trial, t);
        if (strncmp(other, name, owner) != 0)
            break;
        if (moments_owner(other) == owner && !moments_is_one_of(other + owner, list))
            return false;
    }
    for (uint32_t t = tensor; t-- > 0;) {
        const char *other = assay_trial_tensor(trial, t);
        if (strncmp(other, name, owner) != 0)
            break;
        if (moments_owner(other) == owner && !moments_is_one_of(other + owner, list))
            return false;
    }
    return true;
}
