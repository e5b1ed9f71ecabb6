/* notify_internal.h - what the two kinds of target share. Inside notify*.c only. */
#pragma once

#include "action/notify.h"
#include "action/secret.h"

typedef enum notify_style { NOTIFY_JSON, NOTIFY_SLACK, NOTIFY_SNS, NOTIFY_TEAMS, NOTIFY_STYLES } notify_style;

typedef struct notify_header {
    char *name;
    assay_secret value;
} notify_header;

struct assay_notify {
    assay_notify_kind kind;
    char *place;          /* "FILE: PLACE" for messages */
    const cJSON *said[2]; /* while the target is read: the job's items under "url" and "headers", or under "to" */
    char *name;
    bool hasty;
    double seconds; /* for one attempt */

    /* a webhook */
    notify_style style;
    assay_secret url;
    notify_header *headers;
    size_t header_count;
    char *ca_file; /* NULL: the system's authorities */
    double connect_seconds, backoff;
    unsigned retries;

    /* mail */
    char **to;
    size_t to_count;
    char *from; /* NULL: the mail system's choice */
    char *sendmail;
};

enum { NOTIFY_BODY = 1 << 20 }; /* a message is not larger */

/* The keys of a target, by the places "$defs/notify" and "$defs/mail" of docs/schema. */
extern const assay_setting notify_webhook_settings[], notify_mail_settings[];
/* Reads a target of the job file into *target, whose owner releases it in any case. ASSAY_EJOB with the place and the
 * reason, ASSAY_EUNSUPPORTED without libcurl, ASSAY_ENOMEM. */
int notify_webhook_parse(const job_reader *r, const char *place, const cJSON *object, assay_notify *target);
/* Fetches the secrets that URL and headers refer to, and checks the URL. ASSAY_EJOB with the place, never with a value;
 * ASSAY_ENOMEM. */
int notify_webhook_prepare(assay_notify *target, assay_error *err);
/* Sends one message, with the target's retries; `attempt` (may be NULL) hears of each. ASSAY_EIO when all failed, with
 * the last reason; ASSAY_ENOMEM. *delivery says how it went. */
int notify_webhook_send(assay_notify *target, const assay_message *message, assay_attempt_fn *attempt, void *context,
                        assay_delivery *delivery, assay_error *err);
/* Appends the body in the target's style. */
void notify_put_body(notify_style style, const assay_message *message, assay_buf *out);

/* Seconds between two attempts at most. */
enum { NOTIFY_LONGEST_WAIT = 60 };

/* As notify_webhook_parse() and notify_webhook_send(), through sendmail. */
int notify_mail_parse(const job_reader *r, const char *place, const cJSON *object, assay_notify *target);
int notify_mail_send(assay_notify *target, const assay_message *message, assay_attempt_fn *attempt, void *context,
                     assay_delivery *delivery, assay_error *err);
/* Appends the mail with its headers; `date` false leaves out the header that differs every time. */
void notify_put_mail(const assay_notify *target, const assay_message *message, bool date, assay_buf *out);
