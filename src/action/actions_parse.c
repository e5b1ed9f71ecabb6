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

/* A list of texts, none when it is missing. */
static int read_texts(const job_reader *r, const char *place, const char *key, const cJSON *list, action_texts *out)
{
    if (!list)
        return ASSAY_OK;
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
    if (cJSON_GetArraySize(object) > TEXTS)
        return job_fail(r, place, "\"environment\" has more than %d variables", TEXTS);
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

const assay_setting action_cancel_settings[] = {
    {.name = "job",
     .kind = ASSAY_SETTING_ITEM,
     .help = "a Slurm job id, or where it is found; the variable TRAIN_JOB_ID otherwise"},
    {0}};

static int read_cancel(const job_reader *r, const char *place, const cJSON *object, action *a)
{
    char where[ASSAY_JOB_PLACE];
    const cJSON *job = NULL;
    snprintf(where, sizeof where, "%.80s.job", place);
    int status = job_read(r, place, action_cancel_settings, object, &job);
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

typedef struct submit_entry {
    char *script;
    const cJSON *options, *arguments, *environment;
} submit_entry;

const assay_setting action_submit_settings[] = {{.name = "script",
                                                 .kind = ASSAY_SETTING_COPY,
                                                 ASSAY_SETTING_AT(submit_entry, script),
                                                 .required = true,
                                                 .help = "the path of a batch script"},
                                                {.name = "options",
                                                 .kind = ASSAY_SETTING_LIST,
                                                 ASSAY_SETTING_AT(submit_entry, options),
                                                 .most = TEXTS,
                                                 .help = "options of sbatch"},
                                                {.name = "args",
                                                 .kind = ASSAY_SETTING_LIST,
                                                 ASSAY_SETTING_AT(submit_entry, arguments),
                                                 .most = TEXTS,
                                                 .help = "arguments of the script"},
                                                {.name = "environment",
                                                 .kind = ASSAY_SETTING_OBJECT,
                                                 ASSAY_SETTING_AT(submit_entry, environment),
                                                 .help = "variables of the environment and their values"},
                                                {0}};

static int read_submit(const job_reader *r, const char *place, const cJSON *object, action *a)
{
    submit_entry entry = {.script = NULL};
    a->kind = ACTION_SUBMIT;
    int status = job_read(r, place, action_submit_settings, object, &entry);
    a->script = entry.script;
    ASSAY_THEN(status, read_texts(r, place, "options", entry.options, &a->options));
    ASSAY_THEN(status, read_texts(r, place, "args", entry.arguments, &a->arguments));
    ASSAY_THEN(status, read_environment(r, place, entry.environment, &a->environment));
    for (size_t i = 0; status == ASSAY_OK && i < a->options.count; i++) {
        if (a->options.list[i][0] != '-' || strcmp(a->options.list[i], "--") == 0)
            status = job_fail(r, place, "\"options\": \"%.60s\": expected an option of sbatch, like \"--time=60\"",
                              a->options.list[i]);
    }
    return status;
}

static bool is_rule(const assay_job *job, const char *name)
{
    for (size_t i = 0; i < job->rule_count; i++) {
        if (strcmp(job->rules[i]->name, name) == 0)
            return true;
    }
    return false;
}

enum { DO_NOTIFY, DO_MAIL, DO_CANCEL, DO_SUBMIT, DEEDS };

typedef struct action_entry {
    const cJSON *deed[DEEDS], *rules;
    int at_end;
    assay_severity severity;
    unsigned limit;
} action_entry;

#define AT(member) ASSAY_SETTING_AT(action_entry, member)
const assay_setting action_settings[] = {
    {.name = "notify", .kind = ASSAY_SETTING_ITEM, AT(deed[DO_NOTIFY]), .help = "sends a message to a webhook"},
    {.name = "mail", .kind = ASSAY_SETTING_ITEM, AT(deed[DO_MAIL]), .help = "sends a mail"},
    {.name = "cancel", .kind = ASSAY_SETTING_ITEM, AT(deed[DO_CANCEL]), .help = "cancels a job of Slurm"},
    {.name = "submit", .kind = ASSAY_SETTING_ITEM, AT(deed[DO_SUBMIT]), .help = "submits a batch script to Slurm"},
    {.name = "on",
     .kind = ASSAY_SETTING_WORD,
     AT(at_end),
     .words = "finding|end",
     .initial = "finding",
     .help = "when it is done: for each rule that fires, or once at the end"},
    {.name = "rules",
     .kind = ASSAY_SETTING_LIST,
     AT(rules),
     .most = TEXTS,
     .help = "names of the job's rules; all of them otherwise"},
    {.name = "severity",
     .kind = ASSAY_SETTING_WORD,
     AT(severity),
     .words = "info|warning|error",
     .initial = "info",
     .help = "the least grave findings that count"},
    {.name = "limit",
     .kind = ASSAY_SETTING_COUNT,
     AT(limit),
     .least = 1,
     .most = ACTION_MOST,
     .initial = "100",
     .help = "how often it is done in a process at most"},
    {0}};
#undef AT

/* When the action runs, and for which findings. */
static int read_when(const job_reader *r, const char *place, const cJSON *object, const action_entry *entry,
                     const assay_job *job, action *a)
{
    static const char *const only[] = {"rules", "severity", "limit"};
    a->at_end = entry->at_end;
    a->severity = entry->severity;
    a->limit = entry->limit;
    for (int i = 0; i < 3 && a->at_end; i++)
        if (cJSON_GetObjectItemCaseSensitive(object, only[i]))
            return job_fail(r, place, "\"%s\" is about findings: leave it out with \"on\": \"end\"", only[i]);
    int status = read_texts(r, place, "rules", entry->rules, &a->rules);
    for (size_t i = 0; status == ASSAY_OK && i < a->rules.count; i++)
        if (!is_rule(job, a->rules.list[i]))
            status = job_fail(r, place, "\"rules\": the job has no rule called \"%.80s\"", a->rules.list[i]);
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
    action *a = &actions->list[actions->count++];
    action_entry entry;
    char place[40], inner[ASSAY_JOB_PLACE];
    int what = -1, deeds = 0;
    snprintf(place, sizeof place, "actions[%zu]", number);
    int status = job_read(r, place, action_settings, object, &entry);
    ASSAY_TRY(status);
    for (int i = 0; i < DEEDS; i++) {
        what = entry.deed[i] ? i : what;
        deeds += entry.deed[i] != NULL;
    }
    if (deeds != 1)
        return job_fail(r, place, "expected one of \"notify\", \"mail\", \"cancel\", \"submit\"%s",
                        deeds ? ", not several" : "");
    const cJSON *item = entry.deed[what];
    snprintf(inner, sizeof inner, "%s.%s", place, action_settings[what].name);
    if (what == DO_CANCEL || what == DO_SUBMIT)
        status = what == DO_CANCEL ? read_cancel(r, inner, item, a) : read_submit(r, inner, item, a);
    else
        status =
            assay_notify_parse(r, inner, what == DO_MAIL ? ASSAY_NOTIFY_MAIL : ASSAY_NOTIFY_WEBHOOK, item, &a->notify);
    ASSAY_THEN(status, read_when(r, place, object, &entry, actions->job, a));
    return status == ASSAY_OK ? make_name(r, actions, a) : status;
}

int assay_actions_parse(const assay_job *job, assay_actions **out, assay_error *err)
{
    const job_reader r = {job->file, err, job->text, job->text_size};
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
