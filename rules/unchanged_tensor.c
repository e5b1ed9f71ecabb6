/* unchanged_tensor.c - UnchangedTensor: tensors that stay the same over several saved steps.
 * docs/rules/UnchangedTensor.md.
 *
 * For each worker. With mode = TRAIN, only TRAIN steps if the tensor has any. Two tensors are close when |a - b| <=
 * atol + rtol * |b| for every element, a the newer one.
 *
 *   pairs         value = number of consecutive close pairs of saved steps that end at the step; fires at num_steps - 1
 *   current       value = how many of the num_steps - 1 saved steps before, the newest first, are close to this one
 *   accumulation  (pairs) steps between the regular updates of the worker are skipped (updates.h)
 *   only_trained  (pairs) a tensor that never changes and has no gradient is left out if the trial has gradients; a
 *                 tensor is tested from its first change on, if it has one, and may stand still once it came to rest
 *                 (updates.h), where no gradient reached it (pauses.h), and once it has no gradient any more
 *
 * Of tensors that were recorded as digests, pairs are compared for equality (digests.h). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "digests.h"
#include "gradients.h"
#include "pauses.h"
#include "rows_of_layers.h"
#include "selection.h"
#include "siblings.h"
#include "too_few.h"
#include "updates.h"

enum { WEIGHTS, GRADIENTS }; /* slots; the second is there with only_trained */
enum {
    SIZE = 2,
    WIDTH = SIZE + 1 + DIGESTS_COLUMNS
}; /* of a row: what the tensor did (updates.h), mean |g| of a gradient (pauses.h), by how much, its digest */
#define ZERO_GRADIENT "its gradient is exactly zero"
enum { MOST_CURRENT = 8 }; /* steps that `current` may compare with: each is read beside the tensor */

static const assay_param_def params[] = {
    SELECTION_PARAMS,
    ASSAY_INT_PARAM("num_steps", "3", 2, 1000000,
                    "Saved steps, including this one, over which the tensor must not change."),
    ASSAY_REAL_PARAM("rtol", "1e-05", 0, 1e308, "Relative tolerance of the comparison."),
    ASSAY_REAL_PARAM("atol", "1e-08", 0, 1e308, "Absolute tolerance of the comparison."),
    ASSAY_BOOL_PARAM("equal_nan", "False", "NaN counts as equal to NaN."),
    ASSAY_CHOICE_PARAM(
        "against", "pairs", "pairs|current",
        "Compare each saved step with the one before it, or the current one with each of the earlier ones."),
    ASSAY_CHOICE_PARAM("mode", "all", "all|TRAIN", "Steps of all modes, or only TRAIN steps if the tensor has any."),
    ASSAY_BOOL_PARAM("accumulation", "False",
                     "With against = pairs: skip the steps between the regular updates of accumulated gradients."),
    ASSAY_BOOL_PARAM(
        "only_trained", "False",
        "With against = pairs: leave out tensors that never change and have no gradient although others have one."),
    {0},
};

static bool against_current(const assay_params *given)
{
    return strcmp(assay_param_text(given, "against"), "current") == 0;
}

static bool only_train(const assay_params *given)
{
    return strcmp(assay_param_text(given, "mode"), "TRAIN") == 0;
}

static bool only_trained(const assay_params *given)
{
    return assay_param_bool(given, "only_trained") && !against_current(given);
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int64_t earlier = against_current(given) ? assay_param_int(given, "num_steps") - 1 : 1;
    if (earlier > MOST_CURRENT)
        return assay_fail(err, ASSAY_EPARAM,
                          "parameter num_steps has the value %lld: with against = current it must be at most %d",
                          (long long)earlier + 1, MOST_CURRENT + 1);
    uint32_t kinds = 1u << ASSAY_RAW | (against_current(given) ? 0 : DIGESTS_KINDS);
    int slot = selection_slot(given, need, kinds, true, err);
    if (slot < 0)
        return slot;
    for (int64_t k = 1; k <= earlier; k++) {
        assay_measure measure = {.kind = ASSAY_MEASURE_CHANGE,
                                 .reference = ASSAY_REFERENCE_SAVED_BEFORE,
                                 .steps = k,
                                 .train_only = only_train(given),
                                 .figures = only_trained(given) ? ASSAY_CHANGE_MOVED : ASSAY_CHANGE_CLOSE,
                                 .equal_nan = assay_param_bool(given, "equal_nan"),
                                 .rtol = assay_param_real(given, "rtol"),
                                 .atol = assay_param_real(given, "atol")};
        int number = assay_need_measure(need, slot, &measure, err);
        if (number < 0)
            return number;
    }
    if (against_current(given))
        return ASSAY_OK;
    int status = assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
    if (status < 0 || !only_trained(given))
        return status;
    slot = assay_need_slot(need,
                           &(assay_slot){.collection = "gradients",
                                         .kinds = 1u << ASSAY_RAW | 1u << ASSAY_ABS_MEAN,
                                         .flags = ASSAY_SLOT_NO_STRINGS},
                           err);
    return slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
}

static bool found(const assay_step_view *view, int measure, const assay_tensor_view *item)
{
    const assay_result *result = assay_view_result(view, measure, item);
    return result && result->of.change.found;
}

static bool is_close(const assay_step_view *view, int measure, const assay_tensor_view *item)
{
    return found(view, measure, item) && assay_view_result(view, measure, item)->of.change.same_shape &&
           assay_view_result(view, measure, item)->of.change.close;
}

static int test_current(const assay_rule *rule, assay_common_state *s, const assay_step_view *view,
                        const assay_tensor_view *item)
{
    int earlier = (int)assay_param_int(rule->params, "num_steps") - 1, alike = 0;
    if (view->step < rule->start_step || !found(view, earlier - 1, item))
        return ASSAY_OK;
    while (alike < earlier && is_close(view, alike, item))
        alike++;
    assay_finding finding = finding_of(view, item, alike, earlier);
    return assay_findings_test(s->findings, alike >= earlier, &finding);
}

/* What the tensor did since the saved step before: by the tolerances, and whether it crept only where that matters. */
static double movement(const assay_rule *rule, const assay_step_view *view, const assay_tensor_view *item)
{
    const assay_result *result = assay_view_result(view, 0, item);
    double moved = movement_of(result ? &result->of.change : NULL, item->dtype);
    return moved == CREPT && !only_trained(rule->params) ? MOVED : moved;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    bool current = against_current(rule->params);
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        bool digest = has_digest_alone(item) && !current;
        if (!assay_view_has_values(item) && !digest)
            continue;
        if (only_train(rule->params) && view->mode != ASSAY_MODE_TRAIN &&
            (digest ? assay_trial_mode_steps(rule->trial, ASSAY_MODE_TRAIN) > 0
                    : has_train_steps(rule->trial, item->tensor)))
            continue;
        const assay_result *result = assay_view_result(view, 0, item);
        double row[WIDTH] = {movement(rule, view, item), NAN, size_of_movement(result ? &result->of.change : NULL)};
        digests_set(item, row, WIDTH);
        status = current ? test_current(rule, s, view, item)
                         : assay_series_add(s->series, view->step, item->tensor, item->worker, row);
    }
    for (uint32_t i = 0; status == ASSAY_OK && only_trained(rule->params) && i < view->slot[GRADIENTS].count; i++) {
        const assay_tensor_view *item = view->slot[GRADIENTS].items[i];
        double row[WIDTH] = {NAN, abs_mean_of(item), NAN};
        digests_set(NULL, row, WIDTH);
        if (is_gradient(rule->trial, item->tensor))
            status = assay_series_add(s->series, view->step, item->tensor, item->worker, row);
    }
    return status;
}

enum { NEVER = 1, SELDOM };
enum { MOVED_ONCE = 1 }; /* of find_frozen() */

/* What is known of all rows before they are walked. */
typedef struct outlook {
    assay_counter *passed; /* (worker, step) between updates */
    uint8_t *frozen;       /* [tensors] no gradient reaches them, and they move NEVER, or SELDOM */
    uint64_t count;        /* of those that never move */
    uint32_t ended;        /* weights that have no gradient any more from some step on */
    uint32_t last_ended;   /* the last of them that was found */
    uint32_t first_ended;  /* the one that ended first */
    int64_t ended_at;      /* its last change */
    pauses pauses;         /* with only_trained */
} outlook;

static void outlook_release(outlook *o)
{
    assay_counter_free(o->passed);
    free(o->frozen);
    pauses_release(&o->pauses);
}

/* A running mean of weights that train, by its name: "Net_ema.fc.weight" beside "Net_net.fc.weight". Nobody keeps one
 * in order that it stands still. */
static bool is_stale_average(const assay_rule *rule, const uint8_t *marks, uint8_t moved, uint32_t tensor)
{
    static const char *const words[] = {"ema.", "swa.", "averaged.", "shadow."};
    const char *name = assay_trial_tensor(rule->trial, tensor);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(name, words[i]), *rest = at ? at + strlen(words[i]) : NULL;
        if (!at || (at > name && isalpha((unsigned char)at[-1])))
            continue;
        for (uint32_t t = 0; t < assay_trial_tensors(rule->trial); t++) {
            const char *other = assay_trial_tensor(rule->trial, t);
            const size_t length = strlen(other), tail = strlen(rest);
            if (marks[t] & moved && t != tensor && length > tail && strcmp(other + length - tail, rest) == 0 &&
                !isalnum((unsigned char)other[length - tail - 1]))
                return true;
        }
    }
    return false;
}

/* Marks the tensors that no optimizer moves, as far as the trial tells: they have no gradient, and the trial has
 * gradients. Those that never move were frozen on purpose; those that do at times are set by the program, as the
 * network that makes the targets of another one. */
static int find_frozen(const assay_rule *rule, const assay_series *series, outlook *o)
{
    enum { TRAINED = 2, STANDS = 4, FEW_STAND = 3 };
    const uint32_t tensors = assay_trial_tensors(rule->trial);
    uint32_t trained = 0;
    uint64_t *pairs = calloc(tensors + (size_t)1, sizeof *pairs), *moves = calloc(tensors + (size_t)1, sizeof *moves);
    o->frozen = calloc(tensors + (size_t)1, 1);
    uint8_t *marks = calloc(tensors + (size_t)1, 1);
    const int status = pairs && moves && o->frozen && marks ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(series); i++) {
        const assay_row row = assay_series_row(series, i);
        if (row.tensor >= tensors || !(row.value[0] >= 0))
            continue;
        pairs[row.tensor]++;
        moves[row.tensor] += row.value[0] != STOOD_STILL;
    }
    bool any = false;
    for (uint32_t t = 0; status == ASSAY_OK && t < tensors; t++) {
        const bool has_gradient = pairs[t] > 0 && gradient_of_weight(rule->trial, t) != ASSAY_NO_TENSOR;
        any = any || is_gradient(rule->trial, t);
        marks[t] = moves[t] > 0                    ? has_gradient ? MOVED_ONCE | TRAINED : MOVED_ONCE
                   : pairs[t] > 0 && !has_gradient ? STANDS
                                                   : 0;
        trained += has_gradient && moves[t] > 0;
        o->count += marks[t] == STANDS;
    }
    /* who freezes on purpose freezes what comes first, or all but a little */
    const bool few = FEW_STAND * o->count <= o->count + trained;
    o->count = 0;
    for (uint32_t t = 0; status == ASSAY_OK && any && t < tensors; t++) {
        const bool seldom = marks[t] == MOVED_ONCE && 2 * moves[t] <= pairs[t];
        if ((marks[t] != STANDS && !seldom) || is_stale_average(rule, marks, MOVED_ONCE, t) ||
            (few && marks[t] == STANDS && stands_in_row(rule->trial, marks, TRAINED, t, true)))
            continue;
        o->frozen[t] = seldom ? SELDOM : NEVER;
        o->count += !seldom;
    }
    free(marks);
    free(moves);
    free(pairs);
    return status;
}

static void say_frozen(const assay_rule *rule, const outlook *o, assay_verdict *verdict)
{
    uint32_t first = 0;
    while (o->count > 0 && o->frozen[first] != NEVER)
        first++;
    if (o->count == 1)
        assay_verdict_message(verdict,
                              "\"%s\" never moves and has no gradient: taken as frozen on purpose, not tested.",
                              assay_trial_tensor(rule->trial, first));
    else if (o->count > 1)
        assay_verdict_message(verdict,
                              "%llu tensors, \"%s\" the first, never move and have no gradient: taken as frozen on "
                              "purpose, not tested.",
                              (unsigned long long)o->count, assay_trial_tensor(rule->trial, first));
}

static void say_ended(const assay_rule *rule, const outlook *o, assay_verdict *verdict)
{
    const char *first = assay_trial_tensor(rule->trial, o->first_ended);
    if (o->ended == 1)
        assay_verdict_message(verdict,
                              "\"%s\" has not changed since step %lld, and has no gradient any more: taken as frozen "
                              "on purpose from there on.",
                              first, (long long)o->ended_at);
    else if (o->ended > 1)
        assay_verdict_message(verdict,
                              "%u tensors, \"%s\" (since step %lld) the first, do not change any more, and have no "
                              "gradient any more: taken as frozen on purpose from there on.",
                              (unsigned)o->ended, first, (long long)o->ended_at);
}

static int outlook_make(const assay_rule *rule, const assay_series *series, const uint64_t *order, outlook *o)
{
    *o = (outlook){0};
    if (assay_param_bool(rule->params, "accumulation") && !(o->passed = updates_between(rule->trial, series, 0)))
        return ASSAY_ENOMEM;
    if (!only_trained(rule->params))
        return ASSAY_OK;
    int status = pauses_make(rule->trial, series, order, &o->pauses);
    return status == ASSAY_OK ? find_frozen(rule, series, o) : status;
}

/* How a tensor was trained on a worker. */
typedef struct course {
    int64_t begin, end; /* steps of its first and last change; both that of the first row if it never changes */
    bool stopped;       /* it stands still after `end` for much longer than ever before, or always did */
    bool ended;         /* it stopped, and had a gradient before, but none after, though others had */
    int64_t turns;      /* its longest pause that recurs (updates.h) */
} course;

/* The course of the tensor and worker whose rows begin at order[i]. */
static course course_of(const assay_series *series, const uint64_t *order, const assay_counter *passed, uint64_t i)
{
    enum { LONGER = 8, PART = 3 }; /* than its longest pause before; of its saved steps */
    turns by_turns = {0};
    assay_row first = assay_series_row(series, order[i]);
    course c = {.begin = first.step, .end = first.step};
    uint64_t saved = 0, still = 0, longest = 0, pause = 0; /* pause: without steps between updates of all */
    bool moved = false;
    for (; i < assay_series_count(series); i++) {
        assay_row row = assay_series_row(series, order[i]);
        if (row.tensor != first.tensor || row.worker != first.worker)
            break;
        if (is_gradient_row(row))
            continue;
        saved++;
        still++;
        pause += !passed || !updates_passes(passed, row.worker, row.step);
        if (!is_move(row))
            continue;
        longest = moved && still > longest ? still : longest;
        if (moved && pause > 0)
            turns_add(&by_turns, pause - 1);
        c.begin = moved ? c.begin : row.step;
        c.end = row.step;
        moved = true;
        still = pause = 0;
    }
    c.turns = by_turns.longest;
    c.stopped = !moved || (still > LONGER * longest && PART * still > saved);
    return c;
}

/* Is it a pause that the weight stands still since the step before? That no gradient reaches it excuses pauses, not
 * that it is never trained, or no longer. */
static bool is_pause(const outlook *o, const course *c, assay_row row, int64_t before)
{
    bool for_good = c->stopped && row.step > c->end;
    return o->pauses.saved && !for_good && pauses_after(&o->pauses, row.tensor, row.worker, before, row.step);
}

/* Sets c->ended of the tensor and worker of a row, and notes it. A layer that is frozen on purpose while it trains, or
 * whose loss is left out from some step on, has no gradient from there, while others have theirs. One that the
 * optimizer drops has. */
static void find_end(outlook *o, assay_row row, course *c)
{
    enum { SEVERAL = 3 }; /* steps at which the gradient would have been saved */
    c->ended = o->pauses.saved && c->stopped && c->end > c->begin &&
               pauses_gradient_ends(&o->pauses, row.tensor, row.worker, c->end) &&
               pauses_gradients_go_on(&o->pauses, row.worker, c->end, SEVERAL);
    if (!c->ended)
        return;
    if (o->ended == 0 || c->end < o->ended_at) {
        o->first_ended = row.tensor;
        o->ended_at = c->end;
    }
    o->ended += o->ended == 0 || row.tensor != o->last_ended;
    o->last_ended = row.tensor;
}

/* Was the gradient of the weight, at the step before, recorded as exactly zero? */
static bool has_zero_gradient(const assay_trial *trial, const assay_series *series, const uint64_t *order,
                              assay_row row, int64_t before)
{
    const uint64_t count = assay_series_count(series);
    const uint32_t gradient = gradient_of_weight(trial, row.tensor);
    const uint64_t i = gradient == ASSAY_NO_TENSOR ? count : row_of(series, order, count, gradient, row.worker, before);
    return i < count && assay_series_row(series, order[i]).value[PAUSE_MAGNITUDE] == 0;
}

static int test_rows(const assay_rule *rule, const assay_series *series, const uint64_t *order, outlook *o,
                     assay_verdict *verdict)
{
    int64_t num_steps = assay_param_int(rule->params, "num_steps"), saved = 0, run = 0;
    bool trained = only_trained(rule->params), at_rest = false;
    movements sizes = {0};
    course c = {.begin = INT64_MIN};
    int status = ASSAY_OK;
    assay_row before = {.tensor = ASSAY_NO_TENSOR};
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(series); i++) {
        assay_row row = assay_series_row(series, order[i]);
        if (is_gradient_row(row))
            continue;
        bool first = row.tensor != before.tensor || row.worker != before.worker;
        int64_t step_before = before.step;
        before = row;
        if (first && trained) {
            c = course_of(series, order, o->passed, i);
            find_end(o, row, &c);
        }
        if (first || is_move(row))
            at_rest = trained && row.value[0] == CREPT;
        sizes = first ? (movements){0} : sizes;
        if (is_move(row))
            movements_add(&sizes, row.value[SIZE]);
        if (o->passed && !first && updates_passes(o->passed, row.worker, row.step))
            continue;
        saved = first ? 1 : saved + 1;
        bool stands =
            row.value[0] == STOOD_STILL && !first && !at_rest && row.step >= c.begin && !(c.ended && row.step > c.end);
        run = stands && !is_pause(o, &c, row, step_before) ? run + 1 : 0;
        if (saved < num_steps || row.step < c.begin || row.step < rule->start_step ||
            (o->frozen && o->frozen[row.tensor]))
            continue;
        assay_finding finding = {.step = row.step,
                                 .tensor = row.tensor,
                                 .worker = row.worker,
                                 .of_worker = !isnan(row.value[WIDTH - 1]), /* a digest is of what this worker has */
                                 .value = (double)run,
                                 .threshold = (double)(num_steps - 1)};
        /* networks that are trained by turns, each at some steps */
        const bool in_turn = trained && run <= c.turns && !(c.stopped && row.step > c.end);
        const bool faded = trained && movements_have_faded(&sizes, run);
        if (trained && has_zero_gradient(rule->trial, series, order, row, step_before))
            finding.note = ZERO_GRADIENT;
        status =
            assay_findings_test(assay_verdict_findings(verdict), run >= num_steps - 1 && !in_turn && !faded, &finding);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_series *series = ((const assay_common_state *)state)->series;
    uint64_t *order = assay_series_by_tensor(series);
    outlook o = {0};
    assay_series *compared = NULL;
    int status = order || assay_series_count(series) == 0 ? ASSAY_OK : ASSAY_ENOMEM;
    if (status == ASSAY_OK && digests_any(series, WIDTH)) {
        series = compared = digests_compared(series, order, WIDTH);
        status = compared ? ASSAY_OK : ASSAY_ENOMEM;
    }
    ASSAY_THEN(status, outlook_make(rule, series, order, &o));
    ASSAY_THEN(status, test_rows(rule, series, order, &o, verdict));
    if (status == ASSAY_OK)
        say_frozen(rule, &o, verdict);
    if (status == ASSAY_OK)
        say_ended(rule, &o, verdict);
    if (status == ASSAY_OK && !against_current(rule->params))
        status =
            say_longest(rule, series, 0, (uint64_t)assay_param_int(rule->params, "num_steps"), " (num_steps)", verdict);
    outlook_release(&o);
    assay_series_free(compared);
    free(order);
    return status == ASSAY_ENOMEM ? assay_fail(err, status, "out of memory") : status;
}

static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    bool train = only_train(rule->params) && modes >> ASSAY_MODE_TRAIN & 1;
    return reason_few_steps(rule, train ? ASSAY_MODE_TRAIN : ASSAY_MODE_NONE,
                            (uint64_t)assay_param_int(rule->params, "num_steps"), " in a row (num_steps)", out);
}

const assay_rule_ops assay_rule_unchanged_tensor = {
    ASSAY_RULE_HEAD,
    .name = "UnchangedTensor",
    .summary = "Tensors that do not change over several saved steps.",
    .advice =
        "Weights that stand still are not trained: check that the optimizer holds these parameters and is stepped, "
        "that they require gradients, that the learning rate is not zero at this point of its schedule, and that "
        "gradients reach them (VanishingGradient).",
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("saved step(s) unchanged"),
    .sentences = ASSAY_TEXTS("{tensor}{of} had not changed at {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
    .reason = reason,
};
