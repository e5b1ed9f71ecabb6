/* report_profile.c - the member `profile` of a trial in report.json: what its timeline comes to (docs/profiler.md). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/forms/forms.h"
#include "report/model/profile.h"

static void put_name(const char *key, const char *text, assay_buf *out)
{
    assay_put_format(out, "\"%s\": ", key);
    assay_json_put_text(out, text);
}

static void put_integer(const char *key, int64_t value, assay_buf *out)
{
    if (value == ASSAY_NO_TIME)
        assay_put_format(out, ", \"%s\": null", key);
    else
        assay_put_format(out, ", \"%s\": %" PRId64, key, value);
}

/* null for what is not known. */
static void put_real(const char *key, double value, assay_buf *out)
{
    assay_put_format(out, ", \"%s\": ", key);
    if (isnan(value))
        assay_put_format(out, "null");
    else
        assay_json_put_number(out, value);
}

static void put_hint(const char *key, const char *hint, assay_buf *out)
{
    assay_put_format(out, hint ? ", \"%s\": \"%s\"" : ", \"%s\": null", key, hint);
}

static const char *comma(size_t i)
{
    return i ? ", " : "";
}

/* ---- the trial ---- */

static void put_problems(const assay_trial_outcome *trial, const profile *p, assay_buf *out)
{
    assay_put_format(out, ", \"problems\": [");
    for (size_t i = 0; i < p->data->problems; i++) {
        const assay_timeline_problem *one = &p->data->problem[i];
        assay_put_format(out, "%s{\"kind\": \"%s\", ", comma(i), assay_event_problem_word((int)one->kind));
        put_name("file", trial->catalog.events.list[one->file].path, out);
        assay_put_format(out, ", \"line\": %" PRIu64 "}", one->line);
    }
    assay_put_format(out, "], \"incomplete\": [");
    for (size_t i = 0; i < p->gaps; i++) {
        const profile_gap *gap = &p->gap[i];
        assay_put_format(out, "%s{", comma(i));
        put_name(gap->of_worker ? "worker" : "node", gap->name, out);
        assay_put_format(out, ", \"kind\": \"%s\", \"from_us\": %" PRId64 ", \"to_us\": %" PRId64 "}", gap->kind,
                         gap->from, gap->to);
    }
    assay_put_format(out, "]");
}

static void put_trial(const assay_trial_outcome *trial, const profile *p, assay_buf *out)
{
    const assay_timeline *line = p->line;
    bool any = false;
    assay_put_format(out,
                     "\"trial\": {\"system_files\": %" PRIu64 ", \"framework_files\": %" PRIu64
                     ", \"used_samples\": %" PRIu64 ", \"other_samples\": %" PRIu64 ", \"duplicates\": %" PRIu64
                     ", \"events\": %" PRIu64 ", \"events_by_kind\": {",
                     p->data->system_files, p->data->framework_files, line->samples, line->other_samples,
                     line->duplicates, line->events);
    for (int i = 0; i < ASSAY_EVENT_KINDS; i++)
        if (p->data->events_by_kind[i] > 0) {
            assay_put_format(out, "%s\"%s\": %" PRIu64, comma(any), assay_event_kind_name(i),
                             p->data->events_by_kind[i]);
            any = true;
        }
    assay_put_format(out, "}, \"other_events\": %" PRIu64 ", \"unmatched\": %" PRIu64, line->other_events,
                     line->unmatched);
    put_integer("t0_us", line->origin, out);
    assay_put_format(out, ", \"nodes\": [");
    for (uint32_t i = 0; i < line->nodes; i++) {
        assay_put_format(out, "%s", comma(i));
        assay_json_put_text(out, line->node[i]);
    }
    assay_put_format(out, "], \"workers\": [");
    for (uint32_t i = 0; i < line->workers; i++) {
        assay_put_format(out, "%s{", comma(i));
        put_name("worker", line->worker[i].name, out);
        assay_put_format(out, ", ");
        put_name("node", line->node[line->worker[i].node], out);
        assay_put_format(out, "}");
    }
    assay_put_format(out, "]");
    put_problems(trial, p, out);
    assay_put_format(out, "}");
}

static void put_job(const profile *p, assay_buf *out)
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
    assay_put_format(out, ",\n    \"job\": {\"ended\": %s", line->ended ? "true" : "false");
    put_integer("start_us", line->start, out);
    put_integer("end_us", line->end, out);
    put_integer("duration_us", duration, out);
    put_integer("loop_start_us", p->loop_start, out);
    put_integer("loop_end_us", p->loop_end, out);
    for (int i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "%s_us", names[i]);
        put_integer(key, part[i], out);
        snprintf(key, sizeof key, "%s_share", names[i]);
        put_real(key, looped ? profile_share(part[i], duration) : NAN, out);
    }
    assay_put_format(out, "}");
}

static void put_clocks(const profile *p, assay_buf *out)
{
    assay_put_format(out, ",\n    \"sampling\": [");
    for (size_t i = 0; i < p->samplings; i++) {
        const profile_sampling *s = &p->sampling[i];
        assay_put_format(out, "%s{", comma(i));
        put_name("node", p->line->node[s->node], out);
        assay_put_format(out, ", \"first_us\": %" PRId64 ", \"last_us\": %" PRId64 ", \"anchors\": %" PRIu64, s->first,
                         s->last, s->anchors);
        put_integer("interval_us", s->interval, out);
        assay_put_format(out, "}");
    }
    assay_put_format(out, "],\n    \"clock\": [");
    for (uint32_t i = 0; i < p->line->workers; i++) {
        assay_put_format(out, "%s{", comma(i));
        put_name("worker", p->line->worker[i].name, out);
        put_integer("offset_us", p->clock[i].known ? p->clock[i].offset : ASSAY_NO_TIME, out);
        assay_put_format(out, ", \"skewed\": %s}", p->clock[i].skewed ? "true" : "false");
    }
    assay_put_format(out, "]");
}

/* ---- use of the machines ---- */

static void put_use(const profile *p, assay_buf *out)
{
    assay_put_format(out, ",\n    \"system\": [");
    for (size_t i = 0; i < p->uses; i++) {
        const profile_use *row = &p->use[i];
        const profile_spread *s = &row->spread;
        assay_put_format(out, "%s\n     {", i ? "," : "");
        put_name("node", p->line->node[row->node], out);
        assay_put_format(out, ", \"metric\": \"%s\", ", profile_metric_name(row->metric));
        put_name("unit", row->unit, out);
        assay_put_format(out, ", \"measure\": \"%s\", \"n\": %" PRIu64, profile_metric_measure(row->metric), s->n);
        const double values[] = {s->mean, s->max, s->p99, s->p95,     s->p75,    s->p50,
                                 s->p25,  s->p05, s->min, row->lower, row->upper};
        static const char *const keys[] = {"mean", "max", "p99", "p95",   "p75",  "p50",
                                           "p25",  "p05", "min", "lower", "upper"};
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            put_real(keys[k], values[k], out);
        assay_put_format(out, "}");
    }
    assay_put_format(out, "],\n    \"hints\": [");
    bool any = false;
    for (uint32_t node = 0; node < p->line->nodes; node++) {
        const char *hint = profile_hint(p, node);
        if (!hint)
            continue;
        assay_put_format(out, "%s{", comma(any));
        put_name("node", p->line->node[node], out);
        put_hint("hint", hint, out);
        assay_put_format(out, "}");
        any = true;
    }
    assay_put_format(out, "]");
}

/* Metrics that no rule knows. */
static void put_others(const profile *p, assay_buf *out)
{
    assay_put_format(out, ",\n    \"other\": [");
    for (size_t i = 0; i < p->data->others; i++) {
        const assay_other_series *series = &p->data->other[i];
        const profile_other values = profile_other_of(series);
        assay_put_format(out, "%s\n     {", i ? "," : "");
        put_name("node", series->node, out);
        assay_put_format(out, ", ");
        put_name("name", series->name, out);
        assay_put_format(out, ", \"n\": %" PRIu64, series->count);
        put_real("mean", values.mean, out);
        put_real("max", values.most, out);
        put_real("min", values.least, out);
        put_real("last", values.last, out);
        assay_put_format(out, "}");
    }
    assay_put_format(out, "]");
}

/* ---- the framework ---- */

static void put_operators(const profile *p, const char *key, int kind, assay_buf *out)
{
    const profile_operators *o = &p->operators[kind];
    assay_put_format(out, ", \"%s\": {\"total_us\": %" PRId64 ", \"top\": [", key, o->total);
    for (uint64_t i = 0; i < o->shown; i++) {
        assay_put_format(out, "%s{", comma(i));
        put_name("name", o->list[i].name, out);
        assay_put_format(out, ", \"time_us\": %" PRId64, o->list[i].time);
        put_real("share", profile_share(o->list[i].time, o->total), out);
        put_real("shown", profile_share(o->list[i].time, o->shown_total), out);
        assay_put_format(out, "}");
    }
    assay_put_format(out, "], \"rest\": {\"count\": %" PRIu64 ", \"time_us\": %" PRId64 "}}", o->count - o->shown,
                     o->total - o->shown_total);
}

/* Phases of one kind, with their share of `total`. */
static void put_phases(const profile_operators *o, int64_t total, bool first, assay_buf *out)
{
    for (uint64_t i = 0; i < o->count; i++) {
        assay_put_format(out, first && i == 0 ? "{" : ", {");
        put_name("phase", o->list[i].name, out);
        assay_put_format(out, ", \"time_us\": %" PRId64, o->list[i].time);
        put_real("share", profile_share(o->list[i].time, total), out);
        assay_put_format(out, "}");
    }
}

/* Phases of CPUs and GPUs, by time. */
static void put_devices(const profile *p, assay_buf *out)
{
    const profile_operators *cpu = &p->operators[ASSAY_TIME_CPU_PHASE], *gpu = &p->operators[ASSAY_TIME_GPU_PHASE];
    const int64_t total = cpu->total + gpu->total;
    assay_put_format(out, ", \"devices\": [");
    for (uint64_t c = 0, g = 0; c < cpu->count || g < gpu->count;) {
        const assay_time_total *x = c < cpu->count ? &cpu->list[c] : NULL, *y = g < gpu->count ? &gpu->list[g] : NULL;
        const bool first = x && (!y || x->time > y->time || (x->time == y->time && strcmp(x->name, y->name) < 0));
        const profile_operators one = {.list = first ? x : y, .count = 1};
        put_phases(&one, total, c + g == 0, out);
        c += first;
        g += !first;
    }
    assay_put_format(out, "]");
}

static void put_framework(const profile *p, assay_buf *out)
{
    enum { SIGNIFICANT = 25, UNBALANCED = 70 };
    const int64_t passes = p->forward + p->backward;
    const double forward = profile_share(p->forward, passes), backward = profile_share(p->backward, passes);
    assay_put_format(out, ",\n    \"framework\": {\"events\": %" PRIu64 ", \"phases\": {\"modes\": [", p->line->events);
    for (size_t m = 0; m < p->modes; m++) {
        assay_put_format(out, "%s{", comma(m));
        put_name("mode", p->mode[m].name, out);
        assay_put_format(out, ", \"steps\": %" PRIu64 ", \"time_us\": %" PRId64, p->mode[m].steps, p->mode[m].time);
        put_real("share", p->mode[m].share, out);
        assay_put_format(out, "}");
    }
    assay_put_format(out, "], \"others_us\": %" PRId64, p->others);
    put_real("others_share", p->others_share, out);
    put_hint("hint", p->others_share > SIGNIFICANT ? "significant" : NULL, out);
    assay_put_format(out, "}, \"forward_backward\": {\"forward_us\": %" PRId64 ", \"backward_us\": %" PRId64,
                     p->forward, p->backward);
    put_real("forward_share", forward, out);
    put_real("backward_share", backward, out);
    const bool both = p->forward > 0 && p->backward > 0;
    put_hint("hint", both && (forward > UNBALANCED || backward > UNBALANCED) ? "unbalanced" : NULL, out);
    assay_put_format(out, "}, \"data_us\": %" PRId64 ", \"initialize_us\": %" PRId64, p->data_time, p->initialize_time);
    put_devices(p, out);
    put_operators(p, "cpu_operators", ASSAY_TIME_CPU_OPERATOR, out);
    put_operators(p, "gpu_operators", ASSAY_TIME_GPU_OPERATOR, out);
    assay_put_format(out, ", \"general\": [");
    put_phases(&p->operators[ASSAY_TIME_GENERAL], p->operators[ASSAY_TIME_GENERAL].total, true, out);
    assay_put_format(out, "]");
    put_operators(p, "horovod", ASSAY_TIME_HOROVOD, out);
    put_operators(p, "smdataparallel", ASSAY_TIME_DATAPARALLEL, out);
    assay_put_format(out, "}");
}

/* ---- steps and loaders ---- */

static void put_histogram(const profile_histogram *h, assay_buf *out)
{
    assay_put_format(out, ", \"histogram\": {\"lo\": %" PRId64 ", \"hi\": %" PRId64 ", \"counts\": [", h->low, h->high);
    for (int i = 0; i < PROFILE_BINS; i++)
        assay_put_format(out, "%s%" PRIu64, i ? "," : "", h->count[i]);
    assay_put_format(out, "]}");
}

static void put_steps(const profile *p, assay_buf *out)
{
    assay_put_format(out, ",\n    \"steps\": [");
    for (size_t i = 0; i < p->step_rows; i++) {
        const profile_steps *row = &p->steps[i];
        const profile_spread *s = &row->spread;
        assay_put_format(out, "%s\n     {", i ? "," : "");
        put_name("worker", p->line->worker[row->worker].name, out);
        assay_put_format(out, ", ");
        put_name("mode", p->line->mode[row->mode], out);
        assay_put_format(out, ", \"n\": %" PRIu64, s->n);
        const double values[] = {s->mean, row->deviation, s->max, s->p99, s->p95, s->p50, s->min};
        static const char *const keys[] = {"mean", "std", "max", "p99", "p95", "p50", "min"};
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            put_real(keys[k], values[k], out);
        put_real("limit_us", row->limited ? row->limit : NAN, out);
        put_integer("outliers", row->limited ? (int64_t)row->outliers : ASSAY_NO_TIME, out);
        put_histogram(&row->histogram, out);
        assay_put_format(out, "}");
    }
    assay_put_format(out, "],\n    \"dataloading\": [");
    for (size_t i = 0; i < p->loader_rows; i++) {
        const profile_loaders *row = &p->loaders[i];
        const bool any = row->spread.n > 0;
        assay_put_format(out, "%s\n     {", i ? "," : "");
        put_name("node", p->line->node[row->node], out);
        assay_put_format(out, ", \"n\": %" PRIu64, row->spread.n);
        put_real("p25", any ? row->spread.p25 : NAN, out);
        put_real("p50", any ? row->spread.p50 : NAN, out);
        put_real("p95", any ? row->spread.p95 : NAN, out);
        put_histogram(&row->histogram, out);
        assay_put_format(out, ", \"pin_memory\": %s",
                         row->pin_memory < 0 ? "null"
                         : row->pin_memory   ? "true"
                                             : "false");
        put_integer("num_workers", row->num_workers < 0 ? ASSAY_NO_TIME : row->num_workers, out);
        assay_put_format(out, "}");
    }
    assay_put_format(out, "]");
}

static int put_summary(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out)
{
    size_t *order = NULL, count = 0;
    int status = profile_order_rules(outcome, trial, &order, &count);
    if (status != ASSAY_OK)
        return status;
    assay_put_format(out, ",\n    \"summary\": [");
    for (size_t i = 0; i < count; i++) {
        const report_rule rule = report_rule_of(outcome, trial, order[i], false);
        assay_put_format(out, "%s\n     {", i ? "," : "");
        put_name("name", rule.instance->name, out);
        assay_put_format(out, ", ");
        put_name("rule", report_kind(&rule), out);
        assay_put_format(out, ", \"status\": \"%s\", \"triggered\": %" PRIu64 ", \"samples\": %" PRIu64 "}",
                         assay_verdict_status_name(rule.status), report_findings_total(&rule),
                         profile_rule_samples(&rule));
    }
    assay_put_format(out, "]");
    free(order);
    return ASSAY_OK;
}

int report_put_profile_json(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out)
{
    int status = ASSAY_OK;
    profile *p = profile_new(trial, &status);
    if (!p)
        return status;
    assay_put_format(out, ",\n   \"profile\": {");
    put_trial(trial, p, out);
    put_job(p, out);
    put_clocks(p, out);
    put_use(p, out);
    put_others(p, out);
    put_framework(p, out);
    put_steps(p, out);
    status = put_summary(outcome, trial, out);
    assay_put_format(out, "}");
    profile_free(p);
    return status;
}
