/* ls_events.c - the profiler data of a trial in its overview: who wrote which files, and the metrics of each machine,
 * as its largest file has them. How many others are not read is said. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "cli/overview.h"
#include "report/model/report_model.h"
#include "report/report.h"
#include "report/text/listing.h"

static int add_writer(overview *o, assay_dict *known, const assay_event_file *file)
{
    char name[ASSAY_TIMELINE_NAME_ROOM];
    const char kind = (char)file->kind;
    assay_buf key = ASSAY_BUF(1 << 16);
    assay_put_u8(&key, (uint8_t)kind);
    assay_put_bytes(&key, file->source, strlen(file->source));
    int status = assay_buf_status(&key);
    const uint32_t id = status == ASSAY_OK ? assay_dict_add(known, (const char *)key.data, key.size) : ASSAY_NO_ID;
    assay_buf_release(&key);
    if (id == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    overview_writer *w = &o->writer[id];
    if (id == o->writers) {
        if (file->kind != ASSAY_EVENTS_SYSTEM)
            assay_timeline_worker_name(file->source, name);
        w->name = assay_copy_text(file->kind == ASSAY_EVENTS_SYSTEM ? file->source : name);
        ASSAY_HAVE(w->name);
        *w = (overview_writer){.name = w->name, .largest = file, .from = INT64_MAX, .to = INT64_MIN};
        o->writers++;
    }
    w->largest = file->size > w->largest->size ? file : w->largest;
    w->files++;
    w->unfinished += file->unfinished;
    w->bytes += file->size;
    if (!file->unfinished) {
        w->from = file->time < w->from ? file->time : w->from;
        w->to = file->time > w->to ? file->time : w->to;
    }
    return ASSAY_OK;
}

/* Reads the largest file of each machine. */
static int read_samples(overview *o, assay_error *err)
{
    assay_event_files some = {.list = assay_alloc_zeroed(o->writers, sizeof *some.list)};
    ASSAY_HAVE(some.list);
    for (size_t i = 0; i < o->writers; i++)
        if (o->writer[i].largest->kind == ASSAY_EVENTS_SYSTEM)
            some.list[some.count++] = *o->writer[i].largest; /* its texts stay the catalog's */
    int status = some.count > 0 ? assay_timeline_read(o->files->store, &some, &o->sampled, err) : ASSAY_OK;
    if (status == ASSAY_OK && o->sampled)
        status = assay_timeline_name_problems(o->sampled, &some, &o->files->problems);
    free(some.list);
    return status;
}

int overview_read_events(overview *o, assay_error *err)
{
    const assay_event_files *files = &o->files->catalog.events;
    if (files->count == 0)
        return ASSAY_OK;
    assay_dict *known = assay_dict_new();
    o->writer = assay_alloc_zeroed(files->count, sizeof *o->writer);
    int status = known && o->writer ? ASSAY_OK : ASSAY_ENOMEM;
    for (size_t i = 0; i < files->count && status == ASSAY_OK; i++)
        status = add_writer(o, known, &files->list[i]);
    assay_dict_free(known);
    return status == ASSAY_OK ? read_samples(o, err) : status;
}

void overview_release_events(overview *o)
{
    for (size_t i = 0; i < o->writers; i++)
        free(o->writer[i].name);
    free(o->writer);
    assay_timeline_free(o->sampled);
}

/* ---- text ---- */

/* "cpu, gpu (8), IOPS nvme0": the metrics of a machine, and how many GPUs have each. */
static void put_metrics(const overview *o, const char *node, assay_buf *out)
{
    const assay_timeline *line = &o->sampled->line;
    for (uint64_t i = 0; i < line->series_count; i++) {
        const assay_metric_series *s = &line->series[i];
        size_t units = 0;
        if (s->unit[0] || strcmp(line->node[s->node], node) != 0)
            continue;
        while (i + units + 1 < line->series_count && line->series[i + units + 1].unit[0])
            units++;
        assay_put_format(out, "%s%s", out->size > 0 ? ", " : "", assay_metric_word(s->metric));
        if (units > 0)
            assay_put_format(out, " (%zu)", units);
    }
    for (size_t i = 0; i < o->sampled->others; i++) {
        if (strcmp(o->sampled->other[i].node, node) != 0)
            continue;
        assay_put_format(out, "%s", out->size > 0 ? ", " : "");
        assay_put_bytes(out, o->sampled->other[i].name, strlen(o->sampled->other[i].name));
    }
}

static void put_when(const overview_writer *w, int64_t time, assay_listing *rows)
{
    char room[REPORT_WHEN_ROOM];
    if (w->largest->kind == ASSAY_EVENTS_TRACE ||
        w->largest->kind == ASSAY_EVENTS_DUMP) /* no name of theirs has a time */
        assay_listing_none(rows);
    else
        assay_listing_text(rows, w->from <= w->to ? report_time(time, room) : "open");
}

static void put_metrics_json(const overview *o, const char *node, assay_buf *out);

static const assay_listing_column COLUMNS[] = {{"worker", "worker", 'k'},
                                               {"data", "data", 'l'},
                                               {"files", "files", 'r'},
                                               {"unfinished"},
                                               {"bytes"},
                                               {NULL, "size", 'r'},
                                               {NULL, "first file", 'l', "-"},
                                               {NULL, "last file", 'l', "-"},
                                               {"first_us", .optional = true},
                                               {"last_us", .optional = true},
                                               {"metrics"}};

static void put_writers(const overview *o, assay_listing *rows)
{
    for (size_t i = 0; i < o->writers; i++) {
        const overview_writer *w = &o->writer[i];
        assay_buf size = ASSAY_BUF(256);
        assay_text_put_bytes(&size, w->bytes);
        assay_listing_next(rows);
        assay_listing_text(rows, w->name);
        assay_listing_text(rows, assay_event_kind_name(w->largest->kind));
        assay_listing_u64(rows, w->files);
        assay_listing_u64(rows, w->unfinished);
        assay_listing_u64(rows, w->bytes);
        assay_listing_take(rows, &size);
        put_when(w, w->from, rows);
        put_when(w, w->to, rows);
        for (int k = 0; k < 2; k++) {
            if (w->from <= w->to)
                assay_listing_i64(rows, k == 0 ? w->from : w->to);
            else
                assay_listing_none(rows);
        }
        assay_buf *out = assay_listing_value(rows);
        if (out)
            put_metrics_json(o, w->largest->kind == ASSAY_EVENTS_SYSTEM ? w->name : NULL, out);
    }
}

/* How many files of machines nobody looked into. */
static void put_unread(const overview *o, const assay_draw *draw, assay_buf *out)
{
    size_t files = 0;
    assay_buf line = ASSAY_BUF(256);
    for (size_t i = 0; i < o->writers; i++)
        files += o->writer[i].largest->kind == ASSAY_EVENTS_SYSTEM ? o->writer[i].files - 1 : 0;
    if (files > 0) {
        assay_put_format(&line, "read of each machine is its largest file; %zu other%s not: `assay run` reads all",
                         files, files == 1 ? " is" : "s are");
        assay_put_format(out, "\n");
        assay_text_put_wrapped(out, draw, 0, NULL, (const char *)line.data, line.size);
    }
    assay_buf_release(&line);
}

/* A line for each list of metrics, with the machines that have it. */
static void put_metric_lines(const overview *o, const assay_draw *draw, assay_buf *out)
{
    assay_buf line = ASSAY_BUF(ASSAY_REPORT_CEILING), last = ASSAY_BUF(ASSAY_REPORT_CEILING),
              names = ASSAY_BUF(ASSAY_REPORT_CEILING);
    for (size_t i = 0; i <= o->writers; i++) {
        const bool end = i == o->writers || o->writer[i].largest->kind != ASSAY_EVENTS_SYSTEM;
        assay_buf_clear(&line);
        if (!end)
            put_metrics(o, o->writer[i].name, &line);
        const bool same = line.size == last.size && (line.size == 0 || memcmp(line.data, last.data, line.size) == 0);
        if (names.size > 0 && (end || !same)) {
            assay_put_format(&names, " measured ");
            assay_put_bytes(&names, last.data, last.size);
            assay_put_format(out, "\n");
            assay_text_put_wrapped(out, draw, 0, NULL, (const char *)names.data, names.size);
            assay_buf_clear(&names);
        }
        if (end)
            break;
        assay_put_format(&names, "%s", names.size > 0 ? ", " : "");
        assay_put_bytes(&names, o->writer[i].name, strlen(o->writer[i].name));
        assay_buf_clear(&last);
        assay_put_bytes(&last, line.data, line.size);
    }
    put_unread(o, draw, out);
    assay_buf_release(&line);
    assay_buf_release(&last);
    assay_buf_release(&names);
}

void overview_put_events(const overview *o, const assay_draw *draw, assay_buf *out)
{
    if (o->writers == 0)
        return;
    assay_listing rows;
    assay_listing_begin(&rows, ASSAY_LISTING_TEXT, ASSAY_LISTED(COLUMNS), out);
    put_writers(o, &rows);
    assay_report_put_heading(out, "Profiler data");
    assay_listing_end(&rows, 0, draw);
    if (o->sampled)
        put_metric_lines(o, draw, out);
}

/* ---- JSON ---- */

static void put_metric_json(assay_jw *w, const char *metric, const char *unit)
{
    ASSAY_JW_OBJECT(w, NULL, "metric", metric, "unit", unit);
}

/* `node` NULL: it measured nothing. */
static void put_metrics_json(const overview *o, const char *node, assay_buf *out)
{
    const assay_timeline *line = o->sampled ? &o->sampled->line : NULL;
    assay_jw w = assay_jw_over(out);
    assay_jw_array(&w, NULL);
    for (uint64_t i = 0; node && line && i < line->series_count; i++)
        if (strcmp(line->node[line->series[i].node], node) == 0)
            put_metric_json(&w, assay_metric_word(line->series[i].metric), line->series[i].unit);
    for (size_t i = 0; node && line && i < o->sampled->others; i++)
        if (strcmp(o->sampled->other[i].node, node) == 0)
            put_metric_json(&w, o->sampled->other[i].name, "");
    assay_jw_end(&w);
}

void overview_put_events_json(const overview *o, assay_jw *w)
{
    if (o->writers == 0)
        return;
    assay_jw_line(w, 1);
    assay_jw_array(w, "profiler");
    assay_listing rows;
    assay_listing_begin_in(&rows, w, 2, ASSAY_LISTED(COLUMNS));
    put_writers(o, &rows);
    assay_listing_end(&rows, 0, NULL);
    assay_jw_end(w);
}
