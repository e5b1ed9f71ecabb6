/* notify.c - see notify.h: what webhooks and mail have in common. */
#include "action/notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "action/notify_internal.h"
#include "base/fault.h"

static char *join_place(const char *file, const char *place)
{
    size_t room = strlen(file) + strlen(place) + 3;
    char *text = assay_alloc(room);
    if (text)
        snprintf(text, room, "%s: %s", file, place);
    return text;
}

/* Called by the actions of a job and by a pilot's state, which have the same targets. *out is set on success only. */
int assay_notify_parse(const job_reader *r, const char *place, assay_notify_kind kind, const cJSON *object,
                       assay_notify **out)
{
    assay_notify *target = assay_alloc_zeroed(1, sizeof *target);
    if (!target)
        return job_no_memory(r);
    target->kind = kind;
    target->place = join_place(r->file, place);
    int status = target->place ? ASSAY_OK : job_no_memory(r);
    if (status == ASSAY_OK && kind == ASSAY_NOTIFY_MAIL)
        status = notify_mail_parse(r, place, object, target);
    else if (status == ASSAY_OK)
        status = notify_webhook_parse(r, place, object, target);
    if (status != ASSAY_OK) {
        assay_notify_free(target);
        return status;
    }
    *out = target;
    return ASSAY_OK;
}

void assay_notify_free(assay_notify *target)
{
    if (!target)
        return;
    for (size_t i = 0; i < target->header_count; i++) {
        free(target->headers[i].name);
        assay_secret_release(&target->headers[i].value);
    }
    for (size_t i = 0; i < target->to_count; i++)
        free(target->to[i]);
    assay_secret_release(&target->url);
    free(target->headers);
    free(target->to);
    free(target->ca_file);
    free(target->from);
    free(target->sendmail);
    free(target->place);
    free(target->name);
    free(target);
}

/* A mail has no secrets, and its program is looked for when it is run. */
int assay_notify_prepare(assay_notify *target, assay_error *err)
{
    return target->kind == ASSAY_NOTIFY_WEBHOOK ? notify_webhook_prepare(target, err) : ASSAY_OK;
}

const char *assay_notify_name(const assay_notify *target)
{
    return target->name;
}

void assay_notify_set_hasty(assay_notify *target, bool hasty)
{
    target->hasty = hasty;
}

int assay_notify_send(assay_notify *target, const assay_message *message, assay_attempt_fn *attempt, void *context,
                      assay_delivery *delivery, assay_error *err)
{
    assay_delivery unseen;
    delivery = delivery ? delivery : &unseen;
    *delivery = ASSAY_NOT_DELIVERED;
    ASSAY_TRY(assay_notify_prepare(target, err));
    return target->kind == ASSAY_NOTIFY_MAIL ? notify_mail_send(target, message, attempt, context, delivery, err)
                                             : notify_webhook_send(target, message, attempt, context, delivery, err);
}

int assay_notify_put_preview(const assay_notify *target, const assay_message *message, assay_buf *out)
{
    if (target->kind == ASSAY_NOTIFY_MAIL) {
        notify_put_mail(target, message, false, out);
    } else {
        notify_put_body(target->style, message, out);
        assay_put_u8(out, '\n');
    }
    return assay_buf_status(out);
}
