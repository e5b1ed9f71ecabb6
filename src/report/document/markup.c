/* markup.c - text in HTML: the only place that escapes and cuts it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <assay/status.h>

#include "base/utf8.h"
#include "report/document/markup.h"
#include "report/text/layout.h"

/* For what the program writes itself; text of strangers goes through the functions below. */
void markup_put(assay_buf *out, const char *format, ...)
{
    char small[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof small) { /* constants and numbers are short: a mistake in the program */
        if (out->status == ASSAY_OK)
            out->status = ASSAY_EINTERNAL;
        return;
    }
    assay_put_bytes(out, small, (size_t)length);
}

/* Tells what a byte has to be written as; NULL: as it is. In attributes as well, so quotes are among them. */
static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* Appends the character at `text`; returns its bytes. A byte that is no UTF-8 becomes U+FFFD. */
static size_t put_character(assay_buf *out, const char *text, size_t left)
{
    const char *escaped = entity(*text);
    if (escaped) {
        assay_put_bytes(out, escaped, strlen(escaped));
        return 1;
    }
    if (assay_utf8_length(text, left) == 0) {
        assay_put_bytes(out, "\xef\xbf\xbd", 3);
        return 1;
    }
    return assay_text_put_character(out, text, left);
}

/* Counts the characters of a text, up to `most` of them. */
static size_t characters(const char *text, size_t length, size_t most)
{
    size_t count = 0;
    uint32_t code;
    for (size_t at = 0; at < length && count < most; count++)
        at += assay_utf8_next(text + at, length - at, &code);
    return count;
}

static void put_some(assay_buf *out, const char *text, size_t length, size_t most)
{
    size_t at = 0;
    for (size_t count = 0; at < length && count < most; count++)
        at += put_character(out, text + at, length - at);
}

void markup_text_n(assay_buf *out, const char *text, size_t length, size_t most)
{
    put_some(out, text, length, most);
    if (characters(text, length, most + 1) > most)
        markup_put(out, "\u2026");
}

void markup_text(assay_buf *out, const char *text)
{
    markup_text_n(out, text, strlen(text), MARKUP_MESSAGE);
}

/* Finds the byte at which the last `count` characters start; bytes in the middle of a damaged character may be split
 * off. */
static size_t tail_of(const char *text, size_t length, size_t count)
{
    size_t at = length;
    for (size_t i = 0; i < count && at > 0; i++) {
        size_t back = 1;
        while (back < 4 && back < at && ((unsigned char)text[at - back] & 0xc0) == 0x80)
            back++;
        at -= assay_utf8_length(text + at - back, back) == back ? back : 1;
    }
    return at;
}

/* Cut in the middle: names of tensors differ at their ends. */
void markup_short_name(assay_buf *out, const char *name, size_t most)
{
    size_t length = strlen(name);
    if (characters(name, length, most + 1) <= most) {
        put_some(out, name, length, most);
        return;
    }
    size_t tail = tail_of(name, length, most / 2 - 1);
    put_some(out, name, tail, most / 2);
    markup_put(out, "\u2026");
    put_some(out, name + tail, length - tail, most / 2);
}

void markup_name(assay_buf *out, const char *name)
{
    size_t length = strlen(name);
    markup_put(out, "<span class=\"name\"");
    if (characters(name, length, MARKUP_NAME + 1) > MARKUP_NAME) {
        markup_put(out, " title=\"");
        markup_text_n(out, name, length, MARKUP_TITLE);
        markup_put(out, "\"");
    }
    markup_put(out, ">");
    markup_short_name(out, name, MARKUP_NAME);
    markup_put(out, "</span>");
}

void markup_lines(assay_buf *out, const char *text, size_t length)
{
    size_t left = MARKUP_MESSAGE;
    markup_put(out, "<pre>");
    for (size_t at = 0; at < length && left > 0;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t line = end ? (size_t)(end - text) - at : length - at, shown = characters(text + at, line, left);
        markup_text_n(out, text + at, line, left);
        markup_put(out, "\n");
        at += line + 1;
        left -= shown < left ? shown + 1 : left;
    }
    markup_put(out, "</pre>\n");
}

void markup_message(assay_buf *out, const char *text, size_t length)
{
    const char *more = length ? memchr(text, '\n', length) : NULL;
    if (length == 0)
        return;
    markup_put(out, "<p>");
    markup_text_n(out, text, more ? (size_t)(more - text) : length, MARKUP_MESSAGE);
    markup_put(out, "</p>\n");
    if (more)
        markup_lines(out, more + 1, length - (size_t)(more + 1 - text));
}
