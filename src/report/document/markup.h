/* markup.h - text in HTML. What is escaped, cut and made visible here may hold any bytes. Inside report only. */
#pragma once

#include <assay/pack.h>

enum {
    MARKUP_NAME = 72,     /* characters of a name that are shown; more are cut out of its middle */
    MARKUP_TITLE = 300,   /* characters of it in the title that shows the whole */
    MARKUP_MESSAGE = 1500 /* characters of a message or a text of several lines */
};

/* Appends markup in printf form: what is put in has to be numbers or constant texts. */
void markup_put(assay_buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends text from a trial or a job, for an element or an attribute in double quotes: the one place that escapes.
 * Control characters and those that turn the direction of writing are shown as \n, \u202e; bytes that are not UTF-8 as
 * U+FFFD. At most `most` characters, then "...". */
void markup_text_n(assay_buf *out, const char *text, size_t length, size_t most);
void markup_text(assay_buf *out, const char *text); /* MARKUP_MESSAGE characters */
/* A name: <span class="name">, cut in its middle when it is long, the whole in its title. */
void markup_name(assay_buf *out, const char *name);
/* The same as plain text without markup, for attributes and for elements of SVG. */
void markup_short_name(assay_buf *out, const char *name, size_t most);
/* A text of several lines as <pre>. */
void markup_lines(assay_buf *out, const char *text, size_t length);
/* The first line of a message as a paragraph, further ones, which show a place in a text, as <pre>. */
void markup_message(assay_buf *out, const char *text, size_t length);
