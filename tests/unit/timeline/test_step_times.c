/* Which step in time a step of tensors is, what the machine did then, and what was slow before. */
#include "timeline/step_times.h"

#include <math.h>

#include "unit.h"

enum { STEPS = 30, MS = 1000 };

/* A timeline of two workers with STEPS steps of 100 ms each, 10 ms apart; step 20 of the second one takes a second. */
typedef struct example {
    assay_time_step step[2 * STEPS];
    assay_timeline_worker worker[2];
    assay_sample sample[2];
    assay_metric_series series;
    assay_timeline line;
} example;

static const char *const NODES[] = {"algo-1", "algo-2"}, *const MODES[] = {"TRAIN"};

static void fill(example *e, const char *first, const char *second)
{
    int64_t at = 0;
    *e = (example){.worker = {{.name = first, .node = 0}, {.name = second, .node = 1}}};
    for (uint32_t i = 0; i < 2 * STEPS; i++) {
        const int64_t number = i % STEPS, duration = (i == STEPS + 20 ? 1000 : 100) * MS;
        at = number == 0 ? 0 : at;
        e->step[i] = (assay_time_step){at, duration, number, i / STEPS, 0};
        at += duration + 10 * MS;
    }
    e->sample[0] = (assay_sample){.time = 50 * MS, .sum = 30000000, .units = 2};
    e->sample[1] = (assay_sample){.time = 2500 * MS, .sum = 90000000, .units = 1};
    e->series = (assay_metric_series){"", 1, ASSAY_METRIC_CPU, e->sample, 2};
    e->line = (assay_timeline){.node = NODES,
                               .nodes = 2,
                               .worker = e->worker,
                               .workers = 2,
                               .mode = MODES,
                               .modes = 1,
                               .series = &e->series,
                               .series_count = 1,
                               .step = e->step,
                               .steps = 2 * STEPS};
}

/* The worker of the timeline that does step 0 of worker `worker`; NULL: it is not known. */
static const char *worker_of(const example *e, const char *const *names, uint32_t workers, uint32_t worker)
{
    assay_step_time at;
    assay_step_times *t = assay_step_times_new(&e->line, names, workers);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    const char *name = assay_step_times_find(t, worker, "TRAIN", 0, &at) ? at.worker : "none";
    assay_step_times_free(t);
    return name;
}

static void find_workers(void)
{
    static const char *const two[] = {"worker_0", "worker_1"}, *const odd[] = {"a", "1-host", "c"};
    example e;
    fill(&e, "algo-1-151", "algo-2-151"); /* the numbers are of processes: by order */
    CU_ASSERT_STRING_EQUAL(worker_of(&e, two, 2, 0), "algo-1-151");
    CU_ASSERT_STRING_EQUAL(worker_of(&e, two, 2, 1), "algo-2-151");
    CU_ASSERT_STRING_EQUAL(worker_of(&e, two, 1, 0), "none"); /* one of two: nobody knows which */
    fill(&e, "algo-1-1", "algo-2-0");                         /* by number */
    CU_ASSERT_STRING_EQUAL(worker_of(&e, two, 2, 0), "algo-2-0");
    CU_ASSERT_STRING_EQUAL(worker_of(&e, two, 2, 1), "algo-1-1");
    fill(&e, "1-host", "0-host");
    CU_ASSERT_STRING_EQUAL(worker_of(&e, two, 2, 0), "0-host");
    CU_ASSERT_STRING_EQUAL(worker_of(&e, odd, 3, 1), "1-host"); /* by name */
    CU_ASSERT_STRING_EQUAL(worker_of(&e, odd, 3, 2), "none");
}

static void describe_steps(void)
{
    static const char *const names[] = {"worker_0", "worker_1"};
    assay_step_time at;
    assay_slow_step slow;
    example e;
    fill(&e, "algo-1-0", "algo-2-1");
    assay_step_times *t = assay_step_times_new(&e.line, names, 2);
    CU_ASSERT_PTR_NOT_NULL_FATAL(t);
    CU_ASSERT_TRUE(assay_step_times_find(t, 1, "TRAIN", 0, &at));
    CU_ASSERT_EQUAL(at.step->duration, 100 * MS);
    CU_ASSERT_EQUAL(at.median, 100 * MS);
    CU_ASSERT_DOUBLE_EQUAL(at.use[ASSAY_METRIC_CPU], 15, 0); /* the mean over two cores */
    CU_ASSERT_TRUE(isnan(at.use[ASSAY_METRIC_GPU]));
    CU_ASSERT_TRUE(assay_step_times_find(t, 1, "TRAIN", 10, &at));
    CU_ASSERT_TRUE(isnan(at.use[ASSAY_METRIC_CPU])); /* no sample within a second */
    CU_ASSERT_FALSE(assay_step_times_slow_before(t, &at, &slow));
    CU_ASSERT_TRUE(assay_step_times_find(t, 1, "TRAIN", 20, &at));
    CU_ASSERT_DOUBLE_EQUAL(at.use[ASSAY_METRIC_CPU], 90, 0);
    CU_ASSERT_FALSE(assay_step_times_slow_before(t, &at, &slow)); /* it is slow itself, which its own time says */
    CU_ASSERT_TRUE(assay_step_times_find(t, 1, "TRAIN", 23, &at));
    CU_ASSERT_TRUE(assay_step_times_slow_before(t, &at, &slow));
    CU_ASSERT_FALSE(slow.stalled);
    CU_ASSERT_EQUAL(slow.at.step->number, 20);
    CU_ASSERT_EQUAL(slow.back, 3);
    CU_ASSERT_EQUAL(slow.length, 1000 * MS);
    CU_ASSERT_TRUE(assay_step_times_find(t, ASSAY_ANY_WORKER, "TRAIN", 20, &at)); /* the one that took longest */
    CU_ASSERT_STRING_EQUAL(at.worker, "algo-2-1");
    CU_ASSERT_FALSE(assay_step_times_find(t, 0, "EVAL", 0, &at));
    CU_ASSERT_FALSE(assay_step_times_find(t, 0, "TRAIN", STEPS, &at));
    CU_ASSERT_FALSE(assay_step_times_find(t, 0, "TRAIN", -1, &at));
    assay_step_times_free(t);
    for (uint32_t i = 5; i < STEPS; i++) /* the first worker stands still before step 5 */
        e.step[i].start += 2000 * MS;
    t = assay_step_times_new(&e.line, names, 2);
    CU_ASSERT_TRUE(assay_step_times_find(t, 0, "TRAIN", 5, &at));
    CU_ASSERT_TRUE(assay_step_times_slow_before(t, &at, &slow));
    CU_ASSERT_TRUE(slow.stalled);
    CU_ASSERT_EQUAL(slow.length, 2010 * MS);
    CU_ASSERT_EQUAL(slow.back, 0);
    assay_step_times_free(t);
}

int main(void)
{
    CU_TestInfo tests[] = {{"workers of tensors and of timelines", find_workers},
                           {"steps, their use, and what was slow before", describe_steps},
                           CU_TEST_INFO_NULL};
    return unit_main("step_times", tests);
}
