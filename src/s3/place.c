/* place.c - places in S3: a bucket and a prefix. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/redact.h"
#include "s3/s3.h"

/* Names of buckets are what DNS takes, and for servers of one's own '_' and capitals too. */
static bool is_bucket(const char *name, size_t length)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    return length >= 1 && length <= 255 && strspn(name, known) >= length && name[0] != '.' && name[0] != '-';
}

static const char *bucket_of(const char *location)
{
    return strncmp(location, "s3://", 5) == 0 ? location + 5 : location;
}

/* Bytes of the scheme of a location, its "://" included; 0: it has none. */
static size_t scheme_of(const char *location)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    const size_t length = strspn(location, known);
    return length > 0 && strncmp(location + length, "://", 3) == 0 ? length + 3 : 0;
}

/* Schemes such as gs:// and http:// are told apart from paths, which have no "://". */
bool assay_s3_place_is_foreign(const char *location)
{
    return scheme_of(location) > 0 && strncmp(location, "s3://", 5) != 0;
}

/* People paste s3://KEY:SECRET@BUCKET: what looks like a secret is made known before any message shows it. */
int assay_s3_place_refuse_keys(const char *location, assay_error *err)
{
    const size_t scheme = scheme_of(location);
    const char *bucket = location + scheme;
    const size_t user = strcspn(bucket, ":@/");
    if (bucket[user] != ':' && bucket[user] != '@')
        return ASSAY_OK;
    const char *at = strrchr(bucket, '@'); /* a secret may have '/' and '@' in it */
    if (!at && assay_s3_place_is_foreign(location))
        return ASSAY_OK;
    if (!at) /* not shown from the ':' on, as a secret may stand there whose '@' was forgotten */
        return assay_fail(
            err, ASSAY_EUSAGE,
            "s3://%.*s:...: a place in S3 is s3://BUCKET/PREFIX, with no port and no ARN; AWS_ENDPOINT_URL "
            "sets the server's address",
            user < 80 ? (int)user : 80, bucket);
    const size_t size = (size_t)(at - bucket), from = bucket[user] == ':' ? user + 1 : 0;
    char *whole = assay_copy_bytes_as_text(bucket, size),
         *secret = assay_copy_bytes_as_text(bucket + from, size - from);
    int status = whole && secret ? assay_redact_add(whole) : ASSAY_ENOMEM;
    ASSAY_THEN(status, assay_redact_add(secret));
    free(whole);
    free(secret);
    return assay_fail(err, status == ASSAY_OK ? ASSAY_EUSAGE : status,
                      "%.*s%s%.80s: a place in S3 is s3://BUCKET/PREFIX, without key and secret; those are set by "
                      "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
                      scheme > 0 ? (int)scheme : 5, scheme > 0 ? location : "s3://", ASSAY_REDACTED, at);
}

/* The prefix ends in "/" or is empty, so that "run1" never matches keys of "run10". */
int assay_s3_place_parse(const char *location, assay_s3_place *out, assay_error *err)
{
    const char *bucket = bucket_of(location);
    size_t length = strcspn(bucket, "/");
    const char *prefix = bucket + length + (bucket[length] == '/');
    ASSAY_TRY(assay_s3_place_refuse_keys(location, err));
    if (!is_bucket(bucket, length))
        return assay_fail(err, ASSAY_EUSAGE,
                          "%.200s: \"%.*s\" is not the name of a bucket; a place in S3 is s3://BUCKET/PREFIX", location,
                          length < 80 ? (int)length : 80, bucket);
    size_t size = strlen(prefix);
    while (size > 0 && prefix[size - 1] == '/' && (size == 1 || prefix[size - 2] != '/'))
        size--; /* "a/" is "a", and "a//" is a prefix of its own */
    assay_s3_place place = {assay_copy_bytes_as_text(bucket, length), assay_alloc(size + 2)};
    if (!place.bucket || !place.prefix) {
        assay_s3_place_release(&place);
        return assay_fail(err, ASSAY_ENOMEM, "%.200s: out of memory while opening it", location);
    }
    memcpy(place.prefix, prefix, size);
    snprintf(place.prefix + size, 2, "%s", size > 0 ? "/" : "");
    *out = place;
    return ASSAY_OK;
}

void assay_s3_place_release(assay_s3_place *place)
{
    free(place->bucket);
    free(place->prefix);
    *place = (assay_s3_place){NULL, NULL};
}
