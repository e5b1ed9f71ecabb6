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
    size_t step;           /* the column of steps */
    double last, distance; /* step of the last row, and the largest distance of two; negative: there was none */
} metrics_columns;

/* Takes a line for one of names, if it is: words alone, `is_step` holds for one, and `is_figure` for another. */
typedef bool metrics_column_test(const metrics_pair *pair);
bool metrics_columns_open(metrics_columns *columns, const char *line, size_t length, metrics_column_test *is_step,
                          metrics_column_test *is_figure);
/* The pairs of a line below the names. False: it is none, or there are no names. What has a step that falls, or that is far
 * behind the one before, is another table, and so is all that follows. */
bool metrics_columns_take(metrics_columns *columns, metrics_pairs *pairs, const char *line, size_t length);
