/* notify_mail.c - messages through the sendmail interface, which every mail system has. It queues and retries itself,
 * so there is one attempt here. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "action/command.h"
#include "action/notify_internal.h"
#include "base/base64.h"
#include "base/fault.h"
#include "base/utf8.h"

enum {
    RECIPIENTS = 100,
    LINE_BYTES = 900,
    WORD_BYTES = 42
}; /* a line of a mail has at most 998 bytes, an encoded word 75 */

/* Printable ASCII without what has a meaning in an address list; so a header cannot be left, nor an option begun. */
static bool is_address(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c <= ' ' || *c >= 0x7f || strchr("\"(),:;<>[]\\", *c))
            return false;
    }
    return text[0] && text[0] != '-' && strlen(text) <= 254;
}

/* The list was made for all of them, so it is not grown here. */
static int add_recipient(const job_reader *r, const char *place, const cJSON *item, assay_notify *target)
{
    if (!cJSON_IsString(item) || !is_address(item->valuestring))
        return job_fail(r, place, "\"to\": expected a plain address like name@example.org, or a list of such");
    target->to[target->to_count] = assay_copy_text(item->valuestring);
    return target->to[target->to_count] ? (target->to_count++, ASSAY_OK) : job_no_memory(r);
}

static int read_recipients(const job_reader *r, const char *place, const cJSON *list, assay_notify *target)
{
    int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 1, status = ASSAY_OK;
    if (count == 0)
        return job_fail(r, place, "\"to\" is missing: an address, or a list of addresses");
    if (count > RECIPIENTS)
        return job_fail(r, place, "\"to\": more than %d addresses", RECIPIENTS);
    target->to = assay_alloc_zeroed((size_t)count, sizeof *target->to);
    if (!target->to)
        return job_no_memory(r);
    /* A single address stands for a list of one. */
    for (const cJSON *item = cJSON_IsArray(list) ? list->child : list; item && status == ASSAY_OK; item = item->next) {
        status = add_recipient(r, place, item, target);
        if (item == list)
            break;
    }
    return status;
}

static void put_recipients(const assay_notify *target, const char *between, assay_buf *out)
{
    for (size_t i = 0; i < target->to_count; i++)
        assay_put_format(out, "%s%s", i ? between : "", target->to[i]);
}

const assay_setting notify_mail_settings[] = {{.name = "to",
                                               .kind = ASSAY_SETTING_ITEM,
                                               ASSAY_SETTING_AT(assay_notify, said[0]),
                                               .required = true,
                                               .help = "an address, or a list of addresses"},
                                              {.name = "from",
                                               .kind = ASSAY_SETTING_COPY,
                                               ASSAY_SETTING_AT(assay_notify, from),
                                               .help = "the sender's address; the mail system's choice otherwise"},
                                              {.name = "sendmail",
                                               .kind = ASSAY_SETTING_COPY,
                                               ASSAY_SETTING_AT(assay_notify, sendmail),
                                               .initial = "/usr/sbin/sendmail",
                                               .help = "the program that takes the mail"},
                                              {.name = "timeout",
                                               .kind = ASSAY_SETTING_REAL,
                                               ASSAY_SETTING_AT(assay_notify, seconds),
                                               .least = 0.1,
                                               .most = 600,
                                               .initial = "60",
                                               .help = "seconds that the program may take"},
                                              {0}};

/* The addresses are checked so strictly that they can stand in a header and behind "--" as they are. */
int notify_mail_parse(const job_reader *r, const char *place, const cJSON *object, assay_notify *target)
{
    int status = job_read(r, place, notify_mail_settings, object, target);
    ASSAY_THEN(status, read_recipients(r, place, target->said[0], target));
    ASSAY_TRY(status);
    if (target->from && !is_address(target->from))
        return job_fail(r, place, "\"from\": expected a plain address like name@example.org");
    assay_buf name = ASSAY_BUF(64 << 10);
    assay_put_format(&name, "mail ");
    put_recipients(target, ", ", &name);
    if (assay_buf_status(&name) == ASSAY_OK)
        target->name = assay_copy_bytes_as_text((const char *)name.data, name.size);
    assay_buf_release(&name);
    return target->name ? ASSAY_OK : job_no_memory(r);
}

/* A copy with '?' for control characters (line ends above all) and for bytes that are no UTF-8. */
static void put_plain_line(const char *text, size_t length, assay_buf *out)
{
    for (size_t at = 0; at < length;) {
        size_t step = assay_utf8_length(text + at, length - at);
        bool bad = step == 0 || (step == 1 && ((unsigned char)text[at] < ' ' || text[at] == 0x7f) && text[at] != '\t');
        assay_put_bytes(out, bad ? "?" : text + at, bad ? 1 : step);
        at += step ? step : 1;
    }
}

/* ASCII as it is, anything else in encoded words (RFC 2047), each of whole characters. */
static void put_subject(const char *subject, assay_buf *out)
{
    assay_buf line = ASSAY_BUF(LINE_BYTES);
    for (const char *at = subject; *at; at += strspn(at, "\r\n\t")) {
        size_t part = strcspn(at, "\r\n\t");
        if (line.size > 0)
            assay_put_u8(&line, ' ');
        put_plain_line(at, part, &line);
        at += part;
    }
    /* Of no bytes at all there is no data. */
    const char *text = line.data ? (const char *)line.data : "";
    bool ascii = true;
    for (size_t i = 0; i < line.size; i++)
        ascii &= (unsigned char)text[i] < 0x80;
    for (size_t from = 0; !ascii && from < line.size;) {
        size_t to = from, step;
        while ((step = assay_utf8_length(text + to, line.size - to)) > 0 && to + step - from <= WORD_BYTES)
            to += step;
        /* No character where it should be: what is left goes out as it is, in one word. */
        to = to > from ? to : line.size;
        assay_put_format(out, "%s=?UTF-8?B?", from ? "\n " : "");
        assay_base64_put(out, text + from, to - from);
        assay_put_bytes(out, "?=", 2);
        from = to;
    }
    if (ascii)
        assay_put_bytes(out, text, line.size);
    assay_buf_release(&line);
}

static void put_date(assay_buf *out)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t now = time(NULL);
    struct tm t;
    if (gmtime_r(&now, &t)) /* strftime would write the words in the user's language */
        assay_put_format(out, "Date: %s, %d %s %d %02d:%02d:%02d +0000\n", days[t.tm_wday], t.tm_mday, months[t.tm_mon],
                         t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

/* Lines that a mail system would break are broken here, between characters. */
static void put_text(const char *text, assay_buf *out)
{
    while (*text) {
        size_t length = strcspn(text, "\n"), piece = 0, step;
        while (piece < length && piece < LINE_BYTES) {
            step = assay_utf8_length(text + piece, length - piece);
            piece += step ? step : 1;
        }
        put_plain_line(text, piece, out);
        assay_put_u8(out, '\n');
        text += piece + (piece == length && text[piece] == '\n');
    }
}

/* Without the date, a preview of the same message is the same text. */
void notify_put_mail(const assay_notify *target, const assay_message *message, bool date, assay_buf *out)
{
    if (target->from)
        assay_put_format(out, "From: %s\n", target->from);
    assay_put_format(out, "To: ");
    put_recipients(target, ",\n ", out);
    assay_put_format(out, "\nSubject: ");
    put_subject(message->subject, out);
    assay_put_u8(out, '\n');
    if (date)
        put_date(out);
    assay_put_format(out, "Auto-Submitted: auto-generated\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
                          "Content-Transfer-Encoding: 8bit\n\n");
    put_text(message->text, out);
}

/* ASSAY_DELIVERY_UNKNOWN: the mail system may have taken the mail before it was stopped, so nobody sends it again. */
int notify_mail_send(assay_notify *target, const assay_message *message, assay_attempt_fn *attempt, void *context,
                     assay_delivery *delivery, assay_error *err)
{
    assay_buf mail = ASSAY_BUF(NOTIFY_BODY);
    assay_error why = {""};
    assay_command_result result;
    size_t used = 0;
    const char **argv = assay_realloc_array(NULL, 6 + target->to_count, sizeof *argv);
    notify_put_mail(target, message, true, &mail);
    if (!argv || assay_buf_status(&mail) != ASSAY_OK) {
        free(argv);
        assay_buf_release(&mail);
        return assay_fail(err, ASSAY_ENOMEM, "%s: the message cannot be held in memory", target->name);
    }
    argv[used++] = target->sendmail;
    argv[used++] = "-i"; /* a line with a single dot does not end the mail */
    if (target->from) {
        argv[used++] = "-f";
        argv[used++] = target->from;
    }
    argv[used++] = "--";
    for (size_t i = 0; i < target->to_count; i++)
        argv[used++] = target->to[i];
    argv[used] = NULL;
    const assay_command command = {
        .argv = argv, .input = mail.data, .input_size = mail.size, .seconds = target->seconds};
    int status = assay_command_run(&command, &result, &why);
    bool unknown = status != ASSAY_OK && result.started && (result.timed_out || result.exit_status < 0);
    *delivery = status == ASSAY_OK ? ASSAY_DELIVERED : unknown ? ASSAY_DELIVERY_UNKNOWN : ASSAY_NOT_DELIVERED;
    if (attempt)
        attempt(context, 1, *delivery, status == ASSAY_OK ? "handed to the mail system" : why.text);
    assay_command_release(&result);
    assay_buf_release(&mail);
    free(argv);
    if (status == ASSAY_OK)
        return ASSAY_OK;
    return assay_fail(err, status == ASSAY_ENOMEM ? status : ASSAY_EIO, "%s: %s", target->name, why.text);
}
