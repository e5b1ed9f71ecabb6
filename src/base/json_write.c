/* json_write.c - writes JSON text into a buffer, with the same bytes on every machine. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* The escape of a character that may not stand in a string as it is; NULL for all others. */
static const char *escape(unsigned char c, char room[8])
{
    switch (c) {
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
        if (c >= 0x20 && c != 0x7f)
            return NULL;
        snprintf(room, 8, "\\u%04x", c);
        return room;
    }
}

void assay_json_put_text_n(assay_buf *out, const char *text, size_t length)
{
    size_t plain = 0, at = 0; /* text[plain..at) goes out as it is */
    assay_put_u8(out, '"');
    while (at < length) {
        char room[8];
        size_t step = assay_utf8_length(text + at, length - at);
        const char *instead = step == 0 ? "\xef\xbf\xbd" : step == 1 ? escape((unsigned char)text[at], room) : NULL;
        step = step ? step : 1;
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
