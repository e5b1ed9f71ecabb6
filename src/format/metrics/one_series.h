/* one_series.h - tables of one series each: DVCLive keeps a metric a file ("plots/metrics/train/loss.tsv"), and TensorBoard's
 * pages hand out a tag a file ("run-a-tag-loss.csv"). Together such files are a run. */
#pragma once

#include "base/path.h"
#include "format/metrics/table.h"

/* Stands before the tag in the name of a file that a page of TensorBoard hands out. */
#define METRICS_EXPORT_TAG "-tag-"
/* That tag, within the file's path; NULL: the name has none. */
const char *metrics_export_tag(const char *path, size_t *length);

typedef struct metrics_one_series {
    size_t column; /* of its values */
    const char *tag;
    size_t tag_length; /* within the file's path */
    bool of_run;       /* the path says which run it is of; else files of one header are one, as other tables' are */
    char run[ASSAY_PATH_ROOM];  /* the run's name, "" for the place itself */
    char base[ASSAY_PATH_ROOM]; /* its directory */
} metrics_one_series;

/* Is the table one of these? `steps` is its column of steps. */
bool metrics_is_one_series(const metrics_table *table, size_t steps, metrics_one_series *out);
/* Does the column hold times of the day, and no figures of the training? */
bool metrics_is_of_times(const metrics_table *table, size_t column);
