/* actions_list.c - lists the actions of a job, as text and as JSON. */
#include <string.h>

#include "action/actions_internal.h"
#include "report/text/layout.h"

int assay_actions_put_list(const assay_actions *actions, assay_buf *out)
{
    for (size_t i = 0; actions && i < actions->count; i++) {
        const action *a = &actions->list[i];
        assay_put_format(out, "action        ");
        assay_text_put_clean(out, a->name, strlen(a->name));
        assay_put_format(out, a->at_end ? ": at the end" : ": on a finding");
        if (!a->at_end && a->severity > ASSAY_INFO)
            assay_put_format(out, " of %s%s", assay_severity_name(a->severity),
                             a->severity < ASSAY_ERROR ? " or worse" : "");
        for (size_t k = 0; k < a->rules.count; k++) {
            assay_put_format(out, k ? ", " : " of ");
            assay_text_put_clean(out, a->rules.list[k], strlen(a->rules.list[k]));
        }
        assay_put_u8(out, '\n');
    }
    return assay_buf_status(out);
}

static void put_texts(const char *key, const action_texts *texts, assay_buf *out)
{
    assay_put_format(out, ", \"%s\": [", key);
    for (size_t i = 0; i < texts->count; i++) {
        assay_put_bytes(out, ", ", i ? 2 : 0);
        assay_json_put_text(out, texts->list[i]);
    }
    assay_put_u8(out, ']');
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

/* As a job file has it: an id, or where one is kept. */
static void put_job(const assay_secret *job, assay_buf *out)
{
    static const char *const kept[] = {[ASSAY_SECRET_ENV] = "env", [ASSAY_SECRET_FILE] = "file"};
    if (job->kind != ASSAY_SECRET_LITERAL)
        assay_put_format(out, "{\"%s\": ", kept[job->kind]);
    assay_json_put_text(out, job->source);
    if (job->kind != ASSAY_SECRET_LITERAL)
        assay_put_u8(out, '}');
}

static void put_action(const action *a, assay_buf *out)
{
    assay_put_format(out, "{\"action\": ");
    assay_json_put_text(out, a->name);
    if (a->kind == ACTION_CANCEL) {
        assay_put_format(out, ", \"job\": ");
        put_job(&a->job, out);
    } else if (a->kind == ACTION_SUBMIT) {
        put_texts("options", &a->options, out);
        put_texts("args", &a->arguments, out);
        put_variables(&a->environment, out);
    }
    assay_put_format(out, ", \"on\": \"%s\"", a->at_end ? "end" : "finding");
    if (!a->at_end) {
        assay_put_format(out, ", \"severity\": \"%s\"", assay_severity_name(a->severity));
        if (a->rules.count > 0)
            put_texts("rules", &a->rules, out);
        else
            assay_put_format(out, ", \"rules\": null"); /* all */
        assay_put_format(out, ", \"limit\": %u", a->limit);
    }
    assay_put_u8(out, '}');
}

int assay_actions_put_json(const assay_actions *actions, assay_buf *out)
{
    assay_put_u8(out, '[');
    for (size_t i = 0; actions && i < actions->count; i++) {
        assay_put_format(out, "%s\n  ", i ? "," : "");
        put_action(&actions->list[i], out);
    }
    assay_put_u8(out, ']');
    return assay_buf_status(out);
}
