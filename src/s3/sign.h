/* sign.h - signature version 4 of AWS: the Authorization header of a request. Inside s3 only.
 *
 * The signer is assay's own: Debian 12's libcurl sorts no query parameters and encodes no path
 * (docs/s3.md, "Signing"). */
#pragma once

#include <assay/pack.h>
#include <assay/status.h>

typedef struct s3_header {
    const char *name; /* lower case */
    const char *value;
} s3_header;

typedef struct s3_to_sign {
    const char *method;
    const char *path;         /* as it is sent: escaped but for '/' */
    const char *query;        /* "a=1&b=2", sorted by name, names and values escaped; "" */
    const s3_header *headers; /* sorted by name; all of these are signed */
    size_t header_count;
    const char *payload; /* SHA-256 of the body in hex, or S3_UNSIGNED */
    const char *time;    /* "20130524T000000Z" */
    const char *region, *service;
    const char *key, *secret;
} s3_to_sign;

#define S3_UNSIGNED "UNSIGNED-PAYLOAD"

/* Appends the value of the Authorization header. */
void s3_put_authorization(const s3_to_sign *request, assay_buf *out);
