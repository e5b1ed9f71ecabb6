/* csv.h - the rows of a CSV file (RFC 4180), or of one with another delimiter: quotes, doubled quotes, line ends within
 * quotes, CRLF or LF, a byte order mark in front; packed by gzip or not, in UTF-8 or UTF-16 with its mark. */
#pragma once

#include <assay/pack.h>

#include "container/utf8.h"

enum { ASSAY_CSV_CELL_MOST = 1 << 20, ASSAY_CSV_COLUMNS_MOST = 65536 };

typedef struct assay_csv_cell { /* without the blanks around it */
    size_t at, length;          /* in assay_csv.text */
} assay_csv_cell;

typedef struct assay_csv {
    assay_utf8 *file;
    uint8_t *block; /* of the file, from `at` on not taken yet */
    size_t at, size;
    uint8_t delimiter; /* of cells: ','; may be set before the first row is read */
    assay_buf text;    /* of the row's cells */
    assay_csv_cell *cells;
    size_t count, room;
    uint64_t line, next_line; /* at which the row begins, from 1, and the one behind it */
    bool oversized;           /* a cell, or the number of cells, is beyond the limit: of the row nothing can be used */
    bool finished;            /* a line end closes the row; false: the file ends within it */
} assay_csv;

/* Opens a file in front of its first row. Errors as assay_utf8_open(). */
int assay_csv_open(assay_store *store, const char *path, assay_csv *out, assay_error *err);
/* Closes the file and frees the row. */
void assay_csv_close(assay_csv *csv);
/* Reads the next row: 1; 0 at the end of the file; ASSAY_EIO, ASSAY_ENOMEM; ASSAY_EFORMAT where the file is packed and
 * damaged there, or unpacks to more than 64 MiB and a hundred times its bytes. Empty lines are passed over. */
int assay_csv_next(assay_csv *csv, assay_error *err);
/* The text of a cell, which its length ends. A row of empty cells alone has no bytes, and an empty text. */
static inline const char *assay_csv_text(const assay_csv *csv, size_t column)
{
    return csv->text.data ? (const char *)csv->text.data + csv->cells[column].at : "";
}
