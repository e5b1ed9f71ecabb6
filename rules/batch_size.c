/* batch_size.c - BatchSize: CPU, GPU and GPU memory all stay well below their limits.
 *
 * Per GPU and slice with a new value of it, once each has more values than `window` and the CPU more than `patience`:
 * the 95 % quantiles of the last `window` values of the node's CPU, of the GPU and of its memory. Fires when all three
 * are below their thresholds. */
#include <stdlib.h>

#include "timed.h"

static const assay_param_def params[] = {BATCH_SIZE_PARAMS(TIMED_OWN){0}};

typedef struct gpu {
    const assay_metric_series *series;
    timed_samples cpu, used, memory;
    uint64_t cpu_count, count, memory_count; /* so many in the slices so far */
    uint64_t order;
} gpu;

static uint64_t count_until(const timed *t, timed_samples s, uint64_t from, int64_t slice)
{
    const int64_t end = timed_slice_end(t, slice);
    while (from < s.count && s.at[from].time < end)
        from++;
    return from;
}

static void test_slice(timed *t, const gpu *g, int64_t slice, double *room)
{
    const uint64_t window = (uint64_t)timed_int(t, "window"), patience = (uint64_t)timed_int(t, "patience");
    if (g->cpu_count <= window || g->cpu_count <= patience || g->count <= window || g->memory_count <= window)
        return;
    if (!timed_may_be_below(g->cpu.at, g->cpu_count, window, 0.95, timed_real(t, "cpu_threshold_p95")) ||
        !timed_may_be_below(g->used.at, g->count, window, 0.95, timed_real(t, "gpu_threshold_p95")) ||
        !timed_may_be_below(g->memory.at, g->memory_count, window, 0.95, timed_real(t, "gpu_memory_threshold_p95"))) {
        timed_test(t, false, &(timed_finding){0});
        return;
    }
    const double cpu = timed_quantile(room, timed_window(g->cpu.at, g->cpu_count, window, room), 0.95);
    const double used = timed_quantile(room, timed_window(g->used.at, g->count, window, room), 0.95);
    const double memory = timed_quantile(room, timed_window(g->memory.at, g->memory_count, window, room), 0.95);
    const bool fired = cpu < timed_real(t, "cpu_threshold_p95") && used < timed_real(t, "gpu_threshold_p95") &&
                       memory < timed_real(t, "gpu_memory_threshold_p95");
    const timed_finding finding = {
        .time = timed_slice_end(t, slice),
        .slice = slice,
        .order = g->order,
        .worker = t->line->node[g->series->node],
        .unit = g->series->unit,
        .value = used,
        .threshold = timed_real(t, "gpu_threshold_p95"),
        .extra = fired ? timed_extra(t, ", \"cpu_p95\": %.17g, \"gpu_memory_p95\": %.17g", cpu, memory) : NULL};
    timed_test(t, fired, &finding);
}

static void test_gpu(timed *t, gpu *g)
{
    const uint64_t window = (uint64_t)timed_int(t, "window");
    const uint64_t most = g->cpu.count > g->used.count ? g->cpu.count : g->used.count;
    const uint64_t largest = most > g->memory.count ? most : g->memory.count;
    double *room = timed_alloc(t, window < largest ? window : largest, sizeof *room);
    while (room && g->count < g->used.count) {
        const int64_t slice = timed_slice(t, g->used.at[g->count].time);
        g->count = count_until(t, g->used, g->count, slice);
        g->cpu_count = count_until(t, g->cpu, g->cpu_count, slice);
        g->memory_count = count_until(t, g->memory, g->memory_count, slice);
        test_slice(t, g, slice, room);
    }
    free(room);
}

void batch_size_evaluate(timed *t)
{
    uint64_t i = 0;
    gpu g = {0};
    for (uint64_t order = 0; (g.series = timed_next_gpu(t, &i, &g.used)); order++) {
        const uint32_t node = g.series->node;
        gpu one = {.series = g.series, .used = g.used, .order = order};
        one.cpu = timed_visible(t, timed_series(t, node, ASSAY_METRIC_CPU, ""));
        one.memory = timed_visible(t, timed_series(t, node, ASSAY_METRIC_GPU_MEMORY, g.series->unit));
        t->samples += one.used.count;
        test_gpu(t, &one);
    }
}

TIMED_FINALIZE(batch_size_evaluate)

const assay_rule_ops assay_rule_batch_size = {
    ASSAY_RULE_HEAD,
    .name = "BatchSize",
    .summary = "CPU, GPU and GPU memory all stay well below their limits: the batch does not fill the machine.",
    .advice = "Take larger batches, or a smaller machine.",
    .value_units = ASSAY_TEXTS("% GPU use"),
    .sentences = ASSAY_TEXTS("the batch does not fill {worker} at {when}"),
    .params = params,
    TIMED_RULE_STATE,
    .finalize = finalize,
};
