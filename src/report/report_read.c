/* report_read.c - what the aggregations of a report.json came to, as text. */
#include <string.h>

#include "report/layout.h"
#include "report/report.h"

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
    assay_table_put(&table, 4, out);
    assay_table_release(&table);
}

static void put_aggregation(const cJSON *aggregation, const assay_draw *draw, assay_buf *out)
{
    const cJSON *losses = cJSON_GetObjectItemCaseSensitive(aggregation, "losses");
    const cJSON *curves = cJSON_GetObjectItemCaseSensitive(aggregation, "curves");
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
        assay_text_put_wrapped(out, 4, "    in error: ", error, strlen(error));
    else if (assay_report_put_members(aggregation, draw, out))
        return;
    else if (cJSON_IsArray(losses) || cJSON_IsArray(curves))
        put_curves(cJSON_IsArray(losses) ? losses : curves, cJSON_IsArray(losses) ? "values" : "norm", out);
    else
        assay_put_format(out, "    Its result has no form that is shown here.\n");
}

static void put_trial(const cJSON *trial, const assay_draw *draw, bool first, assay_buf *out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(trial, "aggregations");
    const char *name = text_of(trial, "name");
    assay_put_format(out, "%sTrial ", first ? "" : "\n\n");
    assay_text_put_clean(out, name, strlen(name));
    assay_put_u8(out, '\n');
    if (!cJSON_IsArray(list) || !list->child)
        assay_put_format(out, "    No aggregations.\n");
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
        return assay_fail(err, ASSAY_EFORMAT, "%s: this is no report.json that `assay run` has written", name);
    }
    for (const cJSON *trial = trials->child; trial; trial = trial->next)
        put_trial(trial, draw, trial == trials->child, out);
    cJSON_Delete(report);
    status = assay_buf_status(out);
    return status == ASSAY_OK ? status : assay_fail(err, status, "%s: %s", name, assay_status_text(status));
}
