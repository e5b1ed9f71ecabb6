/* notify_webhook.c - messages as a POST of JSON: the target's keys, and its attempts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "action/command.h"
#include "action/notify_internal.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/redact.h"
#include "http/http.h"

enum { HEADERS = 32, RETRIES = 10, SECONDS = 300, URL_BYTES = 4096, ANSWER_BYTES = 64 << 10 };

static const char *const STYLES[NOTIFY_STYLES + 1] = {"json", "slack", "sns", "teams", NULL};

/* Tells why this is no URL for us; NULL when it is one. The characters are those that a URL may have, so nothing of
 * it can leave the request line. */
static const char *notify_url_fault(const char *url)
{
    size_t scheme = assay_http_scheme(url), length = strlen(url);
    if (scheme == 0)
        return "expected a URL that begins with https:// or http://";
    if (length > URL_BYTES)
        return "the URL is too long";
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)url[i] <= ' ' || (unsigned char)url[i] >= 0x7f || strchr("\"<>\\^`{|}#", url[i]))
            return "the URL has characters that need percent encoding, or a fragment";
    }
    size_t authority = strcspn(url + scheme, "/?");
    if (authority == 0 || url[scheme] == ':')
        return "the URL has no host";
    if (memchr(url + scheme, '@', authority))
        return "the URL has a user or password in it: give an Authorization header instead";
    return NULL;
}

/* Headers whose value is a secret wherever they occur. */
static bool is_credential(const char *name)
{
    static const char *const names[] = {"authorization", "proxy-authorization", "cookie",
                                        "x-api-key",     "x-auth-token",        NULL};
    for (const char *const *n = names; *n; n++) {
        if (strcasecmp(name, *n) == 0)
            return true;
    }
    return false;
}

static bool is_token(const char *name)
{
    return name[0] &&
           name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.!#$%&'*+^`|~")] == '\0';
}

/* Names and values go into a request as they are: no line end and no colon may be in a name; assay_secret_fetch()
 * refuses control characters of a value. */
static int read_header(const job_reader *r, const char *place, const cJSON *item, notify_header *out)
{
    if (!is_token(item->string))
        return job_fail(r, place, "\"%.60s\" is not the name of a header", item->string);
    char where[ASSAY_JOB_PLACE + 64];
    snprintf(where, sizeof where, "%s.%.60s", place, item->string);
    ASSAY_TRY(assay_secret_read(r, where, item, &out->value));
    if (out->value.kind == ASSAY_SECRET_LITERAL && is_credential(item->string))
        return job_fail(r, where,
                        "a secret does not belong in a job file: give it as {\"env\": NAME} or {\"file\": PATH}");
    out->name = assay_copy_text(item->string);
    return out->name ? ASSAY_OK : job_no_memory(r);
}

static int read_headers(const job_reader *r, const char *place, const cJSON *list, assay_notify *target)
{
    char where[ASSAY_JOB_PLACE];
    int status = ASSAY_OK;
    if (!list)
        return ASSAY_OK;
    snprintf(where, sizeof where, "%.80s.headers", place);
    if (!cJSON_IsObject(list) || cJSON_GetArraySize(list) > HEADERS)
        return job_fail(r, where, "expected an object with at most %d headers", HEADERS);
    target->headers = assay_alloc_zeroed((size_t)cJSON_GetArraySize(list), sizeof *target->headers);
    if (!target->headers)
        return job_no_memory(r);
    for (const cJSON *item = list->child; item && status == ASSAY_OK; item = item->next)
        status = read_header(r, where, item, &target->headers[target->header_count++]);
    return status;
}

/* Tells whether a URL is a secret by itself: whoever knows one of these may write there. */
static bool is_secret_as_a_whole(const char *url)
{
    static const char *const ends[] = {"hooks.slack.com", ".webhook.office.com", ".logic.azure.com"};
    const char *host = url + assay_http_scheme(url);
    const size_t length = strcspn(host, ":/?#");
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t size = strlen(ends[i]);
        if (length >= size && strncasecmp(host + length - size, ends[i], size) == 0)
            return true;
    }
    return false;
}

static int read_url(const job_reader *r, const char *place, const cJSON *item, assay_notify *target)
{
    char where[ASSAY_JOB_PLACE];
    snprintf(where, sizeof where, "%.80s.url", place);
    int status = assay_secret_read(r, where, item, &target->url);
    if (status != ASSAY_OK || target->url.kind != ASSAY_SECRET_LITERAL)
        return status;
    const char *url = target->url.source, *fault = notify_url_fault(url);
    if (fault)
        return job_fail(r, where, "%s", fault);
    if (is_secret_as_a_whole(url))
        return job_fail(r, where,
                        "such a URL is a secret, which does not belong in a job file: give it as {\"env\": NAME} or "
                        "{\"file\": PATH}");
    /* A literal URL is in the job file for all to read, but a query in it may hold a token. */
    return assay_redact_add_url(url, true) == ASSAY_OK ? ASSAY_OK : job_no_memory(r);
}

/* The name goes into logs and reports: a fetched URL is named by its source, a literal one without its query. */
static int make_name(const job_reader *r, assay_notify *target)
{
    assay_buf name = ASSAY_BUF(2 * URL_BYTES);
    assay_put_format(&name, "%s ", STYLES[target->style]);
    assay_secret_put_source(&target->url, &name);
    if (target->url.kind == ASSAY_SECRET_LITERAL)
        assay_http_put_url(target->url.source, false, &name);
    if (assay_buf_status(&name) == ASSAY_OK)
        target->name = assay_copy_bytes_as_text((const char *)name.data, name.size);
    assay_buf_release(&name);
    return target->name ? ASSAY_OK : job_no_memory(r);
}

#define AT(member) ASSAY_SETTING_AT(assay_notify, member)
const assay_setting notify_webhook_settings[] = {
    {.name = "url", .kind = ASSAY_SETTING_ITEM, AT(said[0]), .required = true, .help = "where messages are sent"},
    {.name = "style",
     .kind = ASSAY_SETTING_WORD,
     AT(style),
     .words = "json|slack|sns|teams",
     .initial = "json",
     .help = "the form of a message"},
    {.name = "headers", .kind = ASSAY_SETTING_ITEM, AT(said[1]), .help = "headers of the request, and their values"},
    {.name = "timeout",
     .kind = ASSAY_SETTING_REAL,
     AT(seconds),
     .least = 0.01,
     .most = SECONDS,
     .initial = "30",
     .help = "seconds for one attempt"},
    {.name = "connect_timeout",
     .kind = ASSAY_SETTING_REAL,
     AT(connect_seconds),
     .least = 0.01,
     .most = SECONDS,
     .initial = "10",
     .help = "seconds until the connection stands"},
    {.name = "retries",
     .kind = ASSAY_SETTING_COUNT,
     AT(retries),
     .most = RETRIES,
     .initial = "4",
     .help = "attempts after the first one"},
    {.name = "backoff",
     .kind = ASSAY_SETTING_REAL,
     AT(backoff),
     .most = NOTIFY_LONGEST_WAIT,
     .initial = "1",
     .help = "seconds before the second attempt; before each further one twice as long"},
    {.name = "ca_file",
     .kind = ASSAY_SETTING_COPY,
     AT(ca_file),
     .help = "a file of authorities; those of the system otherwise"},
    {0}};
#undef AT

int notify_webhook_parse(const job_reader *r, const char *place, const cJSON *object, assay_notify *target)
{
    int status = job_read(r, place, notify_webhook_settings, object, target);
    if (status == ASSAY_OK && !assay_http_available())
        return assay_fail(r->err, ASSAY_EUNSUPPORTED,
                          "%s: %s: this build has no libcurl: build assay with ASSAY_WITH_CURL, or use \"mail\"",
                          r->file, place);
    ASSAY_THEN(status, read_url(r, place, target->said[0], target));
    ASSAY_THEN(status, read_headers(r, place, target->said[1], target));
    return status == ASSAY_OK ? make_name(r, target) : status;
}

/* Called before the run and again before each message; what was fetched stays. Secrets are made known to the
 * redaction as soon as they are here, so that no message of a failure can show them. */
int notify_webhook_prepare(assay_notify *target, assay_error *err)
{
    bool fresh = !target->url.value, secret = target->url.kind != ASSAY_SECRET_LITERAL;
    char place[ASSAY_ERROR_TEXT / 2];
    snprintf(place, sizeof place, "%.200s.url", target->place);
    int status = assay_secret_fetch(&target->url, place, err);
    const char *fault = status == ASSAY_OK ? notify_url_fault(target->url.value) : NULL;
    if (status == ASSAY_OK && target->url.kind != ASSAY_SECRET_LITERAL &&
        assay_redact_add_url(target->url.value, false) != ASSAY_OK)
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", place);
    if (status == ASSAY_OK && fault)
        status = assay_fail(err, ASSAY_EJOB, "%s: %s: %s", place, target->url.source, fault);
    for (size_t i = 0; i < target->header_count && status == ASSAY_OK; i++) {
        snprintf(place, sizeof place, "%.180s.headers.%.60s", target->place, target->headers[i].name);
        status = assay_secret_fetch(&target->headers[i].value, place, err);
        if (status == ASSAY_OK && target->headers[i].value.kind != ASSAY_SECRET_LITERAL &&
            assay_redact_add(target->headers[i].value.value) != ASSAY_OK)
            status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", place);
        secret |= target->headers[i].value.kind != ASSAY_SECRET_LITERAL;
    }
    /* 7 is the length of "http://". */
    if (status == ASSAY_OK && fresh && secret && assay_http_scheme(target->url.value) == 7)
        assay_log_warn("%s: the secret would be sent unencrypted; use https", target->place);
    return status;
}

static void free_headers(char **list)
{
    for (char **h = list; h && *h; h++)
        free(*h);
    free(list);
}

static bool has_header(const assay_notify *target, const char *name)
{
    for (size_t i = 0; i < target->header_count; i++)
        if (strcasecmp(target->headers[i].name, name) == 0)
            return true;
    return false;
}

/* "Name: value" texts, ending with NULL: the target's, and the kind of the body unless they say it. NULL without
 * memory. */
static char **make_headers(const assay_notify *target)
{
    static const char kind[] = "Content-Type: application/json; charset=utf-8";
    char **list = assay_alloc_zeroed(target->header_count + 2, sizeof *list);
    size_t count = target->header_count;
    for (size_t i = 0; list && i < count; i++) {
        const notify_header *h = &target->headers[i];
        size_t room = strlen(h->name) + strlen(h->value.value) + 3;
        list[i] = assay_alloc(room);
        if (!list[i]) {
            free_headers(list);
            return NULL;
        }
        snprintf(list[i], room, "%s: %s", h->name, h->value.value);
    }
    if (list && !has_header(target, "Content-Type")) {
        list[count] = assay_copy_text(kind);
        if (!list[count]) {
            free_headers(list);
            return NULL;
        }
    }
    return list;
}

/* Sends the request once. With a code the target has decided, whatever came behind it: an answer that broke off after
 * a 200 is a delivery. */
static int post(const assay_http_request *request, assay_http_answer *answer, assay_error *why)
{
    int status = assay_http_send(request, answer, why);
    if (status == ASSAY_EIO && answer->code >= 200 && answer->code < 300)
        status = ASSAY_OK;
    return status;
}

/* Again only where the answer allows it (assay_http_answer.again): a request that may have arrived is not sent
 * twice. */
static int attempt_all(const assay_notify *target, const assay_http_request *request, assay_attempt_fn *attempt,
                       void *context, assay_delivery *delivery, assay_error *err)
{
    unsigned most = target->hasty ? 1 : target->retries + 1;
    for (unsigned n = 1;; n++) {
        assay_http_answer answer;
        assay_error why = {""};
        assay_http_answer_init(&answer);
        int status = post(request, &answer, &why);
        assay_http_answer_release(&answer);
        bool unknown = status != ASSAY_OK && answer.sent && answer.code == 0 && !answer.again;
        *delivery = status == ASSAY_OK ? ASSAY_DELIVERED : unknown ? ASSAY_DELIVERY_UNKNOWN : ASSAY_NOT_DELIVERED;
        if (status == ASSAY_OK)
            snprintf(why.text, sizeof why.text, "HTTP %ld", answer.code);
        if (attempt)
            attempt(context, n, *delivery, why.text);
        if (status == ASSAY_OK)
            return ASSAY_OK;
        if (!answer.again || n >= most)
            return assay_fail(err, status, "%s: %s%s (attempt %u of %u)", target->name, why.text,
                              unknown ? "; it may have arrived" : "", n, most);
        assay_command_sleep(assay_http_backoff(target->backoff, n, answer.retry_after, NOTIFY_LONGEST_WAIT));
    }
}

/* The body is made once: all attempts send the same bytes. */
int notify_webhook_send(assay_notify *target, const assay_message *message, assay_attempt_fn *attempt, void *context,
                        assay_delivery *delivery, assay_error *err)
{
    assay_buf body = ASSAY_BUF(NOTIFY_BODY);
    notify_put_body(target->style, message, &body);
    char **headers = make_headers(target);
    int status = headers ? assay_buf_status(&body) : ASSAY_ENOMEM;
    if (status != ASSAY_OK) {
        assay_fail(err, status, "%s: the message cannot be held in memory", target->name);
    } else {
        const assay_http_request request = {.method = "POST",
                                            .url = target->url.value,
                                            .headers = (const char *const *)headers,
                                            .body = body.data,
                                            .size = body.size,
                                            .most = ANSWER_BYTES,
                                            .ca_file = target->ca_file,
                                            .connect_seconds = target->connect_seconds,
                                            .seconds = target->seconds};
        status = attempt_all(target, &request, attempt, context, delivery, err);
    }
    free_headers(headers);
    assay_buf_release(&body);
    return status;
}
