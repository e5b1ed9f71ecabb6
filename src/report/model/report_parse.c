/* report_parse.c - see report_parse.h. */
#include "report/model/report_parse.h"

#include <stdio.h>
#include <string.h>

#include "base/keys.h"

/* What an object of a report may have: `needed` of the keys come first, and each version wrote those. */
typedef struct object_form {
    const char *const *keys; /* ends with NULL */
    unsigned needed;
} object_form;

static const object_form REPORT = {
    (const char *const[]){"schema", "trials", "verdict", "comparison", "bands", "run", NULL}, 2};
static const object_form TRIAL = {(const char *const[]){"name", "rules", "path", "workers", "modes", "steps", "tensors",
                                                        "ended", "incomplete", "problems", "problems_total", "facts",
                                                        "recorded", "causes", "profile", "aggregations", NULL},
                                  2};
static const object_form RULE = {(const char *const[]){"name", "status", "severity", "rule", "parameters", "datapoints",
                                                       "findings_total", "steps", "first", "findings", "message",
                                                       "recommendation", NULL},
                                 3};

static const object_form AGGREGATION = {(const char *const[]){"name", "kind", "error", NULL}, 2};

const char *assay_report_text_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* `where` says which object it is: "rule 3 of trial 1". */
static int check_object(const cJSON *object, const object_form *form, const char *path, const char *where,
                        assay_error *err)
{
    assay_keys keys = {.known = form->keys};
    for (const cJSON *item = cJSON_IsObject(object) ? object->child : NULL; item; item = item->next)
        (void)assay_keys_find_flipped(&keys, item->string, strlen(item->string));
    const char *lost = assay_keys_damaged(&keys);
    for (unsigned i = 0; i < form->needed && !lost; i++)
        lost = keys.seen & 1u << i ? NULL : form->keys[i];
    return lost ? assay_fail(err, ASSAY_EFORMAT, "%s: the report is damaged: %s has no \"%s\"", path, where, lost)
                : ASSAY_OK;
}

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(*words, text) != 0)
        words++;
    return *words != NULL;
}

static int check_rule(const cJSON *rule, const char *path, const char *where, assay_error *err)
{
    static const char *const statuses[] = {"IssuesFound", "NoIssuesFound", "NoData", "Error", NULL};
    static const char *const severities[] = {"info", "warning", "error", NULL};
    ASSAY_TRY(check_object(rule, &RULE, path, where, err));
    if (!assay_report_text_of(rule, "name")[0])
        return assay_fail(err, ASSAY_EFORMAT, "%s: the report is damaged: %s has no name", path, where);
    if (!is_one_of(assay_report_text_of(rule, "status"), statuses))
        return assay_fail(err, ASSAY_EFORMAT, "%s: the report is damaged: %s has a status that is none", path, where);
    if (!is_one_of(assay_report_text_of(rule, "severity"), severities))
        return assay_fail(err, ASSAY_EFORMAT, "%s: the report is damaged: %s has a severity that is none", path, where);
    return ASSAY_OK;
}

static int check_trial(const cJSON *trial, unsigned number, const char *path, assay_error *err)
{
    char where[64];
    snprintf(where, sizeof where, "trial %u", number);
    int status = check_object(trial, &TRIAL, path, where, err);
    const cJSON *rules = cJSON_GetObjectItemCaseSensitive(trial, "rules");
    unsigned count = 0;
    if (status == ASSAY_OK && !cJSON_IsArray(rules))
        return assay_fail(err, ASSAY_EFORMAT, "%s: the report is damaged: %s has no list of rules", path, where);
    for (const cJSON *rule = status == ASSAY_OK ? rules->child : NULL; rule && status == ASSAY_OK; rule = rule->next) {
        snprintf(where, sizeof where, "rule %u of trial %u", ++count, number);
        status = check_rule(rule, path, where, err);
    }
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(trial, "aggregations");
    count = 0;
    for (const cJSON *one = cJSON_IsArray(list) ? list->child : NULL; one && status == ASSAY_OK; one = one->next) {
        snprintf(where, sizeof where, "aggregation %u of trial %u", ++count, number);
        status = check_object(one, &AGGREGATION, path, where, err);
    }
    return status;
}

int assay_report_parse(const char *path, const void *text, size_t size, cJSON **out, assay_error *err)
{
    unsigned number = 0;
    *out = NULL;
    int status = assay_json_parse(path, text, size, out, err);
    const cJSON *trials = status == ASSAY_OK ? cJSON_GetObjectItemCaseSensitive(*out, "trials") : NULL;
    if (status == ASSAY_OK && strcmp(assay_report_text_of(*out, "schema"), "assay-report/1") != 0)
        status = assay_fail(err, ASSAY_EFORMAT, "%s: this is not a report.json of assay (schema assay-report/1)", path);
    ASSAY_THEN(status, check_object(*out, &REPORT, path, "it", err));
    if (status == ASSAY_OK && !cJSON_IsArray(trials))
        status = assay_fail(err, ASSAY_EFORMAT, "%s: the report is damaged: it has no list of trials", path);
    for (const cJSON *trial = status == ASSAY_OK ? trials->child : NULL; trial && status == ASSAY_OK;
         trial = trial->next)
        status = check_trial(trial, ++number, path, err);
    if (status != ASSAY_OK) {
        cJSON_Delete(*out);
        *out = NULL;
    }
    return status;
}
