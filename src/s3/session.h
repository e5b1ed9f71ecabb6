/* session.h - the credentials, region and endpoint of requests. Inside s3 only. */
#pragma once

#include <stdatomic.h>

#include "http/http.h"
#include "s3/credentials.h"
#include "s3/s3.h"

/* Counters; any thread adds. */
typedef struct s3_counters {
    atomic_uint_fast64_t gets, lists, puts, repeated, bytes;
} s3_counters;
extern s3_counters s3_counter;

/* The open session's pool; in a child of the process that opened it a new one. NULL without memory for that. */
assay_http_pool *s3_session_pool(void);
unsigned s3_session_attempts(void);
/* Seconds after which a connection that gives nothing is broken. */
unsigned s3_session_patience(void);
/* NULL: the system's authorities. */
const char *s3_session_ca_file(void);

/* A request's place: whole URL, and what is signed of it. Buffers are initialised by the caller; terminated. */
typedef struct s3_target {
    assay_buf url, host, path;
    bool secure; /* https */
} s3_target;
/* `key` NULL: the bucket itself. `query` is escaped and sorted. Any thread. */
int s3_session_target(const char *bucket, const char *key, const char *query, s3_target *out);

/* A copy of the keys that sign now (without a secret: requests are not signed), and of the region of a bucket. Any
 * thread. */
int s3_session_keys(s3_keys *out);
void s3_session_region(const char *bucket, char region[64]);
/* Is it the name of a region, by its characters and length? */
bool s3_is_region(const char *name);
/* The bucket lies in that region, the server says. */
void s3_session_learn_region(const char *bucket, const char *region);

/* Renews keys that expire within five minutes. Not on the pool's thread. */
int s3_session_renew(assay_error *err);
/* Renews keys that the server calls expired, unless those were renewed since. Not on the pool's thread. */
int s3_session_replace(const s3_keys *expired, assay_error *err);
/* Where the keys are from: "AWS_ACCESS_KEY_ID", "profile default of ...". */
void s3_session_put_source(assay_buf *out);
