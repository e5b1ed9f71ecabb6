/* actions_test.c - sends a test message to each target, so that a wrong address is found before a training fails. */
#include <string.h>

#include "action/actions_internal.h"
#include "base/json_writer.h"
#include "report/text/layout.h"

/* Messages of failures mostly begin with the target's name, which is said once. */
static void put_line(const char *word, const char *name, const char *failure, const assay_draw *draw, assay_buf *out)
{
    assay_buf line = ASSAY_BUF(1 << 20);
    assay_put_format(&line, "%s  ", word);
    if (strncmp(failure, name, strlen(name)) != 0)
        assay_put_format(&line, failure[0] ? "%s: " : "%s", name);
    assay_put_bytes(&line, failure, strlen(failure));
    assay_text_put_sentence(out, draw, (const char *)line.data, line.size);
    if (assay_buf_status(&line) != ASSAY_OK)
        out->status = assay_buf_status(&line);
    assay_buf_release(&line);
}

static void put_object(const char *word, const char *name, const char *failure, assay_buf *out)
{
    assay_jw w = assay_jw_over(out);
    ASSAY_JW_OBJECT(&w, NULL, "target", name, "result", word, "error", failure);
    assay_put_u8(out, '\n');
}

/* Sends to every target in turn, whatever became of the one before. */
int assay_actions_test(assay_actions *actions, size_t *sent, size_t *failed, const assay_draw *draw, bool json,
                       assay_buf *out)
{
    static const char *const words[] = {
        [ASSAY_DELIVERED] = "delivered", [ASSAY_NOT_DELIVERED] = "failed", [ASSAY_DELIVERY_UNKNOWN] = "unknown"};
    static const assay_message message = {.event = "test",
                                          .subject = "assay: a test message",
                                          .text = "This is a test of assay's messages (assay notify --test). Nothing "
                                                  "has happened, and there is nothing to do.\n"};
    *sent = *failed = 0;
    for (size_t i = 0; actions && i < actions->count; i++) {
        const action *a = &actions->list[i];
        assay_error err = {""};
        assay_delivery delivery = ASSAY_NOT_DELIVERED;
        if (!a->kind->test)
            continue;
        const int status = a->kind->test(a, &message, &delivery, &err);
        ++*sent;
        *failed += status != ASSAY_OK;
        if (json)
            put_object(words[delivery], a->name, status == ASSAY_OK ? NULL : err.text, out);
        else
            put_line(words[delivery], a->name, status == ASSAY_OK ? "" : err.text, draw, out);
    }
    return assay_buf_status(out);
}
