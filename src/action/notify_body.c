/* notify_body.c - a message as the JSON that its receiver expects. */
#include <string.h>

#include "action/notify_internal.h"
#include "base/utf8.h"

/* Slack cuts texts at 40 000 characters; SNS refuses longer subjects, and Teams messages of more than 28 KB: its users
 * saw 21 KB refused. TEAMS_LINE: of a line, six bytes for each where JSON has to write it so. */
enum { SLACK_TEXT = 35000, SNS_SUBJECT = 100, TEAMS_BODY = 20000, TEAMS_LINE = 1000 };

static void put_json(const assay_message *message, assay_buf *out)
{
    assay_put_format(out, "{\"schema\": \"assay-message/1\", \"event\": ");
    assay_json_put_text(out, message->event);
    assay_put_format(out, ", \"subject\": ");
    assay_json_put_text(out, message->subject);
    assay_put_format(out, ", \"text\": ");
    assay_json_put_text(out, message->text);
    for (size_t i = 0; i < message->field_count; i++) {
        assay_put_format(out, ", ");
        assay_json_put_text(out, message->fields[i].name);
        assay_put_format(out, ": %s", message->fields[i].json);
    }
    assay_put_u8(out, '}');
}

/* Slack's markup takes three characters for its own. */
static void put_escaped(const char *text, size_t most, assay_buf *out)
{
    for (size_t i = 0; text[i] && i < most; i++) {
        switch (text[i]) {
        case '&':
            assay_put_bytes(out, "&amp;", 5);
            break;
        case '<':
            assay_put_bytes(out, "&lt;", 4);
            break;
        case '>':
            assay_put_bytes(out, "&gt;", 4);
            break;
        default:
            assay_put_u8(out, (uint8_t)text[i]);
        }
    }
}

static void put_slack(const assay_message *message, assay_buf *out)
{
    assay_buf text = ASSAY_BUF(NOTIFY_BODY);
    assay_put_u8(&text, '*');
    put_escaped(message->subject, SNS_SUBJECT * 3, &text);
    assay_put_bytes(&text, "*\n", 2);
    put_escaped(message->text, SLACK_TEXT, &text);
    assay_put_format(out, "{\"text\": ");
    assay_json_put_text_n(out, (const char *)text.data, text.size);
    assay_put_u8(out, '}');
    if (assay_buf_status(&text) != ASSAY_OK)
        out->status = assay_buf_status(&text);
    assay_buf_release(&text);
}

/* A line of a card: at most TEAMS_LINE of its bytes, cut between characters, and then "..."; a byte that is no UTF-8 counts
 * as one. */
static void put_line(const char *line, size_t length, const char *weight, assay_buf *out)
{
    size_t size = 0;
    while (size < length) {
        const size_t left = length - size, known = assay_utf8_length(line + size, left < 4 ? left : 4);
        const size_t next = known ? known : 1;
        if (size + next > TEAMS_LINE)
            break;
        size += next;
    }
    assay_put_format(out,
                     "{\"type\": \"RichTextBlock\", \"spacing\": \"None\", \"inlines\": [{\"type\": \"TextRun\", "
                     "\"weight\": \"%s\", \"text\": ",
                     weight);
    assay_json_put_text_n(out, line, size);
    if (size < length)
        assay_put_format(out, "}, {\"type\": \"TextRun\", \"weight\": \"%s\", \"text\": \"...\"", weight);
    assay_put_format(out, "}]}");
}

/* An adaptive card, as workflows of Microsoft Teams take it. Its rich text knows no markup, so nothing needs to be escaped,
 * and not all of its programs break lines in a text: each line is a block. A text that is too long ends with "...". */
static void put_teams(const assay_message *message, assay_buf *out)
{
    const size_t before = out->size;
    const char *line = message->text;
    assay_put_format(
        out, "{\"type\": \"message\", \"attachments\": [{\"contentType\": \"application/vnd.microsoft.card.adaptive\", "
             "\"contentUrl\": null, \"content\": {\"type\": \"AdaptiveCard\", "
             "\"$schema\": \"http://adaptivecards.io/schemas/adaptive-card.json\", \"version\": \"1.4\", \"body\": [");
    put_line(message->subject, strlen(message->subject), "Bolder", out);
    while (*line) {
        const size_t length = strcspn(line, "\n"), room = 6 * (length < TEAMS_LINE ? length : TEAMS_LINE);
        const bool fits = out->size - before + room < TEAMS_BODY - 500; /* of a block around it, and of the end */
        assay_put_format(out, ", ");
        put_line(!fits ? "..." : length ? line : " ", !fits ? 3 : length ? length : 1, "Default", out);
        if (!fits)
            break;
        line += length + (line[length] == '\n');
    }
    assay_put_format(out, "]}}]}");
}

/* SNS takes a subject of at most 100 printable ASCII characters. */
static void put_sns(const assay_message *message, assay_buf *out)
{
    char subject[SNS_SUBJECT + 1];
    size_t length = 0;
    for (const char *c = message->subject; *c && length < SNS_SUBJECT; c++) {
        if ((*c & 0xc0) != 0x80) /* one mark for a character, not for each of its bytes */
            subject[length++] = *c >= ' ' && *c < 0x7f ? *c : '?';
    }
    if (length == SNS_SUBJECT && strlen(message->subject) > SNS_SUBJECT)
        memcpy(subject + length - 3, "...", 3);
    assay_put_format(out, "{\"Subject\": ");
    assay_json_put_text_n(out, subject, length);
    assay_put_format(out, ", \"Message\": ");
    assay_json_put_text(out, message->text);
    assay_put_u8(out, '}');
}

/* The message is assay's own, though names in it are strangers': each form escapes as its receiver reads it. */
void notify_put_body(notify_style style, const assay_message *message, assay_buf *out)
{
    if (style == NOTIFY_SLACK)
        put_slack(message, out);
    else if (style == NOTIFY_SNS)
        put_sns(message, out);
    else if (style == NOTIFY_TEAMS)
        put_teams(message, out);
    else
        put_json(message, out);
}
