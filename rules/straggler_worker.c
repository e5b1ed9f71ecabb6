/* straggler_worker.c - StragglerWorker: one worker's steps are written late, again and again.
 *
 * t(s, w) = latest wall time of the events of step s and worker w; lag = t(s, w) - median of t(s, .) over the others.
 * A worker is late when lag > max(min_seconds, share * time of one step, APART * spread of the others, STEADY *
 * jitter). Fires when it has been late at num_steps consecutive saved steps, and such steps are least_share of its own:
 * on a machine that is busy now and then some come in a row by chance. Value = lag in seconds, threshold = that limit.
 *
 * Where a topology lays workers out, each is compared with those first that differ from it along the innermost axis
 * alone: they wait for one another most. Only where none of them is late among them are all compared, for then the
 * others of the group are not late because they wait for it.
 *
 *   time of one step  median over saved steps: the time since the previous one over the number of steps between them
 *   spread            median distance of the others' times from their median
 *   jitter            median over all workers and saved steps: the change of a lag since the previous saved step, to
 *                     which a steady lag does not add */
#include <stdlib.h>
#include <string.h>

#include "robust.h"
#include "too_few.h"
#include "workers.h"

#define APART  4
#define STEADY 6

static const assay_param_def params[] = {
    ASSAY_REAL_PARAM("share", "0.25", 0, 1e308, "A worker is late if it lags by this share of the time of one step."),
    ASSAY_REAL_PARAM("min_seconds", "0.05", 0, 1e308, "A worker that lags by no more than these seconds is not late."),
    ASSAY_INT_PARAM("num_steps", "3", 1, 1000000, "Consecutive saved steps at which a worker must be late."),
    {.name = "least_share",
     .type = ASSAY_PARAM_REAL,
     .initial = "0.05",
     .least = 0,
     .most = 1,
     .help = "Nothing fires where a worker is late so at fewer than this share of its steps."},
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int status = refuse_one_worker(given, err);
    return status ? status : times_setup(given, need, data, err);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    const assay_slot_view *slot = &view->slot[0];
    uint32_t workers = assay_trial_workers(rule->trial);
    double *latest = malloc((workers ? workers : 1) * sizeof *latest);
    if (!latest)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    for (uint32_t w = 0; w < workers; w++)
        latest[w] = -INFINITY;
    for (uint32_t i = 0; i < slot->count; i++)
        if (slot->items[i]->worker < workers && slot->items[i]->wall_time > latest[slot->items[i]->worker])
            latest[slot->items[i]->worker] = slot->items[i]->wall_time;
    int status = ASSAY_OK;
    for (uint32_t w = 0; status == ASSAY_OK && w < workers; w++)
        if (isfinite(latest[w]))
            status =
                assay_series_add(((assay_common_state *)state)->series, view->step, ASSAY_NO_TENSOR, w, &latest[w]);
    free(latest);
    return status;
}

typedef struct race {
    const assay_rule *rule;
    const assay_series *series;
    double *time;    /* room for the workers of a step, sorted */
    double *between; /* room for the times of a step, and of the others */
    int64_t *late;   /* [workers] steps in a row */
    int64_t *often;  /* [workers] steps of such rows of num_steps or more */
    int64_t *seen;   /* [workers] steps */
    double *lag;     /* [workers] at the saved step before; NaN: none */
    bool *behind;    /* [workers] by a group's first: somebody of it is late within it at this step */
    bool grouped;    /* there are several groups */
    double limit;
} race;

/* The rows from `i` on that belong to its step. */
static uint64_t rows_of_step(const assay_series *series, uint64_t i)
{
    uint64_t n = 1, count = assay_series_count(series);
    int64_t step = assay_series_row(series, i).step;
    while (i + n < count && assay_series_row(series, i + n).step == step)
        n++;
    return n;
}

static void sort_times(race *r, uint64_t i, uint64_t n)
{
    for (uint64_t k = 0; k < n; k++)
        r->time[k] = assay_series_row(r->series, i + k).value[0];
    qsort(r->time, n, sizeof *r->time, robust_compare);
}

/* The group of a row's worker. */
static uint32_t group_of(const race *r, uint64_t row)
{
    return assay_trial_neighbours(r->rule->trial, assay_series_row(r->series, row).worker);
}

/* The same for those of a step that are in one group; returns how many. */
static uint64_t sort_group(race *r, uint64_t i, uint64_t n, uint32_t group)
{
    uint64_t count = 0;
    for (uint64_t k = 0; k < n; k++)
        if (group_of(r, i + k) == group)
            r->time[count++] = assay_series_row(r->series, i + k).value[0];
    qsort(r->time, count, sizeof *r->time, robust_compare);
    return count;
}

/* The median of the sorted times without one that equals `mine`; n > 1. */
static double median_of_others(const race *r, uint64_t n, double mine)
{
    uint64_t at = 0, a = (n - 2) / 2, b = (n - 1) / 2; /* the middle of n - 1 */
    while (at + 1 < n && r->time[at] < mine)
        at++;
    return r->time[a + (a >= at)] / 2 + r->time[b + (b >= at)] / 2;
}

/* How much lags change from one saved step to the next: the median; NaN where none is known. */
static double jitter(race *r)
{
    uint64_t count = assay_series_count(r->series), changes = 0, workers = assay_trial_workers(r->rule->trial);
    for (uint64_t w = 0; w < workers; w++)
        r->lag[w] = NAN;
    for (uint64_t i = 0, n; i < count; i += n) {
        n = rows_of_step(r->series, i);
        sort_times(r, i, n);
        for (uint64_t k = i; n > 1 && k < i + n; k++) {
            assay_row row = assay_series_row(r->series, k);
            if (row.worker >= workers)
                continue;
            double lag = row.value[0] - median_of_others(r, n, row.value[0]);
            if (!isnan(r->lag[row.worker]))
                r->between[changes++] = fabs(lag - r->lag[row.worker]);
            r->lag[row.worker] = lag;
        }
    }
    return robust_median(r->between, changes);
}

static void find_limit(race *r)
{
    uint64_t count = assay_series_count(r->series), steps = 0;
    double before = 0;
    int64_t step_before = 0;
    for (uint64_t i = 0, n; i < count; i += n) {
        n = rows_of_step(r->series, i);
        sort_times(r, i, n);
        double middle = r->time[(n - 1) / 2] / 2 + r->time[n / 2] / 2;
        int64_t step = assay_series_row(r->series, i).step;
        if (i > 0)
            r->between[steps++] = (middle - before) / ((double)step - (double)step_before);
        before = middle;
        step_before = step;
    }
    double share = assay_param_real(r->rule->params, "share") * robust_median(r->between, steps);
    double least = fmax(assay_param_real(r->rule->params, "min_seconds"), share); /* of NaN and a number: the number */
    r->limit = fmax(least, STEADY * jitter(r));
}

/* How far the others lie from their median: the median distance. */
static double spread_of_others(race *r, uint64_t i, uint64_t n, uint64_t own, bool in_group)
{
    uint64_t others = 0;
    const uint32_t group = in_group ? group_of(r, i + own) : 0;
    for (uint64_t k = 0; k < n; k++)
        if (k != own && (!in_group || group_of(r, i + k) == group))
            r->between[others++] = assay_series_row(r->series, i + k).value[0];
    return robust_center_of(r->between, others, 0).spread;
}

/* How late a worker is against the others whose `count` times are sorted, and from where on that is too late. */
typedef struct lateness {
    double lag, limit;
} lateness;

static lateness lateness_of(race *r, uint64_t i, uint64_t n, uint64_t k, uint64_t count, bool in_group)
{
    const double mine = assay_series_row(r->series, i + k).value[0];
    lateness l = {mine - median_of_others(r, count, mine), r->limit};
    if (l.lag > l.limit)
        l.limit = fmax(l.limit, APART * spread_of_others(r, i, n, k, in_group));
    return l;
}

/* Notes the groups in which somebody is late. */
static void find_late_groups(race *r, uint64_t i, uint64_t n)
{
    for (uint32_t w = 0; w < assay_trial_workers(r->rule->trial); w++)
        r->behind[w] = false;
    for (uint64_t k = 0; r->grouped && k < n; k++) {
        const uint32_t group = group_of(r, i + k);
        const uint64_t count = sort_group(r, i, n, group);
        const lateness l = count > 1 ? lateness_of(r, i, n, k, count, true) : (lateness){0, 0};
        r->behind[group] = r->behind[group] || l.lag > l.limit;
    }
}

static bool is_often_late(const race *r, uint32_t worker)
{
    return (double)r->often[worker] >= assay_param_real(r->rule->params, "least_share") * (double)r->seen[worker];
}

/* Counts how often each worker is late; with a verdict, tests it. */
static int test_step(race *r, uint64_t i, uint64_t n, assay_verdict *verdict)
{
    int64_t num_steps = assay_param_int(r->rule->params, "num_steps");
    int status = ASSAY_OK;
    find_late_groups(r, i, n);
    sort_times(r, i, n);
    for (uint64_t k = 0; status == ASSAY_OK && n > 1 && k < n; k++) {
        assay_row row = assay_series_row(r->series, i + k);
        if (row.worker >= assay_trial_workers(r->rule->trial))
            continue;
        const bool in_group = r->behind[group_of(r, i + k)];
        const uint64_t count = in_group ? sort_group(r, i, n, group_of(r, i + k)) : n;
        const lateness l = lateness_of(r, i, n, k, count, in_group);
        int64_t *late = &r->late[row.worker];
        if (in_group)
            sort_times(r, i, n);
        *late = l.lag > l.limit ? *late + 1 : 0;
        assay_finding finding = {.step = row.step,
                                 .tensor = ASSAY_NO_TENSOR,
                                 .worker = row.worker,
                                 .value = l.lag,
                                 .threshold = l.limit,
                                 .note = in_group ? "against the workers that are closest to it" : NULL};
        if (!verdict) {
            r->often[row.worker] += *late == num_steps ? num_steps : *late > num_steps;
            r->seen[row.worker]++;
        } else if (row.step >= r->rule->start_step)
            status = assay_findings_test(assay_verdict_findings(verdict),
                                         *late >= num_steps && is_often_late(r, row.worker), &finding);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    race r = {.rule = rule, .series = ((const assay_common_state *)state)->series};
    uint64_t count = assay_series_count(r.series), workers = assay_trial_workers(rule->trial);
    r.time = calloc(count + 1, sizeof *r.time);
    r.between = calloc(count + 1, sizeof *r.between);
    r.late = calloc(workers + 1, sizeof *r.late);
    r.often = calloc(workers + 1, sizeof *r.often);
    r.seen = calloc(workers + 1, sizeof *r.seen);
    r.lag = calloc(workers + 1, sizeof *r.lag);
    r.behind = calloc(workers + 1, sizeof *r.behind);
    for (uint32_t w = 0; w < workers; w++)
        r.grouped = r.grouped || assay_trial_neighbours(rule->trial, w) != assay_trial_neighbours(rule->trial, 0);
    bool room = r.time && r.between && r.late && r.often && r.seen && r.lag && r.behind;
    int status = room ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory");
    if (status == ASSAY_OK)
        find_limit(&r);
    for (int turn = 0; status == ASSAY_OK && turn < 2; turn++) {
        memset(r.late, 0, workers * sizeof *r.late);
        for (uint64_t i = 0, n; status == ASSAY_OK && i < count; i += n) {
            n = rows_of_step(r.series, i);
            status = test_step(&r, i, n, turn == 0 ? NULL : verdict);
        }
    }
    free(r.time);
    free(r.between);
    free(r.late);
    free(r.often);
    free(r.seen);
    free(r.lag);
    free(r.behind);
    assay_verdict_no_data(verdict, "no step has the times of two workers.");
    return status;
}

static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    bool alone = assay_trial_workers(rule->trial) < 2;
    if (alone)
        assay_put_format(out, "the rule compares workers, and one alone recorded.");
    return alone;
}

const assay_rule_ops assay_rule_straggler_worker = {
    ASSAY_RULE_HEAD,
    .name = "StragglerWorker",
    .summary = "A worker whose steps are written later than the others', again and again.",
    .advice = "Where workers wait for one another, the slowest sets the pace of all: find out whether the lag belongs "
              "to the node, to the data of that rank, or to work that only it does.",
    .remedies = ASSAY_TEXTS(
        "Compare clocks, temperatures, clock rates and device errors of the worker's node with another's: throttling is "
        "common.",
        "Look for another job or process on that node, and for a slower path to data or storage.",
        "Balance the work: a shard with longer samples, or extra work on that rank such as logging and checkpoints.",
        "Take the node out and run again: if the lag stays with the rank and not with the node, it is the data or the "
        "code."),
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK | ASSAY_RULE_NOT_LOGGED,
    .series_width = 1,
    .value_units = ASSAY_TEXTS("s late"),
    .sentences = ASSAY_TEXTS("{worker} was later than the others at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
    .reason = reason,
};
