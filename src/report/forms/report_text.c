/* report_text.c - the text report: the trials, the table of rules, then evidence, completeness and problems. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/forms/forms.h"
#include "report/text/layout.h"

enum { EVIDENCE_LINES = 10, WORKERS_SHOWN = 12 };

static void put_name(assay_buf *out, const char *name)
{
    assay_text_put_clean(out, name, strlen(name));
}

void assay_report_put_heading(assay_buf *out, const char *heading)
{
    assay_put_format(out, "\n%s\n", heading);
    for (size_t i = 0; i < strlen(heading); i++)
        assay_put_u8(out, '-');
    assay_put_u8(out, '\n');
}

static void put_workers(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out)
{
    const assay_catalog *catalog = &trial->catalog;
    assay_buf line;
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    assay_put_format(&line, "%" PRIu32, catalog->workers);
    for (uint32_t w = 0; w < catalog->workers && w < WORKERS_SHOWN; w++) {
        assay_put_bytes(&line, w ? ", " : ": ", 2);
        put_name(&line, catalog->worker[w]);
    }
    if (catalog->workers > WORKERS_SHOWN)
        assay_put_format(&line, ", ...");
    if (catalog->expected_workers > catalog->workers)
        assay_put_format(&line, " (of %" PRIu32 " expected)", catalog->expected_workers);
    assay_text_put_wrapped(out, draw, 11, "workers", (const char *)line.data, line.size);
    assay_buf_release(&line);
}

void assay_report_put_head(const assay_trial_outcome *trial, const assay_draw *draw, assay_buf *out)
{
    report_mode mode[ASSAY_MODES];
    const assay_trial *info = trial->info;
    assay_put_format(out, "Trial ");
    put_name(out, trial->trial->name);
    assay_put_format(out, "\n");
    assay_text_put_wrapped(out, draw, 11, "path", trial->trial->path, strlen(trial->trial->path));
    if (trial->status != ASSAY_OK || !info) {
        assay_text_put_wrapped(out, draw, 11, "not read", trial->error.text, strlen(trial->error.text));
        return;
    }
    put_workers(trial, draw, out);
    report_count_modes(info, mode);
    assay_put_format(out, "steps      %" PRIu64, assay_trial_steps(info));
    for (int m = ASSAY_MODE_TRAIN; m < ASSAY_MODES; m++) {
        if (mode[m].steps > 1)
            assay_put_format(out, ", %s %" PRIu64 " (%" PRId64 " to %" PRId64 ")", assay_mode_name(m), mode[m].steps,
                             mode[m].first, mode[m].last);
        else if (mode[m].steps == 1)
            assay_put_format(out, ", %s 1 (%" PRId64 ")", assay_mode_name(m), mode[m].first);
    }
    assay_put_format(out, "\ntensors    %" PRIu32 "\ntraining   %s\n", assay_trial_tensors(info),
                     trial->catalog.ended ? "has ended" : "no end marker: it may still be running, or was stopped");
}

static assay_draw_colour colour_of(const report_rule *rule)
{
    if (rule->status == ASSAY_RULE_ERROR || rule->instance->severity == ASSAY_ERROR)
        return ASSAY_DRAW_ALARM;
    return rule->instance->severity == ASSAY_WARNING ? ASSAY_DRAW_BAD : ASSAY_DRAW_PLAIN;
}

static void put_status_row(const assay_trial *info, const report_rule *rule, assay_table *table)
{
    report_origin origin;
    report_find_origin(info, rule, &origin);
    assay_table_cell(table, rule->instance->name);
    assay_table_coloured(table, assay_verdict_status_name(rule->status), colour_of(rule));
    assay_table_cell(table, assay_severity_name(rule->instance->severity));
    if (report_datapoints(rule) > 0)
        assay_table_format(table, "%" PRIu64 " of %" PRIu64, report_findings_total(rule), report_datapoints(rule));
    else
        assay_table_cell(table, "-");
    char when[REPORT_WHEN_ROOM];
    if (origin.finding)
        assay_table_cell(table, report_finding_when(origin.finding, when));
    else
        assay_table_cell(table, "");
    assay_table_cell(table, origin.finding ? origin.worker : "");
    assay_table_cell(table, origin.finding ? origin.tensor : "");
    report_origin_release(&origin);
}

/* Rules that found nothing, in one paragraph. */
static void put_passed(const assay_outcome *outcome, const assay_trial_outcome *trial, const size_t *order, bool behind,
                       const assay_draw *draw, assay_buf *out)
{
    size_t count = 0;
    uint64_t tests = 0;
    assay_buf names, line;
    assay_buf_init(&names, ASSAY_REPORT_CEILING);
    assay_buf_init(&line, ASSAY_REPORT_CEILING);
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        report_rule rule = report_rule_of(outcome, trial, order[i], false);
        if (rule.status != ASSAY_NO_ISSUES_FOUND)
            continue;
        assay_put_format(&names, count++ ? ", " : "");
        assay_put_bytes(&names, rule.instance->name, strlen(rule.instance->name));
        tests += report_datapoints(&rule);
    }
    if (count > 0) {
        assay_put_format(&line, "NoIssuesFound in %" PRIu64 " datapoint%s of %zu rule%s: ", tests, assay_plural(tests),
                         count, assay_plural(count));
        assay_put_bytes(&line, names.data, names.size);
        assay_put_format(&line, ".");
        if (behind)
            assay_put_u8(out, '\n');
        else
            assay_report_put_heading(out, "Rules");
        assay_text_put_wrapped(out, draw, 0, NULL, (const char *)line.data, line.size);
    }
    if (assay_buf_status(&names) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&names);
    assay_buf_release(&names);
    assay_buf_release(&line);
}

static void put_status_table(const assay_outcome *outcome, const assay_trial_outcome *trial, const size_t *order,
                             const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"rule", "status", "severity", "findings", "step", "worker", "tensor"};
    size_t rows = 0;
    assay_table table;
    assay_table_init(&table, "koorree", heads);
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        report_rule rule = report_rule_of(outcome, trial, order[i], false);
        if (rule.status != ASSAY_ISSUES_FOUND && rule.status != ASSAY_RULE_ERROR)
            continue;
        put_status_row(trial->info, &rule, &table);
        rows++;
    }
    if (rows > 0) {
        assay_report_put_heading(out, "Rules");
        assay_table_put(&table, 0, draw, out);
    }
    assay_table_release(&table);
    put_passed(outcome, trial, order, rows > 0, draw, out);
}

static void put_rule_heading(const report_rule *rule, assay_buf *out)
{
    const assay_instance *instance = rule->instance;
    const char *kind = report_kind(rule);
    put_name(out, instance->name);
    if (strcmp(instance->name, kind) != 0) {
        assay_put_format(out, " (");
        put_name(out, kind);
        assay_put_format(out, ")");
    }
}

/* The first line of a message is a paragraph; further ones show a place in a text and stay as they are. */
static void put_reason(const char *text, size_t length, const assay_draw *draw, assay_buf *out)
{
    const char *more = memchr(text, '\n', length);
    assay_text_put_wrapped(out, draw, 4, NULL, text, more ? (size_t)(more - text) : length);
    if (more)
        assay_text_put_clean_lines(out, more + 1, length - (size_t)(more + 1 - text), 4);
}

/* Rules that could not run, each with its reason. */
static void put_errors(const assay_outcome *outcome, const assay_trial_outcome *trial, bool aggregations, bool *any,
                       const assay_draw *draw, assay_buf *out)
{
    size_t count = aggregations ? outcome->job->aggregation_count : outcome->job->rule_count;
    for (size_t i = 0; i < count; i++) {
        report_rule rule = report_rule_of(outcome, trial, i, aggregations);
        if (rule.status != ASSAY_RULE_ERROR)
            continue;
        if (!*any)
            assay_report_put_heading(out,
                                     aggregations ? "Aggregations that could not run" : "Rules that could not run");
        *any = true;
        put_rule_heading(&rule, out);
        assay_put_format(out, "\n");
        put_reason(rule.message ? rule.message : "", rule.message_size, draw, out);
    }
}

static void put_all_evidence(const assay_outcome *outcome, const assay_trial_outcome *trial, const size_t *order,
                             const assay_worker_names *names, const assay_draw *draw, assay_buf *out)
{
    bool any = false;
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        report_rule rule = report_rule_of(outcome, trial, order[i], false);
        if (rule.status != ASSAY_ISSUES_FOUND)
            continue;
        if (!any)
            assay_report_put_heading(out, "Evidence");
        assay_put_format(out, any ? "\n" : "");
        put_rule_heading(&rule, out);
        report_put_evidence(trial, &rule, names, EVIDENCE_LINES, draw, out);
        any = true;
    }
}

/* What rules without findings have to say: what they left out, and the sections of those that report and do not judge.
 */
static void put_remarks(const assay_outcome *outcome, const assay_trial_outcome *trial, const assay_draw *draw,
                        assay_buf *out)
{
    bool any = false;
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        report_rule rule = report_rule_of(outcome, trial, i, false);
        bool quiet = rule.message_size == 0 && (!rule.text || rule.text->size == 0);
        if (quiet || rule.status != ASSAY_NO_ISSUES_FOUND)
            continue;
        if (!any)
            assay_report_put_heading(out, "Remarks");
        assay_put_format(out, any ? "\n" : "");
        put_rule_heading(&rule, out);
        assay_put_format(out, "\n");
        if (rule.message_size > 0)
            assay_text_put_wrapped(out, draw, 4, NULL, rule.message, rule.message_size);
        if (rule.text)
            assay_text_put_clean_lines(out, (const char *)rule.text->data, rule.text->size, 4);
        any = true;
    }
}

/* Have both rules no data, and for the same reason? */
static bool are_silent_alike(const report_rule *a, const report_rule *b)
{
    return a->status == ASSAY_NO_DATA && b->status == ASSAY_NO_DATA && a->message_size == b->message_size &&
           (a->message_size == 0 || memcmp(a->message, b->message, a->message_size) == 0);
}

/* The names of the rules that are silent as rule order[from] is, and for its reason; false, and nothing, where one of
 * them stands before it. */
static bool put_silent_names(const assay_outcome *outcome, const assay_trial_outcome *trial, const size_t *order,
                             size_t from, assay_buf *out)
{
    const report_rule rule = report_rule_of(outcome, trial, order[from], false);
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        const report_rule other = report_rule_of(outcome, trial, order[i], false);
        if (!are_silent_alike(&other, &rule))
            continue;
        if (i < from)
            return false;
        assay_put_format(out, out->size ? ", " : "");
        assay_put_bytes(out, other.instance->name, strlen(other.instance->name));
    }
    return true;
}

/* Why rules had no data, severest first; those of one reason share a paragraph. */
static void put_untested(const assay_outcome *outcome, const assay_trial_outcome *trial, const size_t *order,
                         const assay_draw *draw, assay_buf *out)
{
    bool any = false;
    assay_buf names;
    assay_buf_init(&names, ASSAY_REPORT_CEILING);
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        const report_rule rule = report_rule_of(outcome, trial, order[i], false);
        assay_buf_clear(&names);
        if (rule.status != ASSAY_NO_DATA || report_is_beside(trial, &rule) ||
            !put_silent_names(outcome, trial, order, i, &names))
            continue;
        if (!any)
            assay_report_put_heading(out, "Not tested, which is not a pass");
        any = true;
        assay_text_put_wrapped(out, draw, 0, NULL, (const char *)names.data, names.size);
        assay_text_put_wrapped(out, draw, 4, NULL, rule.message, rule.message_size);
    }
    if (assay_buf_status(&names) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&names);
    assay_buf_release(&names);
}

static void put_aggregations(const assay_outcome *outcome, const assay_trial_outcome *trial, const assay_draw *draw,
                             assay_buf *out)
{
    bool any = false;
    for (size_t i = 0; i < outcome->job->aggregation_count; i++) {
        report_rule rule = report_rule_of(outcome, trial, i, true);
        if (rule.status == ASSAY_RULE_ERROR || (rule.instance->optional && report_counts_nothing(&rule)))
            continue;
        if (!any)
            assay_report_put_heading(out, "Aggregations");
        assay_put_format(out, any ? "\n" : "");
        put_rule_heading(&rule, out);
        assay_put_format(out, "\n");
        if (rule.message_size > 0)
            assay_text_put_wrapped(out, draw, 4, NULL, rule.message, rule.message_size);
        report_put_aggregation(&rule, draw, out);
        any = true;
    }
}

static int put_trial(const assay_outcome *outcome, const assay_trial_outcome *trial, const assay_draw *draw,
                     assay_buf *out)
{
    assay_worker_names names;
    size_t *order;
    bool rule_errors = false, aggregation_errors = false;
    int status = report_order_rules(outcome, trial, &order);
    if (status == ASSAY_OK)
        status = assay_worker_names_init(&names, &trial->catalog);
    if (status != ASSAY_OK) {
        free(order);
        return status;
    }
    assay_report_put_head(trial, draw, out);
    if (trial->status == ASSAY_OK && trial->info) {
        if (outcome->job->rule_count > 0)
            put_status_table(outcome, trial, order, draw, out);
        put_all_evidence(outcome, trial, order, &names, draw, out);
        status = report_put_profile_text(trial, draw, out);
        put_remarks(outcome, trial, draw, out);
        put_untested(outcome, trial, order, draw, out);
        put_errors(outcome, trial, false, &rule_errors, draw, out);
        put_aggregations(outcome, trial, draw, out);
        put_errors(outcome, trial, true, &aggregation_errors, draw, out);
        assay_report_put_completeness(trial, &names, draw, out);
        assay_report_put_problems(trial, draw, out);
    }
    assay_worker_names_release(&names);
    free(order);
    return status;
}

static void put_figures(const assay_outcome *outcome, assay_buf *out)
{
    const assay_run_figures *run = &outcome->run;
    assay_put_format(out, "\nRead ");
    assay_text_put_bytes(out, run->bytes_read);
    assay_put_format(out, " in %" PRIu64 " record%s on %d rank%s of %d host%s in %.2f s.\n", run->records_read,
                     assay_plural(run->records_read), run->ranks, assay_plural((uint64_t)run->ranks), run->nodes,
                     assay_plural((uint64_t)run->nodes), run->seconds);
}

/* What all of it comes to: which trials are unlike the others, where there are enough of them to tell, and what the
 * rules found. */
static void put_lead(const assay_report *report, const assay_draw *draw, assay_buf *out)
{
    const assay_comparison *c = report->comparison;
    assay_buf verdict;
    assay_buf_init(&verdict, ASSAY_REPORT_CEILING);
    report_put_verdict(report, &verdict);
    if (c)
        assay_put_u8(&verdict, '.');
    if (c && compare_answer_leads(c))
        assay_text_put_sentence(out, draw, c->answer, strlen(c->answer));
    assay_text_put_sentence(out, draw, (const char *)verdict.data, verdict.size);
    if (c && !compare_answer_leads(c))
        assay_text_put_sentence(out, draw, c->answer, strlen(c->answer));
    if (assay_buf_status(&verdict) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&verdict);
    assay_buf_release(&verdict);
}

int assay_report_put_text(const assay_report *report, const assay_draw *draw, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    const assay_comparison *c = report->comparison;
    size_t left_out = 0;
    put_lead(report, draw, out);
    if (c)
        report_put_comparison_text(c, draw, out);
    else
        assay_put_u8(out, '\n');
    for (size_t i = 0; i < outcome->trial_count; i++) {
        if (report->only_odd && compare_is_usual(c, i)) {
            left_out++;
            continue;
        }
        assay_put_format(out, i || c ? "\n\n" : "");
        int status = put_trial(outcome, &outcome->trials[i], draw, out);
        if (status != ASSAY_OK)
            return status;
    }
    if (left_out > 0)
        assay_put_format(out, "\nTrials that are like the others, and not reported here: %zu (--all shows them).\n",
                         left_out);
    if (report->bands)
        report_put_bands_text(report->bands, draw, out);
    put_figures(outcome, out);
    return assay_buf_status(out);
}
