/* low_gpu_utilization.c - LowGPUUtilization: a GPU is hardly used, or flips between busy and idle.
 *
 * Per GPU and slice with a new value, once there are more than `patience`: quantiles of its last `window` values.
 *   low          95 % of them are below threshold_p95
 *   unused       likewise, and all it ever had is 0
 *   fluctuating  the 95 % quantile is above threshold_p95, the 5 % quantile below threshold_p5 */
#include <stdlib.h>

#include "timed.h"

enum { FLUCTUATING, LOW, UNUSED };
static const assay_param_def params[] = {LOW_GPU_UTILIZATION_PARAMS(TIMED_OWN){0}};

static void test_gpu(timed *t, const assay_metric_series *s, timed_samples samples, uint64_t order)
{
    const uint64_t window = (uint64_t)timed_int(t, "window"), patience = (uint64_t)timed_int(t, "patience");
    const double high = timed_real(t, "threshold_p95"), low = timed_real(t, "threshold_p5");
    double *room = timed_alloc(t, window < samples.count ? window : samples.count, sizeof *room);
    bool used = false;
    for (uint64_t n = 0; room && n < samples.count;) {
        const int64_t slice = timed_slice(t, samples.at[n].time);
        const int64_t end = timed_slice_end(t, slice);
        for (; n < samples.count && samples.at[n].time < end; n++)
            used = used || samples.at[n].sum != 0;
        if (n <= patience)
            continue;
        if (!timed_may_be_below(samples.at, n, window, 0.95, high) &&
            !timed_may_be_below(samples.at, n, window, 0.05, low)) {
            timed_test(t, false, &(timed_finding){0});
            continue;
        }
        const uint64_t count = timed_window(samples.at, n, window, room);
        const double h = timed_quantile(room, count, 0.95), l = timed_quantile(room, count, 0.05);
        const bool is_low = h<high, fluctuates = h> high && l < low;
        const timed_finding finding = {.time = timed_slice_end(t, slice),
                                       .slice = slice,
                                       .order = order,
                                       .worker = t->line->node[s->node],
                                       .unit = s->unit,
                                       .test = fluctuates ? FLUCTUATING
                                               : used     ? LOW
                                                          : UNUSED,
                                       .value = is_low ? h : l,
                                       .threshold = is_low ? high : low};
        timed_test(t, is_low || fluctuates, &finding);
    }
    free(room);
}

void low_gpu_utilization_evaluate(timed *t)
{
    const assay_metric_series *s = NULL;
    timed_samples samples;
    uint64_t i = 0;
    for (uint64_t order = 0; (s = timed_next_gpu(t, &i, &samples)); order++) {
        t->samples += samples.count;
        test_gpu(t, s, samples, order);
    }
}

TIMED_FINALIZE(low_gpu_utilization_evaluate)

const assay_rule_ops assay_rule_low_gpu_utilization = {
    ASSAY_RULE_HEAD,
    .name = "LowGPUUtilization",
    .summary = "A GPU is hardly used, or flips between busy and idle.",
    .advice = "Look for bottlenecks and synchronous calls, or enlarge the batch.",
    .value_units = ASSAY_TEXTS("% GPU use"),
    .sentences =
        ASSAY_TEXTS([FLUCTUATING] = "{worker} changed between busy and idle by {when}",
                    [LOW] = "{worker} did hardly any work by {when}", [UNUSED] = "{worker} did no work by {when}"),
    .params = params,
    .tests = ASSAY_TEXTS("fluctuating", "low", "unused"),
    TIMED_RULE_STATE,
    .finalize = finalize,
};
