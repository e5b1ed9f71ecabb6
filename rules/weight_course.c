/* weight_course.c - WeightCourse: weights that jump, are overwritten by their updates, grow without end, or
 * shrink away. docs/rules/WeightCourse.md.
 *
 * For each weight and worker, over its saved TRAIN steps (all steps where it has none): r = |W_s - W_p| / |W_p|, p the
 * saved step before, `gap` mode steps earlier.
 *
 *   jump     r > jump / sqrt(gap) times the median of the WINDOW values before, BEYOND times at least, r > BEYOND times
 *            all of them, r > LEAST_JUMP; where fewer than LEAST_BEFORE are before, r > FAR_JUMP as well; and it is
 *            no pruning. Not of weights of one element, as the slope of a PReLU: it may come past zero, nor `large`
 *   large    r > large * gap^CANCELS: updates of several steps partly cancel; of weights whose root mean square is not next to nothing; not of weights without a
 *            gradient beside others that have one: no optimizer moves them, but the program, as a mean of others
 *            Nor of the first pair of saved steps, where the loss is lower behind it and is learned in the end: what begins small finds its size.
 *            At the first update FIRST_LARGE is enough, where it is so of half of the worker's weights with two axes or
 *            more and the loss right behind it is FIRST_RISE times what it was
 *   shrunk   of weights with two axes or more: |W_s| < HALF of the first ones, where the last is below `shrunk` of
 *            them, and so it is for two of three such weights of the worker; likewise of those with one axis, the gains
 *            of normalisations, where there are two or more
 *   grown    of weights with two axes or more: |W_s| > GREW times the first, where the last is `grown` times it or more,
 *            and so it is for two of three such weights of the worker, of which no update was `large`
 *            Of one weight alone: REMAINS of it, not by zeros; FAR_BEYOND times, which no update overwrote
 *   slow     of weights with two axes or more: r was never above SLOWEST a mode step, for none of the worker
 *
 * Of weights of which statistics alone were recorded, figures.h says what r is at least, and about what it is at most:
 * jump and large take the former, and hold it against the latter of the steps before; slow takes the latter.
 *
 * What an optimizer does changes slowly from step to step; what is set from outside does not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "gradients.h"
#include "robust.h"
#include "selection.h"
#include "too_few.h"

enum { GROWN, JUMP, LARGE, SHRUNK, SLOW };
static const char *const tests[] = {"grown", "jump", "large", "shrunk", "slow", NULL};
/* Values of a row; RATIO NaN: no step before, WAY: what RATIO is at most, as far as is known. Of rows of statistics both
 * come from FIGURE, those of the row before, and from STEP. */
enum { RATIO, WAY, GAP, NORM, TINY, ZEROS, MATRIX, VECTOR, BY_FIGURES, STEP, FIGURE, WIDTH = FIGURE + FIGURES };
enum { IS_LOSS = -1 }; /* as MATRIX: NORM is its mean, GAP its mode step */
enum { WINDOW = 20, LEAST_BEFORE = 4, FIRST = 3, NOTE_ROOM = 96 };
#define BEYOND      5.0
#define LEAST_JUMP  0.1
#define FAR_JUMP    3.0
#define CANCELS     0.6
#define FIRST_LARGE 0.5
#define FIRST_RISE  1.5
#define SLOWEST     5e-7 /* rounding alone makes 1e-7 of a smaller update */
#define HALF        0.5
#define GREW        5.0  /* what is learned seldom makes a norm four times as large */
#define FAR_BEYOND  1e3  /* and of one weight alone none makes it so much larger */
#define REMAINS     0.01 /* or leaves so little of it */
#define PRUNED      0.05 /* of the elements become zero */
#define LOST        0.25 /* of the squares that are missing: updates of the rest */
#define LEARNED     0.5  /* of what a loss was at first */
#define HARDLY      0.03 /* of the norm, in all: no training of a network from its beginning */
#define NOTHING     1e-3 /* root mean square of weights that begin as zeros, or nearly */

static const assay_param_def params[] = {
    ASSAY_REAL_PARAM("jump", "30", 1, 1e308, "An update fires that is so many times the usual one."),
    ASSAY_REAL_PARAM("large", "2", 0, 1e308,
                     "And one that changes a weight by so many times its own norm in one step."),
    ASSAY_REAL_PARAM("shrunk", "0.1", 0, 1, "And weights of which less than this share of their first norm is left."),
    ASSAY_REAL_PARAM("grown", "20", 1, 1e308, "And weights that come to so many times their first norm."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    /* as UnchangedTensor of the built-in set asks for it, so that it is measured once */
    const assay_measure change = {.kind = ASSAY_MEASURE_CHANGE,
                                  .reference = ASSAY_REFERENCE_SAVED_BEFORE,
                                  .steps = 1,
                                  .train_only = 1,
                                  .figures = ASSAY_CHANGE_MOVED};
    int slot = assay_need_slot(need,
                               &(assay_slot){.collection = "weights",
                                             .kinds = 1u << ASSAY_RAW | FIGURES_KINDS,
                                             .flags = ASSAY_SLOT_NO_STRINGS},
                               err);
    int number = slot < 0 ? slot : assay_need_measure(need, slot, &change, err);
    int status = number < 0 ? number : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
    if (status < 0)
        return status;
    slot = assay_need_slot(
        need, &(assay_slot){.collection = "losses", .modes = 1u << ASSAY_MODE_TRAIN, .flags = ASSAY_SLOT_NO_STRINGS},
        err);
    return slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
}

static void set_ratio(const assay_rule *rule, const assay_step_view *view, const assay_tensor_view *item, double *row)
{
    const assay_result *result = assay_view_result(view, 0, item);
    row[RATIO] = row[WAY] = NAN;
    row[GAP] = 1;
    if (!result || !result->of.change.found || !result->of.change.same_shape)
        return;
    const assay_change *c = &result->of.change;
    const assay_step_info *before = assay_trial_step(rule->trial, assay_trial_find_step(rule->trial, c->step));
    const double reference = sqrt(c->reference_squares);
    row[RATIO] = row[WAY] = reference > 0 ? sqrt(c->squares) / reference : (double)NAN;
    row[TINY] = reference < NOTHING * sqrt((double)item->stats->count);
    if (before && before->mode == view->mode && view->mode_step > before->mode_step)
        row[GAP] = (double)(view->mode_step - before->mode_step);
}

/* A row of statistics. Without a shape its spread tells what it is: gains lie about a mean, matrices about zero. Zeros
 * are not known; what is taken for pruned says less. */
static void set_figures(const assay_tensor_view *item, double *row)
{
    const double *of = row + FIGURE;
    row[RATIO] = row[WAY] = NAN;
    row[BY_FIGURES] = row[ZEROS] = 1;
    row[NORM] = item->reduction[ASSAY_L2];
    row[MATRIX] = of[FIGURE_STD] > fabs(of[FIGURE_MEAN]);
    row[VECTOR] = of[FIGURE_STD] <= fabs(of[FIGURE_MEAN]) && figures_elements(item) > 1;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        double row[WIDTH] = {[MATRIX] = item->dims > 1};
        const bool trains = view->mode == ASSAY_MODE_TRAIN ||
                            !(assay_trial_tensor_modes(rule->trial, item->tensor) & 1u << ASSAY_MODE_TRAIN);
        if (!figures_of(item, row + FIGURE) || !trains)
            continue;
        row[STEP] = (double)view->mode_step;
        if (assay_view_has_values(item)) {
            row[VECTOR] = item->dims == 1 && item->stats->count > 1;
            row[NORM] = assay_stats_l2(item->stats);
            row[ZEROS] = (double)item->stats->zeros / (double)item->stats->count;
            set_ratio(rule, view, item, row);
        } else
            set_figures(item, row);
        status = assay_series_add(((assay_common_state *)state)->series, view->step, item->tensor, item->worker, row);
    }
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[1].count; i++) {
        const assay_tensor_view *item = view->slot[1].items[i];
        const double row[WIDTH] = {[NORM] = assay_view_has_values(item) ? assay_stats_mean(item->stats) : (double)NAN,
                                   [GAP] = (double)view->mode_step,
                                   [MATRIX] = IS_LOSS};
        status = assay_series_add(((assay_common_state *)state)->series, view->step, item->tensor, item->worker, row);
    }
    return status;
}

/* The rows [from, to) of one weight and worker. */
typedef struct walk {
    const assay_rule *rule;
    const assay_series *series;
    const uint64_t *order;
    assay_findings *findings;
    uint64_t *shrank, *matrices;    /* [workers] */
    uint64_t *shrank_gains, *gains; /* [workers] of weights with one axis */
    uint64_t *grew, *leapt;         /* [workers] */
    uint64_t *slow;                 /* [workers] */
    uint64_t *first;                /* [workers] whose first update was large */
    bool rose, learned;             /* the loss, right behind the first update; in all */
    bool eased;                     /* no loss is higher at the second saved step than at the first, and one is lower */
    bool gradients;                 /* of any weight were saved */
    double way;                     /* of the weight with two axes or more that moved farthest; NaN: it is not known */
} walk;

static int test(const walk *w, assay_row row, uint32_t which, bool fired, double value, double threshold,
                const char *note)
{
    assay_finding finding = {.step = row.step,
                             .tensor = row.tensor,
                             .worker = row.worker,
                             .test = which,
                             .value_unit = which,
                             .value = value,
                             .threshold = threshold,
                             .note = note};
    return row.step < w->rule->start_step ? ASSAY_OK : assay_findings_test(w->findings, fired, &finding);
}

/* Is it the first update of the training, and a large one? */
static bool is_large_first(const walk *w, assay_row row, uint64_t seen)
{
    const assay_trial *trial = w->rule->trial;
    const assay_step_info *step = assay_trial_step(trial, assay_trial_find_step(trial, row.step));
    return step && seen == 0 && step->mode_step == 1 && row.value[GAP] == 1 && row.value[MATRIX] > 0 &&
           row.value[TINY] == 0 && row.value[RATIO] > FIRST_LARGE;
}

/* Were elements set to zero, and most of the norm left? That is pruning, which is done on purpose. Where as many others
 * begin to grow, their number stays; then the squares that are missing are those of the change. */
static bool is_pruned(const double *before, const double *row)
{
    const double change = row[RATIO] * before[NORM], lost = before[NORM] * before[NORM] - row[NORM] * row[NORM];
    const bool exchanged = row[ZEROS] > PRUNED && before[ZEROS] > PRUNED && fabs(lost - change * change) < LOST * lost;
    return (row[ZEROS] - before[ZEROS] > PRUNED || exchanged) && row[NORM] <= before[NORM] &&
           row[NORM] > HALF * before[NORM];
}

static int test_ratios(const walk *w, uint64_t from, uint64_t to)
{
    const double jump = assay_param_real(w->rule->params, "jump"), large = assay_param_real(w->rule->params, "large");
    const bool trained =
        !w->gradients ||
        gradient_of_weight(w->rule->trial, assay_series_row(w->series, w->order[from]).tensor) != ASSAY_NO_TENSOR;
    double last[WINDOW], room[WINDOW], most = 0;
    uint64_t seen = 0;
    int status = ASSAY_OK;
    for (uint64_t i = from; status == ASSAY_OK && i < to; i++) {
        const assay_row row = assay_series_row(w->series, w->order[i]);
        const double r = row.value[RATIO];
        char note[NOTE_ROOM] = "";
        const bool several = row.value[MATRIX] > 0 || row.value[VECTOR] > 0; /* one number may come past zero */
        if (!isfinite(r))
            continue;
        const size_t n = seen < WINDOW ? (size_t)seen : WINDOW;
        for (size_t k = 0; k < n; k++)
            room[k] = last[k];
        const double usual = robust_median(room, n), gap = row.value[GAP];
        const double limit = fmax(BEYOND, jump / sqrt(gap)) * usual, most_of_all = large * pow(gap, CANCELS);
        const bool jumps = several && n > 0 && usual > 0 && r > limit && r > BEYOND * most &&
                           r > (n >= LEAST_BEFORE ? LEAST_JUMP : FAR_JUMP) && row.value[TINY] == 0 &&
                           !is_pruned(assay_series_row(w->series, w->order[i - 1]).value, row.value);
        if (jumps)
            snprintf(note, sizeof note, "by %.3g times its norm, usually %.2g", r, usual);
        if (n > 0)
            status = test(w, row, JUMP, jumps, r, limit, note);
        const bool first =
            w->rose && 2 * w->first[row.worker] >= w->matrices[row.worker] && is_large_first(w, row, seen);
        ASSAY_THEN(status, test(w, row, LARGE,
                                several && trained &&
                                    (first || (r > most_of_all && row.value[TINY] == 0 &&
                                               !(seen == 0 && w->eased && w->learned))),
                                r, first ? FIRST_LARGE : most_of_all, NULL));
        most = jumps ? most : fmax(most, row.value[WAY]);
        last[seen++ % WINDOW] = row.value[WAY];
    }
    return status;
}

/* The largest of the first ones: what shrinks has lost much by the third step, where steps are saved far apart. */
static double first_norm(const walk *w, uint64_t from, uint64_t to)
{
    double norm = 0;
    for (uint64_t i = from; i < to && i < from + FIRST; i++)
        norm = fmax(norm, assay_series_row(w->series, w->order[i]).value[NORM]);
    return norm;
}

static bool is_matrix(const walk *w, uint64_t from, uint64_t to)
{
    return to - from > 1 && assay_series_row(w->series, w->order[from]).value[MATRIX] != 0;
}

static bool has_shrunk(const walk *w, uint64_t from, uint64_t to)
{
    const double last = assay_series_row(w->series, w->order[to - 1]).value[NORM];
    return last < assay_param_real(w->rule->params, "shrunk") * first_norm(w, from, to);
}

static bool is_gain(const walk *w, uint64_t from, uint64_t to)
{
    return to - from > 1 && assay_series_row(w->series, w->order[from]).value[VECTOR] != 0;
}

/* Of what began as next to nothing a factor says nothing: its next row, if any, is TINY. What stands at last, or comes to
 * stand, has found its size: it grows on where the later half of the steps added much. */
static bool has_grown(const walk *w, uint64_t from, uint64_t to)
{
    const double GROWS_ON = 1.6; /* steady steps in one direction double it there */
    const double *first = assay_series_row(w->series, w->order[from]).value,
                 *next = assay_series_row(w->series, w->order[from + 1]).value,
                 *middle = assay_series_row(w->series, w->order[from + (to - from) / 2]).value,
                 *last = assay_series_row(w->series, w->order[to - 1]).value;
    return last[NORM] >= GROWS_ON * middle[NORM] && next[TINY] == 0 && first[NORM] > 0 && isfinite(last[NORM]) &&
           last[NORM] >= assay_param_real(w->rule->params, "grown") * first[NORM];
}

/* Is next to nothing left of it, though its elements are not zeros? Of one weight alone no learning makes so little. */
static bool is_lost(const walk *w, uint64_t from, uint64_t to)
{
    const double *last = assay_series_row(w->series, w->order[to - 1]).value;
    return last[NORM] > 0 && last[NORM] < REMAINS * first_norm(w, from, to) && last[ZEROS] < HALF;
}

/* Did an update overwrite it? Then that says more than how far it came. */
static bool has_leapt(const walk *w, uint64_t from, uint64_t to)
{
    const double large = assay_param_real(w->rule->params, "large");
    for (uint64_t i = from + 1; i < to; i++) {
        const double *row = assay_series_row(w->series, w->order[i]).value;
        if (row[TINY] == 0 && row[RATIO] > large * pow(row[GAP], CANCELS))
            return true;
    }
    return false;
}

/* How far it moved in all, in parts of its norm; NaN where that is not known of every saved step. */
static double way_of(const walk *w, uint64_t from, uint64_t to)
{
    double way = 0;
    for (uint64_t i = from + 1; i < to; i++)
        way += assay_series_row(w->series, w->order[i]).value[WAY];
    return way;
}

/* Did it change, and never by more than what no optimizer is made for? */
static bool is_slow(const walk *w, uint64_t from, uint64_t to)
{
    bool changed = false;
    for (uint64_t i = from; i < to; i++) {
        const double *row = assay_series_row(w->series, w->order[i]).value;
        if (row[WAY] > SLOWEST * row[GAP] || (isnan(row[WAY]) && i > from))
            return false;
        changed = changed || row[WAY] > 0;
    }
    return changed;
}

static int test_slow(const walk *w, uint64_t from, uint64_t to)
{
    const uint32_t worker = assay_series_row(w->series, w->order[from]).worker;
    const bool found = w->slow[worker] == w->matrices[worker];
    int status = ASSAY_OK;
    for (uint64_t i = from + 1; status == ASSAY_OK && i < to; i++) {
        const assay_row row = assay_series_row(w->series, w->order[i]);
        char note[NOTE_ROOM] = "";
        if (found)
            snprintf(note, sizeof note, "by %.1e of their norm in %.0f step%s", row.value[WAY], row.value[GAP],
                     row.value[GAP] > 1 ? "s" : "");
        status = test(w, row, SLOW, found, row.value[WAY] / row.value[GAP], SLOWEST, note);
    }
    return status;
}

static int test_norms(const walk *w, uint64_t from, uint64_t to)
{
    const assay_row begin = assay_series_row(w->series, w->order[from]);
    const bool gain = is_gain(w, from, to);
    const uint64_t shrank = gain ? w->shrank_gains[begin.worker] : w->shrank[begin.worker],
                   all = gain ? w->gains[begin.worker] : w->matrices[begin.worker];
    const double large = first_norm(w, from, to), end = assay_series_row(w->series, w->order[to - 1]).value[NORM];
    const bool shrunk = has_shrunk(w, from, to) && (gain ? 3 * shrank >= 2 * all && all > 1 && !w->learned
                                                         : 3 * shrank >= 2 * all || is_lost(w, from, to));
    const bool grown =
        !gain && has_grown(w, from, to) &&
        (3 * w->grew[begin.worker] >= 2 * all ? w->leapt[begin.worker] == 0
                                              : end >= FAR_BEYOND * begin.value[NORM] && !has_leapt(w, from, to));
    int status = ASSAY_OK;
    for (uint64_t i = from + 1; status == ASSAY_OK && i < to; i++) {
        const assay_row row = assay_series_row(w->series, w->order[i]);
        const double norm = row.value[NORM];
        const bool shrinks = shrunk && norm < HALF * large, grows = grown && norm > GREW * begin.value[NORM];
        char note[NOTE_ROOM] = "";
        if (shrinks || grows)
            snprintf(note, sizeof note, "from norm %.3g to %.3g in the end", shrinks ? large : begin.value[NORM], end);
        status = test(w, row, SHRUNK, shrinks, norm / large, HALF, note);
        if (!gain)
            ASSAY_THEN(status, test(w, row, GROWN, grows, norm / begin.value[NORM], GREW, note));
    }
    return status;
}

/* Does a loss, rows [from, to), rise at the first steps? */
static bool rises_at_once(const walk *w, uint64_t from, uint64_t to)
{
    const double *first = assay_series_row(w->series, w->order[from]).value;
    bool rises = false;
    for (uint64_t i = from + 1; i < to; i++)
        rises = rises || (assay_series_row(w->series, w->order[i]).value[GAP] <= FIRST &&
                          assay_series_row(w->series, w->order[i]).value[NORM] > FIRST_RISE * first[NORM]);
    return rises && first[GAP] == 0 && first[NORM] > 0;
}

/* Is a loss, rows [from, to), lower (-1) or higher (1) at its second step than at its first? */
static int second_loss(const walk *w, uint64_t from, uint64_t to)
{
    if (to - from < 2)
        return 0;
    const double first = assay_series_row(w->series, w->order[from]).value[NORM],
                 second = assay_series_row(w->series, w->order[from + 1]).value[NORM];
    return second < first ? -1 : 1;
}

/* Is a loss, rows [from, to), far below what it began with? */
static bool has_learned(const walk *w, uint64_t from, uint64_t to)
{
    double first = INFINITY, last[WINDOW];
    size_t n = 0;
    for (uint64_t i = from; i < to && i < from + FIRST; i++)
        first = fmin(first, assay_series_row(w->series, w->order[i]).value[NORM]);
    for (uint64_t i = to; i-- > from + FIRST && n < WINDOW / 2;)
        last[n++] = assay_series_row(w->series, w->order[i]).value[NORM];
    return n >= LEAST_BEFORE && robust_median(last, n) < LEARNED * first;
}

/* First counts the matrices that shrank away, then tests. */
static int walk_weights(walk *w)
{
    const uint64_t count = assay_series_count(w->series);
    const uint32_t workers = assay_trial_workers(w->rule->trial);
    uint64_t lower = 0, higher = 0;
    int status = ASSAY_OK;
    for (int pass = 0; pass < 2; pass++) {
        w->eased = lower > 0 && higher == 0; /* known from the second pass on, in which it is asked for */
        for (uint64_t from = 0, to; status == ASSAY_OK && from < count; from = to) {
            const assay_row first = assay_series_row(w->series, w->order[from]);
            for (to = from + 1; to < count; to++) {
                const assay_row row = assay_series_row(w->series, w->order[to]);
                if (row.tensor != first.tensor || row.worker != first.worker)
                    break;
            }
            if (first.worker >= workers)
                continue;
            if (first.value[MATRIX] == IS_LOSS) {
                w->rose = w->rose || rises_at_once(w, from, to);
                w->learned = w->learned || has_learned(w, from, to);
                lower += pass == 0 && second_loss(w, from, to) < 0;
                higher += pass == 0 && second_loss(w, from, to) > 0;
                continue;
            }
            const bool matrix = is_matrix(w, from, to), gain = is_gain(w, from, to);
            if (pass == 0) {
                w->gains[first.worker] += gain;
                w->shrank_gains[first.worker] += gain && has_shrunk(w, from, to);
                w->grew[first.worker] += matrix && has_grown(w, from, to);
                w->leapt[first.worker] += matrix && has_leapt(w, from, to);
                w->first[first.worker] +=
                    matrix && is_large_first(w, assay_series_row(w->series, w->order[from + 1]), 0);
                w->matrices[first.worker] += matrix;
                if (matrix && !(way_of(w, from, to) <= w->way))
                    w->way = way_of(w, from, to);
                w->shrank[first.worker] += matrix && has_shrunk(w, from, to);
                w->slow[first.worker] += matrix && is_slow(w, from, to);
                continue;
            }
            status = test_ratios(w, from, to);
            if (status == ASSAY_OK && (matrix || gain))
                status = test_norms(w, from, to);
            if (status == ASSAY_OK && matrix)
                status = test_slow(w, from, to);
        }
    }
    return status;
}

/* The same rows; those of statistics get what they tell of their change since the row of the same weight and worker
 * before. NULL without memory. */
static assay_series *with_changes(const assay_series *series, const uint64_t *order)
{
    const uint64_t count = assay_series_count(series);
    assay_series *made = order || count == 0 ? assay_series_new(WIDTH) : NULL;
    int status = made ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i++) {
        const assay_row row = assay_series_row(series, order[i]);
        const assay_row before = i > 0 ? assay_series_row(series, order[i - 1]) : row;
        double value[WIDTH];
        memcpy(value, row.value, sizeof value);
        if (i > 0 && before.tensor == row.tensor && before.worker == row.worker && value[BY_FIGURES] > 0) {
            const double rms = figures_rms(before.value + FIGURE);
            figures_change(before.value + FIGURE, value + FIGURE, &value[RATIO], &value[WAY]);
            value[TINY] = rms < NOTHING;
            value[GAP] = fmax(1, value[STEP] - before.value[STEP]);
        }
        status = assay_series_add(made, row.step, row.tensor, row.worker, value);
    }
    if (status == ASSAY_OK)
        return made;
    assay_series_free(made);
    return NULL;
}

static bool has_statistics(const assay_series *series)
{
    bool any = false;
    for (uint64_t i = 0; i < assay_series_count(series) && !any; i++)
        any = assay_series_row(series, i).value[BY_FIGURES] > 0;
    return any;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t *order = assay_series_by_tensor(series);
    const bool statistics = has_statistics(series);
    assay_series *made = statistics ? with_changes(series, order) : NULL;
    if (statistics) {
        free(order);
        order = made ? assay_series_by_tensor(made) : NULL;
        series = made;
    }
    if (!series)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    const size_t workers = (size_t)assay_trial_workers(rule->trial) + 1;
    walk w = {.rule = rule, .series = series, .order = order, .findings = assay_verdict_findings(verdict)};
    for (uint32_t t = 0; t < assay_trial_tensors(rule->trial); t++)
        w.gradients = w.gradients || weight_of_gradient(rule->trial, t) != ASSAY_NO_TENSOR;
    uint64_t **const counts[] = {&w.shrank, &w.matrices, &w.shrank_gains, &w.gains,
                                 &w.grew,   &w.leapt,    &w.slow,         &w.first};
    enum { COUNTS = sizeof counts / sizeof *counts };
    uint64_t *room = calloc(COUNTS * workers, sizeof *room);
    for (size_t i = 0; room && i < COUNTS; i++)
        *counts[i] = room + i * workers;
    int status = room && (order || assay_series_count(series) == 0) ? ASSAY_OK : ASSAY_ENOMEM;
    ASSAY_THEN(status, walk_weights(&w));
    if (w.way > 0 && w.way < HARDLY) /* the report's first line tells from it why a loss stands */
        assay_put_format(assay_verdict_json(verdict), "\"moved\": %.3g", w.way);
    free(room);
    free(order);
    assay_series_free(made);
    assay_verdict_no_data(verdict, "no weight has values at a step that is saved and at another before it.");
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "out of memory");
}

static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    const bool train = modes >> ASSAY_MODE_TRAIN & 1;
    return reason_few_steps(rule, train ? ASSAY_MODE_TRAIN : ASSAY_MODE_NONE, 2, " to have an update between them",
                            out);
}

const assay_rule_ops assay_rule_weight_course = {
    ASSAY_RULE_HEAD,
    .name = "WeightCourse",
    .summary = "Weights that jump, are overwritten by their updates, grow without end, or shrink away.",
    .advice = "An optimizer changes weights little by little. Look at what happened at the step named: a restart, a "
              "learning rate, a bad batch, or a decay that is larger than what the gradients put against it.",
    .remedies =
        ASSAY_TEXTS("If one layer alone jumped: was it restored, initialised or set from outside at that step?",
                    "If all did: look at the learning rate and its schedule there, and at that step's batch and loss.",
                    "If they shrink: lower the weight decay; with Adam take AdamW.",
                    "If they grow: lower the learning rate and the momentum, and look at the sign of the decay."),
    .params = params,
    .tests = tests,
    .traits = ASSAY_RULE_LOOKS_BACK,
    .series_width = WIDTH,
    .value_units =
        ASSAY_TEXTS([GROWN] = "times the first norm", [JUMP] = "of the weights' norm", [LARGE] = "of the weights' norm",
                    [SHRUNK] = "of the first norm", [SLOW] = "of the norm a step"),
    .sentences = ASSAY_TEXTS([GROWN] = "{tensor}{of} grew without end, seen at {when}{note}",
                             [JUMP] = "{tensor}{of} jumped at {when}{note}",
                             [LARGE] = "one update changed {tensor}{of} by more than its norm at {when}",
                             [SHRUNK] = "{tensor}{of} shrank toward zero, seen at {when}{note}",
                             [SLOW] = "{tensor}{of} hardly moved by {when}{note}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
    .reason = reason,
};
