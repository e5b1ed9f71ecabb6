/* report_profile_text.c - what a trial's timeline comes to, as text: use of the machines, phases, steps, operators. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/forms/forms.h"
#include "report/model/profile.h"
#include "report/text/layout.h"

enum { ROWS_SHOWN = 24, OPERATORS_SHOWN = 5, COURSE = 60 /* columns of a sparkline */ };

static double in_seconds(int64_t microseconds)
{
    return (double)microseconds / 1e6;
}

/* The course of a series in a few columns: the mean of each stretch of time that has samples. */
static void put_course(const profile *p, const profile_use *row, const assay_draw *draw, assay_buf *out)
{
    double sum[COURSE] = {0}, course[COURSE];
    uint64_t n[COURSE] = {0};
    const int64_t length = p->line->end - p->line->start + 1;
    size_t count = 0;
    for (uint64_t i = 0; i < row->series->count; i++) {
        const assay_sample *s = &row->series->sample[i];
        const int64_t at = (int64_t)((double)(s->time - p->line->start) / (double)length * COURSE);
        const int64_t column = at < 0 ? 0 : at < COURSE ? at : COURSE - 1;
        sum[column] += profile_value(row->metric, s);
        n[column]++;
    }
    for (int i = 0; i < COURSE; i++)
        if (n[i] > 0)
            course[count++] = sum[i] / (double)n[i];
    assay_draw_sparkline(draw, course, count, COURSE / 3, out);
}

static void put_use(const profile *p, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"node", "metric", "unit", "mean", "median", "95 %", "max", "course"};
    assay_table table;
    size_t shown = 0;
    if (p->uses == 0)
        return;
    assay_table_init(&table, draw ? "lllrrrro" : "lllrrrr", heads); /* courses are drawn on terminals, where they fit */
    for (; shown < p->uses && shown < ROWS_SHOWN; shown++) {
        const profile_use *row = &p->use[shown];
        assay_buf course;
        assay_buf_init(&course, 4096);
        if (draw)
            put_course(p, row, draw, &course);
        assay_table_cell(&table, p->line->node[row->node]);
        assay_table_cell(&table, profile_metric_name(row->metric));
        assay_table_cell(&table, row->unit);
        assay_table_number(&table, row->spread.mean);
        assay_table_number(&table, row->spread.p50);
        assay_table_number(&table, row->spread.p95);
        assay_table_number(&table, row->spread.max);
        if (draw)
            assay_table_cell_n(&table, (const char *)course.data, course.size);
        assay_buf_release(&course);
    }
    assay_table_put(&table, 4, draw, out);
    assay_table_release(&table);
    if (p->uses > shown)
        assay_put_format(out, "    ... and %zu more rows; report.json has all of them.\n", p->uses - shown);
}

/* Metrics that no rule knows. */
static void put_others(const profile *p, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"node", "other metric", "mean", "min", "max", "last"};
    assay_table table;
    size_t shown = 0;
    if (p->data->others == 0)
        return;
    assay_put_format(out, p->uses > 0 ? "\n" : "");
    assay_table_init(&table, "lerrrr", heads);
    for (; shown < p->data->others && shown < ROWS_SHOWN; shown++) {
        const assay_other_series *series = &p->data->other[shown];
        const profile_other values = profile_other_of(series);
        assay_table_cell(&table, series->node);
        assay_table_cell(&table, series->name);
        assay_table_number(&table, values.mean);
        assay_table_number(&table, values.least);
        assay_table_number(&table, values.most);
        assay_table_number(&table, values.last);
    }
    assay_table_put(&table, 4, draw, out);
    assay_table_release(&table);
    if (p->data->others > shown)
        assay_put_format(out, "    ... and %zu more rows; report.json has all of them.\n", p->data->others - shown);
}

static void put_phases(const profile *p, const assay_draw *draw, assay_buf *out)
{
    enum { BAR = 30 };
    if (p->line->steps == 0)
        return;
    assay_put_format(out, "\n    Time in steps, over all workers\n");
    for (size_t m = 0; m <= p->modes; m++) {
        const double share = m < p->modes ? p->mode[m].share : p->others_share;
        const size_t line = out->size;
        assay_put_format(out, "      ");
        if (m < p->modes)
            assay_text_put_clean(out, p->mode[m].name, strlen(p->mode[m].name));
        else
            assay_put_format(out, "between steps");
        assay_put_format(out, "  %.1f s, %.1f %%", in_seconds(m < p->modes ? p->mode[m].time : p->others),
                         isnan(share) ? 0 : share);
        const size_t used = out->size - line + 2, columns = assay_text_line_columns(draw);
        if (draw && columns > used) {
            assay_put_format(out, "  ");
            assay_draw_bar(draw, isnan(share) ? 0 : share / 100,
                           columns - used < BAR ? (unsigned)(columns - used) : BAR, out);
        }
        assay_put_format(out, "\n");
    }
}

static void put_steps(const profile *p, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"worker", "mode", "steps", "median s", "99 % s", "longest s", "outliers"};
    assay_table table;
    size_t shown = 0;
    if (p->step_rows == 0)
        return;
    assay_put_format(out, "\n    Durations of steps\n");
    assay_table_init(&table, "llrrrrr", heads);
    for (; shown < p->step_rows && shown < ROWS_SHOWN; shown++) {
        const profile_steps *row = &p->steps[shown];
        assay_table_cell(&table, p->line->worker[row->worker].name);
        assay_table_cell(&table, p->line->mode[row->mode]);
        assay_table_format(&table, "%" PRIu64, row->spread.n);
        assay_table_number(&table, row->spread.p50 / 1e6);
        assay_table_number(&table, row->spread.p99 / 1e6);
        assay_table_number(&table, row->spread.max / 1e6);
        if (row->limited)
            assay_table_format(&table, "%" PRIu64, row->outliers);
        else
            assay_table_cell(&table, "-");
    }
    assay_table_put(&table, 6, draw, out);
    assay_table_release(&table);
    if (p->step_rows > shown)
        assay_put_format(out, "      ... and %zu more; report.json has all of them.\n", p->step_rows - shown);
}

static void put_operators(const profile *p, const char *title, int kind, const assay_draw *draw, assay_buf *out)
{
    enum { LEAD = 16, NAME = 60 };
    const profile_operators *o = &p->operators[kind];
    const size_t columns = assay_text_line_columns(draw), room = columns - LEAD < NAME ? columns - LEAD : NAME;
    if (o->total == 0)
        return;
    assay_put_format(out, "\n    %s, %.1f s\n", title, in_seconds(o->total));
    for (uint64_t i = 0; i < o->shown && i < OPERATORS_SHOWN; i++) {
        assay_put_format(out, "      %5.1f %%  ", profile_share(o->list[i].time, o->total));
        assay_text_put_cut(out, o->list[i].name, strlen(o->list[i].name), room);
        assay_put_format(out, "\n");
    }
}

static void put_clock(const profile *p, uint32_t worker, assay_buf *line)
{
    assay_put_format(line, "Steps of ");
    assay_put_bytes(line, p->line->worker[worker].name, strlen(p->line->worker[worker].name));
    assay_put_format(line, " begin %.1f s %s than those of ", fabs(in_seconds(p->clock[worker].offset)),
                     p->clock[worker].offset > 0 ? "later" : "earlier");
    const char *first = p->line->worker[p->line->step[0].worker].name;
    assay_put_bytes(line, first, strlen(first));
    assay_put_format(line, ": the clocks differ, or the workers were not at the same step; "
                           "nothing is corrected by it.");
}

static void put_gap(const profile_gap *gap, assay_buf *line)
{
    char from[REPORT_WHEN_ROOM], to[REPORT_WHEN_ROOM];
    assay_put_bytes(line, gap->name, strlen(gap->name));
    if (strcmp(gap->kind, "no_system") == 0)
        assay_put_format(line, " has no system metrics.");
    else if (strcmp(gap->kind, "no_framework") == 0)
        assay_put_format(line, " has no timeline.");
    else
        assay_put_format(line, " has nothing from %s to %s (%s).", report_time(gap->from, from),
                         report_time(gap->to, to), gap->kind);
}

/* What is odd about the data itself: clocks, and stretches without any. */
static void put_odd(const profile *p, const assay_draw *draw, assay_buf *out)
{
    const size_t clocks = p->line->workers, gaps = p->gaps < ROWS_SHOWN ? p->gaps : ROWS_SHOWN;
    assay_buf line;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    for (size_t i = 0; i < clocks + gaps; i++) {
        if (i < clocks && !p->clock[i].skewed)
            continue;
        assay_buf_clear(&line);
        if (i < clocks)
            put_clock(p, (uint32_t)i, &line);
        else
            put_gap(&p->gap[i - clocks], &line);
        assay_text_put_wrapped(out, draw, 4, NULL, (const char *)line.data, line.size);
    }
    if (assay_buf_status(&line) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&line);
    assay_buf_release(&line);
}

int report_put_profile_text(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out)
{
    int status = ASSAY_OK;
    char from[REPORT_WHEN_ROOM], to[REPORT_WHEN_ROOM];
    profile *p = profile_new(trial, &status);
    if (!p)
        return status;
    assay_report_put_heading(out, "Profile");
    if (p->line->start != ASSAY_NO_TIME) {
        char line[256];
        snprintf(line, sizeof line, "%s to %s: %" PRIu64 " node%s, %" PRIu64 " worker%s with timelines",
                 report_time(p->line->start, from), report_time(p->line->end, to), (uint64_t)p->line->nodes,
                 assay_plural(p->line->nodes), (uint64_t)p->line->workers, assay_plural(p->line->workers));
        assay_text_put_wrapped(out, draw, 4, NULL, line, strlen(line));
        assay_put_u8(out, '\n');
    }
    put_use(p, draw, out);
    put_others(p, draw, out);
    put_phases(p, draw, out);
    put_steps(p, draw, out);
    put_operators(p, "Operators on GPUs", ASSAY_TIME_GPU_OPERATOR, draw, out);
    put_operators(p, "Operators on CPUs", ASSAY_TIME_CPU_OPERATOR, draw, out);
    put_operators(p, "Horovod", ASSAY_TIME_HOROVOD, draw, out);
    if (p->gaps > 0 || p->line->steps > 0)
        assay_put_format(out, "\n");
    put_odd(p, draw, out);
    profile_free(p);
    return status;
}
