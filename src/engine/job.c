/* job.c - the job file as a whole: its trials and its output; job_rules.c reads the rules. */
#include "engine/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "engine/job_internal.h"
#include "rule/module.h"

enum { MAX_FINDINGS = 1000, MOST_FINDINGS = 10000000 };

static const char *const FORMAT_WORDS[ASSAY_FORMATS] = {
#define FORMAT_WORD(name, word) word,
    ASSAY_FORMAT_LIST(FORMAT_WORD)
#undef FORMAT_WORD
};
static const char *const DRAWING_FORMATS[] = {"html", "csv", "tensorboard", NULL};

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

/* Where two spellings of a location are certainly the same: "./runs//a/" and "file://runs/a" are "runs/a". The caller
 * frees it. */
static char *plain_path(const char *path)
{
    const char *scheme = strstr(path, "://");
    if (strncmp(path, "file://", 7) == 0) {
        path += 7;
        scheme = NULL;
    }
    char *plain = assay_alloc(strlen(path) + 2);
    if (!plain)
        return NULL;
    size_t used = 0;
    if (scheme) {
        used = (size_t)(scheme - path) + 3;
        memcpy(plain, path, used);
        path += used;
    } else if (*path == '/') {
        plain[used++] = '/';
    }
    size_t root = used;
    while (*path) {
        size_t part = strcspn(path, "/");
        if (part > 0 && !(part == 1 && *path == '.')) {
            if (used > root)
                plain[used++] = '/';
            memcpy(plain + used, path, part);
            used += part;
        }
        path += part + (path[part] == '/');
    }
    if (used == 0)
        plain[used++] = '.';
    plain[used] = '\0';
    return plain;
}

static const char *last_part(const char *plain)
{
    const char *slash = strrchr(plain, '/');
    return slash && slash[1] ? slash + 1 : plain;
}

char *assay_job_trial_name(const char *path)
{
    char *plain = plain_path(path), *name = plain ? assay_copy_text(last_part(plain)) : NULL;
    size_t length = name ? strlen(name) : 0;
    if (length > 3 && strcmp(name + length - 3, ".h5") == 0) /* a packed trial is called as its directory was */
        name[length - 3] = '\0';
    free(plain);
    return name;
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

static const char *trial_name_at(const void *list, size_t i)
{
    return ((const assay_job_trial *)list)[i].name;
}

/* The number of the trial with the same location, or trial_count; SIZE_MAX without memory. */
static size_t find_location(const assay_job *job, const char *plain)
{
    for (size_t i = 0; i < job->trial_count; i++) {
        char *other = plain_path(job->trials[i].path);
        if (!other)
            return SIZE_MAX;
        bool same = strcmp(plain, other) == 0;
        free(other);
        if (same)
            return i;
    }
    return job->trial_count;
}

/* Appends a trial; room for it is there. `name` is NULL when none was given. */
static int add_trial(const job_reader *r, const char *place, int status, assay_job *job, const char *path,
                     const char *name)
{
    char *plain = plain_path(path);
    if (!plain)
        return job_no_memory(r);
    const job_names names = {job->trials, job->trial_count, trial_name_at};
    size_t twin = find_location(job, plain);
    bool named_twice = name && job_name_taken(&names, name);
    if (twin < job->trial_count || named_twice) {
        free(plain);
        return assay_fail(r->err, status, "%s: %s: the trial %s \"%.200s\" is listed twice", r->file, place,
                          named_twice ? "name" : "path", named_twice ? name : path);
    }
    assay_job_trial *trial = &job->trials[job->trial_count];
    trial->path = twin == SIZE_MAX ? NULL : assay_copy_text(path);
    trial->name = name ? assay_copy_text(name) : job_name_free(&names, last_part(plain));
    free(plain);
    if (trial->path && trial->name) {
        job->trial_count++;
        return ASSAY_OK;
    }
    free(trial->path);
    free(trial->name);
    return job_no_memory(r);
}

static void release_trials(assay_job *job)
{
    for (size_t i = 0; i < job->trial_count; i++) {
        free(job->trials[i].path);
        free(job->trials[i].name);
    }
    free(job->trials);
    job->trials = NULL;
    job->trial_count = 0;
}

static int read_trial(const job_reader *r, size_t i, const cJSON *item, assay_job *job)
{
    static const char *const keys[] = {"path", "name", NULL};
    char place[ASSAY_JOB_PLACE];
    const char *path = NULL, *name = NULL;
    snprintf(place, sizeof place, "trials[%zu]", i);
    if (cJSON_IsString(item)) {
        if (item->valuestring[0] == '\0')
            return job_fail(r, place, "the path is empty");
        return add_trial(r, place, ASSAY_EJOB, job, item->valuestring, NULL);
    }
    if (!cJSON_IsObject(item))
        return job_fail(r, place, "expected a path, or an object with \"path\" and \"name\"");
    int status = job_known_keys(r, place, item, keys);
    if (status == ASSAY_OK)
        status = job_text(r, place, item, "path", &path);
    if (status == ASSAY_OK)
        status = job_text(r, place, item, "name", &name);
    if (status == ASSAY_OK && !path)
        status = job_fail(r, place, "\"path\" is missing");
    return status == ASSAY_OK ? add_trial(r, place, ASSAY_EJOB, job, path, name) : status;
}

static int read_trials(const job_reader *r, const cJSON *list, assay_job *job)
{
    if (!list)
        return ASSAY_OK;
    if (!cJSON_IsArray(list))
        return job_fail(r, "trials", "expected a list of paths or objects");
    if (cJSON_GetArraySize(list) > ASSAY_JOB_TRIALS)
        return job_fail(r, "trials", "more than %d trials", ASSAY_JOB_TRIALS);
    job->trials = assay_alloc_zeroed((size_t)cJSON_GetArraySize(list), sizeof *job->trials);
    if (!job->trials)
        return job_no_memory(r);
    int status = ASSAY_OK;
    size_t i = 0;
    for (const cJSON *item = list->child; item && status == ASSAY_OK; item = item->next)
        status = read_trial(r, i++, item, job);
    return status;
}

const char *assay_job_format_word(int format)
{
    return FORMAT_WORDS[format];
}

bool assay_job_format_draws(int format)
{
    for (size_t i = 0; DRAWING_FORMATS[i]; i++)
        if (strcmp(FORMAT_WORDS[format], DRAWING_FORMATS[i]) == 0)
            return true;
    return false;
}

int assay_job_format(const char *word, size_t length)
{
    for (int f = 0; f < ASSAY_FORMATS; f++) {
        if (strlen(FORMAT_WORDS[f]) == length && memcmp(FORMAT_WORDS[f], word, length) == 0)
            return f;
    }
    return -1;
}

static int read_formats(const job_reader *r, const cJSON *list, assay_job *job)
{
    if (!list)
        return ASSAY_OK;
    if (!cJSON_IsArray(list) || !list->child)
        return job_fail(r, "output.formats", "expected a list of formats, of these:" ASSAY_FORMAT_WORDS);
    job->formats = 0;
    for (const cJSON *item = list->child; item; item = item->next) {
        const char *word = cJSON_IsString(item) ? item->valuestring : "";
        int format = assay_job_format(word, strlen(word));
        if (format < 0)
            return job_fail(r, "output.formats", "unknown format \"%.40s\"; known:" ASSAY_FORMAT_WORDS, word);
        job->formats |= 1u << format;
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
    int64_t number = MAX_FINDINGS;
    if (most && (!assay_json_i64(most, &number) || number < 1 || number > MOST_FINDINGS))
        return job_fail(r, "output.max_findings", "expected a whole number from 1 to %d", MOST_FINDINGS);
    job->max_findings = (size_t)number;
    if (directory && !(job->output_directory = assay_copy_text(directory)))
        return job_no_memory(r);
    return ASSAY_OK;
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
    static const char *const keys[] = {"trials", "modules",      "rules", "DebugRuleConfigurations",
                                       "aggregations", "output", NULL};
    int status = job_known_keys(r, "the job", document, keys);
    if (status == ASSAY_OK)
        status = read_trials(r, cJSON_GetObjectItemCaseSensitive(document, "trials"), job);
    if (status == ASSAY_OK)
        status = read_output(r, cJSON_GetObjectItemCaseSensitive(document, "output"), job);
    if (status == ASSAY_OK)
        status = read_modules(r, cJSON_GetObjectItemCaseSensitive(document, "modules"));
    return status == ASSAY_OK ? job_read_rules(r, document, job) : status;
}

int assay_job_parse(const char *file, const void *text, size_t size, assay_job *out, assay_error *err)
{
    const job_reader r = {file, err};
    assay_job job = {.formats = 1u << ASSAY_FORMAT_JSON | 1u << ASSAY_FORMAT_TEXT, .max_findings = MAX_FINDINGS};
    cJSON *document = NULL;
    int status = assay_json_parse(file, text, size, &document, err);
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
    release_trials(job);
    free_instances(job->rules, job->rule_count);
    free_instances(job->aggregations, job->aggregation_count);
    free_instances(job->implicit, job->implicit_count);
    free(job->output_directory);
    free(job->file);
    *job = (assay_job){0};
}

/* "NAME=PATH": what stands before the first '=' is a name unless it has a '/' in it ("runs/lr=0.1" is a path). */
static int split_trial(const job_reader *r, const char *text, char **name, const char **path)
{
    size_t head = strcspn(text, "=/");
    *name = NULL;
    *path = text;
    if (text[head] != '=' || head == 0)
        return ASSAY_OK;
    *path = text + head + 1;
    *name = assay_copy_bytes_as_text(text, head);
    return *name ? ASSAY_OK : job_no_memory(r);
}

int assay_job_set_trials(assay_job *job, const char *const *paths, size_t count, assay_error *err)
{
    const job_reader r = {"--trial", err};
    if (count > ASSAY_JOB_TRIALS)
        return assay_fail(err, ASSAY_EUSAGE, "--trial: more than %d trials", ASSAY_JOB_TRIALS);
    assay_job fresh = {.trials = assay_alloc_zeroed(count, sizeof *fresh.trials)};
    int status = fresh.trials ? ASSAY_OK : job_no_memory(&r);
    for (size_t i = 0; i < count && status == ASSAY_OK; i++) {
        char *name = NULL;
        const char *path = NULL;
        status = split_trial(&r, paths[i], &name, &path);
        if (status == ASSAY_OK && path[0] == '\0')
            status = assay_fail(err, ASSAY_EUSAGE, "--trial %.200s: the path is empty", paths[i]);
        if (status == ASSAY_OK)
            status = add_trial(&r, paths[i], ASSAY_EUSAGE, &fresh, path, name);
        free(name);
    }
    if (status != ASSAY_OK) {
        release_trials(&fresh);
        return status;
    }
    release_trials(job);
    job->trials = fresh.trials;
    job->trial_count = fresh.trial_count;
    return ASSAY_OK;
}
