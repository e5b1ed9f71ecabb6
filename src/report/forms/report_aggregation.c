/* report_aggregation.c - class counts and confusion matrices as tables, from the results in report.json; other kinds of
 * aggregation bring their own lines. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "report/forms/forms.h"
#include "report/text/layout.h"

enum { CLASSES_SHOWN = 100, CLASSES_IN_MATRIX = 16, PER_CLASS_COLUMNS = 64 };

static void put_count(assay_table *table, const cJSON *number)
{
    assay_table_format(table, "%.0f", cJSON_IsNumber(number) ? number->valuedouble : 0);
}

static void put_share(assay_table *table, const cJSON *number)
{
    if (cJSON_IsNumber(number))
        assay_table_format(table, "%.3f", number->valuedouble);
    else
        assay_table_cell(table, "-"); /* nothing to divide by */
}

static void put_more(int left, assay_buf *out)
{
    if (left > 0)
        assay_put_format(out, "    ... and %d more class%s; report.json has all of them.\n", left,
                         left == 1 ? "" : "es");
}

static void put_samples(const cJSON *members, assay_buf *out)
{
    const cJSON *samples = cJSON_GetObjectItemCaseSensitive(members, "samples");
    const cJSON *accuracy = cJSON_GetObjectItemCaseSensitive(members, "accuracy");
    if (cJSON_IsNumber(samples))
        assay_put_format(out, "    %.0f samples%s", samples->valuedouble,
                         samples->valuedouble > 0 ? "" : ": nothing in the trial fitted it");
    if (cJSON_IsNumber(accuracy))
        assay_put_format(out, ", accuracy %.3f", accuracy->valuedouble);
    assay_put_u8(out, '\n');
}

static void put_classes(const cJSON *members, const cJSON *classes, const assay_draw *draw, assay_buf *out)
{
    static const char *const heads[] = {"class", "samples", "share"};
    const cJSON *samples = cJSON_GetObjectItemCaseSensitive(members, "samples");
    double all = cJSON_IsNumber(samples) && samples->valuedouble > 0 ? samples->valuedouble : 1;
    int shown = 0;
    assay_table table;
    put_samples(members, out);
    if (!classes->child)
        return;
    if (draw) {
        report_draw_classes(draw, classes, out);
        return;
    }
    assay_table_init(&table, "rrr", heads);
    for (const cJSON *item = classes->child; item && shown < CLASSES_SHOWN; item = item->next, shown++) {
        assay_table_cell(&table, item->string);
        put_count(&table, item);
        assay_table_format(&table, "%.1f %%", 100 * (cJSON_IsNumber(item) ? item->valuedouble : 0) / all);
    }
    assay_table_put(&table, 4, NULL, out);
    assay_table_release(&table);
    put_more(cJSON_GetArraySize(classes) - shown, out);
}

/* Labels down, predictions across. A wide one is left to report.json. */
static void put_matrix(const cJSON *matrix, assay_buf *out)
{
    const char *heads[CLASSES_IN_MATRIX + 1];
    char number[CLASSES_IN_MATRIX + 1][16], align[CLASSES_IN_MATRIX + 2];
    int classes = cJSON_GetArraySize(matrix), label = 0;
    if (classes > CLASSES_IN_MATRIX) {
        assay_put_format(out, "    The matrix of %d classes is in report.json.\n", classes);
        return;
    }
    heads[0] = "label \\ predicted";
    for (int c = 0; c < classes; c++) {
        snprintf(number[c], sizeof number[c], "%d", c);
        heads[c + 1] = number[c];
    }
    memset(align, 'r', sizeof align);
    align[classes + 1] = '\0';
    assay_table table;
    assay_table_init(&table, align, heads);
    for (const cJSON *row = matrix->child; row; row = row->next, label++) {
        int column = 0;
        assay_table_format(&table, "%d", label);
        for (const cJSON *cell = row->child; cell && column < classes; cell = cell->next, column++)
            put_count(&table, cell);
        for (; column < classes; column++)
            assay_table_cell(&table, "");
    }
    assay_table_put(&table, 4, NULL, out);
    assay_table_release(&table);
}

static void put_per_class(const cJSON *list, assay_buf *out)
{
    static const char *const heads[] = {"class", "precision", "recall", "f1", "samples"};
    int shown = 0;
    assay_table table;
    assay_table_init(&table, "rrrrr", heads);
    for (const cJSON *item = list->child; item && shown < CLASSES_SHOWN; item = item->next, shown++) {
        put_count(&table, cJSON_GetObjectItemCaseSensitive(item, "class"));
        put_share(&table, cJSON_GetObjectItemCaseSensitive(item, "precision"));
        put_share(&table, cJSON_GetObjectItemCaseSensitive(item, "recall"));
        put_share(&table, cJSON_GetObjectItemCaseSensitive(item, "f1"));
        put_count(&table, cJSON_GetObjectItemCaseSensitive(item, "support"));
    }
    assay_table_put(&table, 4, NULL, out);
    assay_table_release(&table);
    put_more(cJSON_GetArraySize(list) - shown, out);
}

bool assay_report_put_members(const cJSON *members, const assay_draw *draw, assay_buf *out)
{
    const cJSON *classes = cJSON_GetObjectItemCaseSensitive(members, "classes");
    const cJSON *matrix = cJSON_GetObjectItemCaseSensitive(members, "matrix");
    const cJSON *per_class = cJSON_GetObjectItemCaseSensitive(members, "per_class");
    const cJSON *losses = cJSON_GetObjectItemCaseSensitive(members, "losses");
    const cJSON *curves = cJSON_GetObjectItemCaseSensitive(members, "curves");
    if (draw && (cJSON_IsArray(losses) || cJSON_IsArray(curves))) {
        report_draw_curves(draw, cJSON_IsArray(losses) ? losses : curves, cJSON_IsArray(losses) ? "values" : "norm",
                           out);
        return true;
    }
    if (cJSON_IsObject(classes)) {
        put_classes(members, classes, draw, out);
        return true;
    }
    if (!cJSON_IsArray(matrix) || !cJSON_IsArray(per_class))
        return false;
    put_samples(members, out);
    if (matrix->child) {
        if (draw)
            report_draw_matrix(draw, matrix, out);
        else
            put_matrix(matrix, out);
        assay_put_u8(out, '\n');
        if (!draw || draw->columns >= PER_CLASS_COLUMNS)
            put_per_class(per_class, out);
        else
            assay_put_format(out, "    recall and the like: report.json\n");
    }
    return true;
}

void report_put_aggregation(const report_rule *rule, const assay_draw *draw, assay_buf *out)
{
    cJSON *members = NULL;
    bool known = false;
    int status = report_members(rule, &members);
    if (status == ASSAY_ENOMEM && out->status == ASSAY_OK)
        out->status = status;
    if (members)
        known = assay_report_put_members(members, draw, out);
    cJSON_Delete(members);
    if (!known && rule->text)
        assay_text_put_clean_lines(out, (const char *)rule->text->data, rule->text->size, 4);
}
