/* mlflow.h - what MLflow's two stores share (mlflow.c). */
#pragma once

#include "base/vec.h"
#include "format/metrics/metrics.h"

typedef struct mlflow_value { /* of one key */
    int64_t time, step;       /* step < 0: none that a step can be */
    double value;
    size_t order; /* the line or row */
} mlflow_value;

typedef struct mlflow_values {
    mlflow_value *list;
    size_t count, room;
} mlflow_values;

/* Puts the values of a key as the store means them, and forgets them. 0, METRICS_ENOUGH or ASSAY_ENOMEM. */
int mlflow_put(metrics_log *log, const char *key, size_t length, mlflow_values *values);
/* Is it one that MLflow took of the machine? */
bool mlflow_is_system(const char *key, size_t length);
/* The greatest doubles stand for the infinities. */
double mlflow_number(double value);
/* A tag of a run: some are facts. */
int mlflow_tag(metrics_log *log, const char *key, const char *value, size_t length);
/* A parameter. */
int mlflow_param(metrics_log *log, const char *key, const char *value, size_t length);
/* The facts that both stores have of a run. Times in milliseconds; 0: none. */
typedef struct mlflow_facts {
    const char *name, *id, *experiment, *status, *user; /* NULL: none */
    int64_t started, ended;
} mlflow_facts;
int mlflow_put_facts(metrics_log *log, const mlflow_facts *facts);

/* mlflow_db.c, or no_sqlite.c where this build has no SQLite. */
int mlflow_db_proven(assay_store *store, const metrics_file *file, assay_error *err);
int mlflow_db_divide(metrics_place *place, const metrics_file *file, assay_error *err);
int mlflow_db_read(metrics_log *log, const metrics_run *run, assay_error *err);
