/* history_json.c - the history of reports for programs: docs/schema/history.schema.json, and its rules as CSV. */
#include <time.h>

#include "job/job.h"
#include "report/history/history.h"
#include "report/text/listing.h"
#include "rule/verdict.h"

static const assay_listing_column OF_REPORTS[] = {{"path"}, {"date"}, {"dated"}, {"verdict"}};
static const assay_listing_column OF_RULES[] = {{"name"},
                                                {"severity"},
                                                {"newest"},
                                                {"since"},
                                                {"since_path"},
                                                {"newest_value", .optional = true},
                                                {"band", .optional = true, .json_alone = true},
                                                {"low", .csv_alone = true},
                                                {"high", .csv_alone = true},
                                                {"reports_with_findings"},
                                                {"status", .json_alone = true}};

static void put_date(assay_listing *rows, const assay_report_history *h, size_t report)
{
    const time_t when = (time_t)h->report[report].when;
    const bool said = !h->report[report].name || h->report[report].dated; /* a trial may not say when it ran */
    struct tm parts;
    char text[40] = "";
    const bool is = said && gmtime_r(&when, &parts) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0;
    assay_listing_text(rows, is ? text : NULL);
}

/* Words are those of report.json, so that a program compares them without a table; "not there" is null. */
static const char *word_of(history_mark mark)
{
    static const int statuses[HISTORY_MARKS] = {[HISTORY_ABSENT] = -1,
                                                [HISTORY_NO_DATA] = ASSAY_NO_DATA,
                                                [HISTORY_QUIET] = ASSAY_NO_ISSUES_FOUND,
                                                [HISTORY_INFO] = ASSAY_ISSUES_FOUND,
                                                [HISTORY_ERROR] = ASSAY_RULE_ERROR,
                                                [HISTORY_FOUND] = ASSAY_ISSUES_FOUND};
    return statuses[mark] < 0 ? NULL : assay_verdict_status_name(statuses[mark]);
}

/* JSON has the band as one object and CSV as two columns: the listing leaves out what is not of its form. */
static void put_figure(assay_listing *rows, const history_figure *figure)
{
    const bool banded = figure && figure->band.runs > 0;
    assay_buf *out = NULL;
    if (figure) {
        assay_listing_real(rows, figure->newest);
        out = assay_listing_value(rows);
    } else {
        assay_listing_none(rows);
        assay_listing_none(rows);
    }
    if (out) {
        assay_jw w = assay_jw_over(out);
        if (banded)
            ASSAY_JW_OBJECT(&w, NULL, "low", figure->band.low, "high", figure->band.high, "runs", figure->band.runs);
        else
            assay_jw_null(&w, NULL);
    }
    for (int k = 0; k < 2; k++)
        if (banded)
            assay_listing_real(rows, k == 0 ? figure->band.low : figure->band.high);
        else
            assay_listing_none(rows);
}

static void put_rules(const assay_report_history *h, assay_listing *rows)
{
    for (size_t i = 0; i < h->rules; i++) {
        const history_rule *rule = &h->rule[i];
        const history_course course = assay_history_course(h, rule);
        const bool since = course.since != SIZE_MAX;
        assay_listing_next(rows);
        assay_listing_text(rows, rule->name);
        assay_listing_text(rows, assay_severity_name(rule->severity));
        assay_listing_text(rows, word_of(course.now));
        if (since)
            put_date(rows, h, course.since);
        else
            assay_listing_none(rows);
        assay_listing_text(rows, since ? h->report[course.since].path : NULL);
        put_figure(rows, rule->figure);
        assay_listing_u64(rows, course.found);
        assay_buf *out = assay_listing_value(rows);
        if (!out)
            continue;
        assay_jw w = assay_jw_over(out);
        assay_jw_array(&w, NULL);
        for (size_t r = 0; r < h->reports; r++)
            assay_jw_text(&w, NULL, word_of(assay_history_mark(h, rule, r)));
        assay_jw_end(&w);
    }
    assay_listing_end(rows, 0, NULL);
}

int assay_history_put_csv(const assay_report_history *h, assay_buf *out)
{
    assay_listing rows;
    assay_listing_begin(&rows, ASSAY_LISTING_CSV, ASSAY_LISTED(OF_RULES), out);
    put_rules(h, &rows);
    return assay_buf_status(out);
}

int assay_history_put_json(const assay_report_history *h, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    assay_listing rows;
    assay_buf answer = ASSAY_BUF(out->ceiling);
    assay_history_put_answer(h, &answer);
    assay_jw_object(&w, NULL);
    assay_jw_text(&w, "schema", "assay-history/1");
    assay_jw_line(&w, 1);
    assay_jw_text_n(&w, "answer", (const char *)answer.data, answer.size);
    if (assay_buf_status(&answer) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&answer);
    assay_buf_release(&answer);
    assay_jw_line(&w, 1);
    assay_jw_array(&w, "reports");
    assay_listing_begin_in(&rows, &w, 2, ASSAY_LISTED(OF_REPORTS));
    for (size_t i = 0; i < h->reports; i++) {
        assay_listing_next(&rows);
        assay_listing_text(&rows, h->report[i].path);
        put_date(&rows, h, i);
        assay_listing_flag(&rows, h->report[i].dated);
        assay_listing_text(&rows, h->report[i].verdict);
    }
    assay_listing_end(&rows, 0, NULL);
    assay_jw_end(&w);
    assay_jw_line(&w, 1);
    assay_jw_array(&w, "rules");
    assay_listing_begin_in(&rows, &w, 2, ASSAY_LISTED(OF_RULES));
    put_rules(h, &rows);
    assay_jw_end(&w);
    assay_jw_end(&w);
    assay_put_u8(out, '\n');
    return assay_buf_status(out);
}
