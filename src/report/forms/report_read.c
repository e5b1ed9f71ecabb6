/* report_read.c - the results of rules and aggregations in a report.json, as text. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/document/render.h"
#include "report/model/report_model.h"
#include "report/model/report_parse.h"
#include "report/report.h"
#include "report/sections/members.h"

enum { LANES = 128 };

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void put_aggregation(const cJSON *aggregation, doc *d)
{
    const char *name = assay_report_text_of(aggregation, "name"), *kind = assay_report_text_of(aggregation, "kind"),
               *error = assay_report_text_of(aggregation, "error");
    doc_card(d, NULL, DOC_PLAIN);
    doc_put_name(d, name);
    if (strcmp(name, kind) != 0) {
        doc_put(d, " (");
        doc_put_name(d, kind);
        doc_put(d, ")");
    }
    if (error[0]) {
        doc_paragraph(d);
        doc_put(d, "in error: ");
        doc_put_text(d, error, strlen(error));
    } else if (!sections_put_members(aggregation, d)) {
        doc_paragraph(d);
        doc_put(d, "Its result has no form that is shown here.");
    }
    doc_end(d);
}

/* ---- rules ---- */

typedef struct step_range {
    double first, last;
} step_range;

static step_range steps_of(const cJSON *trial)
{
    const cJSON *modes = cJSON_GetObjectItemCaseSensitive(trial, "modes");
    step_range range = {0, 0};
    for (const cJSON *mode = cJSON_IsObject(modes) ? modes->child : NULL; mode; mode = mode->next) {
        double first = number_of(mode, "first"), last = number_of(mode, "last");
        range.first = mode == modes->child || first < range.first ? first : range.first;
        range.last = mode == modes->child || last > range.last ? last : range.last;
    }
    return range;
}

/* Puts a lane for each rule that fired: where in the training it did. */
static void put_lanes(const cJSON *rules, const step_range *range, doc *d)
{
    doc_series series[LANES];
    double *room[LANES];
    size_t lanes = 0;
    for (const cJSON *rule = rules->child; rule && lanes < LANES; rule = rule->next) {
        const cJSON *steps = cJSON_GetObjectItemCaseSensitive(rule, "steps");
        const size_t count = cJSON_IsArray(steps) ? (size_t)cJSON_GetArraySize(steps) : 0;
        if (count == 0)
            continue;
        double *x = assay_alloc_zeroed(2 * count, sizeof *x);
        doc_fail(d, x ? ASSAY_OK : ASSAY_ENOMEM);
        size_t i = 0;
        for (const cJSON *step = x ? steps->child : NULL; step; step = step->next) {
            x[count + i] = 1;
            x[i++] = cJSON_IsNumber(step) ? step->valuedouble : range->first;
        }
        room[lanes] = x;
        series[lanes++] = (doc_series){assay_report_text_of(rule, "name"), x, x + count, i, 0};
    }
    if (lanes > 0 && range->last > range->first) {
        doc_paragraph(d);
        doc_put(d, "Findings from step %.0f to %.0f", range->first, range->last);
        doc_put_chart(d, NULL,
                      &(doc_chart){.kind = DOC_HEAT,
                                   .x_label = "step",
                                   .y_label = "findings",
                                   .x_least = range->first,
                                   .x_most = range->last,
                                   .series = series,
                                   .count = lanes});
    }
    while (lanes-- > 0)
        free(room[lanes]);
}

/* Reads a time of a report, which anybody may have written; the cast of a larger number would be undefined. */
static int64_t time_of(double microseconds)
{
    return microseconds > -0x1p53 && microseconds < 0x1p53 ? (int64_t)microseconds : 0;
}

static void put_status(const char *status, doc *d)
{
    static const doc_tone tones[] = {DOC_BAD, DOC_GOOD, DOC_NONE, DOC_BROKEN}; /* by assay_verdict_status */
    doc_tone tone = DOC_NONE;
    for (int i = 0; i < 4; i++)
        if (strcmp(status, assay_verdict_status_name(i)) == 0)
            tone = tones[i];
    doc_cell(d);
    doc_put_badge(d, tone, status);
}

static void put_rules(const cJSON *trial, bool draw, doc *d)
{
    static const doc_column columns[] = {{"rule", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                         {"status", DOC_OF_WORDS, NULL, DOC_KEEP},
                                         {"findings", DOC_OF_COUNTS, NULL, DOC_KEEP},
                                         {"first step", DOC_OF_STEPS, NULL, DOC_KEEP}};
    const cJSON *rules = cJSON_GetObjectItemCaseSensitive(trial, "rules");
    const step_range range = steps_of(trial);
    if (!cJSON_IsArray(rules) || !rules->child)
        return;
    doc_table(d, &(doc_table_def){NULL, "rules", columns, sizeof columns / sizeof *columns, false});
    for (const cJSON *rule = rules->child; rule; rule = rule->next) {
        const cJSON *first = cJSON_GetObjectItemCaseSensitive(rule, "first");
        char when[REPORT_WHEN_ROOM];
        doc_row(d, DOC_PLAIN);
        doc_cell_name(d, assay_report_text_of(rule, "name"));
        put_status(assay_report_text_of(rule, "status"), d);
        doc_cell_real(d, number_of(rule, "findings_total"));
        if (cJSON_IsObject(first) && cJSON_GetObjectItemCaseSensitive(first, "time_us"))
            doc_cell_words(d, report_time(time_of(number_of(first, "time_us")), when));
        else if (cJSON_IsObject(first))
            doc_cell_real(d, number_of(first, "step"));
    }
    if (draw)
        put_lanes(rules, &range, d);
}

static void put_trial(const cJSON *trial, bool draw, doc *d)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(trial, "aggregations");
    doc_card(d, NULL, DOC_PLAIN);
    doc_put(d, "Trial ");
    doc_put_name(d, assay_report_text_of(trial, "name"));
    put_rules(trial, draw, d);
    doc_end(d);
    for (const cJSON *item = cJSON_IsArray(list) ? list->child : NULL; item; item = item->next)
        put_aggregation(item, d);
}

/* Untrusted: only the schema is checked, so every member may be of another kind or missing. `draw`: NULL for a text
 * without pictures. */
int assay_report_put_results(const char *name, const void *text, size_t size, const assay_draw *draw, assay_buf *out,
                             assay_error *err)
{
    cJSON *report = NULL;
    ASSAY_TRY(assay_report_parse(name, text, size, &report, err));
    const cJSON *trials = cJSON_GetObjectItemCaseSensitive(report, "trials");
    doc *d = doc_new();
    for (const cJSON *trial = d ? trials->child : NULL; trial; trial = trial->next)
        put_trial(trial, draw != NULL, d);
    cJSON_Delete(report);
    if (d)
        doc_render_text(d, draw, out);
    int status = d ? assay_buf_status(out) : ASSAY_ENOMEM;
    doc_free(d);
    return status == ASSAY_OK ? status : assay_fail(err, status, "%s: %s", name, assay_status_text(status));
}
