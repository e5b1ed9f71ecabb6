/* gradient_underflow.c - GradientUnderflow: ever more elements of gradients are exactly zero, and no unit explains it.
 * docs/rules/GradientUnderflow.md.
 *
 *   all    every element of every gradient of a worker is 0 at the last `quarter` saved steps, and from the first such
 *          step on at three of four, though it has LEAST_GRADIENTS, and no loss is 0 there: even a bias of an output has
 *          none, which no dead unit stops
 *   held   the hook says (scalar/held_without_gradient_K) how many weights an optimizer has that require a gradient and had
 *          none at any of its first updates: as many as have none in the trial, and a third or more of all weights
 *   kept   the hook says (scalar/gradients_kept_K) that gradients of the K-th optimizer were added to those of the update
 *          before, so many times in a row
 *   part   every element of a gradient with two axes or more is 0 at all saved steps, eight at least, while another such
 *          gradient of the worker is not, at its beginning nor at its end
 *   weights  every element of every gradient with two axes or more of a worker, two at least, is 0 at all saved steps, and
 *          another gradient is not, at its beginning nor at its end: what the layers are given is all 0
 *   rises  as follows
 *
 * z = share of elements that are exactly 0, over the saved TRAIN steps of a tensor and worker: its beginning and its end
 * are medians of a quarter of them, `quarter` at least. Of gradients with two axes or more the rise of z is compared with
 * what may explain zeros in whole rows and columns: the two largest rises among gradients with one axis and LEAST_UNITS
 * elements (units that are dead, or inactive in the whole batch; fewer are outputs, which have no ReLU), and zeros of the
 * weights themselves (pruned); but units explain nothing where all gradients with one axis rise by more than `rise`, since
 * that of the outputs has none, nor is it underflow where the zeros are those of whole rows (a table of which a batch feeds
 * some). Fires when
 *
 *     z_end - z_begin > rise + explained, z_end > twice z_begin (or half of the other elements are left), and the loss
 *     has not come down to loss_share
 *
 * in the end, and at the steps before from which on z is above the mean of both throughout.
 *
 * Statistics tell whether all of a gradient is 0, and so all and part. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "gradients.h"
#include "robust.h"
#include "rows_of_layers.h"
#include "selection.h"
#include "too_few.h"

/* Values of a row; of a loss its value stands for ZEROS, of statistics whether all is 0. IN_ROWS: the length of a
 * row, where as many elements are zero as so many rows have, and not all; else 0. */
enum { ZEROS, IS, BY_FIGURES, IN_ROWS, WIDTH };
enum { IS_MATRIX, IS_VECTOR, IS_WEIGHT, IS_LOSS, IS_OUTPUT, IS_HELD, IS_KEPT, KINDS };
enum { GRADIENTS, WEIGHTS, LOSSES, SLOTS, UNREACHED = SLOTS, UNCLEARED };
enum { LEAST_UNITS = 16, LEAST_GRADIENTS = 2, NOTE_ROOM = 96 };
enum { ALL, HELD, KEPT, PART, RISES, WITHOUT_WEIGHTS };
#define NO_LOSS 1e-4 /* of the first one: what is left of it may have no gradient */

static const assay_param_def params[] = {
    {.name = "rise",
     .type = ASSAY_PARAM_REAL,
     .initial = "0.15",
     .least = 0,
     .most = 1,
     .help = "A share of zeros that grows by more than this fires."},
    {.name = "quarter",
     .type = ASSAY_PARAM_INT,
     .initial = "2",
     .least = 1,
     .most = 1000000,
     .help = "Fewest saved steps of a quarter of the course."},
    {.name = "loss_share",
     .type = ASSAY_PARAM_REAL,
     .initial = "0.02",
     .least = 0,
     .most = 1,
     .help = "Nothing fires where the losses end below this share of their first values: what is learned has no "
             "gradient."},
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    static const char *const collections[] = {"gradients", "weights", "losses"};
    int slot = 0;
    for (int i = 0; slot >= 0 && i < SLOTS; i++) {
        slot = assay_need_slot(need,
                               &(assay_slot){.collection = collections[i],
                                             .kinds = 1u << ASSAY_RAW | (i == GRADIENTS ? FIGURES_KINDS : 0),
                                             .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_SUMS},
                               err);
        if (slot >= 0)
            slot = assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err) == ASSAY_OK ? slot : ASSAY_ENOMEM;
    }
    static const char *const said[] = {"^scalar/held_without_gradient_[0-9]+$", "^scalar/gradients_kept_[0-9]+$"};
    for (int i = 0; slot >= 0 && i < 2; i++) {
        slot = assay_need_slot(need, &(assay_slot){.pattern = said[i], .flags = ASSAY_SLOT_NO_STRINGS}, err);
        if (slot >= 0)
            slot = assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err) == ASSAY_OK ? slot : ASSAY_ENOMEM;
    }
    return slot < 0 ? slot : ASSAY_OK;
}

/* Without a shape the name tells a matrix from what it is added to; gains of normalisations are taken for one. */
static int add_figures(const assay_step_view *view, const assay_tensor_view *item, assay_series *series)
{
    const double least = item->reduction[ASSAY_MIN], largest = item->reduction[ASSAY_MAX];
    const double row[WIDTH] = {[ZEROS] = least == 0 && largest == 0,
                               [IS] = strstr(item->name, "weight") ? IS_MATRIX : IS_OUTPUT,
                               [BY_FIGURES] = 1};
    return isfinite(least) && isfinite(largest) ? assay_series_add(series, view->step, item->tensor, item->worker, row)
                                                : ASSAY_OK;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    int status = ASSAY_OK;
    for (int slot = UNREACHED; slot <= UNCLEARED; slot++)
        for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[slot].count; i++) {
            const assay_tensor_view *item = view->slot[slot].items[i];
            const double row[WIDTH] = {[IS] = slot == UNREACHED ? IS_HELD : IS_KEPT,
                                       [ZEROS] = assay_view_has_values(item) ? item->stats->max : 0};
            if (row[ZEROS] > 0 && row[ZEROS] < UINT32_MAX)
                status = assay_series_add(((assay_common_state *)state)->series, view->step, item->tensor, item->worker,
                                          row);
        }
    for (int slot = 0; view->mode == ASSAY_MODE_TRAIN && slot < SLOTS; slot++)
        for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[slot].count; i++) {
            const assay_tensor_view *item = view->slot[slot].items[i];
            const assay_stats *s = item->stats;
            if (slot == GRADIENTS && has_figures_alone(item))
                status = add_figures(view, item, ((assay_common_state *)state)->series);
            if (!assay_view_has_values(item) || s->count == 0)
                continue;
            const double share = (double)s->zeros / (double)s->count;
            const int gradient = item->dims > 1 ? IS_MATRIX : s->count >= LEAST_UNITS ? IS_VECTOR : IS_OUTPUT;
            const double row[WIDTH] = {[ZEROS] = slot == LOSSES ? assay_stats_mean(s) : share,
                                       [IS] = slot == LOSSES    ? IS_LOSS
                                              : slot == WEIGHTS ? IS_WEIGHT
                                                                : gradient,
                                       [IN_ROWS] = item->dims == 2 && item->shape[1] > 1 && s->zeros < s->count &&
                                                           s->zeros % (uint64_t)item->shape[1] == 0
                                                       ? (double)item->shape[1]
                                                       : 0};
            if (isfinite(row[ZEROS]))
                status = assay_series_add(((assay_common_state *)state)->series, view->step, item->tensor, item->worker,
                                          row);
        }
    return status;
}

/* One tensor and worker: rows [from, to) of the order, and its level at both ends. */
typedef struct course {
    uint64_t from, to, quarter;
    double begin, end;
    int is;
    bool by_figures; /* of which nothing is known but whether all is 0 */
    uint32_t worker;
} course;

/* What is known of a worker by all its courses. */
typedef struct judged {
    double first[KINDS], second[KINDS]; /* the largest two rises */
    double least;                       /* the smallest rise of those with one axis */
    uint32_t count[KINDS], learned;     /* courses; of losses, those that came down to loss_share */
    uint32_t zero, others; /* matrices whose gradient is 0 throughout; others that have a gradient at both ends */
    bool trained;          /* a matrix has a gradient, in the beginning and in the end */
} judged;

typedef struct walk {
    const assay_rule *rule;
    const assay_series *series;
    const uint64_t *order;
    assay_findings *findings;
    course *course;
    size_t courses;
    double *room;
    judged *judged; /* [workers], and one for rows of none */
    uint32_t workers;
} walk;

static judged *of_worker(const walk *w, uint32_t worker)
{
    return &w->judged[worker < w->workers ? worker : w->workers];
}

static double zeros_at(const walk *w, uint64_t i)
{
    return assay_series_row(w->series, w->order[i]).value[ZEROS];
}

static double level(const walk *w, uint64_t from, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        w->room[i] = zeros_at(w, from + i);
    return robust_median(w->room, count);
}

static void find_courses(walk *w)
{
    const uint64_t count = assay_series_count(w->series);
    for (uint64_t from = 0, to; from < count; from = to) {
        const assay_row first = assay_series_row(w->series, w->order[from]);
        for (to = from + 1; to < count; to++) {
            const assay_row row = assay_series_row(w->series, w->order[to]);
            if (row.tensor != first.tensor || row.worker != first.worker)
                break;
        }
        if (!(first.value[IS] >= 0 && first.value[IS] < KINDS))
            continue; /* of another rank's bytes */
        course c = {.from = from, .to = to, .quarter = (to - from) / 4, .is = (int)first.value[IS]};
        c.worker = first.worker;
        c.by_figures = first.value[BY_FIGURES] > 0;
        if (c.quarter < (uint64_t)assay_param_int(w->rule->params, "quarter"))
            continue;
        c.begin = level(w, from, c.quarter);
        c.end = level(w, to - c.quarter, c.quarter);
        w->course[w->courses++] = c;
    }
}

static bool is_zero_throughout(const walk *w, const course *c)
{
    bool zero = c->is == IS_MATRIX && c->begin == 1;
    for (uint64_t i = c->from; zero && i < c->to; i++)
        zero = zeros_at(w, i) == 1;
    return zero;
}

/* The largest rises of a worker's tensors of each kind, of which there are so many. */
static void note_rise(judged *of, const course *c)
{
    const double rise = fmax(0, c->end - c->begin), first = of->first[c->is];
    of->second[c->is] = fmax(of->second[c->is], fmin(first, rise));
    of->first[c->is] = fmax(first, rise);
    if (c->is == IS_VECTOR || c->is == IS_OUTPUT)
        of->least = of->count[IS_VECTOR] + of->count[IS_OUTPUT] == 0 ? rise : fmin(of->least, rise);
    of->count[c->is]++;
}

/* Goes through the courses once: what units that are dead, and weights that are pruned, may explain of the zeros of each
 * worker's gradients in the end is the sum of the largest two rises of each. */
static void judge_workers(const walk *w)
{
    const double share = assay_param_real(w->rule->params, "loss_share");
    for (size_t i = 0; i < w->courses; i++) {
        const course *c = &w->course[i];
        judged *of = of_worker(w, c->worker);
        note_rise(of, c);
        const bool reached = c->begin < 1 && c->end < 1;
        of->trained = of->trained || (c->is == IS_MATRIX && reached);
        of->zero += is_zero_throughout(w, c);
        of->others += (c->is == IS_VECTOR || c->is == IS_OUTPUT) && reached;
        of->learned += c->is == IS_LOSS && fabs(c->end) < share * fabs(c->begin);
    }
}

/* NAN: nothing has one axis, so that nothing is known of units. */
static double explained(const walk *w, uint32_t worker)
{
    const judged *of = of_worker(w, worker);
    const int units = of->count[IS_VECTOR] > 0 ? IS_VECTOR : IS_OUTPUT;
    const double pruned = of->first[IS_WEIGHT] + of->second[IS_WEIGHT];
    if (of->count[IS_VECTOR] + of->count[IS_OUTPUT] >= LEAST_GRADIENTS &&
        of->least > assay_param_real(w->rule->params, "rise"))
        return pruned;
    return of->count[units] > 0 ? of->first[units] + of->second[units] + pruned : (double)NAN;
}

/* Have none of its matrices a gradient, two at least, and others have? */
static bool has_biases_alone(const judged *of)
{
    return of->count[IS_MATRIX] > 1 && of->zero == of->count[IS_MATRIX] && of->others > 0;
}

/* No gradient ever reaches a part of the network (PART), or any of its matrices (WITHOUT_WEIGHTS). */
static int test_zero(const walk *w, const course *c, uint32_t which)
{
    const judged *of = of_worker(w, c->worker);
    const bool fires = which == PART ? is_zero_throughout(w, c) && of->trained : has_biases_alone(of);
    int status = ASSAY_OK;
    for (uint64_t i = c->from; status == ASSAY_OK && i < c->to; i++) {
        const assay_row row = assay_series_row(w->series, w->order[i]);
        const assay_finding finding = {.step = row.step,
                                       .tensor = row.tensor,
                                       .worker = row.worker,
                                       .test = which,
                                       .value = 100 * zeros_at(w, i),
                                       .threshold = 100};
        if (row.step >= w->rule->start_step)
            status = assay_findings_test(w->findings, fires, &finding);
    }
    return status;
}

/* Have all of its losses come down so far? */
static bool is_learned(const walk *w, uint32_t worker)
{
    const judged *of = of_worker(w, worker);
    return of->learned > 0 && of->learned == of->count[IS_LOSS];
}

/* Are all zeros those of whole rows, as of a table of which a batch feeds some, and not so many of narrow ones by chance? */
static bool is_in_rows(const walk *w, const course *c)
{
    static const double NO_CHANCE = 1000;
    double chance = 1; /* one in so many */
    for (uint64_t i = c->from; chance > 0 && i < c->to; i++)
        if (zeros_at(w, i) > 0 && zeros_at(w, i) < 1)
            chance = fmin(chance * assay_series_row(w->series, w->order[i]).value[IN_ROWS], NO_CHANCE);
    return chance >= NO_CHANCE;
}

static int test_course(const walk *w, const course *c)
{
    const double by = assay_param_real(w->rule->params, "rise") + explained(w, c->worker);
    const bool doubles = c->end > 2 * c->begin || 2 * (1 - c->end) < 1 - c->begin;
    const bool found =
        !c->by_figures && c->end - c->begin > by && doubles && !is_learned(w, c->worker) && !is_in_rows(w, c);
    uint64_t begin = c->to - c->quarter;
    int status = ASSAY_OK;
    while (begin > c->from && zeros_at(w, begin - 1) > (c->begin + c->end) / 2)
        begin--;
    for (uint64_t i = c->from; status == ASSAY_OK && i < c->to; i++) {
        const assay_row row = assay_series_row(w->series, w->order[i]);
        const bool fires = found && i >= begin;
        char note[NOTE_ROOM] = "";
        if (fires)
            snprintf(note, sizeof note, "%.2g %% in the beginning, %.2g %% in the end", 100 * c->begin, 100 * c->end);
        assay_finding finding = {.step = row.step,
                                 .tensor = row.tensor,
                                 .worker = row.worker,
                                 .test = RISES,
                                 .value = 100 * zeros_at(w, i),
                                 .threshold = 100 * (c->begin + by),
                                 .note = note};
        if (row.step >= w->rule->start_step)
            status = assay_findings_test(w->findings, fires, &finding);
    }
    return status;
}

static bool is_weight(const assay_trial *trial, uint32_t tensor)
{
    return !is_gradient(trial, tensor) && assay_trial_in_collection(trial, "weights", tensor);
}

/* Do all weights without a gradient belong to layers of which others of the same row have one? */
static int find_in_rows(const assay_trial *trial, bool *all)
{
    uint8_t *marks = calloc((size_t)assay_trial_tensors(trial) + 1, sizeof *marks);
    *all = marks != NULL;
    for (uint32_t t = 0; marks && t < assay_trial_tensors(trial); t++)
        marks[t] = is_weight(trial, t) && gradient_of_weight(trial, t) != ASSAY_NO_TENSOR;
    for (uint32_t t = 0; marks && t < assay_trial_tensors(trial); t++)
        *all = *all && (!is_weight(trial, t) || marks[t] || stands_in_row(trial, marks, 1, t, false));
    free(marks);
    return marks ? ASSAY_OK : ASSAY_ENOMEM;
}

/* Weights that the optimizer holds and no gradient ever reaches: one that nothing uses is usual, many are not, nor is a
 * layer of a row of like ones. The hook says how many; where others were frozen as well, which they are is not known. */
static int test_held(const walk *w)
{
    enum { PART_OF_ALL = 3 };
    const assay_trial *trial = w->rule->trial;
    const int64_t first = assay_trial_steps(trial) > 0 ? assay_trial_step(trial, 0)->step : 0;
    uint64_t weights = 0, without = 0, held = 0;
    uint32_t worker = ASSAY_ALL_WORKERS;
    int status = ASSAY_OK;
    for (uint64_t i = 0; i < assay_series_count(w->series); i++) { /* of the first worker that says so */
        const assay_row row = assay_series_row(w->series, i);
        worker = row.value[IS] == IS_HELD && worker == ASSAY_ALL_WORKERS ? row.worker : worker;
        held += row.value[IS] == IS_HELD && row.worker == worker ? (uint64_t)row.value[ZEROS] : 0;
    }
    for (uint32_t t = 0; t < assay_trial_tensors(trial); t++) {
        const bool weight = is_weight(trial, t);
        weights += weight;
        without += weight && gradient_of_weight(trial, t) == ASSAY_NO_TENSOR;
    }
    bool in_rows = false;
    if (held > 0 && held == without)
        status = find_in_rows(trial, &in_rows);
    const bool fires = held > 0 && held == without && (PART_OF_ALL * held >= weights || in_rows);
    for (uint32_t t = 0; status == ASSAY_OK && held > 0 && t < assay_trial_tensors(trial); t++) {
        const assay_finding finding = {.step = first,
                                       .tensor = t,
                                       .worker = worker,
                                       .test = HELD,
                                       .value_unit = 1,
                                       .value = (double)held,
                                       .threshold = (double)weights / PART_OF_ALL};
        if (is_weight(trial, t) && gradient_of_weight(trial, t) == ASSAY_NO_TENSOR && first >= w->rule->start_step)
            status = assay_findings_test(w->findings, fires, &finding);
    }
    return status;
}

/* Gradients that the hook saw added to those of the update before. */
static int test_kept(const walk *w)
{
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(w->series); i++) {
        const assay_row row = assay_series_row(w->series, i);
        const assay_finding finding = {.step = row.step,
                                       .tensor = row.tensor,
                                       .worker = row.worker,
                                       .test = KEPT,
                                       .value_unit = 2,
                                       .value = row.value[ZEROS]};
        if (row.value[IS] == IS_KEPT && row.step >= w->rule->start_step)
            status = assay_findings_test(w->findings, true, &finding);
    }
    return status;
}

/* What a worker has at one step, and since when its gradients are all zero. */
typedef struct silence {
    uint32_t gradients, zero;
    bool loss;          /* it has one that is not next to nothing */
    double first_loss;  /* NaN: none so far */
    uint64_t steps;     /* in a row, to the end */
    uint64_t all, most; /* steps since `since`, and how many of them are silent */
    int64_t since;
} silence;

static bool is_of_gradient(assay_row row)
{
    return row.value[IS] == IS_MATRIX || row.value[IS] == IS_VECTOR || row.value[IS] == IS_OUTPUT;
}

static void end_step(silence *list, uint32_t workers, int64_t step)
{
    for (uint32_t k = 0; k < workers; k++) {
        silence *s = &list[k];
        const bool silent = s->gradients >= LEAST_GRADIENTS && s->zero == s->gradients && s->loss;
        if (s->gradients > 0) {
            if (4 * s->most < 3 * s->all)
                s->all = s->most = 0;
            s->since = silent && s->all == 0 ? step : s->since;
            s->all += silent || s->all > 0;
            s->most += silent;
            s->steps = silent ? s->steps + 1 : 0;
        }
        s->gradients = s->zero = 0;
        s->loss = false;
    }
}

/* Sets since when, and for how many saved steps to the end, the gradients of each worker are all zero. */
static void find_silence(const walk *w, silence *list, uint32_t workers)
{
    const uint64_t count = assay_series_count(w->series);
    for (uint32_t k = 0; k < workers; k++)
        list[k].first_loss = NAN;
    for (uint64_t i = 0; i < count; i++) {
        const assay_row row = assay_series_row(w->series, i);
        silence *s = row.worker < workers ? &list[row.worker] : NULL;
        if (s && is_of_gradient(row)) {
            s->gradients++;
            s->zero += row.value[ZEROS] == 1;
        } else if (s && row.value[IS] == IS_LOSS) {
            s->first_loss = isnan(s->first_loss) ? fabs(row.value[ZEROS]) : s->first_loss;
            s->loss = s->loss || fabs(row.value[ZEROS]) > NO_LOSS * s->first_loss;
        }
        if (i + 1 == count || assay_series_row(w->series, i + 1).step != row.step)
            end_step(list, workers, row.step);
    }
}

static int test_silence(const walk *w)
{
    const uint64_t least = (uint64_t)assay_param_int(w->rule->params, "quarter"), count = assay_series_count(w->series);
    const uint32_t workers = assay_trial_workers(w->rule->trial);
    silence *list = calloc((size_t)workers + 1, sizeof *list);
    int status = list ? ASSAY_OK : ASSAY_ENOMEM;
    if (list)
        find_silence(w, list, workers);
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        const assay_row row = assay_series_row(w->series, i);
        if (!is_of_gradient(row) || row.worker >= workers || row.step < w->rule->start_step)
            continue;
        const silence *s = &list[row.worker];
        const assay_finding finding = {.step = row.step,
                                       .tensor = row.tensor,
                                       .worker = row.worker,
                                       .test = ALL,
                                       .value = 100 * row.value[ZEROS],
                                       .threshold = 100};
        status = assay_findings_test(w->findings, s->steps >= least && row.step >= s->since && row.value[ZEROS] == 1,
                                     &finding);
    }
    free(list);
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    const uint64_t count = assay_series_count(series);
    uint64_t *order = assay_series_by_tensor(series);
    walk w = {.rule = rule, .series = series, .order = order, .findings = assay_verdict_findings(verdict)};
    w.workers = assay_trial_workers(rule->trial);
    w.judged = calloc((size_t)w.workers + 1, sizeof *w.judged);
    w.course = calloc(count + 1, sizeof *w.course);
    w.room = calloc(count + 1, sizeof *w.room);
    int status = w.course && w.room && w.judged && (order || count == 0) ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK) {
        find_courses(&w);
        judge_workers(&w);
    }
    if (status == ASSAY_OK && count > 0)
        status = test_silence(&w);
    ASSAY_THEN(status, test_held(&w));
    ASSAY_THEN(status, test_kept(&w));
    double most = NAN;
    for (size_t i = 0; status == ASSAY_OK && i < w.courses; i++) {
        const course *c = &w.course[i];
        if (c->is == IS_MATRIX)
            status = test_zero(&w, c, PART);
        if (status == ASSAY_OK && c->is == IS_MATRIX)
            status = test_zero(&w, c, WITHOUT_WEIGHTS);
        if (status != ASSAY_OK || c->is != IS_MATRIX || isnan(explained(&w, c->worker)))
            continue;
        most = isnan(most) ? c->end - c->begin : fmax(most, c->end - c->begin);
        status = test_course(&w, c);
    }
    if (!isnan(most))
        assay_put_format(assay_verdict_json(verdict), "\"largest_rise\": %.17g", most);
    free(order);
    free(w.course);
    free(w.room);
    free(w.judged);
    assay_verdict_no_data(verdict,
                          "no gradient of weights, beside one of a bias or a normalisation, was saved at eight "
                          "steps of TRAIN.");
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "out of memory");
}

static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    return reason_few_steps(rule, ASSAY_MODE_TRAIN, 4 * (uint64_t)assay_param_int(rule->params, "quarter"),
                            " of a gradient", out);
}

const assay_rule_ops assay_rule_gradient_underflow = {
    ASSAY_RULE_HEAD,
    .name = "GradientUnderflow",
    .summary = "Gradients of which ever more elements are exactly zero, without dead units that explain it.",
    .advice = "Gradients that are too small for their format become zero: raise the loss scale, or take bfloat16.",
    .remedies = ASSAY_TEXTS("Raise the loss scale, or let a scaler adapt it; bfloat16 needs none.",
                            "Keep gradients in float32 where they are accumulated."),
    .params = params,
    .tests = ASSAY_TEXTS("all", "held", "kept", "part", "rises", "weights"),
    .traits = ASSAY_RULE_LOOKS_BACK,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("% of the elements are 0", "weights without a gradient", "update(s) in a row"),
    .sentences =
        ASSAY_TEXTS([ALL] = "all gradients{of} are exactly zero at {when}, though the loss is not",
                    [HELD] = "{tensor}{of} never got a gradient, although the optimizer has it",
                    [KEPT] = "gradients{of} were not cleared before they were added to at {when}",
                    [PART] = "{tensor}{of} is exactly zero at all saved steps, seen at {when}",
                    [RISES] = "ever more elements of {tensor}{of} are exactly zero, seen at {when}{note}",
                    [WITHOUT_WEIGHTS] =
                        "{tensor}{of} is exactly zero at all saved steps, as that of every weight, seen at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
    .reason = reason,
};
