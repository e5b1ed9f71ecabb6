/* http.h - HTTP and HTTPS for all of assay: single requests, and many at once over connections that are kept.
 *
 * libcurl is met in this module alone. Certificates and host names are always verified; there is no switch to turn that
 * off. Redirects are not followed. The proxy variables (http_proxy, https_proxy, no_proxy) count as they do for curl.
 * Messages name host and port at most: no URL, no header, no body. With ASSAY_TEST_LOOPBACK=1 no address but those of
 * this machine's loopback is connected to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <assay/pack.h>
#include <assay/status.h>

typedef struct assay_http_request {
    const char *method;         /* "GET", "HEAD", "PUT", "POST", "DELETE" */
    const char *url;            /* "http://" or "https://", without user and password */
    const char *const *headers; /* "Name: value", ending with NULL; NULL: none */
    const void *body;           /* of PUT and POST */
    size_t size;
    size_t most;         /* bytes of the answer's body that are kept; a longer one is ASSAY_HTTP_LONG */
    const char *ca_file; /* PEM file of the authorities to trust instead of the system's; NULL: the system's */
    double connect_seconds, seconds; /* until connected, TLS included; altogether (0: as long as something comes) */
    double stall_seconds;            /* a connection that gives nothing for so long is broken; 0: no limit */
} assay_http_request;

/* Why there was no answer, or no whole one. */
typedef enum assay_http_fault {
    ASSAY_HTTP_NO_FAULT,
    ASSAY_HTTP_RESOLVE,     /* the host's name, or the proxy's */
    ASSAY_HTTP_CONNECT,     /* refused, no route */
    ASSAY_HTTP_TLS,         /* no TLS connection */
    ASSAY_HTTP_CERTIFICATE, /* the server's is not trusted, or the file of those to trust cannot be used */
    ASSAY_HTTP_TIMEOUT,     /* of the connection, the answer, or within it */
    ASSAY_HTTP_BROKEN,      /* the connection broke off */
    ASSAY_HTTP_NO_HTTP,     /* what came is no HTTP */
    ASSAY_HTTP_LONG,        /* the body is longer than what is kept */
    ASSAY_HTTP_REFUSED,     /* an address that is not loopback, in a test */
    ASSAY_HTTP_OTHER
} assay_http_fault;

typedef struct assay_http_answer {
    long code; /* HTTP's; 0: there was none, or only an interim one (1xx) */
    assay_http_fault fault;
    bool sent;          /* something of the request went out */
    bool again;         /* the reason may pass, and the request certainly changed nothing: not connected, 429, 5xx */
    double retry_after; /* seconds that the server asked to wait; < 0: it did not say */
    assay_buf head;     /* header lines, each with a terminator */
    assay_buf body;     /* at most request->most bytes */
} assay_http_answer;

/* Makes an empty answer, frees what it holds, and gives the value of a header, or NULL; the name's case is ignored. */
void assay_http_answer_init(assay_http_answer *answer);
void assay_http_answer_release(assay_http_answer *answer);
const char *assay_http_header(const assay_http_answer *answer, const char *name);

/* False in a build without libcurl. */
bool assay_http_available(void);
/* "7.88.1", of the libcurl that is loaded; NULL without one. */
const char *assay_http_version(void);

/* Sends the request once, and waits. *answer is initialised by the caller and filled in any case. ASSAY_OK for 2xx;
 * ASSAY_EIO with a few words ("HTTP 503", "cannot connect: ..."); ASSAY_EUNSUPPORTED without libcurl; ASSAY_ENOMEM. */
int assay_http_send(const assay_http_request *request, assay_http_answer *answer, assay_error *err);

/* ---- many at once ---- */

/* Connections that are kept, and a thread that serves them. */
typedef struct assay_http_pool assay_http_pool;
typedef struct assay_http_call assay_http_call;

/* What a call does; the functions run on the pool's thread, one at a time. */
typedef struct assay_http_work {
    /* Fills the request for one more attempt (from 1); its texts stay valid until the next one. A failure ends the
     * call. */
    int (*prepare)(void *context, unsigned attempt, assay_http_request *request, assay_error *err);
    /* After an attempt, whose result is `status`: the seconds to wait for the next one, or < 0 when this was the last.
     */
    double (*judge)(void *context, unsigned attempt, int status, const assay_http_answer *answer);
    /* Frees the context, after the last of the other calls. */
    void (*release)(void *context);
} assay_http_work;

/* A pool that has at most `most` requests under way. ASSAY_EUNSUPPORTED, ASSAY_ENOMEM. Free it after its calls. */
int assay_http_pool_new(unsigned most, assay_http_pool **out, assay_error *err);
void assay_http_pool_free(assay_http_pool *pool);

/* False in a child of the process that made it: a fork leaves its thread behind. Calls that were over stay so there,
 * waiting for another one fails, and ending them frees nothing. */
bool assay_http_pool_serves(const assay_http_pool *pool);

/* Seconds that its thread has slept since it was made: nothing came, and nothing was due. */
double assay_http_pool_slept(assay_http_pool *pool);

/* Starts a call, before those that wait when it is `urgent`. Takes the context in any case. NULL without memory. */
assay_http_call *assay_http_begin(assay_http_pool *pool, const assay_http_work *work, void *context, bool urgent);
/* Has it come to an end? */
bool assay_http_is_over(assay_http_call *call);
/* Waits for its end; what it came to, as assay_http_send() says it. *answer is the call's. */
int assay_http_wait(assay_http_call *call, assay_http_answer **answer, assay_error *err);
/* Ends it, whether it is over or not, and frees it. NULL is ignored. */
void assay_http_end(assay_http_call *call);

/* ---- retries ---- */

/* Seconds to wait after the attempt of that number (from 1): backoff * 2^(attempt - 1), at least what the server asked
 * for, at most `most`. */
double assay_http_backoff(double backoff, unsigned attempt, double asked, double most);

/* ---- URLs ---- */

/* The length of "http://" or "https://"; 0 for anything else. */
size_t assay_http_scheme(const char *url);
/* Appends the URL without user, password, query and fragment; with host_only without its path, too. */
void assay_http_put_url(const char *url, bool host_only, assay_buf *out);
/* Appends text with all but letters, digits and "-._~" as %XX; with `slashes`, '/' stays too. */
void assay_http_put_escaped(assay_buf *out, const char *text, size_t length, bool slashes);
/* Appends text with every %XX as its byte; false, and something may have been appended, where that is none. */
bool assay_http_put_unescaped(assay_buf *out, const char *text, size_t length);
