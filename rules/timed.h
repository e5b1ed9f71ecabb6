/* timed.h - what the rules that look at time have in common: which samples they see, slices, findings in order.
 *
 * Such a rule maps nothing. Its evaluate() gets the whole timeline, counts datapoints and adds findings; ProfilerReport
 * calls those of all the others. */
#pragma once

#include <assay/rule.h>

#include "timed_params.h"

typedef struct timed_finding {
    int64_t time, slice;
    uint64_t order; /* of findings of one time: by the natural order of what they are of */
    const char *worker, *unit, *worker2, *unit2;
    uint32_t test;
    double value, threshold;
    char *extra; /* owned; NULL: none */
} timed_finding;

/* A rule while it is evaluated. */
typedef struct timed {
    const assay_rule *rule;    /* as it was called */
    const assay_rule_ops *ops; /* the rule's own */
    const assay_params *params;
    const char *prefix;         /* of its parameters' names in `params`; "" but in ProfilerReport */
    const assay_timeline *line; /* NULL: the trial has none */
    int64_t scan, from, to;     /* ASSAY_NO_TIME: no bound */
    const char *worker;         /* NULL: all */
    uint64_t samples, datapoints;
    timed_finding *finding; /* in any order while the rule is evaluated, then by (time, order) */
    size_t findings, room;
    size_t untested;   /* of the rules that it calls, those that had nothing to test: */
    assay_buf silent;  /* their names */
    assay_buf details; /* a JSON value; empty: null */
    int status;        /* ASSAY_ENOMEM */
} timed;

typedef void timed_evaluate(timed *t);

/* For a rule's ops. */
int timed_setup(const assay_params *params, assay_need *need, void **data, assay_error *err);
int timed_map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err);
int timed_finalize(const assay_rule *rule, assay_verdict *verdict, timed_evaluate *evaluate, assay_error *err);

/* Evaluates a rule into *t, with the parameters whose names begin with `prefix`. Release it in any case. 0 or
 * ASSAY_ENOMEM. */
int timed_run(const assay_rule *rule, const assay_rule_ops *ops, const char *prefix, timed_evaluate *evaluate,
              timed *t);
void timed_release(timed *t);

/* The rule's own parameters. */
double timed_real(const timed *t, const char *name);
int64_t timed_int(const timed *t, const char *name);
const char *timed_text(const timed *t, const char *name);

/* Slices. */
int64_t timed_slice(const timed *t, int64_t time);
static inline int64_t timed_slice_end(const timed *t, int64_t slice)
{
    return t->line->origin + (slice + 1) * t->scan;
}

/* What the rule sees. */
bool timed_sees_time(const timed *t, int64_t time);
bool timed_sees_worker(const timed *t, uint32_t worker);
/* A stretch of a series' samples. */
typedef struct timed_samples {
    const assay_sample *at;
    uint64_t count;
} timed_samples;
timed_samples timed_visible(const timed *t, const assay_metric_series *series);
/* The series of a node's metric, or of one of its units ("": the node's own); NULL: there is none. */
const assay_metric_series *timed_series(const timed *t, uint32_t node, int metric, const char *unit);
/* The next series of GPUs' utilisation from *i on that the rule sees, with samples; NULL: no more. */
const assay_metric_series *timed_next_gpu(const timed *t, uint64_t *i, timed_samples *samples);
static inline double timed_value(const assay_sample *s)
{
    return (double)s->sum / (1e6 * (double)s->units);
}

/* One datapoint, and a finding if it fired. */
void timed_test(timed *t, bool fired, const timed_finding *finding);
/* `extra` of a finding in printf form; NULL without memory, which t->status notes. */
char *timed_extra(timed *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Memory for `count` things, zeroed; NULL is noted in t->status. */
void *timed_alloc(timed *t, uint64_t count, size_t size);

/* Quantile q of n >= 1 ascending numbers: linear between the two nearest. */
double timed_quantile(const double *ascending, uint64_t n, double q);
/* The values of the last `window` of the first n samples, ascending, in `out`; returns how many. */
uint64_t timed_window(const assay_sample *samples, uint64_t n, uint64_t window, double *out);
/* False: quantile q of those values is surely not below the threshold. That takes no sorting. */
bool timed_may_be_below(const assay_sample *samples, uint64_t n, uint64_t window, double q, double threshold);

/* Defines the rule's finalize(): `function` tests its timeline as a whole. */
#define TIMED_FINALIZE(function)                                                                                       \
    static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)           \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        return timed_finalize(rule, verdict, function, err);                                                           \
    }

#define TIMED_RULE_STATE                                                                                               \
    .traits = ASSAY_RULE_TIMELINE | ASSAY_RULE_POOLS, .setup = timed_setup, .map = timed_map, ASSAY_COMMON_STATE

timed_evaluate batch_size_evaluate, cpu_bottleneck_evaluate, io_bottleneck_evaluate, gpu_memory_increase_evaluate,
    low_gpu_utilization_evaluate, load_balancing_evaluate, max_initialization_time_evaluate, step_outlier_evaluate,
    dataloader_evaluate, overall_system_usage_evaluate, overall_framework_metrics_evaluate;
extern const assay_rule_ops assay_rule_batch_size, assay_rule_cpu_bottleneck, assay_rule_io_bottleneck,
    assay_rule_gpu_memory_increase, assay_rule_low_gpu_utilization, assay_rule_load_balancing,
    assay_rule_max_initialization_time, assay_rule_step_outlier, assay_rule_dataloader, assay_rule_overall_system_usage,
    assay_rule_overall_framework_metrics;
