/* error.c - see error.h. */
#include "s3/error.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "s3/session.h"

static bool is_one_of(const char *code, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(code, *list) == 0)
            return true;
    return false;
}

/* Repeating any request that is made here does no harm, so also one whose answer broke off is repeated. */
bool s3_may_pass(const assay_http_answer *answer)
{
    static const char *const codes[] = {"SlowDown", "RequestTimeout", "InternalError", "ServiceUnavailable", NULL};
    switch (answer->fault) {
    case ASSAY_HTTP_NO_FAULT:
        break;
    case ASSAY_HTTP_RESOLVE:
    case ASSAY_HTTP_CONNECT:
    case ASSAY_HTTP_TIMEOUT:
    case ASSAY_HTTP_BROKEN:
        return true;
    case ASSAY_HTTP_TLS:
    case ASSAY_HTTP_CERTIFICATE:
    case ASSAY_HTTP_NO_HTTP:
    case ASSAY_HTTP_LONG:
    case ASSAY_HTTP_REFUSED:
    case ASSAY_HTTP_OTHER:
        return false;
    }
    if (answer->code == 429 || answer->code == 500 || (answer->code >= 502 && answer->code <= 504))
        return true;
    /* Some servers say "busy" with another code, in the text. */
    s3_refusal refusal;
    s3_refusal_parse(answer->body.data, answer->body.size, &refusal);
    return is_one_of(refusal.code, codes);
}

bool s3_is_expired(const s3_refusal *refusal)
{
    static const char *const codes[] = {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired",
                                        "RequestExpired", NULL};
    return is_one_of(refusal->code, codes);
}

/* What to do, by the transport's fault; "" where the text of it says enough. */
static const char *advice_of_fault(assay_http_fault fault)
{
    switch (fault) {
    case ASSAY_HTTP_RESOLVE:
    case ASSAY_HTTP_CONNECT:
        return "; check the endpoint (AWS_ENDPOINT_URL), the region and the proxy variables";
    case ASSAY_HTTP_TLS:
        return "; does the endpoint speak https? Its URL says so";
    case ASSAY_HTTP_NO_HTTP:
        return "; does the endpoint speak https? Its URL says http";
    case ASSAY_HTTP_CERTIFICATE:
        return "; AWS_CA_BUNDLE names a file of certificates to trust";
    case ASSAY_HTTP_BROKEN:
        return "; where that is so for every request, does the endpoint speak http while its URL says https, or the "
               "other way round?";
    case ASSAY_HTTP_NO_FAULT:
    case ASSAY_HTTP_TIMEOUT:
    case ASSAY_HTTP_LONG:
    case ASSAY_HTTP_REFUSED:
    case ASSAY_HTTP_OTHER:
        break;
    }
    return "";
}

/* "this machine's clock is 812 s ahead of the server's" */
static void put_skew(const assay_http_answer *answer, char *out, size_t room)
{
    /* Clocks of a cluster differ by less; S3 itself allows 15 minutes. */
    enum { NOTHING = 60 }; /* seconds: a server that is told so by another one, or an answer that was under way */
    const char *date = assay_http_header(answer, "Date");
    struct tm tm = {0};
    const char *end = date ? strptime(date, "%a, %d %b %Y %H:%M:%S", &tm) : NULL;
    long long skew = end ? (long long)(time(NULL) - timegm(&tm)) : 0;
    if (skew > NOTHING || skew < -NOTHING)
        snprintf(out, room, "this machine's clock is %lld s %s the server's: set it", skew < 0 ? -skew : skew,
                 skew < 0 ? "behind" : "ahead of");
    else
        snprintf(out, room, "this machine's clock differs too much from the server's: set it");
}

/* What a refusal is about; put_advice() has a sentence for each. */
typedef enum kind { OTHER, ABSENT, KEYS, DENIED, CLOCK, PLACE } kind;

static kind kind_of(const s3_refusal *refusal, long code)
{
    /* Codes of S3 and of servers that speak its protocol (MinIO, Ceph). */
    static const struct {
        const char *code;
        kind kind;
    } known[] = {{"NoSuchBucket", ABSENT},
                 {"NoSuchKey", ABSENT},
                 {"InvalidAccessKeyId", KEYS},
                 {"SignatureDoesNotMatch", KEYS},
                 {"InvalidToken", KEYS},
                 {"InvalidSecurity", KEYS},
                 {"MissingSecurityHeader", KEYS},
                 {"AccessDenied", DENIED},
                 {"AllAccessDisabled", DENIED},
                 {"RequestTimeTooSkewed", CLOCK},
                 {"AuthorizationHeaderMalformed", PLACE},
                 {"PermanentRedirect", PLACE},
                 {"IllegalLocationConstraintException", PLACE}};
    if (s3_is_expired(refusal))
        return KEYS;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(refusal->code, known[i].code) == 0)
            return known[i].kind;
    /* Without a known code the HTTP status decides. */
    return code == 404 ? ABSENT : code == 401 || code == 403 ? DENIED : code == 301 || code == 307 ? PLACE : OTHER;
}

/* What to do about a refusal. */
static void put_advice(kind is, const char *key, const s3_refusal *refusal, const assay_http_answer *answer, char *out,
                       size_t room)
{
    char region[64];
    assay_buf source = ASSAY_BUF(256);
    s3_session_put_source(&source);
    const int length = (int)source.size;
    const char *from = source.data ? (const char *)source.data : "";
    switch (is) {
    case ABSENT:
        snprintf(out, room, "%s",
                 strcmp(refusal->code, "NoSuchBucket") == 0 || !key ? "no such bucket: check its name, and the endpoint"
                                                                    : "no such object");
        break;
    case KEYS:
        snprintf(out, room, "the server does not accept the credentials, which are from %.*s: %s", length, from,
                 s3_is_expired(refusal) ? "they have expired, get new ones"
                                        : "check key and secret, and the session token if there is one");
        break;
    case DENIED:
        snprintf(out, room,
                 "access denied to those of %.*s: they need s3:ListBucket, s3:GetObject, and for --out s3:PutObject",
                 length, from);
        break;
    case CLOCK:
        put_skew(answer, out, room);
        break;
    case PLACE:
        s3_session_region("", region);
        snprintf(out, room, "the region %s is not the bucket's%s%s: set AWS_REGION", region,
                 refusal->region[0] ? ", which is " : "", refusal->region);
        break;
    case OTHER:
        snprintf(out, room, "%.150s",
                 refusal->message[0]       ? refusal->message
                 : answer->code == 407     ? "the proxy wants a name and a password (http_proxy, https_proxy)"
                 : answer->code / 100 == 3 ? "a redirect, and those are not followed: check the endpoint and the proxy "
                                             "variables"
                                           : "the server refuses the request");
        break;
    }
    assay_buf_release(&source);
}

/* Failures of transport have no refusal: the text of libcurl, and what to check. */
int s3_fail(const char *bucket, const char *key, const assay_http_answer *answer, const s3_refusal *refusal,
            const char *why, assay_error *err)
{
    char advice[320];
    if (answer->fault != ASSAY_HTTP_NO_FAULT)
        return assay_fail(err, ASSAY_EIO, "s3://%.80s/%.160s: %.120s%s", bucket, key ? key : "", why,
                          advice_of_fault(answer->fault));
    kind is = kind_of(refusal, answer->code);
    put_advice(is, key, refusal, answer, advice, sizeof advice);
    /* ENOTFOUND lets callers take an absent object for "not there"; EUSAGE ends the job with what the user can mend. */
    return assay_fail(err,
                      is == ABSENT  ? ASSAY_ENOTFOUND
                      : is == OTHER ? ASSAY_EIO
                                    : ASSAY_EUSAGE,
                      "s3://%.80s/%.160s: %s (HTTP %ld%s%s)", bucket, key ? key : "", advice, answer->code,
                      refusal->code[0] ? ", " : "", refusal->code);
}
