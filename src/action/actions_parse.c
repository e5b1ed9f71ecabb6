/* actions_parse.c - the job's member "actions". */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "action/actions_internal.h"
#include "action/slurm.h"
#include "base/fault.h"

enum { TEXTS = 1000 };
static const char DEFAULT_JOB[] = "TRAIN_JOB_ID"; /* the variable that slurm/ uses for the training's job */

static void free_texts(action_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++)
        free(texts->list[i]);
    free(texts->list);
}

void assay_actions_free(assay_actions *actions)
{
    if (!actions)
        return;
    for (size_t i = 0; i < actions->count; i++) {
        action *a = &actions->list[i];
        free_texts(&a->rules);
        free_texts(&a->options);
        free_texts(&a->arguments);
        free_texts(&a->environment);
        assay_notify_free(a->notify);
        assay_secret_release(&a->job);
        free(a->script);
        free(a->name);
    }
    assay_audit_free(actions->audit);
    free(actions->list);
    free(actions->directory);
    free(actions);
}

/* A list of texts under `key`, none when it is missing. */
static int read_texts(const job_reader *r, const char *place, const cJSON *object, const char *key, action_texts *out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!list)
        return ASSAY_OK;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > TEXTS)
        return job_fail(r, place, "\"%s\" has to be a list of at most %d texts", key, TEXTS);
    out->list = assay_alloc_zeroed((size_t)cJSON_GetArraySize(list) + 1, sizeof *out->list);
    if (!out->list)
        return job_no_memory(r);
    for (const cJSON *item = list->child; item; item = item->next) {
        if (!cJSON_IsString(item))
            return job_fail(r, place, "\"%s\" has to be a list of texts", key);
        if (!(out->list[out->count] = assay_copy_text(item->valuestring)))
            return job_no_memory(r);
        out->count++;
    }
    return ASSAY_OK;
}

static bool is_variable(const char *name)
{
    bool good = isalpha((unsigned char)*name) || *name == '_';
    for (const char *c = name; *c; c++)
        good &= isalnum((unsigned char)*c) || *c == '_';
    return good;
}

/* Those that assay sets itself. */
static bool is_told(const char *name)
{
    static const char *const told[] = {"ASSAY_EVENT", "ASSAY_REPORT", "ASSAY_TRIAL", "ASSAY_RULE", NULL};
    const char *const *t = told;
    while (*t && strcmp(*t, name) != 0)
        t++;
    return *t != NULL;
}

/* {"NAME": "value"} as "NAME=value". */
static int read_environment(const job_reader *r, const char *place, const cJSON *object, action_texts *out)
{
    if (!object)
        return ASSAY_OK;
    if (!cJSON_IsObject(object) || cJSON_GetArraySize(object) > TEXTS)
        return job_fail(r, place, "\"environment\" has to be an object of variables and their values");
    out->list = assay_alloc_zeroed((size_t)cJSON_GetArraySize(object) + 1, sizeof *out->list);
    if (!out->list)
        return job_no_memory(r);
    for (const cJSON *item = object->child; item; item = item->next) {
        if (!is_variable(item->string) || !cJSON_IsString(item))
            return job_fail(r, place,
                            "\"environment\": \"%.60s\": expected the name of a variable, with a text as value",
                            item->string);
        if (is_told(item->string))
            return job_fail(r, place, "\"environment\": %s is set by assay", item->string);
        size_t room = strlen(item->string) + strlen(item->valuestring) + 2;
        char *text = assay_alloc(room);
        if (!text)
            return job_no_memory(r);
        snprintf(text, room, "%s=%s", item->string, item->valuestring);
        out->list[out->count++] = text;
    }
    return ASSAY_OK;
}

static int read_cancel(const job_reader *r, const char *place, const cJSON *object, action *a)
{
    static const char *const keys[] = {"job", NULL};
    char where[ASSAY_JOB_PLACE];
    snprintf(where, sizeof where, "%.80s.job", place);
    int status = job_known_keys(r, place, object, keys);
    const cJSON *job = status == ASSAY_OK ? cJSON_GetObjectItemCaseSensitive(object, "job") : NULL;
    int64_t number;
    char digits[32] = "";
    a->kind = ACTION_CANCEL;
    if (job && assay_json_i64(job, &number))
        snprintf(digits, sizeof digits, "%lld", (long long)number);
    if (status != ASSAY_OK || (job && !digits[0])) {
        status = status == ASSAY_OK ? assay_secret_read(r, where, job, &a->job) : status;
    } else {
        a->job = (assay_secret){job ? ASSAY_SECRET_LITERAL : ASSAY_SECRET_ENV,
                                assay_copy_text(job ? digits : DEFAULT_JOB), NULL};
        status = a->job.source ? ASSAY_OK : job_no_memory(r);
    }
    if (status == ASSAY_OK && a->job.kind == ASSAY_SECRET_LITERAL && !assay_slurm_is_id(a->job.source))
        status = job_fail(r, where, "expected a Slurm job id like 123 or \"123_4\", or {\"env\": NAME}");
    return status;
}

static int read_submit(const job_reader *r, const char *place, const cJSON *object, action *a)
{
    static const char *const keys[] = {"script", "options", "args", "environment", NULL};
    const char *script = NULL;
    a->kind = ACTION_SUBMIT;
    int status = job_known_keys(r, place, object, keys);
    if (status == ASSAY_OK)
        status = job_text(r, place, object, "script", &script);
    if (status == ASSAY_OK && !script)
        status = job_fail(r, place, "\"script\" is missing: the path of a batch script");
    if (status == ASSAY_OK)
        status = read_texts(r, place, object, "options", &a->options);
    if (status == ASSAY_OK)
        status = read_texts(r, place, object, "args", &a->arguments);
    if (status == ASSAY_OK)
        status = read_environment(r, place, cJSON_GetObjectItemCaseSensitive(object, "environment"), &a->environment);
    for (size_t i = 0; status == ASSAY_OK && i < a->options.count; i++) {
        if (a->options.list[i][0] != '-' || strcmp(a->options.list[i], "--") == 0)
            status = job_fail(r, place, "\"options\": \"%.60s\": expected an option of sbatch, like \"--time=60\"",
                              a->options.list[i]);
    }
    if (status != ASSAY_OK)
        return status;
    a->script = assay_copy_text(script);
    return a->script ? ASSAY_OK : job_no_memory(r);
}

static bool is_rule(const assay_job *job, const char *name)
{
    for (size_t i = 0; i < job->rule_count; i++) {
        if (strcmp(job->rules[i]->name, name) == 0)
            return true;
    }
    return false;
}

static int read_severity(const job_reader *r, const char *place, const cJSON *object, action *a)
{
    const char *word = NULL;
    int status = job_text(r, place, object, "severity", &word);
    if (status != ASSAY_OK || !word)
        return status;
    for (int s = ASSAY_INFO; s <= ASSAY_ERROR; s++) {
        if (strcmp(word, assay_severity_name(s)) == 0) {
            a->severity = (assay_severity)s;
            return ASSAY_OK;
        }
    }
    return job_fail(r, place, "\"severity\": \"%.40s\": expected info, warning or error", word);
}

/* When the action runs, and for which findings. */
static int read_when(const job_reader *r, const char *place, const cJSON *object, const assay_job *job, action *a)
{
    const char *on = NULL;
    int64_t limit = ACTION_LIMIT;
    int status = job_text(r, place, object, "on", &on);
    if (status == ASSAY_OK && on && strcmp(on, "finding") != 0 && strcmp(on, "end") != 0)
        status = job_fail(r, place, "\"on\": \"%.40s\": expected finding or end", on);
    a->at_end = on && strcmp(on, "end") == 0;
    for (int i = 0; i < 3 && status == ASSAY_OK && a->at_end; i++) {
        static const char *const only[] = {"rules", "severity", "limit"};
        if (cJSON_GetObjectItemCaseSensitive(object, only[i]))
            status = job_fail(r, place, "\"%s\" is about findings: leave it out with \"on\": \"end\"", only[i]);
    }
    if (status == ASSAY_OK)
        status = read_texts(r, place, object, "rules", &a->rules);
    for (size_t i = 0; status == ASSAY_OK && i < a->rules.count; i++) {
        if (!is_rule(job, a->rules.list[i]))
            status = job_fail(r, place, "\"rules\": the job has no rule called \"%.80s\"", a->rules.list[i]);
    }
    if (status == ASSAY_OK)
        status = read_severity(r, place, object, a);
    const cJSON *most = status == ASSAY_OK ? cJSON_GetObjectItemCaseSensitive(object, "limit") : NULL;
    if (most && (!assay_json_i64(most, &limit) || limit < 1 || limit > ACTION_MOST))
        status = job_fail(r, place, "\"limit\" has to be a whole number from 1 to %d", ACTION_MOST);
    a->limit = (unsigned)limit;
    return status;
}

/* The target's name; a second one of that name gets a number, so that both are done. */
static int make_name(const job_reader *r, assay_actions *actions, action *a)
{
    const char *base = a->kind == ACTION_NOTIFY   ? assay_notify_name(a->notify)
                       : a->kind == ACTION_SUBMIT ? a->script
                                                  : "cancel";
    unsigned twins = 1;
    for (action *other = actions->list; other != a; other++) {
        const char *name = other->kind == ACTION_NOTIFY ? assay_notify_name(other->notify) : other->script;
        twins += other->kind == a->kind && a->kind != ACTION_CANCEL && strcmp(name, base) == 0;
    }
    size_t room = strlen(base) + 32;
    a->name = assay_alloc(room);
    if (!a->name)
        return job_no_memory(r);
    snprintf(a->name, room, twins > 1 ? "%s%s (%u)" : "%s%s", a->kind == ACTION_SUBMIT ? "submit " : "", base, twins);
    return ASSAY_OK;
}

static int read_action(const job_reader *r, size_t number, const cJSON *object, assay_actions *actions)
{
    static const char *const keys[] = {"notify", "mail", "cancel", "submit", "on", "rules", "severity", "limit", NULL};
    action *a = &actions->list[actions->count++];
    char place[40], inner[ASSAY_JOB_PLACE];
    int what = -1, kinds = 0;
    snprintf(place, sizeof place, "actions[%zu]", number);
    int status = job_known_keys(r, place, object, keys);
    if (status != ASSAY_OK)
        return status;
    for (int i = 0; i < 4; i++) {
        if (cJSON_GetObjectItemCaseSensitive(object, keys[i])) {
            what = i;
            kinds++;
        }
    }
    if (kinds != 1)
        return job_fail(r, place, "expected one of \"notify\", \"mail\", \"cancel\", \"submit\"%s",
                        kinds ? ", not several" : "");
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, keys[what]);
    snprintf(inner, sizeof inner, "%s.%s", place, keys[what]);
    if (what < 2)
        status = assay_notify_parse(r->file, inner, what == 0 ? ASSAY_NOTIFY_WEBHOOK : ASSAY_NOTIFY_MAIL, item,
                                    &a->notify, r->err);
    else
        status = what == 2 ? read_cancel(r, inner, item, a) : read_submit(r, inner, item, a);
    if (status == ASSAY_OK)
        status = read_when(r, place, object, actions->job, a);
    return status == ASSAY_OK ? make_name(r, actions, a) : status;
}

int assay_actions_parse(const assay_job *job, assay_actions **out, assay_error *err)
{
    const job_reader r = {job->file, err};
    const cJSON *list = job->actions;
    if (!list)
        return ASSAY_OK;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > ACTIONS)
        return job_fail(&r, "actions", "expected a list of at most %d actions", ACTIONS);
    assay_actions *actions = assay_alloc_zeroed(1, sizeof *actions);
    if (!actions)
        return job_no_memory(&r);
    actions->job = job;
    actions->list = assay_alloc_zeroed((size_t)cJSON_GetArraySize(list), sizeof *actions->list);
    int status = actions->list ? ASSAY_OK : job_no_memory(&r);
    size_t i = 0;
    for (const cJSON *item = list->child; item && status == ASSAY_OK; item = item->next)
        status = read_action(&r, i++, item, actions);
    if (status != ASSAY_OK) {
        assay_actions_free(actions);
        return status;
    }
    *out = actions;
    return ASSAY_OK;
}
