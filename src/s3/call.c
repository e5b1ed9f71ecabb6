/* call.c - a request is signed anew for each attempt, on the pool's thread; regions and keys are changed on the
 * caller's. */
#include "s3/call.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fault.h"
#include "base/hash.h"
#include "s3/error.h"
#include "s3/sign.h"

/* HEADERS: four of the signature, range, condition, type, and the end. URL_MOST: a key of 1024 bytes, each escaped,
 * many times over. */
enum { HEADERS = 10, URL_MOST = 64 << 10, NO_DATE = 24 };

/* What the pool's thread has of a call; it outlives the call when that is dropped under way. Two may own this: the
 * caller's s3_call and a call of the pool that was dropped but is still under way. Only prepare() and judge() touch
 * it on the pool's thread, one at a time. */
typedef struct work {
    atomic_int owners; /* the call, and the pool's */
    s3_request request;
    char *bucket, *key, *range, *condition;
    assay_buf query;
    char payload[65]; /* SHA-256 of the body; "": not taken yet */
    unsigned tries;   /* since the last answer that was one */
    uint64_t random;
    s3_target target;
    assay_buf text; /* that the headers lie in */
    const char *header[HEADERS];
    s3_keys keys;
    char region[64]; /* of the last attempt; what is known of the bucket may have changed since */
    int failed;      /* by `answered` */
    assay_error error;
} work;

struct s3_call {
    work *work;
    assay_http_pool *pool;
    assay_http_call *http;
    bool redirected, renewed;
};

static void release_work(void *context)
{
    work *w = context;
    /* The last owner frees it. */
    if (atomic_fetch_sub(&w->owners, 1) > 1)
        return;
    if (w->request.release)
        w->request.release(w->request.context);
    free(w->bucket);
    free(w->key);
    free(w->range);
    free(w->condition);
    assay_buf_release(&w->query);
    assay_buf_release(&w->target.url);
    assay_buf_release(&w->target.host);
    assay_buf_release(&w->target.path);
    assay_buf_release(&w->text);
    s3_keys_release(&w->keys);
    free(w);
}

/* ---- one attempt ---- */

/* Appends a header's line; its place in the buffer goes into *at. The buffer may move while lines are put there:
 * places are kept, and turned into pointers at the end. */
static void put_line(work *w, size_t *at, const char *name, const char *value)
{
    *at = w->text.size;
    assay_put_format(&w->text, "%s: %s", name, value);
    assay_put_u8(&w->text, '\0');
}

/* Names in the order of bytes, as signatures ask for; the token is last and may be left out. */
static void sign(work *w, const char *payload, const char *date, assay_buf *out)
{
    s3_header headers[4] = {{"host", (const char *)w->target.host.data},
                            {"x-amz-content-sha256", payload},
                            {"x-amz-date", date},
                            {"x-amz-security-token", w->keys.token}};
    const s3_to_sign to_sign = {.method = w->request.method,
                                .path = (const char *)w->target.path.data,
                                .query = (const char *)w->query.data,
                                .headers = headers,
                                .header_count = w->keys.token ? 4 : 3,
                                .payload = payload,
                                .time = date,
                                .region = w->region,
                                .service = "s3",
                                .key = w->keys.key,
                                .secret = w->keys.secret};
    s3_put_authorization(&to_sign, out);
    assay_put_u8(out, '\0');
}

/* The digest of the body over http; over https, TLS guards it. */
static const char *payload_of(work *w)
{
    assay_sha256 h;
    if (w->target.secure)
        return S3_UNSIGNED;
    if (!w->payload[0]) {
        assay_sha256_init(&h);
        if (w->request.size > 0)
            assay_sha256_add(&h, w->request.body, w->request.size);
        assay_sha256_hex(&h, w->payload);
    }
    return w->payload;
}

/* The headers of a signed request, as places in w->text. Returns how many. */
static unsigned put_signed(work *w, size_t at[HEADERS])
{
    char date[NO_DATE];
    time_t clock = time(NULL);
    struct tm tm;
    assay_buf signature = ASSAY_BUF(8192);
    unsigned count = 0;
    const char *payload = payload_of(w);
    /* The date is that of this attempt: a request that waited for its turn would be refused as too old. */
    strftime(date, sizeof date, "%Y%m%dT%H%M%SZ", gmtime_r(&clock, &tm));
    sign(w, payload, date, &signature);
    put_line(w, &at[count++], "x-amz-content-sha256", payload);
    put_line(w, &at[count++], "x-amz-date", date);
    if (w->keys.token)
        put_line(w, &at[count++], "x-amz-security-token", w->keys.token);
    if (assay_buf_status(&signature) == ASSAY_OK)
        put_line(w, &at[count++], "Authorization", (const char *)signature.data);
    else
        w->text.status = assay_buf_status(&signature);
    assay_buf_release(&signature);
    return count;
}

/* Runs on the pool's thread before each attempt: keys may have been renewed, and the bucket's region learned, since
 * the last. */
static int prepare(void *context, unsigned attempt, assay_http_request *out, assay_error *err)
{
    work *w = context;
    size_t at[HEADERS];
    unsigned count = 0;
    assay_buf_clear(&w->text);
    s3_keys_release(&w->keys);
    s3_session_region(w->bucket, w->region);
    int status = s3_session_keys(&w->keys);
    ASSAY_THEN(status, s3_session_target(w->bucket, w->key, (const char *)w->query.data, &w->target));
    if (status == ASSAY_OK && w->keys.secret)
        count = put_signed(w, at);
    ASSAY_THEN(status, assay_buf_status(&w->text));
    if (status != ASSAY_OK)
        return assay_fail(err, status, "%s while a request to S3 was made", assay_status_text(status));
    for (unsigned i = 0; i < count; i++)
        w->header[i] = (const char *)w->text.data + at[i];
    if (w->range)
        w->header[count++] = w->range;
    if (w->condition)
        w->header[count++] = w->condition;
    if (w->request.body)
        w->header[count++] = w->request.type ? w->request.type : "Content-Type: application/octet-stream";
    w->header[count] = NULL;
    *out = (assay_http_request){.method = w->request.method,
                                .url = (const char *)w->target.url.data,
                                .headers = w->header,
                                .body = w->request.body,
                                .size = w->request.size,
                                .most = w->request.most,
                                .ca_file = s3_session_ca_file(),
                                .connect_seconds = 10,
                                .stall_seconds = s3_session_patience()};
    atomic_fetch_add(w->request.counter, 1);
    if (w->tries > 0)
        atomic_fetch_add(&s3_counter.repeated, 1);
    return ASSAY_OK;
}

/* A number in [0, 1), another one each time (xorshift). */
static double next_random(work *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (double)(w->random >> 11) * 0x1p-53;
}

/* Runs on the pool's thread. Seconds until the next attempt, or below 0: the call is over. */
static double judge(void *context, unsigned attempt, int status, const assay_http_answer *answer)
{
    work *w = context;
    if (status == ASSAY_OK) {
        w->tries = 0;
        if (w->request.answered)
            w->failed = w->request.answered(w->request.context, answer, &w->query, &w->error);
        /* answered() asks for another request with another query (the next page of a listing). */
        return w->request.answered && w->failed == 1 ? 0 : -1;
    }
    if (status != ASSAY_EIO || ++w->tries >= s3_session_attempts() || !s3_may_pass(answer))
        return -1;
    /* Full jitter: clients that were refused at once would come back at once. */
    double wait = assay_http_backoff(0.2, w->tries, -1, 20) * next_random(w);
    return answer->retry_after > wait ? (answer->retry_after < 60 ? answer->retry_after : 60) : wait;
}

static const assay_http_work s3_work = {prepare, judge, release_work};

/* ---- the call ---- */

static char *copy_or_null(const char *text)
{
    return text ? assay_copy_text(text) : NULL;
}

static work *new_work(const s3_request *request)
{
    /* Ownership of the context has passed to this function, whatever it returns. */
    work *w = assay_alloc_zeroed(1, sizeof *w);
    if (!w) {
        if (request->release)
            request->release(request->context);
        return NULL;
    }
    atomic_init(&w->owners, 1);
    w->request = *request;
    w->bucket = assay_copy_text(request->bucket);
    w->key = copy_or_null(request->key);
    w->range = copy_or_null(request->range);
    w->condition = copy_or_null(request->condition);
    /* Not 0, which xorshift never leaves. */
    w->random = ((uint64_t)(uintptr_t)w ^ (uint64_t)time(NULL) << 20) | 1;
    assay_buf_init(&w->query, URL_MOST);
    assay_buf_init(&w->target.url, 4 * URL_MOST);
    assay_buf_init(&w->target.host, URL_MOST);
    assay_buf_init(&w->target.path, URL_MOST);
    assay_buf_init(&w->text, URL_MOST);
    assay_put_format(&w->query, "%s", request->query ? request->query : "");
    assay_put_u8(&w->query, '\0');
    if (w->bucket && !w->key == !request->key && !w->range == !request->range && !w->condition == !request->condition &&
        assay_buf_status(&w->query) == ASSAY_OK)
        return w;
    release_work(w);
    return NULL;
}

/* Hands the work to the pool; false without memory. */
static bool send_work(s3_call *call, bool urgent)
{
    assay_http_pool *pool = s3_session_pool();
    call->pool = pool;
    call->http = NULL;
    if (!pool)
        return false;
    atomic_fetch_add(&call->work->owners, 1);
    call->http = assay_http_begin(pool, &s3_work, call->work, urgent);
    return call->http != NULL;
}

s3_call *s3_call_begin(const s3_request *request)
{
    /* Renewing takes seconds and asks others: on the caller's thread, never on the pool's. */
    (void)s3_session_renew(NULL); /* when that fails, the request tells */
    work *w = new_work(request);
    s3_call *call = w ? assay_alloc_zeroed(1, sizeof *call) : NULL;
    if (!call) {
        if (w)
            release_work(w);
        return NULL;
    }
    call->work = w;
    if (send_work(call, request->urgent))
        return call;
    s3_call_end(call);
    return NULL;
}

void s3_call_end(s3_call *call)
{
    if (!call)
        return;
    assay_http_end(call->http);
    release_work(call->work);
    free(call);
}

/* A new call, since the old one is over; tries count anew, because region or keys are others now. */
static int again(s3_call *call, assay_error *err)
{
    assay_http_end(call->http);
    call->work->tries = 0;
    return send_work(call, true) ? ASSAY_OK
                                 : assay_fail(err, ASSAY_ENOMEM, "out of memory while a request to S3 was repeated");
}

/* After a refusal: 1 when the call was sent again, with another region or new keys; else what it came to. */
static int follow(s3_call *call, const assay_http_answer *answer, const s3_refusal *refusal, assay_error *err)
{
    const char *region = assay_http_header(answer, "x-amz-bucket-region");
    region = region ? region : refusal->region;
    /* Once a call: a server that sends clients in circles is not followed. */
    bool elsewhere = (answer->code == 301 || answer->code == 307 || answer->code == 400) && s3_is_region(region) &&
                     strcmp(region, call->work->region) != 0;
    int status = 0;
    if (elsewhere && !call->redirected) {
        call->redirected = true;
        s3_session_learn_region(call->work->bucket, region);
        status = again(call, err);
        return status == ASSAY_OK ? 1 : status;
    }
    /* Likewise once: keys that are refused again are not the reason. */
    if (s3_is_expired(refusal) && !call->renewed) {
        call->renewed = true;
        status = s3_session_replace(&call->work->keys, err);
        ASSAY_THEN(status, again(call, err));
        return status == ASSAY_OK ? 1 : status;
    }
    return 0;
}

int s3_call_wait(s3_call *call, assay_http_answer **answer, assay_error *err)
{
    /* Goes round at most three times: redirected, renewed, and the answer. */
    for (;;) {
        assay_error why = {""};
        s3_refusal refusal;
        int status = ASSAY_OK;
        if (!assay_http_pool_serves(call->pool) &&
            !assay_http_is_over(call->http)) /* the process was forked meanwhile */
            status = again(call, err);
        ASSAY_TRY(status);
        status = assay_http_wait(call->http, answer, &why);
        work *w = call->work;
        if (status == ASSAY_OK && w->failed < 0)
            return assay_fail(err, w->failed, "s3://%s/%s: %s", w->bucket, w->key ? w->key : "", w->error.text);
        if (status == ASSAY_OK)
            return status;
        if (status != ASSAY_EIO)
            return assay_fail(err, status, "s3://%s/%s: %s", w->bucket, w->key ? w->key : "", why.text);
        s3_refusal_parse((*answer)->body.data, (*answer)->body.size, &refusal);
        int followed = follow(call, *answer, &refusal, err);
        if (followed < 0)
            return followed;
        if (followed == 0)
            return s3_fail(w->bucket, w->key, *answer, &refusal, why.text, err);
    }
}
