/* json_write.c - writes JSON text into a buffer, with the same bytes on every machine. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
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
        /* Control characters and those that turn the direction of text would act on the reader's terminal. */
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
        /* U+FFFD takes the place of bytes that are no UTF-8: reports stay valid whatever names a trial has. */
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
    /* 17 digits suffice for every double; fewer are tried first, so that 0.1 stays "0.1". */
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    assay_put_bytes(out, digits, strlen(digits));
}

/* Fixed spelling, so that the reader finds the sum by its distance from the end, without parsing the file. */
static const char SUM[] = ", \"crc32c\": \"", SUM_END[] = "\"}";
enum { DIGITS = 8, SUM_SIZE = sizeof SUM - 1 + DIGITS + sizeof SUM_END - 1 };

void assay_json_put_sum(assay_buf *out)
{
    const bool line = out->size > 0 && out->data[out->size - 1] == '\n';
    if (assay_buf_status(out) != ASSAY_OK || out->size < 1 + (size_t)line)
        return;
    /* The closing bracket goes, and comes back behind the sum. */
    out->size -= 1 + (size_t)line;
    assay_put_format(out, "%s%08" PRIx32 "%s%s", SUM, assay_crc32c(0, out->data, out->size), SUM_END, line ? "\n" : "");
}

bool assay_json_is_changed(const void *text, size_t size)
{
    const char *bytes = text;
    char digits[DIGITS + 1];
    if (size > 0 && bytes[size - 1] == '\n')
        size--;
    if (size < SUM_SIZE)
        return false;
    size -= SUM_SIZE;
    const char *sum = bytes + size + sizeof SUM - 1;
    if (memcmp(bytes + size, SUM, sizeof SUM - 1) != 0 || memcmp(sum + DIGITS, SUM_END, sizeof SUM_END - 1) != 0)
        return false;
    snprintf(digits, sizeof digits, "%08" PRIx32, assay_crc32c(0, bytes, size));
    return memcmp(digits, sum, DIGITS) != 0;
}
