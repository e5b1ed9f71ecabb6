/* actions_message.c - the messages about a finding and at the end. */
#include <inttypes.h>
#include <string.h>

#include "action/actions_internal.h"
#include "report/forms/forms.h"
#include "report/text/layout.h"

/* TEXT: a message stays far below what mail systems and receivers take. NAME_BYTES and MESSAGE_BYTES cut what came
 * from files, whose names may be of any length. */
enum { TEXT = 1 << 18, SUBJECT_NAME = 60, RULES_LISTED = 100, MESSAGE_BYTES = 4000, NAME_BYTES = 300 };

static void init(action_event *event)
{
    *event = (action_event){.trial = NULL};
    assay_buf_init(&event->subject, TEXT);
    assay_buf_init(&event->text, TEXT);
    for (size_t i = 0; i < sizeof event->json / sizeof *event->json; i++)
        assay_buf_init(&event->json[i], TEXT);
}

void action_event_release(action_event *event)
{
    assay_buf_release(&event->subject);
    assay_buf_release(&event->text);
    for (size_t i = 0; i < sizeof event->json / sizeof *event->json; i++)
        assay_buf_release(&event->json[i]);
}

/* At most `most` bytes of a name, cleaned. */
static void put_name(const char *name, size_t most, assay_buf *out)
{
    size_t length = strlen(name);
    assay_text_put_clean(out, name, length < most ? length : most);
    if (length > most)
        assay_put_bytes(out, "...", 3);
}

/* The buffer of the next field. Order of calls is order in the message; there are as many buffers as the longest
 * message has fields. */
static assay_buf *field(action_event *event, const char *name)
{
    event->fields[event->message.field_count].name = name;
    return &event->json[event->message.field_count++];
}

/* Makes the buffers texts, once all is in them: pointers into a buffer that still grows would dangle. */
static int seal(action_event *event, const char *name)
{
    assay_put_u8(&event->subject, '\0');
    assay_put_u8(&event->text, '\0');
    int status = assay_buf_status(&event->subject);
    status = status == ASSAY_OK ? assay_buf_status(&event->text) : status;
    for (size_t i = 0; i < event->message.field_count; i++) {
        assay_put_u8(&event->json[i], '\0');
        status = status == ASSAY_OK ? assay_buf_status(&event->json[i]) : status;
        event->fields[i].json = (const char *)event->json[i].data;
    }
    event->message.event = name;
    event->message.subject = (const char *)event->subject.data;
    event->message.text = (const char *)event->text.data;
    event->message.fields = event->fields;
    return status;
}

/* "First: step 10 (TRAIN 10), worker_0, tensor x, value 1, threshold 0" */
static void put_first(const assay_trial *info, const report_rule *rule, const assay_finding *f, assay_buf *out)
{
    const assay_step_info *step = report_finding_step(info, f);
    report_origin origin;
    report_find_origin(info, rule, &origin);
    const char *tensor = origin.tensor, *worker = origin.worker;
    const char *test = report_finding_test(rule, f);
    if (origin.cause.size > 0) {
        assay_put_format(out, "First cause: ");
        assay_text_put_clean(out, (const char *)origin.cause.data,
                             origin.cause.size < MESSAGE_BYTES ? origin.cause.size : MESSAGE_BYTES);
        assay_put_u8(out, '\n');
    }
    char when[REPORT_WHEN_ROOM];
    assay_put_format(out, "First: %s", report_finding_when_in_words(f, when));
    if (step)
        assay_put_format(out, " (%s %" PRId64 ")", assay_mode_name(step->mode), step->mode_step);
    assay_put_format(out, strcmp(worker, "*") == 0 ? ", all workers" : ", ");
    if (strcmp(worker, "*") != 0)
        put_name(worker, NAME_BYTES, out);
    if (tensor[0]) {
        assay_put_format(out, ", tensor ");
        put_name(tensor, NAME_BYTES, out);
    }
    if (test)
        assay_put_format(out, ", test %s", test);
    assay_put_format(out, ", value ");
    assay_buf value = ASSAY_BUF(MESSAGE_BYTES);
    report_put_value(info, rule, f, &value);
    assay_text_put_clean(out, (const char *)value.data, value.size);
    assay_buf_release(&value);
    assay_put_format(out, ", threshold ");
    assay_text_put_number(out, f->threshold);
    assay_put_u8(out, '\n');
    report_origin_release(&origin);
}

static void put_finding_text(const assay_trial_outcome *trial, const report_rule *rule, assay_buf *out)
{
    put_name(rule->instance->name, NAME_BYTES, out);
    assay_put_format(out, " (%s) has %" PRIu64 " finding%s in %" PRIu64 " test%s of trial ",
                     assay_severity_name(rule->instance->severity), report_findings_total(rule),
                     assay_plural(report_findings_total(rule)), report_datapoints(rule),
                     assay_plural(report_datapoints(rule)));
    put_name(trial->trial->name, NAME_BYTES, out);
    assay_put_format(out, ", ");
    put_name(trial->trial->path, NAME_BYTES, out);
    assay_put_bytes(out, ".\n", 2);
    if (report_first(rule))
        put_first(trial->info, rule, report_first(rule), out);
    if (rule->message_size > 0) {
        size_t size = rule->message_size < MESSAGE_BYTES ? rule->message_size : MESSAGE_BYTES;
        assay_text_put_clean_lines(out, rule->message, size, 0);
        assay_put_u8(out, '\n');
    }
    if (rule->instance->ops->advice)
        assay_put_format(out, "%s\n", rule->instance->ops->advice);
}

int action_event_finding(action_event *event, const assay_outcome *outcome, const assay_trial_outcome *trial,
                         size_t number)
{
    const report_rule rule = report_rule_of(outcome, trial, number, false);
    init(event);
    event->trial = trial->trial->path;
    event->rule = rule.instance->name;
    assay_put_format(&event->subject, "assay: ");
    put_name(rule.instance->name, SUBJECT_NAME, &event->subject);
    assay_put_format(&event->subject, " in trial ");
    put_name(trial->trial->name, SUBJECT_NAME, &event->subject);
    put_finding_text(trial, &rule, &event->text);

    assay_buf *out = field(event, "trial");
    assay_put_format(out, "{\"name\": ");
    assay_json_put_text(out, trial->trial->name);
    assay_put_format(out, ", \"path\": ");
    assay_json_put_text(out, trial->trial->path);
    assay_put_u8(out, '}');
    out = field(event, "rule");
    assay_put_format(out, "{\"name\": ");
    assay_json_put_text(out, rule.instance->name);
    assay_put_format(out, ", \"rule\": ");
    assay_json_put_text(out, report_kind(&rule));
    assay_put_format(out, ", \"severity\": \"%s\"}", assay_severity_name(rule.instance->severity));
    assay_put_format(field(event, "findings_total"), "%" PRIu64, report_findings_total(&rule));
    assay_put_format(field(event, "datapoints"), "%" PRIu64, report_datapoints(&rule));
    out = field(event, "first");
    if (report_first(&rule))
        report_put_finding(trial->info, &rule, report_first(&rule), out);
    if (out->size == 0 ||
        assay_buf_status(out) == ASSAY_EBUDGET) { /* one with a huge list of cells is in the report only */
        assay_buf_clear(out);
        assay_put_format(out, "null");
    }
    return seal(event, "finding");
}

/* Puts one rule that did not pass, as a line and as an object. Names are cut in both, so that RULES_LISTED of them
 * fit. */
static void put_rule(const assay_trial_outcome *trial, const report_rule *rule, bool comma, assay_buf *text,
                     assay_buf *json)
{
    const char *status = assay_verdict_status_name(rule->status);
    const assay_finding *first = report_first(rule);
    report_origin origin;
    report_find_origin(trial->info, rule, &origin);
    put_name(trial->trial->name, NAME_BYTES, text);
    assay_put_format(text, ": ");
    put_name(rule->instance->name, NAME_BYTES, text);
    assay_put_format(text, " (%s): %s", assay_severity_name(rule->instance->severity), status);
    if (first) {
        assay_buf where = ASSAY_BUF(TEXT);
        assay_put_format(text, ", %" PRIu64 " finding%s, %s", report_findings_total(rule),
                         assay_plural(report_findings_total(rule)),
                         origin.cause.size > 0 ? "first cause: " : "the first at ");
        report_put_origin(trial->info, &origin, &where);
        assay_text_put_clean(text, (const char *)where.data, where.size < MESSAGE_BYTES ? where.size : MESSAGE_BYTES);
        assay_buf_release(&where);
    }
    report_origin_release(&origin);
    assay_put_u8(text, '\n');
    assay_put_format(json, "%s{\"trial\": ", comma ? ", " : "");
    assay_json_put_text_n(json, trial->trial->name, strnlen(trial->trial->name, NAME_BYTES));
    assay_put_format(json, ", \"name\": ");
    assay_json_put_text_n(json, rule->instance->name, strnlen(rule->instance->name, NAME_BYTES));
    assay_put_format(json,
                     ", \"severity\": \"%s\", \"status\": \"%s\", \"findings_total\": %" PRIu64 ", \"first_step\": ",
                     assay_severity_name(rule->instance->severity), status, report_findings_total(rule));
    if (first)
        assay_put_format(json, "%" PRId64 "}", first->step);
    else
        assay_put_format(json, "null}");
}

/* Sound rules are counted, not listed; what is left out is said as a number. */
int action_event_end(action_event *event, const assay_outcome *outcome, int code, const char *digest)
{
    uint64_t tally[ASSAY_RULE_ERROR + 1] = {0}, listed = 0, left_out = 0;
    init(event);
    event->digest = digest;
    assay_put_format(field(event, "exit_code"), "%d", code);
    assay_json_put_text(field(event, "digest"), digest);
    assay_buf *counts = field(event, "counts"), *json = field(event, "rules");
    assay_put_u8(json, '[');
    for (size_t t = 0; t < outcome->trial_count; t++) {
        for (size_t i = 0; i < outcome->job->rule_count; i++) {
            const report_rule rule = report_rule_of(outcome, &outcome->trials[t], i, false);
            tally[rule.status]++;
            if (rule.status == ASSAY_NO_ISSUES_FOUND)
                continue;
            if (listed < RULES_LISTED)
                put_rule(&outcome->trials[t], &rule, listed > 0, &event->text, json);
            left_out += listed == RULES_LISTED;
            listed += listed < RULES_LISTED;
        }
    }
    assay_put_u8(json, ']');
    assay_put_format(field(event, "rules_left_out"), "%" PRIu64, left_out);
    assay_put_u8(counts, '{');
    for (int s = 0; s <= ASSAY_RULE_ERROR; s++)
        assay_put_format(counts, "%s\"%s\": %" PRIu64, s ? ", " : "", assay_verdict_status_name(s), tally[s]);
    assay_put_u8(counts, '}');
    if (left_out > 0)
        assay_put_format(&event->text, "and %" PRIu64 " more\n", left_out);
    uint64_t sound = tally[ASSAY_NO_ISSUES_FOUND];
    assay_put_format(&event->text, "%" PRIu64 " verdict%s without issues. Exit code %d. Report digest %s.\n", sound,
                     assay_plural(sound), code, digest);
    assay_put_format(&event->subject,
                     "assay: %" PRIu64 " verdict%s with issues, %" PRIu64 " without data, %" PRIu64
                     " in error, %" PRIu64 " sound; trials: %zu",
                     tally[ASSAY_ISSUES_FOUND], assay_plural(tally[ASSAY_ISSUES_FOUND]), tally[ASSAY_NO_DATA],
                     tally[ASSAY_RULE_ERROR], sound, outcome->trial_count);
    return seal(event, "end");
}
