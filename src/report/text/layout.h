/* layout.h - text for people: cleaned names, tables, wrapped paragraphs. Lines have 100 columns, or the width of the
 * terminal (`draw`; NULL: there is none). */
#pragma once

#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

#include "report/text/draw.h"

enum {
    ASSAY_TEXT_COLUMNS = 100,
    ASSAY_TEXT_LEAST_COLUMNS = 40 /* a narrower terminal breaks lines itself */
};

/* Appends a text from a trial or a job: control characters, characters that turn the direction of writing, and bytes
 * that are not UTF-8 come out as \n, \x1b, \u202e, \xff. The lines form keeps line feeds. Failures stay in the
 * buffer. */
void assay_text_put_clean(assay_buf *out, const char *text, size_t length);
void assay_text_put_clean_lines(assay_buf *out, const char *text, size_t length, unsigned indent);

/* Appends the character at `text`, of which `left` bytes may be read, cleaned so; returns its bytes. */
size_t assay_text_put_character(assay_buf *out, const char *text, size_t left);

/* Appends so many spaces. */
void assay_text_put_blanks(assay_buf *out, size_t count);

/* Appends a cleaned text broken between words, each line behind `indent` blanks; the first line's are replaced by
 * `lead` when it is not NULL (at most `indent` columns). Lines have at most 100 columns on a wider terminal, too. A
 * word that is longer than a line is broken on a terminal, and whole elsewhere. */
void assay_text_put_wrapped(assay_buf *out, const assay_draw *draw, unsigned indent, const char *lead, const char *text,
                            size_t length);

/* Appends a cleaned sentence as a line: broken between words on a terminal, whole in a file or a pipe, for who reads
 * its first line. */
void assay_text_put_sentence(assay_buf *out, const assay_draw *draw, const char *text, size_t length);

/* Columns a cleaned text takes: one a character. */
size_t assay_text_columns(const char *text, size_t length);

/* Appends a cleaned text in at most `columns` (3 or more): a longer one keeps its head and its tail around "...",
 * because both tell names of one model apart. */
void assay_text_put_cut(assay_buf *out, const char *text, size_t length, size_t columns);

/* How many columns a line may take. */
size_t assay_text_line_columns(const assay_draw *draw);

/* A number in the six digits that people read; "nan", "inf", "-inf". */
void assay_text_put_number(assay_buf *out, double value);
/* A number in the fewest digits that read back the same; words as above. */
void assay_text_put_full(assay_buf *out, double value);
/* "1.5 MB" and the like, powers of 1000. */
void assay_text_put_bytes(assay_buf *out, uint64_t bytes);

/* A table: cells are added row by row, and all columns are as wide as they need to be. On a terminal that is narrower
 * than the rows even then, each of them takes several lines. */
typedef struct assay_table {
    /* One character a column: 'l' or 'r'; left ones that give way where a line is too long: 'e' is cut in its middle,
     * 'o' is then left out, and 'k', which says what a row is about, is cut at last. Of 'u', right ones of numbers with
     * a unit, the unit is cut before 'k'. */
    const char *align;
    size_t columns, cells;
    assay_buf text; /* the cells, each terminated */
} assay_table;

/* Starts a table; `heads` has as many texts as `align` has characters. */
void assay_table_init(assay_table *table, const char *align, const char *const *heads);
void assay_table_release(assay_table *table);
/* Adds one cell, cleaned. */
void assay_table_cell(assay_table *table, const char *text);
void assay_table_cell_n(assay_table *table, const char *text, size_t length);
/* Adds one that is coloured where the terminal takes it. */
void assay_table_coloured(assay_table *table, const char *text, assay_draw_colour colour);
void assay_table_format(assay_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void assay_table_number(assay_table *table, double value);
/* Adds a cell of a column 'u': a text of numbers and their unit, "" where they have none. */
void assay_table_measure(assay_table *table, const char *numbers, const char *unit);
/* Appends the table, each line behind `indent` blanks. A failure to hold a cell passes on to `out`. */
void assay_table_put(assay_table *table, unsigned indent, const assay_draw *draw, assay_buf *out);
