/* block.h - the blocks of a document as renderers see them. Inside report/document only. */
#pragma once

#include <assay/pack.h>

#include "base/arena.h"
#include "report/document/document.h"

typedef enum doc_span_kind { SPAN_WORDS, SPAN_TEXT, SPAN_NAME, SPAN_STRONG, SPAN_DIM, SPAN_BADGE } doc_span_kind;

typedef struct doc_span {
    struct doc_span *next;
    doc_span_kind kind;
    doc_tone tone;    /* of badges */
    const char *text; /* terminated */
    size_t length;
} doc_span;

typedef struct doc_inline {
    doc_span *first, *last;
} doc_inline;

typedef enum doc_cell_kind { CELL_NONE, CELL_TEXT, CELL_WHOLE, CELL_REAL, CELL_RANGE } doc_cell_kind;

typedef struct doc_cell_data {
    struct doc_cell_data *next;
    doc_cell_kind kind;
    int64_t whole;
    double real, most; /* of a range the least and the largest */
    bool nan;          /* a range that has NaN too */
    doc_inline text;   /* the cell, or what stands behind its number */
} doc_cell_data;

typedef struct doc_row_data {
    struct doc_row_data *next;
    doc_tone tone;
    const char *link; /* NULL: none */
    size_t cells;
    doc_cell_data *first, *last;
} doc_row_data;

/* An item of a list, or a fact, which has a name. */
typedef struct doc_item_data {
    struct doc_item_data *next;
    const char *name;
    doc_inline text;
} doc_item_data;

typedef enum doc_kind {
    BLOCK_DOCUMENT,
    BLOCK_SECTION,
    BLOCK_DETAILS,
    BLOCK_CARD,
    BLOCK_VERDICT,
    BLOCK_PARAGRAPH,
    BLOCK_NOTE,
    BLOCK_ALERT,
    BLOCK_LINES,
    BLOCK_LIST,
    BLOCK_FACTS,
    BLOCK_ADVICE,
    BLOCK_TABLE,
    BLOCK_CHART,
    BLOCK_KINDS
} doc_kind;

typedef struct doc_block {
    struct doc_block *next, *parent;
    struct doc_block *first, *last; /* of containers */
    doc_kind kind;
    unsigned forms; /* in which it appears */
    doc_tone tone;
    const char *id;  /* NULL: none */
    doc_inline text; /* heading, summary, title, paragraph, lines, the sentence of advice */
    doc_item_data *items, *last_item;
    bool folded;                  /* of sections */
    bool numbered;                /* of lists */
    const struct doc_block *same; /* of advice: where the document says it already; NULL: here */
    struct doc_table_data *table;
    const doc_chart *chart;
} doc_block;

typedef struct doc_table_data {
    const char *label;
    doc_column *column;
    size_t columns, rows;
    bool sample;
    bool *filled; /* [columns]: some cell is not empty */
    uint64_t left_out;
    doc_row_data *first, *last;
} doc_table_data;

struct doc {
    assay_arena *arena;
    int status;
    unsigned forms; /* of the next block */
    unsigned meant; /* forms that it will be rendered in; 0: any */
    unsigned advices;
    doc_block root, *open; /* the innermost container */
    doc_block *block;      /* the last one that is no container, or the container whose title goes on; NULL: none */
    doc_inline *text;      /* that goes on; NULL: none */
};

/* The only child-wise walk that renderers need: the next block of a form behind `block` (NULL: the first of `parent`).
 */
const doc_block *doc_next(const doc_block *parent, const doc_block *block, unsigned form);
/* How many there are. */
size_t doc_count(const doc_block *parent, unsigned form);
/* Appends the text of spans one behind another, as it is. */
void doc_inline_plain(const doc_inline *text, assay_buf *out);
/* Appends the number of a cell as people read it, with what stands behind it; or its text. As it is. */
void doc_cell_plain(const doc_column *column, const doc_cell_data *cell, assay_buf *out);
/* Appends the heading of a column with its unit: "wait (s)". */
void doc_column_plain(const doc_column *column, assay_buf *out);
/* True for columns of numbers. */
bool doc_is_number(const doc_column *column);

/* A chart as a document that is one table, which the caller frees: all of its points, or with `brief` a row for each
 * series (points, first, least, most, last). NULL without memory. (chart_table.c) */
doc *doc_of_chart(const doc_chart *chart, bool brief);

/* Rows that forms for people show: of a sample, and of any table. */
enum { DOC_TEXT_SAMPLE = 10, DOC_MARKDOWN_SAMPLE = 3, DOC_TEXT_ROWS = 60 };
