/* job.c - the job file as a whole and its output; trials.c reads the trials, rules.c the rules. */
#include "job/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/nearest.h"
#include "job/job_internal.h"
#include "rule/module.h"

#define TOLERANCE 1e-3 /* by which two tensors may differ */
enum { MOST_FINDINGS = 10000000 };

int job_fail(const job_reader *r, const char *place, const char *format, ...)
{
    char text[ASSAY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    if (vsnprintf(text, sizeof text, format, args) < 0)
        text[0] = '\0';
    va_end(args);
    return assay_fail(r->err, ASSAY_EJOB, "%s: %s%s%s", r->file, place, place[0] ? ": " : "", text);
}

int job_no_memory(const job_reader *r)
{
    return assay_fail(r->err, ASSAY_ENOMEM, "%s: out of memory while reading the job", r->file);
}

int job_known_keys(const job_reader *r, const char *place, const cJSON *object, const char *const *known)
{
    assay_error cause = {""};
    int status = assay_json_known_keys(object, place, known, &cause);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    return assay_fail(r->err, status == ASSAY_EFORMAT ? ASSAY_EJOB : status, "%s: %s", r->file, cause.text);
}

int job_text(const job_reader *r, const char *place, const cJSON *object, const char *key, const char **out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (item && (!cJSON_IsString(item) || item->valuestring[0] == '\0'))
        return job_fail(r, place, "\"%s\" has to be a text that is not empty", key);
    *out = item ? item->valuestring : NULL;
    return ASSAY_OK;
}

int job_number(const job_reader *r, const char *place, const cJSON *object, const char *key, double least, double most,
               double *out)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!item)
        return ASSAY_OK;
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= least && item->valuedouble <= most))
        return job_fail(r, place, "\"%s\" has to be a number from %g to %g", key, least, most);
    *out = item->valuedouble;
    return ASSAY_OK;
}

bool job_name_taken(const job_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        const char *other = names->at(names->list, i);
        if (other && strcmp(other, name) == 0)
            return true;
    }
    return false;
}

char *job_name_free(const job_names *names, const char *base)
{
    size_t length = strlen(base), n = 1;
    char *name = assay_alloc(length + 24);
    if (!name)
        return NULL;
    memcpy(name, base, length + 1);
    if (!job_name_taken(names, name))
        return name;
    /* At least so many numbers are in use: without this start a long list of equal names would take cubic time. */
    for (size_t i = 0; i < names->count; i++) {
        const char *other = names->at(names->list, i);
        n += other && strncmp(other, base, length) == 0 && (other[length] == '\0' || other[length] == '-');
    }
    do
        snprintf(name + length, 24, "-%zu", n++);
    while (job_name_taken(names, name));
    return name;
}

int assay_job_form_find(const assay_job_forms *forms, const char *word, size_t length)
{
    for (int f = 0; f < forms->count; f++)
        if (strlen(forms->list[f].word) == length && memcmp(forms->list[f].word, word, length) == 0)
            return f;
    return -1;
}

/* Fails with `text` and the words of all forms. */
static int fail_with_forms(const job_reader *r, const assay_job_forms *forms, const char *text)
{
    char words[256] = "";
    size_t length = 0;
    for (int f = 0; f < forms->count && length < sizeof words; f++)
        length += (size_t)snprintf(words + length, sizeof words - length, " %s", forms->list[f].word);
    return job_fail(r, "output.formats", "%s:%s", text, words);
}

static int read_formats(const job_reader *r, const cJSON *list, assay_job *job)
{
    char text[64 + ASSAY_NEAREST_ROOM], hint[ASSAY_NEAREST_ROOM];
    assay_nearest nearest;
    if (!list)
        return ASSAY_OK;
    if (!cJSON_IsArray(list) || !list->child)
        return fail_with_forms(r, job->forms, "expected a list of formats, of these");
    job->formats = 0;
    for (const cJSON *item = list->child; item; item = item->next) {
        const char *word = cJSON_IsString(item) ? item->valuestring : "";
        int form = assay_job_form_find(job->forms, word, strlen(word));
        if (form < 0) {
            assay_nearest_begin(&nearest, word, strlen(word));
            for (int f = 0; f < job->forms->count; f++)
                assay_nearest_offer(&nearest, job->forms->list[f].word);
            snprintf(text, sizeof text, "unknown format \"%.40s\"%s; known", word, assay_nearest_hint(&nearest, hint));
            return fail_with_forms(r, job->forms, text);
        }
        job->formats |= 1u << form;
    }
    return ASSAY_OK;
}

static int read_output(const job_reader *r, const cJSON *output, assay_job *job)
{
    static const char *const keys[] = {"directory", "formats", "max_findings", NULL};
    const char *directory = NULL;
    if (!output)
        return ASSAY_OK;
    int status = job_known_keys(r, "output", output, keys);
    if (status == ASSAY_OK)
        status = job_text(r, "output", output, "directory", &directory);
    if (status == ASSAY_OK)
        status = read_formats(r, cJSON_GetObjectItemCaseSensitive(output, "formats"), job);
    if (status != ASSAY_OK)
        return status;
    const cJSON *most = cJSON_GetObjectItemCaseSensitive(output, "max_findings");
    int64_t number = ASSAY_MAX_FINDINGS;
    if (most && (!assay_json_i64(most, &number) || number < 1 || number > MOST_FINDINGS))
        return job_fail(r, "output.max_findings", "expected a whole number from 1 to %d", MOST_FINDINGS);
    job->max_findings = (size_t)number;
    if (directory && !(job->output_directory = assay_copy_text(directory)))
        return job_no_memory(r);
    return ASSAY_OK;
}

static int read_s3(const job_reader *r, const cJSON *s3, assay_job *job)
{
    static const char *const keys[] = {"unsigned", NULL};
    if (!s3)
        return ASSAY_OK;
    int status = job_known_keys(r, "s3", s3, keys);
    if (status != ASSAY_OK)
        return status;
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(s3, "unsigned");
    if (item && !cJSON_IsBool(item))
        return job_fail(r, "s3.unsigned", "expected true or false");
    job->unsigned_s3 = cJSON_IsTrue(item);
    return ASSAY_OK;
}

/* What the trials are compared with, and from which difference on. */
static int read_comparison(const job_reader *r, const cJSON *comparison, assay_job *job)
{
    static const char *const keys[] = {"baseline", "tolerance", NULL};
    const char *baseline = NULL;
    if (!comparison)
        return ASSAY_OK;
    int status = job_known_keys(r, "comparison", comparison, keys);
    if (status == ASSAY_OK)
        status = job_text(r, "comparison", comparison, "baseline", &baseline);
    if (status != ASSAY_OK)
        return status;
    const cJSON *tolerance = cJSON_GetObjectItemCaseSensitive(comparison, "tolerance");
    if (tolerance && (!cJSON_IsNumber(tolerance) || !(tolerance->valuedouble >= 0)))
        return job_fail(r, "comparison.tolerance", "expected a number, 0 or more");
    job->tolerance = tolerance ? tolerance->valuedouble : job->tolerance;
    job->baseline_name = baseline ? assay_copy_text(baseline) : NULL;
    return baseline && !job->baseline_name ? job_no_memory(r) : ASSAY_OK;
}

/* Shared objects with rules of one's own; those become known here, before any rule is configured. */
static int read_modules(const job_reader *r, const cJSON *list)
{
    char place[ASSAY_JOB_PLACE];
    int status = ASSAY_OK;
    if (list && !cJSON_IsArray(list))
        return job_fail(r, "modules", "expected a list of paths");
    if (list && cJSON_GetArraySize(list) > ASSAY_JOB_TRIALS)
        return job_fail(r, "modules", "more than %d modules", ASSAY_JOB_TRIALS);
    const cJSON *item = list ? list->child : NULL;
    for (size_t i = 0; status == ASSAY_OK && item; item = item->next, i++) {
        assay_error why = {""};
        snprintf(place, sizeof place, "modules[%zu]", i);
        if (!cJSON_IsString(item) || item->valuestring[0] == '\0')
            return job_fail(r, place, "expected the path of a shared object");
        status = assay_module_load(item->valuestring, &why);
        if (status != ASSAY_OK)
            status = status == ASSAY_ENOMEM ? job_no_memory(r) : job_fail(r, place, "%s", why.text);
    }
    return status;
}

static int read_document(const job_reader *r, cJSON *document, assay_job *job)
{
    /* "$schema" is for editors. */
    static const char *const keys[] = {"trials",
                                       "modules",
                                       "rules",
                                       "DebugRuleConfigurations",
                                       "aggregations",
                                       "images",
                                       "histograms",
                                       "comparison",
                                       "output",
                                       "actions",
                                       "s3",
                                       "$schema",
                                       NULL};
    int status = job_known_keys(r, "the job", document, keys);
    if (status == ASSAY_OK)
        job->actions = cJSON_DetachItemFromObjectCaseSensitive(document, "actions");
    if (status == ASSAY_OK)
        status = job_read_trials(r, cJSON_GetObjectItemCaseSensitive(document, "trials"), job);
    if (status == ASSAY_OK)
        status = read_comparison(r, cJSON_GetObjectItemCaseSensitive(document, "comparison"), job);
    if (status == ASSAY_OK)
        status = read_output(r, cJSON_GetObjectItemCaseSensitive(document, "output"), job);
    if (status == ASSAY_OK)
        status = read_s3(r, cJSON_GetObjectItemCaseSensitive(document, "s3"), job);
    if (status == ASSAY_OK)
        status = read_modules(r, cJSON_GetObjectItemCaseSensitive(document, "modules"));
    return status == ASSAY_OK ? job_read_rules(r, document, job) : status;
}

int assay_job_parse(const char *file, const void *text, size_t size, const assay_job_forms *forms, assay_job *out,
                    assay_error *err)
{
    const job_reader r = {file, err};
    assay_job job = {.forms = forms, .max_findings = ASSAY_MAX_FINDINGS, .tolerance = TOLERANCE};
    for (int f = 0; f < forms->count; f++)
        job.formats |= (unsigned)forms->list[f].by_default << f;
    cJSON *document = NULL;
    int status = assay_json_parse_commented(file, text, size, &document, err);
    if (status != ASSAY_OK)
        return status == ASSAY_EFORMAT ? ASSAY_EJOB : status;
    job.file = assay_copy_text(file);
    status = job.file ? read_document(&r, document, &job) : job_no_memory(&r);
    cJSON_Delete(document);
    if (status != ASSAY_OK) {
        assay_job_release(&job);
        return status;
    }
    *out = job;
    return ASSAY_OK;
}

static void free_instances(assay_instance **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assay_instance_free(list[i]);
    free(list);
}

void assay_job_release(assay_job *job)
{
    job_release_trials(job);
    free_instances(job->rules, job->rule_count);
    free_instances(job->aggregations, job->aggregation_count);
    free_instances(job->implicit, job->implicit_count);
    free(job->baseline_name);
    cJSON_Delete(job->actions);
    free(job->output_directory);
    free(job->file);
    *job = (assay_job){0};
}
