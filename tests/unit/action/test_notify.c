/* test_notify.c - targets parsed, URLs without what is secret, waits, message forms, mail headers. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "action/notify.h"
#include "action/notify_internal.h"
#include "http/http.h"
#include "unit.h"

static const char *text_of(assay_buf *buf)
{
    static char text[8192];
    size_t size = buf->size < sizeof text - 1 ? buf->size : sizeof text - 1;
    if (size)
        memcpy(text, buf->data, size);
    text[size] = '\0';
    assay_buf_release(buf);
    return text;
}

static assay_error said;

/* A target from JSON text, or NULL with the message in `said`. */
static assay_notify *parse(assay_notify_kind kind, const char *json)
{
    cJSON *object = NULL;
    assay_notify *target = NULL;
    said.text[0] = '\0';
    CU_ASSERT_FATAL(assay_json_parse("test", json, strlen(json), &object, &said) == ASSAY_OK);
    const job_reader reader = {"job.json", &said, NULL, 0};
    int status = assay_notify_parse(&reader, "actions[1].notify", kind, object, &target);
    CU_ASSERT(status == ASSAY_OK ? target != NULL : target == NULL);
    cJSON_Delete(object);
    return target;
}

#define REFUSED(kind, json, words)                                                                                     \
    do {                                                                                                               \
        assay_notify *unwanted = parse(kind, json);                                                                    \
        CU_ASSERT(unwanted == NULL);                                                                                   \
        if (!strstr(said.text, words))                                                                                 \
            printf("\n%s\n", said.text);                                                                               \
        CU_ASSERT(strstr(said.text, words) != NULL);                                                                   \
        assay_notify_free(unwanted);                                                                                   \
    } while (0)

static void test_webhooks(void)
{
    if (!assay_http_available()) {
        REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://h/\"}", "ASSAY_WITH_CURL");
        return;
    }
    assay_notify *target =
        parse(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://h.example:8443/a/b?key=k\", \"style\": \"sns\"}");
    CU_ASSERT_FATAL(target != NULL);
    CU_ASSERT_STRING_EQUAL(assay_notify_name(target), "sns https://h.example:8443/a/b");
    assay_notify_free(target);
    target =
        parse(ASSAY_NOTIFY_WEBHOOK, "{\"url\": {\"env\": \"ASSAY_TEST_URL\"}, \"style\": \"slack\", \"retries\": 0}");
    CU_ASSERT_FATAL(target != NULL);
    CU_ASSERT_STRING_EQUAL(assay_notify_name(target), "slack env:ASSAY_TEST_URL");
    unsetenv("ASSAY_TEST_URL");
    CU_ASSERT(assay_notify_prepare(target, &said) == ASSAY_EJOB);
    CU_ASSERT_STRING_EQUAL(said.text,
                           "job.json: actions[1].notify.url: the environment variable ASSAY_TEST_URL is not set");
    setenv("ASSAY_TEST_URL", "https://user:hidden@h/", 1);
    CU_ASSERT(assay_notify_prepare(target, &said) == ASSAY_EJOB);
    CU_ASSERT(strstr(said.text, "user or password") && !strstr(said.text, "hidden"));
    assay_notify_free(target);

    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{}", "actions[1].notify: \"url\" is missing");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://h/\", \"verify\": false}", "unknown key \"verify\"");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"ftp://h/\"}", "actions[1].notify.url: expected a URL");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://u:p@h/\"}", "Authorization header");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https:///x\"}", "no host");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://h/a b\"}", "percent encoding");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://hooks.slack.com/services/T/B/x\"}", "is a secret");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://Prod-1.westeurope.Logic.azure.com:443/workflows/x\"}",
            "is a secret");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://a.webhook.office.com\", \"style\": \"teams\"}", "is a secret");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": {\"env\": \"A\", \"file\": \"b\"}}", "either \"env\" or \"file\"");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://h/\", \"style\": \"telegram\"}",
            "known: json, slack, sns or teams");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://h/\", \"retries\": 1.5}", "whole number");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://h/\", \"timeout\": 0}", "\"timeout\" has to be a number");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://h/\", \"headers\": {\"A b\": \"c\"}}",
            "not the name of a header");
    REFUSED(ASSAY_NOTIFY_WEBHOOK, "{\"url\": \"https://h/\", \"headers\": {\"authorization\": \"c\"}}",
            "actions[1].notify.headers.authorization: a secret");
}

static void test_secret_files(void)
{
    if (!assay_http_available())
        return;
    char path[] = "/tmp/assay-secret-XXXXXX", json[200];
    int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0 && write(fd, "https://h/hidden\n", 17) == 17);
    close(fd);
    snprintf(json, sizeof json, "{\"url\": {\"file\": \"%s\"}}", path);
    static const struct {
        mode_t mode;
        bool fit;
    } cases[] = {{0600, true}, {0400, true}, {0640, false}, {0604, false}, {0620, false}, {0601, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_notify *target = parse(ASSAY_NOTIFY_WEBHOOK, json);
        CU_ASSERT_FATAL(target != NULL && chmod(path, cases[i].mode) == 0);
        int status = assay_notify_prepare(target, &said);
        CU_ASSERT(status == (cases[i].fit ? ASSAY_OK : ASSAY_EJOB));
        CU_ASSERT(cases[i].fit || strstr(said.text, "open to other users"));
        assay_notify_free(target);
    }
    unlink(path);
    assay_notify *target = parse(ASSAY_NOTIFY_WEBHOOK, "{\"url\": {\"file\": \"/tmp\"}}");
    CU_ASSERT(assay_notify_prepare(target, &said) == ASSAY_EJOB && strstr(said.text, "no regular file"));
    assay_notify_free(target);
    target = parse(ASSAY_NOTIFY_WEBHOOK, json);
    CU_ASSERT(assay_notify_prepare(target, &said) == ASSAY_EJOB && strstr(said.text, "cannot open"));
    assay_notify_free(target);
    setenv("ASSAY_TEST_HEADER", "a\r\nX-Other: b", 1);
    target = parse(ASSAY_NOTIFY_WEBHOOK,
                   "{\"url\": \"https://h/\", \"headers\": {\"X-A\": {\"env\": \"ASSAY_TEST_HEADER\"}}}");
    CU_ASSERT(assay_notify_prepare(target, &said) == ASSAY_EJOB && strstr(said.text, "control characters"));
    assay_notify_free(target);
}

static const char *body(notify_style style, const assay_message *message)
{
    assay_buf out;
    assay_buf_init(&out, 8000);
    notify_put_body(style, message, &out);
    return text_of(&out);
}

static void test_forms(void)
{
    const assay_message_field fields[] = {{"trial", "\"t\""}, {"step", "7"}};
    const assay_message message = {"finding", "a <b> caf\xc3\xa9", "one & two\n\"x\"", fields, 2};
    CU_ASSERT_STRING_EQUAL(
        body(NOTIFY_JSON, &message),
        "{\"schema\": \"assay-message/1\", \"event\": \"finding\", \"subject\": \"a <b> caf\xc3\xa9\", "
        "\"text\": \"one & two\\n\\\"x\\\"\", \"trial\": \"t\", \"step\": 7}");
    CU_ASSERT_STRING_EQUAL(body(NOTIFY_SLACK, &message),
                           "{\"text\": \"*a &lt;b&gt; caf\xc3\xa9*\\none &amp; two\\n\\\"x\\\"\"}");
    CU_ASSERT_STRING_EQUAL(body(NOTIFY_SNS, &message),
                           "{\"Subject\": \"a <b> caf?\", \"Message\": \"one & two\\n\\\"x\\\"\"}");
    char subject[151], expected[200];
    memset(subject, 's', 150);
    subject[150] = '\0';
    snprintf(expected, sizeof expected, "{\"Subject\": \"%.97s...\", \"Message\": \"\"}", subject);
    CU_ASSERT_STRING_EQUAL(body(NOTIFY_SNS, &(assay_message){"end", subject, "", NULL, 0}), expected);
}

/* Each line is a block, and what JSON makes of a text does not grow beyond what Teams takes. */
static void test_cards(void)
{
    static const char block[] =
        "{\"type\": \"RichTextBlock\", \"spacing\": \"None\", \"inlines\": [{\"type\": \"TextRun\", ";
    char expected[1500], text[30001];
    snprintf(
        expected, sizeof expected,
        "{\"type\": \"message\", \"attachments\": [{\"contentType\": \"application/vnd.microsoft.card.adaptive\", "
        "\"contentUrl\": null, \"content\": {\"type\": \"AdaptiveCard\", "
        "\"$schema\": \"http://adaptivecards.io/schemas/adaptive-card.json\", \"version\": \"1.4\", \"body\": ["
        "%s\"weight\": \"Bolder\", \"text\": \"a <b>\"}]}, %s\"weight\": \"Default\", \"text\": \"one & *two*\"}]}, "
        "%s\"weight\": \"Default\", \"text\": \" \"}]}, %s\"weight\": \"Default\", \"text\": \"\\\"x\\\"\"}]}]}}]}",
        block, block, block, block);
    CU_ASSERT_STRING_EQUAL(body(NOTIFY_TEAMS, &(assay_message){"finding", "a <b>", "one & *two*\n\n\"x\"\n", NULL, 0}),
                           expected);
    static const char *const hostile[] = {"\1", "\n", "\1\n", "\xc3\xa9", "\xff", "\"\n", "y"};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        const size_t unit = strlen(hostile[i]);
        for (size_t at = 0; at + unit < sizeof text; at += unit)
            memcpy(text + at, hostile[i], unit + 1);
        assay_buf out;
        assay_buf_init(&out, 1 << 20);
        notify_put_body(NOTIFY_TEAMS, &(assay_message){"end", text, text, NULL, 0}, &out);
        CU_ASSERT(assay_buf_status(&out) == ASSAY_OK && out.size < 20000);
        assay_put_u8(&out, 0);
        CU_ASSERT_PTR_NOT_NULL(strstr((const char *)out.data, "\"text\": \"...\"")); /* what is cut says so */
        assay_buf_release(&out);
    }
}

static const char *mail(const char *json, const char *subject, const char *text)
{
    assay_buf out;
    assay_notify *target = parse(ASSAY_NOTIFY_MAIL, json);
    CU_ASSERT_FATAL(target != NULL);
    const assay_message message = {"end", subject, text, NULL, 0};
    assay_buf_init(&out, 8000);
    CU_ASSERT(assay_notify_put_preview(target, &message, &out) == ASSAY_OK);
    assay_notify_free(target);
    return text_of(&out);
}

static void test_mail(void)
{
    static const char REST[] =
        "Auto-Submitted: auto-generated\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
        "Content-Transfer-Encoding: 8bit\n\n";
    char expected[1000];
    snprintf(expected, sizeof expected, "From: f@x\nTo: a@b,\n c\nSubject: one Bcc: z@z two\n%sbody\n.\nend?\n", REST);
    CU_ASSERT_STRING_EQUAL(
        mail("{\"to\": [\"a@b\", \"c\"], \"from\": \"f@x\"}", "one\r\nBcc: z@z\ntwo", "body\n.\nend\r\n"), expected);
    snprintf(expected, sizeof expected, "To: a@b\nSubject: =?UTF-8?B?Y2Fmw6k=?=\n%sx\n", REST);
    CU_ASSERT_STRING_EQUAL(mail("{\"to\": \"a@b\"}", "caf\xc3\xa9", "x"), expected);
    char subject[201], text[2001];
    for (int i = 0; i < 100; i++)
        memcpy(subject + 2 * i, "\xc3\xa9", 3);
    memset(text, 'y', 2000);
    text[2000] = '\0';
    const char *line = mail("{\"to\": \"a@b\"}", subject, text);
    size_t longest = 0, words = 0;
    for (; *line; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        longest = length > longest ? length : longest;
        words += strstr(line, "=?UTF-8?B?") && strstr(line, "=?UTF-8?B?") < line + length;
    }
    CU_ASSERT(longest == 900 && words == 5);

    REFUSED(ASSAY_NOTIFY_MAIL, "{}", "\"to\" is missing");
    REFUSED(ASSAY_NOTIFY_MAIL, "{\"to\": []}", "\"to\" is missing");
    REFUSED(ASSAY_NOTIFY_MAIL, "{\"to\": [\"a@b\\nBcc: c\"]}", "plain address");
    REFUSED(ASSAY_NOTIFY_MAIL, "{\"to\": \"-oQ/tmp\"}", "plain address");
    REFUSED(ASSAY_NOTIFY_MAIL, "{\"to\": \"a, b\"}", "plain address");
    REFUSED(ASSAY_NOTIFY_MAIL, "{\"to\": \"a\", \"from\": \"x <y>\"}", "\"from\"");
    REFUSED(ASSAY_NOTIFY_MAIL, "{\"to\": \"a\", \"cc\": \"b\"}", "unknown key \"cc\"");
}

int main(void)
{
    CU_TestInfo tests[] = {{"webhooks", test_webhooks},   {"files with secrets", test_secret_files},
                           {"message forms", test_forms}, {"cards", test_cards},
                           {"mail", test_mail},           CU_TEST_INFO_NULL};
    return unit_main("notify", tests);
}
