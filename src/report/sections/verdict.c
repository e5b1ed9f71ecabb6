/* verdict.c - what the report comes to, in a sentence, and what to do about it. */
#include <stdlib.h>
#include <string.h>

#include "report/compare/bands.h"
#include "report/compare/comparison.h"
#include "report/model/diagnosis.h"
#include "report/model/report_model.h"
#include "report/sections/sections.h"

/* Is there something but findings for which nobody may call the trial good? */
static bool is_broken(const assay_outcome *outcome, const assay_trial_outcome *trial, doc *d)
{
    report_reservation reserved;
    if (trial->status != ASSAY_OK || trial->problems.losses > 0 || trial->unsafe)
        return true;
    doc_fail(d, report_reservation_of(outcome, trial, &reserved));
    return reserved != REPORT_UNRESERVED;
}

static doc_tone tone_of(const assay_report *report, doc *d)
{
    const assay_outcome *outcome = report->outcome;
    doc_tone tone = report_nothing_tested(report) ? DOC_NONE : DOC_GOOD;
    if (report_job_failed(report) || (report->comparison && report->comparison->odd > 0) ||
        (report->bands && assay_band_report_fires(report->bands)))
        return DOC_BAD;
    for (size_t t = 0; t < outcome->trial_count; t++) {
        if (is_broken(outcome, &outcome->trials[t], d))
            tone = DOC_BROKEN;
        for (size_t i = 0; i < outcome->job->rule_count; i++)
            switch (report_rule_of(outcome, &outcome->trials[t], i, false).status) {
            case ASSAY_ISSUES_FOUND:
                return DOC_BAD;
            case ASSAY_RULE_ERROR:
                tone = DOC_BROKEN;
                break;
            default:
                break;
            }
    }
    return tone;
}

static void put_sentence(const assay_report *report, doc *d)
{
    assay_buf line = ASSAY_BUF(ASSAY_REPORT_CEILING);
    report_put_verdict(report, &line);
    doc_put_text(d, (const char *)line.data, line.size);
    if (report->comparison)
        doc_put(d, ".");
    doc_fail(d, assay_buf_status(&line));
    assay_buf_release(&line);
}

static void put_answer(const assay_comparison *c, doc *d)
{
    doc_put_text(d, c->answer, strlen(c->answer));
}

/* Where trials are compared, the answer to how they differ comes first if there are enough of them to tell, and no job of
 * theirs failed. */
void section_verdict(const assay_report *report, doc *d)
{
    const assay_comparison *c = report->comparison;
    const bool leads = c && compare_answer_leads(c) && !report_job_failed(report);
    doc_verdict(d, tone_of(report, d));
    if (leads)
        put_answer(c, d);
    else
        put_sentence(report, d);
    if (!c)
        return;
    doc_verdict(d, DOC_PLAIN);
    if (leads)
        put_sentence(report, d);
    else
        put_answer(c, d);
}

/* The rule whose advice leads: the first in the order of every form, of the trial with the severest findings, which the
 * first line names first. */
static bool find_lead(const assay_report *report, const size_t *trials, size_t *trial, report_rule *lead)
{
    const assay_outcome *outcome = report->outcome;
    for (size_t k = 0; k < outcome->trial_count; k++) {
        const size_t t = trials[k];
        size_t *order = NULL;
        if (!sections_shows(report, t) || outcome->job->rule_count == 0 ||
            report_order_rules(outcome, &outcome->trials[t], &order) != ASSAY_OK)
            continue;
        *lead = report_rule_of(outcome, &outcome->trials[t], order[0], false);
        free(order);
        *trial = t;
        if (lead->status == ASSAY_ISSUES_FOUND && lead->instance->ops)
            return true;
    }
    return false;
}

/* The advice of the first cause, or of the rule that leads where no cause is known. */
static void put_advice(const assay_report *report, size_t t, const report_rule *lead, doc *d)
{
    report_diagnosis diagnosis;
    const int status = report_diagnose(report->outcome, &report->outcome->trials[t], &diagnosis);
    doc_fail(d, status);
    if (status != ASSAY_OK)
        return;
    sections_put_advice(lead, diagnosis.is.causes > 0 ? &diagnosis.is.cause[0] : NULL, d);
    report_diagnosis_release(&diagnosis);
}

void section_todo(const assay_report *report, doc *d)
{
    report_rule lead;
    size_t trial, *order;
    doc_fail(d, report_order_trials(report->outcome, &order));
    if (order && find_lead(report, order, &trial, &lead)) {
        put_advice(report, trial, &lead, d);
        if (report->outcome->trial_count > 1) {
            doc_note(d);
            doc_put(d, "That is about ");
            doc_put_name(d, report->outcome->trials[trial].trial->name);
            doc_put(d, ".");
        }
    }
    free(order);
}
