/* xml.c - see xml.h. */
#include "s3/xml.h"

#include <string.h>

/* Longer than any text of an element that is read here: keys have 1024 bytes, tokens a few hundred. */
enum { TEXT_MOST = 1 << 20 };

void s3_xml_init(s3_xml *xml, const char *text, size_t size)
{
    text = text ? text : ""; /* nothing has no address */
    *xml = (s3_xml){.at = text, .end = text + size};
    assay_buf_init(&xml->text, TEXT_MOST);
    if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        xml->at += 3;
}

void s3_xml_release(s3_xml *xml)
{
    assay_buf_release(&xml->text);
}

/* No event follows a fault: the rest of the text is not read. */
static s3_xml_event bad(s3_xml *xml)
{
    xml->at = xml->end;
    xml->had_root = false;
    return S3_XML_BAD;
}

static size_t left(const s3_xml *xml)
{
    return (size_t)(xml->end - xml->at);
}

static bool begins(const s3_xml *xml, const char *text)
{
    size_t length = strlen(text);
    return left(xml) >= length && memcmp(xml->at, text, length) == 0;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool skip_behind(s3_xml *xml, const char *what)
{
    const char *found = memmem(xml->at, left(xml), what, strlen(what));
    if (found)
        xml->at = found + strlen(what);
    return found != NULL;
}

static void put_character(assay_buf *out, uint32_t code)
{
    if (code < 0x80) {
        assay_put_u8(out, (uint8_t)code);
    } else if (code < 0x800) {
        assay_put_u8(out, (uint8_t)(0xc0 | code >> 6));
        assay_put_u8(out, (uint8_t)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        assay_put_u8(out, (uint8_t)(0xe0 | code >> 12));
        assay_put_u8(out, (uint8_t)(0x80 | (code >> 6 & 0x3f)));
        assay_put_u8(out, (uint8_t)(0x80 | (code & 0x3f)));
    } else {
        assay_put_u8(out, (uint8_t)(0xf0 | code >> 18));
        assay_put_u8(out, (uint8_t)(0x80 | (code >> 12 & 0x3f)));
        assay_put_u8(out, (uint8_t)(0x80 | (code >> 6 & 0x3f)));
        assay_put_u8(out, (uint8_t)(0x80 | (code & 0x3f)));
    }
}

/* The digits of "&#123;" or "&#x7b;", behind the '#'. NUL and what is no character is refused. */
static bool take_reference(const char *at, size_t length, assay_buf *out)
{
    uint32_t code = 0;
    bool hex = length > 1 && at[0] == 'x';
    /* Eight digits hold every character; more would overflow. */
    if (length == 0 || length > 8)
        return false;
    for (size_t i = hex; i < length; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'          ? c - '0'
                    : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : hex && c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                  : -1;
        if (digit < 0)
            return false;
        code = code * (hex ? 16 : 10) + (uint32_t)digit;
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return false;
    put_character(out, code);
    return true;
}

/* Entities that a document type declares, which could unfold without end, are not known here, and refused. */
static bool take_entity(s3_xml *xml)
{
    static const struct {
        const char *name;
        char is;
    } entities[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++) {
        if (begins(xml, entities[i].name)) {
            assay_put_u8(&xml->text, (uint8_t)entities[i].is);
            xml->at += strlen(entities[i].name);
            return true;
        }
    }
    const char *end = begins(xml, "&#") ? memchr(xml->at, ';', left(xml)) : NULL;
    if (!end || !take_reference(xml->at + 2, (size_t)(end - xml->at) - 2, &xml->text))
        return false;
    xml->at = end + 1;
    return true;
}

/* Characters up to the next '<'. Outside of the root only blanks may stand. */
static bool take_text(s3_xml *xml)
{
    while (xml->at < xml->end && *xml->at != '<') {
        if (*xml->at == '&') {
            if (xml->depth == 0 || !take_entity(xml))
                return false;
            continue;
        }
        const char *stop = xml->at;
        while (stop < xml->end && *stop != '<' && *stop != '&') {
            if (*stop == '\0' || (xml->depth == 0 && !is_space(*stop)))
                return false;
            stop++;
        }
        assay_put_bytes(&xml->text, xml->at, (size_t)(stop - xml->at));
        xml->at = stop;
    }
    return assay_buf_status(&xml->text) == ASSAY_OK;
}

/* The name at the place, without its prefix; false when there is none or it is too long. Prefixes of namespaces do
 * not matter: servers write "ns0:Key" and "Key". */
static bool take_name(s3_xml *xml, char name[S3_XML_NAME])
{
    const char *from = xml->at, *stop = from;
    while (stop < xml->end && !is_space(*stop) && !strchr("<>/=&\"'?!", *stop)) {
        if (*stop == ':')
            from = stop + 1;
        stop++;
    }
    size_t length = (size_t)(stop - from);
    if (length == 0 || length >= S3_XML_NAME || memchr(from, '\0', length))
        return false;
    memcpy(name, from, length);
    name[length] = '\0';
    xml->at = stop;
    return true;
}

/* The rest of a start tag: attributes, whose values may have any character but '<'. */
static bool skip_attributes(s3_xml *xml)
{
    for (char quote = 0; xml->at < xml->end; xml->at++) {
        char c = *xml->at;
        if (quote) {
            if (c == '<' || c == '\0')
                return false;
            quote = c == quote ? 0 : quote;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '>' || (c == '/' && left(xml) > 1 && xml->at[1] == '>')) {
            xml->closes = c == '/';
            xml->at += xml->closes ? 2 : 1;
            return true;
        } else if (c == '<' || c == '\0') {
            return false;
        }
    }
    return false;
}

/* The name stays in xml->name[depth + 1], where readers find it at the event. */
static s3_xml_event end_element(s3_xml *xml)
{
    xml->closes = false;
    xml->depth--;
    assay_put_u8(&xml->text, '\0');
    return assay_buf_status(&xml->text) == ASSAY_OK ? S3_XML_END : bad(xml);
}

static s3_xml_event take_end_tag(s3_xml *xml)
{
    char name[S3_XML_NAME];
    xml->at += 2;
    if (xml->depth == 0 || !take_name(xml, name) || strcmp(name, xml->name[xml->depth]) != 0)
        return bad(xml);
    while (xml->at < xml->end && is_space(*xml->at))
        xml->at++;
    if (xml->at == xml->end || *xml->at != '>')
        return bad(xml);
    xml->at++;
    return end_element(xml);
}

static s3_xml_event take_start_tag(s3_xml *xml)
{
    xml->at++;
    if (xml->depth == S3_XML_DEPTH || (xml->depth == 0 && xml->had_root) ||
        !take_name(xml, xml->name[xml->depth + 1]) || !skip_attributes(xml))
        return bad(xml);
    xml->depth++;
    xml->had_root = true;
    assay_buf_clear(&xml->text);
    return S3_XML_START;
}

static bool take_cdata(s3_xml *xml)
{
    const char *from = xml->at + 9, *end = memmem(from, (size_t)(xml->end - from), "]]>", 3);
    if (!end || xml->depth == 0 || memchr(from, '\0', (size_t)(end - from)))
        return false;
    assay_put_bytes(&xml->text, from, (size_t)(end - from));
    xml->at = end + 3;
    return true;
}

s3_xml_event s3_xml_next(s3_xml *xml)
{
    /* "<a/>" is a start and an end: the end comes with the call after the start. */
    if (xml->closes) {
        assay_buf_clear(&xml->text);
        return end_element(xml);
    }
    if (xml->text.size > 0 && xml->text.data[xml->text.size - 1] == '\0') /* of the element that ended before */
        assay_buf_clear(&xml->text);
    for (;;) {
        if (!take_text(xml))
            return bad(xml);
        if (xml->at == xml->end)
            return xml->depth == 0 && xml->had_root ? S3_XML_DONE : bad(xml);
        if (begins(xml, "<!--") || begins(xml, "<?")) {
            if (!skip_behind(xml, xml->at[1] == '?' ? "?>" : "-->"))
                return bad(xml);
        } else if (begins(xml, "<![CDATA[")) {
            if (!take_cdata(xml))
                return bad(xml);
        } else if (begins(xml, "<!")) {
            /* A document type: S3 has none, and what it declares would have to be believed. */
            return bad(xml);
        } else {
            return begins(xml, "</") ? take_end_tag(xml) : take_start_tag(xml);
        }
    }
}
