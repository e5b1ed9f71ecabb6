/* no_sqlite.c - mlflow_db.c of a build without SQLite: databases are named, and not read. */
#include <string.h>

#include "format/metrics/mlflow.h"

int mlflow_db_proven(assay_store *store, const metrics_file *file, assay_error *err)
{
    static const char head[16] = "SQLite format 3";
    assay_store_file *open = NULL;
    char found[sizeof head];
    size_t got = 0;
    int status = assay_store_open_file(store, file->path, &open, err);
    if (status != ASSAY_OK)
        return status;
    status = assay_store_read_at(open, 0, found, sizeof found, &got, err);
    assay_store_close_file(open);
    return status == ASSAY_OK ? got == sizeof head && memcmp(head, found, sizeof head) == 0 : status;
}

int mlflow_db_divide(metrics_place *place, const metrics_file *file, assay_error *err)
{
    (void)err;
    assay_problems_add(&place->problems, ASSAY_PROBLEM_UNSUPPORTED, -1, file->path, -1,
                       "%s: this build of assay cannot read SQLite databases (ASSAY_WITH_SQLITE)", file->path);
    return ASSAY_OK;
}

int mlflow_db_read(metrics_log *log, const metrics_run *run, assay_error *err)
{
    (void)log;
    return assay_fail(err, ASSAY_EUNSUPPORTED, "%s: this build of assay cannot read SQLite databases",
                      run->files[0]->path);
}
