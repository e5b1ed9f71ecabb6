/* random.h - numbers that look random and are the same in every run. */
#ifndef ASSAY_TESTS_RANDOM_H
#define ASSAY_TESTS_RANDOM_H

#include <stdint.h>

/* The next 64 bits of Knuth's linear congruential generator (MMIX); any state will do to begin with. The upper bits are
 * the better ones. */
static inline uint64_t random_next(uint64_t *state)
{
    return *state = *state * 6364136223846793005U + 1442695040888963407U;
}

/* The next number in [0, below). */
static inline uint32_t random_below(uint64_t *state, uint32_t below)
{
    return (uint32_t)((random_next(state) >> 32) % below);
}

#endif
