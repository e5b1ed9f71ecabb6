/* actions_test.c - sends a test message to each target, so that a wrong address is found before a training fails. */
#include <string.h>

#include "action/actions_internal.h"
#include "report/text/layout.h"

int assay_actions_test(assay_actions *actions, size_t *sent, size_t *failed, assay_buf *out)
{
    static const char *const words[] = {
        [ASSAY_DELIVERED] = "delivered", [ASSAY_NOT_DELIVERED] = "failed", [ASSAY_DELIVERY_UNKNOWN] = "unknown"};
    static const assay_message message = {
        .event = "test",
        .subject = "assay: a test message",
        .text =
            "This is a test of assay's messages (assay notify --test). Nothing has happened, nothing is to be done.\n"};
    *sent = *failed = 0;
    for (size_t i = 0; actions && i < actions->count; i++) {
        const action *a = &actions->list[i];
        assay_error err = {""};
        assay_delivery delivery = ASSAY_NOT_DELIVERED;
        if (a->kind != ACTION_NOTIFY)
            continue;
        int status = assay_notify_prepare(a->notify, &err);
        if (status == ASSAY_OK)
            status = assay_notify_send(a->notify, &message, NULL, NULL, &delivery, &err);
        ++*sent;
        *failed += status != ASSAY_OK;
        assay_put_format(out, "%s  ", words[delivery]);
        assay_text_put_clean(out, a->name, strlen(a->name));
        if (status != ASSAY_OK) {
            assay_put_format(out, ": ");
            assay_text_put_clean(out, err.text, strlen(err.text));
        }
        assay_put_u8(out, '\n');
    }
    return assay_buf_status(out);
}
