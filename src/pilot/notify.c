/* notify.c - sends messages about a relaunch and about the end. */
#include <stdio.h>
#include <string.h>

#include "pilot/pilot_internal.h"
#include "base/fault.h"
#include "base/log.h"

enum { TEXT = 1 << 16 };

static void put_text(const assay_pilot *pilot, assay_buf *out)
{
    assay_put_format(out, "%s\n\nlast launch: %s (job %s), %s, rules: %s\n", pilot->reason, pilot->job_name,
                     pilot->job_id, pilot_job_word[pilot->job_status], pilot_rule_word[pilot->rule_status]);
    assay_put_format(out, "history: ");
    pilot_put_json(pilot->history, 1, 0, out);
    assay_put_format(out, "\nrun_spec%s: ", pilot->message == PILOT_MESSAGE_RELAUNCH ? " of the next launch" : "");
    pilot_put_json(pilot->run_spec, 1, 0, out);
    assay_put_u8(out, '\n');
}

/* A value as JSON, terminated. */
static void put_field(const cJSON *object, const char *word, assay_buf *out)
{
    if (object)
        pilot_put_json(object, 0, 0, out);
    else
        assay_json_put_text(out, word);
    assay_put_u8(out, '\0');
}

static const char *bytes_of(const assay_buf *buf)
{
    return (const char *)buf->data;
}

/* A target that cannot be reached is warned of, and does not stop the pilot. */
static void send_all(assay_pilot *pilot, const assay_message *message)
{
    for (size_t i = 0; i < pilot->targets; i++) {
        assay_error err = {""};
        if (assay_notify_send(pilot->target[i], message, NULL, NULL, NULL, &err) != ASSAY_OK)
            assay_log_warn("%s", err.text);
    }
}

int pilot_step_notify(assay_pilot *pilot, assay_error *err)
{
    enum { REASON, JOB, RULES, HISTORY, SPEC, FIELDS };
    static const char *const names[FIELDS] = {"reason", "job_status", "rule_status", "history", "run_spec"};
    const char *const words[FIELDS] = {pilot->reason, pilot_job_word[pilot->job_status],
                                       pilot_rule_word[pilot->rule_status], NULL, NULL};
    const cJSON *const objects[FIELDS] = {NULL, NULL, NULL, pilot->history, pilot->run_spec};
    assay_message_field field[FIELDS];
    assay_buf text, value[FIELDS];
    char subject[PILOT_BASE + 120];
    bool clean = assay_pilot_clean(pilot, NULL);
    int status = ASSAY_OK;
    snprintf(subject, sizeof subject, "assay pilot %s: %s", pilot->base,
             pilot->message == PILOT_MESSAGE_RELAUNCH ? "trains again"
             : clean                                  ? "ended with a clean run"
                                                      : "ended without a clean run");
    assay_buf_init(&text, TEXT);
    put_text(pilot, &text);
    assay_put_u8(&text, '\0');
    status = assay_buf_status(&text);
    for (int i = 0; i < FIELDS; i++) {
        assay_buf_init(&value[i], TEXT);
        put_field(objects[i], words[i], &value[i]);
        status = status == ASSAY_OK ? assay_buf_status(&value[i]) : status;
        field[i] = (assay_message_field){names[i], bytes_of(&value[i])};
    }
    if (status == ASSAY_OK) {
        const assay_message message = {pilot_message_word[pilot->message], subject, bytes_of(&text), field, FIELDS};
        send_all(pilot, &message);
    } else {
        assay_log_warn("%s: the message cannot be made: %s", pilot->file, assay_status_text(status));
    }
    for (int i = 0; i < FIELDS; i++)
        assay_buf_release(&value[i]);
    assay_buf_release(&text);
    assay_fault_die("notify-sent");
    pilot->message = PILOT_MESSAGE_NONE;
    status = pilot_write(pilot, err);
    assay_fault_die("notify-written");
    return status;
}
