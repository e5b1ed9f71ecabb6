/* untested.c - what was not tested, which is not a pass: one line for the rules of a built-in set, grouped by what would
 * have to be recorded; a rule that the job names gets its own reason. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/model/missing.h"
#include "report/sections/sections.h"

enum { REASONS_OF_MOST = 256 /* trials whose rules' own reasons are listed; report.json has all of them */ };

static report_rule rule_of(const assay_report *report, size_t t, size_t i)
{
    return report_rule_of(report->outcome, &report->outcome->trials[t], i, false);
}

static bool is_silent(const assay_report *report, size_t t, size_t i)
{
    const report_rule rule = rule_of(report, t, i);
    return rule.untested > 0 || (rule.status == ASSAY_NO_DATA && !report_is_beside(&report->outcome->trials[t], &rule));
}

static bool same_reason(const report_rule *a, const report_rule *b)
{
    return a->message_size == b->message_size &&
           (a->message_size == 0 || memcmp(a->message, b->message, a->message_size) == 0);
}

/* ---- rules that the job names ---- */

/* Has an earlier (trial, rule) the same reason? Then they share a line. */
static bool was_said(const assay_report *report, size_t t, size_t i)
{
    const report_rule rule = rule_of(report, t, i);
    for (size_t a = 0; a <= t; a++)
        for (size_t k = 0; k < (a == t ? i : report->outcome->job->rule_count); k++) {
            const report_rule other = rule_of(report, a, k);
            if (!other.instance->optional && is_silent(report, a, k) && same_reason(&other, &rule))
                return true;
        }
    return false;
}

/* The rules that have the reason of rule i of trial t in some trial, each once, and in how many trials one has. */
static void put_named(const assay_report *report, size_t t, size_t i, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    const report_rule rule = rule_of(report, t, i);
    size_t trials = 0, rules = 0;
    doc_item(d);
    for (size_t k = 0; k < outcome->job->rule_count; k++) {
        size_t with = 0;
        for (size_t a = 0; a < outcome->trial_count && !outcome->job->rules[k]->optional; a++) {
            const report_rule other = rule_of(report, a, k);
            with += is_silent(report, a, k) && same_reason(&other, &rule);
        }
        if (with == 0)
            continue;
        doc_put(d, rules++ ? ", " : "");
        doc_put_name(d, outcome->job->rules[k]->name);
        trials = with > trials ? with : trials;
    }
    if (outcome->trial_count > 1)
        doc_put(d, " (%zu trial%s)", trials, assay_plural(trials));
    doc_put(d, ": ");
    doc_put_text(d, rule.message, rule.message_size);
}

/* ---- rules of a built-in set ---- */

/* For each such rule its reason in the most trials where it has one; REPORT_MISSES: it was tested everywhere. */
static void find_reasons(const assay_report *report, report_missing *reason)
{
    const assay_outcome *outcome = report->outcome;
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        size_t count[REPORT_MISSES] = {0}, most = 0;
        reason[i] = REPORT_MISSES;
        for (size_t t = 0; t < outcome->trial_count && outcome->job->rules[i]->optional; t++) {
            if (!is_silent(report, t, i))
                continue;
            const report_rule rule = rule_of(report, t, i);
            const report_missing missing = report_find_missing(&rule);
            if (++count[missing] > most) {
                most = count[missing];
                reason[i] = missing;
            }
        }
    }
}

/* "14 rules need what was not recorded: activations, gradients" */
static void put_unrecorded(const size_t *count, doc *d)
{
    size_t rules = 0, kinds = 0;
    for (int m = 0; m < REPORT_RECORDED; m++)
        rules += count[m];
    if (rules == 0)
        return;
    doc_put(d, "%zu rule%s what was not recorded: ", rules, rules == 1 ? " needs" : "s need");
    for (int m = 0; m < REPORT_RECORDED; m++)
        if (count[m] > 0)
            doc_put(d, "%s%s", kinds++ ? ", " : "", report_missing_words((report_missing)m, false));
}

static void put_line(const size_t *count, doc *d)
{
    bool any = false;
    doc_paragraph(d);
    for (int m = 0; m < REPORT_RECORDED; m++)
        any = any || count[m] > 0;
    put_unrecorded(count, d);
    for (int m = REPORT_RECORDED; m < REPORT_MISSES; m++) {
        if (count[m] == 0)
            continue;
        doc_put(d, "%s%zu rule%s %s", any ? "; " : "", count[m], assay_plural(count[m]),
                report_missing_words((report_missing)m, count[m] == 1));
        any = true;
    }
    doc_put(d, ".");
}

/* Each rule's own reasons, for who wants to know: of the first trials that are shown. */
static void put_reasons(const assay_report *report, doc *d)
{
    static const doc_column columns[] = {{"rule", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                         {"trial", DOC_OF_NAMES, NULL, DOC_CUT},
                                         {"reason", DOC_OF_WORDS, NULL, DOC_KEEP}};
    const assay_outcome *outcome = report->outcome;
    size_t left = REASONS_OF_MOST;
    doc_only(d, DOC_HTML | DOC_JSON | DOC_CSV);
    doc_details(d, "reasons");
    doc_put(d, "The reason of each rule");
    doc_table(d, &(doc_table_def){"untested", "rules", columns, sizeof columns / sizeof *columns, false});
    for (size_t t = 0; t < outcome->trial_count && left > 0; t++) {
        left -= sections_shows(report, t);
        for (size_t i = 0; i < outcome->job->rule_count && sections_shows(report, t); i++) {
            if (!is_silent(report, t, i))
                continue;
            const report_rule rule = rule_of(report, t, i);
            doc_row(d, DOC_NONE);
            doc_cell_name(d, rule.instance->name);
            doc_cell_name(d, outcome->trial_count > 1 ? outcome->trials[t].trial->name : "");
            doc_cell(d);
            doc_put_text(d, rule.message, rule.message_size);
        }
    }
    doc_end(d);
}

void section_untested(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    size_t rules = outcome->job->rule_count, count[REPORT_MISSES + 1] = {0}, named = 0, silent = 0, shown = 0;
    report_missing *reason = assay_alloc_zeroed(rules + 1, sizeof *reason);
    if (!reason) {
        doc_fail(d, ASSAY_ENOMEM);
        return;
    }
    find_reasons(report, reason);
    for (size_t i = 0; i < rules; i++) {
        count[reason[i]]++;
        silent += reason[i] != REPORT_MISSES;
        for (size_t t = 0; t < outcome->trial_count; t++)
            named += !outcome->job->rules[i]->optional && is_silent(report, t, i);
    }
    for (size_t t = 0; t < outcome->trial_count; t++)
        shown += sections_shows(report, t);
    free(reason);
    if (named + silent == 0)
        return;
    doc_section(d, "untested", "Not tested: nothing is known of it");
    if (named > 0)
        doc_list(d, false);
    for (size_t t = 0; t < outcome->trial_count && named > 0; t++)
        for (size_t i = 0; i < rules; i++)
            if (!outcome->job->rules[i]->optional && is_silent(report, t, i) && !was_said(report, t, i))
                put_named(report, t, i, d);
    if (silent > 0)
        put_line(count, d);
    if (silent > 0 && shown > 0)
        put_reasons(report, d);
    doc_end(d);
}
