/* run_column.c - see run_column.h. */
#include "format/metrics/run_column.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/vec.h"

enum { RUNS_MOST = 1024 }; /* the table is read once for each */

size_t metrics_run_column(const metrics_table *t)
{
    static const char *const names[] = {
        "run",      "run_id",     "run id",          "run_name",      "run name", "trial",  "trial_id", "trial_name",
        "trial id", "experiment", "experiment_name", "experiment_id", "exp_name", "exp_id", "seed",     "fold"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (size_t i = 0; i < t->columns; i++)
            if (metrics_is_among(&names[n], 1, t->column[i], t->length[i]))
                return i;
    return SIZE_MAX;
}

bool metrics_is_row_of(const metrics_table *t, size_t column, const metrics_run *run)
{
    const char *own = run->key + sizeof METRICS_ROWS_OF - 1;
    const size_t length = column < t->csv.count ? t->csv.cells[column].length : 0;
    if (column == SIZE_MAX)
        return true;
    return strncmp(own, length ? assay_csv_text(&t->csv, column) : "", length) == 0 && own[length] == '\n';
}

/* The runs of a table, and how they begin. */
typedef struct runs_seen {
    assay_dict *cells;
    ASSAY_VEC(int64_t) begin; /* by their numbers */
    bool many;
} runs_seen;

/* Goes through the rows. 0 or a status. */
static int see_runs(assay_store *store, const metrics_table *t, size_t column, size_t steps, runs_seen *seen,
                    assay_error *err)
{
    metrics_table again = {0};
    int64_t step = 0;
    int status = metrics_table_open(store, t->path, &again, err);
    if (status != 1)
        return status;
    while (!seen->many && (status = metrics_table_next(&again, steps, NULL, &step, err)) == 1) {
        const size_t length = again.csv.cells[column].length;
        const uint32_t known = assay_dict_count(seen->cells),
                       id = assay_dict_add(seen->cells, length ? assay_csv_text(&again.csv, column) : "", length);
        int64_t *begin = id == known ? ASSAY_VEC_ADD(&seen->begin) : id < known ? &seen->begin.list[id] : NULL;
        if (!begin) {
            status = ASSAY_ENOMEM;
            break;
        }
        *begin = id == known || step < *begin ? step : *begin;
        seen->many = known > RUNS_MOST;
    }
    metrics_table_close(&again);
    return status < 0 ? status : ASSAY_OK;
}

/* Does a run begin no later than the first did? Otherwise each goes on where another ended. */
static bool begins_again(const runs_seen *seen)
{
    bool again = false;
    for (size_t i = 1; i < seen->begin.count; i++)
        again = again || seen->begin.list[i] <= seen->begin.list[0];
    return again;
}

static int add_run(metrics_place *p, const metrics_table *t, size_t column, const char *cell, const metrics_file *file)
{
    char key[ASSAY_PATH_ROOM + 512], name[ASSAY_PATH_ROOM + 512], front[ASSAY_PATH_ROOM] = "";
    const size_t directory = metrics_directory(file->path);
    size_t tables = 0;
    double number = 0;
    for (size_t i = 0; i < p->count; i++)
        tables += p->files[i].kind == METRICS_CSV;
    if (tables > 1)
        snprintf(front, sizeof front, "%.*s/", (int)metrics_stem(file->path), file->path);
    if (*cell == '\0')
        snprintf(name, sizeof name, "%sno %.64s", front, t->column[column]);
    else if (metrics_number(cell, strlen(cell), &number)) /* "seed 3" */
        snprintf(name, sizeof name, "%s%.64s %.200s", front, t->column[column], cell);
    else
        snprintf(name, sizeof name, "%s%.200s", front, cell);
    if (snprintf(key, sizeof key, METRICS_ROWS_OF "%s\n%s", cell, file->path) >= (int)sizeof key)
        return ASSAY_OK;
    metrics_run *run = metrics_place_run_of(p, key, name, NULL);
    ASSAY_HAVE(run);
    free(run->base);
    run->base = assay_copy_bytes_as_text(file->path, directory);
    return run->base ? metrics_run_add_file(run, file) : ASSAY_ENOMEM;
}

int metrics_divide_rows(metrics_place *p, const metrics_table *t, size_t steps, const metrics_file *file,
                        assay_error *err)
{
    const size_t column = metrics_run_column(t);
    if (column == SIZE_MAX || steps == SIZE_MAX || column == steps)
        return 0;
    runs_seen seen = {.cells = assay_dict_new()};
    int status = seen.cells ? see_runs(p->store, t, column, steps, &seen, err) : ASSAY_ENOMEM;
    const bool several = status == ASSAY_OK && begins_again(&seen);
    if (several && seen.many)
        assay_problems_add(
            &p->problems, ASSAY_PROBLEM_UNSEEN, -1, file->path, -1,
            "%s: the column %.64s names more than %d runs; they are read as one, of whose steps the last "
            "rows count: give the runs files of their own",
            file->path, t->column[column], RUNS_MOST);
    for (uint32_t i = 0; several && !seen.many && i < assay_dict_count(seen.cells) && status == ASSAY_OK; i++)
        status = add_run(p, t, column, assay_dict_name(seen.cells, i, NULL), file);
    assay_dict_free(seen.cells);
    free(seen.begin.list);
    return status == ASSAY_OK ? several && !seen.many : status;
}
