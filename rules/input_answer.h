/* input_answer.h - InputData's tests of losses against what they would be without any learning: that of one constant
 * answer, and that of evaluation against itself.
 *
 * One answer for all rows that fits them best has for loss the variance of the targets (MSELoss), the entropy of the
 * shares of classes (CrossEntropyLoss), or that of the mean target (BCEWithLogitsLoss). What has learned anything of the
 * inputs is below it.
 *
 * A training that is short or noisy may lie there without a fault, and so do players that are even: nothing is said before
 * ANSWER_SPAN steps, where the mean of the loss is not known to ANSWER_NOISE, of targets that are made and not drawn, whose sum is
 * the same at most steps (an adversary's, the pairs of a batch), nor where targets of MSELoss are others in the end than in the
 * beginning, as returns of a policy are. */
#pragma once

#include <math.h>
#include <string.h>

#include "input_labels.h"

#define ANSWER_LEAST 0.99 /* of the loss of a constant: what is learned beside it is next to nothing */
#define ANSWER_MOST  1.2  /* beyond that it is worse, which has other reasons, or the loss is weighed */
#define ANSWER_GAIN  0.01 /* from the third quarter to the last: it has just begun to learn */
#define ANSWER_NOISE 0.02 /* of the loss of a constant: the largest standard error of the mean in the second half */
#define ANSWER_DRIFT                                                                                                   \
    0.3 /* of the deviation of targets: the most that their mean moves; of the variance: that it grows */
#define STANDS_NEAR                                                                                                    \
    1e-3                /* of a loss: less than any network that learns changes it by from one evaluation to the next */
#define STANDS_FALL 0.9 /* the level of training in its last quarter, of that in its first */

enum {
    ANSWER_STEPS = 20,
    ANSWER_SPAN = 100,
    STANDS_LEAST = 3,
    STANDS_MOST = 1024 /* losses of one evaluation: with each period all are gone through */
};

/* The entropy of the TRAIN labels of a tensor, all workers together; NaN: they are no classes. */
static inline double entropy_of(const walk *w, uint32_t tensor)
{
    const int64_t key = (int64_t)tensor * ASSAY_MODES + ASSAY_MODE_TRAIN;
    const double all = (double)labels_of(w->labels, tensor, ASSAY_MODE_TRAIN);
    double entropy = 0;
    for (uint64_t i = 0; i < assay_counter_size(w->labels); i++) {
        int64_t class, of;
        uint64_t count;
        assay_counter_get(w->labels, i, &class, &of, &count);
        if (of == key && count > 0)
            entropy -= (double)count / all * log((double)count / all);
    }
    return all > 0 ? entropy : (double)NAN;
}

/* The targets of a worker's loss: where the rows of LOSS_input_1 begin in the order; w->count: there are none. */
static inline uint64_t targets_beside(const walk *w, uint64_t loss)
{
    const assay_trial *trial = w->rule->trial;
    const assay_row first = assay_series_row(w->series, w->order[loss]);
    const char *name = assay_trial_tensor(trial, first.tensor), *end = strstr(name, "_output_0");
    for (uint64_t i = 0, next; end && i < w->count; i = next) {
        const assay_row row = assay_series_row(w->series, w->order[i]);
        const char *other = row.value[IS] == LABEL ? assay_trial_tensor(trial, row.tensor) : "";
        next = tensor_end(w, i);
        if (strncmp(other, name, (size_t)(end - name)) != 0 || strcmp(other + (end - name), "_input_1") != 0)
            continue;
        const uint64_t at = begin_of(w, i, next, first.worker);
        return at < next ? at : w->count;
    }
    return w->count;
}

/* Sums over the steps of a quarter. */
typedef struct answers {
    double loss, steps, count, sum, squares;
    double beyond, beyond_squares; /* of the loss over that of the step's own constant */
    bool shares;                   /* all targets lie from 0 to 1 */
} answers;

static inline double constant_of(const answers *a, const char *name, double entropy)
{
    const double mean = a->sum / a->count;
    if (strstr(name, "MSELoss"))
        return a->squares / a->count - mean * mean;
    if (strstr(name, "BCEWithLogitsLoss"))
        return a->shares && mean > 0 && mean < 1 ? -mean * log(mean) - (1 - mean) * log(1 - mean) : (double)NAN;
    return entropy;
}

static inline void add_answer(answers *a, double loss, const double *targets, const char *name)
{
    const answers step = {.count = targets[COUNT],
                          .sum = targets[SUM],
                          .squares = targets[SQUARES],
                          .shares = targets[LEAST] >= 0 && targets[LARGEST] <= 1};
    const double own = constant_of(&step, name, 0), beyond = loss - (isfinite(own) ? own : 0);
    a->loss += loss;
    a->steps++;
    a->count += step.count;
    a->sum += step.sum;
    a->squares += step.squares;
    a->beyond += beyond;
    a->beyond_squares += beyond * beyond;
    a->shares = a->shares && step.shares;
}

/* The standard error of the mean loss of two quarters. */
static inline double noise_of(const answers *a, const answers *b)
{
    const double n = a->steps + b->steps, mean = (a->beyond + b->beyond) / n;
    return sqrt(fmax(0, (a->beyond_squares + b->beyond_squares) / n - mean * mean) / n);
}

/* Are the targets of the last quarter others than those of the first? */
static inline bool has_drifted(const answers *first, const answers *last)
{
    const double mean = first->sum / first->count, now = last->sum / last->count,
                 variance = first->squares / first->count - mean * mean,
                 variance_now = last->squares / last->count - now * now;
    return fabs(now - mean) > ANSWER_DRIFT * sqrt(fmax(0, variance)) ||
           fabs(variance_now - variance) > ANSWER_DRIFT * fmax(variance, variance_now);
}

/* A loss [from, to) of one worker, the only one of its network, in the second half of training. */
static inline int test_answer(const walk *w, uint64_t from, uint64_t to)
{
    const assay_row first = assay_series_row(w->series, w->order[from]);
    const char *name = assay_trial_tensor(w->rule->trial, first.tensor);
    const bool classes = strncmp(name, "CrossEntropyLoss", 16) == 0;
    const uint64_t targets = targets_beside(w, from);
    uint64_t steps = 0, seen = 0, begin = to, as_first = 0;
    int64_t start = 0, end = 0;
    answers quarter[4] = {{.shares = true}, {.shares = true}, {.shares = true}, {.shares = true}};
    if (!(classes || strncmp(name, "MSELoss", 7) == 0 || strncmp(name, "BCEWithLogitsLoss", 17) == 0) ||
        targets == w->count || !is_only_loss(w, targets))
        return ASSAY_OK;
    for (uint64_t i = from; i < to; i++)
        if (in_mode(w, i, ASSAY_MODE_TRAIN)) {
            end = assay_series_row(w->series, w->order[i]).step;
            start = steps++ == 0 ? end : start;
        }
    if (steps < ANSWER_STEPS || end - start + 1 < ANSWER_SPAN)
        return ASSAY_OK;
    const assay_row label = assay_series_row(w->series, w->order[targets]);
    for (uint64_t i = from, k = targets; i < to; i++) {
        const assay_row row = assay_series_row(w->series, w->order[i]);
        if (!in_mode(w, i, ASSAY_MODE_TRAIN))
            continue;
        answers *a = &quarter[4 * seen++ / steps];
        begin = begin == to && 2 * seen > steps ? i : begin;
        for (; k < w->count; k++) {
            const assay_row other = assay_series_row(w->series, w->order[k]);
            if (other.tensor != label.tensor || other.worker != label.worker || other.step >= row.step)
                break;
        }
        const assay_row other = assay_series_row(w->series, w->order[k < w->count ? k : targets]);
        if (other.tensor != label.tensor || other.worker != label.worker || other.step != row.step)
            return ASSAY_OK;
        add_answer(a, row.value[SUM], other.value, name);
        as_first += other.value[SUM] == label.value[SUM];
    }
    if (2 * as_first > steps || (strstr(name, "MSELoss") && has_drifted(&quarter[0], &quarter[3])))
        return ASSAY_OK;
    const double entropy = classes ? entropy_of(w, label.tensor) : (double)NAN;
    double part[2] = {NAN, NAN};
    for (int i = 0; i < 2; i++) {
        const answers *a = &quarter[2 + i];
        const double constant = constant_of(a, name, entropy), scale = a->squares / a->count;
        part[i] = constant > 1e-9 * (classes ? 1 : scale) ? a->loss / a->steps / constant : (double)NAN;
    }
    const double constant = constant_of(&quarter[3], name, entropy);
    const bool fires = noise_of(&quarter[2], &quarter[3]) <= ANSWER_NOISE * constant && part[0] >= ANSWER_LEAST &&
                       part[1] >= ANSWER_LEAST && part[0] <= ANSWER_MOST && part[1] <= ANSWER_MOST &&
                       part[0] - part[1] < ANSWER_GAIN;
    char note[NOTE_ROOM];
    snprintf(note, sizeof note, "%.4g in the last quarter, and %s is %.4g", quarter[3].loss / quarter[3].steps,
             classes                   ? "the entropy of the labels"
             : strstr(name, "MSELoss") ? "the variance of the targets"
                                       : "the entropy of the targets",
             constant);
    int status = ASSAY_OK;
    for (uint64_t i = begin; status == ASSAY_OK && isfinite(part[1]) && i < to; i++)
        if (in_mode(w, i, ASSAY_MODE_TRAIN))
            status = test(w, i, ANSWER, fires, part[1], ANSWER_LEAST, note);
    return status;
}

/* Is the loss of each evaluation, number by number, that of the first but for `share` of it? Each has `p`. */
static inline bool repeats(const double *eval, uint64_t n, uint64_t p, double share)
{
    bool same = n >= STANDS_LEAST * p;
    for (uint64_t i = p; same && i < n; i++)
        same = fabs(eval[i] - eval[i % p]) <= share * fabs(eval[i % p]);
    return same;
}

/* How many losses an evaluation has, of which each stands but for `share` of it; 0: they do not stand. */
static inline uint64_t standing(const double *eval, uint64_t n, double share)
{
    for (uint64_t period = 1; period <= STANDS_MOST && period * STANDS_LEAST <= n; period++)
        if (repeats(eval, n, period, share))
            return period;
    return 0;
}

/* A loss [from, to) of one worker: that of evaluation stands, to the last digit or next to it, and that of training falls. */
static inline int test_stands(const walk *w, uint64_t from, uint64_t to)
{
    enum { PART = 4 };
    uint64_t n = 0, train = 0, phases = 0, seen = 0;
    bool evaluated = false;
    for (uint64_t i = from; i < to; i++) {
        const bool eval = row_of(w, i)[MODE] == ASSAY_MODE_EVAL;
        if (eval)
            w->room[n++] = row_of(w, i)[SUM];
        train += in_mode(w, i, ASSAY_MODE_TRAIN);
        phases += eval && !evaluated && train > 0;
        evaluated = eval;
    }
    const uint64_t exactly = standing(w->room, n, 0),
                   period = exactly > 0 ? exactly : standing(w->room, n, STANDS_NEAR);
    if (period == 0 || phases < STANDS_LEAST || train < 2 * PART)
        return ASSAY_OK;
    const double value = w->room[0];
    double sum[2] = {0};
    for (uint64_t i = from; i < to; i++) {
        if (!in_mode(w, i, ASSAY_MODE_TRAIN))
            continue;
        sum[0] += seen < train / PART ? row_of(w, i)[SUM] : 0;
        sum[1] += seen >= train - train / PART ? row_of(w, i)[SUM] : 0;
        seen++;
    }
    const bool fires = value != 0 && sum[0] > 0 && sum[1] < STANDS_FALL * sum[0];
    char note[NOTE_ROOM];
    snprintf(note, sizeof note, "%.6g%s at all %llu of them%s", value, period > 1 ? " and so on" : "",
             (unsigned long long)(n / period), exactly > 0 ? " to the last digit" : " but for less than a thousandth");
    int status = ASSAY_OK;
    for (uint64_t i = from, k = 0; status == ASSAY_OK && i < to; i++)
        if (row_of(w, i)[MODE] == ASSAY_MODE_EVAL && k++ >= period)
            status = test(w, i, STANDS, fires, row_of(w, i)[SUM], value, note);
    return status;
}
