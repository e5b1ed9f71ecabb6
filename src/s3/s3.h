/* s3.h - objects of stores that speak the S3 protocol: listed, read by ranges, written (docs/s3.md).
 *
 * One session a process: who asks (credentials), where (region, endpoint), and a pool of connections. It opens by
 * itself with the first use, from the environment and the files that AWS tools share. All calls are of one thread;
 * requests are served by the pool's. What is secret is in no message. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

enum {
    ASSAY_S3_ETAG = 72,       /* room for an ETag and its terminator */
    ASSAY_S3_PIECE = 8 << 20, /* larger objects are read in ranges of so many bytes */
    ASSAY_S3_FEW_PAGES =
        30, /* of a listing, 1000 objects each, one behind the other: more take longer than directories side by side */
};

/* ---- the session ---- */

typedef struct assay_s3_options {
    bool unsigned_requests; /* where no credentials are found */
    size_t requests;        /* at a time */
    size_t memory;          /* bytes of answers that were asked for ahead */
} assay_s3_options;
#define ASSAY_S3_DEFAULTS                                                                                              \
    {                                                                                                                  \
        .requests = 32, .memory = 64 << 20                                                                             \
    }

/* Said before the first use; until then the defaults count. */
void assay_s3_configure(const assay_s3_options *options);
/* What of it counts from now on. */
void assay_s3_set_memory(size_t memory);
void assay_s3_allow_unsigned(void);
size_t assay_s3_memory(void);
size_t assay_s3_requests(void);
/* Opens the session now. ASSAY_EUNSUPPORTED without libcurl, ASSAY_EUSAGE with what was looked for, or what of it is
 * wrong; ASSAY_EIO; ASSAY_ENOMEM. Does nothing when it is open. */
int assay_s3_open(assay_error *err);
/* Ends it; all calls have ended. */
void assay_s3_close(void);

/* Appends who asks and where, secrets included: for the other ranks, never for a file. They open with it. */
void assay_s3_pack(assay_buf *out);
int assay_s3_unpack(assay_cursor *in, assay_error *err);

/* Requests so far, those that were repeated included, and bytes of objects that came. */
typedef struct assay_s3_counts {
    uint64_t gets, lists, puts, repeated, bytes;
} assay_s3_counts;
assay_s3_counts assay_s3_count(void);

/* ---- places ---- */

/* "s3://BUCKET/PREFIX" or "BUCKET/PREFIX": the prefix is "", or ends with one '/' more. Both are owned. ASSAY_EUSAGE
 * with what is wrong with the bucket's name; ASSAY_ENOMEM. */
typedef struct assay_s3_place {
    char *bucket, *prefix;
} assay_s3_place;
int assay_s3_place_parse(const char *location, assay_s3_place *out, assay_error *err);
void assay_s3_place_release(assay_s3_place *place);
/* Does it begin with a scheme ("https://", "S3://") other than s3://? */
bool assay_s3_place_is_foreign(const char *location);
/* ASSAY_EUSAGE where a key or a secret stands before the bucket, as in some URLs, of whatever scheme: from then on no
 * output has them; and where a port or an ARN stands in a place in S3. ASSAY_ENOMEM. */
int assay_s3_place_refuse_keys(const char *location, assay_error *err);

/* ---- listings ---- */

/* Bytes that what is listed may take: a listing that is longer ends with ASSAY_EBUDGET. */
size_t assay_s3_listing_memory(void);

typedef struct assay_s3_object {
    const char *key; /* of an object, or with is_prefix what several keys begin with, its '/' included */
    uint64_t size;
    int64_t time;     /* of the last change, seconds since 1970; INT64_MIN: not told */
    const char *etag; /* without quotes; "": none */
    bool is_prefix;
} assay_s3_object;

/* Returns 0 to go on. */
typedef int assay_s3_visit(void *context, const assay_s3_object *object);

typedef struct assay_s3_listing assay_s3_listing;
typedef enum assay_s3_reach {
    ASSAY_S3_LEVEL,    /* objects up to the next '/', and the common prefixes of the others */
    ASSAY_S3_DEEP,     /* all objects */
    ASSAY_S3_DEEP_FEW, /* the same, as long as ASSAY_S3_FEW_PAGES hold them. ASSAY_EBUDGET at the end of the last one, and
                        * where one behind the first does not come */
} assay_s3_reach;
/* Begins to list what is below a prefix; all its pages come in the background. `after` (NULL: none): only keys behind
 * that one, unless the server does not heed it. NULL without memory. */
assay_s3_listing *assay_s3_list_begin(const char *bucket, const char *prefix, assay_s3_reach reach, const char *after);
/* Waits for its last page, visits all of it in the order of keys that the server gives, and frees it. A listing that
 * breaks off is an error. ASSAY_ENOTFOUND: no such bucket. */
int assay_s3_list_finish(assay_s3_listing *listing, assay_s3_visit *visit, void *context, assay_error *err);
/* Frees one that nobody wants any more. NULL is ignored. */
void assay_s3_list_drop(assay_s3_listing *listing);

/* ---- objects ---- */

typedef struct assay_s3_get assay_s3_get;
typedef struct assay_s3_bytes {
    const uint8_t *data; /* the get's */
    size_t size;
    uint64_t total;   /* bytes of the whole object */
    const char *etag; /* the get's, without quotes; "": none */
} assay_s3_bytes;

/* Begins to read [from, from + size) of an object; what is behind its end does not come. With an ETag (not NULL, not
 * "") only while it is still that one. NULL without memory. */
assay_s3_get *assay_s3_get_begin(const char *bucket, const char *key, uint64_t from, size_t size, const char *etag,
                                 bool urgent);
/* Seconds that the thread which receives has slept so far: it waited for servers. */
double assay_s3_slept(void);
/* Waits. ASSAY_ENOTFOUND: no such object; ASSAY_EIO: what went wrong, "changed while it was read" included. The get is
 * the caller's still. */
int assay_s3_get_wait(assay_s3_get *get, assay_s3_bytes *out, assay_error *err);
/* Frees the get, waited for or not; NULL is nothing. */
void assay_s3_get_end(assay_s3_get *get);

/* Writes a whole object of at most 5 GiB, and waits. */
int assay_s3_put(const char *bucket, const char *key, const void *bytes, size_t size, const char *type,
                 assay_error *err);
/* Asks whether that object may be written, without writing it: begins an upload in parts and calls it off. A server
 * without such uploads counts as one that may be written to. Errors as those of a request. */
int assay_s3_may_put(const char *bucket, const char *key, assay_error *err);
