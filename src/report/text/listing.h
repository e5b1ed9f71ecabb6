/* listing.h - rows of a listing, described once: a column says what a cell is called and for whom it is, and the same calls
 * print the rows as a table for people, as comma-separated values with a line of names, or as objects of JSON.
 *
 *     static const assay_listing_column COLUMNS[] = {{"tensor", "tensor", 'e'}, {"steps", "steps", 'r'}, {"loss", NULL}};
 *     assay_listing rows;
 *     assay_listing_begin(&rows, ASSAY_LISTING_CSV, COLUMNS, 3, out);
 *     for each: assay_listing_next(&rows); assay_listing_text(&rows, name); assay_listing_u64(&rows, steps); assay_listing_real(&rows, x);
 *     assay_listing_end(&rows, draw);
 *
 * Cells follow one another in the order of the columns; those that the form does not have are passed over, and columns
 * without a cell at the end of a row are empty. No call fails: failures stay in the buffer. */
#pragma once

#include "base/json_writer.h"
#include "report/text/layout.h"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* tables leave out what a column does not have */

typedef enum assay_listing_form { ASSAY_LISTING_TEXT, ASSAY_LISTING_JSON, ASSAY_LISTING_CSV } assay_listing_form;

typedef struct assay_listing_column {
    const char *key;            /* in JSON and CSV; NULL: for people alone */
    const char *head;           /* of the table for people; NULL: not in it */
    char align;                 /* there, as in assay_table */
    const char *absent;         /* what people see where there is no value; NULL: nothing */
    bool optional;              /* JSON leaves out a value that is not there; else it is null */
    bool json_alone, csv_alone; /* the other one does not have the column */
} assay_listing_column;

enum { ASSAY_LISTING_COLUMNS = 24 };
/* A table of columns, and how many it has. */
#define ASSAY_LISTED(table) table, sizeof(table) / sizeof *(table)

typedef struct assay_listing {
    assay_listing_form form;
    const assay_listing_column *column;
    size_t columns, at, filled; /* cells of this row, and those of them that are printed */
    bool open;                  /* a row has begun */
    assay_buf *out;             /* borrowed */
    assay_jw own, *json;        /* JSON: where the rows go */
    unsigned indent;
    assay_table table; /* TEXT */
    char align[ASSAY_LISTING_COLUMNS + 1];
} assay_listing;

/* Begins rows of at most ASSAY_LISTING_COLUMNS columns; CSV gets its line of names. Of JSON each row is a line by itself. End them
 * with assay_listing_end(). */
void assay_listing_begin(assay_listing *rows, assay_listing_form form, const assay_listing_column *column,
                         size_t columns, assay_buf *out);
/* Begins rows of JSON as items of the array that is open in `w`, each on a line behind so many blanks. */
void assay_listing_begin_in(assay_listing *rows, assay_jw *w, unsigned indent, const assay_listing_column *column,
                            size_t columns);

/* Ends the row before, and begins one. */
void assay_listing_next(assay_listing *rows);
/* Ends the last row, and prints the table for people as wide as the terminal (`draw`; NULL: there is none), each line
 * behind `indent` blanks. */
void assay_listing_end(assay_listing *rows, unsigned indent, const assay_draw *draw);

/* One cell each. A text that is NULL, a shape of less than 0 dimensions, and none are values that are not there. */
void assay_listing_none(assay_listing *rows);
void assay_listing_text(assay_listing *rows, const char *text);
void assay_listing_text_n(assay_listing *rows, const char *text, size_t length);
/* A text that the caller made in a buffer, which is released. */
void assay_listing_take(assay_listing *rows, assay_buf *text);
void assay_listing_i64(assay_listing *rows, int64_t value);
void assay_listing_u64(assay_listing *rows, uint64_t value);
void assay_listing_real(assay_listing *rows, double value);   /* six digits for people, all of them in CSV and JSON */
void assay_listing_number(assay_listing *rows, double value); /* the same, but whole ones of CSV stay whole */
void assay_listing_flag(assay_listing *rows, bool value);
void assay_listing_shape(assay_listing *rows, const int64_t *dim, int dims);          /* 2x3 in CSV */
void assay_listing_texts(assay_listing *rows, const char *const *list, size_t count); /* a;b in CSV */
/* A value that the caller appends to the buffer, as JSON or as it stands in CSV; NULL where the form does not have the
 * column. People see an empty cell. */
assay_buf *assay_listing_value(assay_listing *rows);
