/* gradient_not_synchronized.c - GradientNotSynchronized: workers that train one model without sharing their gradients.
 *
 * d(s) = largest Euclidean distance of a worker's tensor from the first worker's, relative to that one's norm. A weight
 * is replicated at s when d(s) <= tolerance.
 *
 *   drift      of a weight that was replicated before: d rose by more than growth percent over each of the num_steps
 *              saved steps that end at s, and d(s) > tolerance. value = d(s), threshold = d at the previous saved step
 *   gradients  the gradient differs at s, d > tolerance, although its weight is replicated at s. Gradients recorded
 *              before they are averaged always differ: then it counts only if the weight drifts over the next num_steps
 *              saved steps
 *
 *   never      no weight of the trial is replicated at any of its saved steps, NEVER_LEAST or more, where no topology
 *              says that they differ by design, and none of them has another shape on some worker from the start, as
 *              parts of one network have. value = d at the first
 *   begun      the same, where |W - W'| stays what it is while the norms change: all workers get the same updates, and
 *              began with other weights. Of statistics alone the distances of means have to stay to MEANS_STAY of them
 *   unlike     the same, where norms change by less than NORMS_MOVED: nothing tells the two from one another
 *
 * A single jump of a weight, as by a flipped bit, rises only once: ReplicaDivergence finds it. A weight with a single
 * value (zero biases, a normalisation's ones) may be equal by chance and does not count as replicated. If weights are
 * averaged periodically (averaging.h), the steps between are not tested. */
#include <math.h>
#include <stdlib.h>

#include "averaging.h"
#include "figures.h"
#include "gradients.h"
#include "workers.h"

enum { WEIGHTS, GRADIENTS }; /* slots, and roles */
/* Values of a row. KIND is the role, CONSTANT higher when it is one value; NORM is the first worker's, COMPARED how many
 * workers were compared with it, FIGURED whether statistics alone were. */
enum { DIFFERENCE, KIND, NORM, COMPARED, FIGURED, WIDTH };
enum { CONSTANT = 2, NEVER_LEAST = 2 };
enum { BEGUN, DRIFT, DIFFERS, NEVER, UNLIKE }; /* tests */
static const char *const tests[] = {"begun", "drift", "gradients", "never", "unlike", NULL};
#define NORMS_MOVED 1e-3 /* of a norm, on the mean of the weights; rounding moves a distance by a millionth */
#define STAYS       0.2  /* of how far norms moved */
#define MEANS_STAY  0.01 /* of a distance of means, which hardly moves where updates differ: sums of sums that round */

static const assay_param_def params[] = {
    REPLICA_PARAMS("weights,biases"),
    ASSAY_CHOICE_PARAM("recorded", "before", "before|after",
                       "Gradients were recorded before they were averaged over the workers, or after."),
    ASSAY_INT_PARAM("num_steps", "2", 1, 1000000, "Consecutive saved steps over which a weight must keep drifting."),
    ASSAY_REAL_PARAM("growth", "1", 0, 1e308, "Smallest growth of the distance, in percent, that counts as a rise."),
    ASSAY_REAL_PARAM("tolerance", "1e-6", 0, 1e308, "Relative distance up to which tensors count as equal."),
    ASSAY_BOOL_PARAM("never", "False", "Also fire where no weight was ever equal on all workers."),
    {0},
};

/* Of statistics: how far the means lie apart, which stays where updates are the same, and more than any tolerance where
 * the least or largest elements are not equal. */
#define APART_BY_FIGURES 1e-3
#define SUMS_ROUND       1e-5 /* of sums that are taken in another order */

static int need_change(assay_need *need, int slot, uint32_t figures, assay_error *err)
{
    assay_measure change = {
        .kind = ASSAY_MEASURE_CHANGE, .reference = ASSAY_REFERENCE_FIRST_WORKER, .equal_nan = 1, .figures = figures};
    int number = slot < 0 ? slot : assay_need_measure(need, slot, &change, err);
    const assay_rows rows = {.width = WIDTH, .pooled = true, .compared = true};
    return number < 0 ? number : assay_need_rows(need, slot, &rows, err);
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int status = refuse_one_worker(given, err);
    status = status ? status
                    : need_change(need,
                                  selection_slot_of(given, need, 1u << ASSAY_RAW | FIGURES_KINDS, ASSAY_SLOT_WORKERS,
                                                    true, err),
                                  ASSAY_CHANGE_ALL, err); /* as ReplicaDivergence, so that it is taken once for both */
    if (status >= 0)
        status = need_change(need,
                             assay_need_slot(need,
                                             &(assay_slot){.collection = "gradients",
                                                           .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_WORKERS},
                                             err),
                             ASSAY_CHANGE_DISTANCE, err);
    return status < 0 ? status : ASSAY_OK;
}

/* Distance of one worker from the first, relative; infinite for another shape or where it is no number. */
static double difference(const assay_change *change)
{
    if (!change->same_shape)
        return INFINITY;
    if (change->close || change->squares == 0)
        return 0;
    double d = sqrt(change->squares) / sqrt(change->reference_squares);
    return isnan(d) ? INFINITY : d;
}

/* The same of two of which statistics alone were recorded. */
static double figures_difference(const double *figure, const double *first)
{
    const bool range = figure[FIGURE_MIN] == first[FIGURE_MIN] && figure[FIGURE_MAX] == first[FIGURE_MAX];
    const double rms = figures_rms(first), d = fabs(figure[FIGURE_MEAN] - first[FIGURE_MEAN]) / rms;
    const bool sums = d <= SUMS_ROUND && fabs(figure[FIGURE_STD] - first[FIGURE_STD]) <= SUMS_ROUND * rms;
    if (range && (sums || !(rms > 0))) /* weights that are clipped have one range, whatever they are */
        return 0;
    return !(rms > 0) || isnan(d) ? INFINITY : fmax(d, APART_BY_FIGURES);
}

/* Have two of which statistics alone were recorded other numbers of elements, beyond rounding? */
static bool is_of_other_size(const assay_tensor_view *a, const assay_tensor_view *b)
{
    const double n = figures_elements(a), m = figures_elements(b);
    return n > 0 && m > 0 && fabs(n - m) > 0.5 + SUMS_ROUND * n;
}

/* items[0 .. count) are one weight's, of which statistics alone were recorded. Where a topology says which are replicas,
 * it is left to ReplicaDivergence. */
static int add_figures(const assay_trial *trial, assay_series *series, const assay_step_view *view,
                       const assay_tensor_view *const *items, uint32_t count)
{
    double row[WIDTH] = {0, WEIGHTS + CONSTANT}, first[FIGURES], figure[FIGURES];
    for (uint32_t i = 0; i < count; i++) {
        if (!figures_of(items[i], i == 0 ? first : figure) ||
            assay_trial_relation(trial, items[i]->tensor, items[i]->worker).known)
            return ASSAY_OK;
        const double d = is_of_other_size(items[0], items[i]) ? INFINITY : figures_difference(figure, first);
        row[DIFFERENCE] = i == 0 ? 0 : fmax(row[DIFFERENCE], d);
        row[KIND] = is_one_value(items[i]) ? row[KIND] : WEIGHTS;
    }
    row[NORM] = items[0]->reduction[ASSAY_L2];
    row[COMPARED] = count;
    row[FIGURED] = 1;
    return count > 1 ? assay_series_add(series, view->step, items[0]->tensor, ASSAY_ALL_WORKERS, row) : ASSAY_OK;
}

/* items[0 .. count) are one tensor's; `k` is the slot. Each worker was compared with the first of its replicas. */
static int add_tensor(const assay_trial *trial, assay_series *series, const assay_step_view *view, int k,
                      const assay_tensor_view *const *items, uint32_t count)
{
    double row[WIDTH] = {0, k + CONSTANT};
    uint32_t compared = 0;
    bool others = false; /* than the first of their replicas */
    for (uint32_t i = 0; i < count; i++) {
        const assay_result *result = assay_view_result(view, k, items[i]);
        if (!result || !result->of.change.found)
            continue;
        if (result->of.change.same_shape &&
            (isnan(result->of.change.squares) || isnan(result->of.change.reference_squares)))
            return ASSAY_OK; /* NaN is no distance, and where all have it they are no replicas by that */
        others = others || !assay_trial_relation(trial, items[i]->tensor, items[i]->worker).known ||
                 assay_trial_peers(trial, items[i]->tensor, items[i]->worker) != items[i]->worker;
        compared++;
        row[DIFFERENCE] = fmax(row[DIFFERENCE], difference(&result->of.change));
        row[NORM] = sqrt(result->of.change.reference_squares);
        row[KIND] = is_one_value(items[i]) ? row[KIND] : k;
    }
    row[COMPARED] = compared;
    return compared > 1 && others ? assay_series_add(series, view->step, items[0]->tensor, ASSAY_ALL_WORKERS, row)
                                  : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    int status = ASSAY_OK;
    for (int k = WEIGHTS; k <= GRADIENTS; k++) {
        const assay_slot_view *slot = &view->slot[k];
        for (uint32_t i = 0, n; status == ASSAY_OK && i < slot->count; i += n) {
            n = same_tensor(slot, i);
            if (is_gradient(rule->trial, slot->items[i]->tensor) != (k == GRADIENTS))
                continue;
            if (k == WEIGHTS && has_figures_alone(slot->items[i]))
                status = add_figures(rule->trial, ((assay_common_state *)state)->series, view, slot->items + i, n);
            else
                status = add_tensor(rule->trial, ((assay_common_state *)state)->series, view, k, slot->items + i, n);
        }
    }
    return status;
}

/* The rows of one tensor, ascending in step. */
typedef struct track {
    const assay_rule *rule;
    const assay_series *series;
    const uint64_t *rows;
    uint64_t count;
    uint64_t between; /* steps between two averagings, at most; 0: it is not averaged */
} track;

static double distance(const track *t, uint64_t i)
{
    return assay_series_row(t->series, t->rows[i]).value[DIFFERENCE];
}

static bool is_equal(const track *t, uint64_t i)
{
    return distance(t, i) <= assay_param_real(t->rule->params, "tolerance");
}

/* Equal, and not only because all elements are one value. */
static bool replicated(const track *t, uint64_t i)
{
    return is_equal(t, i) && assay_series_row(t->series, t->rows[i]).value[KIND] < CONSTANT;
}

/* True when the distance rose from i - 1 to i. */
static bool rises(const track *t, uint64_t i)
{
    double before = distance(t, i - 1), growth = assay_param_real(t->rule->params, "growth");
    return !is_equal(t, i) && distance(t, i) > before * (1 + growth / 100);
}

static int test(const track *t, uint64_t i, uint32_t which, bool fired, double threshold, assay_verdict *verdict)
{
    assay_row row = assay_series_row(t->series, t->rows[i]);
    if (row.step < t->rule->start_step)
        return ASSAY_OK;
    assay_finding finding = {.step = row.step,
                             .tensor = row.tensor,
                             .worker = ASSAY_ALL_WORKERS,
                             .test = which,
                             .value = row.value[DIFFERENCE],
                             .threshold = threshold};
    return assay_findings_test(assay_verdict_findings(verdict), fired, &finding);
}

static int test_drift(const track *t, assay_verdict *verdict)
{
    int64_t run = 0, num_steps = assay_param_int(t->rule->params, "num_steps");
    uint64_t apart = 0;
    bool seen = t->count && replicated(t, 0);
    int status = ASSAY_OK;
    for (uint64_t i = 1; status == ASSAY_OK && i < t->count; i++) {
        apart = is_equal(t, i) ? 0 : apart + 1;
        if (seen) {
            run = rises(t, i) ? run + 1 : 0;
            if (apart == 0 || apart > t->between)
                status = test(t, i, DRIFT, run >= num_steps, distance(t, i - 1), verdict);
        }
        seen = seen || replicated(t, i);
    }
    return status;
}

static bool was_replicated(const track *t)
{
    bool once = false;
    for (uint64_t i = 0; !once && i < t->count; i++)
        once = replicated(t, i);
    return once;
}

static double value_of(const track *t, uint64_t i, int which)
{
    return assay_series_row(t->series, t->rows[i]).value[which];
}

/* How far the norm of the first worker's weight and the distance of the others moved, from the first row to the last of
 * as many workers: without the farthest one the distance is another. */
static void add_moves(const track *t, double *norms, double *distances)
{
    uint64_t last = t->count - 1;
    while (last > 0 && value_of(t, last, COMPARED) != value_of(t, 0, COMPARED))
        last--;
    const double norm = value_of(t, 0, NORM), after = value_of(t, last, NORM);
    if (value_of(t, 0, KIND) >= CONSTANT || norm == 0 || distance(t, 0) == 0)
        return;
    *norms += fabs(after / norm - 1);
    *distances += fabs(distance(t, last) * after / (distance(t, 0) * norm) - 1);
}

/* One test of each weight where none was ever equal: workers that train models of their own, or began apart. */
static int test_never(const track *t, uint32_t which, assay_verdict *verdict)
{
    return t->count < NEVER_LEAST || assay_series_row(t->series, t->rows[0]).value[KIND] >= CONSTANT
               ? ASSAY_OK
               : test(t, 0, which, true, assay_param_real(t->rule->params, "tolerance"), verdict);
}

static int test_gradient(const track *gradient, const track *weight, uint32_t of, assay_verdict *verdict)
{
    const assay_params *p = gradient->rule->params;
    bool after = assay_param_text(p, "recorded")[0] == 'a';
    uint64_t num_steps = after ? 0 : (uint64_t)assay_param_int(p, "num_steps");
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < gradient->count; i++) {
        assay_row row = assay_series_row(gradient->series, gradient->rows[i]);
        uint64_t at = row_of(weight->series, weight->rows, weight->count, of, ASSAY_ALL_WORKERS, row.step);
        if (at == weight->count || !replicated(weight, at) || weight->count - 1 - at < num_steps || weight->between > 0)
            continue;
        bool fired = !is_equal(gradient, i);
        for (uint64_t k = 1; fired && k <= num_steps; k++)
            fired = rises(weight, at + k);
        status = test(gradient, i, DIFFERS, fired, assay_param_real(p, "tolerance"), verdict);
    }
    return status;
}

static track track_of(const assay_rule *rule, const assay_series *series, const uint64_t *order, uint64_t count,
                      uint32_t tensor)
{
    track t = {.rule = rule, .series = series};
    uint64_t first = row_not_before(series, order, count, tensor, 0, INT64_MIN);
    t.rows = order + first;
    while (first + t.count < count && assay_series_row(series, t.rows[t.count]).tensor == tensor)
        t.count++;
    averaging a = {0};
    for (uint64_t i = 0; i < t.count; i++)
        averaging_take(&a, is_equal(&t, i), false);
    t.between = averaging_length(&a);
    return t;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t count = assay_series_count(series), *order = assay_series_by_tensor(series);
    if (count && !order)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    uint64_t averaged = 0, weights = 0, equal = 0;
    double norms = 0, distances = 0;
    bool others = false, figured = false;
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < count;) {
        assay_row row = assay_series_row(series, order[i]);
        track t = track_of(rule, series, order, count, row.tensor);
        uint32_t of = weight_of_gradient(rule->trial, row.tensor);
        if (!is_gradient(rule->trial, row.tensor)) {
            weights++;
            averaged += t.between > 0;
            equal += was_replicated(&t);
            others = others || isinf(distance(&t, 0));
            figured = figured || row.value[FIGURED] > 0;
            add_moves(&t, &norms, &distances);
            status = test_drift(&t, verdict);
        } else if (of != ASSAY_NO_TENSOR) {
            track weight = track_of(rule, series, order, count, of);
            status = test_gradient(&t, &weight, of, verdict);
        }
        i += t.count;
    }
    const bool never = assay_param_bool(rule->params, "never") && equal == 0 && !others &&
                       !assay_trial_relation(rule->trial, 0, 0).known;
    const double room = figured ? fmin(STAYS * norms, MEANS_STAY * (double)weights) : STAYS * norms;
    const uint32_t which = norms <= NORMS_MOVED * (double)weights ? UNLIKE : distances < room ? BEGUN : NEVER;
    for (uint64_t i = 0; status == ASSAY_OK && never && i < count;) {
        track t = track_of(rule, series, order, count, assay_series_row(series, order[i]).tensor);
        if (!is_gradient(rule->trial, assay_series_row(series, order[i]).tensor))
            status = test_never(&t, which, verdict);
        i += t.count;
    }
    say_averaged(averaged, verdict);
    if (count == 0)
        say_no_replicas(rule->trial, verdict);
    else
        assay_verdict_no_data(
            verdict,
            "%llu weight%s at no step equal on all workers (tolerance), but for tensors of one value: "
            "no replicas, so neither they nor their gradients are tested.",
            (unsigned long long)weights, weights == 1 ? " was" : "s were");
    free(order);
    return status;
}

const assay_rule_ops assay_rule_gradient_not_synchronized = {
    ASSAY_RULE_HEAD,
    .name = "GradientNotSynchronized",
    .summary = "Workers whose weights drift apart, or whose gradients differ although their weights are the same.",
    .advice =
        "Each worker trains a model of its own from the step named on: the gradients are not averaged, or not on all "
        "workers, before the optimizer takes its step.",
    .remedies = ASSAY_TEXTS(
        "Wrap the model for data-parallel training, or call the all-reduce, before the optimizer's step, on every worker.",
        "Call the wrapped model, not the module inside: calls past the wrapper skip the averaging.",
        "Look for a no_sync or accumulation block that is not left at the step named.",
        "Give all workers the same process group; check that none was left out when it was made.",
        "Make parameters that are used on some workers only known to the wrapper (find_unused_parameters)."),
    .params = params,
    .tests = tests,
    .traits = ASSAY_RULE_LOOKS_BACK | ASSAY_RULE_POOLS | ASSAY_RULE_NOT_LOGGED,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("apart"),
    .sentences =
        ASSAY_TEXTS([BEGUN] = "{tensor} was equal on all workers at no step: they began apart",
                    [DRIFT] = "{tensor}{of} drifts away from the other workers at {when}",
                    [DIFFERS] = "gradients were not averaged: {tensor}{of} differs from the other workers at {when}",
                    [NEVER] = "{tensor} was equal on all workers at no step",
                    [UNLIKE] = "{tensor} was equal on all workers at no step, and has hardly moved"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
