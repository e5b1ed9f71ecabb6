/* averaging.h - replicas that are apart on purpose: local SGD and the like, where workers train by themselves and their
 * weights are averaged every so often.
 *
 * Looks at one tensor's saved steps in order: equal on all workers, or apart on all of them. A stretch of steps apart
 * is healed when the tensor is equal again after it. Two healed stretches of nearly one length or more are averaging,
 * and no stretch that is no longer is a fault. A worker that is odd alone does not count as apart: averaging leaves
 * none. */
#ifndef ASSAY_RULES_AVERAGING_H
#define ASSAY_RULES_AVERAGING_H

#include <stdbool.h>
#include <stdint.h>

typedef struct averaging {
    uint64_t apart;             /* steps in the open stretch */
    bool was_equal, odd;        /* it began after equality; one worker alone was odd in it */
    uint64_t healed;            /* stretches */
    uint64_t shortest, longest; /* of them */
} averaging;

/* Takes the next saved step. `is_odd`: apart, but most workers agree. */
static inline void averaging_take(averaging *a, bool is_equal, bool is_odd)
{
    if (!is_equal) {
        a->apart++;
        a->odd = a->odd || is_odd;
        return;
    }
    if (a->apart > 0 && a->was_equal && !a->odd) {
        a->shortest = a->healed == 0 || a->apart < a->shortest ? a->apart : a->shortest;
        a->longest = a->apart > a->longest ? a->apart : a->longest;
        a->healed++;
    }
    a->apart = 0;
    a->odd = false;
    a->was_equal = true;
}

/* How many steps in a row the tensor is apart between two averagings, at most; 0: it is not averaged. */
static inline uint64_t averaging_length(const averaging *a)
{
    return a->healed >= 2 && a->longest <= a->shortest + 1 ? a->longest : 0;
}

#endif
