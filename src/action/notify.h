/* notify.h - messages to people and programs: by webhook (in assay's, Slack's or SNS's form) and by mail.
 *
 *     assay_notify *target;
 *     assay_notify_parse(reader, "actions[0].notify", ASSAY_NOTIFY_WEBHOOK, object, &target);
 *     assay_notify_prepare(target, &err);                       (reads the secrets)
 *     assay_notify_send(target, &message, NULL, NULL, &delivery, &err);
 *     assay_notify_free(target);
 *
 * No text from here contains a secret. docs/actions.md has the keys. */
#pragma once

#include "base/json.h"
#include "job/job_internal.h"

typedef struct assay_notify assay_notify;

typedef enum assay_notify_kind { ASSAY_NOTIFY_WEBHOOK, ASSAY_NOTIFY_MAIL } assay_notify_kind;

/* Parses the object of "notify" (webhook) or "mail" strictly, without a look at environment, files or network. The
 * reader's file and `place` ("actions[1].notify") go into messages. ASSAY_EJOB, ASSAY_ENOMEM, and ASSAY_EUNSUPPORTED for a webhook in
 * a build without libcurl. Free *out with assay_notify_free(). */
int assay_notify_parse(const job_reader *r, const char *place, assay_notify_kind kind, const cJSON *object,
                       assay_notify **out);
void assay_notify_free(assay_notify *target);

/* Fetches secrets and checks what they hold: once, before anything is sent, and early, so that a missing one is not
 * found only after hours. ASSAY_EJOB with place and reason. */
int assay_notify_prepare(assay_notify *target, assay_error *err);

/* What the target is called in logs and messages: "slack env:SLACK_URL", "json https://host/path", "mail a@b, c@d".
 * Borrowed. The same in every run of the same job. */
const char *assay_notify_name(const assay_notify *target);

typedef struct assay_message_field {
    const char *name;
    const char *json; /* the value as JSON text: `"conv1"`, `17`, `{"a": 1}` */
} assay_message_field;

typedef struct assay_message {
    const char *event;                 /* "finding", "end", "relaunch", ...: for programs */
    const char *subject;               /* one line; of mail and SNS */
    const char *text;                  /* plain text, lines ended by \n; for people */
    const assay_message_field *fields; /* for programs: members of the JSON form, behind event, subject and text */
    size_t field_count;
} assay_message;

typedef enum assay_delivery {
    ASSAY_DELIVERED,
    ASSAY_NOT_DELIVERED,
    ASSAY_DELIVERY_UNKNOWN /* it was sent, and no answer came: sending again might deliver twice */
} assay_delivery;

/* Called after each attempt (numbered from 1) with what came of it in a few words ("HTTP 200", "HTTP 503",
 * "cannot connect: ..."). */
typedef void assay_attempt_fn(void *context, unsigned attempt, assay_delivery delivery, const char *what);

/* Sends the message, with the target's time-outs and retries; blocks meanwhile (docs/actions.md says how long at most).
 * `attempt` (may be NULL) is told of each attempt. ASSAY_OK when it was delivered, else ASSAY_EIO with target and
 * reason; ASSAY_EJOB when a secret cannot be fetched, ASSAY_ENOMEM. *delivery (may be NULL) is set in any case. */
int assay_notify_send(assay_notify *target, const assay_message *message, assay_attempt_fn *attempt, void *context,
                      assay_delivery *delivery, assay_error *err);

/* Lets the next messages to this target have one attempt each, or all of them again: for a target that was just found
 * unreachable. */
void assay_notify_set_hasty(assay_notify *target, bool hasty);

/* Appends what would go out for a message, for people to look at: JSON text, or the mail with its headers. No secrets.
 */
int assay_notify_put_preview(const assay_notify *target, const assay_message *message, assay_buf *out);
