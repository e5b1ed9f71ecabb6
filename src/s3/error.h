/* error.h - what a failed request means, and what to say of it. Inside s3 only. */
#pragma once

#include "http/http.h"
#include "s3/listing.h"

/* Is it worth another attempt? */
bool s3_may_pass(const assay_http_answer *answer);
/* The keys have expired: new ones may do. */
bool s3_is_expired(const s3_refusal *refusal);
/* Says what went wrong with a request for a bucket (key NULL) or an object. `why` is the transport's text. Returns
 * ASSAY_ENOTFOUND, ASSAY_EUSAGE or ASSAY_EIO. */
int s3_fail(const char *bucket, const char *key, const assay_http_answer *answer, const s3_refusal *refusal,
            const char *why, assay_error *err);
