/* history_json.c - the history of reports for programs: docs/schema/history.schema.json. */
#include <time.h>

#include "base/json_writer.h"
#include "job/job.h"
#include "report/history/history.h"
#include "rule/verdict.h"

static void put_date(assay_jw *w, const char *key, const assay_report_history *h, size_t report)
{
    const time_t when = (time_t)h->report[report].when;
    const bool said = !h->report[report].name || h->report[report].dated; /* a trial may not say when it ran */
    struct tm parts;
    char text[40] = "";
    if (said && gmtime_r(&when, &parts) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0)
        assay_jw_text(w, key, text);
    else
        assay_jw_null(w, key);
}

static void put_mark(assay_jw *w, const char *key, history_mark mark)
{
    static const int statuses[HISTORY_MARKS] = {[HISTORY_ABSENT] = -1,
                                                [HISTORY_NO_DATA] = ASSAY_NO_DATA,
                                                [HISTORY_QUIET] = ASSAY_NO_ISSUES_FOUND,
                                                [HISTORY_ERROR] = ASSAY_RULE_ERROR,
                                                [HISTORY_FOUND] = ASSAY_ISSUES_FOUND};
    assay_jw_text(w, key, statuses[mark] < 0 ? NULL : assay_verdict_status_name(statuses[mark]));
}

static void put_figure(assay_jw *w, const history_figure *figure)
{
    assay_jw_number(w, "newest_value", figure->newest);
    if (figure->band.runs == 0) {
        assay_jw_null(w, "band");
        return;
    }
    ASSAY_JW_OBJECT(w, "band", "low", figure->band.low, "high", figure->band.high, "runs", figure->band.runs);
}

static void put_rule(assay_jw *w, const assay_report_history *h, const history_rule *rule)
{
    const history_course course = assay_history_course(h, rule);
    const bool since = course.since != SIZE_MAX;
    assay_jw_line(w, 2);
    assay_jw_object(w, NULL);
    ASSAY_JW(w, "name", rule->name, "severity", assay_severity_name(rule->severity));
    put_mark(w, "newest", course.now);
    if (since)
        put_date(w, "since", h, course.since);
    else
        assay_jw_null(w, "since");
    assay_jw_text(w, "since_path", since ? h->report[course.since].path : NULL);
    if (rule->figure)
        put_figure(w, rule->figure);
    assay_jw_u64(w, "reports_with_findings", course.found);
    assay_jw_array(w, "status");
    for (size_t r = 0; r < h->reports; r++)
        put_mark(w, NULL, assay_history_mark(h, rule, r));
    assay_jw_end(w);
    assay_jw_end(w);
}

int assay_history_put_json(const assay_report_history *h, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
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
    for (size_t i = 0; i < h->reports; i++) {
        assay_jw_line(&w, 2);
        assay_jw_object(&w, NULL);
        assay_jw_text(&w, "path", h->report[i].path);
        put_date(&w, "date", h, i);
        ASSAY_JW(&w, "dated", h->report[i].dated, "verdict", h->report[i].verdict);
        assay_jw_end(&w);
    }
    assay_jw_end(&w);
    assay_jw_line(&w, 1);
    assay_jw_array(&w, "rules");
    for (size_t i = 0; i < h->rules; i++)
        put_rule(&w, h, &h->rule[i]);
    assay_jw_end(&w);
    assay_jw_end(&w);
    assay_put_u8(out, '\n');
    return assay_buf_status(out);
}
