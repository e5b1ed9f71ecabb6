/* listing.c - see listing.h. */
#include "s3/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "http/http.h"
#include "s3/xml.h"

int64_t s3_time_parse(const char *text)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    /* Times of S3 are UTC, with or without fractions of a second. */
    if (!end || (*end != 'Z' && *end != '.' && *end != '\0' && *end != '+'))
        return INT64_MIN;
    return timegm(&tm);
}

/* What is known of the page while it is read. */
typedef struct reading {
    s3_xml xml;
    assay_s3_visit *visit;
    void *context;
    s3_page *page;
    assay_s3_object object;
    assay_buf key; /* of the object or the common prefix that is open */
    char etag[ASSAY_S3_ETAG];
    bool escaped, truncated, root;
} reading;

static const char *text_of(const reading *r)
{
    return (const char *)r->xml.text.data;
}

/* A key: with encoding-type=url it is escaped, and a '+' is a blank. */
static bool take_key(reading *r)
{
    const char *text = text_of(r);
    size_t length = r->xml.text.size - 1, at = 0;
    assay_buf_clear(&r->key);
    if (!r->escaped)
        assay_put_bytes(&r->key, text, length);
    while (r->escaped && at < length) {
        size_t part = strcspn(text + at, "+");
        part = part < length - at ? part : length - at;
        if (!assay_http_put_unescaped(&r->key, text + at, part))
            return false;
        at += part;
        if (at < length)
            assay_put_u8(&r->key, ' ');
        at += at < length;
    }
    /* A NUL in a key would cut it off where it becomes a path. */
    bool whole = !(r->key.size > 0 && memchr(r->key.data, '\0', r->key.size));
    assay_put_u8(&r->key, '\0');
    return whole && assay_buf_status(&r->key) == ASSAY_OK;
}

/* An ETag without its quotes. One that is too long is none. */
static void take_etag(reading *r)
{
    const char *text = text_of(r);
    size_t length = r->xml.text.size - 1;
    if (length > 1 && text[0] == '"' && text[length - 1] == '"') {
        text++;
        length -= 2;
    }
    snprintf(r->etag, sizeof r->etag, "%.*s", length < sizeof r->etag ? (int)length : 0, text);
}

static bool take_size(const char *text, uint64_t *out)
{
    char *end;
    /* 19 digits fit 64 bits. */
    if (text[0] < '0' || text[0] > '9' || strlen(text) > 19)
        return false;
    *out = strtoull(text, &end, 10);
    return *end == '\0';
}

/* An element of an object ended. */
static bool take_member(reading *r, const char *name)
{
    if (strcmp(name, "Key") == 0 || strcmp(name, "Prefix") == 0)
        return take_key(r);
    if (strcmp(name, "Size") == 0)
        return take_size(text_of(r), &r->object.size);
    if (strcmp(name, "ETag") == 0)
        take_etag(r);
    /* ETags and times tell whether an object changed; without them only its size does. */
    if (strcmp(name, "LastModified") == 0)
        r->object.time = s3_time_parse(text_of(r));
    return true;
}

static int end_item(reading *r, bool is_prefix)
{
    if (r->key.size == 0)
        return ASSAY_EFORMAT;
    r->object.key = (const char *)r->key.data;
    r->object.etag = r->etag;
    r->object.is_prefix = is_prefix;
    return r->visit(r->context, &r->object);
}

/* An element right below the root ended. */
static bool take_fact(reading *r, const char *name)
{
    if (strcmp(name, "IsTruncated") == 0)
        r->truncated = strcmp(text_of(r), "true") == 0;
    if (strcmp(name, "NextContinuationToken") == 0) {
        assay_buf_clear(&r->page->token);
        assay_put_bytes(&r->page->token, text_of(r), r->xml.text.size - 1);
    }
    return assay_buf_status(&r->page->token) == ASSAY_OK;
}

static bool is_item(const char *name)
{
    return strcmp(name, "Contents") == 0 || strcmp(name, "CommonPrefixes") == 0;
}

static int take_event(reading *r, s3_xml_event event)
{
    const s3_xml *xml = &r->xml;
    /* An item begins empty, so that a member which is missing is not that of the item before. */
    if (event == S3_XML_START) {
        if (xml->depth == 1)
            r->root = strcmp(xml->name[1], "ListBucketResult") == 0;
        if (xml->depth == 2 && is_item(xml->name[2])) {
            r->object = (assay_s3_object){.time = INT64_MIN};
            r->etag[0] = '\0';
            assay_buf_clear(&r->key);
        }
        return xml->depth == 1 && !r->root ? ASSAY_EFORMAT : ASSAY_OK;
    }
    if (xml->depth == 2 && is_item(xml->name[2]))
        return take_member(r, xml->name[3]) ? ASSAY_OK : ASSAY_EFORMAT;
    if (xml->depth == 1 && is_item(xml->name[2]))
        return end_item(r, xml->name[2][1] == 'o' && xml->name[2][2] == 'm');
    return xml->depth != 1 || take_fact(r, xml->name[2]) ? ASSAY_OK : ASSAY_EFORMAT;
}

/* Whether keys are escaped has to be known before the first of them, and servers write it in front or behind. */
static bool says_escaped(const void *text, size_t size)
{
    static const char mark[] = "<EncodingType>url</EncodingType>";
    return size > 0 && memmem(text, size, mark, sizeof mark - 1) != NULL;
}

int s3_listing_parse(const void *text, size_t size, assay_s3_visit *visit, void *context, s3_page *page,
                     assay_error *err)
{
    enum { KEY_MOST = 16 << 10 };
    reading r = {.visit = visit, .context = context, .page = page, .escaped = says_escaped(text, size)};
    int status = ASSAY_OK;
    s3_xml_event event = S3_XML_START;
    assay_buf_init(&r.key, KEY_MOST);
    assay_buf_clear(&page->token);
    s3_xml_init(&r.xml, text, size);
    while (status == ASSAY_OK && (event = s3_xml_next(&r.xml)) < S3_XML_DONE)
        status = take_event(&r, event);
    /* A page that is not the last has to say where the next one begins. */
    if (status == ASSAY_OK && (event == S3_XML_BAD || (r.truncated && page->token.size == 0)))
        status = ASSAY_EFORMAT;
    page->more = r.truncated;
    if (status == ASSAY_EFORMAT)
        assay_fail(err, status,
                   "the server's answer is not a page of a listing, or not all of one: does the endpoint speak S3?");
    s3_xml_release(&r.xml);
    assay_buf_release(&r.key);
    return status;
}

/* Texts of a server end up in messages: no line ends, no control characters. */
static void copy_clean(const assay_buf *from, char *to, size_t room)
{
    snprintf(to, room, "%s", (const char *)from->data);
    for (char *c = to; *c; c++)
        *c = *c < ' ' && *c >= 0 ? ' ' : *c;
}

void s3_refusal_parse(const void *text, size_t size, s3_refusal *out)
{
    s3_xml xml;
    *out = (s3_refusal){.code = ""};
    s3_xml_init(&xml, text, size);
    for (s3_xml_event event; (event = s3_xml_next(&xml)) < S3_XML_DONE;) {
        if (event != S3_XML_END || xml.depth == 0 || strcmp(xml.name[xml.depth], "Error") != 0)
            continue;
        const char *name = xml.name[xml.depth + 1];
        if (strcmp(name, "Code") == 0)
            copy_clean(&xml.text, out->code, sizeof out->code);
        else if (strcmp(name, "Message") == 0)
            copy_clean(&xml.text, out->message, sizeof out->message);
        else if (strcmp(name, "Region") == 0)
            copy_clean(&xml.text, out->region, sizeof out->region);
        else if (strcmp(name, "ServerTime") == 0)
            copy_clean(&xml.text, out->time, sizeof out->time);
    }
    s3_xml_release(&xml);
}

bool s3_upload_parse(const void *text, size_t size, assay_buf *out)
{
    s3_xml xml;
    s3_xml_event event;
    assay_buf_clear(out);
    s3_xml_init(&xml, text, size);
    while ((event = s3_xml_next(&xml)) < S3_XML_DONE) {
        if (event != S3_XML_END || xml.depth != 1 || strcmp(xml.name[2], "UploadId") != 0)
            continue;
        assay_buf_clear(out);
        assay_put_bytes(out, xml.text.data, xml.text.size);
    }
    s3_xml_release(&xml);
    return event == S3_XML_DONE && assay_buf_status(out) == ASSAY_OK && out->size > 1;
}
