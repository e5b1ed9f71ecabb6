/* dropout_in_evaluation.c - DropoutInEvaluation: a network is evaluated in the mode of training, or trained in that of
 * evaluation. docs/rules/DropoutInEvaluation.md.
 *
 *   dropped     a module drops elements in EVAL, as follows
 *   training    the hook says so at an EVAL step (scalar/modules_left_in_training)
 *   statistics  the hook says at an EVAL step that normalisations have the running statistics that they began with
 *               (scalar/modules_without_statistics)
 *   evaluation  the hook says so (scalar/modules_left_in_evaluation) of every TRAIN step of a worker with a loss from one
 *               on, which are LEAST_STEPS and `left_share` of its own: an attack that is made in between is followed by its
 *               training
 *
 * Of a module that was given X_input_0 and returned X_output_0, both floating point and of one shape, at an EVAL step:
 * p = share of the elements that are 0 in the output among those that are not in the input. Fires when p > `share`, and
 * what is left is larger by 1 / (1 - p), as dropout makes it: sum |y| = sum |x| and (1 - p) sum y^2 = sum x^2 but for
 * CHANCE standard errors and never for more than WIDEST of it. A ReLU halves the sum of magnitudes; what rounds to
 * levels keeps it, but takes the small ones and leaves the largest as it was, which dropout makes larger or drops. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "selection.h"
#include "siblings.h"

enum { LOOKS = 5, LEAST_ELEMENTS = 200, LEAST_STEPS = 2, NOTE_ROOM = 320 };
enum { MODULES, FLAGS, LOSSES };
enum { DROPPED, EVALUATION, STATISTICS, TRAINING };
enum { PARTS, WIDTH }; /* values of a row: how many modules are left in the mode of evaluation */
#define CHANCE 5.0
#define WIDEST 0.2

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM("modules_regex", "^(?!.*[Ll]oss).*_(in|out)put_0$",
                      "Patterns (re.search) for names of inputs and outputs of modules."),
    {.name = "share",
     .type = ASSAY_PARAM_REAL,
     .initial = "0.02",
     .least = 0,
     .most = 1,
     .help = "The rule fires when more than this share of the elements is dropped."},
    {.name = "left_share",
     .type = ASSAY_PARAM_REAL,
     .initial = "0.2",
     .least = 0,
     .most = 1,
     .help = "A network that is left in the mode of evaluation fires when this share of the TRAIN steps has it."},
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    const assay_slot slots[] = {
        [MODULES] = {.regexes = "modules_regex",
                     .modes = 1u << ASSAY_MODE_EVAL,
                     .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_SPREAD,
                     .first_steps = LOOKS},
        [FLAGS] = {.pattern = "^scalar/modules_(left_in_(training|evaluation)|without_statistics)$",
                   .flags = ASSAY_SLOT_NO_STRINGS},
        [LOSSES] = {.collection = "losses", .flags = ASSAY_SLOT_NO_STRINGS}};
    int slot = 0;
    for (size_t i = 0; slot >= 0 && i < sizeof slots / sizeof *slots; i++)
        slot = assay_need_slot(need, &slots[i], err);
    return slot < 0 ? slot : ASSAY_OK;
}

/* What the module of an output was given at this step; NULL: it was not saved. */
static const assay_tensor_view *input_of(const assay_rule *rule, const assay_slot_view *slot,
                                         const assay_tensor_view *output)
{
    static const char ending[] = "_output_0";
    char name[512];
    const size_t size = strlen(output->name), tail = sizeof ending - 1;
    if (size <= tail || size >= sizeof name || strcmp(output->name + size - tail, ending) != 0)
        return NULL;
    snprintf(name, sizeof name, "%.*s_input_0", (int)(size - tail), output->name);
    const uint32_t tensor = assay_trial_find_tensor(rule->trial, name);
    return tensor == ASSAY_NO_TENSOR ? NULL : item_in(slot, tensor, output->worker);
}

/* Is b as a but for chance, `error` being the relative standard error? */
static bool is_close(double a, double b, double error)
{
    return fabs(b - a) <= fmin(CHANCE * error, WIDEST) * a;
}

/* The share of elements that were dropped; 0: what was done is no dropout. */
static double dropped(const assay_stats *x, const assay_stats *y)
{
    const double left = (double)(x->count - x->zeros), p = 1 - (double)(y->count - y->zeros) / left;
    if (x->count != y->count || left < LEAST_ELEMENTS || !(p > 0 && p < 1) || !(x->magnitudes > 0))
        return 0;
    const double most_x = fmax(-x->min, x->max), most_y = fmax(-y->min, y->max),
                 of_p = CHANCE * sqrt(p * (1 - p) / left); /* and so much larger, but for chance, is the largest */
    if (fabs((1 - p) * most_y - most_x) > fmin(of_p / (1 - p), p / 2) * most_x)
        return 0;
    const double error = sqrt(p / (1 - p) * x->squares) / x->magnitudes, /* of the sum of magnitudes */
        of_squares = 4 * error;                                          /* fourth powers are not known */
    return is_close(x->magnitudes, y->magnitudes, error) && is_close(x->squares, (1 - p) * y->squares, of_squares) ? p
                                                                                                                   : 0;
}

static int map_modules(const assay_rule *rule, assay_common_state *state, const assay_step_view *view)
{
    const assay_slot_view *slot = &view->slot[MODULES];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < slot->count; i++) {
        const assay_tensor_view *y = slot->items[i], *x = input_of(rule, slot, y);
        if (!x || !assay_view_has_values(x) || !assay_view_has_values(y) || !assay_dtype_is_float(x->dtype) ||
            !assay_dtype_is_float(y->dtype))
            continue;
        const double p = dropped(x->stats, y->stats), least = assay_param_real(rule->params, "share");
        char note[NOTE_ROOM];
        snprintf(note, sizeof note, "%s has %.2g %% of the elements dropped, and the others as much larger", y->name,
                 100 * p);
        assay_finding finding = finding_of(view, y, 100 * p, 100 * least);
        finding.note = note;
        status = assay_findings_test(state->findings, p > least, &finding);
        ASSAY_THEN(status, assay_counter_add(state->counter, y->tensor, 0, 1));
    }
    return status;
}

/* What a flag of the hook is said of. */
static uint32_t said_by(const assay_tensor_view *flag)
{
    if (strstr(flag->name, "training"))
        return TRAINING;
    return strstr(flag->name, "statistics") ? STATISTICS : EVALUATION;
}

/* How many modules of a worker are said to be left in the mode of evaluation at the step in view. */
static double left_of(const assay_step_view *view, uint32_t worker)
{
    const assay_slot_view *slot = &view->slot[FLAGS];
    for (uint32_t i = 0; i < slot->count; i++)
        if (said_by(slot->items[i]) == EVALUATION && slot->items[i]->worker == worker &&
            assay_view_has_values(slot->items[i]))
            return slot->items[i]->stats->max;
    return 0;
}

static int map_flags(assay_common_state *state, const assay_step_view *view)
{
    const assay_slot_view *flags = &view->slot[FLAGS], *losses = &view->slot[LOSSES];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && view->mode == ASSAY_MODE_EVAL && i < flags->count; i++) {
        const assay_tensor_view *flag = flags->items[i];
        const uint32_t said = said_by(flag);
        if (said == EVALUATION || !assay_view_has_values(flag))
            continue;
        char note[NOTE_ROOM];
        snprintf(note, sizeof note,
                 said == TRAINING ? "%.0f modules that differ between both, dropout or normalisation, are in train()"
                                  : "those of %.0f normalisations are 0 and 1 throughout, while their gains moved",
                 flag->stats->max);
        assay_finding finding = finding_of(view, flag, flag->stats->max, 0);
        finding.test = finding.value_unit = said;
        finding.note = note;
        status = assay_findings_test(state->findings, flag->stats->max > 0, &finding);
        ASSAY_THEN(status, assay_counter_add(state->counter, flag->tensor, 0, 1));
    }
    for (uint32_t i = 0; status == ASSAY_OK && i < losses->count; i++) {
        const double row[WIDTH] = {[PARTS] = left_of(view, losses->items[i]->worker)};
        if (view->mode == ASSAY_MODE_TRAIN || row[PARTS] > 0) /* auto() takes the mode of a step from the network */
            status =
                assay_series_add(state->series, view->step, losses->items[i]->tensor, losses->items[i]->worker, row);
    }
    return status;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    const int status = map_modules(rule, state, view);
    return status == ASSAY_OK ? map_flags(state, view) : status;
}

/* A worker's steps with a loss, and the last of them at which it is left in the mode of evaluation. */
typedef struct left {
    uint64_t steps, last; /* last: in a row, up to the end */
    int64_t step, since;
} left;

static void count_left(const assay_series *series, left *list, uint32_t workers)
{
    for (uint64_t i = 0; i < assay_series_count(series); i++) {
        const assay_row row = assay_series_row(series, i);
        left *of = row.worker < workers ? &list[row.worker] : NULL;
        if (!of || (of->steps > 0 && of->step == row.step)) /* another loss */
            continue;
        of->step = row.step;
        of->steps++;
        of->last = row.value[PARTS] > 0 ? of->last + 1 : 0;
        of->since = of->last == 1 ? row.step : of->since;
    }
}

/* Of every step of a worker with a loss from one on. */
static int test_left(const assay_rule *rule, const assay_series *series, assay_findings *findings)
{
    const uint32_t flag = assay_trial_find_tensor(rule->trial, "scalar/modules_left_in_evaluation"),
                   workers = assay_trial_workers(rule->trial);
    left *list = calloc((size_t)workers + 1, sizeof *list);
    int status = list ? ASSAY_OK : ASSAY_ENOMEM;
    if (list)
        count_left(series, list, workers);
    for (uint64_t i = 0; status == ASSAY_OK && flag != ASSAY_NO_TENSOR && i < assay_series_count(series); i++) {
        const assay_row row = assay_series_row(series, i);
        left *of = row.worker < workers ? &list[row.worker] : NULL;
        if (!of || of->last == 0 || row.step < of->since)
            continue;
        const bool fires = of->last >= LEAST_STEPS &&
                           (double)of->last >= assay_param_real(rule->params, "left_share") * (double)of->steps;
        char note[NOTE_ROOM];
        snprintf(note, sizeof note, "%.0f modules that differ between both, dropout or normalisation, are in eval()",
                 row.value[PARTS]);
        const assay_finding finding = {.step = row.step,
                                       .tensor = flag,
                                       .worker = row.worker,
                                       .value = row.value[PARTS],
                                       .test = EVALUATION,
                                       .value_unit = EVALUATION,
                                       .note = note};
        of->since = row.step + 1; /* once a step, however many losses it has */
        status = assay_findings_test(findings, fires, &finding);
    }
    free(list);
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    const assay_common_state *s = state;
    const int status = test_left(rule, s->series, assay_verdict_findings(verdict));
    assay_put_format(assay_verdict_json(verdict), "\"modules\": %" PRIu64, assay_counter_size(s->counter));
    assay_verdict_no_data(verdict, "of no module both what it was given and what it returned were saved in EVAL.");
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "out of memory");
}

const assay_rule_ops assay_rule_dropout_in_evaluation = {
    ASSAY_RULE_HEAD,
    .name = "DropoutInEvaluation",
    .summary = "Networks that are evaluated in the mode of training, or trained in that of evaluation.",
    .advice = "A network that is evaluated in the mode of training has figures of a network with parts left out, and "
              "normalisations take those of the batch; one that is trained in the mode of evaluation has no dropout, "
              "and normalisations stand still.",
    .remedies = ASSAY_TEXTS("Call eval() on the network before the evaluation, and train() behind it.",
                            "If it is meant (Monte Carlo dropout), leave the rule out of the job."),
    .params = params,
    .tests = ASSAY_TEXTS([DROPPED] = "dropped", [EVALUATION] = "evaluation", [STATISTICS] = "statistics",
                         [TRAINING] = "training"),
    .series_width = WIDTH,
    .value_units = ASSAY_TEXTS([DROPPED] = "% of the elements dropped", [EVALUATION] = "modules",
                               [STATISTICS] = "modules", [TRAINING] = "modules"),
    .sentences =
        ASSAY_TEXTS([DROPPED] = "a module{of} drops elements in evaluation at {when}{note}",
                    [EVALUATION] = "the network{of} is trained in the mode of evaluation, seen at {when}{note}",
                    [STATISTICS] =
                        "the network{of} is evaluated with the running statistics that it began with at {when}{note}",
                    [TRAINING] = "the network{of} is evaluated in the mode of training at {when}{note}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
