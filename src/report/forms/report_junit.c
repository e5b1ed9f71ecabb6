/* report_junit.c - junit.xml, which CI systems show: a suite for each trial, a test case for each rule.
 *
 * A suite has the verdict of its trial among its properties; its cases come in the order of every form (order.c). It
 * fails where the run does: a rule that --fail-on counts is a failure when it found something, or tested nothing.
 * Other findings pass, with what was found as output of the test. Error is an error, NoData is skipped. What is damaged
 * or missing beside the rules must not look like a pass: an aggregation in error, a trial with losses or one that could
 * not be opened get a test case in error. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/document/render.h"
#include "report/forms/forms.h"
#include "report/sections/sections.h"
#include "report/text/layout.h"

typedef struct suite_counts {
    uint64_t tests, failures, errors, skipped;
} suite_counts;

/* Tells whether XML 1.0 has a way to write a character (its production 2); others are written as U+FFFD. */
static bool allowed(uint32_t code)
{
    return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code < 0xfffe) || code >= 0x10000;
}

static const char *entity(uint32_t code, bool attribute)
{
    switch (code) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\r':
        return "&#13;";
    case '\n':
        return attribute ? "&#10;" : NULL; /* a reader makes blanks of those that stand in an attribute */
    case '\t':
        return attribute ? "&#9;" : NULL;
    default:
        return allowed(code) ? NULL : "\xef\xbf\xbd";
    }
}

static void put_escaped(assay_buf *out, const char *text, size_t length, bool attribute)
{
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t size = assay_utf8_next(text + at, length - at, &code);
        const char *instead = code == ASSAY_UTF8_BAD ? "\xef\xbf\xbd" : entity(code, attribute);
        assay_put_bytes(out, instead ? instead : text + at, instead ? strlen(instead) : size);
        at += size;
    }
}

static void put_attribute(assay_buf *out, const char *name, const char *text, size_t length)
{
    assay_put_format(out, " %s=\"", name);
    put_escaped(out, text, length, true);
    assay_put_u8(out, '"');
}

static void put_name(assay_buf *out, const char *name, const char *text)
{
    put_attribute(out, name, text, strlen(text));
}

static void put_counts(assay_buf *out, const suite_counts *n, bool skipped)
{
    assay_put_format(out, " tests=\"%" PRIu64 "\" failures=\"%" PRIu64 "\" errors=\"%" PRIu64 "\"", n->tests,
                     n->failures, n->errors);
    if (skipped)
        assay_put_format(out, " skipped=\"%" PRIu64 "\"", n->skipped);
}

static void start_case(assay_buf *out, const assay_trial_outcome *trial, const char *name)
{
    assay_put_format(out, "  <testcase");
    put_name(out, "classname", trial->trial->name);
    put_name(out, "name", name);
}

/* Puts a test case with a failure or an error: the message stands in lists, the body behind a click. */
static void put_fault(assay_buf *out, const char *element, const char *type, const assay_buf *message,
                      const assay_buf *body)
{
    assay_put_format(out, ">\n   <%s", element);
    put_name(out, "type", type);
    put_attribute(out, "message", (const char *)message->data, message->size);
    assay_put_u8(out, '>');
    put_escaped(out, (const char *)body->data, body->size, false);
    assay_put_format(out, "</%s>\n  </testcase>\n", element);
    int status = assay_buf_status(message) != ASSAY_OK ? assay_buf_status(message) : assay_buf_status(body);
    if (status != ASSAY_OK && out->status == ASSAY_OK)
        out->status = status;
}

/* Puts one sentence that begins with the cause, names in full; the body's table cuts them. */
static void put_summary(const assay_trial *info, const report_rule *rule, assay_buf *out)
{
    report_origin origin;
    report_find_origin(info, rule, &origin);
    if (origin.finding) {
        assay_put_format(out, origin.cause.size > 0 ? "" : "first at ");
        report_put_origin(info, &origin, out);
        assay_put_format(out, ": value ");
        report_put_value(info, rule, origin.finding, out);
        assay_put_format(out, ", threshold ");
        assay_text_put_number(out, origin.finding->threshold);
        assay_put_format(out, "; ");
    }
    assay_put_format(out, "found in %" PRIu64 " of %" PRIu64 " tests", report_findings_total(rule),
                     report_datapoints(rule));
    report_origin_release(&origin);
}

/* Puts a test case that passes, with what was found all the same. */
static void put_output(assay_buf *out, const assay_buf *message, const assay_buf *body)
{
    assay_put_format(out, ">\n   <system-out>");
    put_escaped(out, (const char *)message->data, message->size, false);
    assay_put_u8(out, '\n');
    put_escaped(out, (const char *)body->data, body->size, false);
    assay_put_format(out, "</system-out>\n  </testcase>\n");
    int status = assay_buf_status(message) != ASSAY_OK ? assay_buf_status(message) : assay_buf_status(body);
    if (status != ASSAY_OK && out->status == ASSAY_OK)
        out->status = status;
}

static void put_skipped(assay_buf *out, const report_rule *rule)
{
    assay_put_format(out, ">\n   <skipped message=\"NoData: ");
    put_escaped(out, rule->message, rule->message_size, true);
    assay_put_format(out, "\"/>\n  </testcase>\n");
}

static void put_evidence(const assay_trial_outcome *trial, const report_rule *rule, assay_buf *out)
{
    doc *d = doc_new();
    if (d && rule->findings)
        sections_put_evidence(trial, rule, SECTIONS_ROWS_LEAST, d);
    if (d)
        sections_put_advice(rule, NULL, d);
    if (d)
        doc_render_text(d, NULL, out);
    else if (out->status == ASSAY_OK)
        out->status = ASSAY_ENOMEM;
    doc_free(d);
}

static void put_rule(const assay_report *report, const assay_trial_outcome *trial, const report_rule *rule,
                     assay_buf *out)
{
    bool stops = report_gate_stops(&report->gate, rule);
    assay_buf message = ASSAY_BUF(ASSAY_REPORT_CEILING), body = ASSAY_BUF(ASSAY_REPORT_CEILING);
    start_case(out, trial, rule->instance->name);
    if (rule->status == ASSAY_ISSUES_FOUND) {
        put_summary(trial->info, rule, &message);
        put_evidence(trial, rule, &body);
        if (stops)
            put_fault(out, "failure", assay_severity_name(rule->severity), &message, &body);
        else
            put_output(out, &message, &body);
    } else if (rule->status == ASSAY_RULE_ERROR || (rule->status == ASSAY_NO_DATA && stops)) {
        assay_put_bytes(&message, rule->message ? rule->message : "", rule->message_size);
        put_fault(out, rule->status == ASSAY_NO_DATA ? "failure" : "error", assay_verdict_status_name(rule->status),
                  &message, &body);
    } else if (rule->status == ASSAY_NO_DATA) {
        put_skipped(out, rule);
    } else {
        assay_put_format(out, "/>\n");
    }
    assay_buf_release(&message);
    assay_buf_release(&body);
}

static bool has_losses(const assay_trial_outcome *trial)
{
    return trial->status != ASSAY_OK || trial->problems.losses > 0;
}

static void put_losses(const assay_trial_outcome *trial, assay_buf *out)
{
    assay_buf message = ASSAY_BUF(ASSAY_REPORT_CEILING), body = ASSAY_BUF(ASSAY_REPORT_CEILING);
    if (trial->status == ASSAY_OK) {
        assay_put_format(&message, "%" PRIu64 " thing%s damaged or missing, and %s in no test above",
                         trial->problems.losses, trial->problems.losses == 1 ? " was" : "s were",
                         trial->problems.losses == 1 ? "is" : "are");
        assay_report_put_problems(trial, NULL, &body);
    } else {
        assay_put_bytes(&message, trial->error.text, strlen(trial->error.text));
    }
    start_case(out, trial, "(the trial can be read)");
    put_fault(out, "error", "Losses", &message, &body);
    assay_buf_release(&message);
    assay_buf_release(&body);
}

/* Puts a case for a job that failed, which is no pass, whatever its records say. */
static void put_job_end(const assay_trial_outcome *trial, assay_buf *out)
{
    assay_buf message = ASSAY_BUF(ASSAY_REPORT_CEILING), body = ASSAY_BUF(ASSAY_REPORT_CEILING);
    assay_put_bytes(&message, trial->job_end, strlen(trial->job_end));
    assay_put_bytes(&body, trial->job_seen, strlen(trial->job_seen));
    start_case(out, trial, "(the job did not fail)");
    put_fault(out, "failure", "JobFailed", &message, &body);
    assay_buf_release(&message);
    assay_buf_release(&body);
}

/* Puts a case where the gate is shut, though no rule shuts it: the sentence about the trial says why. */
static void put_stopped(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out)
{
    assay_buf message = ASSAY_BUF(ASSAY_REPORT_CEILING), body = ASSAY_BUF(ASSAY_REPORT_CEILING);
    report_put_trial_verdict(outcome, trial, &message);
    start_case(out, trial, "(the trial can be called good)");
    put_fault(out, "failure", "Reserved", &message, &body);
    assay_buf_release(&message);
    assay_buf_release(&body);
}

/* The head of a suite needs the numbers, so cases are counted by the same conditions that put_suite() goes by. */
static suite_counts count(const assay_report *report, const assay_trial_outcome *trial)
{
    const assay_outcome *outcome = report->outcome;
    const size_t stopped = (trial->job_end != NULL) + report_trial_stops(report, trial);
    suite_counts n = {outcome->job->rule_count + has_losses(trial) + stopped, stopped, has_losses(trial), 0};
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        const report_rule rule = report_rule_of(outcome, trial, i, false);
        bool stops = report_gate_stops(&report->gate, &rule);
        n.failures += stops && rule.status != ASSAY_RULE_ERROR;
        n.errors += rule.status == ASSAY_RULE_ERROR;
        n.skipped += rule.status == ASSAY_NO_DATA && !stops;
    }
    for (size_t i = 0; i < outcome->job->aggregation_count; i++) {
        bool error = report_rule_of(outcome, trial, i, true).status == ASSAY_RULE_ERROR;
        n.tests += error;
        n.errors += error;
    }
    return n;
}

static void put_verdict(const assay_outcome *outcome, const assay_trial_outcome *trial, assay_buf *out)
{
    assay_buf line = ASSAY_BUF(ASSAY_REPORT_CEILING);
    report_put_trial_verdict(outcome, trial, &line);
    assay_put_format(out, "   <property name=\"verdict\"");
    put_attribute(out, "value", (const char *)line.data, line.size);
    assay_put_format(out, "/>\n");
    if (assay_buf_status(&line) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&line);
    assay_buf_release(&line);
}

static int put_suite(const assay_report *report, const assay_trial_outcome *trial, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    suite_counts n = count(report, trial);
    size_t *order;
    ASSAY_TRY(report_order_rules(outcome, trial, &order));
    assay_put_format(out, " <testsuite");
    put_name(out, "name", trial->trial->name);
    put_counts(out, &n, true);
    assay_put_format(out, ">\n  <properties>\n   <property name=\"path\"");
    put_name(out, "value", trial->trial->path);
    assay_put_format(out, "/>\n");
    put_verdict(outcome, trial, out);
    assay_put_format(out, "  </properties>\n");
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        report_rule rule = report_rule_of(outcome, trial, order[i], false);
        put_rule(report, trial, &rule, out);
    }
    for (size_t i = 0; i < outcome->job->aggregation_count; i++) {
        report_rule aggregation = report_rule_of(outcome, trial, i, true);
        if (aggregation.status == ASSAY_RULE_ERROR)
            put_rule(report, trial, &aggregation, out);
    }
    if (has_losses(trial))
        put_losses(trial, out);
    if (trial->job_end)
        put_job_end(trial, out);
    if (report_trial_stops(report, trial))
        put_stopped(outcome, trial, out);
    assay_put_format(out, " </testsuite>\n");
    free(order);
    return ASSAY_OK;
}

static int put_junit(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    suite_counts all = {0, 0, 0, 0};
    for (size_t t = 0; t < outcome->trial_count; t++) {
        suite_counts n = count(report, &outcome->trials[t]);
        all.tests += n.tests;
        all.failures += n.failures;
        all.errors += n.errors;
    }
    assay_put_format(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\"");
    put_counts(out, &all, false);
    assay_put_format(out, ">\n");
    for (size_t t = 0; t < outcome->trial_count; t++) {
        ASSAY_TRY(put_suite(report, &outcome->trials[t], out));
    }
    assay_put_format(out, "</testsuites>\n");
    return assay_buf_status(out);
}

const report_form report_form_junit = {.files = {{"junit.xml", put_junit}}};
