/* profile.c - see profile.h: use of the machines, phases and operators. */
#include "report/model/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/search.h"

const char *profile_metric_name(int metric)
{
    static const char *const names[] = {"CPU", "CPU memory", "GPU", "GPU memory", "I/O", "Network"};
    return metric >= 0 && metric < ASSAY_METRICS ? names[metric] : "";
}

const char *profile_metric_measure(int metric)
{
    return metric == ASSAY_METRIC_NETWORK ? "bytes per second" : "percent";
}

/* `sum` is in millionths. Use in percent is a mean over units; traffic of a network adds up. */
double profile_value(int metric, const assay_sample *s)
{
    return (double)s->sum / (1e6 * (metric == ASSAY_METRIC_NETWORK ? 1.0 : (double)s->units));
}

double profile_share(int64_t a, int64_t b)
{
    return b != 0 ? 100.0 * (double)a / (double)b : NAN;
}

void profile_free(profile *p)
{
    if (!p)
        return;
    free(p->use);
    free(p->mode);
    free(p->steps);
    free(p->loaders);
    free(p->clock);
    free(p->sampling);
    free(p->gap);
    free(p);
}

/* ---- quantiles ---- */

/* As in rules/parts/timed.c, so that report and rules give the same number. */
static double quantile(const double *x, uint64_t n, double q)
{
    const double h = (double)(n - 1) * q, k = floor(h), f = h - k;
    const uint64_t at = (uint64_t)k;
    return at + 1 < n ? x[at] + f * (x[at + 1] - x[at]) : x[at];
}

profile_spread profile_spread_of(double *list, uint64_t n, double mean)
{
    assay_sort_reals(list, (size_t)n);
    return (profile_spread){.n = n,
                            .mean = mean,
                            .max = list[n - 1],
                            .p99 = quantile(list, n, 0.99),
                            .p95 = quantile(list, n, 0.95),
                            .p75 = quantile(list, n, 0.75),
                            .p50 = quantile(list, n, 0.5),
                            .p25 = quantile(list, n, 0.25),
                            .p05 = quantile(list, n, 0.05),
                            .min = list[0]};
}

/* ---- use of the machines ---- */

/* Finds the mean over all samples of all units; of the network over the times. Sums of millionths over days leave 64
 * bits. */
static double mean_of(const assay_metric_series *s)
{
    __int128 sum = 0;
    uint64_t n = 0;
    for (uint64_t i = 0; i < s->count; i++) {
        sum += s->sample[i].sum;
        n += s->metric == ASSAY_METRIC_NETWORK ? 1 : s->sample[i].units;
    }
    return (double)sum / (1e6 * (double)n);
}

static void find_use(profile *p)
{
    const assay_timeline *line = p->line;
    p->use = assay_alloc_zeroed(line->series_count, sizeof *p->use);
    p->status = p->use ? p->status : ASSAY_ENOMEM;
    for (uint64_t i = 0; i < line->series_count && p->status == ASSAY_OK; i++) {
        const assay_metric_series *s = &line->series[i];
        double *list = assay_alloc(s->count * sizeof *list);
        if (!list) {
            p->status = ASSAY_ENOMEM;
            return;
        }
        for (uint64_t k = 0; k < s->count; k++)
            list[k] = profile_value(s->metric, &s->sample[k]);
        if (s->count > 0) {
            profile_use *row = &p->use[p->uses++];
            const profile_spread spread = profile_spread_of(list, s->count, mean_of(s));
            /* Whiskers of a box plot: 1.5 times the height of the box, as is usual. */
            const double reach = 1.5 * (spread.p75 - spread.p25);
            *row = (profile_use){s->node,
                                 s->metric,
                                 s->unit,
                                 spread,
                                 fmax(spread.min, spread.p25 - reach),
                                 fmin(spread.max, spread.p75 + reach),
                                 s};
        }
        free(list);
    }
}

profile_other profile_other_of(const assay_other_series *series)
{
    __int128 sum = 0;
    int64_t most = series->sample[0].sum, least = most;
    for (uint64_t i = 0; i < series->count; i++) {
        const int64_t value = series->sample[i].sum;
        sum += value;
        most = value > most ? value : most;
        least = value < least ? value : least;
    }
    return (profile_other){(double)sum / (1e6 * (double)series->count), (double)most / 1e6, (double)least / 1e6,
                           (double)series->sample[series->count - 1].sum / 1e6};
}

/* Finds the row of a node's own metric. */
static const profile_use *use_of(const profile *p, uint32_t node, int metric)
{
    size_t first = 0; /* they are sorted by node */
    ASSAY_SEARCH(first, p->uses, p->use[first].node < node);
    for (; first < p->uses && p->use[first].node == node; first++)
        if (p->use[first].metric == metric)
            return &p->use[first]; /* its own comes first */
    return NULL;
}

/* The 95th percentile tells whether something was ever in use, the median whether it was for most of the time. */
const char *profile_hint(const profile *p, uint32_t node)
{
    enum { LOW = 70 };
    const profile_use *gpu = use_of(p, node, ASSAY_METRIC_GPU), *cpu = use_of(p, node, ASSAY_METRIC_CPU);
    if (!gpu || !cpu)
        return NULL;
    if (gpu->spread.p95 < LOW)
        return cpu->spread.p95 < LOW ? "underutilized" : "cpu_bound";
    return gpu->spread.p50 > LOW ? "well_utilized" : "moderate";
}

/* ---- phases and operators ---- */

static int64_t total_of(const profile *p, int kind, const char *name)
{
    for (uint64_t i = 0; i < p->line->totals; i++)
        if (p->line->total[i].kind == kind && strcmp(p->line->total[i].name, name) == 0)
            return p->line->total[i].time;
    return 0;
}

/* Totals are sorted by kind and, within one, by time: so the first ones are shown until one is below 2 %. */
static void find_operators(profile *p)
{
    const double worth_showing = 2.0;
    for (uint64_t i = 0; i < p->line->totals; i++) {
        profile_operators *o = &p->operators[p->line->total[i].kind];
        o->list = o->count++ == 0 ? &p->line->total[i] : o->list;
        o->total += p->line->total[i].time;
    }
    for (int kind = 0; kind < ASSAY_TIME_CLASSES; kind++) {
        profile_operators *o = &p->operators[kind];
        while (o->shown < o->count && profile_share(o->list[o->shown].time, o->total) > worth_showing)
            o->shown_total += o->list[o->shown++].time;
    }
}

static void find_phases(profile *p)
{
    p->forward = total_of(p, ASSAY_TIME_FORWARD, "");
    p->backward = total_of(p, ASSAY_TIME_BACKWARD, "");
    /* Names of the profiler of PyTorch, where nothing is marked as a pass. */
    if (p->forward == 0 && p->backward == 0) {
        p->forward = total_of(p, ASSAY_TIME_GENERAL, "Forward");
        p->backward = total_of(p, ASSAY_TIME_GENERAL, "Backward(post-forward)");
    }
    p->data_time = total_of(p, ASSAY_TIME_GENERAL, "DataLoaderIter") + total_of(p, ASSAY_TIME_GENERAL, "DataIterator");
    p->initialize_time = total_of(p, ASSAY_TIME_GENERAL, "DataLoaderIterInitialize");
}

/* Finds the place of a mode in the table: those that everybody knows come first. */
static int place_of_mode(const char *name)
{
    static const char *const first[] = {"TRAIN", "EVAL", "PREDICT", "GLOBAL"};
    for (int i = 0; i < (int)(sizeof first / sizeof *first); i++)
        if (strcmp(first[i], name) == 0)
            return i;
    return (int)(sizeof first / sizeof *first);
}

static int compare_modes(const void *a, const void *b)
{
    const profile_mode *x = a, *y = b;
    const int order = place_of_mode(x->name) - place_of_mode(y->name);
    return order ? order : strcmp(x->name, y->name);
}

/* Adds up how much of the time from a worker's first step to the end of its last was outside of its steps. Steps are
 * in order of their starts and may overlap. */
static int64_t others_of(const assay_time_step *step, uint64_t count)
{
    int64_t within = 0, last = step[0].start, covered = step[0].start;
    for (uint64_t i = 0; i < count; i++) {
        const int64_t end = step[i].start + step[i].duration;
        const int64_t from = step[i].start > covered ? step[i].start : covered;
        within += end > from ? end - from : 0;
        covered = end > covered ? end : covered;
        last = end > last ? end : last;
    }
    return last - step[0].start - within;
}

static void find_modes(profile *p)
{
    const assay_timeline *line = p->line;
    int64_t total = 0;
    p->mode = assay_alloc_zeroed(line->modes, sizeof *p->mode);
    p->loop_start = p->loop_end = ASSAY_NO_TIME;
    if (!p->mode) {
        p->status = ASSAY_ENOMEM;
        return;
    }
    p->modes = line->modes;
    for (uint32_t m = 0; m < line->modes; m++)
        p->mode[m].name = line->mode[m];
    for (uint64_t i = 0, end; i < line->steps; i = end) {
        for (end = i; end < line->steps && line->step[end].worker == line->step[i].worker; end++) {
            const assay_time_step *step = &line->step[end];
            p->mode[step->mode].steps++;
            p->mode[step->mode].time += step->duration;
            const int64_t until = step->start + step->duration;
            p->loop_start = p->loop_start == ASSAY_NO_TIME || step->start < p->loop_start ? step->start : p->loop_start;
            p->loop_end = until > p->loop_end ? until : p->loop_end;
        }
        p->others += others_of(&line->step[i], end - i);
    }
    total = p->others;
    for (size_t m = 0; m < p->modes; m++)
        total += p->mode[m].time;
    for (size_t m = 0; m < p->modes; m++)
        p->mode[m].share = profile_share(p->mode[m].time, total);
    p->others_share = profile_share(p->others, total);
    if (p->modes > 1)
        qsort(p->mode, p->modes, sizeof *p->mode, compare_modes);
}

/* NULL with ASSAY_OK: the trial has no profiler data. Free with profile_free(). */
profile *profile_new(const assay_trial_outcome *trial, int *status)
{
    const assay_timeline_data *data = trial->info ? trial->info->timeline : NULL;
    *status = ASSAY_OK;
    if (!data)
        return NULL;
    profile *p = assay_alloc_zeroed(1, sizeof *p);
    if (!p) {
        *status = ASSAY_ENOMEM;
        return NULL;
    }
    p->data = data;
    p->line = &data->line;
    find_use(p);
    find_operators(p);
    find_phases(p);
    find_modes(p);
    profile_find_steps(p);
    profile_find_missing(p);
    *status = p->status;
    if (p->status == ASSAY_OK)
        return p;
    profile_free(p);
    return NULL;
}

/* ---- rules ---- */

typedef struct rule_place {
    size_t number;
    uint64_t triggered;
    int kind;
    const char *name;
} rule_place;

static int compare_rules(const void *a, const void *b)
{
    const rule_place *x = a, *y = b;
    if (x->triggered != y->triggered)
        return x->triggered > y->triggered ? -1 : 1;
    return x->kind != y->kind ? x->kind - y->kind : strcmp(x->name, y->name);
}

/* The order of rules that have as many findings as each other; rules that it does not name come last. */
static int place_of_rule(const char *rule)
{
    static const char *const order[] = {
        "CPUBottleneck",      "IOBottleneck", "LowGPUUtilization",       "StepOutlier",
        "GPUMemoryIncrease",  "BatchSize",    "MaxInitializationTime",   "LoadBalancing",
        "OverallSystemUsage", "Dataloader",   "OverallFrameworkMetrics", "ProfilerReport"};
    int i = 0;
    while (i < (int)(sizeof order / sizeof *order) && strcmp(order[i], rule) != 0)
        i++;
    return i;
}

int profile_order_rules(const assay_outcome *outcome, const assay_trial_outcome *trial, size_t **order, size_t *count)
{
    const size_t rules = outcome->job->rule_count;
    rule_place *list = assay_alloc_zeroed(rules, sizeof *list);
    *order = assay_alloc_zeroed(rules, sizeof **order);
    *count = 0;
    if (!list || !*order) {
        free(list);
        free(*order);
        return ASSAY_ENOMEM;
    }
    for (size_t i = 0; i < rules; i++) {
        const report_rule rule = report_rule_of(outcome, trial, i, false);
        if (report_is_in_time(&rule))
            list[(*count)++] =
                (rule_place){i, report_findings_total(&rule), place_of_rule(report_kind(&rule)), rule.instance->name};
    }
    if (*count > 1)
        qsort(list, *count, sizeof *list, compare_rules);
    for (size_t i = 0; i < *count; i++)
        (*order)[i] = list[i].number;
    free(list);
    return ASSAY_OK;
}

/* timed_finalize() writes it in front of all else, so nothing needs parsing. */
uint64_t profile_rule_samples(const report_rule *rule)
{
    static const char key[] = "\"samples\": ";
    uint64_t samples = 0;
    if (rule->json && rule->json->size > sizeof key && memcmp(rule->json->data, key, sizeof key - 1) == 0)
        for (size_t i = sizeof key - 1;
             i < rule->json->size && rule->json->data[i] >= '0' && rule->json->data[i] <= '9'; i++)
            samples = 10 * samples + (uint64_t)(rule->json->data[i] - '0');
    return samples;
}
