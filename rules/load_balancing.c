/* load_balancing.c - LoadBalancing: GPUs of the same job have clearly different loads.
 *
 * Of each GPU a histogram of all its values so far, in 50 bins of two percent. Per pair of GPUs, of all nodes, and
 * slice in which one of both has a new value, once both have more than `patience`: the square root of the
 * Jensen-Shannon divergence of the two distributions, 0 to sqrt(ln 2). Fires above `threshold`. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "timed.h"

enum { BINS = 50, BIN_WIDTH = 2000000 /* millionths */ };

static const assay_param_def params[] = {LOAD_BALANCING_PARAMS(TIMED_OWN){0}};

typedef struct gpu {
    const assay_metric_series *series;
    timed_samples samples;
    uint64_t n, counts[BINS];
    double share[BINS];
    bool is_new; /* it has a value in the slice under way */
} gpu;

static gpu *find_gpus(timed *t, uint64_t *count)
{
    gpu *list = timed_alloc(t, t->line->series_count, sizeof *list);
    uint64_t i = 0;
    *count = 0;
    while (list && (list[*count].series = timed_next_gpu(t, &i, &list[*count].samples)))
        t->samples += list[(*count)++].samples.count;
    return list;
}

/* The earliest slice in which a GPU has a value that was not taken; false: there is none. */
static bool next_slice(const timed *t, const gpu *list, uint64_t count, int64_t *slice)
{
    bool any = false;
    for (uint64_t i = 0; i < count; i++) {
        if (list[i].n == list[i].samples.count)
            continue;
        const int64_t own = timed_slice(t, list[i].samples.at[list[i].n].time);
        *slice = !any || own < *slice ? own : *slice;
        any = true;
    }
    return any;
}

static void take_slice(const timed *t, gpu *g, int64_t slice)
{
    const uint64_t before = g->n;
    const int64_t end = timed_slice_end(t, slice);
    for (; g->n < g->samples.count && g->samples.at[g->n].time < end; g->n++) {
        const int64_t bin = g->samples.at[g->n].sum / BIN_WIDTH;
        g->counts[bin < 0 ? 0 : bin < BINS ? bin : BINS - 1]++;
    }
    g->is_new = g->n > before;
    for (int i = 0; i < BINS && g->is_new; i++)
        g->share[i] = (double)g->counts[i] / (double)g->n;
}

static double distance(const gpu *a, const gpu *b)
{
    double p_part = 0, q_part = 0;
    for (int i = 0; i < BINS; i++) {
        const double p = a->share[i], q = b->share[i], m = (p + q) / 2;
        p_part += p > 0 ? p * log(p / m) : 0;
        q_part += q > 0 ? q * log(q / m) : 0;
    }
    const double d = (p_part + q_part) / 2;
    return sqrt(d > 0 ? d : 0);
}

/* Is the distance surely not above the threshold? The divergence is at most ln 2 of the total variation, half the sum
 * of the differences: that takes no logarithms. */
static bool is_near(const gpu *a, const gpu *b, double threshold)
{
    static const double ln2 = 0.69314718055994531, margin = 1e-9;
    double variation = 0;
    for (int i = 0; i < BINS; i++)
        variation += fabs(a->share[i] - b->share[i]);
    return ln2 * variation / 2 + margin <= threshold * threshold;
}

static void test_slice(timed *t, const gpu *list, uint64_t count, int64_t slice)
{
    const uint64_t patience = (uint64_t)timed_int(t, "patience");
    const double threshold = timed_real(t, "threshold");
    for (uint64_t a = 0; a < count; a++)
        for (uint64_t b = a + 1; b < count && list[a].n > patience; b++) {
            if (list[b].n <= patience || (!list[a].is_new && !list[b].is_new))
                continue;
            if (is_near(&list[a], &list[b], threshold)) {
                timed_test(t, false, &(timed_finding){0});
                continue;
            }
            const double value = distance(&list[a], &list[b]);
            const timed_finding finding = {.time = timed_slice_end(t, slice),
                                           .slice = slice,
                                           .order = a * count + b,
                                           .worker = t->line->node[list[a].series->node],
                                           .unit = list[a].series->unit,
                                           .worker2 = t->line->node[list[b].series->node],
                                           .unit2 = list[b].series->unit,
                                           .value = value,
                                           .threshold = threshold};
            timed_test(t, value > threshold, &finding);
        }
}

static void put_workloads(timed *t, const gpu *list, uint64_t count)
{
    assay_buf *out = &t->details;
    assay_put_format(out, "{\"workloads\": [");
    for (uint64_t i = 0; i < count; i++) {
        assay_put_format(out, i ? ", {\"node\": " : "{\"node\": ");
        assay_json_put_text(out, t->line->node[list[i].series->node]);
        assay_put_format(out, ", \"unit\": ");
        assay_json_put_text(out, list[i].series->unit);
        assay_put_format(out, ", \"n\": %" PRIu64 ", \"counts\": [", list[i].n);
        for (int k = 0; k < BINS; k++)
            assay_put_format(out, "%s%" PRIu64, k ? ", " : "", list[i].counts[k]);
        assay_put_format(out, "]}");
    }
    assay_put_format(out, "]}");
}

void load_balancing_evaluate(timed *t)
{
    uint64_t count = 0;
    int64_t slice = 0;
    gpu *list = find_gpus(t, &count);
    while (list && t->status == ASSAY_OK && next_slice(t, list, count, &slice)) {
        for (uint64_t i = 0; i < count; i++)
            take_slice(t, &list[i], slice);
        test_slice(t, list, count, slice);
    }
    if (list)
        put_workloads(t, list, count);
    free(list);
}

TIMED_FINALIZE(load_balancing_evaluate)

const assay_rule_ops assay_rule_load_balancing = {
    ASSAY_RULE_HEAD,
    .name = "LoadBalancing",
    .summary = "GPUs of the same job have clearly different loads.",
    .advice = "Take another distribution strategy, or make the shards of the data even.",
    .value_units = ASSAY_TEXTS("Jensen-Shannon distance, 0.83 at most"),
    .sentences = ASSAY_TEXTS("{worker} had clearly different loads at {when}"),
    .params = params,
    TIMED_RULE_STATE,
    .finalize = finalize,
};
