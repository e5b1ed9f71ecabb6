/* series.h - what a log comes to: values by step of (worker, mode, tag), counts of what was met, settings. */
#pragma once

#include <math.h>

#include "base/vec.h"
#include "trial/catalog.h"
#include "trial/index.h"

/* No failures. ENOUGH: the log is read only to know whether it has a value. AGAIN: what was not kept is needed after
 * all, so that it has to be read again with all values kept. */
enum { METRICS_ENOUGH = 2, METRICS_AGAIN = 3, METRICS_TAG_MOST = 512, METRICS_SERIES_MOST = 1000000 };
#define METRICS_PREFIX    "metrics/" /* of the names of tensors */
#define METRICS_STEP_END  ((int64_t)1 << 53)
#define METRICS_NO_NUMBER UINT32_MAX

/* X(name, word in the report) */
#define METRICS_COUNT_LIST(X)                                                                                          \
    X(ARGUMENTS, "arguments")                                                                                          \
    X(BAD_ROWS, "bad rows")                                                                                            \
    X(BAD_STEPS, "bad steps")                                                                                          \
    X(DELETED_RUNS, "deleted runs")                                                                                    \
    X(EMPTY_FILES, "empty files")                                                                                      \
    X(GROWING, "growing")                                                                                              \
    X(LINES, "lines")                                                                                                  \
    X(LONG_NAMES, "long names")                                                                                        \
    X(LOSSES_MISSING, "losses missing")                                                                                \
    X(LOSSES_NOT_PRINTED, "losses not printed")                                                                        \
    X(OLDER_FILES, "older files")                                                                                      \
    X(OTHER_AXIS, "other axis")                                                                                        \
    X(OTHER_COLUMNS, "other columns")                                                                                  \
    X(OTHER_FILES, "other files")                                                                                      \
    X(OTHER_VALUES, "other values")                                                                                    \
    X(RECORDS, "records")                                                                                              \
    X(REPEATED, "repeated")                                                                                            \
    X(ROWS, "rows")                                                                                                    \
    X(RUN_TWICE, "run twice")                                                                                          \
    X(SERIES_LEFT, "series beyond the limit")                                                                          \
    X(STEPS_BY_ORDER, "steps by order")                                                                                \
    X(SUMMARY, "summary")                                                                                              \
    X(SUPERSEDED, "superseded")                                                                                        \
    X(SYSTEM_METRICS, "system metrics")                                                                                \
    X(TENSORS, "tensors")                                                                                              \
    X(TEXTS, "texts")                                                                                                  \
    X(UNKNOWN, "unknown")                                                                                              \
    X(UNREAD_LOSSES, "unread losses")

typedef enum metrics_count {
#define METRICS_COUNT_ENUM(name, word) METRICS_##name,
    METRICS_COUNT_LIST(METRICS_COUNT_ENUM)
#undef METRICS_COUNT_ENUM
        METRICS_COUNTS
} metrics_count;
/* The word of a count in the report. */
const char *metrics_count_word(int count);

/* A tensor of a TensorBoard file: its bytes stay there. */
typedef struct metrics_vector {
    uint32_t file; /* into metrics_log.files */
    uint64_t at, size;
} metrics_vector;

typedef struct metrics_value {
    int64_t step;
    union {
        double number;
        uint64_t vector; /* into metrics_log.vectors */
    };
} metrics_value;

/* Steps of a series that nobody asked for: `count` of them, `stride` apart. */
typedef struct metrics_steps {
    int64_t first, stride;
    uint64_t count;
    bool finite; /* the values */
} metrics_steps;

typedef struct metrics_series {
    int64_t last, highest; /* steps; of a thin series with a stride `last` alone is right */
    int64_t stride;        /* 0, or of a thin series: its last steps go on by this one, up to `last` */
    uint32_t part;         /* of the file that is read: metrics_log.part when the last value came */
    uint32_t worker, tag;
    uint32_t dropped; /* how many ranges there were when values of it were last dropped */
    uint8_t mode;
    bool vectors; /* its values are tensors */
    bool thin;    /* of its values the first alone is kept, and of all of them the steps, which ascend */
    bool unsorted;
    metrics_value *values; /* owned */
    size_t count, room;
    ASSAY_VEC(metrics_steps) steps; /* of a thin one; owned */
} metrics_series;

typedef struct metrics_range { /* of steps that a restart dropped */
    int64_t first, last;
    uint32_t worker;
    uint64_t values;
    uint32_t bad_tag, loss_tag; /* of a loss that was not finite, and of one of TRAIN; METRICS_NO_NUMBER: none */
    int64_t bad_step;           /* the first such step */
    int64_t loss_step;          /* the last step of a loss of TRAIN, and its value there */
    double loss;
} metrics_range;

/* Where the value that comes now stands. Readers keep it up to date. */
typedef struct metrics_spot {
    const char *path; /* of its file, in the store; NULL: not said */
    uint64_t line;    /* from 1; 0: the file has none, or it follows from `offset` */
    uint64_t offset;  /* of a value in a JSON document */
    const char *what; /* what `number` counts, from 1: "record", "entry"; NULL: nothing */
    uint64_t number;  /* 0: `what` is a table of a database */
} metrics_spot;

/* What is looked for in a log that is read once more; of its values none is kept then. */
typedef struct metrics_sought {
    int64_t step;
    const char *tag; /* "": any of the step */
    bool any, whole; /* found: a value of the step; and of the tag */
    metrics_spot at; /* of the last such value, of which the report has the number, too */
    char path[ASSAY_PATH_ROOM];
} metrics_sought;

typedef struct metrics_log {
    assay_store *store;
    assay_dict *workers, *tags, *keys, *files; /* keys: (tag, worker, mode, vectors), numbered as the series */
    uint8_t *tag_mode;                         /* by its number: what its name says */
    size_t tag_room;
    metrics_series *series;
    size_t count, room;
    metrics_vector *vectors;
    size_t vector_count, vector_room;
    metrics_range *ranges;
    size_t range_count, range_room;
    uint64_t counts[METRICS_COUNTS];
    uint32_t worker;                  /* of the values that come now */
    uint32_t part;                    /* counts files of the worker: values of another part supersede */
    bool falls;                       /* a fall of the step within a series begins a new part too */
    bool until_first;                 /* METRICS_ENOUGH at the first value */
    const assay_trial_options *asked; /* which tensors the job asks for; NULL: all */
    metrics_spot at;
    metrics_sought *sought; /* NULL: the values are wanted */
    bool any;
    int64_t first;          /* the step of the first value, when `until_first` */
    uint32_t file_count;    /* files that were read, where those of the run do not say it */
    char unknown[160];      /* the first line that was not understood */
    assay_run_facts *facts; /* NULL: nobody asks */
    assay_problems *problems;
    bool output;  /* lines that a program printed are in it, and not rows alone */
    bool running; /* the logger says that the run goes on */
    bool ended;   /* or that it has ended */
} metrics_log;

/* Makes a log with the worker worker_0. 0 or ASSAY_ENOMEM; release in any case. */
int metrics_log_init(metrics_log *log, assay_store *store, assay_run_facts *facts, assay_problems *problems);
void metrics_log_release(metrics_log *log);
/* The values that come now are of this worker. 0 or ASSAY_ENOMEM. */
int metrics_set_worker(metrics_log *log, const char *name);
static inline void metrics_add(metrics_log *log, metrics_count what)
{
    log->counts[what]++;
}
/* Counts a line or record that was not understood, and keeps the first. */
void metrics_unknown(metrics_log *log, const char *line, size_t length);
/* Counts losses of a line that was taken but for them, and keeps the line if no other is kept. */
void metrics_unread(metrics_log *log, uint64_t losses, const char *line, size_t length);
/* Names a hole in a text, if it has one: zero bytes in a row, or nothing else in its first line, where a disk never got
 * what was written. `line` 0: not known. */
void metrics_name_hole(metrics_log *log, const char *path, uint64_t line, const char *text, size_t length);

/* Puts a value. `mode` 0: as the tag says. 0, METRICS_ENOUGH, METRICS_AGAIN or ASSAY_ENOMEM. */
int metrics_put(metrics_log *log, const char *tag, size_t length, int mode, int64_t step, double value);
/* The number of the series that it goes into, for metrics_put_into() while the worker stays; METRICS_NO_NUMBER: there is
 * none. */
uint32_t metrics_series_number(const metrics_log *log, const char *tag, size_t length);
int metrics_put_value(metrics_log *log, metrics_series *series, int64_t step, double value);
/* Nearly all values of a large log come here, and next to all of those belong to a thin series that goes on as before. */
static inline int metrics_put_into(metrics_log *log, uint32_t series, int64_t step, double value)
{
    metrics_series *s = &log->series[series];
    if (s->stride == 0 || step - s->last != s->stride || s->part != log->part || !isfinite(value) ||
        step >= METRICS_STEP_END)
        return metrics_put_value(log, s, step, value);
    s->last = step;
    return ASSAY_OK;
}
/* Puts a tensor, whose bytes are [at, at + size) of a file. */
int metrics_put_vector(metrics_log *log, const char *tag, size_t length, int64_t step, uint32_t file, uint64_t at,
                       uint64_t size);
/* Drops all values of the worker at steps >= `step`: the program said that it starts again there. */
void metrics_restart(metrics_log *log, int64_t step);
/* Sorts the series by step; of equal ones the last stays. Moves closing summaries to their mode. */
int metrics_log_finish(metrics_log *log);
/* Drops all series: the file they come from turned out to be damaged. */
void metrics_log_forget(metrics_log *log);

/* What the finished log is judged on (judged.c). 0 or ASSAY_ENOMEM. */
int metrics_judge(const metrics_log *log, assay_log_judged *out);

/* A setting or another fact; text of so many bytes. 0 or ASSAY_ENOMEM. */
int metrics_fact(metrics_log *log, const char *name, const char *value, size_t length);
/* Likewise of milliseconds since 1970: a time in UTC. What is no time is left out. */
int metrics_fact_time(metrics_log *log, const char *name, int64_t seconds);

/* ---- words.c ---- */

/* The mode that a tag's words say. */
int metrics_mode_of(const char *tag, size_t length);
/* Is the word (of so many bytes) one for evaluation, for prediction, for what is to rise? */
bool metrics_is_train_word(const char *word, size_t length);
bool metrics_is_eval_word(const char *word, size_t length);
bool metrics_is_predict_word(const char *word, size_t length);
bool metrics_is_reward_word(const char *word, size_t length);
/* Calls for each part of a name, between its borders (`/ _ . -` and blanks). */
typedef void metrics_word_visit(void *context, const char *word, size_t length);
void metrics_words(const char *tag, size_t length, metrics_word_visit *visit, void *context);
/* Is the word, in any case, one of so many? */
bool metrics_is_among(const char *const *words, size_t count, const char *word, size_t length);
/* Does the collection `losses` have the tag? */
bool metrics_is_loss(const char *tag, size_t length);
/* A number as programs print it. False: it is none. */
bool metrics_number(const char *text, size_t length, double *value);
/* The length of the number that is not finite which a text begins with, however programs print it; 0: it begins with none. */
size_t metrics_non_finite(const char *text, size_t length, double *value);
/* A whole number, as a step. False: it is none at all; *step < 0: it is none that a step can be. */
bool metrics_step_of(double value, int64_t *step);
