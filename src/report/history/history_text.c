/* history_text.c - the history of reports for people: the answer first, then a row for each rule. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "job/job.h"
#include "report/history/history.h"
#include "report/text/layout.h"

/* OTHER_COLUMNS is about what the table needs beside the marks. A list of more names than NAMED is not read. */
enum { DATE_ROOM = 96, LINE_ROOM = 400, NAMED = 6, MOST_MARKS = 60, LEAST_MARKS = 8, OTHER_COLUMNS = 50 };

/* Says when a report is from: its date, or the trial that it is of. */
static const char *date_of(const assay_report_history *h, size_t report, char room[DATE_ROOM])
{
    if (h->report[report].name) {
        snprintf(room, DATE_ROOM, "%s", h->report[report].name);
        return room;
    }
    const time_t when = (time_t)h->report[report].when;
    struct tm parts;
    if (!gmtime_r(&when, &parts) || strftime(room, DATE_ROOM, "%Y-%m-%d %H:%M", &parts) == 0)
        snprintf(room, DATE_ROOM, "%" PRId64, h->report[report].when);
    return room;
}

/* One kind of change, of every rule that it befell: "since 2026-11-20 02:10 LossSpike, DeadRelu". */
typedef struct change {
    history_mark now;
    const char *what; /* behind the name of the rule, before the date */
} change;

/* To a reader "no data", an error and a rule that is gone are one kind of change: it was not tested. */
static bool befell(const change *c, const history_course *course)
{
    const bool lost = course->now == HISTORY_NO_DATA || course->now == HISTORY_ERROR || course->now == HISTORY_ABSENT;
    const bool found = assay_history_has_findings(course->now);
    return course->since != SIZE_MAX && (c->now == HISTORY_NO_DATA ? lost
                                         : c->now == HISTORY_FOUND ? found
                                                                   : c->now == course->now);
}

/* Returns how many rules the change befell, of which at most NAMED are named. */
static size_t put_change(const assay_report_history *h, const change *c, bool first, assay_buf *out)
{
    size_t count = 0;
    char date[DATE_ROOM];
    for (size_t i = 0; i < h->rules; i++) {
        const history_course course = assay_history_course(h, &h->rule[i]);
        if (!befell(c, &course) || count++ >= NAMED)
            continue;
        assay_put_format(out, "%s%s %s ",
                         first && count == 1 ? ""
                         : count == 1        ? "; "
                                             : ", ",
                         h->rule[i].name, c->what);
        assay_put_format(out, "%s%s", date_of(h, course.since, date),
                         c->now == HISTORY_FOUND && course.since == 0 && h->reports > 1 ? " or earlier" : "");
    }
    if (count > NAMED)
        assay_put_format(out, " and %zu more", count - NAMED);
    return count;
}

static const char *unit_of(const assay_report_history *h)
{
    return h->reports > 0 && h->report[0].name ? "run" : "report";
}

/* Says what the newest report has where no rule has findings: what it did not test is no pass. */
static void put_quiet(const assay_report_history *h, assay_buf *out)
{
    size_t quiet = 0, silent = 0;
    for (size_t i = 0; i < h->rules; i++) {
        const history_mark mark = assay_history_mark(h, &h->rule[i], h->reports - 1);
        quiet += mark == HISTORY_QUIET;
        silent += mark == HISTORY_NO_DATA;
    }
    const bool tested = quiet > 0 || silent == 0;
    if (tested)
        assay_put_format(out, "nothing wrong in %zu rule%s of", quiet, assay_plural(quiet));
    assay_put_format(out, "%s the newest of %zu %s%s", tested ? "" : "nothing could be tested in", h->reports,
                     unit_of(h), assay_plural(h->reports));
    if (tested && silent > 0)
        assay_put_format(out, "; %zu had no data", silent);
}

void assay_history_put_answer(const assay_report_history *h, assay_buf *out)
{
    static const change found = {HISTORY_FOUND, "since"}, gone = {HISTORY_QUIET, "no more since"},
                        lost = {HISTORY_NO_DATA, "not tested since"};
    if (h->reports == 0)
        return;
    if (put_change(h, &found, true, out) == 0)
        put_quiet(h, out);
    put_change(h, &gone, false, out);
    put_change(h, &lost, false, out);
}

static char letter_of(history_mark mark)
{
    static const char letters[HISTORY_MARKS] = {[HISTORY_ABSENT] = '_', [HISTORY_NO_DATA] = '-', [HISTORY_QUIET] = '.',
                                                [HISTORY_INFO] = 'i',   [HISTORY_ERROR] = '!',   [HISTORY_FOUND] = 'x'};
    return letters[mark];
}

static const char *word_of(history_mark mark)
{
    static const char *const words[HISTORY_MARKS] = {
        [HISTORY_ABSENT] = "not there", [HISTORY_NO_DATA] = "NoData", [HISTORY_QUIET] = "NoIssuesFound",
        [HISTORY_INFO] = "IssuesFound", [HISTORY_ERROR] = "Error",    [HISTORY_FOUND] = "IssuesFound"};
    return words[mark];
}

/* Puts a line of ours, broken to the terminal's width. */
static void put_line(const assay_draw *draw, const char *text, assay_buf *out)
{
    assay_text_put_wrapped(out, draw, 0, NULL, text, strlen(text));
}

static void put_row(const assay_report_history *h, const history_rule *rule, size_t from, assay_table *table)
{
    static const assay_draw_colour colour[HISTORY_MARKS] = {
        [HISTORY_QUIET] = ASSAY_DRAW_GOOD, [HISTORY_ERROR] = ASSAY_DRAW_ALARM, [HISTORY_FOUND] = ASSAY_DRAW_BAD};
    const history_course course = assay_history_course(h, rule);
    char marks[MOST_MARKS + 1] = "", date[DATE_ROOM] = "";
    for (size_t r = from; r < h->reports && r - from < MOST_MARKS; r++)
        marks[r - from] = letter_of(assay_history_mark(h, rule, r));
    assay_table_cell(table, rule->name);
    assay_table_cell(table, assay_severity_name(rule->severity));
    assay_table_coloured(table, word_of(course.now), colour[course.now]);
    assay_table_cell(table, course.since == SIZE_MAX ? "" : date_of(h, course.since, date));
    assay_table_format(table, "%zu of %zu", course.found, h->reports);
    assay_table_cell(table, marks);
}

/* Puts a row for each rule that changed, or for all; returns how many. The newest reports are those whose letters
 * stay where the width is too small. */
static size_t put_rows(const assay_report_history *h, bool all, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"rule", "severity", "newest", "since", "findings in", "reports"};
    const size_t columns = assay_text_line_columns(draw);
    const size_t room = columns > OTHER_COLUMNS + LEAST_MARKS ? columns - OTHER_COLUMNS : LEAST_MARKS;
    const size_t most = room < MOST_MARKS ? room : MOST_MARKS, from = h->reports > most ? h->reports - most : 0;
    size_t rows = 0;
    assay_table table;
    assay_table_init(&table, "koorol", heads);
    for (size_t i = 0; i < h->rules; i++) {
        const history_course course = assay_history_course(h, &h->rule[i]);
        if (!all && course.since == SIZE_MAX && course.now != HISTORY_ERROR)
            continue;
        put_row(h, &h->rule[i], from, &table);
        rows++;
    }
    if (rows > 0) {
        assay_put_u8(out, '\n');
        assay_table_put(&table, 0, draw, out);
        assay_put_u8(out, '\n');
        put_line(
            draw,
            "One letter for each report, the newest last: x findings, i findings that are no warning, . none, - no data, ! "
            "error, _ not there.",
            out);
    }
    assay_table_release(&table);
    return rows;
}

static void put_reports(const assay_report_history *h, const assay_draw *draw, assay_buf *out)
{
    size_t undated = 0;
    char first[DATE_ROOM], last[DATE_ROOM], line[LINE_ROOM], more[LINE_ROOM / 2] = "";
    for (size_t i = 0; i < h->reports; i++)
        undated += !h->report[i].dated;
    if (undated > 0)
        snprintf(more, sizeof more, "; of %zu without a date of their own the files' times count", undated);
    const bool runs = strcmp(unit_of(h), "run") == 0;
    if (runs && undated > 0)
        snprintf(more, sizeof more, "; %s, for not all say when they started",
                 h->by_name ? "by the numbers in their names" : "as they were given");
    snprintf(line, sizeof line, "%zu %s%s, %s to %s%s%s", h->reports, unit_of(h), assay_plural(h->reports),
             date_of(h, 0, first), date_of(h, h->reports - 1, last), runs ? "" : " UTC", more);
    assay_put_u8(out, '\n');
    put_line(draw, line, out);
}

/* Puts the band that the newest run was held against, and the runs that were outside of theirs, drawn over all. Names
 * go from the newest back, as the answer is about now. */
static void put_figure(const assay_report_history *h, const history_rule *rule, const assay_draw *draw, assay_buf *out)
{
    const history_figure *figure = rule->figure;
    assay_buf line;
    size_t named = 0;
    assay_buf_init(&line, out->ceiling);
    assay_put_format(&line, "%s: ", rule->name);
    if (figure->band.runs > 0)
        assay_put_format(&line, "band %.4g to %.4g of the %zu runs before the newest, which has %.6g; ",
                         figure->band.low, figure->band.high, figure->band.runs, figure->newest);
    assay_put_format(&line, "outside in %zu run%s: ", figure->outside, assay_plural(figure->outside));
    for (size_t i = h->reports; i-- > 0 && named <= NAMED;) {
        char name[DATE_ROOM];
        if (assay_history_mark(h, rule, i) != HISTORY_FOUND)
            continue;
        if (named++ < NAMED)
            assay_put_format(&line, "%s%s %.4g", named > 1 ? ", " : "", date_of(h, i, name),
                             figure->value[h->report[i].number]);
    }
    if (figure->outside > NAMED)
        assay_put_format(&line, " and %zu before", figure->outside - NAMED);
    assay_put_u8(out, '\n');
    if (assay_buf_status(&line) == ASSAY_OK)
        assay_text_put_wrapped(out, draw, 0, NULL, (const char *)line.data, line.size);
    assay_buf_release(&line);
    double *place = draw ? assay_alloc(figure->outside * sizeof *place) : NULL;
    size_t count = 0;
    for (size_t i = 0; i < h->reports && place && h->reports > 1; i++)
        if (assay_history_mark(h, rule, i) == HISTORY_FOUND && count < figure->outside)
            place[count++] = (double)i / (double)(h->reports - 1);
    if (place) {
        assay_put_format(out, "    ");
        assay_draw_marks(draw, place, count, assay_text_line_columns(draw) > 8 ? assay_text_line_columns(draw) - 8 : 8,
                         out);
        assay_put_u8(out, '\n');
    }
    free(place);
}

/* `draw` is NULL where no terminal reads: then lines are whole. */
int assay_history_put_text(const assay_report_history *h, bool all, const assay_draw *draw, assay_buf *out)
{
    assay_buf answer = ASSAY_BUF(out->ceiling);
    assay_history_put_answer(h, &answer);
    if (draw) {
        assay_text_put_wrapped(out, draw, 0, NULL, (const char *)answer.data, answer.size);
    } else { /* whole, however long, as the verdict of a report */
        assay_text_put_clean(out, (const char *)answer.data, answer.size);
        assay_put_u8(out, '\n');
    }
    if (assay_buf_status(&answer) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&answer);
    assay_buf_release(&answer);
    put_reports(h, draw, out);
    for (size_t i = 0; i < h->rules; i++)
        if (h->rule[i].figure && h->rule[i].figure->outside > 0)
            put_figure(h, &h->rule[i], draw, out);
    const size_t rows = put_rows(h, all, draw, out), left = h->rules - rows;
    if (left > 0) {
        char line[LINE_ROOM];
        snprintf(line, sizeof line, "%zu rule%s found nothing in any report; --all lists %s.", left, assay_plural(left),
                 left == 1 ? "it" : "them");
        assay_put_format(out, rows > 0 ? "" : "\n");
        put_line(draw, line, out);
    }
    return assay_buf_status(out);
}
