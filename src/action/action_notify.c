/* action_notify.c - the actions "notify" and "mail": a message goes out. notify.h has what differs between them. */
#include <stdlib.h>

#include "action/actions_internal.h"
#include "base/clock.h"
#include "base/fault.h"
#include "parallel/interrupt.h"

/* After so many failures in a row a target is left alone for a while: each try takes its time-outs and retries, and the
 * run waits for them at every finding. */
enum { FAILURES = 3, PAUSE_SECONDS = 60 };

/* One target over the whole run; failures count across rules and trials. */
typedef struct message_target {
    assay_notify *notify;
    unsigned failures; /* in a row */
    double failed_at;
} message_target;

static int read_target(const job_reader *r, const char *place, const cJSON *object, action *a, assay_notify_kind kind)
{
    message_target *own = assay_alloc_zeroed(1, sizeof *own);
    if (!own)
        return job_no_memory(r);
    a->own = own;
    return assay_notify_parse(r, place, kind, object, &own->notify);
}

static int read_webhook(const job_reader *r, const char *place, const cJSON *object, action *a)
{
    return read_target(r, place, object, a, ASSAY_NOTIFY_WEBHOOK);
}

static int read_mail(const job_reader *r, const char *place, const cJSON *object, action *a)
{
    return read_target(r, place, object, a, ASSAY_NOTIFY_MAIL);
}

static void release(action *a)
{
    message_target *own = a->own;
    if (own)
        assay_notify_free(own->notify);
    free(own);
}

static const char *target(const action *a)
{
    const message_target *own = a->own;
    return assay_notify_name(own->notify);
}

static int prepare(const assay_actions *actions, size_t number, action *a, assay_error *err)
{
    message_target *own = a->own;
    (void)actions;
    (void)number;
    return assay_notify_prepare(own->notify, err);
}

/* Each failed try is a line of its own in the log, so that a run that was killed in between shows what had been
 * tried. */
static void note_attempt(void *context, unsigned attempt, assay_delivery delivery, const char *what)
{
    if (delivery == ASSAY_NOT_DELIVERED)
        action_note(context, ASSAY_AUDIT_ATTEMPT, attempt, what);
}

static int run(action_firing *f, const action_event *event, assay_error *err)
{
    message_target *own = f->act->own;
    assay_delivery delivery;
    if (own->failures >= FAILURES && assay_clock_seconds() < own->failed_at + PAUSE_SECONDS)
        return assay_fail(err, ASSAY_EIO, "%s: not tried: it failed %u times in a row a moment ago", f->act->name,
                          own->failures);
    /* After a failure, or on the way out, one try is enough: the run waits for it. */
    assay_notify_set_hasty(own->notify, own->failures > 0 || assay_interrupt_wished());
    const int status = assay_notify_send(own->notify, &event->message, note_attempt, f, &delivery, err);
    own->failures = status == ASSAY_OK ? 0 : own->failures + 1;
    own->failed_at = assay_clock_seconds();
    /* A delivery that may have arrived counts as done when the next run reads the log: nobody is told twice. */
    f->failed = delivery == ASSAY_DELIVERY_UNKNOWN ? ASSAY_AUDIT_UNKNOWN : ASSAY_AUDIT_FAILED;
    return status;
}

static void preview(const action *a, const assay_message *message, assay_buf *out)
{
    const message_target *own = a->own;
    (void)assay_notify_put_preview(own->notify, message, out);
}

/* Called by `assay notify --test`, which prepares one target at a time, so that one that is not set up does not hide
 * the others. */
static int test(const action *a, const assay_message *message, assay_delivery *delivery, assay_error *err)
{
    const message_target *own = a->own;
    int status = assay_notify_prepare(own->notify, err);
    ASSAY_THEN(status, assay_notify_send(own->notify, message, NULL, NULL, delivery, err));
    return status;
}

#define MESSAGE(reader)                                                                                                \
    {                                                                                                                  \
        .prefix = "", .once = ACTION_ONCE_A_FINDING, .read = reader, .release = release, .target = target,             \
        .prepare = prepare, .run = run, .preview = preview, .test = test                                               \
    }
const action_kind action_notify = MESSAGE(read_webhook);
const action_kind action_mail = MESSAGE(read_mail);
