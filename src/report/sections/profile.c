/* profile.c - where time and hardware went (model/profile.h): use of the machines, time in steps, durations with outliers,
 * operators, and what is odd about the data. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "report/model/profile.h"
#include "report/sections/sections.h"

enum { COLUMNS = 120 /* stretches of time in a picture */, LANES = 64 };

#define TABLE(d, label, columns)                                                                                       \
    doc_table(d, &(doc_table_def){NULL, label, columns, sizeof(columns) / sizeof *(columns), false})

static double in_seconds(int64_t microseconds)
{
    return (double)microseconds / 1e6;
}

/* ---- use of the machines ---- */

static void put_row_name(const profile *p, const profile_use *row, doc *d)
{
    doc_cell_name(d, p->line->node[row->node]);
    doc_cell_words(d, profile_metric_name(row->metric));
    doc_cell_name(d, row->unit);
}

/* The course of a row: the mean of each stretch of time that has samples; percent, of the network of its most. */
static size_t take_course(const profile *p, const profile_use *row, double *x, double *y)
{
    uint64_t n[COLUMNS] = {0};
    double sum[COLUMNS] = {0};
    const double length = (double)(p->line->end - p->line->start) + 1;
    const double whole = row->metric == ASSAY_METRIC_NETWORK && row->spread.max > 0 ? row->spread.max / 100 : 1;
    size_t count = 0;
    for (uint64_t i = 0; i < row->series->count; i++) {
        const assay_sample *s = &row->series->sample[i];
        const double at = (double)(s->time - p->line->start) / length * COLUMNS;
        const int column = at < 0 ? 0 : at < COLUMNS ? (int)at : COLUMNS - 1;
        sum[column] += profile_value(row->metric, s) / whole;
        n[column]++;
    }
    for (int i = 0; i < COLUMNS; i++) {
        if (n[i] == 0)
            continue;
        x[count] = i * in_seconds(p->line->end - p->line->start) / COLUMNS;
        y[count++] = sum[i] / (double)n[i];
    }
    return count;
}

/* One picture of all nodes' own rows, then of what they have of each. */
static void put_courses(const profile *p, doc *d)
{
    doc_series series[LANES];
    char name[LANES][160];
    double *room = assay_alloc_zeroed((size_t)2 * LANES * COLUMNS, sizeof *room);
    size_t lanes = 0;
    doc_fail(d, room ? ASSAY_OK : ASSAY_ENOMEM);
    for (size_t i = 0; room && i < p->uses && lanes < LANES; i++) {
        double *x = room + 2 * lanes * COLUMNS;
        const size_t points = take_course(p, &p->use[i], x, x + COLUMNS);
        const char *hint = p->use[i].unit[0] ? NULL : profile_hint(p, p->use[i].node);
        snprintf(name[lanes], sizeof name[lanes], "%.60s %s%s%.20s%s%s", p->line->node[p->use[i].node],
                 profile_metric_name(p->use[i].metric), p->use[i].unit[0] ? " " : "", p->use[i].unit,
                 hint && i == 0 ? ", " : "", hint && i == 0 ? hint : "");
        series[lanes] = (doc_series){name[lanes], x, x + COLUMNS, points, 0};
        lanes++;
    }
    doc_only(d, DOC_HTML);
    if (lanes > 0)
        doc_put_chart(d, NULL,
                      &(doc_chart){.kind = DOC_HEAT,
                                   .title = "Use of the machines over time",
                                   .x_label = "seconds",
                                   .y_label = "percent, of the network of its most",
                                   .x_least = 0,
                                   .x_most = in_seconds(p->line->end - p->line->start),
                                   .series = series,
                                   .count = lanes});
    free(room);
}

static void put_use(const profile *p, doc *d)
{
    static const doc_column columns[] = {
        {"node", DOC_OF_NAMES, NULL, DOC_KEEP},   {"metric", DOC_OF_WORDS, NULL, DOC_KEEP},
        {"unit", DOC_OF_NAMES, NULL, DOC_KEEP},   {"mean", DOC_OF_REALS, NULL, DOC_KEEP},
        {"median", DOC_OF_REALS, NULL, DOC_KEEP}, {"95 %", DOC_OF_REALS, NULL, DOC_KEEP},
        {"max", DOC_OF_REALS, NULL, DOC_KEEP}};
    if (p->uses == 0)
        return;
    put_courses(p, d);
    TABLE(d, "rows", columns);
    for (size_t i = 0; i < p->uses; i++) {
        doc_row(d, DOC_PLAIN);
        put_row_name(p, &p->use[i], d);
        doc_cell_real(d, p->use[i].spread.mean);
        doc_cell_real(d, p->use[i].spread.p50);
        doc_cell_real(d, p->use[i].spread.p95);
        doc_cell_real(d, p->use[i].spread.max);
    }
}

/* Metrics that no rule knows. */
static void put_others(const profile *p, doc *d)
{
    static const doc_column columns[] = {
        {"node", DOC_OF_NAMES, NULL, DOC_KEEP},     {"other metric", DOC_OF_NAMES, NULL, DOC_CUT},
        {"samples", DOC_OF_COUNTS, NULL, DOC_KEEP}, {"mean", DOC_OF_REALS, NULL, DOC_KEEP},
        {"min", DOC_OF_REALS, NULL, DOC_KEEP},      {"max", DOC_OF_REALS, NULL, DOC_KEEP},
        {"last", DOC_OF_REALS, NULL, DOC_KEEP}};
    if (p->data->others == 0)
        return;
    TABLE(d, "rows", columns);
    for (size_t i = 0; i < p->data->others; i++) {
        const assay_other_series *series = &p->data->other[i];
        const profile_other of = profile_other_of(series);
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, series->node);
        doc_cell_name(d, series->name);
        doc_cell_count(d, series->count);
        doc_cell_real(d, of.mean);
        doc_cell_real(d, of.least);
        doc_cell_real(d, of.most);
        doc_cell_real(d, of.last);
    }
}

/* ---- steps and operators ---- */

static const doc_column SHARES[] = {{"what", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                    {"time", DOC_OF_SECONDS, NULL, DOC_KEEP},
                                    {"share", DOC_OF_SHARES, NULL, DOC_KEEP}};

static void put_share(const char *name, int64_t time, double percent, doc *d)
{
    doc_row(d, DOC_PLAIN);
    doc_cell_name(d, name);
    doc_cell_real(d, in_seconds(time));
    doc_cell_real(d, isnan(percent) ? 0 : percent / 100);
}

static void put_phases(const profile *p, doc *d)
{
    if (p->line->steps == 0)
        return;
    doc_section(d, NULL, "Time in steps, over all workers");
    TABLE(d, "phases", SHARES);
    for (size_t m = 0; m < p->modes; m++)
        put_share(p->mode[m].name, p->mode[m].time, p->mode[m].share, d);
    put_share("between steps", p->others, p->others_share, d);
    doc_end(d);
}

static void put_steps(const profile *p, doc *d)
{
    static const doc_column columns[] = {
        {"worker", DOC_OF_NAMES, NULL, DOC_KEEP},  {"mode", DOC_OF_NAMES, NULL, DOC_KEEP},
        {"steps", DOC_OF_COUNTS, NULL, DOC_KEEP},  {"median", DOC_OF_SECONDS, NULL, DOC_KEEP},
        {"99 %", DOC_OF_SECONDS, NULL, DOC_KEEP},  {"longest", DOC_OF_SECONDS, NULL, DOC_KEEP},
        {"limit", DOC_OF_SECONDS, NULL, DOC_KEEP}, {"outliers", DOC_OF_COUNTS, NULL, DOC_KEEP}};
    if (p->step_rows == 0)
        return;
    doc_section(d, NULL, "Durations of steps");
    TABLE(d, "workers", columns);
    for (size_t i = 0; i < p->step_rows; i++) {
        const profile_steps *row = &p->steps[i];
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, p->line->worker[row->worker].name);
        doc_cell_name(d, p->line->mode[row->mode]);
        doc_cell_count(d, row->spread.n);
        doc_cell_real(d, row->spread.p50 / 1e6);
        doc_cell_real(d, row->spread.p99 / 1e6);
        doc_cell_real(d, row->spread.max / 1e6);
        if (!row->limited)
            continue;
        doc_cell_real(d, row->limit / 1e6);
        doc_cell_count(d, row->outliers);
    }
    doc_note(d);
    doc_put(d, "An outlier is longer than the mean by three standard deviations.");
    doc_end(d);
}

static void put_operators(const profile *p, const char *title, int kind, doc *d)
{
    const profile_operators *o = &p->operators[kind];
    if (o->total == 0)
        return;
    doc_section(d, NULL, title);
    doc_put(d, ", %.1f s", in_seconds(o->total));
    TABLE(d, "operators", SHARES);
    for (uint64_t i = 0; i < o->shown; i++)
        put_share(o->list[i].name, o->list[i].time, profile_share(o->list[i].time, o->total), d);
    doc_left_out(d, o->count - o->shown);
    doc_end(d);
}

/* ---- what is odd about the data itself: clocks, and stretches without any ---- */

static void put_clock(const profile *p, uint32_t worker, doc *d)
{
    doc_paragraph(d);
    doc_put(d, "Steps of ");
    doc_put_name(d, p->line->worker[worker].name);
    doc_put(d, " begin %.1f s %s than those of ", fabs(in_seconds(p->clock[worker].offset)),
            p->clock[worker].offset > 0 ? "later" : "earlier");
    doc_put_name(d, p->line->worker[p->line->step[0].worker].name);
    doc_put(d, ": the clocks differ, or the workers were not at the same step; nothing is corrected by it.");
}

static void put_gap(const profile_gap *gap, doc *d)
{
    assay_buf words = ASSAY_BUF(ASSAY_REPORT_CEILING);
    profile_put_gap_words(gap, &words);
    doc_item(d);
    doc_put_name(d, gap->name);
    doc_put_text(d, (const char *)words.data, words.size);
    doc_put(d, " (%s).", gap->kind);
    doc_fail(d, assay_buf_status(&words));
    assay_buf_release(&words);
}

static void put_odd(const profile *p, doc *d)
{
    for (size_t i = 0; i < p->line->workers; i++)
        if (p->clock[i].skewed)
            put_clock(p, (uint32_t)i, d);
    if (p->gaps > 0)
        doc_list(d, false);
    for (size_t i = 0; i < p->gaps; i++)
        put_gap(&p->gap[i], d);
}

static void put_rules(const assay_report *report, const assay_trial_outcome *trial, doc *d)
{
    static const doc_column columns[] = {{"rule", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                         {"description", DOC_OF_WORDS, NULL, DOC_KEEP},
                                         {"recommendation", DOC_OF_WORDS, NULL, DOC_KEEP},
                                         {"triggered", DOC_OF_COUNTS, NULL, DOC_KEEP},
                                         {"values", DOC_OF_COUNTS, NULL, DOC_KEEP}};
    size_t *order = NULL, count = 0;
    const int status = profile_order_rules(report->outcome, trial, &order, &count);
    doc_fail(d, status);
    if (status == ASSAY_OK && count > 0) {
        doc_only(d, DOC_HTML);
        doc_details(d, NULL);
        doc_put(d, "Rules over profiler data, those that triggered most first");
        TABLE(d, "rules", columns);
        for (size_t i = 0; i < count; i++) {
            const report_rule rule = report_rule_of(report->outcome, trial, order[i], false);
            doc_row(d, report_findings_total(&rule) ? DOC_BAD : DOC_PLAIN);
            doc_cell_name(d, rule.instance->name);
            doc_cell_words(d, rule.instance->ops->summary);
            doc_cell_words(d, rule.instance->ops->advice);
            doc_cell_count(d, report_findings_total(&rule));
            doc_cell_count(d, profile_rule_samples(&rule));
        }
        doc_end(d);
    }
    if (status == ASSAY_OK)
        free(order);
}

static void put_trial(const assay_report *report, size_t t, doc *d)
{
    const assay_trial_outcome *trial = &report->outcome->trials[t];
    char from[REPORT_WHEN_ROOM], to[REPORT_WHEN_ROOM];
    int status = ASSAY_OK;
    profile *p = profile_new(trial, &status);
    doc_fail(d, status);
    if (!p)
        return;
    sections_begin_trial(report, d, t);
    if (p->line->start != ASSAY_NO_TIME) {
        doc_paragraph(d);
        doc_put(d, "%s to %s: %" PRIu64 " node%s, %" PRIu64 " worker%s with timelines",
                report_time(p->line->start, from), report_time(p->line->end, to), (uint64_t)p->line->nodes,
                assay_plural(p->line->nodes), (uint64_t)p->line->workers, assay_plural(p->line->workers));
    }
    put_use(p, d);
    put_others(p, d);
    put_phases(p, d);
    put_steps(p, d);
    put_operators(p, "Operators on GPUs", ASSAY_TIME_GPU_OPERATOR, d);
    put_operators(p, "Operators on CPUs", ASSAY_TIME_CPU_OPERATOR, d);
    put_operators(p, "Horovod", ASSAY_TIME_HOROVOD, d);
    put_odd(p, d);
    put_rules(report, trial, d);
    sections_end_trial(report, d);
    profile_free(p);
}

void section_profile(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    bool any = false;
    for (size_t t = 0; t < outcome->trial_count; t++)
        any = any || (sections_read(&outcome->trials[t]) && outcome->trials[t].info->timeline);
    if (!any)
        return;
    doc_only(d, DOC_TEXT | DOC_HTML | DOC_JSON);
    doc_section(d, "profile", "Profile");
    doc_fold(d);
    for (size_t t = 0; t < outcome->trial_count; t++)
        if (sections_read(&outcome->trials[t]) && outcome->trials[t].info->timeline && sections_shows(report, t))
            put_trial(report, t, d);
    doc_end(d);
}
