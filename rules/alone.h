/* alone.h - rules over what one rank's trace tells by itself: a share of the time from the first to the last activity of
 * its GPU. One datapoint a rank. */
#pragma once

#include "traced.h"

#define ALONE_PARAMS(share_default, share_help)                                                                        \
    ASSAY_REAL_PARAM("share", share_default, 0, 1e308, share_help),                                                    \
        ASSAY_REAL_PARAM("min_seconds", "0.001", 0, 1e308, "No more than these seconds are nothing.")

/* The time of a rank that the rule looks at, ns. */
typedef int64_t alone_time(const assay_trace_alone *alone);
/* Tests every rank that has activities of a GPU; `cause`: the finding says where most of the idle time went. */
void alone_evaluate(traced *t, alone_time *time, bool cause);
