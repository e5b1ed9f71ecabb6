/* metrics.c - see metrics.h. */
#include "cli/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/nearest.h"
#include "report/model/profile.h"
#include "report/report.h"

static const char STEP[] = "step";

/* ---- reading ---- */

int cli_metrics_read(const char *location, cli_metrics *out, assay_error *err)
{
    *out = (cli_metrics){0};
    assay_problems_init(&out->problems);
    int status = assay_store_open(location, &out->store, err);
    ASSAY_THEN(status, assay_catalog_read(out->store, NULL, &out->catalog, err));
    if (status == ASSAY_OK) /* files that could not be listed */
        status = assay_problems_append(&out->problems, &out->catalog.problems);
    if (status == ASSAY_OK && assay_event_files_kinds(&out->catalog.events) & ~(unsigned)ASSAY_EVENTS_OF_RANKS)
        status = assay_timeline_read(out->store, &out->catalog.events, &out->timeline, err);
    if (status == ASSAY_OK && out->timeline)
        status = assay_timeline_name_problems(out->timeline, &out->catalog.events, &out->problems);
    return status;
}

void cli_metrics_release(cli_metrics *metrics)
{
    assay_timeline_free(metrics->timeline);
    assay_problems_release(&metrics->problems);
    assay_catalog_release(&metrics->catalog);
    assay_store_close(metrics->store);
}

/* ---- courses ---- */

typedef struct chosen {
    const cli_course_choice *choice;
    int metric;       /* assay_metric; ASSAY_METRIC_OTHER: none of them */
    const char *node; /* of the worker that is wanted; NULL: any */
    cli_course_visit *visit;
    void *context;
    uint64_t found;
} chosen;

static bool wants_node(const chosen *c, const char *node)
{
    return !c->choice->worker || strcmp(c->choice->worker, node) == 0 || (c->node && strcmp(c->node, node) == 0);
}

/* Hands out a course of `count` points, whose lists it has got and frees. */
static int hand_out(chosen *c, cli_course course, int64_t *time, double *value)
{
    int status = time && value ? ASSAY_OK : ASSAY_ENOMEM;
    course.time = time;
    course.value = value;
    if (status == ASSAY_OK && course.count > 0) {
        c->found++;
        status = c->visit(c->context, &course);
    }
    free(time);
    free(value);
    return status;
}

static int visit_samples(chosen *c, cli_course course, int metric, const assay_sample *sample, uint64_t count)
{
    int64_t *time = assay_alloc_zeroed(count, sizeof *time);
    double *value = assay_alloc_zeroed(count, sizeof *value);
    for (uint64_t i = 0; time && value && i < count; i++) {
        time[i] = sample[i].time;
        value[i] = profile_value(metric, &sample[i]);
    }
    course.count = (size_t)count;
    return hand_out(c, course, time, value);
}

static int visit_series(chosen *c, const assay_timeline *line)
{
    int status = ASSAY_OK;
    for (uint64_t i = 0; i < line->series_count && status == ASSAY_OK; i++) {
        const assay_metric_series *s = &line->series[i];
        if ((c->choice->metric && s->metric != c->metric) || !wants_node(c, line->node[s->node]))
            continue;
        const cli_course course = {.who = line->node[s->node],
                                   .metric = assay_metric_word(s->metric),
                                   .unit = s->unit,
                                   .measure = profile_metric_measure(s->metric)};
        status = visit_samples(c, course, s->metric, s->sample, s->count);
    }
    return status;
}

static int visit_others(chosen *c, const assay_timeline_data *t)
{
    int status = ASSAY_OK;
    for (size_t i = 0; i < t->others && status == ASSAY_OK; i++) {
        const assay_other_series *s = &t->other[i];
        const char *wanted = c->choice->metric;
        if ((wanted && strncmp(s->name, wanted, strlen(wanted)) != 0) || !wants_node(c, s->node))
            continue;
        status = visit_samples(c, (cli_course){s->node, s->name, "", "", NULL, NULL, 0}, ASSAY_METRIC_OTHER, s->sample,
                               s->count);
    }
    return status;
}

/* The steps [first, end), all of one worker, of one mode. */
static int visit_mode(chosen *c, const assay_timeline *line, uint64_t first, uint64_t end, uint32_t mode)
{
    int64_t *time = assay_alloc_zeroed(end - first, sizeof *time);
    double *value = assay_alloc_zeroed(end - first, sizeof *value);
    cli_course course = {.who = line->worker[line->step[first].worker].name,
                         .metric = STEP,
                         .unit = line->mode[mode],
                         .measure = "seconds"};
    for (uint64_t i = first; time && value && i < end; i++) {
        if (line->step[i].mode != mode)
            continue;
        time[course.count] = line->step[i].start;
        value[course.count++] = (double)line->step[i].duration / 1e6;
    }
    return hand_out(c, course, time, value);
}

static int visit_steps(chosen *c, const assay_timeline *line)
{
    int status = ASSAY_OK;
    for (uint64_t first = 0, end; first < line->steps && status == ASSAY_OK; first = end) {
        const assay_timeline_worker *worker = &line->worker[line->step[first].worker];
        for (end = first + 1; end < line->steps && line->step[end].worker == line->step[first].worker;)
            end++;
        const char *wanted = c->choice->worker;
        if (wanted && strcmp(wanted, worker->name) != 0 && strcmp(wanted, line->node[worker->node]) != 0)
            continue;
        for (uint32_t m = 0; m < line->modes && status == ASSAY_OK; m++)
            status = visit_mode(c, line, first, end, m);
    }
    return status;
}

/* ---- what there is ---- */

typedef struct offer {
    assay_buf names;
    const char *last;
} offer;

static int take_name(void *context, const cli_course *course)
{
    offer *o = context;
    if (o->last && strcmp(o->last, course->metric) == 0)
        return ASSAY_OK;
    assay_put_format(&o->names, "%s", o->names.size > 0 ? ", " : "");
    assay_text_put_clean(&o->names, course->metric, strlen(course->metric));
    o->last = course->metric;
    return assay_buf_status(&o->names);
}

/* The names of the first machine's metrics, and whether there are steps. */
static int fail_metric(const cli_metrics *metrics, const char *metric, assay_error *err)
{
    const assay_timeline *line = &metrics->timeline->line;
    const cli_course_choice first = {.worker = line->nodes > 0 ? line->node[0] : NULL};
    offer o = {.last = NULL};
    assay_error none = {""};
    assay_buf_init(&o.names, 1 << 16);
    int status = cli_metrics_each(metrics, &first, take_name, &o, &none);
    assay_put_u8(&o.names, '\0');
    if (status != ASSAY_ENOMEM && assay_buf_status(&o.names) == ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOTFOUND, "%s: no metric is called \"%.100s\"; there are: %.700s",
                            assay_store_location(metrics->store), metric, (const char *)o.names.data);
    else
        status = assay_fail(err, ASSAY_ENOMEM, "out of memory for the names of metrics");
    assay_buf_release(&o.names);
    return status;
}

static int fail_worker(const cli_metrics *metrics, const char *name, assay_error *err)
{
    const assay_timeline *line = &metrics->timeline->line;
    char hint[ASSAY_NEAREST_ROOM];
    assay_nearest nearest;
    assay_nearest_begin(&nearest, name, strlen(name));
    for (uint32_t i = 0; i < line->nodes; i++)
        assay_nearest_offer(&nearest, line->node[i]);
    for (uint32_t i = 0; i < line->workers; i++)
        assay_nearest_offer(&nearest, line->worker[i].name);
    return assay_fail(err, ASSAY_ENOTFOUND,
                      "%s: no machine or worker of the profiler data is called \"%.100s\"%s; `assay ls` lists them",
                      assay_store_location(metrics->store), name, assay_nearest_hint(&nearest, hint));
}

/* Is there a machine or worker of that name? *node gets the worker's machine. */
static bool find_who(const assay_timeline_data *t, const char *name, const char **node)
{
    const assay_timeline *line = &t->line;
    bool found = false;
    for (uint32_t i = 0; i < line->workers; i++)
        if (strcmp(line->worker[i].name, name) == 0) {
            *node = line->node[line->worker[i].node];
            found = true;
        }
    for (uint32_t i = 0; i < line->nodes; i++)
        found = found || strcmp(line->node[i], name) == 0;
    for (size_t i = 0; i < t->others; i++)
        found = found || strcmp(t->other[i].node, name) == 0;
    return found;
}

int cli_metrics_each(const cli_metrics *metrics, const cli_course_choice *choice, cli_course_visit *visit,
                     void *context, assay_error *err)
{
    const assay_timeline_data *t = metrics->timeline;
    chosen c = {.choice = choice, .metric = ASSAY_METRIC_OTHER, .visit = visit, .context = context};
    const char *of_ranks = assay_event_files_of_ranks(&metrics->catalog.events);
    if (!t)
        return assay_fail(err, ASSAY_ENOTFOUND, "%s: %s", assay_store_location(metrics->store),
                          of_ranks ? of_ranks : "it has no profiler data (system/, framework/)");
    if (choice->metric)
        c.metric = assay_metric_find(choice->metric);
    if (choice->worker && !find_who(t, choice->worker, &c.node))
        return fail_worker(metrics, choice->worker, err);
    const bool steps = !choice->metric || strcmp(choice->metric, STEP) == 0;
    int status = visit_series(&c, &t->line);
    if (status == ASSAY_OK && (!choice->metric || (c.metric == ASSAY_METRIC_OTHER && !steps)))
        status = visit_others(&c, t);
    if (status == ASSAY_OK && steps)
        status = visit_steps(&c, &t->line);
    if (status == ASSAY_ENOMEM)
        return assay_fail(err, status, "out of memory for the values of a metric");
    if (status == ASSAY_OK && c.found == 0 && choice->metric)
        return fail_metric(metrics, choice->metric, err);
    return status;
}

/* ---- rows of samples ---- */

static const assay_listing_column OF_SAMPLES[] = {{"time_us"}, {"worker"}, {"metric"}, {"unit"}, {"value"}};

static int put_samples(void *context, const cli_course *course)
{
    assay_listing *rows = context;
    for (size_t i = 0; i < course->count; i++) {
        assay_listing_next(rows);
        assay_listing_i64(rows, course->time[i]);
        assay_listing_text(rows, course->who);
        assay_listing_text(rows, course->metric);
        assay_listing_text(rows, course->unit);
        assay_listing_real(rows, course->value[i]);
    }
    return assay_buf_status(rows->out);
}

static int put_rows(const cli_metrics *metrics, const cli_course_choice *choice, assay_listing_form form,
                    assay_buf *out, assay_error *err)
{
    assay_listing rows;
    assay_listing_begin(&rows, form, ASSAY_LISTED(OF_SAMPLES), out);
    const int status = cli_metrics_each(metrics, choice, put_samples, &rows, err);
    assay_listing_end(&rows, 0, NULL);
    return status;
}

int cli_metrics_write(const cli_metrics *metrics, assay_listing_form form, const char *path, assay_error *err)
{
    const cli_course_choice all = {NULL, NULL};
    assay_buf out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    int status = put_rows(metrics, &all, form, &out, err);
    ASSAY_THEN(status, path ? assay_file_write(path, out.data, out.size, err) : cli_print(&out, err));
    assay_buf_release(&out);
    return status;
}

/* ---- a table with drawings ---- */

enum { DRAWN = 64 /* courses */ };

typedef struct sheet {
    const assay_draw *draw;
    assay_table table;
    assay_buf drawings;
    int64_t from, to;
    size_t courses;
} sheet;

/* What a course is of, and below it the course as wide as the terminal. Of steps the longest of each stretch is drawn:
 * a slow one counts, however many there are. */
static int draw_course(sheet *s, const cli_course *course)
{
    enum { INDENT = 4 };
    const char *what = course->unit[0] ? course->unit : course->metric;
    const unsigned columns = s->draw->columns > 2 * INDENT ? s->draw->columns - INDENT : INDENT;
    const size_t points = course->count < columns ? course->count : columns;
    double *value = assay_alloc_zeroed(points, sizeof *value);
    ASSAY_HAVE(value);
    const bool longest = strcmp(course->metric, STEP) == 0;
    for (size_t i = 0; i < points; i++) {
        const size_t from = course->count * i / points, to = course->count * (i + 1) / points;
        for (size_t k = from; k < to; k++)
            value[i] = longest ? fmax(value[i], course->value[k]) : value[i] + course->value[k] / (double)(to - from);
    }
    assay_text_put_clean(&s->drawings, course->who, strlen(course->who));
    assay_put_u8(&s->drawings, ' ');
    assay_text_put_clean(&s->drawings, what, strlen(what));
    assay_put_u8(&s->drawings, '\n');
    assay_text_put_blanks(&s->drawings, INDENT);
    assay_draw_sparkline(s->draw, value, points, columns, &s->drawings);
    assay_put_u8(&s->drawings, '\n');
    free(value);
    return ASSAY_OK;
}

static int put_course(void *context, const cli_course *course)
{
    sheet *s = context;
    double sum = 0, *sorted = assay_alloc(course->count * sizeof *sorted);
    ASSAY_HAVE(sorted);
    memcpy(sorted, course->value, course->count * sizeof *sorted);
    for (size_t i = 0; i < course->count; i++)
        sum += course->value[i];
    const profile_spread spread = profile_spread_of(sorted, course->count, sum / (double)course->count);
    free(sorted);
    assay_table_cell(&s->table, course->who);
    assay_table_cell(&s->table, course->metric);
    assay_table_cell(&s->table, course->unit);
    assay_table_cell(&s->table, course->measure);
    assay_table_format(&s->table, "%zu", course->count);
    const double values[] = {spread.mean, spread.p50, spread.p95, spread.min, spread.max};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assay_table_number(&s->table, values[i]);
    s->from = course->time[0] < s->from ? course->time[0] : s->from;
    s->to = course->time[course->count - 1] > s->to ? course->time[course->count - 1] : s->to;
    return s->draw && s->courses++ < DRAWN ? draw_course(s, course) : ASSAY_OK;
}

static int put_text(const cli_metrics *metrics, const cli_course_choice *choice, const assay_draw *draw, assay_buf *out,
                    assay_error *err)
{
    static const char *const heads[] = {"worker", "metric", "unit", "measure", "samples",
                                        "mean",   "median", "95 %", "min",     "max"};
    char from[REPORT_WHEN_ROOM], to[REPORT_WHEN_ROOM];
    sheet s = {.draw = draw, .from = INT64_MAX, .to = INT64_MIN};
    assay_buf_init(&s.drawings, ASSAY_REPORT_CEILING);
    assay_table_init(&s.table, "keelrrrrrr", heads);
    int status = cli_metrics_each(metrics, choice, put_course, &s, err);
    if (status == ASSAY_OK && s.from <= s.to) {
        char span[2 * REPORT_WHEN_ROOM + 8];
        snprintf(span, sizeof span, "%s to %s", report_time(s.from, from), report_time(s.to, to));
        assay_text_put_wrapped(out, draw, 0, NULL, span, strlen(span));
        assay_put_u8(out, '\n');
        assay_table_put(&s.table, 0, draw, out);
        assay_put_format(out, s.drawings.size > 0 ? "\n" : "");
        assay_put_bytes(out, s.drawings.data, s.drawings.size);
        if (draw && s.courses > DRAWN)
            assay_put_format(out, "    ... and %zu more; --worker and --metric choose among them\n", s.courses - DRAWN);
    }
    assay_table_release(&s.table);
    ASSAY_THEN(status, assay_buf_status(&s.drawings));
    assay_buf_release(&s.drawings);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

int cli_metrics_show(const char *location, const cli_course_choice *choice, assay_listing_form form,
                     const assay_draw *draw)
{
    cli_metrics metrics;
    assay_error err = {""};
    assay_buf out = ASSAY_BUF(ASSAY_REPORT_CEILING);
    int status = cli_metrics_read(location, &metrics, &err);
    if (status == ASSAY_OK)
        cli_warn_problems(location, &metrics.problems);
    ASSAY_THEN(status, form == ASSAY_LISTING_TEXT ? put_text(&metrics, choice, draw, &out, &err)
                                                  : put_rows(&metrics, choice, form, &out, &err));
    const int code = metrics.problems.losses > 0 ? CLI_LOSSES : CLI_DONE;
    cli_metrics_release(&metrics);
    if (status == ASSAY_OK)
        return cli_finish(&out, code);
    assay_buf_release(&out);
    return cli_fail(status, &err);
}
