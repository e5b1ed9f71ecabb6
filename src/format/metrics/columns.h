/* columns.h - tables in what programs print: a line of names, and below it lines of as many numbers. */
#pragma once

#include "format/metrics/pairs.h"

enum { METRICS_COLUMNS_MOST = 64 };

typedef struct metrics_columns {
    size_t count;    /* 0: no line of names came so far */
    char between;    /* a tab, a comma, or blanks */
    char text[4096]; /* the names, one behind the other */
    struct {
        size_t at, length;
    } name[METRICS_COLUMNS_MOST];
} metrics_columns;

/* Takes a line for one of names, if it is: words alone, `is_step` holds for one, and `is_figure` for another. */
typedef bool metrics_column_test(const metrics_pair *pair);
bool metrics_columns_open(metrics_columns *columns, const char *line, size_t length, metrics_column_test *is_step,
                          metrics_column_test *is_figure);
/* The pairs of a line below the names. False: it is none, or there are no names. */
bool metrics_columns_take(const metrics_columns *columns, metrics_pairs *pairs, const char *line, size_t length);
