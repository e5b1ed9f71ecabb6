/* report_read.c - the results of rules and aggregations in a report.json, as text. */
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/model/report_model.h"
#include "report/report.h"
#include "report/text/layout.h"

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* What curves come to, where nothing is drawn. */
static void put_curves(const cJSON *curves, const char *key, assay_buf *out)
{
    static const char *const heads[] = {"tensor", "mode", "steps", "first", "last"};
    assay_table table;
    assay_table_init(&table, "elrrr", heads);
    for (const cJSON *curve = curves->child; curve; curve = curve->next) {
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(curve, key);
        int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
        assay_table_cell(&table, text_of(curve, "tensor"));
        assay_table_cell(&table, text_of(curve, "mode"));
        assay_table_format(&table, "%d", count);
        for (int end = 0; end < 2; end++) {
            const cJSON *item = cJSON_GetArrayItem(list, end ? count - 1 : 0);
            if (cJSON_IsNumber(item))
                assay_table_number(&table, item->valuedouble);
            else
                assay_table_cell(&table, cJSON_IsString(item) ? item->valuestring : "");
        }
    }
    assay_table_put(&table, 4, NULL, out);
    assay_table_release(&table);
}

/* The quantiles of each tensor at its first and its last step. */
static void put_histograms(const cJSON *aggregation, const cJSON *histograms, assay_buf *out)
{
    static const char *const heads[] = {"tensor", "mode", "step", "least", "5 %", "median", "95 %", "most"};
    static const double shown[] = {0, 0.05, 0.5, 0.95, 1};
    const cJSON *levels = cJSON_GetObjectItemCaseSensitive(aggregation, "levels");
    assay_table table;
    assay_table_init(&table, "elrrrrrr", heads);
    for (const cJSON *one = histograms->child; one; one = one->next) {
        const cJSON *steps = cJSON_GetObjectItemCaseSensitive(one, "steps");
        const cJSON *quantiles = cJSON_GetObjectItemCaseSensitive(one, "quantiles");
        const int count = cJSON_IsArray(steps) ? cJSON_GetArraySize(steps) : 0;
        for (int at = 0; at < count; at = at < count - 1 ? count - 1 : count) {
            const cJSON *step = cJSON_GetArrayItem(steps, at), *row = cJSON_GetArrayItem(quantiles, at);
            assay_table_cell(&table, text_of(one, "tensor"));
            assay_table_cell(&table, text_of(one, "mode"));
            assay_table_format(&table, "%.0f", cJSON_IsNumber(step) ? step->valuedouble : 0);
            for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
                const cJSON *level = cJSON_IsArray(levels) ? levels->child : NULL;
                const cJSON *value = cJSON_IsArray(row) ? row->child : NULL;
                for (; level && value && !(cJSON_IsNumber(level) && level->valuedouble == shown[k]);
                     value = value->next)
                    level = level->next;
                if (level && cJSON_IsNumber(value))
                    assay_table_number(&table, value->valuedouble);
                else
                    assay_table_cell(&table, level && cJSON_IsString(value) ? value->valuestring : "");
            }
        }
    }
    assay_table_put(&table, 4, NULL, out);
    assay_table_release(&table);
}

static void put_aggregation(const cJSON *aggregation, const assay_draw *draw, assay_buf *out)
{
    const cJSON *losses = cJSON_GetObjectItemCaseSensitive(aggregation, "losses");
    const cJSON *curves = cJSON_GetObjectItemCaseSensitive(aggregation, "curves");
    const cJSON *histograms = cJSON_GetObjectItemCaseSensitive(aggregation, "histograms");
    const char *name = text_of(aggregation, "name"), *kind = text_of(aggregation, "kind"),
               *error = text_of(aggregation, "error");
    assay_put_u8(out, '\n');
    assay_text_put_clean(out, name, strlen(name));
    if (strcmp(name, kind) != 0) {
        assay_put_format(out, " (");
        assay_text_put_clean(out, kind, strlen(kind));
        assay_put_u8(out, ')');
    }
    assay_put_u8(out, '\n');
    if (error[0])
        assay_text_put_wrapped(out, draw, 4, "    in error: ", error, strlen(error));
    else if (assay_report_put_members(aggregation, draw, out))
        return;
    else if (cJSON_IsArray(histograms))
        put_histograms(aggregation, histograms, out);
    else if (cJSON_IsArray(losses) || cJSON_IsArray(curves))
        put_curves(cJSON_IsArray(losses) ? losses : curves, cJSON_IsArray(losses) ? "values" : "norm", out);
    else
        assay_put_format(out, "    Its result has no form that is shown here.\n");
}

/* ---- rules ---- */

enum { COUNT_COLUMNS = 12, LEAST_STRIP = 4 };

typedef struct step_range {
    double first, last;
} step_range;

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

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

/* Where in the training the rule fired. */
static void put_strip(const assay_draw *draw, const cJSON *rule, const step_range *range, unsigned columns,
                      assay_buf *out)
{
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(rule, "steps");
    size_t count = cJSON_IsArray(steps) ? (size_t)cJSON_GetArraySize(steps) : 0, i = 0;
    double *place = assay_alloc_zeroed(count, sizeof *place);
    if (!place) {
        if (out->status == ASSAY_OK)
            out->status = ASSAY_ENOMEM;
        return;
    }
    for (const cJSON *step = count ? steps->child : NULL; step; step = step->next, i++) {
        double at = cJSON_IsNumber(step) ? step->valuedouble : range->first;
        place[i] = range->last > range->first ? (at - range->first) / (range->last - range->first) : 0;
    }
    assay_draw_marks(draw, place, count, columns, out);
    free(place);
}

static void draw_rules(const assay_draw *draw, const cJSON *rules, const step_range *range, assay_buf *out)
{
    size_t longest = 0;
    assay_buf label;
    assay_buf_init(&label, ASSAY_REPORT_CEILING);
    for (const cJSON *rule = rules->child; rule; rule = rule->next) {
        assay_buf_clear(&label);
        assay_text_put_clean(&label, text_of(rule, "name"), strlen(text_of(rule, "name")));
        size_t columns = assay_text_columns((const char *)label.data, label.size);
        longest = columns > longest ? columns : longest;
    }
    unsigned width = assay_draw_label_columns(draw, longest), used = 4 + width + 4 + COUNT_COLUMNS;
    for (const cJSON *rule = rules->child; rule; rule = rule->next) {
        assay_buf_clear(&label);
        assay_text_put_clean(&label, text_of(rule, "name"), strlen(text_of(rule, "name")));
        size_t columns = assay_text_columns((const char *)label.data, label.size);
        assay_put_format(out, "    ");
        assay_text_put_cut(out, (const char *)label.data, label.size, width);
        assay_text_put_blanks(out, (columns < width ? width - columns : 0) + 2);
        if (strcmp(text_of(rule, "status"), "IssuesFound") == 0) {
            put_strip(draw, rule, range, draw->columns > used + LEAST_STRIP ? draw->columns - used : LEAST_STRIP, out);
            assay_put_format(out, "  %.0f\n", number_of(rule, "findings_total"));
        } else {
            assay_text_put_clean(out, text_of(rule, "status"), strlen(text_of(rule, "status")));
            assay_put_u8(out, '\n');
        }
    }
    assay_buf_release(&label);
}

/* A time of a report, which anybody may have written. */
static int64_t time_of(double microseconds)
{
    return microseconds > -0x1p53 && microseconds < 0x1p53 ? (int64_t)microseconds : 0;
}

static void put_rules(const cJSON *trial, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"rule", "status", "findings", "first step"};
    const cJSON *rules = cJSON_GetObjectItemCaseSensitive(trial, "rules");
    step_range range = steps_of(trial);
    assay_table table;
    if (!cJSON_IsArray(rules) || !rules->child)
        return;
    if (draw) {
        assay_put_format(out, "\nFindings from step %.0f to %.0f\n", range.first, range.last);
        draw_rules(draw, rules, &range, out);
        return;
    }
    assay_put_u8(out, '\n');
    assay_table_init(&table, "korr", heads);
    for (const cJSON *rule = rules->child; rule; rule = rule->next) {
        const cJSON *first = cJSON_GetObjectItemCaseSensitive(rule, "first");
        assay_table_cell(&table, text_of(rule, "name"));
        assay_table_cell(&table, text_of(rule, "status"));
        assay_table_format(&table, "%.0f", number_of(rule, "findings_total"));
        char when[REPORT_WHEN_ROOM];
        if (cJSON_IsObject(first) && cJSON_GetObjectItemCaseSensitive(first, "time_us"))
            assay_table_cell(&table, report_time(time_of(number_of(first, "time_us")), when));
        else if (cJSON_IsObject(first))
            assay_table_format(&table, "%.0f", number_of(first, "step"));
        else
            assay_table_cell(&table, "");
    }
    assay_table_put(&table, 4, draw, out);
    assay_table_release(&table);
}

static void put_trial(const cJSON *trial, const assay_draw *draw, bool first, assay_buf *out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(trial, "aggregations");
    const char *name = text_of(trial, "name");
    assay_put_format(out, "%sTrial ", first ? "" : "\n\n");
    assay_text_put_clean(out, name, strlen(name));
    assay_put_u8(out, '\n');
    put_rules(trial, draw, out);
    for (const cJSON *item = cJSON_IsArray(list) ? list->child : NULL; item; item = item->next)
        put_aggregation(item, draw, out);
}

int assay_report_put_results(const char *name, const void *text, size_t size, const assay_draw *draw, assay_buf *out,
                             assay_error *err)
{
    cJSON *report = NULL;
    int status = assay_json_parse(name, text, size, &report, err);
    if (status != ASSAY_OK)
        return status;
    const cJSON *trials = cJSON_GetObjectItemCaseSensitive(report, "trials");
    if (strncmp(text_of(report, "schema"), "assay-report/", 13) != 0 || !cJSON_IsArray(trials)) {
        cJSON_Delete(report);
        return assay_fail(err, ASSAY_EFORMAT, "%s: this is not a report.json that `assay run` has written", name);
    }
    for (const cJSON *trial = trials->child; trial; trial = trial->next)
        put_trial(trial, draw, trial == trials->child, out);
    cJSON_Delete(report);
    status = assay_buf_status(out);
    return status == ASSAY_OK ? status : assay_fail(err, status, "%s: %s", name, assay_status_text(status));
}
