/* profile.h - what a trial's timeline comes to, as every form of the report shows it: use of the machines, phases,
 * steps, operators, loaders, clocks (docs/profiler.md). Times are microseconds; shares are percent, NaN where nothing
 * is known. */
#pragma once

#include "report/model/report_model.h"

/* The sizes that a table shows of some values. */
typedef struct profile_spread {
    uint64_t n;
    double mean, max, p99, p95, p75, p50, p25, p05, min;
} profile_spread;

typedef struct profile_use { /* a row of the table of use: a metric of a node, or of one of its GPUs */
    uint32_t node;
    int metric;
    const char *unit; /* "": the node's own */
    profile_spread spread;
    double lower, upper; /* of the whiskers */
    const assay_metric_series *series;
} profile_use;

typedef struct profile_other { /* what a metric that no rule knows comes to */
    double mean, most, least, last;
} profile_other;
/* `series` has a sample. */
profile_other profile_other_of(const assay_other_series *series);

typedef struct profile_mode {
    const char *name;
    uint64_t steps;
    int64_t time;
    double share;
} profile_mode;

enum { PROFILE_BINS = 100, PROFILE_OUTLIERS_FROM = 100 /* more steps than this */ };
typedef struct profile_histogram {
    int64_t low, high;
    uint64_t count[PROFILE_BINS];
} profile_histogram;

typedef struct profile_steps { /* of one worker in one mode */
    uint32_t worker, mode;
    profile_spread spread;
    double deviation;
    bool limited;
    double limit;
    uint64_t outliers;
    profile_histogram histogram;
} profile_steps;

typedef struct profile_loaders { /* of one node */
    uint32_t node;
    profile_spread spread;
    profile_histogram histogram;
    int pin_memory;
    int64_t num_workers;
} profile_loaders;

typedef struct profile_clock { /* of a worker against the first one that has steps */
    uint32_t worker;
    bool known, skewed;
    int64_t offset;
} profile_clock;

typedef struct profile_sampling {
    uint32_t node;
    int64_t first, last;
    uint64_t anchors;
    int64_t interval; /* ASSAY_NO_TIME: there is one anchor */
} profile_sampling;

typedef struct profile_gap { /* what is missing at one end or in the middle */
    const char *kind, *name; /* of a node or worker */
    bool of_worker;
    int64_t from, to;
} profile_gap;

/* Operators of one kind that take a share worth showing, and what the others come to. */
typedef struct profile_operators {
    const assay_time_total *list; /* by time, descending */
    uint64_t count, shown;        /* the first so many are above 2 percent */
    int64_t total, shown_total;
} profile_operators;

typedef struct profile {
    const assay_timeline_data *data;
    const assay_timeline *line;
    int64_t loop_start, loop_end; /* ASSAY_NO_TIME: no step */
    profile_use *use;
    size_t uses;
    profile_mode *mode;
    size_t modes;
    int64_t others; /* outside of steps */
    double others_share;
    profile_operators operators[ASSAY_TIME_CLASSES];
    int64_t forward, backward, data_time, initialize_time;
    profile_steps *steps;
    size_t step_rows;
    profile_loaders *loaders;
    size_t loader_rows;
    profile_clock *clock; /* [line->workers] */
    profile_sampling *sampling;
    size_t samplings;
    profile_gap *gap;
    size_t gaps, gap_room;
    int status;
} profile;

/* Makes it of a trial; NULL when it has no timeline, or without memory (*status). Free with profile_free(). */
profile *profile_new(const assay_trial_outcome *trial, int *status);
void profile_free(profile *p);

/* Appends what a gap is, behind the name of whose it is: " recorded nothing from ... to ...". */
void profile_put_gap_words(const profile_gap *gap, assay_buf *out);
/* Appends `before` and what the trial's sentence says of the gap in its timeline that matters most, like "algo-3 recorded
 * nothing from 2023-11-15 00:01:27 UTC to 2023-11-15 00:01:59 UTC"; nothing where all recorded all the time (*said). ASSAY_OK or ASSAY_ENOMEM. */
int profile_put_gap(const assay_trial_outcome *trial, const char *before, bool *said, assay_buf *out);

const char *profile_metric_name(int metric);    /* "CPU", "GPU memory", ... */
const char *profile_metric_measure(int metric); /* "percent", "bytes per second" */
/* The value of a sample of a metric. */
double profile_value(int metric, const assay_sample *sample);
/* "underutilized", "cpu_bound", "well_utilized", "moderate"; NULL: not known. */
const char *profile_hint(const profile *p, uint32_t node);
/* 100 a / b; NaN where b is 0. */
double profile_share(int64_t a, int64_t b);

/* The rules that look at time, those that triggered most first, then in the order of the reference's table. The caller
 * frees *order. 0 or ASSAY_ENOMEM. */
int profile_order_rules(const assay_outcome *outcome, const assay_trial_outcome *trial, size_t **order, size_t *count);
/* "number of datapoints" as the reference's table has it: what the rule looked at. */
uint64_t profile_rule_samples(const report_rule *rule);

/* ---- inside ---- */
void profile_find_steps(profile *p);   /* profile_steps.c */
void profile_find_missing(profile *p); /* profile_missing.c */
/* Quantiles, mean and ends of n > 0 numbers, which are sorted. */
profile_spread profile_spread_of(double *list, uint64_t n, double mean);
