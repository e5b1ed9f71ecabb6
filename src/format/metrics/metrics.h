/* metrics.h - what the files of this format share: metric logs of other programs (docs/logs.md). Inside this folder
 * only.
 *
 * How it works:
 *   1. walk.c lists the files of a place and finds out by their content which kind of log each is.
 *   2. Of one kind a place, its table below divides the files into runs.
 *   3. The kind reads a run into series (series.h): numbers by step, of a worker, a mode and a tag.
 *   4. metrics.c makes units and rows of them. The values go along with the catalog: no log is read twice. */
#pragma once

#include <string.h>

#include "base/json_pull.h"
#include "format/metrics/series.h"
#include "trial/trial_format.h"

extern const assay_trial_format assay_format_metrics;

typedef struct metrics_kind metrics_kind;

typedef struct metrics_file {
    char *path;            /* in the store; owned */
    uint64_t device, node; /* equal ones are the same file; 0 and 0: not known */
    uint64_t size;
    uint32_t named; /* kinds whose files have such names, a bit each; 0: any kind that its content proves */
    int kind;       /* by its content; -1: none */
} metrics_file;

typedef struct metrics_run {
    const metrics_kind *kind;
    char *name, *id; /* owned; id NULL: it has none but its name */
    char *key;       /* how its kind finds it in its files: an id, a column's beginning, ...; owned; NULL: not needed */
    char *base;      /* its directory, "" for the place itself; owned */
    const metrics_file **files; /* in the order in which they are read; of the place; owned */
    size_t count, room;
    bool whole;                       /* its files are parts of it, whichever steps they have */
    uint64_t first_row, last_row;     /* of a database: between which its values lie */
    char *experiment, *experiment_id; /* names of what it belongs to; owned; NULL: none */
} metrics_run;

typedef struct metrics_place {
    assay_store *store;
    metrics_file *files; /* in natural order of their paths */
    size_t count, room;
    const metrics_kind *kind; /* NULL: there is no log */
    uint32_t kinds;           /* that are there, a bit each */
    metrics_run *runs;        /* in byte order of their names */
    size_t run_count, run_room;
    assay_dict *run_keys;              /* while they are made: numbers are theirs */
    uint64_t counts[METRICS_COUNTS];   /* of what belongs to no run */
    assay_log_names silent, unstarted; /* runs without a value; those whose files are all empty */
    assay_problems problems;
} metrics_place;

struct metrics_kind {
    const char *name;
    /* Does a file of such a name, without its directories, belong to the kind? */
    bool (*named)(const char *name);
    /* Does its content? 1, 0, or a status. */
    int (*proven)(assay_store *store, const metrics_file *file, assay_error *err);
    /* Divides the files of its kind into runs, by metrics_place_run(). 0, or a status. */
    int (*divide)(metrics_place *place, assay_error *err);
    /* Reads a run. Damage is a problem; 0, METRICS_ENOUGH or a status. */
    int (*read)(metrics_log *log, const metrics_place *place, const metrics_run *run, assay_error *err);
    double resolution;              /* of its values: each stands for all numbers that are no farther from it */
    bool workers_known;             /* it says which workers there are: one that lacks is missing */
    bool (*sure)(const char *name); /* is it a name that no other file has? NULL: none is */
};

/* In the order in which one of several is chosen. */
enum {
    METRICS_HF,
    METRICS_WANDB,
    METRICS_MLFLOW,
    METRICS_TB,
    METRICS_CSV,
    METRICS_MONITOR,
    METRICS_DUMP,
    METRICS_DLFW,
    METRICS_MEGATRON,
    METRICS_PRINTED,
    METRICS_KINDS
};
extern const metrics_kind *const metrics_kinds[METRICS_KINDS];
extern const metrics_kind metrics_hf, metrics_wandb, metrics_mlflow, metrics_tb, metrics_csv, metrics_monitor,
    metrics_dump, metrics_dlfw, metrics_megatron, metrics_printout;
/* Appends why files that are called like logs are none. False: there are no such files. */
bool metrics_doubts(assay_store *store, assay_buf *out);
/* The first of these, in words: why it is none of its kind. */
const char *metrics_why_not(assay_store *store, const metrics_file *file);
/* The kinds whose files have such a name, a bit each. */
uint32_t metrics_kinds_named(const char *name);
int metrics_kind_number(const char *name); /* -1: there is none */

/* walk.c: lists what is below the root, and proves each file. `kind`: to be chosen, -1: the first that is there. 0 or a
 * status. Release in any case. */
int metrics_place_read(assay_store *store, int kind, metrics_place *out, assay_error *err);
/* The same for a run that is known by its name alone: only the first few thousand paths are looked at, unless there is a
 * log whose runs have names that are no paths, and files that are not called as logs are not opened. */
int metrics_place_search(assay_store *store, int kind, metrics_place *out, assay_error *err);
void metrics_place_release(metrics_place *place);
/* Adds a run, whose texts are copied; NULL without memory. Valid until the next one is added. */
metrics_run *metrics_place_run(metrics_place *place, const char *name, const char *id);
int metrics_run_add_file(metrics_run *run, const metrics_file *file);
/* The run of that key, made when there is none. */
metrics_run *metrics_place_run_of(metrics_place *place, const char *key, const char *name, const char *id);

/* passed.c: what the walk passed over, or found to be no log. May a file of such a name, which none of a log, have been a
 * log, or stand in the place of a directory? */
bool metrics_may_be_passed(const char *name);
/* Of such a path: can it be a log's that goes by any name? Not a directory's, nor that of a file put aside. */
bool metrics_may_have_any_name(const char *path);
/* Names, once the place's kind is known, of such files, and of directories without a log, which end in a slash, those
 * that were a log of it or stand for one; and files that are called as its logs are, and are none. Where there is no
 * kind, those that prove to be a log. 0 or ASSAY_ENOMEM. */
int metrics_name_passed(metrics_place *place, char *const *passed, size_t count);

/* Where the last part of a path begins; its directory's length, without the slash. */
static inline const char *metrics_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
/* The length of a path without the ending of its name. */
static inline size_t metrics_stem(const char *path)
{
    const char *point = strrchr(metrics_base(path), '.');
    return point ? (size_t)(point - path) : strlen(path);
}
static inline size_t metrics_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) : 0;
}

/* yaml.c: settings in a file of a run's directory, as far as such files go; what it cannot read is skipped. */
typedef int metrics_yaml_visit(void *context, const char *key, const char *value);
int metrics_yaml(const char *text, size_t size, metrics_yaml_visit *visit, void *context);
/* hparams.yaml and args.yaml beside the log become settings. 0 or ASSAY_ENOMEM. */
int metrics_settings_files(metrics_log *log, const char *directory);

/* json_values.c: puts what a JSON text holds: numbers under `tag`, those within objects under "tag.key". What is none
 * is counted. False: it is no JSON; nothing more of it is put. *status gets what putting said. */
typedef struct metrics_json {
    metrics_log *log;
    int mode;
    int64_t step;
    bool typed;       /* objects with a member _type are something else */
    bool summary;     /* tags that have a history are left out, the others counted */
    assay_pull *pull; /* at the value */
    char tag[4096];
    size_t length;
    int status;
} metrics_json;
bool metrics_json_value(metrics_json *json);
/* Is all of the text one value, at most 64 deep? The scanner is to be started again. */
bool metrics_json_sound(assay_pull *pull);
/* Passes over the value. */
bool metrics_json_skip(metrics_json *json);
/* One scalar: true when a number stands there (or one of the texts that mean one). `kind` says what else. */
typedef enum metrics_scalar {
    METRICS_NUMBER,
    METRICS_NULL,
    METRICS_TEXT,
    METRICS_OTHER,
    METRICS_DAMAGED
} metrics_scalar;
metrics_scalar metrics_json_scalar(assay_pull *pull, double *value);
/* Settings: "config.a.b" and so on; lists as JSON text. */
int metrics_json_settings(metrics_log *log, const char *prefix, assay_pull *pull, bool *sound);
