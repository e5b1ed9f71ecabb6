/* place.c - places in S3: a bucket and a prefix. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "s3/s3.h"

/* Names of buckets are what DNS takes, and for servers of one's own '_' and capitals too. */
static bool is_bucket(const char *name, size_t length)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    return length >= 1 && length <= 255 && strspn(name, known) >= length && name[0] != '.' && name[0] != '-';
}

int assay_s3_place_parse(const char *location, assay_s3_place *out, assay_error *err)
{
    const char *bucket = strncmp(location, "s3://", 5) == 0 ? location + 5 : location;
    size_t length = strcspn(bucket, "/");
    const char *prefix = bucket + length + (bucket[length] == '/');
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
