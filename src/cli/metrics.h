/* metrics.h - what a trial recorded in time, series by series: for `assay show --metric`, `assay stats --metrics` and
 * `assay ls`. */
#pragma once

#include "cli/cli.h"
#include "cli/terminal.h"
#include "report/text/listing.h"

/* A trial with its timeline, without its tensors. */
typedef struct cli_metrics {
    assay_store *store;
    assay_catalog catalog;
    assay_timeline_data *timeline; /* NULL: it recorded nothing in time */
    assay_problems problems;
} cli_metrics;

/* Lists the trial and reads its event files. Release with cli_metrics_release() in any case. */
int cli_metrics_read(const char *location, cli_metrics *out, assay_error *err);
void cli_metrics_release(cli_metrics *metrics);

/* The course of one metric of one machine or GPU, or of the durations of one worker's steps. */
typedef struct cli_course {
    const char *who;    /* node or worker */
    const char *metric; /* "gpu", "step", "IOPS nvme0" */
    const char *unit;   /* "gpu0", "TRAIN"; "": the machine's own */
    const char *measure;
    const int64_t *time; /* microseconds since 1970, ascending */
    const double *value;
    size_t count; /* at least 1 */
} cli_course;

/* Which courses: NULL is any. A metric is a word as above, the name of its samples ("GPUUtilization"), or how the name
 * of one that no rule knows begins ("IOPS"); "step" is the durations of steps. A worker of the timeline stands for its
 * machine, too. */
typedef struct cli_course_choice {
    const char *metric, *worker;
} cli_course_choice;

/* Hands out the courses that fit, one after the other; their lists are valid during the call. 0, ASSAY_ENOMEM, what the
 * visitor returned, or ASSAY_ENOTFOUND with what there is instead. */
typedef int cli_course_visit(void *context, const cli_course *course);
int cli_metrics_each(const cli_metrics *metrics, const cli_course_choice *choice, cli_course_visit *visit,
                     void *context, assay_error *err);

/* Prints the courses of a trial that fit: a table, with drawings where `draw` is not NULL, or a row for every sample.
 * The exit code. */
int cli_metrics_show(const char *location, const cli_course_choice *choice, assay_listing_form form,
                     const assay_draw *draw);

/* Writes a row for every sample of every course into a file; `path` NULL: prints them. */
int cli_metrics_write(const cli_metrics *metrics, assay_listing_form form, const char *path, assay_error *err);
