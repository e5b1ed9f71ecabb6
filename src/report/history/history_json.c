/* history_json.c - the history of reports for programs: docs/schema/history.schema.json. */
#include <inttypes.h>
#include <time.h>

#include "job/job.h"
#include "report/history/history.h"
#include "rule/verdict.h"

static void put_date(const assay_report_history *h, size_t report, assay_buf *out)
{
    if (h->report[report].name && !h->report[report].dated) { /* a trial that does not say when it ran */
        assay_put_format(out, "null");
        return;
    }
    const time_t when = (time_t)h->report[report].when;
    struct tm parts;
    char text[40] = "";
    if (gmtime_r(&when, &parts) && strftime(text, sizeof text, "\"%Y-%m-%dT%H:%M:%SZ\"", &parts) > 0)
        assay_put_format(out, "%s", text);
    else
        assay_put_format(out, "null");
}

static void put_mark(history_mark mark, assay_buf *out)
{
    static const int statuses[HISTORY_MARKS] = {[HISTORY_ABSENT] = -1,
                                                [HISTORY_NO_DATA] = ASSAY_NO_DATA,
                                                [HISTORY_QUIET] = ASSAY_NO_ISSUES_FOUND,
                                                [HISTORY_ERROR] = ASSAY_RULE_ERROR,
                                                [HISTORY_FOUND] = ASSAY_ISSUES_FOUND};
    if (statuses[mark] < 0)
        assay_put_format(out, "null");
    else
        assay_put_format(out, "\"%s\"", assay_verdict_status_name(statuses[mark]));
}

static void put_band(const history_figure *figure, assay_buf *out)
{
    assay_put_format(out, ", \"newest_value\": ");
    assay_json_put_number(out, figure->newest);
    assay_put_format(out, ", \"band\": ");
    if (figure->band.runs == 0) {
        assay_put_format(out, "null");
        return;
    }
    assay_put_format(out, "{\"low\": ");
    assay_json_put_number(out, figure->band.low);
    assay_put_format(out, ", \"high\": ");
    assay_json_put_number(out, figure->band.high);
    assay_put_format(out, ", \"runs\": %zu}", figure->band.runs);
}

static void put_rule(const assay_report_history *h, const history_rule *rule, assay_buf *out)
{
    const history_course course = assay_history_course(h, rule);
    assay_put_format(out, "{\"name\": ");
    assay_json_put_text(out, rule->name);
    assay_put_format(out, ", \"severity\": \"%s\", \"newest\": ", assay_severity_name(rule->severity));
    put_mark(course.now, out);
    assay_put_format(out, ", \"since\": ");
    if (course.since == SIZE_MAX)
        assay_put_format(out, "null");
    else
        put_date(h, course.since, out);
    assay_put_format(out, ", \"since_path\": ");
    if (course.since == SIZE_MAX)
        assay_put_format(out, "null");
    else
        assay_json_put_text(out, h->report[course.since].path);
    if (rule->figure)
        put_band(rule->figure, out);
    assay_put_format(out, ", \"reports_with_findings\": %zu, \"status\": [", course.found);
    for (size_t r = 0; r < h->reports; r++) {
        assay_put_format(out, r ? ", " : "");
        put_mark(assay_history_mark(h, rule, r), out);
    }
    assay_put_format(out, "]}");
}

int assay_history_put_json(const assay_report_history *h, assay_buf *out)
{
    assay_buf answer;
    assay_buf_init(&answer, out->ceiling);
    assay_history_put_answer(h, &answer);
    assay_put_format(out, "{\"schema\": \"assay-history/1\",\n \"answer\": ");
    assay_json_put_text_n(out, (const char *)answer.data, answer.size);
    if (assay_buf_status(&answer) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&answer);
    assay_buf_release(&answer);
    assay_put_format(out, ",\n \"reports\": [");
    for (size_t i = 0; i < h->reports; i++) {
        assay_put_format(out, "%s\n  {\"path\": ", i ? "," : "");
        assay_json_put_text(out, h->report[i].path);
        assay_put_format(out, ", \"date\": ");
        put_date(h, i, out);
        assay_put_format(out, ", \"dated\": %s, \"verdict\": ", h->report[i].dated ? "true" : "false");
        assay_json_put_text(out, h->report[i].verdict);
        assay_put_u8(out, '}');
    }
    assay_put_format(out, "],\n \"rules\": [");
    for (size_t i = 0; i < h->rules; i++) {
        assay_put_format(out, "%s\n  ", i ? "," : "");
        put_rule(h, &h->rule[i], out);
    }
    assay_put_format(out, "]}\n");
    return assay_buf_status(out);
}
