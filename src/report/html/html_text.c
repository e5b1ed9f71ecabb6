/* html_text.c - text in report.html: the only place that escapes and cuts it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "report/html/html.h"
#include "report/text/layout.h"

void html_put(html_page *page, const char *format, ...)
{
    char small[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof small) { /* constants and numbers are short: a mistake in the program */
        html_fail(page, ASSAY_EINTERNAL);
        return;
    }
    assay_put_bytes(page->out, small, (size_t)length);
}

/* What a byte has to be written as; NULL: as it is. */
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

/* Appends the character at `text`; returns its bytes. */
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

/* Characters of a text, up to `most` of them. */
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

void html_text_n(html_page *page, const char *text, size_t length, size_t most)
{
    put_some(page->out, text, length, most);
    if (characters(text, length, most + 1) > most)
        html_put(page, "\u2026");
}

void html_text(html_page *page, const char *text)
{
    html_text_n(page, text, strlen(text), HTML_MESSAGE);
}

/* The byte at which the last `count` characters start; bytes in the middle of a damaged character may be split off. */
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

void html_short_name(html_page *page, const char *name, size_t most)
{
    size_t length = strlen(name);
    if (characters(name, length, most + 1) <= most) {
        put_some(page->out, name, length, most);
        return;
    }
    size_t tail = tail_of(name, length, most / 2 - 1);
    put_some(page->out, name, tail, most / 2);
    html_put(page, "\u2026");
    put_some(page->out, name + tail, length - tail, most / 2);
}

void html_name(html_page *page, const char *name)
{
    size_t length = strlen(name);
    html_put(page, "<span class=\"name\"");
    if (characters(name, length, HTML_NAME + 1) > HTML_NAME) {
        html_put(page, " title=\"");
        html_text_n(page, name, length, HTML_TITLE);
        html_put(page, "\"");
    }
    html_put(page, ">");
    html_short_name(page, name, HTML_NAME);
    html_put(page, "</span>");
}

void html_lines(html_page *page, const char *text, size_t length)
{
    size_t left = HTML_MESSAGE;
    html_put(page, "<pre>");
    for (size_t at = 0; at < length && left > 0;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t line = end ? (size_t)(end - text) - at : length - at, shown = characters(text + at, line, left);
        html_text_n(page, text + at, line, left);
        html_put(page, "\n");
        at += line + 1;
        left -= shown < left ? shown + 1 : left;
    }
    html_put(page, "</pre>\n");
}

void html_message(html_page *page, const char *text, size_t length)
{
    const char *more = length ? memchr(text, '\n', length) : NULL;
    if (length == 0)
        return;
    html_put(page, "<p>");
    html_text_n(page, text, more ? (size_t)(more - text) : length, HTML_MESSAGE);
    html_put(page, "</p>\n");
    if (more)
        html_lines(page, more + 1, length - (size_t)(more + 1 - text));
}

void html_number(html_page *page, double value)
{
    assay_text_put_number(page->out, value);
}

void html_class(html_page *page, const char *number)
{
    char *end;
    long class = strtol(number, &end, 10);
    html_text_n(page, number, strlen(number), HTML_NAME);
    if (!page->classes || *end != '\0' || class < 0 || (size_t) class >= assay_param_count(page->classes, "classes"))
        return;
    html_put(page, " ");
    html_name(page, assay_param_item(page->classes, "classes", (size_t) class));
}
