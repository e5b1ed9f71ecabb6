/* json_write.c - writes JSON text into a buffer, with the same bytes on every machine. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* The escape of a character that may not stand in a string as it is, or would act on a terminal; NULL for all others.
 */
static const char *escape(uint32_t code, char room[8])
{
    switch (code) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        if (!assay_utf8_acts(code))
            return NULL;
        snprintf(room, 8, "\\u%04" PRIx32, code);
        return room;
    }
}

void assay_json_put_text_n(assay_buf *out, const char *text, size_t length)
{
    size_t plain = 0, at = 0; /* text[plain..at) goes out as it is */
    assay_put_u8(out, '"');
    while (at < length) {
        char room[8];
        uint32_t code;
        const size_t step = assay_utf8_next(text + at, length - at, &code);
        const char *instead = code == ASSAY_UTF8_BAD ? "\xef\xbf\xbd" : escape(code, room);
        if (instead) {
            assay_put_bytes(out, text + plain, at - plain);
            assay_put_bytes(out, instead, strlen(instead));
            plain = at + step;
        }
        at += step;
    }
    if (at > plain)
        assay_put_bytes(out, text + plain, at - plain);
    assay_put_u8(out, '"');
}

void assay_json_put_text(assay_buf *out, const char *text)
{
    assay_json_put_text_n(out, text, strlen(text));
}

void assay_json_put_number(assay_buf *out, double value)
{
    if (!isfinite(value)) {
        assay_json_put_text(out, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    assay_put_bytes(out, digits, strlen(digits));
}
