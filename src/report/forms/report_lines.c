/* report_lines.c - report.jsonl: an object a line, for log collectors, jq and databases: the verdict of the report, that of each
 * trial, each rule, and each point of a loss curve. */
#include <stdlib.h>

#include "base/json_writer.h"
#include "report/forms/forms.h"
#include "report/model/curves.h"
#include "report/sections/sections.h"

/* Begins a line; every one says what it is, and of which trial. */
static assay_jw begin(assay_buf *out, const char *kind, const assay_trial_outcome *trial)
{
    assay_jw w = assay_jw_over(out);
    assay_jw_object(&w, NULL);
    assay_jw_text(&w, "kind", kind);
    if (trial)
        assay_jw_text(&w, "trial", trial->trial->name);
    return w;
}

static void end(assay_jw *w)
{
    assay_jw_end(w);
    assay_put_u8(w->out, '\n');
}

/* Puts a verdict. Frees the sentence. */
static void put_verdict(const char *kind, const assay_trial_outcome *trial, assay_buf *sentence, assay_buf *out)
{
    assay_jw w = begin(out, kind, trial);
    if (!trial)
        assay_jw_text(&w, "schema", "assay-lines/1");
    assay_jw_text_n(&w, "verdict", (const char *)sentence->data, sentence->size);
    end(&w);
    if (assay_buf_status(sentence) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(sentence);
    assay_buf_release(sentence);
}

static void put_rule(const assay_trial_outcome *trial, const report_rule *rule, assay_buf *out)
{
    const assay_finding *first = report_first(rule);
    assay_jw w = begin(out, "rule", trial);
    ASSAY_JW(&w, "name", rule->instance->name, "rule", report_kind(rule), "severity",
             assay_severity_name(rule->severity), "status", assay_verdict_status_name(rule->status), "datapoints",
             report_datapoints(rule), "findings", report_findings_total(rule));
    if (first)
        assay_jw_i64(&w, first->time ? "first_time_us" : "first_step", first->step);
    assay_jw_text_n(&w, "message", rule->message ? rule->message : "", rule->message_size);
    end(&w);
}

static int put_losses(const assay_outcome *outcome, size_t t, assay_buf *out)
{
    assay_curves curves;
    ASSAY_TRY(assay_curves_of_losses(outcome, t, &curves));
    for (size_t c = 0; c < curves.loss_count; c++) {
        const assay_loss_curve *loss = &curves.losses[c];
        for (size_t i = 0; i < loss->count; i++) {
            assay_jw w = begin(out, "loss", &outcome->trials[t]);
            ASSAY_JW(&w, "tensor", assay_trial_tensor(outcome->trials[t].info, loss->tensor), "mode",
                     assay_mode_name(loss->mode), "step", loss->point[i].step, "mode_step", loss->point[i].mode_step,
                     "loss", loss->point[i].value);
            end(&w);
        }
    }
    assay_curves_release(&curves);
    return ASSAY_OK;
}

int report_put_lines(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    assay_buf sentence = ASSAY_BUF(ASSAY_REPORT_CEILING);
    report_put_verdict(report, &sentence);
    put_verdict("report", NULL, &sentence, out);
    for (size_t t = 0; t < outcome->trial_count; t++) {
        const assay_trial_outcome *trial = &outcome->trials[t];
        size_t *order;
        int status = report_order_rules(outcome, trial, &order);
        ASSAY_TRY(status);
        assay_buf_init(&sentence, ASSAY_REPORT_CEILING);
        report_put_trial_verdict(outcome, trial, &sentence);
        put_verdict("trial", trial, &sentence, out);
        for (size_t i = 0; i < outcome->job->rule_count; i++) {
            report_rule rule = report_rule_of(outcome, trial, order[i], false);
            put_rule(trial, &rule, out);
        }
        free(order);
        if ((status = put_losses(outcome, t, out)) != ASSAY_OK)
            return status;
    }
    return assay_buf_status(out);
}

const report_form report_form_jsonl = {.files = {{"report.jsonl", report_put_lines}}};
