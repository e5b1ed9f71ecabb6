/* curl_request.h - one request on one handle of libcurl. Inside http only. */
#pragma once

#include <curl/curl.h>

#include "http/http.h"

/* What a handle needs while its request is under way. */
typedef struct http_transfer {
    CURL *curl;
    struct curl_slist *headers;
    assay_http_answer *answer; /* borrowed */
    assay_http_pool *pool;     /* that has memory of earlier bodies; NULL: none */
    bool foreign;              /* an address that is not loopback was refused */
    bool long_body;
    size_t lines; /* bytes of head lines that came, those of interim answers included */
    char detail[CURL_ERROR_SIZE];
} http_transfer;

/* Starts libcurl, once; a new handle. NULL without memory. Free it with curl_easy_cleanup(). */
CURL *http_new_handle(void);

/* Sets transfer->curl up for a request, whose texts and body must stay until http_take() or http_drop(). ASSAY_ENOMEM,
 * ASSAY_EINTERNAL. After a failure nothing is left to take. */
int http_configure(http_transfer *transfer, const assay_http_request *request, assay_error *err);

/* Fills the answer after the transfer ended with `code`, and frees what http_configure() made. */
int http_take(http_transfer *transfer, CURLcode code, assay_error *err);
void http_drop(http_transfer *transfer);

/* Gives an empty body the memory of an earlier one of the pool, where one has room for `size` bytes. */
bool http_pool_lend(assay_http_pool *pool, size_t size, assay_buf *body);
