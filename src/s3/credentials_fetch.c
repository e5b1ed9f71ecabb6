/* credentials_fetch.c - keys that somebody is asked for: a process, STS with a token of an identity, the container's
 * agent, the instance's metadata. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/json.h"
#include "base/redact.h"
#include "http/http.h"
#include "s3/credentials.h"
#include "s3/listing.h"
#include "s3/xml.h"

/* Answers are a few hundred bytes; one that is larger comes from somebody else. TRIES: whoever gives keys out may be
 * busy for a moment; a job does not wait for longer. */
enum { ANSWER_MOST = 64 << 10, TRIES = 3 };

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* ---- answers ---- */

static char *member(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text && text[0] ? assay_copy_text(text) : NULL;
}

/* Untrusted: a process of the user, an agent or a metadata service wrote it. */
int s3_keys_from_json(const char *name, const void *text, size_t size, const char *token, s3_keys *out,
                      assay_error *err)
{
    cJSON *object = NULL;
    ASSAY_TRY(assay_json_parse(name, text, size, &object, err));
    const char *expires = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "Expiration"));
    s3_keys keys = {.key = member(object, "AccessKeyId"),
                    .secret = member(object, "SecretAccessKey"),
                    .token = member(object, token),
                    .expires = expires ? s3_time_parse(expires) : INT64_MAX};
    cJSON_Delete(object);
    if (keys.key && keys.secret && keys.expires != INT64_MIN) {
        *out = keys;
        return ASSAY_OK;
    }
    int status =
        assay_fail(err, ASSAY_EFORMAT,
                   "%s: the answer has no AccessKeyId, no SecretAccessKey, or an Expiration that is not a time", name);
    s3_keys_release(&keys);
    return status;
}

/* Takes an element's text over. Called at the end of an element: xml->depth is the parent's then, and the element's
 * name stands one below. */
static void take_text(const s3_xml *xml, const char *name, char **to)
{
    /* The first one counts. */
    if (strcmp(xml->name[xml->depth + 1], name) == 0 && !*to)
        *to = assay_copy_text((const char *)xml->text.data);
}

int s3_keys_from_xml(const void *text, size_t size, s3_keys *out)
{
    s3_xml xml;
    s3_keys keys = {.expires = INT64_MAX};
    s3_xml_event event;
    char *expires = NULL;
    s3_xml_init(&xml, text, size);
    while ((event = s3_xml_next(&xml)) < S3_XML_DONE) {
        if (event != S3_XML_END || xml.depth == 0 || strcmp(xml.name[xml.depth], "Credentials") != 0)
            continue;
        take_text(&xml, "AccessKeyId", &keys.key);
        take_text(&xml, "SecretAccessKey", &keys.secret);
        take_text(&xml, "SessionToken", &keys.token);
        take_text(&xml, "Expiration", &expires);
    }
    s3_xml_release(&xml);
    if (expires)
        keys.expires = s3_time_parse(expires);
    free(expires);
    if (event == S3_XML_DONE && keys.key && keys.secret && keys.expires != INT64_MIN) {
        *out = keys;
        return ASSAY_OK;
    }
    s3_keys_release(&keys);
    return ASSAY_EFORMAT;
}

/* Sends a request to one who gives keys out: up to TRIES times while it is busy. Messages name it as `who`. */
static int ask(const assay_http_request *request, const char *who, assay_http_answer *answer, assay_error *err)
{
    assay_error why = {""};
    for (unsigned n = 1;; n++) {
        int status = assay_http_send(request, answer, &why);
        if (status == ASSAY_OK)
            return status;
        /* Only "too many requests" and faults of the server pass by themselves. */
        if (status != ASSAY_EIO || answer->code < 429 || !answer->again || n == TRIES)
            return assay_fail(err, status, "%s: %s", who, why.text);
        double wait = assay_http_backoff(0.1, n, answer->retry_after, 2);
        nanosleep(&(struct timespec){(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)}, NULL);
    }
}

/* ---- a process ---- */

int s3_keys_from_process(const char *command, const char *profile, s3_keys *out, assay_error *err)
{
    char name[160], piece[4096];
    assay_buf text = ASSAY_BUF(ANSWER_MOST);
    snprintf(name, sizeof name, "credential_process of the profile \"%.80s\"", profile);
    /* "e": other programs that are started meanwhile do not inherit the pipe. */
    FILE *pipe = popen(command, "re");
    if (!pipe)
        return assay_fail(err, ASSAY_EIO, "%s: cannot be started", name);
    for (size_t n; (n = fread(piece, 1, sizeof piece, pipe)) > 0;)
        assay_put_bytes(&text, piece, n);
    int code = pclose(pipe), status = assay_buf_status(&text);
    if (status != ASSAY_OK)
        assay_fail(err, status, "%s: %s", name, assay_status_text(status));
    else if (code != 0)
        status = assay_fail(err, ASSAY_EIO, "%s: ended with %d", name, WIFEXITED(code) ? WEXITSTATUS(code) : -1);
    else
        status = s3_keys_from_json(name, text.data, text.size, "SessionToken", out, err);
    /* What was read passed through this buffer in plain text. */
    explicit_bzero(piece, sizeof piece);
    if (text.data)
        explicit_bzero(text.data, text.size);
    assay_buf_release(&text);
    ASSAY_TRY(status);
    snprintf(out->source, sizeof out->source, "%s", name);
    return 1;
}

/* ---- web identity ---- */

/* The service's URL. */
static void put_sts(const char *region, assay_buf *out)
{
    const char *given = variable("AWS_ENDPOINT_URL_STS");
    given = given ? given : variable("AWS_ENDPOINT_URL");
    if (given)
        assay_put_format(out, "%s", given);
    else
        assay_put_format(out, "https://sts.%s.amazonaws.com%s/", region, strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
    assay_put_u8(out, '\0');
}

/* The form that asks for the role's keys. */
static void put_form(const char *role, const assay_buf *token, assay_buf *out)
{
    const char *session = variable("AWS_ROLE_SESSION_NAME");
    assay_put_format(out, "Action=AssumeRoleWithWebIdentity&RoleArn=");
    assay_http_put_escaped(out, role, strlen(role), false);
    assay_put_format(out, "&RoleSessionName=");
    /* The name appears in the account's audit logs. */
    session = session ? session : "assay";
    assay_http_put_escaped(out, session, strlen(session), false);
    assay_put_format(out, "&Version=2011-06-15&WebIdentityToken=");
    assay_http_put_escaped(out, (const char *)token->data, token->size, false);
}

static int ask_sts(const char *url, const assay_buf *form, const char *ca_file, s3_keys *out, assay_error *err)
{
    static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded", NULL};
    const assay_http_request request = {.method = "POST",
                                        .url = url,
                                        .headers = headers,
                                        .body = form->data,
                                        .size = form->size,
                                        .most = ANSWER_MOST,
                                        .ca_file = ca_file,
                                        .connect_seconds = 5,
                                        .seconds = 30};
    assay_http_answer answer;
    assay_http_answer_init(&answer);
    int status = ask(&request, "STS (AWS_WEB_IDENTITY_TOKEN_FILE)", &answer, err);
    if (status == ASSAY_OK && s3_keys_from_xml(answer.body.data, answer.body.size, out) != ASSAY_OK)
        status = assay_fail(err, ASSAY_EFORMAT, "STS (AWS_WEB_IDENTITY_TOKEN_FILE): the answer has no keys");
    s3_refusal refusal = {.code = ""};
    if (status == ASSAY_EIO && answer.body.size > 0)
        s3_refusal_parse(answer.body.data, answer.body.size, &refusal);
    if (refusal.code[0])
        status = assay_fail(err, ASSAY_EIO, "STS (AWS_WEB_IDENTITY_TOKEN_FILE): HTTP %ld (%s): %s", answer.code,
                            refusal.code, refusal.message);
    if (answer.body.data)
        explicit_bzero(answer.body.data, answer.body.size);
    assay_http_answer_release(&answer);
    return status;
}

/* Takes blanks and line ends off the end, and has the token taken out of whatever leaves the program. */
static int trim_and_know(assay_buf *token)
{
    while (token->size > 0 && strchr("\r\n \t", token->data[token->size - 1]))
        token->size--;
    assay_put_u8(token, '\0');
    int status = assay_buf_status(token);
    ASSAY_THEN(status, assay_redact_add((const char *)token->data));
    token->size -= status == ASSAY_OK;
    return status;
}

int s3_keys_from_web_identity(const char *region, const char *ca_file, s3_keys *out, assay_buf *looked,
                              assay_error *err)
{
    /* Both have to be set; one alone is not this link's business. */
    const char *path = variable("AWS_WEB_IDENTITY_TOKEN_FILE"), *role = variable("AWS_ROLE_ARN");
    if (!path || !role) {
        assay_put_format(looked, ", AWS_WEB_IDENTITY_TOKEN_FILE with AWS_ROLE_ARN");
        return 0;
    }
    assay_buf token = ASSAY_BUF(ANSWER_MOST), form = ASSAY_BUF(4 * ANSWER_MOST), url = ASSAY_BUF(4096);
    put_sts(region, &url);
    int status = assay_file_read(path, ANSWER_MOST, &token, err);
    ASSAY_THEN(status, trim_and_know(&token));
    if (status == ASSAY_OK) {
        put_form(role, &token, &form);
        status = assay_buf_status(&form) == ASSAY_OK ? assay_buf_status(&url) : assay_buf_status(&form);
    }
    ASSAY_THEN(status, ask_sts((const char *)url.data, &form, ca_file, out, err));
    if (form.data)
        explicit_bzero(form.data, form.size);
    if (token.data)
        explicit_bzero(token.data, token.size);
    assay_buf_release(&token);
    assay_buf_release(&form);
    assay_buf_release(&url);
    if (status != ASSAY_OK)
        return status == ASSAY_ENOTFOUND ? ASSAY_EUSAGE : status;
    snprintf(out->source, sizeof out->source, "AWS_WEB_IDENTITY_TOKEN_FILE");
    return 1;
}

/* ---- a container ---- */

/* Keys go over plain http only to this machine and to the addresses at which container agents answer. Answers over
 * http can be read, and replaced, by everybody on the way. */
static bool may_be_plain(const char *url)
{
    static const char *const hosts[] = {"127.0.0.1",      "localhost",      "[::1]", "169.254.170.2",
                                        "169.254.170.23", "[fd00:ec2::23]", NULL};
    const char *host = url + assay_http_scheme(url);
    for (const char *const *h = hosts; *h; h++) {
        size_t length = strlen(*h);
        if (strncasecmp(host, *h, length) == 0 && strchr(":/?", host[length])) /* also at the end */
            return true;
    }
    return false;
}

/* "Authorization: ..." of the token, or of the file that has it; empty when there is none. The token goes into a
 * header: a line end in it would begin another header. */
static int put_authorization(assay_buf *out, assay_error *err)
{
    const char *path = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
               *token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    assay_buf text = ASSAY_BUF(ANSWER_MOST);
    int status = path ? assay_file_read(path, ANSWER_MOST, &text, err) : ASSAY_OK;
    if (status == ASSAY_OK && !path && token)
        assay_put_bytes(&text, token, strlen(token));
    while (text.size > 0 && strchr("\r\n \t", text.data[text.size - 1]))
        text.size--;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < ' ')
            status = assay_fail(err, ASSAY_EUSAGE, "the container's authorization token has a line end in it");
    if (status == ASSAY_OK && text.size > 0) {
        assay_put_format(out, "Authorization: ");
        assay_put_bytes(out, text.data, text.size);
        assay_put_u8(out, '\0');
        status = assay_buf_status(out);
        ASSAY_THEN(status, assay_redact_add(strchr((const char *)out->data, ' ') + 1));
    }
    if (text.data)
        explicit_bzero(text.data, text.size);
    assay_buf_release(&text);
    return status == ASSAY_ENOTFOUND ? ASSAY_EUSAGE : status;
}

/* The keys in the JSON that a GET gives; its answer is wiped, as it has them in plain text. */
static int fetch_json(const char *who, assay_http_request request, s3_keys *out, assay_error *err)
{
    assay_http_answer answer;
    request.method = "GET";
    request.most = ANSWER_MOST;
    request.seconds = 10;
    assay_http_answer_init(&answer);
    int status = ask(&request, who, &answer, err);
    ASSAY_THEN(status, s3_keys_from_json(who, answer.body.data, answer.body.size, "Token", out, err));
    if (answer.body.data)
        explicit_bzero(answer.body.data, answer.body.size);
    assay_http_answer_release(&answer);
    return status;
}

int s3_keys_from_container(const char *ca_file, s3_keys *out, assay_buf *looked, assay_error *err)
{
    const char *relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
               *full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    char url[2048];
    if (!relative && !full) {
        assay_put_format(looked, ", AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI");
        return 0;
    }
    /* A relative address is one at the agent of ECS. */
    snprintf(url, sizeof url, "%s%s", relative ? "http://169.254.170.2" : "", relative ? relative : full);
    size_t scheme = assay_http_scheme(url);
    /* 8 and more: https. */
    if (scheme == 0 || (scheme == 7 && !may_be_plain(url)))
        return assay_fail(
            err, ASSAY_EUSAGE,
            "AWS_CONTAINER_CREDENTIALS_FULL_URI: keys are asked for over https, or over http at this machine "
            "and the addresses of container agents only");
    assay_buf header = ASSAY_BUF(ANSWER_MOST);
    int status = put_authorization(&header, err);
    if (status == ASSAY_OK) {
        const char *const headers[] = {(const char *)header.data, NULL};
        const assay_http_request request = {.url = url, .headers = headers, .ca_file = ca_file, .connect_seconds = 2};
        status = fetch_json("the container's credentials (AWS_CONTAINER_CREDENTIALS_..._URI)", request, out, err);
    }
    if (header.data)
        explicit_bzero(header.data, header.size);
    assay_buf_release(&header);
    ASSAY_TRY(status);
    snprintf(out->source, sizeof out->source, "the container's credentials");
    return 1;
}

/* ---- an instance ---- */

static const char INSTANCE[] = "the instance's metadata";

/* PUT for the token that version 2 takes, or GET with it. */
typedef struct question {
    const char *method, *path, *header;
} question;

/* Appends the answer's text, without what ends its first line. A second is enough to connect: the service is on this
 * very link, and a machine that is no instance, where nobody answers, is not to wait longer. */
static int ask_instance(const char *endpoint, const question *q, assay_buf *out, assay_http_answer *answer,
                        assay_error *err)
{
    char url[2048];
    const char *const headers[] = {q->header, NULL};
    snprintf(url, sizeof url, "%s%s", endpoint, q->path);
    const assay_http_request request = {
        .method = q->method, .url = url, .headers = headers, .most = ANSWER_MOST, .connect_seconds = 1, .seconds = 5};
    assay_http_answer_release(answer);
    assay_http_answer_init(answer);
    ASSAY_TRY(ask(&request, INSTANCE, answer, err));
    size_t length = 0;
    while (length < answer->body.size && answer->body.data[length] > ' ')
        length++;
    assay_put_bytes(out, answer->body.data, length);
    assay_put_u8(out, '\0');
    return assay_buf_status(out);
}

/* Token, name of the role, keys of the role. Version 2 of the metadata service: a token first, so that a proxy which
 * forwards requests cannot be made to ask for keys. */
static int walk_instance(const char *endpoint, s3_keys *out, assay_http_answer *answer, assay_error *err)
{
    static const char roles[] = "/latest/meta-data/iam/security-credentials/";
    char url[2048];
    assay_buf header = ASSAY_BUF(ANSWER_MOST), role = ASSAY_BUF(1024);
    assay_put_format(&header, "X-aws-ec2-metadata-token: ");
    /* 6 hours, the longest that the service gives. */
    const question token = {"PUT", "/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 21600"};
    int status = ask_instance(endpoint, &token, &header, answer, err);
    const char *const headers[] = {(const char *)header.data, NULL};
    ASSAY_THEN(status, ask_instance(endpoint, &(question){"GET", roles, headers[0]}, &role, answer, err));
    if (status == ASSAY_OK) {
        snprintf(url, sizeof url, "%s%s%s", endpoint, roles, (const char *)role.data);
        const assay_http_request request = {.url = url, .headers = headers, .connect_seconds = 1};
        status = fetch_json(INSTANCE, request, out, err);
    }
    assay_buf_release(&header);
    assay_buf_release(&role);
    return status;
}

int s3_keys_from_instance(s3_keys *out, assay_buf *looked, assay_error *err)
{
    const char *disabled = variable("AWS_EC2_METADATA_DISABLED"),
               *given = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    char endpoint[1024];
    if (disabled && strcasecmp(disabled, "true") == 0) {
        assay_put_format(looked, ", and not the instance's metadata (AWS_EC2_METADATA_DISABLED)");
        return 0;
    }
    snprintf(endpoint, sizeof endpoint, "%s", given ? given : "http://169.254.169.254");
    for (size_t length = strlen(endpoint); length > 0 && endpoint[length - 1] == '/'; length--)
        endpoint[length - 1] = '\0';
    assay_http_answer answer;
    assay_error why = {""};
    assay_http_answer_init(&answer);
    int status = walk_instance(endpoint, out, &answer, &why);
    /* No answer, or 404: this machine is no instance, or has no role. Anything else is told, since keys were meant to
     * be there. */
    bool absent = status == ASSAY_EIO && (answer.code == 0 || answer.code == 404);
    assay_http_answer_release(&answer);
    if (status == ASSAY_OK) {
        snprintf(out->source, sizeof out->source, "%s", INSTANCE);
        return 1;
    }
    if (!absent)
        return assay_fail(err, status, "%s", why.text);
    assay_put_format(looked, ", %.150s", why.text);
    return 0;
}
