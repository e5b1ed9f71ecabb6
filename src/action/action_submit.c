/* action_submit.c - the action "submit": sbatch of a script, once for each trial that has findings. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "action/actions_internal.h"
#include "action/slurm.h"
#include "base/fault.h"

typedef struct submit_own {
    char *script;
    action_texts options, arguments;
    action_texts environment; /* "NAME=value" */
} submit_own;

/* As a shell can read it; nothing else reaches the script. */
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
    if (cJSON_GetArraySize(object) > ACTION_TEXTS)
        return job_fail(r, place, "\"environment\" has more than %d variables", ACTION_TEXTS);
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
                                                 .most = ACTION_TEXTS,
                                                 .help = "options of sbatch"},
                                                {.name = "args",
                                                 .kind = ASSAY_SETTING_LIST,
                                                 ASSAY_SETTING_AT(submit_entry, arguments),
                                                 .most = ACTION_TEXTS,
                                                 .help = "arguments of the script"},
                                                {.name = "environment",
                                                 .kind = ASSAY_SETTING_OBJECT,
                                                 ASSAY_SETTING_AT(submit_entry, environment),
                                                 .help = "variables of the environment and their values"},
                                                {0}};

static int read_script(const job_reader *r, const char *place, const cJSON *object, action *a)
{
    submit_entry entry = {.script = NULL};
    submit_own *own = assay_alloc_zeroed(1, sizeof *own);
    if (!own)
        return job_no_memory(r);
    a->own = own;
    int status = job_read(r, place, action_submit_settings, object, &entry);
    own->script = entry.script;
    ASSAY_THEN(status, action_texts_read(r, place, "options", entry.options, &own->options));
    ASSAY_THEN(status, action_texts_read(r, place, "args", entry.arguments, &own->arguments));
    ASSAY_THEN(status, read_environment(r, place, entry.environment, &own->environment));
    for (size_t i = 0; status == ASSAY_OK && i < own->options.count; i++) {
        if (own->options.list[i][0] != '-' || strcmp(own->options.list[i], "--") == 0)
            status = job_fail(r, place, "\"options\": \"%.60s\": expected an option of sbatch, like \"--time=60\"",
                              own->options.list[i]);
    }
    return status;
}

static void release(action *a)
{
    submit_own *own = a->own;
    if (!own)
        return;
    action_texts_release(&own->options);
    action_texts_release(&own->arguments);
    action_texts_release(&own->environment);
    free(own->script);
    free(own);
}

static const char *target(const action *a)
{
    const submit_own *own = a->own;
    return own->script;
}

/* "NAME=value"; NULL without memory. */
static char *variable(const char *name, const char *value)
{
    size_t room = strlen(name) + strlen(value) + 2;
    char *text = assay_alloc(room);
    if (text)
        snprintf(text, room, "%s=%s", name, value);
    return text;
}

/* sbatch. The script is told what happened. */
static int run(action_firing *f, const action_event *event, assay_error *err)
{
    const submit_own *own = f->act->own;
    char job[ASSAY_SLURM_ID] = "";
    bool uncertain = false;
    /* Ours first, and no name of the job file is among them (is_told()), so order does not matter. */
    char *told[4] = {variable("ASSAY_EVENT", event->message.event), variable("ASSAY_REPORT", f->actions->directory),
                     variable("ASSAY_TRIAL", event->trial ? event->trial : ""),
                     variable("ASSAY_RULE", event->rule ? event->rule : "")};
    const char **environment = assay_realloc_array(NULL, own->environment.count + 5, sizeof *environment);
    int status = ASSAY_OK;
    if (!environment || !told[0] || !told[1] || !told[2] || !told[3])
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", f->act->name);
    if (status == ASSAY_OK) {
        size_t used = 0;
        for (; used < 4; used++)
            environment[used] = told[used];
        for (size_t i = 0; i < own->environment.count; i++)
            environment[used++] = own->environment.list[i];
        environment[used] = NULL;
        const assay_slurm_script script = {.script = own->script,
                                           .options = (const char *const *)own->options.list,
                                           .arguments = (const char *const *)own->arguments.list,
                                           .environment = environment};
        status = assay_slurm_submit(&script, job, &uncertain, err);
    }
    /* The pointer to "job" is empty after a failure, when `said` is not looked at. */
    snprintf(f->said, sizeof f->said, "job %s", job);
    f->failed = uncertain ? ASSAY_AUDIT_UNKNOWN : ASSAY_AUDIT_FAILED;
    for (int i = 0; i < 4; i++)
        free(told[i]);
    free(environment);
    return status;
}

/* The variables alone: their values may be secrets. */
static void put_variables(const action_texts *environment, assay_buf *out)
{
    assay_put_format(out, ", \"environment\": [");
    for (size_t i = 0; i < environment->count; i++) {
        assay_put_bytes(out, ", ", i ? 2 : 0);
        assay_json_put_text_n(out, environment->list[i], strcspn(environment->list[i], "="));
    }
    assay_put_u8(out, ']');
}

static void put_json(const action *a, assay_buf *out)
{
    const submit_own *own = a->own;
    action_texts_put("options", &own->options, out);
    action_texts_put("args", &own->arguments, out);
    put_variables(&own->environment, out);
}

const action_kind action_submit = {.prefix = "submit ",
                                   .once = ACTION_ONCE_A_TRIAL,
                                   .tells = true,
                                   .read = read_script,
                                   .release = release,
                                   .target = target,
                                   .run = run,
                                   .put_json = put_json};
