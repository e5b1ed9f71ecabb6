/* curl_send.c - one request on a handle of its own, and the caller waits. */
#include <signal.h>
#include <time.h>

#include "http/curl_request.h"

/* With CURLOPT_NOSIGNAL, which threads need, libcurl leaves SIGPIPE alone; a connection that breaks must not end us. */
static CURLcode perform(CURL *curl)
{
    const struct timespec now = {0, 0};
    sigset_t broken, before;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    CURLcode code = curl_easy_perform(curl);
    /* A SIGPIPE that came while it was blocked is taken here, unless the caller had it blocked before. */
    if (!sigismember(&before, SIGPIPE))
        (void)sigtimedwait(&broken, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

int assay_http_send(const assay_http_request *request, assay_http_answer *answer, assay_error *err)
{
    http_transfer transfer = {.curl = http_new_handle(), .answer = answer};
    if (!transfer.curl)
        return assay_fail(err, ASSAY_ENOMEM, "libcurl cannot be started, or is out of memory");
    int status = http_configure(&transfer, request, err);
    ASSAY_THEN(status, http_take(&transfer, perform(transfer.curl), err));
    curl_easy_cleanup(transfer.curl);
    return status;
}
