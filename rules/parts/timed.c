/* timed.c - see timed.h. */
#include "timed.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/search.h>

enum { NAME_ROOM = 128 };

/* ---- parameters ---- */

/* Every rule reaches these only with names of its own table, so the definition is there. */
static const assay_param_def *own_def(const timed *t, const char *name)
{
    for (const assay_param_def *def = t->ops->params; def && def->name; def++)
        if (strcmp(def->name, name) == 0)
            return def;
    return NULL;
}

/* Makes the name in the job's parameters, in `room`; NULL: not given there, the rule's default holds. ProfilerReport
 * runs other rules with their parameters under a prefix. */
static const char *full_name(const timed *t, const char *name, char room[NAME_ROOM])
{
    if (!t->prefix[0])
        return name;
    snprintf(room, NAME_ROOM, "%s%s", t->prefix, name);
    return assay_param_has(t->params, room) ? room : NULL;
}

double timed_real(const timed *t, const char *name)
{
    char room[NAME_ROOM];
    const char *full = full_name(t, name, room);
    return full ? assay_param_real(t->params, full) : strtod(own_def(t, name)->initial, NULL);
}

int64_t timed_int(const timed *t, const char *name)
{
    char room[NAME_ROOM];
    const char *full = full_name(t, name, room);
    return full ? assay_param_int(t->params, full) : strtoll(own_def(t, name)->initial, NULL, 10);
}

const char *timed_text(const timed *t, const char *name)
{
    char room[NAME_ROOM];
    const char *full = full_name(t, name, room);
    return full ? assay_param_text(t->params, full) : own_def(t, name)->initial;
}

static bool timed_truth(const timed *t, const char *name)
{
    char room[NAME_ROOM];
    const char *full = full_name(t, name, room);
    return full && assay_param_bool(t->params, full);
}

static int64_t time_or_none(const assay_params *params, const char *name)
{
    return assay_param_has(params, name) ? assay_param_int(params, name) : ASSAY_NO_TIME;
}

/* No tensors are asked for: the timeline is read at the start, and evaluated in finalize. */
int timed_setup(const assay_params *params, assay_need *need, void **data, assay_error *err)
{
    const int status = assay_need_timeline(need, assay_param_int(params, "scan_interval_us"),
                                           time_or_none(params, "start_time_us"), time_or_none(params, "end_time_us"));
    return status == ASSAY_OK ? status : assay_fail(err, status, "out of memory");
}

int timed_map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    return ASSAY_OK;
}

/* ---- what the rule sees ---- */

int64_t timed_slice(const timed *t, int64_t time)
{
    const int64_t since = time - t->line->origin;
    return since > 0 ? since / t->scan : 0;
}

bool timed_sees_time(const timed *t, int64_t time)
{
    return (t->from == ASSAY_NO_TIME || time >= t->from) && (t->to == ASSAY_NO_TIME || time < t->to);
}

static bool timed_sees_node(const timed *t, uint32_t node)
{
    return !t->worker || strcmp(t->worker, t->line->node[node]) == 0;
}

bool timed_sees_worker(const timed *t, uint32_t worker)
{
    return !t->worker || strcmp(t->worker, t->line->worker[worker].name) == 0 ||
           timed_sees_node(t, t->line->worker[worker].node);
}

/* The number of samples before a time. */
static uint64_t before(const assay_metric_series *s, int64_t time)
{
    uint64_t low = 0;
    ASSAY_SEARCH(low, s->count, s->sample[low].time < time);
    return low;
}

/* A series' samples are in order of time, so the window is a part of them, and nothing is copied. */
timed_samples timed_visible(const timed *t, const assay_metric_series *s)
{
    if (!s || !timed_sees_node(t, s->node))
        return (timed_samples){0};
    const uint64_t first = t->from == ASSAY_NO_TIME ? 0 : before(s, t->from);
    const uint64_t end = t->to == ASSAY_NO_TIME ? s->count : before(s, t->to);
    return (timed_samples){s->sample + first, end > first ? end - first : 0};
}

const assay_metric_series *timed_series(const timed *t, uint32_t node, int metric, const char *unit)
{
    uint64_t first = 0, end = t->line->series_count; /* in order of nodes, then metrics; the node's own comes first */
    while (first < end) {
        const uint64_t middle = first + (end - first) / 2;
        const assay_metric_series *s = &t->line->series[middle];
        if (s->node < node || (s->node == node && (int)s->metric < metric))
            first = middle + 1;
        else
            end = middle;
    }
    for (uint64_t i = first; i < t->line->series_count; i++) {
        const assay_metric_series *s = &t->line->series[i];
        if (s->node != node || (int)s->metric != metric)
            break;
        if (!unit[0] || (i > first && strcmp(s->unit, unit) == 0))
            return s;
    }
    return NULL;
}

/* The first series of a node and metric is the node's own, over all its GPUs; those behind it are single GPUs. */
const assay_metric_series *timed_next_gpu(const timed *t, uint64_t *i, timed_samples *samples)
{
    for (; t->line && *i < t->line->series_count; ++*i) {
        const assay_metric_series *s = &t->line->series[*i];
        const bool own = *i == 0 || s[-1].node != s->node || s[-1].metric != s->metric;
        if (s->metric != ASSAY_METRIC_GPU || own)
            continue;
        *samples = timed_visible(t, s);
        if (samples->count == 0)
            continue;
        ++*i;
        return s;
    }
    return NULL;
}

/* ---- findings ---- */

/* After a failure nothing is allocated any more; t->status ends the walks. */
void *timed_alloc(timed *t, uint64_t count, size_t size)
{
    void *memory = t->status == ASSAY_OK ? calloc(count ? (size_t)count : 1, size) : NULL;
    if (!memory)
        t->status = ASSAY_ENOMEM;
    return memory;
}

/* Takes over finding->extra in every case. Findings are kept in any order, and sorted when all are there. */
void timed_test(timed *t, bool fired, const timed_finding *finding)
{
    t->datapoints++;
    if (!fired || t->status != ASSAY_OK) {
        free(finding->extra);
        return;
    }
    if (t->findings == t->room) {
        const size_t room = t->room ? 2 * t->room : 64;
        timed_finding *grown = realloc(t->finding, room * sizeof *grown);
        if (!grown) {
            free(finding->extra);
            t->status = ASSAY_ENOMEM;
            return;
        }
        t->finding = grown;
        t->room = room;
    }
    t->finding[t->findings++] = *finding;
}

char *timed_extra(timed *t, const char *format, ...)
{
    enum { ROOM = 256 };
    char *text = timed_alloc(t, ROOM, 1);
    va_list list;
    va_start(list, format);
    if (text)
        vsnprintf(text, ROOM, format, list);
    va_end(list);
    return text;
}

ASSAY_ORDER_BY(compare_findings, timed_finding, time, order)

/* Finds when the job began to train: its first step. Where that has a number above 1, the steps are those of a
 * window, and the first use of a GPU counts if it is earlier; without steps it counts alone. ASSAY_NO_TIME: neither
 * is there. */
static int64_t training_start(const assay_timeline *line)
{
    int64_t start = ASSAY_NO_TIME, number = INT64_MAX;
    for (uint64_t i = 0; i < line->steps; i++) {
        if (start == ASSAY_NO_TIME || line->step[i].start < start) {
            start = line->step[i].start;
            number = line->step[i].number;
        }
    }
    for (uint64_t i = 0; i < line->series_count && number > 1; i++) {
        const assay_metric_series *s = &line->series[i];
        uint64_t k = 0;
        while (s->metric == ASSAY_METRIC_GPU && k < s->count && s->sample[k].sum <= 0)
            k++;
        if (s->metric == ASSAY_METRIC_GPU && k < s->count && (start == ASSAY_NO_TIME || s->sample[k].time < start))
            start = s->sample[k].time;
    }
    return start;
}

/* Called by timed_finalize(), and by ProfilerReport for each rule that it runs. t->line may be NULL: then nothing is
 * evaluated. */
int timed_run(const assay_rule *rule, const assay_rule_ops *ops, const char *prefix, timed_evaluate *evaluate, timed *t)
{
    *t = (timed){
        .rule = rule, .ops = ops, .params = rule->params, .prefix = prefix, .line = assay_trial_timeline(rule->trial)};
    assay_buf_init(&t->details, (size_t)1 << 28);
    assay_buf_init(&t->silent, (size_t)1 << 10);
    t->scan = assay_param_int(rule->params, "scan_interval_us");
    t->from = time_or_none(rule->params, "start_time_us");
    t->to = time_or_none(rule->params, "end_time_us");
    t->worker = assay_param_text(rule->params, "worker");
    if (t->line && own_def(t, "skip_initialization") && timed_truth(t, "skip_initialization")) {
        const int64_t start = training_start(t->line);
        t->from = t->from == ASSAY_NO_TIME || (start != ASSAY_NO_TIME && start > t->from) ? start : t->from;
    }
    if (t->line && t->line->start != ASSAY_NO_TIME)
        evaluate(t);
    if (t->findings > 1)
        qsort(t->finding, t->findings, sizeof *t->finding, compare_findings);
    return t->status == ASSAY_OK ? assay_buf_status(&t->details) : t->status;
}

void timed_release(timed *t)
{
    for (size_t i = 0; i < t->findings; i++)
        free(t->finding[i].extra);
    free(t->finding);
    assay_buf_release(&t->details);
    assay_buf_release(&t->silent);
}

/* ---- the verdict ---- */

/* Puts the slices that have findings, ascending. */
static int put_slices(const timed *t, assay_buf *out)
{
    int64_t *slices = malloc((t->findings + 1) * sizeof *slices);
    ASSAY_HAVE(slices);
    for (size_t i = 0; i < t->findings; i++)
        slices[i] = t->finding[i].slice;
    assay_sort_integers(slices, t->findings);
    assay_put_format(out, "\"slices\": [");
    for (size_t i = 0; i < t->findings; i++)
        if (i == 0 || slices[i] != slices[i - 1])
            assay_put_format(out, "%s%" PRId64, i ? ", " : "", slices[i]);
    assay_put_format(out, "]");
    free(slices);
    return ASSAY_OK;
}

/* Findings go in by time, so `worker` is their number, which keeps that order where times are equal. */
int timed_finalize(const assay_rule *rule, assay_verdict *verdict, timed_evaluate *evaluate, assay_error *err)
{
    timed t;
    assay_findings *findings = assay_verdict_findings(verdict);
    assay_buf *json = assay_verdict_json(verdict);
    int status = timed_run(rule, rule->ops, "", evaluate, &t);
    if (status == ASSAY_OK)
        assay_findings_datapoints(findings, t.datapoints);
    for (size_t i = 0; i < t.findings && status == ASSAY_OK; i++) {
        const timed_finding *f = &t.finding[i];
        const assay_time_place place = {f->slice, f->worker, f->unit, f->worker2, f->unit2, f->extra};
        const assay_finding finding = {.step = f->time,
                                       .tensor = ASSAY_NO_TENSOR,
                                       .worker = (uint32_t)i,
                                       .test = f->test,
                                       .value = f->value,
                                       .threshold = f->threshold,
                                       .time = &place};
        status = assay_findings_add(findings, &finding);
    }
    assay_put_format(json, "\"samples\": %" PRIu64 ", ", t.samples);
    ASSAY_THEN(status, put_slices(&t, json));
    assay_put_format(json, ", \"details\": ");
    if (t.details.size > 0)
        assay_put_bytes(json, t.details.data, t.details.size);
    else
        assay_put_format(json, "null");
    if (t.untested > 0 && t.datapoints > 0)
        assay_verdict_untested(verdict, t.untested, "%zu of its rules had nothing to test: %.*s.", t.untested,
                               (int)t.silent.size, (const char *)t.silent.data);
    if (t.datapoints == 0 && t.line && t.samples > 0)
        assay_verdict_no_data(
            verdict, "%" PRIu64 " values are fewer than the rule needs before it tests (patience, window).", t.samples);
    else if (t.datapoints == 0 && t.line)
        assay_verdict_no_data(verdict, "the profiler data has no values of the kind that the rule looks at, or none of "
                                       "that worker and time.");
    timed_release(&t);
    return status == ASSAY_OK ? status : assay_fail(err, status, "out of memory");
}

/* ---- quantiles ---- */

/* Between the two neighbours, as numpy.quantile() does by default. `x` ascends, and has one at least. */
double timed_quantile(const double *x, uint64_t n, double q)
{
    const double h = (double)(n - 1) * q, k = floor(h), f = h - k;
    const uint64_t at = (uint64_t)k;
    return at + 1 < n ? x[at] + f * (x[at + 1] - x[at]) : x[at];
}

/* The last `window` samples before n, sorted. */
uint64_t timed_window(const assay_sample *samples, uint64_t n, uint64_t window, double *out)
{
    const uint64_t count = n < window ? n : window;
    for (uint64_t i = 0; i < count; i++)
        out[i] = timed_value(&samples[n - count + i]);
    assay_sort_reals(out, (size_t)count);
    return count;
}

/* Tells whether the quantile may be below the threshold, without sorting: the quantile is no less than the value that
 * has floor(q (n - 1)) before it. */
bool timed_may_be_below(const assay_sample *samples, uint64_t n, uint64_t window, double q, double threshold)
{
    const uint64_t count = n < window ? n : window;
    uint64_t below = 0;
    for (uint64_t i = n - count; i < n; i++)
        below += timed_value(&samples[i]) < threshold;
    return (double)below > floor((double)(count - 1) * q);
}
