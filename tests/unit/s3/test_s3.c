/* test_s3.c - what of S3 needs no server: signatures, profiles, pages of listings, refusals, keys, places. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/redact.h"
#include "s3/credentials.h"
#include "s3/error.h"
#include "s3/ini.h"
#include "s3/listing.h"
#include "s3/sign.h"
#include "s3/xml.h"
#include "unit.h"

static assay_error said;

static const char *text_of(assay_buf *buf)
{
    static char text[4096];
    snprintf(text, sizeof text, "%.*s", (int)buf->size, buf->data ? (const char *)buf->data : "");
    assay_buf_release(buf);
    return text;
}

/* ---- signatures: the vectors that AWS publishes ---- */

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define HOST                                                                                                           \
    {                                                                                                                  \
        "host", "examplebucket.s3.amazonaws.com"                                                                       \
    }
#define DATE                                                                                                           \
    {                                                                                                                  \
        "x-amz-date", "20130524T000000Z"                                                                               \
    }

static bool signs(const char *method, const char *path, const char *query, const s3_header *headers, size_t count,
                  const char *payload, const char *signature)
{
    const s3_to_sign request = {.method = method,
                                .path = path,
                                .query = query,
                                .headers = headers,
                                .header_count = count,
                                .payload = payload,
                                .time = "20130524T000000Z",
                                .region = "us-east-1",
                                .service = "s3",
                                .key = "AKIAIOSFODNN7EXAMPLE",
                                .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
    assay_buf out;
    assay_buf_init(&out, 4096);
    s3_put_authorization(&request, &out);
    return strstr(text_of(&out), signature) != NULL;
}

static void test_signatures(void)
{
    const s3_header range[] = {HOST, {"range", "bytes=0-9"}, {"x-amz-content-sha256", EMPTY}, DATE};
    const s3_header plain[] = {HOST, {"x-amz-content-sha256", EMPTY}, DATE};
    const char *body = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
    const s3_header put[] = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                             HOST,
                             {"x-amz-content-sha256", body},
                             DATE,
                             {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
    CU_ASSERT(signs("GET", "/test.txt", "", range, 4, EMPTY,
                    "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                    "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
                    "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
    CU_ASSERT(signs("GET", "/", "lifecycle=", plain, 3, EMPTY,
                    "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
    CU_ASSERT(signs("GET", "/", "max-keys=2&prefix=J", plain, 3, EMPTY,
                    "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
    CU_ASSERT(signs("PUT", "/test%24file.text", "", put, 5, body,
                    "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
    const s3_header vanilla[] = {{"host", "example.amazonaws.com"}, {"x-amz-date", "20150830T123600Z"}};
    const s3_to_sign request = {.method = "GET",
                                .path = "/",
                                .query = "",
                                .headers = vanilla,
                                .header_count = 2,
                                .payload = EMPTY,
                                .time = "20150830T123600Z",
                                .region = "us-east-1",
                                .service = "service",
                                .key = "AKIDEXAMPLE",
                                .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};
    assay_buf out;
    assay_buf_init(&out, 4096);
    s3_put_authorization(&request, &out);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text_of(&out), "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"));
}

/* ---- profiles ---- */

static const char INI[] = "# a comment = 1\n"
                          "[default]\n"
                          "aws_access_key_id = AKID ; a comment\r\n"
                          "aws_secret_access_key=se#cret=\n"
                          "region =\n"
                          "s3 =\n"
                          "  addressing_style = virtual\n"
                          "  max_queue = 1 # more\n"
                          "services = x\n"
                          "[profile  other one]\n"
                          "region = eu-west-1\n"
                          "region = eu-central-1\n"
                          " stray = 1\n"
                          "[broken\n"
                          "region = never\n"
                          "[last]\n"
                          "key = at the end";

static const char *find(const char *profile, const char *group, const char *key)
{
    static char text[256];
    char *value = NULL;
    int found = s3_ini_find(INI, sizeof INI - 1, profile, group, key, &value);
    snprintf(text, sizeof text, "%s", found == 1 ? value : "(none)");
    free(value);
    return text;
}

static void test_profiles(void)
{
    CU_ASSERT_STRING_EQUAL(find("default", NULL, "aws_access_key_id"), "AKID");
    CU_ASSERT_STRING_EQUAL(find("default", NULL, "AWS_SECRET_ACCESS_KEY"), "se#cret=");
    CU_ASSERT_STRING_EQUAL(find("default", NULL, "region"), "");
    CU_ASSERT_STRING_EQUAL(find("default", "s3", "addressing_style"), "virtual");
    CU_ASSERT_STRING_EQUAL(find("default", "s3", "max_queue"), "1");
    CU_ASSERT_STRING_EQUAL(find("default", NULL, "addressing_style"), "(none)");
    CU_ASSERT_STRING_EQUAL(find("default", "s4", "addressing_style"), "(none)");
    CU_ASSERT_STRING_EQUAL(find("other one", NULL, "region"), "eu-central-1");
    CU_ASSERT_STRING_EQUAL(find("last", NULL, "key"), "at the end");
    CU_ASSERT_STRING_EQUAL(find("broken", NULL, "region"), "(none)");
    CU_ASSERT_STRING_EQUAL(find("none", NULL, "region"), "(none)");
    CU_ASSERT(s3_ini_has(INI, sizeof INI - 1, "other one"));
    CU_ASSERT(!s3_ini_has(INI, sizeof INI - 1, "one"));
}

/* ---- XML ---- */

static void test_xml(void)
{
    static const char text[] = "\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- x --><a:R xmlns='u>v'> <b>x&amp;&#x41;&#66;"
                               "<![CDATA[<c>]]></b><d/><e k=\"1\">  </e></a:R>\n";
    s3_xml xml;
    s3_xml_init(&xml, text, sizeof text - 1);
    CU_ASSERT(s3_xml_next(&xml) == S3_XML_START && strcmp(xml.name[1], "R") == 0);
    CU_ASSERT(s3_xml_next(&xml) == S3_XML_START && strcmp(xml.name[2], "b") == 0);
    CU_ASSERT(s3_xml_next(&xml) == S3_XML_END && xml.depth == 1);
    CU_ASSERT_STRING_EQUAL((const char *)xml.text.data, "x&AB<c>");
    CU_ASSERT(s3_xml_next(&xml) == S3_XML_START && strcmp(xml.name[2], "d") == 0);
    CU_ASSERT(s3_xml_next(&xml) == S3_XML_END && xml.text.size == 1);
    CU_ASSERT(s3_xml_next(&xml) == S3_XML_START && s3_xml_next(&xml) == S3_XML_END);
    CU_ASSERT_STRING_EQUAL((const char *)xml.text.data, "  ");
    CU_ASSERT(s3_xml_next(&xml) == S3_XML_END && strcmp(xml.name[1], "R") == 0);
    CU_ASSERT(s3_xml_next(&xml) == S3_XML_DONE);
    s3_xml_release(&xml);
    static const char *const bad[] = {"",
                                      "x",
                                      "<a>",
                                      "<a></b>",
                                      "<a/><b/>",
                                      "<a>&nbsp;</a>",
                                      "<a>&#0;</a>",
                                      "<a>&#xD800;</a>",
                                      "<!DOCTYPE a><a/>",
                                      "<a b='<'/>",
                                      "<a>]]></a",
                                      "<a/>x",
                                      "<a><b></a></b>",
                                      "<a><b><c><d><e><f><g><h><i/></h></g></f></e></d></c></b></a>",
                                      "<a><![CDATA[</a>"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        s3_xml_event event;
        s3_xml_init(&xml, bad[i], strlen(bad[i]));
        while ((event = s3_xml_next(&xml)) < S3_XML_DONE)
            ;
        if (event != S3_XML_BAD)
            printf("\n%s\n", bad[i]);
        CU_ASSERT(event == S3_XML_BAD && s3_xml_next(&xml) == S3_XML_BAD);
        s3_xml_release(&xml);
    }
}

/* ---- listings ---- */

static int put_object(void *context, const assay_s3_object *o)
{
    assay_put_format(context, "%s|%s|%llu|%s|%lld\n", o->is_prefix ? "prefix" : "object", o->key,
                     (unsigned long long)o->size, o->etag, (long long)(o->time == INT64_MIN ? -1 : o->time));
    return 0;
}

#define PAGE_HEAD                                                                                                      \
    "<?xml version='1.0' encoding='UTF-8'?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
#define PAGE_TAIL "</ListBucketResult>"

static int list(const char *text, size_t size, assay_buf *out, bool *more, char *token, size_t room)
{
    s3_page page = {.more = false};
    assay_buf_init(out, 4096);
    assay_buf_init(&page.token, 1024);
    int status = s3_listing_parse(text, size, put_object, out, &page, &said);
    *more = page.more;
    snprintf(token, room, "%.*s", (int)page.token.size, page.token.data ? (const char *)page.token.data : "");
    assay_buf_release(&page.token);
    return status;
}

static void test_listings(void)
{
    static const char first[] = PAGE_HEAD
        "<Name>b</Name><Prefix>p%2F</Prefix><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
        "<NextContinuationToken>a=+/&amp;</NextContinuationToken><Contents><Key>p/a+b%2Bc%3D%C3%A9%25</Key>"
        "<LastModified>2013-05-24T00:00:01.000Z</LastModified><ETag>&quot;abc-2&quot;</ETag><Size>5368709120</Size>"
        "<Owner><ID>x</ID></Owner></Contents><CommonPrefixes><Prefix>p/d+e/</Prefix></CommonPrefixes>" PAGE_TAIL;
    static const char plain[] =
        PAGE_HEAD "<IsTruncated>false</IsTruncated><Contents><Key>a+b%2B&lt;</Key><Size>0</Size>"
                  "</Contents>" PAGE_TAIL;
    assay_buf out;
    bool more;
    char token[64];
    CU_ASSERT_EQUAL(list(first, sizeof first - 1, &out, &more, token, sizeof token), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(text_of(&out),
                           "object|p/a b+c=\xc3\xa9%|5368709120|abc-2|1369353601\nprefix|p/d e/|0||-1\n");
    CU_ASSERT(more);
    CU_ASSERT_STRING_EQUAL(token, "a=+/&");
    CU_ASSERT_EQUAL(list(plain, sizeof plain - 1, &out, &more, token, sizeof token), ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(text_of(&out), "object|a+b%2B<|0||-1\n");
    CU_ASSERT(!more);
    for (size_t size = 0; size < sizeof first - 1; size++) { /* every cut is refused */
        CU_ASSERT_EQUAL(list(first, size, &out, &more, token, sizeof token), ASSAY_EFORMAT);
        assay_buf_release(&out);
    }
    static const char *const bad[] = {
        "<html></html>",
        PAGE_HEAD "<IsTruncated>true</IsTruncated>" PAGE_TAIL,
        PAGE_HEAD "<Contents><Size>1</Size></Contents>" PAGE_TAIL,
        PAGE_HEAD "<Contents><Key>a</Key><Size>-1</Size></Contents>" PAGE_TAIL,
        PAGE_HEAD "<EncodingType>url</EncodingType><Contents><Key>a%zz</Key></Contents>" PAGE_TAIL,
        PAGE_HEAD "<EncodingType>url</EncodingType><Contents><Key>a%00</Key></Contents>" PAGE_TAIL};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_EQUAL(list(bad[i], strlen(bad[i]), &out, &more, token, sizeof token), ASSAY_EFORMAT);
        assay_buf_release(&out);
    }
}

static void test_refusals(void)
{
    static const char text[] =
        "<?xml version=\"1.0\"?>\n<Error><Code>AuthorizationHeaderMalformed</Code><Message>a\nb</Message>"
        "<Region>eu-west-1</Region><ServerTime>t</ServerTime></Error>";
    s3_refusal r;
    s3_refusal_parse(text, sizeof text - 1, &r);
    CU_ASSERT_STRING_EQUAL(r.code, "AuthorizationHeaderMalformed");
    CU_ASSERT_STRING_EQUAL(r.message, "a b");
    CU_ASSERT_STRING_EQUAL(r.region, "eu-west-1");
    s3_refusal_parse("<html>no</html>", 15, &r);
    CU_ASSERT_STRING_EQUAL(r.code, "");
    s3_refusal_parse(NULL, 0, &r);
    CU_ASSERT_STRING_EQUAL(r.code, "");
}

/* Which answers are worth another attempt, and what is said of the others. */
static void test_uploads(void)
{
    static const char answer[] = "<?xml version='1.0'?><InitiateMultipartUploadResult xmlns='x'><Key>k</Key>"
                                 "<UploadId>a/b+c&amp;d</UploadId></InitiateMultipartUploadResult>";
    assay_buf upload;
    assay_buf_init(&upload, 1024);
    CU_ASSERT(s3_upload_parse(answer, sizeof answer - 1, &upload) && strcmp((char *)upload.data, "a/b+c&d") == 0);
    for (size_t cut = 0; cut < sizeof answer - 1; cut++)
        CU_ASSERT(!s3_upload_parse(answer, cut, &upload));
    assay_buf_release(&upload);
}

static void test_faults(void)
{
    static const struct {
        long code;
        assay_http_fault fault;
        const char *xml;
        bool again;
        int status;
        const char *words;
    } cases[] = {
        {503, 0, "<Error><Code>SlowDown</Code></Error>", true, ASSAY_EIO, "(HTTP 503, SlowDown)"},
        {400, 0, "<Error><Code>RequestTimeout</Code></Error>", true, ASSAY_EIO, "RequestTimeout"},
        {429, 0, "", true, ASSAY_EIO, "HTTP 429"},
        {501, 0, "", false, ASSAY_EIO, "HTTP 501"},
        {404, 0, "<Error><Code>NoSuchBucket</Code></Error>", false, ASSAY_ENOTFOUND, "no such bucket"},
        {404, 0, "<Error><Code>NoSuchKey</Code></Error>", false, ASSAY_ENOTFOUND, "no such object"},
        {403, 0, "<Error><Code>SignatureDoesNotMatch</Code></Error>", false, ASSAY_EUSAGE, "check key and secret"},
        {403, 0, "<Error><Code>RequestTimeTooSkewed</Code></Error>", false, ASSAY_EUSAGE, "clock"},
        {403, 0, "", false, ASSAY_EUSAGE, "access denied"},
        {400, 0, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>", false,
         ASSAY_EUSAGE, "which is eu-west-1: set AWS_REGION"},
        {0, ASSAY_HTTP_CONNECT, "", true, ASSAY_EIO, "check the endpoint"},
        {0, ASSAY_HTTP_CERTIFICATE, "", false, ASSAY_EIO, "AWS_CA_BUNDLE"},
        {0, ASSAY_HTTP_TLS, "", false, ASSAY_EIO, "speak https"},
        {0, ASSAY_HTTP_BROKEN, "", true, ASSAY_EIO, "the words of the transport"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_http_answer a;
        s3_refusal refusal;
        assay_http_answer_init(&a);
        a.code = cases[i].code;
        a.fault = cases[i].fault;
        a.body.ceiling = 1000;
        assay_put_bytes(&a.body, cases[i].xml, strlen(cases[i].xml));
        CU_ASSERT_EQUAL(s3_may_pass(&a), cases[i].again);
        s3_refusal_parse(a.body.data, a.body.size, &refusal);
        CU_ASSERT_EQUAL(s3_fail("b", "k", &a, &refusal, "the words of the transport", &said), cases[i].status);
        CU_ASSERT_PTR_NOT_NULL(strstr(said.text, "s3://b/k: "));
        CU_ASSERT_PTR_NOT_NULL(strstr(said.text, cases[i].words));
        assay_http_answer_release(&a);
    }
}

/* ---- keys ---- */

static void test_keys(void)
{
    static const char json[] =
        "{\"Code\": \"Success\", \"AccessKeyId\": \"A\", \"SecretAccessKey\": \"hidden\", \"Token\": \"T\", "
        "\"Expiration\": \"2030-01-01T00:00:00Z\"}";
    static const char xml[] =
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
        "<SessionToken>T</SessionToken><SecretAccessKey>S</SecretAccessKey><Expiration>2030-01-01T00:00:00Z"
        "</Expiration><AccessKeyId>A</AccessKeyId></Credentials></AssumeRoleWithWebIdentityResult>"
        "</AssumeRoleWithWebIdentityResponse>";
    s3_keys keys, copy;
    CU_ASSERT_FATAL(s3_keys_from_json("x", json, sizeof json - 1, "Token", &keys, &said) == ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(keys.key, "A");
    CU_ASSERT_STRING_EQUAL(keys.secret, "hidden");
    CU_ASSERT_STRING_EQUAL(keys.token, "T");
    CU_ASSERT_EQUAL(keys.expires, 1893456000);
    CU_ASSERT(s3_keys_copy(&keys, &copy) == ASSAY_OK && strcmp(copy.secret, "hidden") == 0);
    s3_keys_release(&keys);
    s3_keys_release(&copy);
    for (size_t size = 0; size < sizeof json - 1; size++) {
        CU_ASSERT(s3_keys_from_json("x", json, size, "Token", &keys, &said) != ASSAY_OK);
        CU_ASSERT_PTR_NULL(strstr(said.text, "hidden"));
    }
    CU_ASSERT(s3_keys_from_json("x", "{\"AccessKeyId\": \"A\"}", 20, "Token", &keys, &said) == ASSAY_EFORMAT);
    CU_ASSERT_FATAL(s3_keys_from_xml(xml, sizeof xml - 1, &keys) == ASSAY_OK);
    CU_ASSERT_STRING_EQUAL(keys.secret, "S");
    CU_ASSERT_EQUAL(keys.expires, 1893456000);
    s3_keys_release(&keys);
    for (size_t size = 0; size < sizeof xml - 1; size++)
        CU_ASSERT(s3_keys_from_xml(xml, size, &keys) == ASSAY_EFORMAT);
}

/* ---- places ---- */

static void test_places(void)
{
    static const char *const good[][3] = {{"s3://b/p/q", "b", "p/q/"},
                                          {"s3://b/p/q/", "b", "p/q/"},
                                          {"s3://b", "b", ""},
                                          {"s3://b/", "b", ""},
                                          {"s3://b/a//c", "b", "a//c/"},
                                          {"s3://b/a//", "b", "a///"},
                                          {"s3://my.b-1/%41 +", "my.b-1", "%41 +/"}};
    static const char *const bad[] = {"s3://", "s3:///p", "s3://a b/p", "s3://.b/p"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assay_s3_place place;
        CU_ASSERT_FATAL(assay_s3_place_parse(good[i][0], &place, &said) == ASSAY_OK);
        CU_ASSERT_STRING_EQUAL(place.bucket, good[i][1]);
        CU_ASSERT_STRING_EQUAL(place.prefix, good[i][2]);
        assay_s3_place_release(&place);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assay_s3_place place;
        CU_ASSERT(assay_s3_place_parse(bad[i], &place, &said) == ASSAY_EUSAGE && strstr(said.text, bad[i]));
    }
    static const char *const keys[] = {"s3://A:hush/ed@b/p", "s3://A:hush/ed@b", "s3://hushed@b/p", "s3://A:@b/p",
                                       "A:hushed@b/p"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        assay_s3_place place;
        CU_ASSERT(assay_s3_place_parse(keys[i], &place, &said) == ASSAY_EUSAGE && strstr(said.text, "s3://***") &&
                  !strstr(said.text, "hush"));
    }
    CU_ASSERT(assay_s3_place_refuse_keys("s3://b/a:b@c", &said) == ASSAY_OK);
}

/* Keys are refused in places of other kinds, too; a port and an ARN are named, and are no secrets. */
static void test_foreign_places(void)
{
    static const char *const keys[][2] = {{"S3://A:quiet/ed@b/p", "S3://***@b/p: "},
                                          {"s3a://A:quieted@b/p", "s3a://***@b/p: "},
                                          {"https://A:quieted@b/p", "https://***@b/p: "}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        CU_ASSERT(assay_s3_place_is_foreign(keys[i][0]));
        CU_ASSERT(assay_s3_place_refuse_keys(keys[i][0], &said) == ASSAY_EUSAGE);
        CU_ASSERT(strncmp(said.text, keys[i][1], strlen(keys[i][1])) == 0 &&
                  strstr(said.text, "without key and secret"));
    }
    static const char *const addresses[][2] = {{"s3://localhost:9000/b/t", "s3://localhost:..."},
                                               {"s3://arn:aws:s3:eu-west-1:123:accesspoint/x/t", "s3://arn:..."},
                                               {"s3://A:no/at/p", "s3://A:..."},
                                               {"s3://:", "s3://:..."}};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        char line[128];
        CU_ASSERT(assay_s3_place_refuse_keys(addresses[i][0], &said) == ASSAY_EUSAGE);
        CU_ASSERT(strncmp(said.text, addresses[i][1], strlen(addresses[i][1])) == 0 &&
                  strstr(said.text, "AWS_ENDPOINT_URL"));
        snprintf(line, sizeof line, "%s", addresses[i][0]);
        assay_redact_text(line);
        CU_ASSERT_STRING_EQUAL(line, addresses[i][0]);
    }
    static const char *const other[] = {"https://localhost:9000/b/t", "file:///a:b@c", "nfs://a/b"};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        CU_ASSERT(assay_s3_place_is_foreign(other[i]) && assay_s3_place_refuse_keys(other[i], &said) == ASSAY_OK);
    CU_ASSERT(!assay_s3_place_is_foreign("s3://b/p") && !assay_s3_place_is_foreign("a/b://c"));
}

int main(void)
{
    static CU_TestInfo tests[] = {{"signatures", test_signatures},
                                  {"profiles", test_profiles},
                                  {"XML", test_xml},
                                  {"listings", test_listings},
                                  {"refusals", test_refusals},
                                  {"uploads", test_uploads},
                                  {"faults", test_faults},
                                  {"keys", test_keys},
                                  {"places", test_places},
                                  {"places of other kinds", test_foreign_places},
                                  CU_TEST_INFO_NULL};
    return unit_main("s3", tests);
}
