/* However the files are dealt out, the timeline is the same; and what it says of a small trial. */
#include "timeline/collect.h"

#include "source/trial_files.h"
#include "unit.h"
#include "workspace.h"

static assay_timeline_want want = {.cell_size = ASSAY_TIMELINE_MINUTE};

/* Reads files [first, end) of a trial. */
static assay_collector *collected(const assay_trial_files *t, size_t first, size_t end, bool exact)
{
    assay_collector *c = assay_collector_new(&want, exact);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    for (size_t i = first; i < end; i++)
        CU_ASSERT_EQUAL(assay_collector_read(c, t->store, &t->catalog.events.list[i], (uint32_t)i, NULL), 0);
    return c;
}

static void join(assay_collector *earlier, assay_collector *later)
{
    assay_buf bytes;
    assay_buf_init(&bytes, SIZE_MAX);
    CU_ASSERT_EQUAL(assay_collector_pack(later, &bytes), 0);
    assay_cursor in = assay_cursor_over(bytes.data, bytes.size);
    CU_ASSERT_EQUAL(assay_collector_join(earlier, &in, NULL), 0);
    CU_ASSERT_FALSE(assay_cursor_bad(&in));
    assay_collector_free(later);
    assay_buf_release(&bytes);
}

static assay_timeline_data *finished(assay_collector *c, const assay_trial_files *t, bool *again)
{
    assay_timeline_data *timeline = NULL;
    CU_ASSERT_EQUAL_FATAL(assay_collector_finish(c, &t->catalog.events, &timeline, again), 0);
    assay_collector_free(c);
    return timeline;
}

/* All that a timeline says, as text. */
static void describe(const assay_timeline *l, assay_buf *out)
{
    for (uint32_t i = 0; i < l->nodes; i++)
        assay_put_format(out, "node %s %u\n", l->node[i], l->cores[i]);
    for (uint32_t i = 0; i < l->workers; i++)
        assay_put_format(out, "worker %s %u %lld %lld %llu\n", l->worker[i].name, l->worker[i].node,
                         (long long)l->worker[i].first, (long long)l->worker[i].last,
                         (unsigned long long)l->worker[i].events[0]);
    for (uint64_t i = 0; i < l->series_count; i++) {
        const assay_metric_series *s = &l->series[i];
        assay_put_format(out, "series %u %d '%s'", s->node, s->metric, s->unit);
        for (uint64_t k = 0; k < s->count; k++)
            assay_put_format(out, " %lld:%lld:%lld/%u", (long long)s->sample[k].time, (long long)s->sample[k].sum,
                             (long long)s->sample[k].extreme, s->sample[k].units);
        assay_put_format(out, "\n");
    }
    for (uint64_t i = 0; i < l->steps; i++)
        assay_put_format(out, "step %u %s %lld %lld %lld\n", l->step[i].worker, l->mode[l->step[i].mode],
                         (long long)l->step[i].start, (long long)l->step[i].duration, (long long)l->step[i].number);
    for (uint64_t i = 0; i < l->loaders; i++)
        assay_put_format(out, "loader %u %lld %lld\n", l->loader[i].worker, (long long)l->loader[i].start,
                         (long long)l->loader[i].duration);
    for (uint64_t i = 0; i < l->totals; i++)
        assay_put_format(out, "total %d %s %lld\n", l->total[i].kind, l->total[i].name, (long long)l->total[i].time);
    for (uint64_t i = 0; i < l->cells; i++)
        assay_put_format(out, "cell %lld\n", (long long)l->cell[i]);
    assay_put_format(out, "%lld %lld %lld %llu %llu %llu %llu %llu %llu\n", (long long)l->origin, (long long)l->start,
                     (long long)l->end, (unsigned long long)l->samples, (unsigned long long)l->other_samples,
                     (unsigned long long)l->duplicates, (unsigned long long)l->events,
                     (unsigned long long)l->other_events, (unsigned long long)l->unmatched);
}

/* Cut at two places and bracketed either way, added up while reading or at the end. */
static void cuts_do_not_matter(void)
{
    assay_trial_files t;
    assay_buf whole;
    CU_ASSERT_EQUAL_FATAL(assay_trial_open(ASSAY_TEST_DATA "/events/profiler", &t, NULL), 0);
    const size_t count = t.catalog.events.count;
    assay_buf_init(&whole, SIZE_MAX);
    for (size_t first = 0; first <= count; first++)
        for (size_t second = first; second <= count; second += 3) {
            const bool exact = (first + second) % 2, left = second % 2;
            bool again = false;
            assay_collector *a = collected(&t, 0, first, exact), *b = collected(&t, first, second, exact),
                            *c = collected(&t, second, count, exact);
            join(left ? a : b, left ? b : c);
            join(a, left ? c : b);
            assay_timeline_data *timeline = finished(a, &t, &again);
            CU_ASSERT_FATAL(timeline && !again);
            assay_buf said;
            assay_buf_init(&said, SIZE_MAX);
            describe(&timeline->line, whole.size ? &said : &whole);
            CU_ASSERT(said.size == 0 || (said.size == whole.size && memcmp(said.data, whole.data, said.size) == 0));
            assay_buf_release(&said);
            assay_timeline_free(timeline);
        }
    assay_buf_release(&whole);
    assay_trial_release(&t);
}

static const assay_metric_series *series_of(const assay_timeline *l, int metric, const char *unit)
{
    for (uint64_t i = 0; i < l->series_count; i++)
        if (l->series[i].metric == metric && strcmp(l->series[i].unit, unit) == 0)
            return &l->series[i];
    return NULL;
}

static void what_a_small_trial_says(void)
{
    assay_trial_files t;
    bool again = false;
    CU_ASSERT_EQUAL_FATAL(assay_trial_open(ASSAY_TEST_DATA "/events/profiler", &t, NULL), 0);
    assay_timeline_data *timeline = finished(collected(&t, 0, t.catalog.events.count, false), &t, &again);
    CU_ASSERT_PTR_NOT_NULL_FATAL(timeline);
    const assay_timeline *l = &timeline->line;
    CU_ASSERT(l->nodes == 2 && l->workers == 2 && l->cores[0] == 2 && l->cores[1] == 2);
    CU_ASSERT_STRING_EQUAL(l->worker[0].name, "algo-1-0");
    CU_ASSERT_STRING_EQUAL(l->worker[1].name, "algo-2-1");
    CU_ASSERT(l->origin == INT64_C(1700006400000000) && l->start == INT64_C(1700006401000000));
    CU_ASSERT(l->samples == 2 * 2 * 4 * 11 && l->other_samples == 16 && l->duplicates == 0);
    const assay_metric_series *cpu = series_of(l, ASSAY_METRIC_CPU, ""), *gpu = series_of(l, ASSAY_METRIC_GPU, "");
    CU_ASSERT_FATAL(cpu && gpu && cpu->count == 8);
    CU_ASSERT(cpu->sample[0].units == 2 && cpu->sample[0].sum == 45500000 && cpu->sample[0].extreme == 25250000);
    CU_ASSERT(gpu->sample[1].units == 2 && gpu->sample[1].sum == 112000000 && gpu->sample[1].extreme == 51000000);
    CU_ASSERT(series_of(l, ASSAY_METRIC_GPU, "gpu1")->sample[0].sum == 60000000);
    CU_ASSERT_PTR_NULL(series_of(l, ASSAY_METRIC_CPU, "cpu0"));
    /* Three steps each, and one that began in one file and ended in the next, under the name of its beginning. */
    CU_ASSERT(l->steps == 8 && l->modes == 2 && l->step[3].duration == 400000 && l->step[3].number == 0);
    CU_ASSERT_STRING_EQUAL(l->mode[l->step[3].mode], "EVAL");
    CU_ASSERT(l->unmatched == 2 && l->other_events == 2 && l->loaders == 6 && l->loader_starts == 2);
    CU_ASSERT(l->loader_start[0].pin_memory == 1 && l->loader_start[0].num_workers == 2);
    for (uint64_t i = 0; i < l->totals; i++)
        CU_ASSERT(l->total[i].kind != ASSAY_TIME_HOROVOD || l->total[i].time == 1600);
    assay_timeline_free(timeline);
    assay_trial_release(&t);
}

#define SAMPLE(unit, value, time)                                                                                      \
    "{\"Name\":\"" unit "\",\"Dimension\":\"CPUUtilization\",\"Value\":" value ",\"NodeId\":\"n\",\"Timestamp\":" time \
    "}\n"

/* Of two samples of a unit at one time the first counts, by the time in the file's name; with all units that is seen.
 */
static void doubles_and_jumps(void)
{
    workspace w;
    assay_trial_files t;
    bool again = false;
    workspace_make(&w);
    workspace_text(&w, "system/1700006460.n.json",
                   SAMPLE("cpu0", "90", "1700006401") SAMPLE("cpu0", "7", "1700006470"));
    workspace_text(&w, "system/1700006400.n.json",
                   SAMPLE("cpu0", "10", "1700006401") SAMPLE("cpu1", "30", "1700006401")
                       SAMPLE("cpu0", "5", "1700006399") SAMPLE("cpu1", "31", "1700006401"));
    CU_ASSERT_EQUAL_FATAL(assay_trial_open(w.root, &t, NULL), 0);
    CU_ASSERT_PTR_NULL(finished(collected(&t, 0, 2, false), &t, &again));
    CU_ASSERT_TRUE(again);
    again = false;
    assay_timeline_data *timeline = finished(collected(&t, 0, 2, true), &t, &again);
    CU_ASSERT_PTR_NOT_NULL_FATAL(timeline);
    CU_ASSERT_FATAL(!again && timeline->line.series_count == 1 && timeline->line.series[0].count == 3);
    const assay_sample *s = timeline->line.series[0].sample;
    CU_ASSERT(s[0].time == INT64_C(1700006399000000) && s[0].sum == 5000000);
    CU_ASSERT(s[1].sum == 40000000 && s[1].units == 2 && s[1].extreme == 30000000);
    CU_ASSERT(s[2].sum == 7000000 && timeline->line.duplicates == 2 && timeline->line.samples == 4);
    assay_timeline_free(timeline);
    assay_trial_release(&t);
    workspace_remove(&w);
}

/* What a rank sends survives its way or is refused, whatever happens to it. */
static void damaged_on_the_way(void)
{
    assay_trial_files t;
    assay_buf bytes;
    CU_ASSERT_EQUAL_FATAL(assay_trial_open(ASSAY_TEST_DATA "/events/profiler", &t, NULL), 0);
    assay_buf_init(&bytes, SIZE_MAX);
    assay_collector *c = collected(&t, 3, t.catalog.events.count, false);
    CU_ASSERT_EQUAL(assay_collector_pack(c, &bytes), 0);
    for (size_t size = 0; size < bytes.size; size += 1 + bytes.size / 400) {
        assay_collector *to = assay_collector_new(&want, false);
        assay_cursor in = assay_cursor_over(bytes.data, size);
        CU_ASSERT_EQUAL(assay_collector_join(to, &in, NULL), ASSAY_EINTERNAL);
        assay_collector_free(to);
    }
    assay_collector_free(c);
    assay_buf_release(&bytes);
    assay_trial_release(&t);
}

int main(void)
{
    CU_TestInfo tests[] = {{"cuts do not matter", cuts_do_not_matter},
                           {"what a small trial says", what_a_small_trial_says},
                           {"doubles and jumps of a clock", doubles_and_jumps},
                           {"damaged on the way", damaged_on_the_way},
                           CU_TEST_INFO_NULL};
    return unit_main("collect", tests);
}
