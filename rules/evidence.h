/* evidence.h - does a share exceed a limit, or only by chance? */
#pragma once

#include <math.h>
#include <stdint.h>

/* The lower end of Wilson's score interval (1927) of the share hits / n of a binomial variable, z standard deviations
 * away: with z = 3 the true share is below it once in 740 times. 0 is no evidence asked for: hits / n. */
static inline double share_lower_bound(uint64_t hits, uint64_t n, double z)
{
    double count = (double)n, share = (double)hits / count, square = z * z / count;
    double centre = share + square / 2, spread = z * sqrt(share * (1 - share) / count + square / (4 * count));
    return (centre - spread) / (1 + square);
}

#define EVIDENCE_PARAM                                                                                                 \
    ASSAY_REAL_PARAM("evidence", "0", 0, 100,                                                                          \
                     "Standard deviations by which a share must exceed its limit, because few samples prove little.")
