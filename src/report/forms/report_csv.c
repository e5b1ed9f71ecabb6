/* report_csv.c - the report as comma-separated tables: one row per rule, finding, class, cell of a confusion matrix, or
 * step of a loss. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/forms/forms.h"
#include "report/model/curves.h"
#include "report/sections/sections.h"
#include "report/text/csv.h"

static void put_text(assay_buf *out, const char *text)
{
    assay_csv_put_text(out, text);
    assay_put_u8(out, ',');
}

static void put_real(assay_buf *out, double value)
{
    assay_csv_put_real(out, value);
    assay_put_u8(out, ',');
}

/* Puts a row of verdict.csv that is about a whole trial, or with an empty name about the report. Frees the sentence. */
static void put_sentence(const char *trial, assay_buf *sentence, assay_buf *out)
{
    put_text(out, trial);
    assay_put_format(out, ",,,,,,,");
    assay_csv_put_bytes(out, sentence->data, sentence->size);
    assay_put_format(out, ",\n");
    if (assay_buf_status(sentence) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(sentence);
    assay_buf_release(sentence);
}

static void put_rule(const assay_trial_outcome *trial, const report_rule *rule, assay_buf *out)
{
    const assay_finding *first = report_first(rule);
    put_text(out, trial->trial->name);
    put_text(out, rule->instance->name);
    put_text(out, report_kind(rule));
    put_text(out, assay_severity_name(rule->severity));
    assay_put_format(out, "%s,%" PRIu64 ",%" PRIu64 ",", assay_verdict_status_name(rule->status),
                     report_datapoints(rule), report_findings_total(rule));
    if (first && !first->time)
        assay_put_format(out, "%" PRId64, first->step);
    assay_put_u8(out, ',');
    assay_csv_put_bytes(out, rule->message ? rule->message : "", rule->message_size);
    assay_put_u8(out, ',');
    if (first && first->time)
        assay_put_format(out, "%" PRId64, first->step);
    assay_put_u8(out, '\n');
}

/* Columns that were added later stand at the end, so that older readers keep their numbers. */
static int make_verdict(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    assay_buf sentence = ASSAY_BUF(ASSAY_REPORT_CEILING);
    assay_put_format(out, "trial,rule,kind,severity,status,datapoints,findings,first_step,message,first_time_us\n");
    report_put_verdict(report, &sentence);
    put_sentence("", &sentence, out);
    for (size_t t = 0; t < outcome->trial_count; t++) {
        const assay_trial_outcome *trial = &outcome->trials[t];
        size_t *order;
        ASSAY_TRY(report_order_rules(outcome, trial, &order));
        assay_buf_init(&sentence, ASSAY_REPORT_CEILING);
        report_put_trial_verdict(outcome, trial, &sentence);
        put_sentence(trial->trial->name, &sentence, out);
        for (size_t i = 0; i < outcome->job->rule_count; i++) {
            report_rule rule = report_rule_of(outcome, trial, order[i], false);
            put_rule(trial, &rule, out);
        }
        free(order);
    }
    return assay_buf_status(out);
}

/* Puts how long the step took, and what its machine did. */
static void put_hardware(const assay_trial *info, const assay_finding *f, assay_buf *out)
{
    assay_step_time at;
    assay_buf words = ASSAY_BUF(4096);
    if (!report_find_hardware(info, f, &at))
        return;
    report_put_hardware(&at, ASSAY_METRICS, &words);
    assay_put_u8(&words, '\0');
    if (assay_buf_status(&words) == ASSAY_OK)
        assay_csv_put_text(out, (const char *)words.data);
    else if (out->status == ASSAY_OK)
        out->status = assay_buf_status(&words);
    assay_buf_release(&words);
}

static void put_finding(const assay_trial_outcome *trial, const report_rule *rule, const assay_finding *f,
                        assay_buf *out)
{
    const assay_instance *instance = rule->instance;
    const assay_step_info *step = report_finding_step(trial->info, f);
    const char *test = report_finding_test(rule, f);
    assay_buf unit = ASSAY_BUF(ASSAY_REPORT_CEILING);
    put_text(out, trial->trial->name);
    put_text(out, instance->name);
    put_text(out, report_kind(rule));
    put_text(out, assay_severity_name(rule->severity));
    if (f->time)
        assay_put_format(out, ",,,");
    else
        assay_put_format(out, "%" PRId64 ",%s,%" PRId64 ",", f->step, step ? assay_mode_name(step->mode) : "",
                         step ? step->mode_step : -1);
    put_text(out, report_finding_worker(trial->info, f));
    put_text(out, report_finding_tensor(trial->info, f));
    put_text(out, test ? test : "");
    put_real(out, f->value);
    put_real(out, f->threshold);
    for (uint32_t c = 0; c < f->cell_count; c++)
        assay_put_format(out, "%s%" PRId64 ":%" PRId64, c ? " " : "", f->cells[2 * c], f->cells[2 * c + 1]);
    assay_put_u8(out, ',');
    put_text(out, f->note ? f->note : "");
    report_put_unit(trial->info, rule, f, false, &unit);
    assay_csv_put_bytes(out, (const char *)unit.data, unit.size);
    if (assay_buf_status(&unit) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&unit);
    assay_buf_release(&unit);
    assay_put_u8(out, ',');
    if (f->time)
        assay_put_format(out, "%" PRId64, f->step);
    assay_put_u8(out, ',');
    put_hardware(trial->info, f, out);
    assay_put_u8(out, '\n');
}

static int make_findings(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    assay_put_format(out, "trial,rule,kind,severity,step,mode,mode_step,worker,tensor,test,value,threshold,cells,note,"
                          "value_unit,time_us,hardware\n");
    for (size_t t = 0; t < outcome->trial_count; t++) {
        size_t *order;
        ASSAY_TRY(report_order_rules(outcome, &outcome->trials[t], &order));
        for (size_t i = 0; i < outcome->job->rule_count; i++) {
            report_rule rule = report_rule_of(outcome, &outcome->trials[t], order[i], false);
            for (size_t k = 0; rule.findings && k < rule.findings->kept; k++)
                put_finding(&outcome->trials[t], &rule, &rule.findings->list[k], out);
        }
        free(order);
    }
    return assay_buf_status(out);
}

/* What an aggregation put into report.json becomes rows: each begins with the trial and the aggregation. */
typedef struct aggregation_rows {
    const char *trial, *aggregation;
    assay_buf *out;
} aggregation_rows;

static void start_row(const aggregation_rows *rows)
{
    put_text(rows->out, rows->trial);
    put_text(rows->out, rows->aggregation);
}

/* `put` makes rows of one kind of members, and none of others: kinds are not asked for by name. */
static int put_aggregations(const assay_outcome *outcome,
                            void (*put)(const aggregation_rows *rows, const cJSON *members), assay_buf *out)
{
    for (size_t t = 0; t < outcome->trial_count; t++) {
        for (size_t i = 0; i < outcome->job->aggregation_count; i++) {
            report_rule rule = report_rule_of(outcome, &outcome->trials[t], i, true);
            aggregation_rows rows = {outcome->trials[t].trial->name, rule.instance->name, out};
            cJSON *members = NULL;
            int status = report_members(&rule, &members);
            if (status == ASSAY_ENOMEM)
                return status;
            if (members)
                put(&rows, members);
            cJSON_Delete(members);
        }
    }
    return assay_buf_status(out);
}

static void put_classes(const aggregation_rows *rows, const cJSON *members)
{
    const cJSON *classes = cJSON_GetObjectItemCaseSensitive(members, "classes");
    for (const cJSON *item = cJSON_IsObject(classes) ? classes->child : NULL; item; item = item->next) {
        start_row(rows);
        put_text(rows->out, item->string);
        assay_put_format(rows->out, "%.0f\n", cJSON_IsNumber(item) ? item->valuedouble : 0);
    }
}

static int make_class_counts(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    assay_put_format(out, "trial,aggregation,class,count\n");
    return put_aggregations(outcome, put_classes, out);
}

static void put_cell(const aggregation_rows *rows, double label, double prediction, double count)
{
    if (!(count > 0))
        return;
    start_row(rows);
    assay_put_format(rows->out, "%.0f,%.0f,%.0f\n", label, prediction, count);
}

static double number_at(const cJSON *list, int i)
{
    const cJSON *item = cJSON_GetArrayItem(list, i);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* Puts only the cells that occur: of many classes nearly all are empty. */
static void put_confusion(const aggregation_rows *rows, const cJSON *members)
{
    const cJSON *matrix = cJSON_GetObjectItemCaseSensitive(members, "matrix");
    const cJSON *cells = cJSON_GetObjectItemCaseSensitive(members, "cells");
    double label = 0;
    for (const cJSON *row = cJSON_IsArray(matrix) ? matrix->child : NULL; row; row = row->next, label++) {
        double prediction = 0;
        for (const cJSON *cell = row->child; cell; cell = cell->next, prediction++)
            put_cell(rows, label, prediction, cJSON_IsNumber(cell) ? cell->valuedouble : 0);
    }
    for (const cJSON *cell = cJSON_IsArray(cells) ? cells->child : NULL; cell; cell = cell->next)
        put_cell(rows, number_at(cell, 0), number_at(cell, 1), number_at(cell, 2));
}

static int make_confusion(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    assay_put_format(out, "trial,aggregation,label,prediction,count\n");
    return put_aggregations(outcome, put_confusion, out);
}

static int make_loss(const assay_report *report, const assay_report_origin *origin, assay_buf *out)
{
    const assay_outcome *outcome = report->outcome;
    assay_put_format(out, "trial,tensor,mode,step,mode_step,loss\n");
    for (size_t t = 0; t < outcome->trial_count; t++) {
        assay_curves curves;
        ASSAY_TRY(assay_curves_of_losses(outcome, t, &curves));
        for (size_t c = 0; c < curves.loss_count; c++) {
            const assay_loss_curve *loss = &curves.losses[c];
            for (size_t i = 0; i < loss->count; i++) {
                put_text(out, outcome->trials[t].trial->name);
                put_text(out, assay_trial_tensor(outcome->trials[t].info, loss->tensor));
                assay_put_format(out, "%s,%" PRId64 ",%" PRId64 ",", assay_mode_name(loss->mode), loss->point[i].step,
                                 loss->point[i].mode_step);
                assay_csv_put_real(out, loss->point[i].value);
                assay_put_u8(out, '\n');
            }
        }
        assay_curves_release(&curves);
    }
    return assay_buf_status(out);
}

const report_form report_form_csv = {.files = {{"verdict.csv", make_verdict},
                                               {"findings.csv", make_findings},
                                               {"class_counts.csv", make_class_counts},
                                               {"confusion.csv", make_confusion},
                                               {"loss.csv", make_loss}}};
