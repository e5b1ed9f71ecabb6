/* report_profile.c - the member `profile` of a trial in report.json: what its timeline comes to (docs/profiler.md). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/forms/forms.h"
#include "report/model/profile.h"

/* Puts a time; ASSAY_NO_TIME is null. */
static void put_time(assay_jw *w, const char *key, int64_t value)
{
    if (value == ASSAY_NO_TIME)
        assay_jw_null(w, key);
    else
        assay_jw_i64(w, key, value);
}

/* Opens a list that begins a line of the profile. */
static void begin_list(assay_jw *w, const char *key)
{
    assay_jw_line(w, 4);
    assay_jw_array(w, key);
}

/* Opens an object that begins a line. */
static void begin_row(assay_jw *w)
{
    assay_jw_line(w, 5);
    assay_jw_object(w, NULL);
}

/* ---- the trial ---- */

static void put_problems(const assay_trial_outcome *trial, const profile *p, assay_jw *w)
{
    assay_jw_array(w, "problems");
    for (size_t i = 0; i < p->data->problems; i++) {
        const assay_timeline_problem *one = &p->data->problem[i];
        ASSAY_JW_OBJECT(w, NULL, "kind", assay_event_problem_word((int)one->kind), "file",
                        trial->catalog.events.list[one->file].path, "line", one->line);
    }
    assay_jw_end(w);
    assay_jw_array(w, "incomplete");
    for (size_t i = 0; i < p->gaps; i++) {
        const profile_gap *gap = &p->gap[i];
        assay_jw_object(w, NULL);
        assay_jw_text(w, gap->of_worker ? "worker" : "node", gap->name);
        ASSAY_JW(w, "kind", gap->kind, "from_us", gap->from, "to_us", gap->to);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_trial(const assay_trial_outcome *trial, const profile *p, assay_jw *w)
{
    const assay_timeline *line = p->line;
    assay_jw_object(w, "trial");
    ASSAY_JW(w, "system_files", p->data->system_files, "framework_files", p->data->framework_files, "used_samples",
             line->samples, "other_samples", line->other_samples, "duplicates", line->duplicates, "events",
             line->events);
    assay_jw_object(w, "events_by_kind");
    for (int i = 0; i < ASSAY_EVENT_KINDS; i++)
        if (p->data->events_by_kind[i] > 0)
            assay_jw_u64(w, assay_event_kind_name(i), p->data->events_by_kind[i]);
    assay_jw_end(w);
    ASSAY_JW(w, "other_events", line->other_events, "unmatched", line->unmatched);
    put_time(w, "t0_us", line->origin);
    assay_jw_array(w, "nodes");
    for (uint32_t i = 0; i < line->nodes; i++)
        assay_jw_text(w, NULL, line->node[i]);
    assay_jw_end(w);
    assay_jw_array(w, "workers");
    for (uint32_t i = 0; i < line->workers; i++) {
        ASSAY_JW_OBJECT(w, NULL, "worker", line->worker[i].name, "node", line->node[line->worker[i].node]);
    }
    assay_jw_end(w);
    put_problems(trial, p, w);
    assay_jw_end(w);
}

/* The loop is from the first step's start to the last one's end, so what lies before and behind is initialization and
 * finalization. */
static void put_job(const profile *p, assay_jw *w)
{
    const assay_timeline *line = p->line;
    const bool looped = p->loop_start != ASSAY_NO_TIME, any = line->start != ASSAY_NO_TIME;
    const int64_t duration = any ? line->end - line->start : ASSAY_NO_TIME;
    int64_t part[] = {ASSAY_NO_TIME, ASSAY_NO_TIME, ASSAY_NO_TIME};
    static const char *const names[] = {"initialization", "loop", "finalization"};
    char key[40];
    if (looped) {
        part[0] = p->loop_start > line->start ? p->loop_start - line->start : 0;
        part[1] = p->loop_end - p->loop_start;
        part[2] = line->end > p->loop_end ? line->end - p->loop_end : 0;
    }
    assay_jw_line(w, 4);
    assay_jw_object(w, "job");
    assay_jw_bool(w, "ended", line->ended);
    put_time(w, "start_us", line->start);
    put_time(w, "end_us", line->end);
    put_time(w, "duration_us", duration);
    put_time(w, "loop_start_us", p->loop_start);
    put_time(w, "loop_end_us", p->loop_end);
    for (int i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "%s_us", names[i]);
        put_time(w, key, part[i]);
        snprintf(key, sizeof key, "%s_share", names[i]);
        assay_jw_known(w, key, looped ? profile_share(part[i], duration) : NAN);
    }
    assay_jw_end(w);
}

static void put_clocks(const profile *p, assay_jw *w)
{
    begin_list(w, "sampling");
    for (size_t i = 0; i < p->samplings; i++) {
        const profile_sampling *s = &p->sampling[i];
        assay_jw_object(w, NULL);
        ASSAY_JW(w, "node", p->line->node[s->node], "first_us", s->first, "last_us", s->last, "anchors", s->anchors);
        put_time(w, "interval_us", s->interval);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    begin_list(w, "clock");
    for (uint32_t i = 0; i < p->line->workers; i++) {
        assay_jw_object(w, NULL);
        assay_jw_text(w, "worker", p->line->worker[i].name);
        put_time(w, "offset_us", p->clock[i].known ? p->clock[i].offset : ASSAY_NO_TIME);
        assay_jw_bool(w, "skewed", p->clock[i].skewed);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

/* ---- use of the machines ---- */

static void put_use(const profile *p, assay_jw *w)
{
    begin_list(w, "system");
    for (size_t i = 0; i < p->uses; i++) {
        const profile_use *row = &p->use[i];
        const profile_spread *s = &row->spread;
        begin_row(w);
        ASSAY_JW(w, "node", p->line->node[row->node], "metric", profile_metric_name(row->metric), "unit", row->unit,
                 "measure", profile_metric_measure(row->metric), "n", s->n);
        const double values[] = {s->mean, s->max, s->p99, s->p95,     s->p75,    s->p50,
                                 s->p25,  s->p05, s->min, row->lower, row->upper};
        static const char *const keys[] = {"mean", "max", "p99", "p95",   "p75",  "p50",
                                           "p25",  "p05", "min", "lower", "upper"};
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            assay_jw_known(w, keys[k], values[k]);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    begin_list(w, "hints");
    for (uint32_t node = 0; node < p->line->nodes; node++) {
        const char *hint = profile_hint(p, node);
        if (!hint)
            continue;
        ASSAY_JW_OBJECT(w, NULL, "node", p->line->node[node], "hint", hint);
    }
    assay_jw_end(w);
}

/* Puts metrics that no rule knows. */
static void put_others(const profile *p, assay_jw *w)
{
    begin_list(w, "other");
    for (size_t i = 0; i < p->data->others; i++) {
        const assay_other_series *series = &p->data->other[i];
        const profile_other values = profile_other_of(series);
        begin_row(w);
        ASSAY_JW(w, "node", series->node, "name", series->name, "n", series->count);
        assay_jw_known(w, "mean", values.mean);
        assay_jw_known(w, "max", values.most);
        assay_jw_known(w, "min", values.least);
        assay_jw_known(w, "last", values.last);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

/* ---- the framework ---- */

static void put_operators(const profile *p, const char *key, int kind, assay_jw *w)
{
    const profile_operators *o = &p->operators[kind];
    assay_jw_object(w, key);
    assay_jw_i64(w, "total_us", o->total);
    assay_jw_array(w, "top");
    for (uint64_t i = 0; i < o->shown; i++) {
        assay_jw_object(w, NULL);
        ASSAY_JW(w, "name", o->list[i].name, "time_us", o->list[i].time);
        assay_jw_known(w, "share", profile_share(o->list[i].time, o->total));
        assay_jw_known(w, "shown", profile_share(o->list[i].time, o->shown_total));
        assay_jw_end(w);
    }
    assay_jw_end(w);
    ASSAY_JW_OBJECT(w, "rest", "count", o->count - o->shown, "time_us", o->total - o->shown_total);
    assay_jw_end(w);
}

/* Puts a phase with its share of `total`. */
static void put_phase(const assay_time_total *phase, int64_t total, assay_jw *w)
{
    assay_jw_object(w, NULL);
    ASSAY_JW(w, "phase", phase->name, "time_us", phase->time);
    assay_jw_known(w, "share", profile_share(phase->time, total));
    assay_jw_end(w);
}

/* Puts phases of CPUs and GPUs, by time: two sorted lists merged. */
static void put_devices(const profile *p, assay_jw *w)
{
    const profile_operators *cpu = &p->operators[ASSAY_TIME_CPU_PHASE], *gpu = &p->operators[ASSAY_TIME_GPU_PHASE];
    assay_jw_array(w, "devices");
    for (uint64_t c = 0, g = 0; c < cpu->count || g < gpu->count;) {
        const assay_time_total *x = c < cpu->count ? &cpu->list[c] : NULL, *y = g < gpu->count ? &gpu->list[g] : NULL;
        const bool first = x && (!y || x->time > y->time || (x->time == y->time && strcmp(x->name, y->name) < 0));
        put_phase(first ? x : y, cpu->total + gpu->total, w);
        c += first;
        g += !first;
    }
    assay_jw_end(w);
}

static void put_phases(const profile *p, assay_jw *w)
{
    enum { SIGNIFICANT = 25 };
    assay_jw_object(w, "phases");
    assay_jw_array(w, "modes");
    for (size_t m = 0; m < p->modes; m++) {
        assay_jw_object(w, NULL);
        ASSAY_JW(w, "mode", p->mode[m].name, "steps", p->mode[m].steps, "time_us", p->mode[m].time);
        assay_jw_known(w, "share", p->mode[m].share);
        assay_jw_end(w);
    }
    assay_jw_end(w);
    assay_jw_i64(w, "others_us", p->others);
    assay_jw_known(w, "others_share", p->others_share);
    assay_jw_text(w, "hint", p->others_share > SIGNIFICANT ? "significant" : NULL);
    assay_jw_end(w);
}

static void put_passes(const profile *p, assay_jw *w)
{
    enum { UNBALANCED = 70 };
    const int64_t passes = p->forward + p->backward;
    const double forward = profile_share(p->forward, passes), backward = profile_share(p->backward, passes);
    const bool both = p->forward > 0 && p->backward > 0;
    assay_jw_object(w, "forward_backward");
    ASSAY_JW(w, "forward_us", p->forward, "backward_us", p->backward);
    assay_jw_known(w, "forward_share", forward);
    assay_jw_known(w, "backward_share", backward);
    assay_jw_text(w, "hint", both && (forward > UNBALANCED || backward > UNBALANCED) ? "unbalanced" : NULL);
    assay_jw_end(w);
}

static void put_framework(const profile *p, assay_jw *w)
{
    const profile_operators *general = &p->operators[ASSAY_TIME_GENERAL];
    assay_jw_line(w, 4);
    assay_jw_object(w, "framework");
    assay_jw_u64(w, "events", p->line->events);
    put_phases(p, w);
    put_passes(p, w);
    ASSAY_JW(w, "data_us", p->data_time, "initialize_us", p->initialize_time);
    put_devices(p, w);
    put_operators(p, "cpu_operators", ASSAY_TIME_CPU_OPERATOR, w);
    put_operators(p, "gpu_operators", ASSAY_TIME_GPU_OPERATOR, w);
    assay_jw_array(w, "general");
    for (uint64_t i = 0; i < general->count; i++)
        put_phase(&general->list[i], general->total, w);
    assay_jw_end(w);
    put_operators(p, "horovod", ASSAY_TIME_HOROVOD, w);
    put_operators(p, "smdataparallel", ASSAY_TIME_DATAPARALLEL, w);
    assay_jw_end(w);
}

/* ---- steps and loaders ---- */

static void put_histogram(const profile_histogram *h, assay_jw *w)
{
    assay_jw_object(w, "histogram");
    ASSAY_JW(w, "lo", h->low, "hi", h->high);
    assay_buf *out = assay_jw_value(w, "counts"); /* without blanks: there are many */
    for (int i = 0; i < PROFILE_BINS; i++)
        assay_put_format(out, "%c%" PRIu64, i ? ',' : '[', h->count[i]);
    assay_put_u8(out, ']');
    assay_jw_end(w);
}

static void put_steps(const profile *p, assay_jw *w)
{
    begin_list(w, "steps");
    for (size_t i = 0; i < p->step_rows; i++) {
        const profile_steps *row = &p->steps[i];
        const profile_spread *s = &row->spread;
        begin_row(w);
        ASSAY_JW(w, "worker", p->line->worker[row->worker].name, "mode", p->line->mode[row->mode], "n", s->n);
        const double values[] = {s->mean, row->deviation, s->max, s->p99, s->p95, s->p50, s->min};
        static const char *const keys[] = {"mean", "std", "max", "p99", "p95", "p50", "min"};
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            assay_jw_known(w, keys[k], values[k]);
        assay_jw_known(w, "limit_us", row->limited ? row->limit : NAN);
        put_time(w, "outliers", row->limited ? (int64_t)row->outliers : ASSAY_NO_TIME);
        put_histogram(&row->histogram, w);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_loaders(const profile *p, assay_jw *w)
{
    begin_list(w, "dataloading");
    for (size_t i = 0; i < p->loader_rows; i++) {
        const profile_loaders *row = &p->loaders[i];
        const bool any = row->spread.n > 0;
        begin_row(w);
        ASSAY_JW(w, "node", p->line->node[row->node], "n", row->spread.n);
        assay_jw_known(w, "p25", any ? row->spread.p25 : NAN);
        assay_jw_known(w, "p50", any ? row->spread.p50 : NAN);
        assay_jw_known(w, "p95", any ? row->spread.p95 : NAN);
        put_histogram(&row->histogram, w);
        if (row->pin_memory < 0)
            assay_jw_null(w, "pin_memory");
        else
            assay_jw_bool(w, "pin_memory", row->pin_memory);
        put_time(w, "num_workers", row->num_workers < 0 ? ASSAY_NO_TIME : row->num_workers);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static int put_summary(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_jw *w)
{
    size_t *order = NULL, count = 0;
    ASSAY_TRY(profile_order_rules(outcome, trial, &order, &count));
    begin_list(w, "summary");
    for (size_t i = 0; i < count; i++) {
        const report_rule rule = report_rule_of(outcome, trial, order[i], false);
        begin_row(w);
        ASSAY_JW(w, "name", rule.instance->name, "rule", report_kind(&rule), "status",
                 assay_verdict_status_name(rule.status), "triggered", report_findings_total(&rule), "samples",
                 profile_rule_samples(&rule));
        assay_jw_end(w);
    }
    assay_jw_end(w);
    free(order);
    return ASSAY_OK;
}

int report_put_profile_json(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_jw *w)
{
    int status = ASSAY_OK;
    profile *p = profile_new(trial, &status);
    if (!p)
        return status;
    assay_jw_line(w, 3);
    assay_jw_object(w, "profile");
    put_trial(trial, p, w);
    put_job(p, w);
    put_clocks(p, w);
    put_use(p, w);
    put_others(p, w);
    put_framework(p, w);
    put_steps(p, w);
    put_loaders(p, w);
    status = put_summary(outcome, trial, w);
    assay_jw_end(w);
    profile_free(p);
    return status;
}
