/* object.c - reads ranges of objects and writes whole objects. Every answer is compared with its request. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "s3/call.h"

struct assay_s3_get {
    s3_call *call;
    char *bucket, *key;
    uint64_t from;
    size_t size;
    char etag[ASSAY_S3_ETAG];
    bool counted;
};

enum { REFUSAL_MOST = 64 << 10 }; /* of a refusal's text, which may be longer than the bytes asked for */
/* What S3 takes in one request; assay writes nothing that needs an upload in parts. Larger objects are read in parts
 * only; the largest that assay writes is a report. */
static const uint64_t PUT_MOST = (uint64_t)5 << 30;

assay_s3_get *assay_s3_get_begin(const char *bucket, const char *key, uint64_t from, size_t size, const char *etag,
                                 bool urgent)
{
    assay_s3_get *get = assay_alloc_zeroed(1, sizeof *get);
    if (!get)
        return NULL;
    char range[80], condition[ASSAY_S3_ETAG + 16];
    /* size is above 0, or the range would wrap. */
    snprintf(range, sizeof range, "Range: bytes=%" PRIu64 "-%" PRIu64, from, from + size - 1);
    snprintf(condition, sizeof condition, "If-Match: \"%s\"", etag ? etag : "");
    const s3_request request = {.method = "GET",
                                .bucket = bucket,
                                .key = key,
                                .range = range,
                                .condition = etag && etag[0] ? condition : NULL,
                                .most = size > REFUSAL_MOST ? size : REFUSAL_MOST,
                                .counter = &s3_counter.gets,
                                .urgent = urgent};
    get->from = from;
    get->size = size;
    get->bucket = assay_copy_text(bucket);
    get->key = assay_copy_text(key);
    get->call = get->bucket && get->key ? s3_call_begin(&request) : NULL;
    if (get->call)
        return get;
    assay_s3_get_end(get);
    return NULL;
}

void assay_s3_get_end(assay_s3_get *get)
{
    if (!get)
        return;
    s3_call_end(get->call);
    free(get->bucket);
    free(get->key);
    free(get);
}

static int fail(const assay_s3_get *get, const char *what, assay_error *err)
{
    return assay_fail(err, ASSAY_EIO, "s3://%.80s/%.200s: offset %" PRIu64 ": %s", get->bucket, get->key, get->from,
                      what);
}

/* Reads "bytes 0-9/100" or "bytes *\/100": how long the object is; false when it says something else. */
static bool take_content_range(const assay_http_answer *answer, uint64_t *first, uint64_t *last, uint64_t *total)
{
    const char *text = assay_http_header(answer, "Content-Range");
    *first = *last = *total = 0;
    if (!text)
        return false;
    return sscanf(text, "bytes %" SCNu64 "-%" SCNu64 "/%" SCNu64, first, last, total) == 3 ||
           sscanf(text, "bytes */%" SCNu64, total) == 1;
}

static void take_etag(assay_s3_get *get, const assay_http_answer *answer)
{
    const char *etag = assay_http_header(answer, "ETag");
    size_t length = etag ? strlen(etag) : 0;
    if (length > 2 && etag[0] == '"' && etag[length - 1] == '"') {
        etag++;
        length -= 2;
    }
    if (length > 0 && length < sizeof get->etag && !memchr(etag, '"', length))
        snprintf(get->etag, sizeof get->etag, "%.*s", (int)length, etag);
}

/* Is the answer what was asked for? A server that answers with other bytes than were asked for must not end up in
 * figures: every length is compared. */
static int check(assay_s3_get *get, const assay_http_answer *answer, assay_s3_bytes *out, assay_error *err)
{
    uint64_t first, last, total;
    *out = (assay_s3_bytes){answer->body.data, answer->body.size, answer->body.size, get->etag};
    /* Some simple servers know no ranges; the beginning of an object is right all the same. */
    if (answer->code == 200) { /* all of it, in spite of the range */
        if (get->from > 0)
            return fail(get, "the server does not read ranges, and gives the whole object instead", err);
        out->size = out->size < get->size ? out->size : get->size;
        return ASSAY_OK;
    }
    if (!take_content_range(answer, &first, &last, &total) || total == 0)
        return fail(get, "the server does not say which range it gives", err);
    uint64_t left = total > get->from ? total - get->from : 0, want = left < get->size ? left : get->size;
    if (first != get->from || last + 1 - first != want || answer->body.size != want)
        return fail(get, "the server gives another range than was asked for", err);
    out->total = total;
    return ASSAY_OK;
}

int assay_s3_get_wait(assay_s3_get *get, assay_s3_bytes *out, assay_error *err)
{
    assay_http_answer *answer;
    uint64_t first, last, total;
    int status = s3_call_wait(get->call, &answer, err);
    if (status == ASSAY_OK || status == ASSAY_EIO)
        take_etag(get, answer);
    if (status == ASSAY_OK) {
        /* The answer may be asked for again, its bytes were transferred once. */
        if (!get->counted)
            atomic_fetch_add(&s3_counter.bytes, answer->body.size);
        get->counted = true;
        return check(get, answer, out, err);
    }
    /* 416: the status of a range that begins behind the end. */
    if (status == ASSAY_EIO && answer->code == 416) { /* nothing lies there: behind the end, or the object is empty */
        if (!take_content_range(answer, &first, &last, &total))
            total = 0;
        *out = (assay_s3_bytes){NULL, 0, total, get->etag};
        return ASSAY_OK;
    }
    /* 412: If-Match failed, so the object is another one than the one that was listed. */
    if (status == ASSAY_EIO && answer->code == 412)
        return fail(get, "changed while it was read", err);
    if (status == ASSAY_EIO && answer->fault == ASSAY_HTTP_LONG)
        return fail(get, "the server does not read ranges, and gives the whole object instead", err);
    return status;
}

/* ---- written ---- */

static int fail_memory(const char *bucket, const char *key, assay_error *err)
{
    return assay_fail(err, ASSAY_ENOMEM, "s3://%.80s/%.200s: out of memory while it was written", bucket, key);
}

int assay_s3_put(const char *bucket, const char *key, const void *bytes, size_t size, const char *type,
                 assay_error *err)
{
    assay_http_answer *answer;
    const s3_request request = {.method = "PUT",
                                .bucket = bucket,
                                .key = key,
                                .type = type,
                                .body = bytes ? bytes : "",
                                .size = size,
                                .most = REFUSAL_MOST,
                                .counter = &s3_counter.puts,
                                .urgent = true};
    if ((uint64_t)size > PUT_MOST)
        return assay_fail(err, ASSAY_EIO, "s3://%.80s/%.200s: larger than the 5 GiB that can be written at once",
                          bucket, key);
    s3_call *call = s3_call_begin(&request);
    if (!call)
        return fail_memory(bucket, key, err);
    int status = s3_call_wait(call, &answer, err);
    s3_call_end(call);
    return status;
}

/* Calls off the upload of that number. What comes of it matters to nobody: it has no parts. Beginning an upload in
 * parts needs the same permission as writing, and writes nothing: so a job learns at its start that its report could
 * be written. */
static void call_off(const char *bucket, const char *key, const assay_buf *upload)
{
    assay_http_answer *answer;
    assay_buf query = ASSAY_BUF(REFUSAL_MOST);
    assay_put_format(&query, "uploadId=");
    assay_http_put_escaped(&query, (const char *)upload->data, upload->size - 1, false);
    assay_put_u8(&query, '\0');
    const s3_request request = {.method = "DELETE",
                                .bucket = bucket,
                                .key = key,
                                .query = (const char *)query.data,
                                .most = REFUSAL_MOST,
                                .counter = &s3_counter.puts,
                                .urgent = true};
    s3_call *call = assay_buf_status(&query) == ASSAY_OK ? s3_call_begin(&request) : NULL;
    if (call)
        (void)s3_call_wait(call, &answer, NULL);
    s3_call_end(call);
    assay_buf_release(&query);
}

int assay_s3_may_put(const char *bucket, const char *key, assay_error *err)
{
    assay_http_answer *answer = NULL;
    assay_error why = {""};
    assay_buf upload = ASSAY_BUF(REFUSAL_MOST);
    const s3_request request = {.method = "POST",
                                .bucket = bucket,
                                .key = key,
                                .query = "uploads=",
                                .most = REFUSAL_MOST,
                                .counter = &s3_counter.puts,
                                .urgent = true};
    s3_call *call = s3_call_begin(&request);
    if (!call)
        return fail_memory(bucket, key, err);
    int status = s3_call_wait(call, &answer, &why);
    if (status == ASSAY_OK && s3_upload_parse(answer->body.data, answer->body.size, &upload))
        call_off(bucket, key, &upload);
    else if (status == ASSAY_EIO && (answer->code == 405 || answer->code == 501))
        status = ASSAY_OK;
    assay_buf_release(&upload);
    s3_call_end(call);
    return status == ASSAY_OK ? status : assay_fail(err, status, "%s", why.text);
}
