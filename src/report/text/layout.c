/* layout.c - cleans text for a line, and lays out numbers and paragraphs. */
#include "report/text/layout.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"

size_t assay_text_put_character(assay_buf *out, const char *text, size_t left)
{
    char shown[ASSAY_UTF8_SHOWN];
    size_t size, length = assay_utf8_show(text, left, shown, &size);
    assay_put_bytes(out, shown, size);
    return length;
}

void assay_text_put_clean(assay_buf *out, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t plain = 0; /* nearly all text is, and is put at once */
        while (at + plain < length && text[at + plain] >= ' ' && text[at + plain] <= '~')
            plain++;
        if (plain > 0)
            assay_put_bytes(out, text + at, plain);
        else
            plain = assay_text_put_character(out, text + at, length - at);
        at += plain;
    }
}

void assay_text_put_blanks(assay_buf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assay_put_u8(out, ' ');
}

void assay_text_put_clean_lines(assay_buf *out, const char *text, size_t length, unsigned indent)
{
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t line = end ? (size_t)(end - text) - at : length - at;
        if (line > 0)
            assay_text_put_blanks(out, indent);
        assay_text_put_clean(out, text + at, line);
        assay_put_u8(out, '\n');
        at += line + 1;
    }
}

size_t assay_text_columns(const char *text, size_t length)
{
    size_t columns = 0;
    for (size_t i = 0; i < length; i++) /* bytes that continue a character do not count */
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* The byte behind the first `columns` characters. */
static size_t bytes_of(const char *text, size_t length, size_t columns)
{
    size_t at = 0;
    for (; at < length && columns > 0; columns--) {
        do
            at++;
        while (at < length && ((unsigned char)text[at] & 0xc0) == 0x80);
    }
    return at;
}

void assay_text_put_cut(assay_buf *out, const char *text, size_t length, size_t columns)
{
    size_t have = assay_text_columns(text, length), head = (columns - 3) / 2, tail = columns - 3 - head;
    if (have <= columns) {
        assay_put_bytes(out, text, length);
        return;
    }
    assay_put_bytes(out, text, bytes_of(text, length, head));
    assay_put_bytes(out, "...", 3);
    size_t rest = bytes_of(text, length, have - tail);
    assay_put_bytes(out, text + rest, length - rest);
}

size_t assay_text_line_columns(const assay_draw *draw)
{
    if (!draw)
        return ASSAY_TEXT_COLUMNS;
    return draw->columns < ASSAY_TEXT_LEAST_COLUMNS ? ASSAY_TEXT_LEAST_COLUMNS : draw->columns;
}

static void put_words(assay_buf *out, const assay_draw *draw, unsigned indent, size_t column, const char *text,
                      size_t length)
{
    size_t most = assay_text_line_columns(draw);
    most = most > ASSAY_TEXT_COLUMNS ? ASSAY_TEXT_COLUMNS : most;
    bool first = true;
    for (size_t at = 0; at < length;) {
        size_t blanks = 0, word = 0;
        while (at + blanks < length && text[at + blanks] == ' ')
            blanks++;
        at += blanks;
        while (at + word < length && text[at + word] != ' ')
            word++;
        if (word == 0)
            break;
        size_t width = assay_text_columns(text + at, word);
        if (!first && column + 1 + width > most) {
            assay_put_u8(out, '\n');
            assay_text_put_blanks(out, indent);
            column = indent;
        } else if (!first) {
            assay_put_u8(out, ' ');
            column++;
        }
        first = false;
        if (draw && indent < most && column + width > most) { /* the word is longer than a line */
            const size_t fits = column < most ? bytes_of(text + at, word, most - column) : 0;
            assay_put_bytes(out, text + at, fits);
            assay_put_u8(out, '\n');
            assay_text_put_blanks(out, indent);
            column = indent;
            at += fits;
            first = true; /* no blank within it */
            continue;
        }
        assay_put_bytes(out, text + at, word);
        column += width;
        at += word;
    }
    assay_put_u8(out, '\n');
}

/* Of a lead, without the sequences of its colours. */
static size_t columns_of_lead(const char *lead)
{
    size_t columns = 0;
    for (bool coloured = false; *lead; lead++) {
        coloured = coloured || *lead == '\x1b';
        columns += !coloured;
        coloured = coloured && *lead != 'm';
    }
    return columns;
}

void assay_text_put_wrapped(assay_buf *out, const assay_draw *draw, unsigned indent, const char *lead, const char *text,
                            size_t length)
{
    assay_buf clean = ASSAY_BUF(out->ceiling);
    assay_text_put_clean(&clean, text, length);
    if (assay_buf_status(&clean) != ASSAY_OK && out->status == ASSAY_OK)
        out->status = assay_buf_status(&clean);
    size_t used = lead ? columns_of_lead(lead) : 0;
    if (lead)
        assay_put_bytes(out, lead, strlen(lead));
    assay_text_put_blanks(out, used < indent ? indent - used : 0);
    put_words(out, draw, indent, used < indent ? indent : used, (const char *)clean.data, clean.size);
    assay_buf_release(&clean);
}

void assay_text_put_sentence(assay_buf *out, const assay_draw *draw, const char *text, size_t length)
{
    if (draw) {
        assay_text_put_wrapped(out, draw, 0, NULL, text, length);
        return;
    }
    assay_text_put_clean(out, text, length);
    assay_put_u8(out, '\n');
}

void assay_text_put_number(assay_buf *out, double value)
{
    if (isnan(value))
        assay_put_format(out, "nan");
    else if (isinf(value))
        assay_put_format(out, value > 0 ? "inf" : "-inf");
    else
        assay_put_format(out, "%.6g", value);
}

void assay_text_put_full(assay_buf *out, double value)
{
    if (isfinite(value))
        assay_json_put_number(out, value);
    else
        assay_text_put_number(out, value);
}

void assay_text_put_bytes(assay_buf *out, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    if (unit == 0)
        assay_put_format(out, "%" PRIu64 " byte%s", bytes, assay_plural(bytes));
    else
        assay_put_format(out, "%.3g %s", value, units[unit]);
}
