/* dropout_in_evaluation.c - DropoutInEvaluation: a module drops elements in EVAL, as only training does.
 * docs/rules/DropoutInEvaluation.md.
 *
 * Of a module that was given X_input_0 and returned X_output_0, both floating point and of one shape, at an EVAL step:
 * p = share of the elements that are 0 in the output among those that are not in the input. Fires when p > `share`, and
 * what is left is larger by 1 / (1 - p), as dropout makes it: sum |y| = sum |x| and (1 - p) sum y^2 = sum x^2 but for
 * CHANCE standard errors and never for more than WIDEST of it. A ReLU halves the sum of magnitudes; what rounds to
 * levels keeps it, but takes the small ones and leaves the largest as it was, which dropout makes larger or drops. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "selection.h"
#include "siblings.h"

enum { LOOKS = 5, LEAST_ELEMENTS = 200, NOTE_ROOM = 96 };
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
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    int slot = assay_need_slot(need,
                               &(assay_slot){.regexes = "modules_regex",
                                             .modes = 1u << ASSAY_MODE_EVAL,
                                             .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_SPREAD,
                                             .first_steps = LOOKS},
                               err);
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

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    const assay_slot_view *slot = &view->slot[0];
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < slot->count; i++) {
        const assay_tensor_view *y = slot->items[i], *x = input_of(rule, slot, y);
        if (!x || !assay_view_has_values(x) || !assay_view_has_values(y) || !assay_dtype_is_float(x->dtype) ||
            !assay_dtype_is_float(y->dtype))
            continue;
        const double p = dropped(x->stats, y->stats), least = assay_param_real(rule->params, "share");
        char note[NOTE_ROOM];
        snprintf(note, sizeof note, "%.2g %% of the elements dropped, and the others as much larger", 100 * p);
        assay_finding finding = finding_of(view, y, 100 * p, 100 * least);
        finding.note = note;
        status = assay_findings_test(((assay_common_state *)state)->findings, p > least, &finding);
        ASSAY_THEN(status, assay_counter_add(((assay_common_state *)state)->counter, y->tensor, 0, 1));
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    assay_put_format(assay_verdict_json(verdict), "\"modules\": %" PRIu64,
                     assay_counter_size(((const assay_common_state *)state)->counter));
    assay_verdict_no_data(verdict, "of no module both what it was given and what it returned were saved in EVAL.");
    return ASSAY_OK;
}

const assay_rule_ops assay_rule_dropout_in_evaluation = {
    ASSAY_RULE_HEAD,
    .name = "DropoutInEvaluation",
    .summary = "Modules that drop elements in EVAL, as only training does.",
    .advice = "The network was evaluated in the mode of training: its figures are those of a network with parts left "
              "out, and normalisations take those of the batch.",
    .remedies = ASSAY_TEXTS("Call eval() on the network before the evaluation, and train() behind it.",
                            "If it is meant (Monte Carlo dropout), leave the rule out of the job."),
    .params = params,
    .value_units = ASSAY_TEXTS("% of the elements dropped"),
    .sentences = ASSAY_TEXTS("{tensor}{of} was dropped out of in evaluation at {when}{note}"),
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
