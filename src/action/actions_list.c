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

void action_texts_put(const char *key, const action_texts *texts, assay_buf *out)
{
    assay_put_format(out, ", \"%s\": [", key);
    for (size_t i = 0; i < texts->count; i++) {
        assay_put_bytes(out, ", ", i ? 2 : 0);
        assay_json_put_text(out, texts->list[i]);
    }
    assay_put_u8(out, ']');
}

static void put_action(const action *a, assay_buf *out)
{
    assay_put_format(out, "{\"action\": ");
    assay_json_put_text(out, a->name);
    if (a->kind->put_json)
        a->kind->put_json(a, out);
    assay_put_format(out, ", \"on\": \"%s\"", a->at_end ? "end" : "finding");
    if (!a->at_end) {
        assay_put_format(out, ", \"severity\": \"%s\"", assay_severity_name(a->severity));
        if (a->rules.count > 0)
            action_texts_put("rules", &a->rules, out);
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
