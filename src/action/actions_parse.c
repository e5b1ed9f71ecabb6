/* actions_parse.c - the job's member "actions". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "action/actions_internal.h"
#include "base/fault.h"

enum { ACTIONS = 100, ACTION_MOST = 100000 };

void action_texts_release(action_texts *texts)
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
        if (a->kind)
            a->kind->release(a);
        action_texts_release(&a->rules);
        free(a->name);
    }
    assay_audit_free(actions->audit);
    free(actions->list);
    free(actions->directory);
    free(actions);
}

int action_texts_read(const job_reader *r, const char *place, const char *key, const cJSON *list, action_texts *out)
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

/* Rules of the job file by their names there; actions are read when the rules are. */
static bool is_rule(const assay_job *job, const char *name)
{
    for (size_t i = 0; i < job->rule_count; i++) {
        if (strcmp(job->rules[i]->name, name) == 0)
            return true;
    }
    return false;
}

enum kind_number {
#define X(name, help) DO_##name,
#include "action/actions.def"
#undef X
    KINDS
};

static const action_kind *const kinds[KINDS] = {
#define X(name, help) &action_##name,
#include "action/actions.def"
#undef X
};

typedef struct action_entry {
    const cJSON *deed[KINDS], *rules;
    int at_end;
    assay_severity severity;
    unsigned limit;
} action_entry;

#define AT(member) ASSAY_SETTING_AT(action_entry, member)
const assay_setting action_settings[] = {
#define X(key, text) {.name = #key, .kind = ASSAY_SETTING_ITEM, AT(deed[DO_##key]), .help = text},
#include "action/actions.def"
#undef X
    {.name = "on",
     .kind = ASSAY_SETTING_WORD,
     AT(at_end),
     .words = "finding|end",
     .initial = "finding",
     .help = "when it is done: for each rule that fires, or once at the end"},
    {.name = "rules",
     .kind = ASSAY_SETTING_LIST,
     AT(rules),
     .most = ACTION_TEXTS,
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

/* Reads when the action runs, and for which findings. "limit" and the like are about findings, so with "end" they
 * would do nothing, and are refused. */
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
    int status = action_texts_read(r, place, "rules", entry->rules, &a->rules);
    for (size_t i = 0; status == ASSAY_OK && i < a->rules.count; i++)
        if (!is_rule(job, a->rules.list[i]))
            status = job_fail(r, place, "\"rules\": the job has no rule called \"%.80s\"", a->rules.list[i]);
    return status;
}

/* Makes the name from the target's; a second one of that name gets a number, so that both are done. The number
 * follows the order in the file, so a restart finds the same names in the log. */
static int make_name(const job_reader *r, assay_actions *actions, action *a)
{
    const char *target = a->kind->target(a);
    unsigned twins = 1;
    for (const action *other = actions->list; other != a && a->kind->once != ACTION_ONCE; other++)
        twins += other->kind == a->kind && strcmp(other->kind->target(other), target) == 0;
    const size_t room = strlen(a->kind->prefix) + strlen(target) + 24;
    a->name = assay_alloc(room);
    if (!a->name)
        return job_no_memory(r);
    snprintf(a->name, room, twins > 1 ? "%s%s (%u)" : "%s%s", a->kind->prefix, target, twins);
    return ASSAY_OK;
}

/* None of the kinds is asked for, or several. */
static int fail_kinds(const job_reader *r, const char *place, bool several)
{
    char list[200] = "";
    for (size_t i = 0, used = 0; i < KINDS && used < sizeof list; i++) /* the kinds begin the table of the keys */
        used += (size_t)snprintf(list + used, sizeof list - used, "%s\"%s\"", i ? ", " : "", action_settings[i].name);
    return job_fail(r, place, "expected one of %s%s", list, several ? ", not several" : "");
}

static int read_action(const job_reader *r, size_t number, const cJSON *object, assay_actions *actions)
{
    /* Counted before it is read, so that assay_actions_free() releases what a failure leaves. */
    action *a = &actions->list[actions->count++];
    action_entry entry;
    char place[40], inner[ASSAY_JOB_PLACE];
    int what = -1, deeds = 0;
    snprintf(place, sizeof place, "actions[%zu]", number);
    int status = job_read(r, place, action_settings, object, &entry);
    ASSAY_TRY(status);
    for (int i = 0; i < KINDS; i++) {
        what = entry.deed[i] ? i : what;
        deeds += entry.deed[i] != NULL;
    }
    if (deeds != 1)
        return fail_kinds(r, place, deeds > 0);
    snprintf(inner, sizeof inner, "%s.%s", place, action_settings[what].name);
    a->kind = kinds[what];
    status = a->kind->read(r, inner, entry.deed[what], a);
    ASSAY_THEN(status, read_when(r, place, object, &entry, actions->job, a));
    return status == ASSAY_OK ? make_name(r, actions, a) : status;
}

/* Only checks and copies: nothing outside is touched before assay_actions_prepare(). */
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
