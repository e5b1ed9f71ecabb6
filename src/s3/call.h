/* call.h - one signed request of the S3 protocol, with its retries. Inside s3 only. */
#pragma once

#include "http/http.h"
#include "s3/listing.h"
#include "s3/session.h"

typedef struct s3_call s3_call;

/* Looks at an answer of 2xx on the pool's thread: 0: that was all; 1: *query was changed, and asks for more; negative:
 * the call has failed, with a text. */
typedef int s3_answered(void *context, const assay_http_answer *answer, assay_buf *query, assay_error *err);

typedef struct s3_request {
    const char *method;
    const char *bucket, *key; /* key NULL: the bucket itself; both are copied */
    const char *query;        /* escaped and sorted; copied; NULL: none */
    const char *range;        /* "Range: bytes=0-9"; copied; NULL: none */
    const char *condition;    /* "If-Match: ..."; copied; NULL: none */
    const char *type;         /* "Content-Type: ..."; a constant; NULL: none */
    const void *body;         /* borrowed */
    size_t size, most;
    atomic_uint_fast64_t *counter;  /* of attempts */
    s3_answered *answered;          /* NULL: the answer is the caller's */
    void (*release)(void *context); /* NULL: nothing to release */
    void *context;
    bool urgent;
} s3_request;

/* Starts it. Takes the context in any case. NULL without memory. */
s3_call *s3_call_begin(const s3_request *request);
/* Waits. Follows another region once, and renews keys that expired once. ASSAY_OK; ASSAY_ENOTFOUND (no such key or
 * bucket), ASSAY_EUSAGE (the request cannot succeed as it is: who, where, the clock), ASSAY_EIO, ASSAY_ENOMEM with a
 * message that names bucket, key, code and what to do. *answer is the call's. */
int s3_call_wait(s3_call *call, assay_http_answer **answer, assay_error *err);
/* NULL is ignored. */
void s3_call_end(s3_call *call);
