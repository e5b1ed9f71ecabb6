/* report.c - the answer with what it rests on: a document, which every form renders, and JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "report/document/document.h"
#include "report/document/render.h"
#include "report/html/html_style.h"
#include "report/model/report_model.h"
#include "report/text/listing.h"
#include "why/combine.h"

static const char *const CERTAINTIES[] = {"unknown", "possible", "likely", "certain"};

/* The signature's name as its page has it; NULL: it has none. */
static const char *signature_of(const assay_log_event *e)
{
    if (e->signature == ASSAY_SIGNATURE_EXCEPTION)
        return "exception";
    if (e->signature == ASSAY_SIGNATURE_ROOT_CAUSE || e->signature == ASSAY_SIGNATURE_LISTED)
        return "torchrun_root_cause";
    if (e->signature == ASSAY_SIGNATURE_HANG)
        return "hang";
    if (e->signature == ASSAY_SIGNATURE_STATE)
        return "state";
    if (e->signature == ASSAY_SIGNATURE_WORDS)
        return "last_words";
    const assay_signature *s = assay_signature_of(e->signature);
    return s ? s->id : NULL;
}

static const char *path_of(const assay_why *why, const assay_log_event *e)
{
    return e == &why->hang_event ? why->hang_file : why->places.list.list[e->file].path;
}

static const char *role_of(const why_link *link, bool cause, bool unknown)
{
    return cause ? unknown ? "end" : "cause" : link->event->role == ASSAY_LOG_CAUSE ? "also" : "consequence";
}

/* What kind of ending it was; a signal by itself is named by what it says of the process. */
static const char *class_of(const why_link *link)
{
    return assay_ending_name(link->event->ending);
}

/* ---- JSON ---- */

static void put_link_members(const assay_why *why, const why_link *link, bool cause, assay_jw *w)
{
    const assay_log_event *e = link->event;
    assay_buf time = ASSAY_BUF(64);
    assay_jw_text(w, "class", class_of(link));
    if (cause)
        assay_jw_text(w, "certainty", CERTAINTIES[why->certainty]);
    else
        assay_jw_text(w, "role", role_of(link, false, false));
    assay_jw_i64s(w, "ranks", link->rank.list, link->rank.count);
    assay_jw_texts(w, "nodes", (const char *const *)link->node.list, link->node.count);
    const int64_t step = cause ? why->step : e->step;
    if (step >= 0)
        assay_jw_i64(w, "step", step);
    else
        assay_jw_null(w, "step");
    if (why_put_time(e, &time))
        assay_jw_text_n(w, "time", (const char *)time.data, time.size);
    else
        assay_jw_null(w, "time");
    assay_buf_release(&time);
    ASSAY_JW(w, "signature", signature_of(e), "file", path_of(why, e), "line", e->line, "text", e->text, "quote",
             e->quote, "count", link->count);
}

static void put_note_members(const why_note *note, assay_jw *w)
{
    char room[REPORT_WHEN_ROOM];
    assay_jw_text(w, "source", why_kind_name(note->kind));
    if (note->step >= 0)
        assay_jw_i64(w, "step", note->step);
    else
        assay_jw_null(w, "step");
    ASSAY_JW(w, "time", isnan(note->time) ? NULL : report_time((int64_t)(note->time * 1e6), room), "text", note->text,
             "wrong", note->wrong, "file", note->path);
    if (note->line > 0)
        assay_jw_u64(w, "line", note->line);
    else
        assay_jw_null(w, "line");
    ASSAY_JW(w, "entry", note->entry);
}

static void put_chain(const assay_why *why, assay_jw *w)
{
    assay_jw_array(w, "chain");
    for (size_t i = 0; i < why->chain.count; i++) {
        const bool cause = i == 0 && why->has_cause;
        assay_jw_line(w, 2);
        assay_jw_object(w, NULL);
        if (cause)
            assay_jw_text(w, "role", "cause");
        put_link_members(why, &why->chain.list[i], cause, w);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_entries(const assay_why *why, assay_jw *w)
{
    assay_jw_array(w, "timeline");
    for (size_t i = 0; i < why->line.count; i++) {
        const why_entry *e = &why->line.list[i];
        assay_jw_line(w, 2);
        assay_jw_object(w, NULL);
        if (e->link)
            ASSAY_JW(w, "source", why_kind_name(WHY_OUTPUT), "event", (uint64_t)(e->link - why->chain.list));
        else
            put_note_members(e->note, w);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_used(const assay_why *why, assay_jw *w)
{
    assay_jw_array(w, "used");
    for (size_t i = 0; i < why->places.list.count; i++) {
        const why_place *p = &why->places.list.list[i];
        ASSAY_JW_OBJECT(w, NULL, "kind", why_kind_name(p->kind), "path", p->path);
    }
    assay_jw_end(w);
}

static void put_unknown_endings(const assay_why *why, assay_jw *w)
{
    assay_jw_array(w, "unknown_endings");
    if (why->unknown) {
        assay_jw_object(w, NULL);
        if (why->unknown_rank >= 0)
            assay_jw_i64(w, "rank", why->unknown_rank);
        else
            assay_jw_null(w, "rank");
        ASSAY_JW(w, "file", why->places.list.list[why->unknown_file].path, "lines", why->unknown);
        assay_jw_end(w);
    }
    assay_jw_end(w);
}

static void put_cause(const assay_why *why, assay_jw *w)
{
    if (!why->has_cause) {
        assay_jw_null(w, "cause");
        return;
    }
    assay_jw_object(w, "cause");
    put_link_members(why, &why->chain.list[0], true, w);
    assay_jw_end(w);
}

static void put_resume(const assay_why *why, assay_jw *w)
{
    if (why->resume)
        ASSAY_JW_OBJECT(w, "resume", "checkpoint", why->resume, "state", why->resume_state);
    else
        assay_jw_null(w, "resume");
}

static void put_clock(const assay_why *why, assay_jw *w)
{
    const why_clock *clock = why_furthest_clock(why);
    if (clock)
        ASSAY_JW_OBJECT(w, "clock", "rank", clock->rank, "ahead", clock->ahead, "source",
                        clock->collectives > 0 ? "dumps" : "traces");
    else
        assay_jw_null(w, "clock");
}

/* One member a line, so that reports can be compared by diff. */
void assay_why_put_json(const assay_why *why, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    assay_jw_object(&w, NULL);
    assay_jw_text(&w, "schema", "assay-why/1");
    assay_jw_line(&w, 1);
    assay_jw_text(&w, "answer", why->answer);
    assay_jw_line(&w, 1);
    put_cause(why, &w);
    assay_jw_line(&w, 1);
    assay_jw_texts(&w, "reasons", (const char *const *)why->reason.list, why->reason.count);
    assay_jw_line(&w, 1);
    put_chain(why, &w);
    assay_jw_line(&w, 1);
    put_entries(why, &w);
    assay_jw_line(&w, 1);
    put_used(why, &w);
    assay_jw_line(&w, 1);
    assay_jw_texts(&w, "missing", (const char *const *)why->missing.list, why->missing.count);
    assay_jw_line(&w, 1);
    assay_jw_texts(&w, "problems", (const char *const *)why->problem.list, why->problem.count);
    assay_jw_line(&w, 1);
    put_resume(why, &w);
    assay_jw_line(&w, 1);
    ASSAY_JW(&w, "checkpoints", why->verify, "hang", why->hang, "hang_file", why->hang_file);
    assay_jw_texts(&w, "records", (const char *const *)why->verdict.list, why->verdict.count);
    assay_jw_line(&w, 1);
    put_clock(why, &w);
    assay_jw_line(&w, 1);
    put_unknown_endings(why, &w);
    assay_jw_line(&w, 1);
    ASSAY_JW(&w, "outputs", why->outputs, "bytes", why->output_bytes, "lines", why->lines);
    assay_jw_end(&w);
    assay_jw_done(&w);
    assay_put_u8(out, '\n');
}

/* ---- the timeline as rows ---- */

static const assay_listing_column OF_TIMELINE[] = {{"source"}, {"role"},  {"class"}, {"certainty"}, {"ranks"},
                                                   {"nodes"},  {"step"},  {"time"},  {"signature"}, {"file"},
                                                   {"line"},   {"entry"}, {"count"}, {"text"}};

static void put_number_cell(assay_listing *rows, int64_t number, bool known)
{
    if (known)
        assay_listing_i64(rows, number);
    else
        assay_listing_none(rows);
}

static void put_link_cells(const assay_why *why, const why_link *link, assay_listing *rows)
{
    const assay_log_event *e = link->event;
    const bool cause = link == why->chain.list && why->has_cause;
    assay_listing_text(rows, why_kind_name(e == &why->hang_event ? WHY_DUMPS : WHY_OUTPUT));
    assay_listing_text(rows, role_of(link, cause, why->certainty == WHY_UNKNOWN));
    assay_listing_text(rows, class_of(link));
    assay_listing_text(rows, cause ? CERTAINTIES[why->certainty] : NULL);
    assay_buf *cell = assay_listing_value(rows);
    for (size_t i = 0; cell && i < link->rank.count; i++)
        assay_put_format(cell, "%s%" PRId64, i ? ";" : "", link->rank.list[i]);
    assay_listing_texts(rows, (const char *const *)link->node.list, link->node.count);
    const int64_t step = cause ? why->step : e->step;
    put_number_cell(rows, step, step >= 0);
    assay_buf time = ASSAY_BUF(64);
    if (!why_put_time(e, &time))
        assay_buf_clear(&time);
    assay_listing_take(rows, &time);
    assay_listing_text(rows, signature_of(e));
    assay_listing_text(rows, path_of(why, e));
    put_number_cell(rows, (int64_t)e->line, e->line > 0);
    assay_listing_none(rows);
    assay_listing_u64(rows, link->count);
    assay_listing_text(rows, e == &why->hang_event ? why->hang : e->text);
}

static void put_note_cells(const why_note *note, assay_listing *rows)
{
    char room[REPORT_WHEN_ROOM];
    assay_listing_text(rows, why_kind_name(note->kind));
    assay_listing_text(rows, note->wrong ? "fault" : "before");
    for (int empty = 0; empty < 4; empty++)
        assay_listing_none(rows);
    put_number_cell(rows, note->step, note->step >= 0);
    assay_listing_text(rows, isnan(note->time) ? NULL : report_time((int64_t)(note->time * 1e6), room));
    assay_listing_none(rows);
    assay_listing_text(rows, note->path);
    put_number_cell(rows, (int64_t)note->line, note->line > 0);
    assay_listing_text(rows, note->entry);
    assay_listing_none(rows);
    assay_listing_text(rows, note->text);
}

void assay_why_put_csv(const assay_why *why, assay_buf *out)
{
    assay_listing rows;
    assay_listing_begin(&rows, ASSAY_LISTING_CSV, ASSAY_LISTED(OF_TIMELINE), out);
    for (size_t i = 0; i < why->line.count; i++) {
        const why_entry *e = &why->line.list[i];
        assay_listing_next(&rows);
        if (e->link)
            put_link_cells(why, e->link, &rows);
        else
            put_note_cells(e->note, &rows);
    }
    assay_listing_end(&rows, 0, NULL);
}

/* ---- the document ---- */

static void put_place(doc *d, const assay_why *why, const assay_log_event *e)
{
    doc_put_text(d, path_of(why, e), strlen(path_of(why, e)));
    if (e->line > 0) /* else it is a directory */
        doc_put(d, e == &why->hang_event ? ", entry %" PRIu64 : ":%" PRIu64, e->line);
}

static void put_texts(doc *d, char *const *list, size_t count)
{
    doc_list(d, false);
    for (size_t i = 0; i < count; i++) {
        doc_item(d);
        doc_put_text(d, list[i], strlen(list[i]));
    }
}

static void put_link_row(doc *d, const assay_why *why, const why_link *link)
{
    const bool cause = link == why->chain.list && why->has_cause;
    assay_buf text = ASSAY_BUF(1 << 16);
    assay_put_format(&text, "%s", link->event->near ? ">= " : "");
    if (!why_put_time(link->event, &text))
        assay_buf_clear(&text);
    assay_put_u8(&text, 0);
    doc_fact(d, assay_buf_status(&text) == ASSAY_OK ? (const char *)text.data : "");
    doc_put_badge(d, cause ? DOC_BAD : DOC_PLAIN, role_of(link, cause, why->certainty == WHY_UNKNOWN));
    assay_buf_clear(&text);
    assay_put_format(&text, ": ");
    if (link->event->signature == ASSAY_SIGNATURE_HANG) {
        assay_put_format(&text, "%s", why->hang);
    } else {
        why_put_subject(link, &text);
        why_put_deed(link, &text);
    }
    if (link->event->place)
        assay_put_format(&text, ", %s", link->event->place);
    doc_put_text(d, (const char *)text.data, text.size);
    doc_put(d, " (");
    if (link->count > 1)
        doc_put(d, "%" PRIu64 " lines, ", link->count);
    put_place(d, why, link->event);
    doc_put(d, ")");
    assay_buf_release(&text);
}

static void put_note_row(doc *d, const why_note *note)
{
    char room[REPORT_WHEN_ROOM] = "before";
    if (note->step >= 0)
        snprintf(room, sizeof room, "step %" PRId64, note->step);
    else if (!isnan(note->time))
        report_time((int64_t)(note->time * 1e6), room);
    doc_fact(d, room);
    doc_put_badge(d, note->wrong ? DOC_BAD : DOC_PLAIN, note->wrong ? "fault" : "before");
    doc_put(d, ": %s: ", why_kind_name(note->kind));
    doc_put_text(d, note->text, strlen(note->text));
    doc_put(d, " (");
    doc_put_text(d, note->path, strlen(note->path));
    if (note->line > 0)
        doc_put(d, ":%" PRIu64, note->line);
    if (note->entry) {
        doc_put(d, ", ");
        doc_put_text(d, note->entry, strlen(note->entry));
    }
    doc_put(d, ")");
}

static void put_timeline(doc *d, const assay_why *why)
{
    doc_section(d, "timeline", "What happened, in this order");
    doc_facts(d);
    for (size_t i = 0; i < why->line.count; i++) {
        if (why->line.list[i].link)
            put_link_row(d, why, why->line.list[i].link);
        else
            put_note_row(d, why->line.list[i].note);
    }
    doc_end(d);
}

static void put_sources(doc *d, const assay_why *why)
{
    static const doc_column COLUMNS[] = {{"source", DOC_OF_WORDS, NULL, DOC_KEEP},
                                         {"places", DOC_OF_COUNTS, NULL, DOC_KEEP},
                                         {"first", DOC_OF_NAMES, NULL, DOC_CUT_LAST}};
    doc_section(d, "sources", "What was looked at");
    doc_table(d, &(doc_table_def){"sources", "sources", COLUMNS, sizeof COLUMNS / sizeof *COLUMNS, false});
    for (int kind = 0; kind < WHY_KINDS; kind++) {
        const why_place *first = NULL;
        uint64_t count = 0;
        for (size_t i = 0; i < why->places.list.count; i++)
            if ((int)why->places.list.list[i].kind == kind) {
                first = first ? first : &why->places.list.list[i];
                count++;
            }
        if (!first)
            continue;
        doc_row(d, DOC_PLAIN);
        doc_cell_words(d, why_kind_name((why_kind)kind));
        doc_cell_count(d, count);
        doc_cell_name(d, first->path[0] ? first->path : ".");
    }
    if (why->missing.count > 0) {
        doc_paragraph(d);
        doc_put(d, "Not there, and it would have said more:");
        put_texts(d, why->missing.list, why->missing.count);
    }
    doc_end(d);
}

static void put_quote(doc *d, const assay_why *why, const why_link *link)
{
    doc_paragraph(d);
    put_place(d, why, link->event);
    doc_put(d, ":");
    doc_lines(d, link->event->quote, strlen(link->event->quote));
}

static doc *make(const assay_why *why)
{
    doc *d = doc_new();
    if (!d)
        return NULL;
    doc_verdict(d, why->failed ? DOC_BAD : DOC_GOOD);
    doc_put_text(d, why->answer, strlen(why->answer));
    if (why->has_cause) {
        doc_section(d, "why", "Why");
        doc_paragraph(d);
        doc_put(d, "Certainty: %s.", CERTAINTIES[why->certainty]);
        put_texts(d, why->reason.list, why->reason.count);
        put_quote(d, why, &why->chain.list[0]);
        doc_end(d);
    }
    if (why->unknown) {
        doc_section(d, "last-lines", "The last lines of who stopped first");
        doc_paragraph(d);
        if (why->unknown_rank >= 0)
            doc_put(d, "Rank %" PRId64 ", ", why->unknown_rank);
        doc_put_text(d, why->places.list.list[why->unknown_file].path,
                     strlen(why->places.list.list[why->unknown_file].path));
        doc_put(d, ":");
        doc_lines(d, why->unknown, strlen(why->unknown));
        doc_end(d);
    }
    if (why->line.count > 0)
        put_timeline(d, why);
    if (why->hang || why->verify || (why->verdict.count > 0 && why->line.count == 0)) {
        doc_section(d, "others", "What other sources say");
        doc_facts(d);
        if (why->hang) {
            doc_fact(d, "who hung");
            doc_put_text(d, why->hang, strlen(why->hang));
            doc_put(d, " (");
            put_place(d, why, &why->hang_event);
            doc_put(d, ")");
        }
        if (why->verify) {
            doc_fact(d, "checkpoints");
            doc_put_text(d, why->verify, strlen(why->verify));
        }
        for (size_t i = 0; i < why->verdict.count && why->line.count == 0; i++) { /* else the timeline has them */
            doc_fact(d, "records");
            doc_put_text(d, why->verdict.list[i], strlen(why->verdict.list[i]));
        }
        doc_end(d);
    }
    put_sources(d, why);
    if (why->problem.count > 0) {
        doc_section(d, "problems", "What could not be read");
        put_texts(d, why->problem.list, why->problem.count);
        doc_end(d);
    }
    const why_clock *clock = why_furthest_clock(why);
    if (clock) {
        const char *node = why_node_of(&why->facts, clock->rank);
        char source[64] = "collectives in the traces";
        if (clock->collectives > 0)
            snprintf(source, sizeof source, "%" PRIu32 " collectives in the dumps", clock->collectives);
        doc_note(d);
        doc_put(d,
                "The clock of rank %" PRId64 "%s%s is %.1f s %s that of rank %" PRId64
                ", by %s that all end together: times are compared by one clock, and printed by each rank's own.",
                clock->rank, node ? " on " : "", node ? node : "", fabs(clock->ahead),
                clock->ahead > 0 ? "ahead of" : "behind", why->clock.list[0].rank, source);
    }
    if (why->chain.count > 1) {
        doc_note(d);
        if (why->clock.count > 0)
            doc_put(d,
                    "Clocks of nodes may differ by seconds: what is less than %g second apart on two nodes whose "
                    "clocks were compared, or %g seconds on two others, has no order here.",
                    (double)WHY_ALIGNED, (double)WHY_CLOCKS);
        else
            doc_put(d,
                    "Clocks of nodes may differ by seconds: what is less than %g seconds apart on two nodes has no "
                    "order here.",
                    (double)WHY_CLOCKS);
        doc_put(d, " \">=\" is the time of the line above that has one.");
    }
    return d;
}

static void render(const assay_why *why, void (*form)(const doc *d, assay_buf *out), assay_buf *out)
{
    doc *d = make(why);
    const int status = d ? doc_status(d) : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        form(d, out);
    else if (out->status == ASSAY_OK)
        out->status = status;
    doc_free(d);
}

static void as_markdown(const doc *d, assay_buf *out)
{
    doc_render_markdown(d, 60000, out);
}

static void as_html(const doc *d, assay_buf *out)
{
    doc_render_html(d, 8 << 20, out);
}

void assay_why_put_text(const assay_why *why, const assay_draw *draw, assay_buf *out)
{
    doc *d = make(why);
    const int status = d ? doc_status(d) : ASSAY_ENOMEM;
    if (status == ASSAY_OK)
        doc_render_text(d, draw, out);
    else if (out->status == ASSAY_OK)
        out->status = status;
    doc_free(d);
}

void assay_why_put_markdown(const assay_why *why, assay_buf *out)
{
    render(why, as_markdown, out);
}

void assay_why_put_html(const assay_why *why, assay_buf *out)
{
    assay_put_format(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Why the job ended</title>\n"
                          "<link rel=\"icon\" href=\"data:,\">\n<style>\n");
    assay_put_bytes(out, html_style, html_style_size);
    assay_put_format(out, "</style>\n</head>\n<body>\n<main class=\"masthead\">\n");
    render(why, as_html, out);
    assay_put_format(out, "</main>\n</body>\n</html>\n");
}
