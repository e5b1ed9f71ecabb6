/* http.c - the one place that meets libcurl. See http.h. */
#include "action/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { ANSWER_BYTES = 64 << 10 }; /* a longer answer ends the transfer; its code counts all the same */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static CURLcode started;

static void start_library(void)
{
    started = curl_global_init(CURL_GLOBAL_DEFAULT);
}

bool assay_http_available(void)
{
    return true;
}

static size_t drop(char *bytes, size_t size, size_t count, void *left)
{
    size_t *room = left;
    (void)bytes;
    if (size * count > *room)
        return 0;
    *room -= size * count;
    return size * count;
}

/* What is to be said of a failure, and whether it may pass. libcurl's own texts name host and port at most. */
static void judge(CURLcode code, const char *detail, assay_http_answer *answer, assay_error *err)
{
    const char *what = "the transfer failed";
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
        what = "cannot connect";
        answer->again = true;
        break;
    case CURLE_SSL_CONNECT_ERROR:
        what = "no TLS connection";
        answer->again = true;
        break;
    case CURLE_OPERATION_TIMEDOUT:
        what = answer->sent ? "no answer in time" : "cannot connect in time";
        answer->again = !answer->sent;
        break;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
        what = "the connection broke";
        answer->again = !answer->sent;
        break;
    case CURLE_PEER_FAILED_VERIFICATION:
        what = "the server's certificate is refused";
        break;
    case CURLE_SSL_CACERT_BADFILE:
        what = "ca_file cannot be used";
        break;
    default:
        break;
    }
    assay_fail(err, ASSAY_EIO, "%s: %s", what, detail[0] ? detail : curl_easy_strerror(code));
}

static int read_answer(CURL *curl, CURLcode code, const char *detail, assay_http_answer *answer, assay_error *err)
{
    curl_off_t wait = 0;
    long sent = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->code);
    curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent);
    curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait);
    answer->sent = sent > 0;
    answer->retry_after = wait > 0 ? (double)wait : -1;
    if (code != CURLE_OK && answer->code < 200) { /* with a code, the server has decided, whatever came behind it */
        judge(code, detail, answer, err);
        return code == CURLE_OUT_OF_MEMORY ? ASSAY_ENOMEM : ASSAY_EIO;
    }
    if (answer->code >= 200 && answer->code < 300)
        return ASSAY_OK;
    answer->again = answer->code == 429 || answer->code >= 500;
    return assay_fail(err, ASSAY_EIO, "HTTP %ld%s", answer->code,
                      answer->code >= 300 && answer->code < 400 ? ", a redirect, and those are not followed" : "");
}

/* The request's options; false when one is refused. */
static bool configure(CURL *curl, const assay_http_request *request, struct curl_slist *headers, size_t *room,
                      char *detail)
{
    CURLcode bad = CURLE_OK;
#define SET(option, value) bad = bad ? bad : curl_easy_setopt(curl, option, value)
    SET(CURLOPT_ERRORBUFFER, detail);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
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
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->size);
    SET(CURLOPT_POSTFIELDS, request->body);
    SET(CURLOPT_WRITEFUNCTION, drop);
    SET(CURLOPT_WRITEDATA, room);
    SET(CURLOPT_URL, request->url);
#undef SET
    return bad == CURLE_OK;
}

/* Whether the caller gives a header of that name. */
static bool is_given(const char *const *headers, const char *ours)
{
    size_t name = strcspn(ours, ":") + 1;
    for (; headers && *headers; headers++) {
        if (strncasecmp(*headers, ours, name) == 0)
            return true;
    }
    return false;
}

/* Ours, where the caller has no such header, and the caller's; NULL without memory. No "Expect: 100-continue": it only
 * costs a second with servers that ignore it. */
static struct curl_slist *make_headers(const assay_http_request *request)
{
    static const char *const ours[] = {"Content-Type: application/json; charset=utf-8",
                                       "Accept:", "Expect:", "User-Agent: assay", NULL};
    struct curl_slist *list = NULL;
    for (int part = 0; part < 2; part++) {
        for (const char *const *h = part ? request->headers : ours; h && *h; h++) {
            if (part == 0 && is_given(request->headers, *h))
                continue;
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

/* With CURLOPT_NOSIGNAL, which threads need, libcurl leaves SIGPIPE alone; a connection that breaks must not end us. */
static CURLcode perform(CURL *curl)
{
    const struct timespec now = {0, 0};
    sigset_t broken, before;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    CURLcode code = curl_easy_perform(curl);
    if (!sigismember(&before, SIGPIPE))
        (void)sigtimedwait(&broken, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

int assay_http_post(const assay_http_request *request, assay_http_answer *answer, assay_error *err)
{
    char detail[CURL_ERROR_SIZE] = "";
    size_t room = ANSWER_BYTES;
    *answer = (assay_http_answer){.retry_after = -1};
    pthread_once(&once, start_library);
    CURL *curl = started == CURLE_OK ? curl_easy_init() : NULL;
    struct curl_slist *headers = curl ? make_headers(request) : NULL;
    int status;
    if (!headers)
        status = assay_fail(err, ASSAY_ENOMEM, "libcurl cannot be started, or is out of memory");
    else if (!configure(curl, request, headers, &room, detail))
        status = assay_fail(err, ASSAY_EINTERNAL, "libcurl refuses the request: %s", detail[0] ? detail : "an option");
    else
        status = read_answer(curl, perform(curl), detail, answer, err);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return status;
}
