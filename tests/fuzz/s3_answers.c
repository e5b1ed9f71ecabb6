/* s3_answers.c - see s3_answers.h. */
#include "s3_answers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "http/http.h"

enum { OBJECT_MOST = 64 << 20, TEXT_MOST = 1 << 20 };

s3_server s3_now;

uint8_t s3_object_byte(const s3_object *object, unsigned version, size_t at)
{
    return (uint8_t)((at < object->size ? object->bytes[at] : 0) ^ version);
}

/* ---- what is asked for ---- */

typedef struct question {
    bool listing, delimited, escaped;
    char key[KEY_ROOM], prefix[KEY_ROOM], after[KEY_ROOM]; /* after: of a listing */
    bool ranged;
    uint64_t first, last;
    char match[80]; /* If-Match; "": none */
} question;

static void unescape(const char *text, size_t length, char *out, size_t room)
{
    assay_buf plain;
    assay_buf_init(&plain, room - 1);
    if (assay_http_put_unescaped(&plain, text, length) && assay_buf_status(&plain) == ASSAY_OK)
        memcpy(out, plain.data, plain.size);
    assay_buf_release(&plain);
}

/* The value of a parameter, or "". */
static void take_parameter(const char *query, const char *name, char *out, size_t room)
{
    const size_t length = strlen(name);
    while (*query) {
        const size_t part = strcspn(query, "&");
        if (part > length && strncmp(query, name, length) == 0)
            unescape(query + length, part - length, out, room);
        query += part + (query[part] == '&');
    }
}

/* The URL is "http://HOST/BUCKET[/KEY][?QUERY]". */
static question read_question(const assay_http_request *request)
{
    question q = {.listing = true};
    char token[3 * KEY_ROOM + 1] = "";
    const char *path = strchr(request->url + assay_http_scheme(request->url), '/') + 1;
    const size_t end = strcspn(path, "?"), bucket = strcspn(path, "/?");
    const char *query = path[end] ? path + end + 1 : "";
    if (bucket + 1 < end) {
        q.listing = false;
        unescape(path + bucket + 1, end - bucket - 1, q.key, sizeof q.key);
    }
    q.delimited = strstr(query, "delimiter=") != NULL;
    q.escaped = strstr(query, "encoding-type=url") != NULL;
    take_parameter(query, "prefix=", q.prefix, sizeof q.prefix);
    take_parameter(query, "start-after=", q.after, sizeof q.after);
    take_parameter(query, "continuation-token=", token, sizeof token);
    if (token[0]) /* the escaped key, for XML has no place for all of its bytes */
        unescape(token, strlen(token), q.after, sizeof q.after);
    for (const char *const *h = request->headers; h && *h; h++) {
        q.ranged = q.ranged || sscanf(*h, "Range: bytes=%" SCNu64 "-%" SCNu64, &q.first, &q.last) == 2;
        (void)sscanf(*h, "If-Match: \"%79[^\"]", q.match);
    }
    return q;
}

static const s3_act *find_act(unsigned number)
{
    static s3_act found;
    for (size_t i = 0; i < s3_now.act_count; i++) {
        memcpy(&found, s3_now.acts + i * sizeof found, sizeof found);
        if (found.number == number || (found.kind & 0x80 && found.number < number)) {
            found.kind = (found.kind & 0x7f) % S3_ACT_KINDS;
            return &found;
        }
    }
    return NULL;
}

static bool is(const s3_act *act, s3_act_kind kind)
{
    return act && act->kind == kind;
}

/* ---- answers ---- */

static void put_header(assay_http_answer *answer, const char *name, const char *value)
{
    assay_put_format(&answer->head, "%s: %s", name, value);
    assay_put_u8(&answer->head, '\0');
}

static int judge(assay_http_answer *answer, assay_error *err)
{
    if (answer->code >= 200 && answer->code < 300)
        return ASSAY_OK;
    answer->again = answer->code == 429 || answer->code >= 500;
    return assay_fail(err, ASSAY_EIO, "HTTP %ld", answer->code);
}

static void put_text(assay_http_answer *answer, const char *text)
{
    assay_put_bytes(&answer->body, text, strlen(text));
}

static void put_etag(const s3_object *o, assay_buf *out)
{
    const uint64_t sum = assay_hash_bytes(o->bytes, o->size) ^ o->zeros;
    assay_put_format(out, "%016" PRIx64 "-%u", sum, o->version);
}

static void refuse(uint8_t which, assay_http_answer *answer)
{
    static const struct {
        long code;
        const char *text;
    } known[] = {{301, "<Error><Code>PermanentRedirect</Code><Region>eu-west-1</Region></Error>"},
                 {307, "<Error><Code>TemporaryRedirect</Code></Error>"},
                 {400, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-2</Region></Error>"},
                 {400, "<Error><Code>ExpiredToken</Code></Error>"},
                 {403, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>"},
                 {403, "<Error><Code>RequestTimeTooSkewed</Code><ServerTime>2030-01-01T00:00:00Z</ServerTime></Error>"},
                 {404, "<Error><Code>NoSuchKey</Code></Error>"},
                 {404, "<Error><Code>NoSuchBucket</Code></Error>"},
                 {412, ""},
                 {416, ""},
                 {429, "<Error><Code>SlowDown</Code></Error>"},
                 {500, "<Error><Code>InternalError</Code></Error>"},
                 {503, "no XML"},
                 {400, "<Error><Code>RequestTimeout</Code></Error>"},
                 {200, "<Error><Code>InternalError</Code></Error>"},
                 {204, ""}};
    const size_t i = which % (sizeof known / sizeof *known);
    answer->code = known[i].code;
    put_text(answer, known[i].text);
    if (known[i].code == 307)
        put_header(answer, "x-amz-bucket-region", "eu-west-3");
    if (known[i].code == 429)
        put_header(answer, "Retry-After", "1");
    s3_now.lied = s3_now.lied || known[i].code < 300 || known[i].code == 416;
}

static void put_key(const question *q, const char *key, size_t length, assay_buf *out)
{
    if (q->escaped)
        assay_http_put_escaped(out, key, length, true);
    else
        assay_put_bytes(out, key, length);
}

static void put_item(const question *q, const s3_object *o, size_t length, bool is_prefix, assay_buf *out)
{
    if (is_prefix) {
        assay_put_format(out, "<CommonPrefixes><Prefix>");
        put_key(q, o->key, length, out);
        assay_put_format(out, "</Prefix></CommonPrefixes>");
        return;
    }
    assay_put_format(out, "<Contents><Key>");
    put_key(q, o->key, length, out);
    assay_put_format(out, "</Key><LastModified>2026-11-20T10:00:%02u.000Z</LastModified><ETag>&quot;", o->version % 60);
    put_etag(o, out);
    assay_put_format(out, "&quot;</ETag><Size>%zu</Size></Contents>", o->size + o->zeros);
}

/* A page of a listing. Its token is the last key, or common prefix, in it. */
static void list(const question *q, const s3_act *act, assay_http_answer *answer)
{
    const size_t prefix = strlen(q->prefix);
    char last[KEY_ROOM];
    size_t count = 0;
    snprintf(last, sizeof last, "%s", q->after);
    assay_put_format(&answer->body, "<ListBucketResult>%s", q->escaped ? "<EncodingType>url</EncodingType>" : "");
    bool more = false;
    for (size_t i = 0; i < s3_now.count && !more; i++) {
        const s3_object *o = &s3_now.object[i];
        char name[KEY_ROOM];
        if (o->gone || strncmp(o->key, q->prefix, prefix) != 0)
            continue;
        const char *slash = q->delimited ? strchr(o->key + prefix, '/') : NULL;
        const size_t length = slash ? (size_t)(slash - o->key) + 1 : strlen(o->key);
        snprintf(name, sizeof name, "%.*s", (int)length, o->key);
        if (strcmp(name, last) <= 0)
            continue;
        more = count++ == s3_now.page;
        if (more)
            break;
        put_item(q, o, length, slash != NULL, &answer->body);
        memcpy(last, name, sizeof last);
    }
    if (is(act, S3_ACT_TOKEN))
        snprintf(last, sizeof last, "%u", act->argument);
    if (more || (is(act, S3_ACT_TOKEN) && act->argument % 2)) {
        assay_put_format(&answer->body, "<IsTruncated>true</IsTruncated><NextContinuationToken>");
        put_text(answer, last[0] ? "" : "x");
        assay_http_put_escaped(&answer->body, last, strlen(last), true);
        assay_put_format(&answer->body, "</NextContinuationToken>");
    }
    assay_put_format(&answer->body, "</ListBucketResult>");
    answer->code = 200;
}

static void put_range(const s3_object *o, size_t first, size_t count, assay_buf *out)
{
    uint8_t more[1 << 14];
    if (assay_buf_reserve(out, count) != ASSAY_OK)
        return;
    for (size_t i = first; i < first + count && i < o->size; i++)
        assay_put_u8(out, s3_object_byte(o, o->version, i));
    memset(more, (int)o->version, sizeof more);
    while (out->size < count && assay_buf_status(out) == ASSAY_OK)
        assay_put_bytes(out, more, count - out->size < sizeof more ? count - out->size : sizeof more);
}

/* An object, or the range of it that is asked for. */
static void give(const question *q, const s3_act *act, const s3_object *o, assay_http_answer *answer)
{
    const uint64_t size = o->size + o->zeros;
    const bool whole = !q->ranged || is(act, S3_ACT_WHOLE);
    uint64_t first = whole ? 0 : q->first, end = whole || q->last >= size ? size : q->last + 1, total = size;
    char text[80];
    assay_buf etag;
    assay_buf_init(&etag, 80);
    put_etag(o, &etag);
    assay_put_format(&etag, "%s", is(act, S3_ACT_ETAG) ? "-other" : "");
    assay_put_u8(&etag, '\0');
    if (q->match[0] && strcmp(q->match, (const char *)etag.data) != 0) {
        answer->code = 412;
        end = first = 0;
    } else if (first >= size && !whole) {
        answer->code = 416;
        end = first = 0;
        snprintf(text, sizeof text, "bytes */%" PRIu64, size);
        put_header(answer, "Content-Range", text);
    } else {
        answer->code = whole ? 200 : 206;
    }
    snprintf(text, sizeof text, "\"%s\"", (const char *)etag.data);
    if (!is(act, S3_ACT_BARE))
        put_header(answer, "ETag", text);
    put_range(o, first, end - first, &answer->body);
    if (answer->code == 206 && !(is(act, S3_ACT_BARE) && act->argument % 2)) {
        const uint64_t add = is(act, S3_ACT_RANGE) ? act->argument % 16 : 0;
        const bool other = add && act->argument & 0x80;
        total += other ? 0 : add;
        snprintf(text, sizeof text, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, first + (other ? add : 0), end - 1,
                 total);
        put_header(answer, "Content-Range", text);
    }
    assay_buf_release(&etag);
}

/* What is done to the store before an answer. */
static void act_before(const s3_act *act)
{
    s3_object *o = act && s3_now.count > 0 ? &s3_now.object[act->argument % s3_now.count] : NULL;
    if (o && is(act, S3_ACT_CHANGE) && o->version + 1 < VERSIONS)
        o->version++;
    if (o && is(act, S3_ACT_VANISH))
        o->gone = true;
}

/* What is done to an answer that is made. */
static void act_after(const s3_act *act, assay_http_answer *answer)
{
    assay_buf *body = &answer->body;
    if (is(act, S3_ACT_CUT) && body->size > 0)
        body->size = body->size * act->argument / 256;
    if (is(act, S3_ACT_FLIP) && body->size > 0)
        body->data[body->size * act->argument / 256] ^= (uint8_t)(1 << act->argument % 8);
    if (is(act, S3_ACT_RAW) && s3_now.count > 0) {
        const s3_object *o = &s3_now.object[act->argument % s3_now.count];
        assay_buf_clear(body);
        put_range(o, 0, o->size, body);
    }
    /* A cut of an answer without a range is the end of a short object, for all that anybody can tell. */
    s3_now.lied = s3_now.lied || is(act, S3_ACT_FLIP) || is(act, S3_ACT_RAW) || is(act, S3_ACT_BARE) ||
                  is(act, S3_ACT_RANGE) || (is(act, S3_ACT_CUT) && answer->code == 200);
}

static int answer_question(const assay_http_request *request, assay_http_answer *answer, assay_error *err)
{
    const question q = read_question(request);
    const s3_act *act = find_act(s3_now.requests++);
    const s3_object *found = NULL;
    s3_now.acted = s3_now.acted || act;
    act_before(act);
    for (size_t i = 0; i < s3_now.count && !q.listing; i++)
        if (strcmp(s3_now.object[i].key, q.key) == 0 && !s3_now.object[i].gone)
            found = &s3_now.object[i];
    if (is(act, S3_ACT_REFUSE))
        refuse(act->argument, answer);
    else if (q.listing)
        list(&q, act, answer);
    else if (found)
        give(&q, act, found, answer);
    else
        refuse(6, answer);
    act_after(act, answer);
    if (is(act, S3_ACT_BREAK)) {
        answer->code = act->argument % 2 ? 0 : answer->code;
        answer->fault = ASSAY_HTTP_RESOLVE + act->argument % (ASSAY_HTTP_OTHER - ASSAY_HTTP_RESOLVE + 1);
        return assay_fail(err, ASSAY_EIO, "the transfer failed");
    }
    if (answer->body.size > request->most) {
        answer->body.size = request->most;
        answer->fault = ASSAY_HTTP_LONG;
        return assay_fail(err, ASSAY_EIO, "the answer is too long");
    }
    return assay_buf_status(&answer->body) == ASSAY_OK ? judge(answer, err)
                                                       : assay_fail(err, ASSAY_ENOMEM, "out of memory");
}

/* ---- http.h ---- */

struct assay_http_pool {
    unsigned calls; /* that have not ended */
};

struct assay_http_call {
    assay_http_pool *pool;
    const assay_http_work *work;
    void *context;
    bool over;
    int status;
    assay_http_answer answer;
    assay_error error;
};

bool assay_http_available(void)
{
    return true;
}

const char *assay_http_version(void)
{
    return NULL;
}

int assay_http_send(const assay_http_request *request, assay_http_answer *answer, assay_error *err)
{
    (void)request, (void)answer;
    return assay_fail(err, ASSAY_EUNSUPPORTED, "nobody answers single requests here");
}

int assay_http_pool_new(unsigned most, assay_http_pool **out, assay_error *err)
{
    (void)most, (void)err;
    *out = calloc(1, sizeof **out);
    return *out ? ASSAY_OK : ASSAY_ENOMEM;
}

void assay_http_pool_free(assay_http_pool *pool)
{
    if (pool->calls > 0)
        abort();
    free(pool);
}

bool assay_http_pool_serves(const assay_http_pool *pool)
{
    return pool != NULL;
}

double assay_http_pool_slept(assay_http_pool *pool)
{
    (void)pool;
    return 0;
}

assay_http_call *assay_http_begin(assay_http_pool *pool, const assay_http_work *work, void *context, bool urgent)
{
    assay_http_call *call = calloc(1, sizeof *call);
    (void)urgent;
    if (!call)
        abort();
    *call = (assay_http_call){.pool = pool, .work = work, .context = context};
    assay_http_answer_init(&call->answer);
    pool->calls++;
    return call;
}

bool assay_http_is_over(assay_http_call *call)
{
    return call->over;
}

static int attempt(assay_http_call *call, unsigned number)
{
    assay_http_request request = {0};
    int status = call->work->prepare(call->context, number, &request, &call->error);
    if (status != ASSAY_OK)
        return status;
    assay_http_answer_release(&call->answer);
    assay_http_answer_init(&call->answer);
    call->answer.body.ceiling = OBJECT_MOST;
    call->answer.sent = true;
    status = answer_question(&request, &call->answer, &call->error);
    call->over = call->work->judge(call->context, number, status, &call->answer) < 0;
    return status;
}

int assay_http_wait(assay_http_call *call, assay_http_answer **answer, assay_error *err)
{
    for (unsigned number = 1; !call->over; number++) {
        call->status = attempt(call, number);
        call->over = call->over || (call->status != ASSAY_OK && call->status != ASSAY_EIO);
    }
    *answer = &call->answer;
    return call->status == ASSAY_OK ? ASSAY_OK : assay_fail(err, call->status, "%s", call->error.text);
}

void assay_http_end(assay_http_call *call)
{
    if (!call)
        return;
    call->pool->calls--;
    call->work->release(call->context);
    assay_http_answer_release(&call->answer);
    free(call);
}
