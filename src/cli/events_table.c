/* events_table.c - see events_table.h. */
#include "cli/events_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/vec.h"
#include "report/report.h"
#include "report/text/listing.h"
#include "timeline/collect.h"
#include "trial/catalog.h"

static const assay_listing_column OF_EVENTS[] = {{"start_us"}, {"duration_us"}, {"worker"}, {"kind"},
                                                 {"row"},      {"name"},        {"step"},   {"process"}};

/* What has begun and not ended yet. */
typedef struct open_event {
    char *where; /* owned: kind, source and row of the timeline; what begins and ends there is nested */
    char *name, *phase, *process; /* owned */
    int64_t time, step;
} open_event;

typedef struct event_table {
    assay_buf out;
    assay_listing rows;
    const assay_event_file *file;
    char worker[ASSAY_TIMELINE_NAME_ROOM];
    ASSAY_VEC(open_event) open;
    uint64_t losses, unmatched;
    const char *trial;
} event_table;

static void release_open(open_event *e)
{
    free(e->where);
    free(e->name);
    free(e->phase);
    free(e->process);
}

static char *copy(assay_text text)
{
    char *out = assay_alloc(text.length + 1);
    if (out) {
        memcpy(out, text.bytes ? text.bytes : "", text.length);
        out[text.length] = '\0';
    }
    return out;
}

static assay_text whole(const char *text)
{
    return (assay_text){text, strlen(text)};
}

typedef struct event_row {
    int64_t time, duration; /* microseconds */
    int64_t step;           /* negative: none */
    assay_text phase, name, process;
} event_row;

static int put_row(event_table *t, const event_row *row)
{
    assay_listing *rows = &t->rows;
    assay_listing_next(rows);
    assay_listing_i64(rows, row->time);
    assay_listing_i64(rows, row->duration);
    assay_listing_text(rows, t->worker);
    assay_listing_text(rows, assay_event_kind_name(t->file->kind));
    assay_listing_text_n(rows, row->phase.bytes ? row->phase.bytes : "", row->phase.length);
    assay_listing_text_n(rows, row->name.bytes ? row->name.bytes : "", row->name.length);
    if (row->step >= 0)
        assay_listing_i64(rows, row->step);
    else
        assay_listing_none(rows);
    assay_listing_text_n(rows, row->process.bytes ? row->process.bytes : "", row->process.length);
    return assay_buf_status(&t->out);
}

/* Of the file's source and kind and the event's row: nested events go on in the writer's next file. */
static char *place_of(const event_table *t, const assay_event_span *span)
{
    assay_buf text = ASSAY_BUF(1 << 20);
    assay_put_format(&text, "%u/%s/", t->file->kind, t->file->source);
    assay_put_bytes(&text, span->row.bytes ? span->row.bytes : "", span->row.length);
    char *out = assay_buf_status(&text) == ASSAY_OK ? copy((assay_text){(const char *)text.data, text.size}) : NULL;
    assay_buf_release(&text);
    return out;
}

static int begin_event(event_table *t, const assay_event_span *span)
{
    open_event e = {.where = place_of(t, span),
                    .name = copy(span->name),
                    .phase = copy(span->phase),
                    .process = copy(span->process),
                    .time = span->time,
                    .step = span->has_step ? span->step : -1};
    open_event *row = e.where && e.name && e.phase && e.process ? ASSAY_VEC_ADD(&t->open) : NULL;
    if (!row) {
        release_open(&e);
        return ASSAY_ENOMEM;
    }
    *row = e;
    return ASSAY_OK;
}

/* An end without its begin, or before it, is counted. */
static int end_event(event_table *t, const assay_event_span *span)
{
    char *where = place_of(t, span);
    size_t i = t->open.count;
    ASSAY_HAVE(where);
    while (i > 0 && strcmp(t->open.list[i - 1].where, where) != 0)
        i--;
    free(where);
    if (i == 0) {
        t->unmatched++;
        return ASSAY_OK;
    }
    open_event e = t->open.list[i - 1];
    memmove(&t->open.list[i - 1], &t->open.list[i], (t->open.count - i) * sizeof e);
    t->open.count--;
    int status = ASSAY_OK;
    if (span->time < e.time)
        t->unmatched++;
    else
        status = put_row(t, &(event_row){.time = e.time,
                                         .duration = span->time - e.time,
                                         .step = e.step >= 0 ? e.step : (span->has_step ? span->step : -1),
                                         .phase = whole(e.phase),
                                         .name = whole(e.name),
                                         .process = whole(e.process)});
    release_open(&e);
    return status;
}

static int take_span(void *context, const assay_event_span *span)
{
    event_table *t = context;
    if (span->part == ASSAY_SPAN_BEGIN)
        return begin_event(t, span);
    if (span->part == ASSAY_SPAN_END)
        return end_event(t, span);
    return put_row(t, &(event_row){.time = span->time,
                                   .duration = span->duration,
                                   .step = span->has_step ? span->step : -1,
                                   .phase = span->phase,
                                   .name = span->name,
                                   .process = span->process});
}

static void take_other(void *context)
{
}

static int take_problem(void *context, assay_event_problem kind, uint64_t line, const char *text)
{
    enum { SAID = 20 };
    event_table *t = context;
    if (t->losses++ < SAID)
        assay_log_warn("%s: %s", t->trial, text);
    return ASSAY_OK;
}

static int read_file(event_table *t, assay_store *store, const assay_event_file *file, assay_error *err)
{
    const assay_event_sink sink = {.context = t, .span = take_span, .other = take_other, .problem = take_problem};
    uint64_t bytes = 0;
    t->file = file;
    assay_timeline_worker_name(file->source, t->worker);
    if (file->unfinished) {
        t->losses++;
        assay_log_warn("%s: %s: its writer has it open: it is not read", t->trial, file->path);
        return ASSAY_OK;
    }
    return assay_events_read(store, file, &sink, &bytes, err);
}

static bool has_spans(const assay_event_file *file)
{
    return file->kind != ASSAY_EVENTS_SYSTEM && !((unsigned)ASSAY_EVENTS_OF_RANKS & 1u << file->kind);
}

int cli_events_write(const char *location, assay_listing_form form, const char *path, uint64_t *losses,
                     assay_error *err)
{
    event_table t = {.trial = location};
    assay_store *store = NULL;
    assay_catalog catalog = {0};
    size_t files = 0;
    assay_buf_init(&t.out, ASSAY_REPORT_CEILING);
    assay_listing_begin(&t.rows, form, ASSAY_LISTED(OF_EVENTS), &t.out);
    int status = assay_store_open(location, &store, err);
    ASSAY_THEN(status, assay_catalog_read(store, NULL, &catalog, err));
    for (size_t i = 0; i < catalog.events.count && status == ASSAY_OK; i++)
        if (has_spans(&catalog.events.list[i])) {
            files++;
            status = read_file(&t, store, &catalog.events.list[i], err);
        }
    if (status == ASSAY_OK && files == 0)
        status = assay_fail(err, ASSAY_ENOTFOUND, "%s: it has no timelines (framework/pevents/)", location);
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "%s: out of memory for its events", location);
    t.unmatched += t.open.count;
    if (status == ASSAY_OK && t.unmatched > 0)
        assay_log_warn("%s: %" PRIu64 " event%s begin or end without the other, and are left out", location,
                       t.unmatched, assay_plural(t.unmatched));
    assay_listing_end(&t.rows, 0, NULL);
    ASSAY_THEN(status, path ? assay_file_write(path, t.out.data, t.out.size, err) : cli_print(&t.out, err));
    *losses = t.losses;
    for (size_t i = 0; i < t.open.count; i++)
        release_open(&t.open.list[i]);
    free(t.open.list);
    assay_buf_release(&t.out);
    assay_catalog_release(&catalog);
    assay_store_close(store);
    return status;
}
