/* listing.h - answers of the S3 protocol that are XML: a page of a listing, an error. Inside s3 only. */
#pragma once

#include "s3/s3.h"

typedef struct s3_page {
    bool more;       /* there is another page */
    assay_buf token; /* by which it is asked for */
} s3_page;

/* Reads one page of ListObjectsV2, and calls `visit` for each object and each common prefix in it. ASSAY_EFORMAT: the
 * text is no such page, or one that is cut off; what was visited before then counts for nothing. ASSAY_ENOMEM. What
 * `visit` returns other than 0 ends it. page->token is initialised by the caller. */
int s3_listing_parse(const void *text, size_t size, assay_s3_visit *visit, void *context, s3_page *page,
                     assay_error *err);

/* What a server says of a refusal. */
typedef struct s3_refusal {
    char code[64];     /* "NoSuchKey"; "" when the answer does not tell */
    char message[160]; /* for people */
    char region[64];   /* the bucket's, where the answer names it */
    char time[40];     /* the server's clock, where it does */
} s3_refusal;

/* Reads an <Error>; what is none of those leaves *out empty. Control characters become blanks. */
void s3_refusal_parse(const void *text, size_t size, s3_refusal *out);

/* Reads which upload in parts was begun: its number as a terminated text; false for what is no such answer. */
bool s3_upload_parse(const void *text, size_t size, assay_buf *out);

/* Seconds since 1970 of "2013-05-24T00:00:00.000Z"; INT64_MIN when it is none. */
int64_t s3_time_parse(const char *text);
