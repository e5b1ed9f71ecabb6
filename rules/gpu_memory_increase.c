/* gpu_memory_increase.c - GPUMemoryIncrease: the moving average of a GPU's memory rose sharply.
 *
 * Per GPU and value of its memory, from the one on that has window + lag and `patience` before it: the mean of the last
 * `window` values, less the mean of as many that end `lag` values earlier. Fires when that is above `increase`. */

#include "timed.h"

static const assay_param_def params[] = {GPU_MEMORY_INCREASE_PARAMS(TIMED_OWN){0}};

/* The means are differences of sums of integers: exact whatever came before. */
static void test_gpu(timed *t, const assay_metric_series *s, timed_samples samples, uint64_t order)
{
    const uint64_t window = (uint64_t)timed_int(t, "window"), lag = (uint64_t)timed_int(t, "lag");
    const uint64_t patience = (uint64_t)timed_int(t, "patience");
    const double increase = timed_real(t, "increase");
    __int128 now = 0, earlier = 0;
    for (uint64_t n = 1; n <= samples.count; n++) {
        now += samples.at[n - 1].sum;
        if (n > window)
            now -= samples.at[n - 1 - window].sum;
        if (n > lag)
            earlier += samples.at[n - 1 - lag].sum;
        if (n > lag && n - lag > window)
            earlier -= samples.at[n - 1 - lag - window].sum;
        if (n <= window || n - window <= lag || n <= patience)
            continue;
        const assay_sample *at = &samples.at[n - 1];
        const double value = (double)(now - earlier) / (1e6 * (double)window);
        if (!(value > increase)) {
            timed_test(t, false, &(timed_finding){0});
            continue;
        }
        const timed_finding finding = {.time = at->time,
                                       .slice = timed_slice(t, at->time),
                                       .order = order,
                                       .worker = t->line->node[s->node],
                                       .unit = s->unit,
                                       .value = value,
                                       .threshold = increase};
        timed_test(t, true, &finding);
    }
}

void gpu_memory_increase_evaluate(timed *t)
{
    for (uint64_t i = 1, order = 0; i < t->line->series_count; i++) {
        const assay_metric_series *s = &t->line->series[i];
        if (s->metric != ASSAY_METRIC_GPU_MEMORY || s[-1].node != s->node || s[-1].metric != s->metric)
            continue; /* the node's own comes first */
        const timed_samples samples = timed_visible(t, s);
        t->samples += samples.count;
        test_gpu(t, s, samples, order++);
    }
}

TIMED_FINALIZE(gpu_memory_increase_evaluate)

const assay_rule_ops assay_rule_gpu_memory_increase = {
    ASSAY_RULE_HEAD,
    .name = "GPUMemoryIncrease",
    .summary = "The moving average of a GPU's memory rose sharply.",
    .advice = "Look for tensors that are kept alive; if the need is real, take more memory.",
    .value_units = ASSAY_TEXTS("percentage points"),
    .sentences = ASSAY_TEXTS("the memory of {worker} filled fast at {when}"),
    .params = params,
    TIMED_RULE_STATE,
    .finalize = finalize,
};
