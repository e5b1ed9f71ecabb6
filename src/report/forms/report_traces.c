/* report_traces.c - the member `traces` of a trial in report.json: where the time of its ranks went (docs/traces.md). */
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "report/forms/forms.h"
#include "rule/trial_info.h"

static void put_worker(assay_jw *w, int32_t rank)
{
    assay_jw_format(w, "worker", "worker_%d", (int)rank);
}

/* Puts the beginning of a name: those of C++ are long. */
static void put_name(assay_jw *w, const char *key, const assay_trace_data *data, uint32_t text, size_t most)
{
    assay_jw_text_n(w, key, assay_trace_text(data, text), strnlen(assay_trace_text(data, text), most));
}

static void put_ranks(assay_jw *w, const char *key, const int32_t *list, size_t count)
{
    assay_jw_array(w, key);
    for (size_t i = 0; i < count; i++)
        assay_jw_i64(w, NULL, list[i]);
    assay_jw_end(w);
}

static void put_counts(assay_jw *w, const assay_trace_data *data)
{
    const struct {
        const char *key;
        uint64_t count;
    } operations[] = {{"matched", data->matched}, {"unmatched", data->unmatched}, {"differ", data->different}};
    assay_jw_u64(w, "files", data->files);
    assay_jw_array(w, "ranks");
    for (size_t i = 0; i < data->ranks; i++)
        if (data->rank[i].evaluated)
            assay_jw_i64(w, NULL, data->rank[i].rank);
    assay_jw_end(w);
    put_ranks(w, "no_file", data->no_file, data->no_files);
    put_ranks(w, "set_aside", data->set_aside, data->sets_aside);
    assay_jw_array(w, "steps");
    for (size_t i = 0; i < data->steps; i++)
        assay_jw_i64(w, NULL, data->step[i]);
    assay_jw_end(w);
    assay_jw_array(w, "step_ns");
    for (size_t i = 0; i < data->steps; i++)
        assay_jw_i64(w, NULL, data->step_duration[i]);
    assay_jw_end(w);
    ASSAY_JW(w, "events", data->events, "kernels", data->kernels, "without_description", data->without_description,
             "without_group", data->without_group, "without_time", data->without_time, "too_large", data->too_large);
    assay_jw_object(w, "operations");
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (operations[i].count > 0)
            assay_jw_u64(w, operations[i].key, operations[i].count);
    assay_jw_end(w);
}

static void put_sides(assay_jw *w, const assay_trace_data *data)
{
    char key[32];
    assay_jw_object(w, "other_steps");
    for (size_t i = 0; i < data->ranks; i++) {
        if (data->rank[i].evaluated)
            continue;
        snprintf(key, sizeof key, "%d", (int)data->rank[i].rank);
        assay_jw_array(w, key);
        assay_jw_i64(w, NULL, data->rank[i].first_step);
        assay_jw_i64(w, NULL, data->rank[i].last_step);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    assay_jw_object(w, "clock_ns");
    for (size_t i = 0; i < data->ranks; i++) {
        if (!data->rank[i].evaluated)
            continue;
        snprintf(key, sizeof key, "%d", (int)data->rank[i].rank);
        assay_jw_i64(w, key, data->clock[i]);
    }
    assay_jw_end(w);
}

static void put_figures(assay_jw *w, const assay_trace_figures *f)
{
    ASSAY_JW(w, "total_ns", f->total, "computation_ns", f->computation, "exposed_communication_ns",
             f->exposed_communication, "exposed_copy_ns", f->exposed_copy, "busy_ns", f->busy, "idle_ns", f->idle,
             "communication_ns", f->communication, "copy_ns", f->copy);
}

/* Puts the first ten by time; shares are of all kernels, or of all operators on the host. */
static void put_top(assay_jw *w, const assay_trace_data *data, const assay_trace_rank *rank, const char *key, int kind)
{
    const uint32_t whole = kind == ASSAY_SUM_HOST_OPERATORS ? ASSAY_SUM_HOST_OPERATORS : ASSAY_SUM_KERNELS;
    double all = 0;
    size_t shown = 0;
    for (size_t i = 0; i < rank->sums; i++)
        all += rank->sum[i].kind == whole ? (double)rank->sum[i].time : 0;
    assay_jw_array(w, key);
    for (size_t i = 0; i < rank->sums && shown < ASSAY_TRACE_TOP; i++) {
        const assay_trace_sum *sum = &rank->sum[i];
        if ((int)sum->kind != kind)
            continue;
        assay_jw_object(w, NULL);
        put_name(w, "name", data, sum->name, ASSAY_TRACE_NAME_SHOWN);
        ASSAY_JW(w, "count", sum->count, "ns", sum->time, "share", all > 0 ? (double)sum->time / all : 0);
        assay_jw_end(w);
        shown++;
    }
    assay_jw_end(w);
}

static void put_idle(assay_jw *w, const assay_trace_data *data, const assay_trace_alone *alone)
{
    assay_jw_object(w, "idle");
    for (int cause = 0; cause < ASSAY_CAUSES; cause++)
        assay_jw_i64(w, assay_trace_cause_word(cause), alone->idle[cause]);
    assay_jw_end(w);
    assay_jw_array(w, "gaps");
    for (uint32_t i = 0; i < alone->gaps; i++) {
        const assay_trace_gap *gap = &alone->gap[i];
        assay_jw_object(w, NULL);
        ASSAY_JW(w, "ns", gap->length, "at_ns", gap->at, "cause", assay_trace_cause_word((int)gap->cause));
        put_name(w, "before", data, gap->name, ASSAY_TRACE_GAP_SHOWN);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_alone(assay_jw *w, const assay_trace_data *data, const assay_trace_rank *rank)
{
    const assay_trace_alone *alone = &rank->alone;
    assay_jw_line(w, 5);
    assay_jw_object(w, NULL);
    put_worker(w, rank->rank);
    ASSAY_JW(w, "whole_file", rank->whole_file, "activities", alone->activities, "launched_before",
             alone->launched_before);
    /* A trace of the host alone has no figures of a device. */
    if (alone->activities == 0) {
        put_top(w, data, rank, "host_operators", ASSAY_SUM_HOST_OPERATORS);
        assay_jw_end(w);
        return;
    }
    put_figures(w, &alone->figures);
    put_idle(w, data, alone);
    put_top(w, data, rank, "kernels", ASSAY_SUM_KERNELS);
    put_top(w, data, rank, "operators", ASSAY_SUM_OPERATORS);
    if (!rank->whole_file) {
        assay_jw_array(w, "steps");
        for (size_t i = 0; i < rank->steps; i++) {
            assay_jw_object(w, NULL);
            assay_jw_i64(w, "step", rank->step[i].number);
            put_figures(w, &rank->step[i].figures);
            assay_jw_end(w);
        }
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static int64_t excess_of(const assay_trace_work *work)
{
    return work->own - work->own_median;
}

/* Finds the ranks of a step that did the most beyond their peers, the worst first; returns how many. Of equal ranks
 * those before are the worse, so that no more are listed. */
static size_t find_worst(const assay_trace_work *work, size_t count, const assay_trace_work *worst[ASSAY_TRACE_WORST])
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == ASSAY_TRACE_WORST && excess_of(&work[i]) <= excess_of(worst[kept - 1]))
            continue;
        size_t at = kept < ASSAY_TRACE_WORST ? kept++ : kept - 1;
        for (; at > 0 && excess_of(&work[i]) > excess_of(worst[at - 1]); at--)
            worst[at] = worst[at - 1];
        worst[at] = &work[i];
    }
    return kept;
}

static void put_work(assay_jw *w, const assay_trace_data *data, const assay_trace_work *work)
{
    assay_jw_object(w, NULL);
    assay_jw_i64(w, "step", data->step[work->step]);
    put_worker(w, work->rank);
    ASSAY_JW(w, "own_s", (double)work->own / 1e9, "busy_s", (double)work->busy / 1e9, "exposed_s",
             (double)work->exposed / 1e9, "input_s", (double)work->input / 1e9, "excess_s",
             (double)excess_of(work) / 1e9);
    assay_jw_end(w);
}

/* Puts what the worst ranks of each step did beyond their peers, in the order of ranks. */
static void put_lost(assay_jw *w, const assay_trace_data *data)
{
    assay_jw_array(w, "lost");
    for (size_t i = 0, count; i < data->works; i += count) {
        const assay_trace_work *work = &data->work[i], *worst[ASSAY_TRACE_WORST];
        for (count = 1; i + count < data->works && work[count].step == work->step;)
            count++;
        const size_t kept = find_worst(work, count, worst);
        for (size_t k = 0; k < count; k++)
            for (size_t at = 0; at < kept; at++)
                if (worst[at] == &work[k] && excess_of(&work[k]) > 0 && work[k].peers >= 2)
                    put_work(w, data, &work[k]);
    }
    assay_jw_end(w);
}

/* Seconds are over the steps that all ranks have. */
static void put_what_if(assay_jw *w, const assay_trace_data *data)
{
    const assay_trace_what_if *what = &data->what_if;
    assay_jw_line(w, 4);
    if (!what->known) {
        assay_jw_null(w, "what_if");
        return;
    }
    assay_jw_object(w, "what_if");
    assay_jw_array(w, "steps");
    for (size_t i = 0; i < data->steps; i++)
        assay_jw_i64(w, NULL, data->step[i]);
    assay_jw_end(w);
    ASSAY_JW(w, "measured_s", what->measured, "simulated_s", what->simulated, "ideal_s", what->ideal, "slowdown",
             what->simulated / what->ideal);
    ASSAY_JW_OBJECT(w, "saved_without", "own_time_above_median", what->without_own, "slow_groups",
                    what->without_slow_groups, "late_input", what->without_late_input);
    assay_jw_array(w, "saved_by_rank");
    for (uint32_t i = 0; i < what->ranks; i++) {
        assay_jw_object(w, NULL);
        put_worker(w, what->rank[i].rank);
        assay_jw_number(w, "share", what->rank[i].share);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    assay_jw_bool(w, "rough", what->rough);
    assay_jw_end(w);
}

void report_put_traces_json(const assay_trial_outcome *trial, assay_jw *w)
{
    const assay_trace_data *data = trial->info ? trial->info->traces : NULL;
    if (!data)
        return;
    assay_jw_line(w, 3);
    assay_jw_object(w, "traces");
    put_counts(w, data);
    put_sides(w, data);
    assay_jw_line(w, 4);
    assay_jw_array(w, "alone");
    for (size_t i = 0; i < data->ranks; i++)
        put_alone(w, data, &data->rank[i]);
    assay_jw_end(w);
    assay_jw_line(w, 4);
    put_lost(w, data);
    put_what_if(w, data);
    assay_jw_end(w);
}
