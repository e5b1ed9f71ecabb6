/* curl_request.c - see curl_request.h. */
#include "http/curl_request.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/heap.h"

enum { LINES_MOST = 256 << 10 }; /* of heads: interim answers (1xx) may come without end */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode started;
/* Tests run without a network; this makes a request to anything else fail instead of leaving the machine. */
static bool loopback_only;

static void start_library(void)
{
    const char *only = getenv("ASSAY_TEST_LOOPBACK");
    loopback_only = only && strcmp(only, "1") == 0;
    /* curl_global_init() is not thread-safe in older versions: once, whoever comes first. */
    started = curl_global_init(CURL_GLOBAL_DEFAULT);
}

CURL *http_new_handle(void)
{
    pthread_once(&once, start_library);
    return started == CURLE_OK ? curl_easy_init() : NULL;
}

bool assay_http_available(void)
{
    return true;
}

const char *assay_http_version(void)
{
    return curl_version_info(CURLVERSION_NOW)->version;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    http_transfer *transfer = context;
    if (!is_loopback(&address->addr)) {
        transfer->foreign = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype, address->protocol);
}

/* A line of the head. That of another answer (100, a proxy's) begins with "HTTP/": only the last one's are kept. */
static size_t take_line(char *bytes, size_t size, size_t count, void *context)
{
    http_transfer *transfer = context;
    assay_buf *head = &transfer->answer->head;
    size_t length = size * count;
    transfer->lines += length;
    if (transfer->lines > LINES_MOST)
        return 0;
    /* A redirect, a proxy or an interim answer puts a head of its own before the last one. */
    if (length > 5 && memcmp(bytes, "HTTP/", 5) == 0)
        assay_buf_clear(head);
    while (length > 0 && (bytes[length - 1] == '\r' || bytes[length - 1] == '\n'))
        length--;
    if (length > 0 && !memchr(bytes, '\0', length)) {
        assay_put_bytes(head, bytes, length);
        assay_put_u8(head, '\0');
    }
    return assay_buf_status(head) == ASSAY_OK ? size * count : 0;
}

/* Memory for all of a body whose length the head tells: growing would copy it again and again. The length is a
 * stranger's: it is bounded by the ceiling of the request, and memory is taken only for what it may be. */
static void make_room(http_transfer *transfer)
{
    assay_buf *body = &transfer->answer->body;
    curl_off_t length = -1;
    if (curl_easy_getinfo(transfer->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length) != CURLE_OK || length <= 0 ||
        (uint64_t)length > body->ceiling || body->room > (size_t)length ||
        (transfer->pool && http_pool_lend(transfer->pool, (size_t)length, body)))
        return;
    void *bytes = assay_heap_alloc_large((size_t)length + 1);
    if (!bytes)
        return; /* it is tried once more, and said, when it grows */
    free(body->data);
    body->data = bytes;
    body->room = (size_t)length + 1;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
    http_transfer *transfer = context;
    assay_buf *body = &transfer->answer->body;
    if (body->size == 0)
        make_room(transfer);
    /* More than was asked for: the transfer is stopped by taking less than was given. */
    if (size * count > body->ceiling - body->size) {
        transfer->long_body = true;
        return 0;
    }
    assay_put_bytes(body, bytes, size * count);
    return assay_buf_status(body) == ASSAY_OK ? size * count : 0;
}

/* What kind of failure it was, and the words for it. libcurl's own texts name host and port at most. */
static assay_http_fault fault_of(CURLcode code, const http_transfer *transfer, const char **what)
{
    const bool sent = transfer->answer->sent;
    if (transfer->foreign) {
        *what = "ASSAY_TEST_LOOPBACK is set, and this is not a loopback address";
        return ASSAY_HTTP_REFUSED;
    }
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
        *what = "cannot connect";
        return ASSAY_HTTP_RESOLVE;
    case CURLE_COULDNT_CONNECT:
        *what = "cannot connect";
        return ASSAY_HTTP_CONNECT;
    case CURLE_SSL_CONNECT_ERROR:
        *what = "no TLS connection";
        return ASSAY_HTTP_TLS;
    case CURLE_OPERATION_TIMEDOUT:
        *what = sent ? "no answer in time" : "cannot connect in time";
        return ASSAY_HTTP_TIMEOUT;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        *what = "the connection broke";
        return ASSAY_HTTP_BROKEN;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
        *what = "the answer is not HTTP";
        return ASSAY_HTTP_NO_HTTP;
    case CURLE_PEER_FAILED_VERIFICATION:
        *what = "the server's certificate is refused";
        return ASSAY_HTTP_CERTIFICATE;
    case CURLE_SSL_CACERT_BADFILE:
        *what = "the file of certificates to trust cannot be used";
        return ASSAY_HTTP_CERTIFICATE;
    case CURLE_OUT_OF_MEMORY: /* libcurl says so of a line of the head without end, too */
        *what = "libcurl has no memory for the answer's head";
        return ASSAY_HTTP_OTHER;
    case CURLE_WRITE_ERROR:
        *what =
            transfer->long_body ? "the answer is too long" : "the transfer failed, or the answer's head is too long";
        return transfer->long_body ? ASSAY_HTTP_LONG : ASSAY_HTTP_OTHER;
    default:
        *what = "the transfer failed";
        return ASSAY_HTTP_OTHER;
    }
}

/* Whether the reason may pass, and the request certainly changed nothing. */
static bool may_pass(assay_http_fault fault, bool sent)
{
    /* What was sent may have changed something at the server: of those faults only requests without a byte out are
     * tried again. */
    return fault == ASSAY_HTTP_RESOLVE || fault == ASSAY_HTTP_CONNECT || fault == ASSAY_HTTP_TLS ||
           ((fault == ASSAY_HTTP_TIMEOUT || fault == ASSAY_HTTP_BROKEN) && !sent);
}

/* Ours and the caller's; NULL without memory. No "Expect: 100-continue": it only costs a second with servers that
 * ignore it. */
static struct curl_slist *make_headers(const assay_http_request *request)
{
    /* "Accept:" and "Expect:" without a value take libcurl's own headers away. */
    static const char *const ours[] = {"Accept:", "Expect:", "User-Agent: assay", NULL};
    struct curl_slist *list = NULL;
    for (int part = 0; part < 2; part++) {
        for (const char *const *h = part ? request->headers : ours; h && *h; h++) {
            struct curl_slist *longer = curl_slist_append(list, *h);
            if (!longer) {
                curl_slist_free_all(list);
                return NULL;
            }
            list = longer;
        }
    }
    return list;
}

/* The options of all methods. */
static CURLcode set_options(http_transfer *transfer, const assay_http_request *request)
{
    CURL *curl = transfer->curl;
    CURLcode bad = CURLE_OK;
#define SET(option, value) bad = bad ? bad : curl_easy_setopt(curl, option, value)
    SET(CURLOPT_ERRORBUFFER, transfer->detail);
    /* No signal for a slow resolver: this is a thread. */
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    /* HTTP/1.1: requests are many and large, and connections are kept; several on one connection would wait for each
     * other's bytes. */
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    /* A redirect of S3 goes to another region and needs another signature; src/s3 follows it itself. */
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    /* Keys may have "/../" in them; libcurl would shorten the path, and the signature would be that of another one. */
    SET(CURLOPT_PATH_AS_IS, 1L);
    /* Passwords of ~/.netrc are for other programs. */
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (request->ca_file) {
        SET(CURLOPT_CAINFO, request->ca_file);
        SET(CURLOPT_CAPATH, NULL);
    }
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(request->connect_seconds * 1000));
    SET(CURLOPT_TIMEOUT_MS, (long)(request->seconds * 1000));
    if (request->stall_seconds > 0) {
        SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
        /* Less than one byte a second for so long ends a transfer, however long a good one may take. */
        SET(CURLOPT_LOW_SPEED_TIME, (long)(request->stall_seconds + 0.5));
    }
    SET(CURLOPT_HTTPHEADER, transfer->headers);
    SET(CURLOPT_HEADERFUNCTION, take_line);
    SET(CURLOPT_HEADERDATA, transfer);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, transfer);
    SET(CURLOPT_BUFFERSIZE, 256L << 10);
    if (loopback_only) {
        SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
        SET(CURLOPT_OPENSOCKETDATA, transfer);
    }
    SET(CURLOPT_URL, request->url);
    return bad;
}

static CURLcode set_method(CURL *curl, const assay_http_request *request)
{
    CURLcode bad = CURLE_OK;
    if (strcmp(request->method, "GET") == 0)
        return curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    if (strcmp(request->method, "HEAD") == 0)
        return curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    /* POSTFIELDS does not copy the body: it stays the caller's until the call is over. */
    if (request->body || strcmp(request->method, "POST") == 0) { /* PUT too: the body lies in memory */
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size);
        SET(CURLOPT_POSTFIELDS, request->body ? request->body : "");
    }
    SET(CURLOPT_CUSTOMREQUEST, request->method);
    return bad;
}
#undef SET

int http_configure(http_transfer *transfer, const assay_http_request *request, assay_error *err)
{
    assay_http_answer *answer = transfer->answer;
    answer->code = 0;
    answer->fault = ASSAY_HTTP_NO_FAULT;
    answer->sent = answer->again = false;
    answer->retry_after = -1;
    assay_buf_clear(&answer->head);
    assay_buf_clear(&answer->body);
    answer->body.ceiling = request->most;
    transfer->foreign = transfer->long_body = false;
    transfer->lines = 0;
    transfer->detail[0] = '\0';
    transfer->headers = make_headers(request);
    if (!transfer->headers)
        return assay_fail(err, ASSAY_ENOMEM, "libcurl is out of memory");
    CURLcode bad = set_options(transfer, request);
    bad = bad ? bad : set_method(transfer->curl, request);
    if (bad == CURLE_OK)
        return ASSAY_OK;
    http_drop(transfer);
    return assay_fail(err, ASSAY_EINTERNAL, "libcurl refuses the request: %s",
                      transfer->detail[0] ? transfer->detail : curl_easy_strerror(bad));
}

void http_drop(http_transfer *transfer)
{
    curl_slist_free_all(transfer->headers);
    transfer->headers = NULL;
    curl_easy_reset(transfer->curl);
}

/* What the code says; ASSAY_OK for 2xx. */
static int judge_code(assay_http_answer *answer, assay_error *err)
{
    if (answer->code >= 200 && answer->code < 300)
        return ASSAY_OK;
    answer->again = answer->code == 429 || answer->code >= 500;
    return assay_fail(err, ASSAY_EIO, "HTTP %ld%s", answer->code,
                      answer->code >= 300 && answer->code < 400 ? ", a redirect, and those are not followed" : "");
}

int http_take(http_transfer *transfer, CURLcode code, assay_error *err)
{
    assay_http_answer *answer = transfer->answer;
    const char *what = "";
    curl_off_t wait = 0;
    long sent = 0;
    int status = ASSAY_EIO;
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &answer->code);
    if (code != CURLE_OK && answer->code < 200)
        answer->code = 0; /* an interim answer (102) decides nothing: there is none */
    curl_easy_getinfo(transfer->curl, CURLINFO_REQUEST_SIZE, &sent);
    curl_easy_getinfo(transfer->curl, CURLINFO_RETRY_AFTER, &wait);
    answer->sent = sent > 0;
    answer->retry_after = wait > 0 ? (double)wait : -1;
    if (code == CURLE_OK) {
        status = judge_code(answer, err);
    } else {
        answer->fault = fault_of(code, transfer, &what);
        answer->again = may_pass(answer->fault, answer->sent);
        assay_fail(err, status, "%s: %s", what, transfer->detail[0] ? transfer->detail : curl_easy_strerror(code));
        /* libcurl's "out of memory" after something was sent means a head that is too long; see fault_of(). */
        if ((code == CURLE_OUT_OF_MEMORY && !answer->sent) || answer->body.status == ASSAY_ENOMEM ||
            answer->head.status == ASSAY_ENOMEM)
            status = ASSAY_ENOMEM;
    }
    http_drop(transfer);
    return status;
}
