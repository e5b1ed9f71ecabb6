/* averaging.h - replicas that diverge on purpose: in local SGD and similar schemes workers train separately, and their
 * weights are averaged periodically.
 *
 * Reads one tensor's saved steps in order: at each it is equal on all workers, or different on all of them. A stretch
 * of different steps is healed if the tensor is equal again afterwards. Two or more healed stretches of nearly the same
 * length are averaging, and no stretch of that length or less is a fault. A single odd worker does not count as
 * different: averaging leaves none. */
#pragma once

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
