/* csv.c - see csv.h. */
#include "report/text/csv.h"

#include <string.h>

#include "base/utf8.h"
#include "report/text/layout.h"

static bool needs_quotes(const uint8_t *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r')
            return true;
    }
    return false;
}

void assay_csv_put_bytes(assay_buf *out, const void *text, size_t length)
{
    const uint8_t *bytes = text;
    if (!needs_quotes(bytes, length)) {
        assay_put_bytes(out, bytes, length);
        return;
    }
    assay_put_u8(out, '"');
    for (size_t i = 0; i < length; i++) {
        assay_put_bytes(out, "\"", bytes[i] == '"');
        assay_put_u8(out, bytes[i]);
    }
    assay_put_u8(out, '"');
}

void assay_csv_put_text(assay_buf *out, const char *text)
{
    size_t length = strlen(text);
    bool quote = needs_quotes((const uint8_t *)text, length);
    assay_put_bytes(out, "\"", quote);
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t size = assay_utf8_next(text + at, length - at, &code);
        assay_put_bytes(out, "\"", text[at] == '"');
        if (code == ASSAY_UTF8_BAD)
            assay_put_bytes(out, "\xef\xbf\xbd", 3);
        else
            assay_put_bytes(out, text + at, size);
        at += size;
    }
    assay_put_bytes(out, "\"", quote);
}

void assay_csv_put_shown(assay_buf *out, const char *text, size_t length)
{
    const bool quote = needs_quotes((const uint8_t *)text, length);
    assay_put_bytes(out, "\"", quote);
    for (size_t at = 0; at < length;) {
        assay_put_bytes(out, "\"", text[at] == '"');
        if (text[at] == '\n' || text[at] == '\t')
            assay_put_u8(out, (uint8_t)text[at++]);
        else
            at += assay_text_put_character(out, text + at, length - at);
    }
    assay_put_bytes(out, "\"", quote);
}

void assay_csv_put_real(assay_buf *out, double value)
{
    size_t start = out->size;
    assay_text_put_full(out, value);
    for (size_t i = start; i < out->size; i++) {
        if (!strchr("-0123456789", out->data[i]))
            return;
    }
    assay_put_bytes(out, ".0", 2);
}
