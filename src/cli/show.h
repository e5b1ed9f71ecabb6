/* show.h - one row of `assay show`: what a worker saved of a tensor at one step, and the forms to print it in. */
#pragma once

#include "cli/cli.h"
#include "report/text/listing.h"
#include "report/text/workers.h"

enum { SHOW_STRINGS = 8 }; /* strings that the statistics quote; --values gives all */

typedef struct show_row {
    const char *tensor, *worker; /* borrowed; the tensor's name may hold any byte */
    size_t tensor_length;
    uint32_t worker_number;
    int64_t step, mode_step;
    int mode;
    bool raw;        /* the tensor itself was saved: the fields up to `stats` count */
    bool only_shape; /* nothing else was saved: `dims` and `shape` count */
    int dtype, dims;
    int64_t shape[ASSAY_MAX_DIMS];
    uint64_t elements;
    assay_stats stats;   /* numeric dtypes only */
    uint32_t reductions; /* bit 1 << kind */
    double reduction[ASSAY_KINDS];
    char error[ASSAY_ERROR_TEXT]; /* "": everything could be read */
} show_row;

/* What a chart draws of a row. */
enum { SHOW_FIGURES = 3 };
typedef struct show_point {
    size_t order; /* of the rows */
    double figure[SHOW_FIGURES];
    uint32_t worker, has; /* bit 1 << figure */
    int mode;
} show_point;

typedef struct show_chart {
    const assay_draw *draw;          /* NULL: nothing is drawn; borrowed */
    const assay_worker_names *names; /* borrowed */
    show_point *list;                /* of the current tensor; owned */
    size_t count, room;
    size_t longest; /* label, in columns */
} show_chart;

/* Adds a row. 0 or ASSAY_ENOMEM. */
int show_chart_add(show_chart *chart, const show_row *row);
/* Appends the rows since the last call as sparklines. */
void show_chart_put(show_chart *chart, assay_buf *out);
void show_chart_release(show_chart *chart);

/* Where rows go: a buffer that is printed as it fills. */
typedef struct show_sink {
    assay_listing_form form;
    bool values;
    uint64_t rows; /* so far */
    bool damaged;  /* something of a row could not be read */
    assay_buf out;
    assay_listing list;
    assay_jw json;       /* JSON: what the rows are in */
    size_t in_table;     /* TEXT: rows of the table that is open; 0: none is */
    const char *heading; /* TEXT: the tensor whose rows are in the table */
    show_chart chart;    /* TEXT: of that tensor */
    size_t column;       /* TEXT: of elements, how far their line has come */
} show_sink;

/* Statistics: one row. The record of the row's raw tensor is still open in `reader` for its strings. */
int show_put_row(show_sink *sink, const show_row *row, const assay_trial_reader *reader, assay_error *err);
/* What comes before the first and behind the last row. */
void show_put_start(show_sink *sink);
int show_put_end(show_sink *sink, assay_error *err);

/* Prints the buffer when it has become large, or in any case. */
int show_flush(show_sink *sink, bool always, assay_error *err);
/* Begins a row, with the cells that every row begins with; what was saved, its dtype and shape, comes behind them. */
void show_put_head(assay_listing *rows, const show_row *row);
void show_put_type(assay_listing *rows, const show_row *row);
