/* trial_options.c - what a job says of how one of its trials is to be read: "steps", "void",
 * "topology" and "format". */
#include <stdio.h>

#include "job/job_internal.h"

/* Each pattern is tried on each name of a trial. */
enum { PATTERNS_MOST = 100 };

/* Finds the trial's options, made when it has none; NULL without memory. */
static assay_trial_options *options_of(assay_job_trial *trial)
{
    if (!trial->options)
        trial->options = assay_trial_options_new();
    return trial->options;
}

/* Reads "steps": ["run-([0-9]+)", ..]. A pattern that is wrong, or has no group, is refused here and not at the first
 * file. */
static int read_steps(const job_reader *r, const char *place, const cJSON *list, assay_job_trial *trial)
{
    char own[ASSAY_JOB_PLACE];
    int status = ASSAY_OK, i = 0;
    snprintf(own, sizeof own, "%s.steps", place);
    if (!list)
        return ASSAY_OK;
    if (!cJSON_IsArray(list) || !list->child)
        return job_fail(r, own, "expected a list of regular expressions, each with a group for the step's number");
    if (cJSON_GetArraySize(list) > PATTERNS_MOST)
        return job_fail(r, own, "more than %d patterns", PATTERNS_MOST);
    if (!options_of(trial))
        return job_no_memory(r);
    for (const cJSON *item = list->child; item && status == ASSAY_OK; item = item->next, i++) {
        assay_error what = {""};
        snprintf(own, sizeof own, "%s.steps[%d]", place, i);
        if (!cJSON_IsString(item) || item->valuestring[0] == '\0')
            return job_fail(r, own, "expected a regular expression");
        status = assay_trial_options_add_step(trial->options, item->valuestring, &what);
        if (status == ASSAY_EFORMAT)
            return job_fail(r, own, "%s", what.text);
    }
    return status == ASSAY_OK ? status : job_no_memory(r);
}

/* Reads "void": {"V2": "bfloat16"}. */
static int read_void(const job_reader *r, const char *place, const cJSON *object, assay_job_trial *trial)
{
    char own[ASSAY_JOB_PLACE];
    snprintf(own, sizeof own, "%s.void", place);
    if (!object)
        return ASSAY_OK;
    if (!cJSON_IsObject(object))
        return job_fail(r, own, "expected an object, such as {\"V2\": \"bfloat16\"}");
    if (!options_of(trial))
        return job_no_memory(r);
    for (const cJSON *item = object->child; item; item = item->next) {
        assay_error what = {""};
        if (!cJSON_IsString(item))
            return job_fail(r, own, "expected the name of a dtype for \"%.40s\"", item->string);
        if (assay_trial_options_set_void(trial->options, item->string, item->valuestring, &what) != ASSAY_OK)
            return job_fail(r, own, "%s", what.text);
    }
    return ASSAY_OK;
}

/* Reads "topology": the path of a file, or what would be in it. It is looked at when the trial is listed. */
static int read_topology(const job_reader *r, const char *place, const cJSON *topology, assay_job_trial *trial)
{
    char own[ASSAY_JOB_PLACE];
    snprintf(own, sizeof own, "%s.topology", place);
    if (!topology)
        return ASSAY_OK;
    if (!cJSON_IsObject(topology) && !(cJSON_IsString(topology) && topology->valuestring[0] != '\0'))
        return job_fail(r, own, "expected the path of a topology.json, or the object itself");
    char *text = cJSON_IsObject(topology) ? cJSON_PrintUnformatted(topology) : NULL;
    const char *said = cJSON_IsObject(topology) ? text : topology->valuestring;
    const bool kept = said && options_of(trial) && assay_trial_options_set_topology(trial->options, said) == ASSAY_OK;
    cJSON_free(text);
    return kept ? ASSAY_OK : job_no_memory(r);
}

int job_read_trial_options(const job_reader *r, const char *place, const job_trial_entry *entry, assay_job_trial *trial)
{
    int status = read_steps(r, place, entry->steps, trial);
    ASSAY_THEN(status, read_void(r, place, entry->void_types, trial));
    ASSAY_THEN(status, read_topology(r, place, entry->topology, trial));
    if (status == ASSAY_OK && entry->log_kind &&
        (!options_of(trial) || assay_trial_options_set_log_kind(trial->options, entry->log_kind) != ASSAY_OK))
        status = job_no_memory(r);
    return status;
}
