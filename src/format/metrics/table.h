/* table.h - what CSV files of logs share: columns by name, the step, and a row's values. */
#pragma once

#include "container/csv.h"
#include "format/metrics/metrics.h"

typedef struct metrics_table {
    assay_csv csv;
    char **column; /* names of the header; terminated; owned */
    size_t *length;
    size_t columns;
    const char *path; /* as it was opened; borrowed */
    bool finished;    /* a line end closes the header */
    int64_t counted;  /* rows, where there is no column of steps */
} metrics_table;

/* Opens a file and reads its header. 1; 0: it has none; a status. Close after 1. */
int metrics_table_open(assay_store *store, const char *path, metrics_table *out, assay_error *err);
void metrics_table_close(metrics_table *table);
/* The first column of that name; SIZE_MAX: there is none. */
size_t metrics_table_find(const metrics_table *table, const char *name);
/* The next row with as many cells as the header and a step that can be one; without a column of steps (SIZE_MAX) that is
 * the row's number, from 0. 1; 0 at the end; a status. Others are counted in `log` (NULL: passed over). */
int metrics_table_next(metrics_table *table, size_t step_column, metrics_log *log, int64_t *step, assay_error *err);
/* The number in a cell. False: it is empty, or a text, which is counted. */
bool metrics_table_number(const metrics_table *table, size_t column, metrics_log *log, double *value);
