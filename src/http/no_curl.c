/* no_curl.c - http.h in a build without libcurl. */
#include "http/http.h"

static const char TEXT[] = "this build has no libcurl: build assay with ASSAY_WITH_CURL";

bool assay_http_available(void)
{
    return false;
}

const char *assay_http_version(void)
{
    /* NULL: `assay --version` says that there is none. */
    return NULL;
}

int assay_http_send(const assay_http_request *request, assay_http_answer *answer, assay_error *err)
{
    return assay_fail(err, ASSAY_EUNSUPPORTED, "%s", TEXT);
}

int assay_http_pool_new(unsigned most, assay_http_pool **out, assay_error *err)
{
    return assay_fail(err, ASSAY_EUNSUPPORTED, "%s", TEXT);
}

/* There is no pool, and so no call. */
void assay_http_pool_free(assay_http_pool *pool)
{
}

bool assay_http_pool_serves(const assay_http_pool *pool)
{
    return false;
}

double assay_http_pool_slept(assay_http_pool *pool)
{
    return 0;
}

assay_http_call *assay_http_begin(assay_http_pool *pool, const assay_http_work *work, void *context, bool urgent)
{
    work->release(context);
    return NULL;
}

bool assay_http_is_over(assay_http_call *call)
{
    return true;
}

int assay_http_wait(assay_http_call *call, assay_http_answer **answer, assay_error *err)
{
    return assay_fail(err, ASSAY_EUNSUPPORTED, "%s", TEXT);
}

void assay_http_end(assay_http_call *call)
{
}
