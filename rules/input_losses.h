/* input_losses.h - InputData's tests of what losses are given, and of the losses that come of it. */
#ifndef ASSAY_RULES_INPUT_LOSSES_H
#define ASSAY_RULES_INPUT_LOSSES_H

#include <ctype.h>
#include <string.h>

#include "input_rows.h"

#define SHARE_CLOSE 1e-4 /* of a softmax in single precision */
#define SHARE_APART 0.01

#define SHARES_OF_BATCH "columns of the batch that sum to 1"

enum { STATISTICS_CLASSES = 200, STATISTICS_STEPS = 20 };

/* Of scores of which statistics alone are known: is the mean that of so many shares that sum to 1? */
static inline bool has_mean_of_shares(const double *row)
{
    const double classes = round(1 / row[SUM]);
    return classes > 1 && classes <= STATISTICS_CLASSES && fabs(row[SUM] * classes - 1) < SHARE_CLOSE;
}

/* Cross entropy: rows that sum to 1, or columns of a batch that do. Of two classes with logits: numbers within 0 and 1 alone. Likelihood: logarithms
 * of probabilities are not above 0. */
static inline const char *is_wrong_score(const double *row)
{
    const double sum = row[CLASSES] > 1 ? row[SUM] * row[CLASSES] / row[COUNT] : 0;
    const bool statistics = is_of_statistics(row);
    if (row[FLOAT] == 0 || row[LEAST] == row[LARGEST] || (row[COUNT] < LEAST_ELEMENTS && !statistics))
        return NULL;
    if (row[IS] == CROSS_ENTROPY && row[LEAST] >= 0 && row[LARGEST] <= 1.0001 &&
        (statistics ? has_mean_of_shares(row) : fabs(sum - 1) < SHARE_CLOSE))
        return "rows that sum to 1";
    if (row[IS] == CROSS_ENTROPY && !statistics && row[LEAST] >= 0 && row[LARGEST] <= 1.0001 && row[ROWS] > 1 &&
        row[CLASSES] > 1 && fabs(row[SUM] * row[ROWS] / row[COUNT] - 1) < SHARE_CLOSE)
        return SHARES_OF_BATCH;
    if (row[IS] == BINARY_LOGITS && row[LEAST] >= 0 && row[LARGEST] <= 1)
        return "numbers from 0 to 1";
    return row[IS] == LOG_LIKELIHOOD && row[LARGEST] > 0.001 ? "numbers above 0, which no logarithm of a probability is"
                                                             : NULL;
}

/* No loss means every pair of an output and a target. */
static inline int test_shapes(const walk *w, uint64_t from, uint64_t to)
{
    int status = ASSAY_OK;
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        const double times = row_of(w, i)[STRETCHED];
        char note[NOTE_ROOM];
        snprintf(note, sizeof note, "each output is compared with %.0f targets", times);
        if (times > 0)
            status = test(w, i, SHAPE, times > 1, times, 1, note);
    }
    return status;
}

/* At all steps at which it was finite, and at num_steps of them at least, or STATISTICS_STEPS where nothing says how many
 * elements there are; of logarithms of probabilities one above 0 is proof, and half of the steps are enough. */
static inline int test_scores(const walk *w, uint64_t from, uint64_t to)
{
    int64_t least = assay_param_int(w->rule->params, "num_steps"), wrong = 0, finite = 0;
    int status = ASSAY_OK;
    if (row_of(w, from)[IS] == ELEMENTWISE)
        return test_shapes(w, from, to);
    for (uint64_t i = from; i < to; i++) {
        wrong += is_wrong_score(row_of(w, i)) != NULL;
        finite += isfinite(row_of(w, i)[SUM]);
    }
    const bool logarithms = row_of(w, from)[IS] == LOG_LIKELIHOOD;
    if (!logarithms && is_of_statistics(row_of(w, from)) && least < STATISTICS_STEPS)
        least = STATISTICS_STEPS;
    least = logarithms && finite < least ? finite : least;
    const bool fires = wrong >= least && (logarithms ? 2 * wrong >= finite : wrong == finite);
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        const char *note = is_wrong_score(row_of(w, i));
        status = test(w, i, PROBABILITIES, fires && note, (double)wrong, (double)least, note);
    }
    return status;
}

/* A loss of another kind that falls below zero without end: at its last steps by so many times more than it ever was in
 * the first quarter, and far more than at half of them. */
static inline int test_falls(const walk *w, uint64_t from, uint64_t to)
{
    enum { ENOUGH = 20, LAST = 5 };
    static const double TIMES = 100, LEAST_LOSS = 1000, MORE = 2;
    uint64_t steps = 0, seen = 0;
    double most = 0, middle = 0, first = NAN, end[LAST] = {0};
    int status = ASSAY_OK;
    for (uint64_t i = from; i < to; i++)
        steps += in_mode(w, i, ASSAY_MODE_TRAIN);
    for (uint64_t i = from; i < to; i++) {
        const double loss = row_of(w, i)[SUM];
        if (!in_mode(w, i, ASSAY_MODE_TRAIN))
            continue;
        first = isnan(first) ? loss : first;
        most = 4 * seen < steps ? fmax(most, fabs(loss)) : most;
        middle = 2 * seen < steps ? fmax(middle, -loss) : middle;
        end[seen++ % LAST] = loss;
    }
    const double last = robust_median(end, LAST);
    const bool falls =
        steps >= ENOUGH && last < -LEAST_LOSS && -last > TIMES * most && -last > MORE * middle && most > 0;
    for (uint64_t i = from; status == ASSAY_OK && steps >= ENOUGH && i < to; i++) {
        const double loss = row_of(w, i)[SUM];
        char note[NOTE_ROOM];
        if (!in_mode(w, i, ASSAY_MODE_TRAIN))
            continue;
        snprintf(note, sizeof note, "it has no lower bound and falls without end, from %.3g to %.3g", first, last);
        status = test(w, i, BOUNDS, falls && -loss > most, loss, -TIMES * most, note);
    }
    return status;
}

/* Of a loss or its targets, by the kind that its name ends with: none of these kinds is below 0, given what it is made
 * for, and the targets of a binary one are shares. */
static inline int test_bounds(const walk *w, uint64_t from, uint64_t to)
{
    static const char *const kinds[] = {"CrossEntropyLoss", "BCEWithLogitsLoss", "BCELoss", "MSELoss",
                                        "SmoothL1Loss",     "HuberLoss",         "L1Loss"};
    const char *name = assay_trial_tensor(w->rule->trial, assay_series_row(w->series, w->order[from]).tensor),
               *at = NULL;
    const bool loss = row_of(w, from)[IS] == LOSS;
    for (size_t i = 0; !at && i < sizeof kinds / sizeof *kinds; i++) {
        at = strstr(name, kinds[i]);
        at = at && (at == name || !isalpha((unsigned char)at[-1])) && (loss || kinds[i][0] == 'B') ? at : NULL;
    }
    int status = loss && !at ? test_falls(w, from, to) : ASSAY_OK;
    for (uint64_t i = from; at && status == ASSAY_OK && i < to; i++) {
        const double *row = row_of(w, i), least = loss ? row[SUM] : row[LEAST];
        const bool beyond = least < 0 || (!loss && row[LARGEST] > 1);
        char note[NOTE_ROOM];
        if (loss)
            snprintf(note, sizeof note, "a loss of %.3g, of a kind that is never below 0 for what it is made for",
                     least);
        else
            snprintf(note, sizeof note, "targets from %.3g to %.3g where 0 to 1 belong", least, row[LARGEST]);
        status = test(w, i, BOUNDS, beyond, beyond && least >= 0 ? row[LARGEST] : least, least < 0 ? 0 : 1, note);
    }
    return status;
}

/* Targets of a loss that takes signs, -1 and 1: are some 0, and none ever below? */
static inline int test_signs(const walk *w, uint64_t from, uint64_t to)
{
    const char *name = assay_trial_tensor(w->rule->trial, assay_series_row(w->series, w->order[from]).tensor);
    const int64_t least = assay_param_int(w->rule->params, "num_steps");
    int64_t zeros = 0;
    int status = ASSAY_OK;
    if (strncmp(name, "SoftMarginLoss_input_1", 22) != 0 && strncmp(name, "HingeEmbeddingLoss_input_1", 26) != 0)
        return ASSAY_OK;
    for (uint64_t i = from; i < to; i++) {
        if (!(row_of(w, i)[LEAST] >= 0))
            return ASSAY_OK;
        zeros += row_of(w, i)[LEAST] == 0;
    }
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        char note[NOTE_ROOM];
        snprintf(note, sizeof note, "targets from 0 to %.3g where -1 and 1 belong", row_of(w, i)[LARGEST]);
        status = test(w, i, BOUNDS, zeros >= least && row_of(w, i)[LEAST] == 0, 0, -1, note);
    }
    return status;
}

/* The row of the tensor called KLDivLoss_NAME of a worker and step; NULL: there is none. */
static inline const double *divergence_row(const walk *w, const char *name, assay_row at)
{
    for (uint64_t i = 0; i < w->count; i++) {
        const assay_row row = assay_series_row(w->series, i);
        if (row.step == at.step && row.worker == at.worker &&
            strcmp(assay_trial_tensor(w->rule->trial, row.tensor), name) == 0)
            return row.value;
    }
    return NULL;
}

/* Targets of a divergence that are logarithms, where it takes them for probabilities: it is not a number then, though all
 * that it is given is finite. A divergence that is told of logarithms is finite. */
static inline int test_logarithms(const walk *w, uint64_t from, uint64_t to)
{
    const assay_trial *trial = w->rule->trial;
    bool recorded = false;
    if (strcmp(assay_trial_tensor(trial, assay_series_row(w->series, w->order[from]).tensor), "KLDivLoss_input_1") != 0)
        return ASSAY_OK;
    for (uint32_t t = 0; !recorded && t < assay_trial_tensors(trial); t++)
        recorded = strcmp(assay_trial_tensor(trial, t), "KLDivLoss_output_0") == 0;
    for (uint64_t i = from; recorded && i < to; i++) {
        const assay_row row = assay_series_row(w->series, w->order[i]);
        const double *scores = divergence_row(w, "KLDivLoss_input_0", row);
        char note[NOTE_ROOM];
        snprintf(note, sizeof note, "targets from %.3g to %.3g, which are logarithms, where probabilities belong",
                 row.value[LEAST], row.value[LARGEST]);
        if (isfinite(row.value[SUM]) && row.value[LEAST] < 0 && scores && isfinite(scores[SUM]))
            return test(w, i, BOUNDS, !divergence_row(w, "KLDivLoss_output_0", row), row.value[LEAST], 0, note);
    }
    return ASSAY_OK;
}

/* Targets of a cross entropy that are shares of classes, one for each score: is it at all steps that those of a row sum
 * to one number, which is not 1? Sums that differ are numbers of tags. */
static inline int test_shares(const walk *w, uint64_t from, uint64_t to)
{
    const char *name = assay_trial_tensor(w->rule->trial, assay_series_row(w->series, w->order[from]).tensor);
    const int64_t least = assay_param_int(w->rule->params, "num_steps");
    int64_t steps = 0;
    double lowest = INFINITY, highest = -INFINITY;
    int status = ASSAY_OK;
    for (uint64_t i = from; i < to; i++) {
        const double *row = row_of(w, i);
        if (row[FLOAT] == 0 || row[LEAST] < 0 || row[CLASSES] < 2 || row[COUNT] != row[ROWS] * row[CLASSES])
            return ASSAY_OK;
        lowest = fmin(lowest, row[SUM] / row[ROWS]);
        highest = fmax(highest, row[SUM] / row[ROWS]);
        steps++;
    }
    const bool fires =
        steps >= least && highest - lowest < SHARE_CLOSE && fabs(highest - 1) > SHARE_APART && highest > 0;
    for (uint64_t i = from; status == ASSAY_OK && strstr(name, "CrossEntropyLoss_input_1") && i < to; i++) {
        char note[NOTE_ROOM];
        snprintf(note, sizeof note, "the shares of classes in a row of the targets sum to %.4g, not to 1", highest);
        status = test(w, i, BOUNDS, fires, highest, 1, note);
    }
    return status;
}

#endif
