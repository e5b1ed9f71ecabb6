/* http.h - one POST of JSON over HTTP or HTTPS, by libcurl: http.c alone includes it.
 *
 * Certificates and host names are always verified; there is no switch to turn that off. Redirects are not followed.
 * Answers are read up to a bound and dropped. */
#ifndef ASSAY_ACTION_HTTP_H
#define ASSAY_ACTION_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include <assay/status.h>

typedef struct assay_http_request {
    const char *url;            /* "http://" or "https://", without user and password */
    const char *const *headers; /* "Name: value", ending with NULL, beside or instead of ours; NULL: none */
    const void *body;
    size_t size;
    const char *ca_file; /* PEM file of the authorities to trust instead of the system's; NULL: the system's */
    double connect_seconds, seconds; /* until connected, TLS included; altogether */
} assay_http_request;

typedef struct assay_http_answer {
    long code;          /* HTTP's; 0: there was none */
    bool sent;          /* something of the request went out */
    bool again;         /* the reason may pass: not connected, 429, 5xx */
    double retry_after; /* seconds that the server asked to wait; < 0: it did not say */
} assay_http_answer;

/* False in a build without libcurl. */
bool assay_http_available(void);

/* Sends the request once. ASSAY_OK for an answer of 2xx; ASSAY_EIO with a few words ("HTTP 503", "cannot connect: ...")
 * without URL or headers; ASSAY_EUNSUPPORTED without libcurl; ASSAY_ENOMEM. *answer is filled in any case. */
int assay_http_post(const assay_http_request *request, assay_http_answer *answer, assay_error *err);

#endif
