/* weight_frozen_despite_gradient.c - WeightFrozenDespiteGradient: a gradient arrives, and the weight does not change.
 *
 * For each worker and weight W with a saved gradient "gradient/W", over TRAIN steps if W has any. A pair of saved steps
 * p, s counts when no element of W changed from p to s and the gradient at p has mean(|g|) > min_gradient (raw, else
 * the saved reduction abs_mean). Fires when num_steps - 1 such consecutive pairs end at s; value = their number. Pairs
 * between the regular updates of accumulated gradients (updates.h) are skipped, and so are those whose gradient is
 * unknown or not finite: an optimizer rightly leaves out such a step. A weight that came to
 * rest (updates.h) may stand still, but not where all weights do, for longer than it ever moved, and with a gradient that
 * stays what it was: then updates have become too small. A weight that is trained by turns stands between them (updates.h): the
 * actor of a critic. Of weights that were recorded as digests, pairs are compared
 * for equality (digests.h). Where few TRAIN steps were saved, and those far apart, one pair is enough. */
#include <stdlib.h>

#include "digests.h"
#include "gradients.h"
#include "siblings.h"
#include "too_few.h"
#include "updates.h"
#include "workers.h"

enum { WEIGHTS, GRADIENTS }; /* slots, and roles */
enum {
    STILL,
    MAGNITUDE,
    SIZE,
    WIDTH = SIZE + 1 + DIGESTS_COLUMNS
}; /* values of a row: what the weight did (updates.h); mean |g|, -1: no gradient's row; by how much; its digest */

#define FADED 0.1 /* of a gradient's usual magnitude */

static const assay_param_def params[] = {
    REPLICA_PARAMS("weights"),
    ASSAY_INT_PARAM("num_steps", "3", 2, 1000000,
                    "Saved steps, including this one, over which the weight must not change."),
    ASSAY_REAL_PARAM("min_gradient", "1e-7", 0, 1e308, "Gradients with a mean magnitude up to this count as zero."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = selection_slot(given, need, 1u << ASSAY_RAW | DIGESTS_KINDS, true, err);
    assay_measure change = {.kind = ASSAY_MEASURE_CHANGE,
                            .reference = ASSAY_REFERENCE_SAVED_BEFORE,
                            .steps = 1,
                            .train_only = 1,
                            .figures = ASSAY_CHANGE_MOVED};
    int status = slot < 0 ? slot : assay_need_measure(need, slot, &change, err);
    if (status >= 0)
        status = assay_need_slot(need,
                                 &(assay_slot){.collection = "gradients",
                                               .kinds = 1u << ASSAY_RAW | 1u << ASSAY_ABS_MEAN,
                                               .flags = ASSAY_SLOT_NO_STRINGS},
                                 err);
    for (int k = WEIGHTS; status >= 0 && k <= GRADIENTS; k++)
        status = assay_need_rows(need, k, &(assay_rows){.width = WIDTH}, err);
    return status < 0 ? status : ASSAY_OK;
}

/* What the weight did since the saved step before; NULL: there is none. */
static const assay_change *change_of(const assay_step_view *view, const assay_tensor_view *item)
{
    const assay_result *result = assay_view_result(view, 0, item);
    return result ? &result->of.change : NULL;
}

/* mean |g|; 0 for that of a bias which is zero but for rounding; -1: it was not saved. */
static double magnitude_of(const assay_rule *rule, const assay_slot_view *gradients, const assay_tensor_view *item)
{
    double mean = abs_mean_of(item);
    if (isnan(mean))
        return -1;
    return is_rounding(rule->trial, gradients, item, mean) ? 0 : mean;
}

/* Is the item looked at in this slot? */
static bool has_role(const assay_rule *rule, const assay_step_view *view, int slot, const assay_tensor_view *item)
{
    if (slot == GRADIENTS || is_gradient(rule->trial, item->tensor))
        return slot == GRADIENTS && is_gradient(rule->trial, item->tensor);
    return (assay_view_has_values(item) || has_digest_alone(item)) &&
           (view->mode == ASSAY_MODE_TRAIN || !has_train_steps(rule->trial, item->tensor));
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    int status = ASSAY_OK;
    for (int k = WEIGHTS; k <= GRADIENTS; k++)
        for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[k].count; i++) {
            const assay_tensor_view *item = view->slot[k].items[i];
            if (!has_role(rule, view, k, item))
                continue;
            const assay_change *change = k == WEIGHTS ? change_of(view, item) : NULL;
            double row[WIDTH] = {k == WEIGHTS ? movement_of(change, item->dtype) : NO_PAIR,
                                 k == GRADIENTS ? magnitude_of(rule, &view->slot[GRADIENTS], item) : -1,
                                 size_of_movement(change)};
            digests_set(k == WEIGHTS ? item : NULL, row, WIDTH);
            status =
                assay_series_add(((assay_common_state *)state)->series, view->step, item->tensor, item->worker, row);
        }
    return status;
}

/* Rows in order of (tensor, worker, step). */
typedef struct rows {
    const assay_rule *rule;
    const assay_series *series;
    const uint64_t *order;
    uint64_t count;
    const assay_counter *passed; /* (worker, step) between regular updates */
    const int64_t *moved_last;   /* [workers]: the last step at which any weight had moved */
} rows;

static assay_row row_at(const rows *r, uint64_t i)
{
    return assay_series_row(r->series, r->order[i]);
}

/* mean |g| of a tensor at a worker and step; NaN when there is none. */
static double magnitude_at(const rows *r, uint32_t tensor, uint32_t worker, int64_t step)
{
    uint64_t i = row_of(r->series, r->order, r->count, tensor, worker, step);
    double magnitude = i < r->count ? row_at(r, i).value[MAGNITUDE] : -1;
    return magnitude >= 0 ? magnitude : NAN;
}

/* How many pairs in a row have to stand still: num_steps - 1, but for steps that lie MANY apart, of which few were saved:
 * so many updates are no chance. */
static int64_t least_pairs(const assay_rule *rule)
{
    enum { MANY = 20 };
    const int64_t asked = assay_param_int(rule->params, "num_steps") - 1;
    const uint64_t saved = assay_trial_mode_steps(rule->trial, ASSAY_MODE_TRAIN);
    const assay_step_info *last = NULL;
    int64_t nearest = INT64_MAX;
    for (uint64_t i = 0; saved > 1 && saved <= (uint64_t)(2 * asked + 2) && i < assay_trial_steps(rule->trial); i++) {
        const assay_step_info *step = assay_trial_step(rule->trial, i);
        if (step->mode != ASSAY_MODE_TRAIN)
            continue;
        if (last && step->mode_step - last->mode_step < nearest)
            nearest = step->mode_step - last->mode_step;
        last = step;
    }
    return nearest >= MANY && nearest < INT64_MAX && saved <= (uint64_t)(2 * asked + 2) ? 1 : asked;
}

static int64_t moved_last(const rows *r, uint32_t worker)
{
    return worker < assay_trial_workers(r->rule->trial) ? r->moved_last[worker] : INT64_MAX;
}

/* Sets the last step at which any weight of a worker had moved; -1: none had. */
static void note_moves(const rows *r, int64_t *last)
{
    const uint32_t workers = assay_trial_workers(r->rule->trial);
    for (uint32_t w = 0; w < workers; w++)
        last[w] = -1;
    for (uint64_t i = 0; i < r->count; i++) {
        const assay_row row = row_at(r, i);
        const bool moved = row.value[STILL] == MOVED || row.value[STILL] == CREPT;
        if (moved && row.worker < workers && row.step > last[row.worker])
            last[row.worker] = row.step;
    }
}

/* The longest pause of the weight whose rows begin at `from` that recurs, in steps that are not between updates of all. */
static int64_t longest_turn(const rows *r, uint64_t from)
{
    const assay_row first = row_at(r, from);
    turns by_turns = {0};
    uint64_t pause = 0;
    bool moved = false;
    for (uint64_t i = from + 1; i < r->count; i++) {
        const assay_row row = row_at(r, i);
        if (row.tensor != first.tensor || row.worker != first.worker)
            break;
        if (row.value[STILL] == STOOD_STILL) {
            pause += !updates_passes(r->passed, row.worker, row.step);
            continue;
        }
        if (moved)
            turns_add(&by_turns, pause);
        moved = true;
        pause = 0;
    }
    return by_turns.longest;
}

/* Tests the weight rows from `from` on that are one tensor's and worker's; returns where the next begin. */
static uint64_t test_weight(const rows *r, uint64_t from, assay_verdict *verdict, int *status)
{
    const assay_params *p = r->rule->params;
    int64_t run = 0;
    assay_row first = row_at(r, from), before = first;
    bool at_rest = false; /* its last move was one of rounding */
    int64_t moves = 0;    /* pairs over which it moved, with known gradients */
    double usual = 0;     /* sum of their mean magnitudes */
    movements sizes = {0};
    const int64_t least = least_pairs(r->rule), turn = longest_turn(r, from);
    uint32_t gradient = gradient_of_weight(r->rule->trial, first.tensor);
    uint64_t i = from + 1;
    for (; i < r->count; i++) {
        assay_row row = row_at(r, i);
        if (row.tensor != first.tensor || row.worker != first.worker)
            break;
        double magnitude = magnitude_at(r, gradient, row.worker, before.step);
        bool is_known = isfinite(magnitude) && !updates_passes(r->passed, row.worker, row.step);
        before = row;
        if (row.value[STILL] == MOVED || row.value[STILL] == CREPT) {
            at_rest = row.value[STILL] == CREPT;
            movements_add(&sizes, row.value[SIZE]);
            moves += is_known;
            usual += is_known ? magnitude : 0;
        }
        if (row.value[STILL] != STOOD_STILL)
            run = 0;
        else if (is_known)
            run = magnitude > assay_param_real(p, "min_gradient") ? run + 1 : 0;
        if (!is_known || row.value[STILL] < 0 || row.step < r->rule->start_step || *status)
            continue;
        const bool excused = (at_rest && (row.step <= moved_last(r, row.worker) || run <= moves ||
                                          magnitude < FADED * usual / (double)moves)) ||
                             movements_have_faded(&sizes, run) || run <= turn;
        char note[64];
        snprintf(note, sizeof note, "mean |gradient| %.3g", magnitude);
        assay_finding finding = {.step = row.step,
                                 .tensor = row.tensor,
                                 .worker = row.worker,
                                 .value = (double)run,
                                 .threshold = (double)least,
                                 .note = note};
        *status = assay_findings_test(assay_verdict_findings(verdict), !excused && run >= least, &finding);
    }
    return i;
}

/* Says how many weights and gradients there are, of which none were a pair. */
static void say_pairs(const rows *r, assay_verdict *verdict)
{
    uint64_t weights = 0, mated = 0;
    for (uint64_t i = 0; i < r->count; i++) {
        assay_row row = row_at(r, i);
        if (i > 0 && row.tensor == row_at(r, i - 1).tensor)
            continue;
        bool weight = !is_gradient(r->rule->trial, row.tensor);
        weights += weight;
        mated += weight && gradient_of_weight(r->rule->trial, row.tensor) != ASSAY_NO_TENSOR;
    }
    if (weights == 0)
        return;
    assay_verdict_no_data(
        verdict,
        "%llu of %llu weight%s a gradient (gradient/NAME); none has a finite one at a saved step and is "
        "saved at the next.",
        (unsigned long long)mated, (unsigned long long)weights, weights == 1 ? " has" : "s have");
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    rows r = {.rule = rule, .series = ((const assay_common_state *)state)->series};
    uint64_t *order = assay_series_by_tensor(r.series);
    const bool digests = order && digests_any(r.series, WIDTH);
    assay_series *compared = digests ? digests_compared(r.series, order, WIDTH) : NULL;
    r.series = compared ? compared : r.series;
    assay_counter *passed = updates_between(rule->trial, r.series, STILL);
    r.count = assay_series_count(r.series);
    r.order = order;
    r.passed = passed;
    int64_t *last = calloc((size_t)assay_trial_workers(rule->trial) + 1, sizeof *last);
    int status = passed && last && (order || r.count == 0) && (compared || !digests)
                     ? ASSAY_OK
                     : assay_fail(err, ASSAY_ENOMEM, "out of memory");
    r.moved_last = last;
    if (status == ASSAY_OK)
        note_moves(&r, last);
    for (uint64_t i = 0; status == ASSAY_OK && i < r.count;)
        i = test_weight(&r, i, verdict, &status);
    if (status == ASSAY_OK)
        say_pairs(&r, verdict);
    assay_counter_free(passed);
    assay_series_free(compared);
    free(last);
    free(order);
    return status;
}

static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    bool train = modes >> ASSAY_MODE_TRAIN & 1;
    return reason_few_steps(rule, train ? ASSAY_MODE_TRAIN : ASSAY_MODE_NONE, 2, " to have an update between them",
                            out);
}

const assay_rule_ops assay_rule_weight_frozen_despite_gradient = {
    ASSAY_RULE_HEAD,
    .name = "WeightFrozenDespiteGradient",
    .summary = "Weights that do not move although their gradients are not zero.",
    .advice = "The gradient is there and nobody applies it: the optimizer does not hold the parameter, takes no step, "
              "or takes steps that are too small to change it.",
    .remedies = ASSAY_TEXTS(
        "Check that the optimizer was given this parameter: it was made before the layer, or the layer was replaced since.",
        "Check the learning rate of its group at the steps named: zero in a schedule, or set to freeze the layer.",
        "Check that the optimizer's step is called, and not skipped, for example by a loss scaler that keeps finding "
        "overflows.",
        "In half precision keep float32 master weights: updates below half a unit in the last place are lost."),
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("saved step(s) unchanged"),
    .sentences = ASSAY_TEXTS("{tensor}{of} had not moved at {when} although its gradient was not zero"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
    .reason = reason,
};
