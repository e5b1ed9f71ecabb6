/* bottleneck.c - see bottleneck.h. */
#include "bottleneck.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TOGETHER = 20000 /* microseconds from the first sample of a snapshot to the last */ };

/* The way through the samples of a node. */
typedef struct walk {
    timed *t;
    uint32_t node;
    timed_samples gpu, core;
    uint64_t next_gpu, next_core;
    double gpu_limit, core_limit;
    uint64_t snapshots, bottlenecks, low, unpaired;
    int64_t slice; /* of the last snapshot */
    /* The steps of the node's workers that began so far: when the last of them ends, by mode. */
    uint64_t *next_step; /* [workers] */
    int64_t *running;    /* [modes] */
    uint64_t *during;    /* [modes + 1]; the last: outside of steps */
} walk;

static double in_percent(int64_t millionths)
{
    return (double)millionths / 1e6;
}

/* Counts which modes had a step under way at a bottleneck. Anchors only grow within a node, so each step is passed
 * once. */
static void note_steps(walk *w, int64_t anchor)
{
    const assay_timeline *line = w->t->line;
    bool any = false;
    for (uint32_t i = 0; i < line->workers; i++) {
        if (line->worker[i].node != w->node)
            continue;
        for (uint64_t *s = &w->next_step[i];
             *s < line->steps && line->step[*s].worker == i && line->step[*s].start <= anchor; ++*s) {
            const assay_time_step *step = &line->step[*s];
            int64_t *end = &w->running[step->mode];
            *end = step->start + step->duration > *end ? step->start + step->duration : *end;
        }
    }
    for (uint32_t m = 0; m < line->modes; m++)
        if (w->running[m] > anchor) {
            w->during[m]++;
            any = true;
        }
    w->during[line->modes] += !any;
}

/* Tests the share of bottlenecks up to the slice of the last snapshot. Shares are of all snapshots so far, so a
 * finding of a late slice is of the whole time. */
static void test_slice(const walk *w)
{
    timed *t = w->t;
    if (w->snapshots <= (uint64_t)timed_int(t, "patience"))
        return;
    const double share = 100.0 * (double)w->bottlenecks / (double)w->snapshots;
    const timed_finding finding = {.time = timed_slice_end(t, w->slice),
                                   .slice = w->slice,
                                   .order = w->node,
                                   .worker = t->line->node[w->node],
                                   .unit = "",
                                   .value = share,
                                   .threshold = timed_real(t, "threshold")};
    timed_test(t, share > finding.threshold, &finding);
}

/* Takes one group of samples: all that begin within TOGETHER of the earliest that is left. A group without one of the
 * kinds is no snapshot, as nothing can be compared. */
static void take_group(walk *w)
{
    const timed_samples *gpu = &w->gpu, *core = &w->core;
    const bool gpu_first = w->next_core == core->count ||
                           (w->next_gpu < gpu->count && gpu->at[w->next_gpu].time < core->at[w->next_core].time);
    const int64_t anchor = gpu_first ? gpu->at[w->next_gpu].time : core->at[w->next_core].time;
    const uint64_t first_gpu = w->next_gpu, first_core = w->next_core;
    bool low = false, saturated = false;
    for (; w->next_gpu < gpu->count && gpu->at[w->next_gpu].time - anchor <= TOGETHER; w->next_gpu++)
        low = low || in_percent(gpu->at[w->next_gpu].extreme) < w->gpu_limit;
    for (; w->next_core < core->count && core->at[w->next_core].time - anchor <= TOGETHER; w->next_core++)
        saturated = saturated || in_percent(core->at[w->next_core].extreme) > w->core_limit;
    if (w->next_gpu == first_gpu || w->next_core == first_core) {
        w->unpaired++;
        return;
    }
    const int64_t slice = timed_slice(w->t, anchor);
    if (w->snapshots > 0 && slice != w->slice)
        test_slice(w);
    w->slice = slice;
    w->snapshots++;
    w->low += low;
    if (low && saturated) {
        w->bottlenecks++;
        note_steps(w, anchor);
    }
}

/* "others": outside of any step. */
static void put_during(const walk *w, assay_buf *out)
{
    const assay_timeline *line = w->t->line;
    bool any = false;
    for (uint32_t m = 0; m <= line->modes; m++) {
        if (w->during[m] == 0)
            continue;
        assay_put_format(out, any ? ", " : "");
        assay_json_put_text(out, m < line->modes ? line->mode[m] : "others");
        assay_put_format(out, ": %" PRIu64, w->during[m]);
        any = true;
    }
}

/* Tested when a slice ends, that is when a sample of the next one comes, and once at the end. */
static void walk_node(walk *w, bool first)
{
    const assay_timeline *line = w->t->line;
    for (uint32_t m = 0; m < line->modes; m++) {
        w->running[m] = ASSAY_NO_TIME;
        w->during[m] = 0;
    }
    w->during[line->modes] = 0;
    while (w->next_gpu < w->gpu.count || w->next_core < w->core.count)
        take_group(w);
    if (w->snapshots > 0)
        test_slice(w);
    w->t->samples += w->snapshots;
    assay_buf *out = &w->t->details;
    assay_put_format(out, first ? "" : ", ");
    assay_put_format(out, "{\"node\": ");
    assay_json_put_text(out, line->node[w->node]);
    assay_put_format(out,
                     ", \"snapshots\": %" PRIu64 ", \"bottlenecks\": %" PRIu64 ", \"low_gpu\": %" PRIu64
                     ", \"unpaired\": %" PRIu64 ", \"during\": {",
                     w->snapshots, w->bottlenecks, w->low, w->unpaired);
    put_during(w, out);
    assay_put_format(out, "}}");
}

/* Finds the first step of each worker; steps are in order of workers. */
static void find_steps(const assay_timeline *line, uint64_t *first)
{
    uint64_t s = 0;
    for (uint32_t i = 0; i < line->workers; i++) {
        while (s < line->steps && line->step[s].worker < i)
            s++;
        first[i] = s;
    }
}

/* One walk for each node: what a node's processors do says nothing of another one's GPUs. */
void bottleneck_evaluate(timed *t, int metric, const char *limit)
{
    const assay_timeline *line = t->line;
    walk w = {.t = t, .gpu_limit = timed_real(t, "gpu_threshold"), .core_limit = timed_real(t, limit)};
    bool first = true;
    w.next_step = timed_alloc(t, line->workers, sizeof *w.next_step);
    w.running = timed_alloc(t, line->modes, sizeof *w.running);
    w.during = timed_alloc(t, line->modes + (uint64_t)1, sizeof *w.during);
    if (t->status == ASSAY_OK)
        find_steps(line, w.next_step);
    assay_put_format(&t->details, "{\"nodes\": [");
    for (uint32_t node = 0; node < line->nodes && t->status == ASSAY_OK; node++) {
        walk one = {.t = t,
                    .node = node,
                    .gpu = timed_visible(t, timed_series(t, node, ASSAY_METRIC_GPU, "")),
                    .core = timed_visible(t, timed_series(t, node, metric, "")),
                    .gpu_limit = w.gpu_limit,
                    .core_limit = w.core_limit,
                    .next_step = w.next_step,
                    .running = w.running,
                    .during = w.during};
        if (one.gpu.count == 0 && one.core.count == 0)
            continue;
        walk_node(&one, first);
        first = false;
    }
    assay_put_format(&t->details, "]}");
    free(w.next_step);
    free(w.running);
    free(w.during);
}
