/* no_http.c - http.h in a build without libcurl. */
#include "action/http.h"

bool assay_http_available(void)
{
    return false;
}

int assay_http_post(const assay_http_request *request, assay_http_answer *answer, assay_error *err)
{
    (void)request;
    *answer = (assay_http_answer){.retry_after = -1};
    return assay_fail(err, ASSAY_EUNSUPPORTED, "this build has no libcurl: build assay with ASSAY_WITH_CURL");
}
