/* rows_of_layers.h - layers of a row of like ones, as their names number them: "layers.1.fc.weight" beside those of layers.0 and layers.2. */
#ifndef ASSAY_RULES_ROWS_OF_LAYERS_H
#define ASSAY_RULES_ROWS_OF_LAYERS_H

#include <assay/rule.h>

#include <ctype.h>
#include <string.h>

/* Is the same tensor of another layer of the row marked (one before it and one behind it, where `both` are asked for)?
 * marks[TENSOR] has bits. */
static inline bool stands_in_row(const assay_trial *trial, const uint8_t *marks, uint8_t wanted, uint32_t tensor,
                                 bool both)
{
    const char *name = assay_trial_tensor(trial, tensor);
    for (const char *at = name; (at = strpbrk(at, "._")); at++) {
        const size_t head = (size_t)(at - name) + 1, digits = strspn(at + 1, "0123456789");
        bool below = false, above = false;
        if (digits == 0 || at[1 + digits] != '.')
            continue;
        for (uint32_t t = 0; t < assay_trial_tensors(trial); t++) {
            const char *other = assay_trial_tensor(trial, t);
            if (!(marks[t] & wanted) || strncmp(other, name, head) != 0)
                continue;
            const char *number = other + head;
            const size_t own = strspn(number, "0123456789");
            if (own == 0 || strcmp(number + own, at + 1 + digits) != 0)
                continue;
            const int order = own != digits ? own < digits ? -1 : 1 : memcmp(number, at + 1, own);
            below = below || order < 0;
            above = above || order > 0;
        }
        if (both ? below && above : below || above)
            return true;
    }
    return false;
}

#endif
