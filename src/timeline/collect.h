/* collect.h - reads event files of a trial and keeps what rules and reports need of them.
 *
 * How it works:
 *   1. Each rank reads some files in a row of the trial's list into a collector of its own.
 *   2. Collectors of neighbouring stretches are joined (pack, join): rows are appended, sums added. Every sum is an
 *      integer, so that the result does not depend on how the files were dealt out.
 *   3. assay_collector_finish() puts the rows in order and makes the timeline (assay/timeline.h).
 *
 * Usually the cores of one instant are added up while they are read: they come one behind the other, and in order of
 * time. Where times go back, or two files have samples of the same time, somebody copied files or moved a clock; which
 * sample of a unit counts is then decided by unit. A collector that met this says so, and everybody reads again with
 * `exact`, which keeps every sample until the end. */
#pragma once

#include <assay/timeline.h>

#include "trial/events.h"

/* What is called so: "cpu", "cpu_memory", "gpu", "gpu_memory", "io", "network"; "" for other numbers. And the metric
 * that is called so, there or by its samples ("GPUUtilization"); ASSAY_METRIC_OTHER: none of them. */
enum { ASSAY_METRIC_OTHER = ASSAY_METRICS };
const char *assay_metric_word(int metric);
int assay_metric_find(const char *word);

/* What the worker is called that wrote a file of spans, by the file's source; "" where that is too long for any.
 * Returns its node, within the source, where the name tells it; else NULL. */
enum { ASSAY_TIMELINE_NAME_ROOM = 1024 };
const char *assay_timeline_worker_name(const char *source, char room[ASSAY_TIMELINE_NAME_ROOM]);

/* What will be asked for, of all rules together. */
typedef struct assay_timeline_want {
    int64_t *edge; /* ascending, each once; owned */
    size_t edges;
    int64_t cell_size; /* > 0 */
} assay_timeline_want;
enum { ASSAY_TIMELINE_MINUTE = 60000000 };
/* Adds slices of `scan` microseconds and a stretch of time; a want begins zeroed but for cell_size =
 * ASSAY_TIMELINE_MINUTE. 0 or ASSAY_ENOMEM. */
int assay_timeline_want_add(assay_timeline_want *want, int64_t scan, int64_t from, int64_t to);
void assay_timeline_want_release(assay_timeline_want *want);

typedef struct assay_collector assay_collector;
/* An empty collector; `want` is borrowed. NULL without memory. */
assay_collector *assay_collector_new(const assay_timeline_want *want, bool exact);
void assay_collector_free(assay_collector *c);

/* Reads a file, which has that number in the trial's list. Files go up. 0, ASSAY_ENOMEM. */
int assay_collector_read(assay_collector *c, assay_store *store, const assay_event_file *file, uint32_t number,
                         assay_error *err);
uint64_t assay_collector_bytes_read(const assay_collector *c);

/* Joins what was collected of later files behind `earlier`. For assay_rank_reduce() (parallel/rank_reduce.h). 0,
 * ASSAY_ENOMEM, or ASSAY_EINTERNAL for bytes that are none of a collector's. */
int assay_collector_pack(const assay_collector *c, assay_buf *out);
int assay_collector_join(assay_collector *earlier, assay_cursor *later, assay_error *err);

/* One problem of a file. */
typedef struct assay_timeline_problem {
    uint32_t file; /* its number in the list */
    uint32_t text; /* what is wrong: assay_collector_text() */
    uint64_t line; /* 0: the whole file */
    uint32_t kind; /* assay_event_problem */
} assay_timeline_problem;

/* What no machine does. It is kept as it is, and the first of each kind in a file is named. */
typedef enum assay_oddity_kind {
    ASSAY_ODD_CLOCK,   /* a unit's time goes back within a file */
    ASSAY_ODD_PERCENT, /* a share far beyond 0 to 100 */
    ASSAY_ODDITIES
} assay_oddity_kind;
typedef struct assay_timeline_oddity {
    uint32_t file, kind;
    uint32_t node, unit; /* assay_timeline_text() */
    uint32_t metric;
    uint64_t line;
    int64_t value; /* millionths of the share; microseconds that time goes back */
} assay_timeline_oddity;

/* A metric of a node that no rule knows, as it was recorded. */
typedef struct assay_other_series {
    const char *node, *name; /* "IOPS", "Platform ReceiveBytesPerSecond": dimension, then name */
    assay_sample *sample;    /* ascending in time, units 1; owned */
    uint64_t count;
} assay_other_series;

/* The timeline with all that it points to. */
typedef struct assay_timeline_data {
    assay_timeline line;
    assay_dict *texts;               /* all names */
    assay_timeline_problem *problem; /* in natural order of the files' names, then of lines */
    size_t problems;                 /* kept: the first ASSAY_EVENTS_PROBLEMS_A_FILE of each file */
    uint64_t problems_total;
    assay_timeline_oddity *odd; /* by file, then kind */
    size_t odds;
    uint64_t events_by_kind[ASSAY_EVENT_KINDS];
    uint64_t system_files, framework_files;
    assay_timeline_worker *worker; /* as line.worker */
    const char **node, **mode;     /* names in `texts`; the lists are owned */
    uint32_t *cores;
    assay_metric_series *series;
    assay_other_series *other; /* by node, then name, natural order */
    size_t others;
    assay_time_step *step;
    assay_loader_event *loader;
    assay_loader_start *loader_start;
    assay_time_total *total;
    int64_t *edge, *cell;
} assay_timeline_data;
const char *assay_timeline_text(const assay_timeline_data *timeline, uint32_t text);
/* NULL is ignored. */
void assay_timeline_free(assay_timeline_data *timeline);

/* Makes the timeline of what was read of the files in `files`; *again: it has to be read anew with `exact`, and *out
 * stays NULL. The collector is used up. 0 or ASSAY_ENOMEM. */
int assay_collector_finish(assay_collector *c, const assay_event_files *files, assay_timeline_data **out, bool *again);

/* All of it in one process: reads the files, anew where samples can only be told apart so. Free *out with
 * assay_timeline_free(). 0 or ASSAY_ENOMEM. */
int assay_timeline_read(assay_store *store, const assay_event_files *files, assay_timeline_data **out,
                        assay_error *err);
/* Adds what was wrong with the files, what is odd in them, and which workers' clocks differ. 0 or ASSAY_ENOMEM. */
int assay_timeline_name_problems(const assay_timeline_data *timeline, const assay_event_files *files,
                                 struct assay_problems *problems);
