/* findings.c - what the rules found: a row for each rule that fired, a card with its evidence, and in a line those that
 * found nothing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/model/diagnosis.h"
#include "report/sections/sections.h"

static doc_tone tone_of(const report_rule *rule)
{
    if (rule->status == ASSAY_RULE_ERROR)
        return DOC_BROKEN;
    return rule->status == ASSAY_ISSUES_FOUND ? DOC_BAD : DOC_NONE;
}

static void put_name(const report_rule *rule, doc *d)
{
    const char *kind = report_kind(rule);
    doc_put_name(d, rule->instance->name);
    if (strcmp(rule->instance->name, kind) == 0)
        return;
    doc_put(d, " (");
    doc_put_name(d, kind);
    doc_put(d, ")");
}

/* ---- the table ---- */

static void put_row(const assay_report *report, size_t t, size_t i, doc *d)
{
    const assay_trial_outcome *trial = &report->outcome->trials[t];
    const report_rule rule = report_rule_of(report->outcome, trial, i, false);
    report_origin origin;
    char room[SECTIONS_ID_ROOM], when[REPORT_WHEN_ROOM];
    if (rule.status != ASSAY_ISSUES_FOUND)
        return;
    report_find_origin(trial->info, &rule, &origin);
    doc_row(d, tone_of(&rule));
    /* A link must lead somewhere: trials that are not shown have no cards. */
    if (sections_shows(report, t))
        doc_row_link(d, sections_card_id(report, t, i, room));
    doc_cell_name(d, rule.instance->name);
    doc_cell_name(d, report->outcome->trial_count > 1 ? trial->trial->name : "");
    doc_cell(d);
    doc_put_badge(d, tone_of(&rule), assay_severity_name(rule.severity));
    doc_cell(d);
    if (report_datapoints(&rule) > 0)
        doc_put(d, "%" PRIu64 " of %" PRIu64, report_findings_total(&rule), report_datapoints(&rule));
    if (origin.finding) {
        doc_cell_words(d, report_finding_when(origin.finding, when));
        doc_cell_name(d, origin.worker);
        doc_cell_name(d, origin.tensor);
    }
    report_origin_release(&origin);
}

static const doc_column COLUMNS[] = {
    {"rule", DOC_OF_NAMES, NULL, DOC_CUT_LAST}, {"trial", DOC_OF_NAMES, NULL, DOC_CUT},
    {"severity", DOC_OF_WORDS, NULL, DOC_KEEP}, {"findings", DOC_OF_COUNTS, NULL, DOC_KEEP},
    {"first", DOC_OF_STEPS, NULL, DOC_KEEP},    {"worker", DOC_OF_NAMES, NULL, DOC_CUT},
    {"tensor", DOC_OF_NAMES, NULL, DOC_CUT}};

/* ---- the cards ---- */

/* Tells whether the rule's own lines say its cause. */
static bool says_cause(const report_rule *rule, const assay_buf *cause)
{
    return rule->text && rule->text->size > 0 && cause->size > 0 &&
           memmem(rule->text->data, rule->text->size, cause->data, cause->size) != NULL;
}

/* Puts what the rule found first, in a sentence, unless its own lines say so. */
static void put_origin(const assay_trial_outcome *trial, const report_rule *rule, doc *d)
{
    report_origin origin;
    assay_buf words = ASSAY_BUF(ASSAY_REPORT_CEILING);
    report_find_origin(trial->info, rule, &origin);
    if (origin.cause.size > 0)
        assay_put_bytes(&words, origin.cause.data, origin.cause.size);
    else if (origin.finding)
        report_put_sentence(trial->info, rule, &origin, &words);
    if (words.size > 0 && !says_cause(rule, &words)) {
        doc_paragraph(d);
        doc_put_text(d, (const char *)words.data, words.size);
        doc_put(d, ".");
    }
    doc_fail(d, assay_buf_status(&words));
    assay_buf_release(&words);
    report_origin_release(&origin);
}

/* Shares rows out: with very many cards each has fewer, so that the document stays a small part of what a rank may
 * hold. */
static size_t rows_of_card(const assay_report *report)
{
    enum { ROWS_IN_ALL = 50000 };
    const size_t all = report->outcome->trial_count * (report->outcome->job->rule_count + 1);
    const size_t rows = ROWS_IN_ALL / all;
    return rows > SECTIONS_ROWS_MOST ? SECTIONS_ROWS_MOST : rows < SECTIONS_ROWS_LEAST ? SECTIONS_ROWS_LEAST : rows;
}

/* Puts what explains the finding, where that is not what its rule says itself. */
static void put_cause(const assay_cause *cause, doc *d)
{
    doc_paragraph(d);
    doc_put_text(d, cause->sentence, strlen(cause->sentence));
    if (cause->certainty != ASSAY_CERTAIN)
        doc_put_dim(d, " (%s)", assay_certainty_name(cause->certainty));
    if (cause->record[0]) {
        doc_note(d);
        doc_put(d, "To know more, record ");
        doc_put_words(d, cause->record, strlen(cause->record));
        doc_put(d, ".");
    }
}

/* Begins the card of rule i; `cause`: what it led to, NULL: none. The card stays open: consequences may follow. */
static void begin_card(const assay_report *report, size_t t, size_t i, const assay_cause *cause, doc *d)
{
    const assay_trial_outcome *trial = &report->outcome->trials[t];
    const report_rule rule = report_rule_of(report->outcome, trial, i, false);
    char room[SECTIONS_ID_ROOM];
    doc_card(d, sections_card_id(report, t, i, room), tone_of(&rule));
    put_name(&rule, d);
    doc_put(d, " ");
    if (rule.status != ASSAY_ISSUES_FOUND) {
        doc_put_badge(d, DOC_BROKEN, "could not run");
        doc_lines(d, rule.message ? rule.message : "", rule.message_size);
        return;
    }
    doc_put_dim(d, "(%s)", assay_severity_name(rule.severity));
    if (cause && cause->name[0])
        put_cause(cause, d);
    else
        put_origin(trial, &rule, d);
    if (rule.findings)
        sections_put_evidence(trial, &rule, rows_of_card(report), d);
    sections_put_advice(&rule, cause, d);
}

static void put_card(const assay_report *report, size_t t, size_t i, doc *d)
{
    begin_card(report, t, i, NULL, d);
    doc_end(d);
}

static bool has_card(const report_rule *rule)
{
    return rule->status == ASSAY_ISSUES_FOUND || rule->status == ASSAY_RULE_ERROR;
}

static size_t count_cards(const assay_report *report, size_t t)
{
    size_t cards = 0;
    for (size_t i = 0; sections_read(&report->outcome->trials[t]) && i < report->outcome->job->rule_count; i++) {
        const report_rule rule = report_rule_of(report->outcome, &report->outcome->trials[t], i, false);
        cards += has_card(&rule);
    }
    return cards;
}

/* Puts the rows of a trial's rules of one severity that have a card, in the order of the report. */
static void put_rows(const assay_report *report, size_t t, assay_severity severity, doc *d)
{
    const assay_trial_outcome *trial = &report->outcome->trials[t];
    size_t *order = NULL;
    const int status = sections_read(trial) ? report_order_rules(report->outcome, trial, &order) : ASSAY_OK;
    doc_fail(d, status);
    for (size_t i = 0; order && i < report->outcome->job->rule_count; i++) {
        const report_rule rule = report_rule_of(report->outcome, trial, order[i], false);
        if (has_card(&rule) && rule.severity == severity)
            put_row(report, t, order[i], d);
    }
    free(order);
}

/* ---- consequences under their cause ---- */

typedef struct placed {
    const report_diagnosis *diagnosis;
    bool *rule; /* [rules]: it has its card */
} placed;

static size_t rule_of(const placed *p, const assay_cause *cause, size_t i)
{
    return p->diagnosis->evidence[cause->evidence[i]].rule;
}

/* Puts the rules that fired after the cause and as it explains, folded into its card. A rule has one card, under the
 * first cause that explains it. */
static void put_consequences(const assay_report *report, size_t t, const assay_cause *cause, placed *p, doc *d)
{
    size_t count = 0;
    for (size_t i = 1; i < cause->explained; i++) {
        bool again = p->rule[rule_of(p, cause, i)];
        for (size_t k = 1; k < i && !again; k++)
            again = rule_of(p, cause, k) == rule_of(p, cause, i);
        count += !again;
    }
    if (count == 0)
        return;
    doc_details(d, NULL);
    doc_put(d, "%zu more rule%s fired, perhaps because of it", count, assay_plural(count));
    for (size_t i = 1; i < cause->explained; i++) {
        const size_t rule = rule_of(p, cause, i);
        if (!p->rule[rule])
            put_card(report, t, rule, d);
        p->rule[rule] = true;
    }
    doc_end(d);
}

/* Puts the cards of a trial: causes in their order, what they explain folded below each, then all that is left. */
static void put_cards(const assay_report *report, size_t t, doc *d)
{
    const assay_trial_outcome *trial = &report->outcome->trials[t];
    report_diagnosis diagnosis;
    size_t *order = NULL;
    placed p = {&diagnosis, assay_alloc_zeroed(report->outcome->job->rule_count + 1, 1)};
    int status = p.rule ? report_diagnose(report->outcome, trial, &diagnosis) : ASSAY_ENOMEM;
    doc_fail(d, status);
    if (status != ASSAY_OK) {
        free(p.rule);
        return;
    }
    for (size_t c = 0; c < diagnosis.is.causes; c++) {
        const assay_cause *cause = &diagnosis.is.cause[c];
        const size_t rule = rule_of(&p, cause, 0);
        if (p.rule[rule])
            continue;
        p.rule[rule] = true;
        begin_card(report, t, rule, cause, d);
        put_consequences(report, t, cause, &p, d);
        doc_end(d);
    }
    status = report_order_rules(report->outcome, trial, &order);
    doc_fail(d, status);
    for (size_t i = 0; order && i < report->outcome->job->rule_count; i++) {
        const report_rule rule = report_rule_of(report->outcome, trial, order[i], false);
        if (has_card(&rule) && !p.rule[order[i]])
            put_card(report, t, order[i], d);
    }
    free(order);
    free(p.rule);
    report_diagnosis_release(&diagnosis);
}

/* ---- rules that found nothing ---- */

/* Tells whether the rule had in no trial a finding, an error, or nothing to test; adds up its tests. */
static bool passed(const assay_report *report, size_t i, uint64_t *tests)
{
    const assay_outcome *outcome = report->outcome;
    bool some = false;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        const report_rule rule = report_rule_of(outcome, &outcome->trials[t], i, false);
        if (!sections_read(&outcome->trials[t]) || rule.status == ASSAY_NO_DATA)
            continue;
        if (rule.status != ASSAY_NO_ISSUES_FOUND)
            return false;
        some = true;
        *tests += report_datapoints(&rule);
    }
    return some;
}

static void put_passed(const assay_report *report, doc *d)
{
    uint64_t tests = 0;
    size_t count = 0;
    for (size_t i = 0; i < report->outcome->job->rule_count; i++) {
        uint64_t of_rule = 0;
        if (!passed(report, i, &of_rule))
            continue;
        count++;
        tests += of_rule;
    }
    if (count == 0)
        return;
    doc_details(d, "passed");
    doc_put(d, "%zu rule%s found nothing in %" PRIu64 " test%s", count, assay_plural(count), tests,
            assay_plural(tests));
    doc_paragraph(d);
    count = 0;
    for (size_t i = 0; i < report->outcome->job->rule_count; i++) {
        if (!passed(report, i, &(uint64_t){0}))
            continue;
        doc_put(d, count++ ? ", " : "");
        doc_put_name(d, report->outcome->job->rules[i]->name);
    }
    doc_put(d, ".");
    doc_end(d);
}

/* Tells whether the section has anything to say. Where no rule had data, the section of what was not tested says all. */
static bool has_findings(const assay_report *report, size_t cards)
{
    const assay_outcome *outcome = report->outcome;
    for (size_t i = 0; cards == 0 && i < outcome->job->rule_count; i++) {
        if (passed(report, i, &(uint64_t){0}))
            return true;
        for (size_t t = 0; t < outcome->trial_count; t++)
            if (sections_read(&outcome->trials[t]) &&
                report_rule_of(outcome, &outcome->trials[t], i, false).status == ASSAY_RULE_ERROR)
                return true;
    }
    return cards > 0;
}

/* Puts the rules that could not run in some trial, by name: their cards say why. */
static void put_failed(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    size_t count = 0;
    for (size_t i = 0; i < outcome->job->rule_count; i++) {
        bool failed = false;
        for (size_t t = 0; t < outcome->trial_count; t++)
            failed = failed || (sections_read(&outcome->trials[t]) &&
                                report_rule_of(outcome, &outcome->trials[t], i, false).status == ASSAY_RULE_ERROR);
        if (!failed)
            continue;
        if (count == 0)
            doc_paragraph(d);
        doc_put(d, count++ ? ", " : "Could not run: ");
        doc_put_name(d, outcome->job->rules[i]->name);
    }
    if (count > 0)
        doc_put(d, ".");
}

/* Puts the table, the severest of all trials first; rows of one severity stay in the order of trials. */
static void put_table(const assay_report *report, doc *d)
{
    doc_table(d, &(doc_table_def){"findings", "rules", COLUMNS, sizeof COLUMNS / sizeof *COLUMNS, false});
    for (int severity = ASSAY_ERROR; severity >= ASSAY_INFO; severity--)
        for (size_t t = 0; t < report->outcome->trial_count; t++)
            put_rows(report, t, (assay_severity)severity, d);
}

void section_findings(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    size_t cards = 0;
    for (size_t t = 0; t < outcome->trial_count; t++)
        cards += count_cards(report, t);
    if (!has_findings(report, cards)) {
        sections_put_usual(report, d);
        return;
    }
    doc_section(d, "findings", "What the rules found");
    if (cards > 0)
        put_table(report, d);
    put_failed(report, d);
    size_t *order;
    doc_fail(d, report_order_trials(outcome, &order));
    for (size_t k = 0; order && k < outcome->trial_count; k++) {
        const size_t t = order[k];
        if (!sections_shows(report, t) || count_cards(report, t) == 0)
            continue;
        sections_begin_trial(report, d, t);
        put_cards(report, t, d);
        sections_end_trial(report, d);
    }
    free(order);
    sections_put_usual(report, d);
    put_passed(report, d);
    doc_end(d);
}

/* Puts what rules without findings have to say: what they left out, and the lines of those that report and do not
 * judge. */
void section_remarks(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    bool open = false;
    for (size_t t = 0; t < outcome->trial_count; t++)
        for (size_t i = 0; sections_read(&outcome->trials[t]) && i < outcome->job->rule_count; i++) {
            const report_rule rule = report_rule_of(outcome, &outcome->trials[t], i, false);
            const bool quiet = rule.message_size == 0 && (!rule.text || rule.text->size == 0);
            if (quiet || rule.status != ASSAY_NO_ISSUES_FOUND || !sections_shows(report, t))
                continue;
            if (!open)
                doc_section(d, "remarks", "Remarks");
            open = true;
            char room[SECTIONS_ID_ROOM];
            doc_card(d, sections_card_id(report, t, i, room), DOC_PLAIN);
            put_name(&rule, d);
            if (outcome->trial_count > 1) {
                doc_put(d, " in ");
                doc_put_name(d, outcome->trials[t].trial->name);
            }
            if (rule.message_size > 0) {
                doc_paragraph(d);
                doc_put_text(d, rule.message, rule.message_size);
            }
            if (rule.text && rule.text->size > 0)
                doc_lines(d, (const char *)rule.text->data, rule.text->size);
            doc_end(d);
        }
    if (open)
        doc_end(d);
}
