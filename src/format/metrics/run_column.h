/* run_column.h - tables that have the rows of several runs, one below the other or mixed, and a column that says of each row
 * which run it is of: "run_id,step,loss". */
#pragma once

#include "format/metrics/table.h"

/* The key of such a run begins so; behind it stands the cell. */
#define METRICS_ROWS_OF "rows of\n"

/* The column that may say which run a row is of; SIZE_MAX: there is none. */
size_t metrics_run_column(const metrics_table *t);
/* Divides the table into the runs that its column names, if they are several that begin again: where each goes on behind
 * the one before, they are one. `steps`: the column of steps. 1: it is divided; 0: it is one run; a status. */
int metrics_divide_rows(metrics_place *p, const metrics_table *t, size_t steps, const metrics_file *file,
                        assay_error *err);
/* Is the row of the run? `column` SIZE_MAX: all are. */
bool metrics_is_row_of(const metrics_table *t, size_t column, const metrics_run *run);
/* Has the run rows of its own in its table? */
static inline bool metrics_has_rows(const metrics_run *run)
{
    return strncmp(run->key, METRICS_ROWS_OF, sizeof METRICS_ROWS_OF - 1) == 0;
}
