/* loss_not_decreasing.c - LossNotDecreasing: losses that stand still or rise. docs/rules/LossNotDecreasing.md.
 *
 * For each tensor and worker, over its saved steps of the mode: a step s is evaluated if there is a saved p <= s -
 * num_steps and num_steps have passed since the last evaluation; p is the newest such step. d = 100 * (L_p - L_s) /
 * |L_p|, the decrease in percent. d >= 0 fires when d < diff_percent; d < 0 fires when -d > increase_threshold_percent.
 * L is the mean of the tensor. Steps count as mode steps, with mode GLOBAL as global steps of all modes.
 *
 * With against = start the losses so far are judged as a whole (loss_course.h), at the last step and at up to
 * EVALUATIONS before it, evenly spaced. An evaluation fires when it and all later ones find the same for every loss of
 * the worker: if two networks compete, the loss of one rises. If both hardly move, they compete when they go against
 * each other: when their correlation is below -COMPETING. What falls in evaluation does not stand still in training. What ends
 * BELOW_GUESS of a guess that does not look at the inputs (guess.h) has learned something of them, however little it
 * fell. Of a loss of which no guess is known nobody can tell where it has to come to: one that gained more than noise
 * behind its first eighth goes on learning, where a guess is found at once, unless evaluation shows no gain; nor is it bad that one rose, if it did not double, whose
 * targets are always the same. Steps of no mode before the first TRAIN step belong to the
 * training: a program that sets the mode for its first evaluation, and not before, records them so. Fewer losses than a
 * course takes fire where all (of six or more: those behind the first third) are above the first, where they came back, or where they and those of evaluation stay
 * what they were.
 *
 * A loss also fires that ends far above that of a guess, or the worker's only one above ten times where it began; what is
 * held against a target that moves (the values of a policy) may come back.
 *
 * Of a training that is well (loss_harm.h) the member `harm` has the steps at which a loss was set back. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <assay/relation.h>

#include "guess.h"
#include "loss_harm.h"
#include "modes.h"
#include "selection.h"
#include "too_few.h"

enum { LOSSES, TARGETS };                                 /* slots */
enum { MODE, MODE_STEP, LOSS, GUESS, TARGETS_OF, WIDTH }; /* values of a row; GUESS: guess.h; of how many targets */
enum { EVALUATIONS = 32, FEW_LEAST = 3 };
#define COURSE_NEEDED   " losses to judge their course (against = start)"
#define COMPETING       0.5 /* correlation of two losses, below its negative: they compete */
#define BELOW_GUESS     0.95
#define BEYOND_GUESS    1.2
#define ABOVE_BEGINNING 10   /* times the first loss: all of the last quarter */
#define PLAIN_GAIN      0.02 /* of the first losses, and PLAIN_ERRORS: more than noise */
#define PLAIN_ERRORS    2
#define SAME_LOSS       1e-5  /* of a loss: as far as sums in another order differ */
#define PLAIN_EVALUATED 0.005 /* of the first loss of evaluation */

static const assay_param_def params[] = {
    SELECTION_PARAMS,
    ASSAY_BOOL_PARAM("use_losses_collection", "True", "Also test the tensors of the collection losses."),
    ASSAY_INT_PARAM("num_steps", "10", 1, 0x1p53,
                    "Steps between two evaluations, and the smallest distance between the two losses compared."),
    {.name = "diff_percent",
     .type = ASSAY_PARAM_REAL,
     .initial = "0.1",
     .least = 0,
     .most = 100,
     .flags = ASSAY_PARAM_ABOVE | ASSAY_PARAM_BELOW,
     .help = "A loss that fell by less than this percentage fires."},
    {.name = "increase_threshold_percent",
     .type = ASSAY_PARAM_REAL,
     .initial = "5",
     .least = 0,
     .most = 100,
     .flags = ASSAY_PARAM_ABOVE | ASSAY_PARAM_BELOW,
     .help = "A loss that rose fires when it rose by more than this percentage."},
    ASSAY_CHOICE_PARAM(
        "mode", NULL, "TRAIN|EVAL|GLOBAL",
        "Mode whose losses are compared; by default the first of EVAL and TRAIN that has any, else GLOBAL. Against the start: TRAIN if it has any, else GLOBAL."),
    ASSAY_CHOICE_PARAM(
        "against", "previous", "previous|start",
        "What a loss is compared with: the loss num_steps earlier, or the whole course since the training began."),
    ASSAY_REAL_PARAM(
        "plateau_percent", "20", 0, 100,
        "Against the start: the rule also fires if a loss fell by less than this percentage and has stalled since."),
    {0},
};

/* What the job chose, as it is asked for at each loss: against = start, tensors by collection or name, a mode. */
enum { FROM_START = 1, NAMED = 2, OF_MODE = 4 };
static const unsigned CHOICES[] = {0, 1, 2, 3, 4, 5, 6, 7};

static unsigned choice(const assay_rule *rule)
{
    return *(const unsigned *)rule->data;
}

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    const bool start = strcmp(assay_param_text(given, "against"), "start") == 0;
    const bool named = assay_param_has(given, "collection_names") || assay_param_has(given, "tensor_regex");
    *data = (void *)(uintptr_t)&CHOICES[(start ? FROM_START : 0) | (named ? NAMED : 0) |
                                        (assay_param_has(given, "mode") ? OF_MODE : 0)];
    bool losses = assay_param_bool(given, "use_losses_collection");
    if (!losses && !named)
        return assay_fail(err, ASSAY_EPARAM,
                          "parameter use_losses_collection is false: then one of collection_names and "
                          "tensor_regex is required");
    uint32_t modes = chosen_modes(given);
    int slot = assay_need_slot(need,
                               &(assay_slot){.collections = "collection_names",
                                             .collection = losses ? "losses" : NULL,
                                             .regexes = "tensor_regex",
                                             .modes = modes == 1u << ASSAY_MODE_GLOBAL ? 0 : modes,
                                             .flags = ASSAY_SLOT_NO_STRINGS},
                               err);
    int status = slot < 0 ? slot : assay_need_rows(need, slot, &(assay_rows){.width = WIDTH}, err);
    if (status < 0 || !start)
        return status;
    slot = assay_need_slot(need,
                           &(assay_slot){.pattern = "Loss_input_1$",
                                         .modes = 1u << ASSAY_MODE_TRAIN,
                                         .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_OPTIONAL},
                           err);
    status = slot < 0
                 ? slot
                 : assay_need_measure(need, slot,
                                      &(assay_measure){.kind = ASSAY_MEASURE_CLASSES, .form = ASSAY_CLASS_ROUND}, err);
    return status < 0 ? status : ASSAY_OK;
}

static bool against_start(const assay_rule *rule)
{
    return choice(rule) & FROM_START;
}

/* Of a log, unless the job names others, only the losses of TRAIN that have to fall. */
static bool is_tested(const assay_rule *rule, uint32_t tensor, int mode)
{
    const unsigned logged = assay_trial_logged(rule->trial, tensor);
    if (!logged || (choice(rule) & NAMED))
        return true;
    return (logged & ASSAY_LOGGED_OBJECTIVE) && ((choice(rule) & OF_MODE) || mode == ASSAY_MODE_TRAIN);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < view->slot[0].count; i++) {
        const assay_tensor_view *item = view->slot[0].items[i];
        if (!assay_view_has_values(item) || !is_tested(rule, item->tensor, view->mode))
            continue;
        const double guess = against_start(rule) ? guess_of(view, TARGETS, 0, item) : (double)NAN;
        const assay_tensor_view *targets = isnan(guess) ? NULL : guess_targets(&view->slot[TARGETS], item);
        double row[WIDTH] = {view->mode, (double)view->mode_step, assay_stats_mean(item->stats), guess,
                             targets ? (double)targets->stats->count : 0};
        status = assay_series_add(s->series, view->step, item->tensor, item->worker, row);
    }
    return status;
}

/* Judged on all saved steps of the tensors that were selected, whatever the range of steps. */
static int default_mode(const assay_rule *rule, const assay_series *series)
{
    unsigned modes = 0;
    for (uint64_t i = 0; i < assay_series_count(series); i++)
        modes |= assay_trial_tensor_modes(rule->trial, assay_series_row(series, i).tensor);
    const bool start = against_start(rule) || assay_trial_is_log(rule->trial); /* evaluations follow their training */
    return modes & 1u << ASSAY_MODE_EVAL && !start ? ASSAY_MODE_EVAL
           : modes & 1u << ASSAY_MODE_TRAIN        ? ASSAY_MODE_TRAIN
                                                   : ASSAY_MODE_GLOBAL;
}

static double decrease_percent(double before, double now)
{
    if (before == 0)
        return isnan(now) ? NAN : now == 0 ? 0 : -INFINITY;
    return 100.0 * (before - now) / fabs(before);
}

typedef struct walk {
    const assay_rule *rule;
    const assay_series *series;
    const uint64_t *rows; /* of one tensor and worker, ascending in step */
    uint64_t count;
    int mode;
    bool unmarked;  /* rows of no mode before the first of the mode count as well */
    uint64_t begin; /* the first row of the mode; 0: none */
    bool alone;     /* the worker has no other loss */
    bool competes;  /* what it gains another loss of the worker loses */
    double guess;   /* the loss of a guess, at the end; NaN: not known, 0: all targets are one */
    double beyond;  /* that of a guess summed over the targets, which no sum of losses comes to; infinite: not known */
} walk;

static double step_of(const walk *w, uint64_t i)
{
    assay_row row = assay_series_row(w->series, w->rows[i]);
    return w->mode == ASSAY_MODE_GLOBAL ? (double)row.step : row.value[MODE_STEP];
}

static bool in_mode(const walk *w, uint64_t i)
{
    double mode = assay_series_row(w->series, w->rows[i]).value[MODE];
    return w->mode == ASSAY_MODE_GLOBAL || mode == w->mode ||
           (w->unmarked && i < w->begin && mode == ASSAY_MODE_GLOBAL);
}

static int evaluate(const walk *w, assay_findings *findings)
{
    const assay_params *p = w->rule->params;
    double num_steps = (double)assay_param_int(p, "num_steps"), last = -INFINITY;
    double least = assay_param_real(p, "diff_percent"), rise = assay_param_real(p, "increase_threshold_percent");
    uint64_t next = 0,
             reference = UINT64_MAX; /* rows before `next` are old enough; the newest of the mode is the reference */
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < w->count; i++) {
        assay_row row = assay_series_row(w->series, w->rows[i]);
        if (!in_mode(w, i))
            continue;
        for (; next < i && (!in_mode(w, next) || step_of(w, next) <= step_of(w, i) - num_steps); next++)
            reference = in_mode(w, next) ? next : reference;
        if (reference == UINT64_MAX || row.step < w->rule->start_step || step_of(w, i) - last < num_steps)
            continue;
        last = step_of(w, i);
        double d = decrease_percent(assay_series_row(w->series, w->rows[reference]).value[LOSS], row.value[LOSS]);
        assay_finding finding = {.step = row.step,
                                 .tensor = row.tensor,
                                 .worker = row.worker,
                                 .value = d,
                                 .threshold = d >= 0 ? least : rise};
        status = assay_findings_test(findings, d >= 0 ? d < least : -d > rise, &finding);
    }
    return status;
}

/* Sets w->guess and w->beyond from the last quarter of the mode's losses. */
static void find_guess(walk *w)
{
    uint64_t n = 0, seen = 0, known = 0;
    double sum = 0, most = 0;
    for (uint64_t i = 0; i < w->count; i++)
        n += in_mode(w, i);
    for (uint64_t i = 0; i < w->count; i++) {
        const assay_row row = assay_series_row(w->series, w->rows[i]);
        const double guess = row.value[GUESS];
        if (!in_mode(w, i) || 4 * ++seen <= 3 * n)
            continue;
        most = isfinite(guess) ? fmax(most, BEYOND_GUESS * guess * row.value[TARGETS_OF]) : most;
        known += isfinite(guess) != 0;
        sum += isfinite(guess) ? guess : 0;
    }
    w->guess = known > 0 && 4 * known >= 3 * (n - 3 * n / 4) ? sum / (double)known : (double)NAN;
    w->beyond = w->guess > 0 && most > 0 ? most : (double)INFINITY;
}

/* The finite losses of the mode, oldest first; `row` gets the numbers of their rows in the walk. */
static uint64_t finite_losses(const walk *w, double *loss, uint64_t *row)
{
    uint64_t n = 0;
    for (uint64_t i = 0; i < w->count; i++) {
        double x = assay_series_row(w->series, w->rows[i]).value[LOSS];
        if (in_mode(w, i) && isfinite(x)) {
            loss[n] = x;
            row[n++] = w->rows[i];
        }
    }
    return n;
}

/* Do the losses of evaluation fall, up to a step? Most pairs of them, and the last against the first by a share of it.
 * `none`: where there are too few to tell. */
static bool falls_in_evaluation(const walk *w, int64_t until, double share, bool none)
{
    int64_t pairs = 0, falling = 0;
    double first = NAN, last = NAN;
    for (uint64_t i = 0; i < w->count; i++) {
        const assay_row row = assay_series_row(w->series, w->rows[i]);
        if (row.value[MODE] != ASSAY_MODE_EVAL || row.step > until || !isfinite(row.value[LOSS]))
            continue;
        pairs += !isnan(last);
        falling += row.value[LOSS] < last;
        first = isnan(first) ? row.value[LOSS] : first;
        last = row.value[LOSS];
    }
    return pairs < FEW_LEAST ? none : 4 * falling >= 3 * pairs && first - last > share * fabs(first);
}

/* Is a course that hardly fell no sign of a fault? */
static bool is_excused(const walk *w, const course *c, int64_t until)
{
    if (w->guess > 0)
        return c->last < BELOW_GUESS * w->guess;
    if (w->guess == 0 && c->last < 2 * fabs(c->first))
        return true;
    return isnan(w->guess) && c->later > fmax(PLAIN_GAIN * fabs(c->first), PLAIN_ERRORS * c->error) &&
           falls_in_evaluation(w, until, PLAIN_EVALUATED, true);
}

/* Do all losses of the last quarter lie above a bound? */
static bool ends_beyond(const double *loss, uint64_t n, double bound)
{
    bool above = n >= FEW_LEAST;
    for (uint64_t i = n - (n + 3) / 4; above && i < n; i++)
        above = loss[i] > bound;
    return above;
}

/* A model that was good is no longer. */
static bool ends_above_beginning(const walk *w, const double *loss, uint64_t n)
{
    return w->alone && loss[0] > 0 && ends_beyond(loss, n, ABOVE_BEGINNING * loss[0]);
}

/* Is what the loss is held against made by what is trained, as the values of a policy are? Then a loss that comes back is no
 * sign. Told by the words that its kinds are called by. */
static bool has_moving_target(const walk *w)
{
    static const char *const words[] = {"q", "td", "value", "critic", "actor", "policy"};
    const char *name = assay_trial_tensor(w->rule->trial, assay_series_row(w->series, w->rows[0]).tensor);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t size = strlen(words[i]);
        for (const char *at = name; (at = strcasestr(at, words[i])); at++)
            if ((at == name || !isalpha((unsigned char)at[-1])) && !isalpha((unsigned char)at[size]))
                return true;
    }
    return false;
}

/* Is the course of loss[0 .. n) bad? Sets the value and the threshold of the finding, and says why. A loss among
 * several may come back: of two networks that compete, one gains what the other loses. */
static bool course_is_bad(const walk *w, const double *loss, uint64_t n, double *room, assay_finding *finding,
                          char *note, size_t size)
{
    const assay_params *p = w->rule->params;
    double least = assay_param_real(p, "diff_percent"), plateau = assay_param_real(p, "plateau_percent");
    course c;
    const bool told = course_of(loss, n, least, room, &c), fell = c.fall > least || c.descends;
    const bool falls =
        (fell && falls_in_evaluation(w, finding->step, COURSE_FLAT, false)) || is_excused(w, &c, finding->step);
    const bool flat = c.flat && c.fall < plateau && !falls, never_fell = c.never_fell && !falls;
    const bool came_back = c.came_back && w->alone && !has_moving_target(w);
    const bool beyond = ends_beyond(loss, n, w->beyond), above = ends_above_beginning(w, loss, n);
    finding->value = c.fall;
    finding->threshold = came_back || never_fell ? least : plateau;
    if (beyond)
        snprintf(note, size, "it ends far above that of one constant answer, %.3g", w->guess);
    else if (above)
        snprintf(note, size, "it ends above %d times the first", ABOVE_BEGINNING);
    else if (came_back)
        snprintf(note, size, "it has lost %.3g %% of what it had gained", c.lost);
    else
        snprintf(note, size, flat ? "it stands still, %.3g %% below its beginning" : "%.3g %% below its beginning",
                 c.fall);
    return !w->competes && (beyond || above || (told && (came_back || never_fell || flat)));
}

/* The levels of a course that is bad: the report's first line tells from them whether the loss rose or stood still. */
static void put_course(const walk *w, const course *c, const uint64_t *row, bool beyond, assay_buf *json)
{
    const assay_row best = assay_series_row(w->series, row[c->best_at]);
    const struct {
        const char *name;
        double value;
    } members[] = {{"first", c->first},
                   {"least", c->best},
                   {"least_at", w->mode == ASSAY_MODE_GLOBAL ? (double)best.step : best.value[MODE_STEP]},
                   {"last", c->last},
                   {"error", c->error},
                   {"guess", w->guess}};
    const size_t count = sizeof members / sizeof *members - !beyond;
    if (json->size > 0)
        return;
    assay_put_format(json, "\"course\": {");
    for (size_t i = 0; i < count; i++) {
        assay_put_format(json, "%s\"%s\": ", i > 0 ? ", " : "", members[i].name);
        assay_json_put_number(json, members[i].value);
    }
    assay_put_format(json, "}");
}

/* Too few losses for a course: did they rise, each behind the first third above the first, to RISEN times it? Of COURSE_FEW
 * or more those that soon stand there did not, unless it is far above: noise of so small a first loss would not show. */
static bool has_risen(const double *loss, uint64_t n, double *room)
{
    static const double RISEN = 2, GOES_ON = 1.25;
    bool above = n >= FEW_LEAST && loss[0] > 0 && loss[n - 1] > RISEN * loss[0];
    for (uint64_t i = n < 2 * FEW_LEAST ? 1 : n / 3; above && i < n; i++)
        above = loss[i] > loss[0];
    return above && (n < COURSE_FEW || loss[n - 1] > ABOVE_BEGINNING * loss[0] ||
                     course_median(loss, n - n / 4, n, room) > GOES_ON * course_median(loss, n / 4, n / 2, room));
}

/* Too few losses for a course: do they, and those of evaluation, stay what they were first? One mode alone may be noise. */
static bool has_stood(const walk *w, const double *loss, uint64_t n)
{
    static const double STOOD = 0.03;
    double first = NAN;
    uint64_t evaluations = 0;
    bool stood = n >= FEW_LEAST;
    for (uint64_t i = 1; i < n; i++)
        stood = stood && fabs(loss[i] - loss[0]) < STOOD * fabs(loss[0]);
    for (uint64_t i = 0; stood && i < w->count; i++) {
        const assay_row row = assay_series_row(w->series, w->rows[i]);
        if (row.value[MODE] != ASSAY_MODE_EVAL || !isfinite(row.value[LOSS]))
            continue;
        first = isnan(first) ? row.value[LOSS] : first;
        stood = fabs(row.value[LOSS] - first) < STOOD * fabs(first);
        evaluations++;
    }
    return stood && evaluations >= FEW_LEAST;
}

static int evaluate_few(const walk *w, double *loss, const uint64_t *row, uint64_t n, assay_verdict *verdict, bool *bad)
{
    course c = {.first = loss[0], .best = loss[0], .last = loss[n - 1]};
    const bool beyond = *bad && ends_beyond(loss, n, w->beyond),
               risen = *bad && !beyond && has_risen(loss, n, loss + w->count);
    const bool stood = *bad && !beyond && !risen && has_stood(w, loss, n);
    course back;
    const bool came_back = *bad && !beyond && !risen && !stood && w->alone && !has_moving_target(w) &&
                           few_came_back(loss, n, loss + w->count, &back);
    c = came_back ? back : c;
    const assay_row at = assay_series_row(w->series, row[n - 1]);
    const double percent = decrease_percent(loss[0], loss[n - 1]);
    const assay_finding finding = {.step = assay_series_row(w->series, row[came_back ? n - 1 : 1]).step,
                                   .tensor = at.tensor,
                                   .worker = at.worker,
                                   .value = percent,
                                   .threshold = assay_param_real(w->rule->params, "diff_percent"),
                                   .note = beyond  ? "few losses, and the last far above that of one constant answer"
                                           : risen ? "few losses, and all above the first"
                                           : came_back ? "few losses, and the last have lost what had been gained"
                                                       : "few losses, and all as the first"};
    *bad = beyond || risen || stood || came_back;
    if (!verdict || at.step < w->rule->start_step || !*bad)
        return ASSAY_OK;
    put_course(w, &c, row, beyond, assay_verdict_json(verdict));
    return assay_findings_test(assay_verdict_findings(verdict), true, &finding);
}

/* Adds the evaluations of one tensor and worker, from the last one back; an evaluation fires where all later ones do.
 * With `verdict` NULL only judges the last. Sets *bad where it fires. */
static int evaluate_course(const walk *w, double *loss, uint64_t *row, assay_verdict *verdict, bool *bad)
{
    assay_findings *findings = verdict ? assay_verdict_findings(verdict) : NULL;
    uint64_t n = finite_losses(w, loss, row), evaluations = n < COURSE_LEAST ? 0 : n - COURSE_LEAST + 1;
    double *room = loss + w->count;
    bool fires = *bad;
    int status = ASSAY_OK;
    evaluations = evaluations > EVALUATIONS ? EVALUATIONS : evaluations;
    if (evaluations == 0 && n >= FEW_LEAST)
        return evaluate_few(w, loss, row, n, verdict, bad);
    *bad = false;
    for (uint64_t k = 0; status == ASSAY_OK && k < (findings ? evaluations : evaluations > 0); k++) {
        uint64_t upto = k ? n - (n - COURSE_LEAST) * k / (evaluations - 1) : n;
        assay_row at = assay_series_row(w->series, row[upto - 1]);
        char note[80];
        assay_finding finding = {.step = at.step, .tensor = at.tensor, .worker = at.worker, .note = note};
        fires = fires && course_is_bad(w, loss, upto, room, &finding, note, sizeof note);
        *bad = *bad || fires;
        if (findings && k == 0 && fires) {
            course whole;
            course_of(loss, n, 0, room, &whole);
            whole.first = ends_above_beginning(w, loss, n) ? loss[0] : whole.first;
            put_course(w, &whole, row, ends_beyond(loss, n, w->beyond), assay_verdict_json(verdict));
        }
        if (findings && at.step >= w->rule->start_step)
            status = assay_findings_test(findings, fires, &finding);
    }
    return status;
}

/* Sets w->rows and w->count to the rows of the tensor and worker that begin at order[i]. */
static void take_rows(walk *w, const uint64_t *order, uint64_t i, uint64_t count)
{
    assay_row first = assay_series_row(w->series, order[i]);
    w->rows = order + i;
    for (w->count = 1; i + w->count < count; w->count++) {
        assay_row row = assay_series_row(w->series, order[i + w->count]);
        if (row.tensor != first.tensor || row.worker != first.worker)
            break;
    }
    for (w->begin = 0; w->begin < w->count; w->begin++)
        if (assay_series_row(w->series, w->rows[w->begin]).value[MODE] == w->mode)
            return;
    w->begin = 0;
}

/* Do two losses of a worker go against each other? Those of one failing training stand still, each with its own noise.
 */
static bool compete(const walk *a, const walk *b)
{
    double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0; /* means, and sums of squares about them */
    for (uint64_t i = 0, k = 0; i < a->count && k < b->count;) {
        assay_row of_a = assay_series_row(a->series, a->rows[i]), of_b = assay_series_row(b->series, b->rows[k]);
        bool both = of_a.step == of_b.step && in_mode(a, i) && isfinite(of_a.value[LOSS]) && isfinite(of_b.value[LOSS]);
        i += of_a.step <= of_b.step;
        k += of_b.step <= of_a.step;
        if (!both)
            continue;
        double dx = of_a.value[LOSS] - x, dy = of_b.value[LOSS] - y;
        n++;
        x += dx / n;
        y += dy / n;
        xx += dx * (of_a.value[LOSS] - x);
        yy += dy * (of_b.value[LOSS] - y);
        xy += dx * (of_b.value[LOSS] - y);
    }
    return n >= COURSE_LEAST && xy < -COMPETING * sqrt(xx * yy);
}

/* Sets w->competes for the loss whose rows begin at order[i]. */
static void find_competitor(walk *w, const uint64_t *order, uint64_t i, uint64_t count)
{
    walk other = *w;
    uint32_t worker = assay_series_row(w->series, order[i]).worker;
    w->competes = false;
    for (uint64_t k = 0; !w->competes && k < count; k += other.count) {
        take_rows(&other, order, k, count);
        if (k != i && assay_series_row(w->series, order[k]).worker == worker)
            w->competes = compete(w, &other);
    }
}

/* Of each worker: how many losses it has, and how many of them have a bad course; does it train, and has a loss of it
 * gained? */
typedef struct worker_losses {
    uint64_t all, bad;
    bool trains, gained;
} worker_losses;

/* Of each step of the trial, and behind the last one: how many before it count as steps of the mode. NULL without memory. */
static double *places_of(const walk *w)
{
    const uint64_t steps = assay_trial_steps(w->rule->trial);
    double *place = calloc((size_t)steps + 1, sizeof *place);
    bool begun = false;
    for (uint64_t i = 0; place && i < steps; i++) {
        const assay_step_info *step = assay_trial_step(w->rule->trial, i);
        begun = begun || step->mode == w->mode;
        place[i + 1] =
            place[i] + (step->step < w->rule->end_step && (w->mode == ASSAY_MODE_GLOBAL || step->mode == w->mode ||
                                                           (w->unmarked && !begun && step->mode == ASSAY_MODE_GLOBAL)));
    }
    return place;
}

/* Looks whether a loss came to harm; `place` is of places_of(). False where it was not finite at some step of the mode, or
 * is not known up to the end. */
static bool look_for_harm(const walk *w, double *loss, uint64_t *row, const double *place, worker_losses *mine, harm *h)
{
    double *room = loss + w->count, *step = room + w->count, *at = step + w->count;
    const assay_trial *trial = w->rule->trial;
    const uint64_t n = finite_losses(w, loss, row), steps = assay_trial_steps(trial);
    uint64_t all = 0, begin = 0;
    bool ends_in_gap = false;
    for (uint64_t i = 0; i < w->count; i++)
        all += in_mode(w, i);
    for (uint64_t i = 0; i < n; i++) {
        const int64_t number = assay_series_row(w->series, row[i]).step;
        step[i] = (double)number;
        at[i] = place[assay_trial_find_step(trial, number)];
    }
    while (begin + 1 < steps && place[begin + 1] == 0)
        begin++;
    const harm_course known = {n, loss, step, at, (double)assay_trial_step(trial, begin)->step, 0, place[steps] - 1};
    mine->trains = mine->trains || all > 0;
    mine->gained = harm_of(&known, room, h, &ends_in_gap) || mine->gained;
    return n == all && !ends_in_gap && !ends_beyond(loss, n, w->beyond) &&
           !(mine->all == 1 && n > 0 && ends_above_beginning(w, loss, n));
}

/* Has each worker a loss of its own to tell of harm? Stages of a pipeline have none, nor have ranks whose logs are read. */
static bool each_has_a_loss(const assay_rule *rule, uint32_t tensor)
{
    return !assay_param_text(rule->params, "worker") && !assay_trial_is_log(rule->trial) &&
           !assay_trial_relation(rule->trial, tensor, 0).known;
}

/* Of a loss of one worker and one of another at the same steps of the mode: adds how many are the same, and how many are not. */
static void count_same(const walk *a, const walk *b, uint64_t *same, uint64_t *unlike)
{
    for (uint64_t i = 0, k = 0; i < a->count && k < b->count;) {
        const assay_row of_a = assay_series_row(a->series, a->rows[i]), of_b = assay_series_row(b->series, b->rows[k]);
        const double apart = fabs(of_a.value[LOSS] - of_b.value[LOSS]);
        if (of_a.step == of_b.step && in_mode(a, i)) {
            *same += apart <= SAME_LOSS * fabs(of_a.value[LOSS]);
            *unlike += !(apart <= SAME_LOSS * fabs(of_a.value[LOSS]));
        }
        i += of_a.step <= of_b.step;
        k += of_b.step <= of_a.step;
    }
}

/* Have workers one loss? So they have where they hold parts of one network; copies that learn alone have each their own. */
static bool is_one_loss(const walk *w, const uint64_t *order, uint64_t count)
{
    walk first = *w, other = *w;
    uint64_t same = 0, unlike = 0;
    for (uint64_t i = 0; i < count; i += other.count) {
        take_rows(&other, order, i, count);
        if (i == 0 || assay_series_row(w->series, order[i]).tensor != assay_series_row(w->series, first.rows[0]).tensor)
            first = other;
        else
            count_same(&first, &other, &same, &unlike);
    }
    return same >= HARM_LEAST && unlike == 0;
}

/* What the diagnosis asks before it calls wrong what healthy trainings have as well. */
static void put_harm(const harm *h, bool one_loss, assay_buf *json)
{
    assay_put_format(json, "%s\"harm\": {\"seen\": ", json->size > 0 ? ", " : "");
    assay_json_put_number(json, h->seen);
    assay_put_format(json, ", \"setbacks\": [");
    for (size_t i = 0; i < h->setbacks; i++) {
        assay_put_format(json, "%s[", i > 0 ? ", " : "");
        assay_json_put_number(json, h->setback[i].from);
        assay_put_format(json, ", ");
        assay_json_put_number(json, h->setback[i].to);
        assay_put_format(json, "]");
    }
    assay_put_format(json, one_loss ? "], \"one_loss\": true}" : "]}");
}

/* Judges the courses: first the last evaluation of each, then those before where all losses of the worker are bad. */
static int evaluate_courses(walk *w, const uint64_t *order, uint64_t count, assay_verdict *verdict)
{
    worker_losses *workers = calloc((size_t)assay_trial_workers(w->rule->trial) + 1, sizeof *workers);
    double *place = places_of(w),
           *loss = count <= SIZE_MAX / 4 / sizeof *loss ? calloc(4 * count + 1, sizeof *loss) : NULL;
    uint64_t *row = calloc(count + 1, sizeof *row);
    harm h = {.seen = INFINITY};
    bool well = count > 0;
    int status = workers && place && loss && row ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint64_t i = 0; status == ASSAY_OK && i < count; i += w->count) {
        take_rows(w, order, i, count);
        const uint32_t worker = assay_series_row(w->series, order[i]).worker;
        workers[worker < assay_trial_workers(w->rule->trial) ? worker : 0].all++;
    }
    for (int pass = 0; status == ASSAY_OK && pass < 2; pass++) {
        for (uint64_t i = 0; status == ASSAY_OK && i < count; i += w->count) {
            take_rows(w, order, i, count);
            find_guess(w);
            uint32_t worker = assay_series_row(w->series, order[i]).worker;
            worker_losses *mine = &workers[worker < assay_trial_workers(w->rule->trial) ? worker : 0];
            const bool whole = assay_trial_logged(w->rule->trial, assay_series_row(w->series, order[i]).tensor) &
                               ASSAY_LOGGED_WHOLE; /* what is all that is minimised is judged by itself */
            bool bad = pass == 0 || whole || mine->bad == mine->all;
            w->alone = whole || mine->all == 1;
            w->competes = false;
            if (pass > 0 && bad && !w->alone)
                find_competitor(w, order, i, count);
            status = evaluate_course(w, loss, row, pass == 0 ? NULL : verdict, &bad);
            mine->bad += pass == 0 && bad;
            well = (pass == 0 || look_for_harm(w, loss, row, place, mine, &h)) && well;
        }
    }
    const bool has_to_tell = count > 0 && each_has_a_loss(w->rule, assay_series_row(w->series, order[0]).tensor);
    for (uint32_t i = 0; status == ASSAY_OK && i < assay_trial_workers(w->rule->trial); i++)
        well = well && (workers[i].gained || !(workers[i].trains || has_to_tell));
    if (status == ASSAY_OK && well && isfinite(h.seen))
        put_harm(&h, is_one_loss(w, order, count), assay_verdict_json(verdict));
    free(row);
    free(loss);
    free(place);
    free(workers);
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    walk w = {.rule = rule, .series = ((const assay_common_state *)state)->series};
    uint64_t count = assay_series_count(w.series), *order = assay_series_by_tensor(w.series);
    if (count && !order)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    const char *mode = assay_param_text(rule->params, "mode");
    w.mode = mode ? assay_mode_parse(mode, strlen(mode)) : default_mode(rule, w.series);
    w.unmarked = against_start(rule) && !mode && w.mode == ASSAY_MODE_TRAIN;
    int status = ASSAY_OK;
    if (against_start(rule))
        status = evaluate_courses(&w, order, count, verdict);
    for (uint64_t i = 0; status == ASSAY_OK && !against_start(rule) && i < count; i += w.count) {
        take_rows(&w, order, i, count);
        status = evaluate(&w, assay_verdict_findings(verdict));
    }
    free(order);
    if (status == ASSAY_OK && against_start(rule))
        status = say_longest(rule, w.series, LOSS, COURSE_LEAST, COURSE_NEEDED, verdict);
    return status;
}

/* Are there enough steps for a course, or is any step of the mode num_steps behind another? */
static bool reason(const assay_rule *rule, unsigned modes, assay_buf *out)
{
    const char *chosen = assay_param_text(rule->params, "mode");
    int mode = chosen                           ? assay_mode_parse(chosen, strlen(chosen))
               : modes & 1u << ASSAY_MODE_EVAL  ? ASSAY_MODE_EVAL
               : modes & 1u << ASSAY_MODE_TRAIN ? ASSAY_MODE_TRAIN
                                                : ASSAY_MODE_GLOBAL;
    int64_t num_steps = assay_param_int(rule->params, "num_steps"), first = 0, last = 0;
    uint64_t steps = 0;
    if (against_start(rule)) {
        mode = !chosen && modes & 1u << ASSAY_MODE_TRAIN ? ASSAY_MODE_TRAIN : mode;
        return reason_few_steps(rule, mode == ASSAY_MODE_GLOBAL ? ASSAY_MODE_NONE : mode, COURSE_LEAST, COURSE_NEEDED,
                                out);
    }
    for (uint64_t i = 0; i < assay_trial_steps(rule->trial); i++) {
        const assay_step_info *info = assay_trial_step(rule->trial, i);
        if (mode != ASSAY_MODE_GLOBAL && info->mode != mode)
            continue;
        last = mode == ASSAY_MODE_GLOBAL ? info->step : info->mode_step;
        first = steps++ == 0 ? last : first;
    }
    if (steps > 1 && last - first >= num_steps)
        return false;
    assay_put_format(out, "%s has %" PRIu64 " step%s; none is %" PRId64 " after another (num_steps).",
                     assay_mode_name(mode), steps, assay_plural(steps), num_steps);
    return true;
}

const assay_rule_ops assay_rule_loss_not_decreasing = {
    ASSAY_RULE_HEAD,
    .name = "LossNotDecreasing",
    .summary = "Losses that hardly fall, or rise, from one evaluation to the next.",
    .advice = "If it never fell, check labels, loss function and learning rate on a handful of samples that a healthy "
              "model can memorise; if it stopped falling, lower the learning rate or end the training; if it rises, "
              "the learning rate is too high or the data changed at the step named.",
    .params = params,
    .traits = ASSAY_RULE_LOOKS_BACK,
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS("% decrease"),
    .sentences = ASSAY_TEXTS("{tensor}{of} hardly fell by {when}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
    .reason = reason,
};
