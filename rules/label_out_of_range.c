/* label_out_of_range.c - LabelOutOfRange: labels that are not class numbers.
 *
 * For each worker and tensor of labels, value = number of elements that are not whole, below 0, or at least the number
 * of classes; fires when there is one. The number of classes is the parameter `classes`, else the length of the axis of
 * classes in the predictions that belong to the labels (paired by their order within the worker; classes.h). If the
 * shapes do not tell, only the first two count. Values of ignore_labels are left out. Labels with the shape of
 * floating-point predictions are scores themselves and are not tested. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pairs.h"
#include "selection.h"

enum { LABELS, PREDICTIONS };

static const assay_param_def params[] = {
    {.name = "labels_regex",
     .type = ASSAY_PARAM_REGEX,
     .initial = "labels?$,CrossEntropyLoss_input_1$,NLLLoss_input_1$",
     .help = "Patterns (re.search) for names of labels."},
    {.name = "predictions_regex",
     .type = ASSAY_PARAM_REGEX,
     .initial = "predictions?$,CrossEntropyLoss_input_0$,NLLLoss_input_0$",
     .help = "Patterns (re.search) for names of predictions, whose shape tells the number of classes."},
    {.name = "classes",
     .type = ASSAY_PARAM_INT,
     .least = 1,
     .most = 0x1p53,
     .help = "Number of classes; by default from the predictions."},
    IGNORE_LABELS_PARAM,
    {.name = "ignore", .type = ASSAY_PARAM_REALS, .help = "The older name of ignore_labels."},
    {0},
};

static const char *const remedies[] = {
    "Look at the samples of the step named: an unknown class, a label counted from 1, or a marker for a missing label.",
    "Make the output layer as wide as the number of classes, or map the labels to 0 .. classes - 1 in the dataset.",
    "If the value means no label, pass it as ignore_index to the loss and in the parameter ignore_labels.",
    NULL,
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    (void)data;
    assay_slot slot = {.regexes = "labels_regex", .flags = ASSAY_SLOT_NO_STRINGS};
    int number = ignored_labels_check(given, "ignore_labels", err);
    number = number ? number : ignored_labels_check(given, "ignore", err);
    number = number ? number : assay_need_slot(need, &slot, err);
    assay_measure values = {.kind = ASSAY_MEASURE_VALUES};
    if (number >= 0)
        number = assay_need_measure(need, number, &values, err);
    slot = (assay_slot){.regexes = "predictions_regex", .flags = ASSAY_SLOT_NO_STRINGS | ASSAY_SLOT_TIME_ONLY};
    if (number >= 0)
        number = assay_need_slot(need, &slot, err);
    return number < 0 ? number : ASSAY_OK;
}

static bool same_shape(const assay_tensor_view *a, const assay_tensor_view *b)
{
    return a->dims == b->dims && (a->dims == 0 || memcmp(a->shape, b->shape, (size_t)a->dims * sizeof *a->shape) == 0);
}

/* The length of the axis of scores; 0 where the shapes do not tell. Where both axes fit, they are of one length. */
static int64_t classes_by_shape(const assay_tensor_view *labels, const assay_tensor_view *scores)
{
    unsigned axes = class_axes(labels, scores);
    return axes == 0 ? 0 : axes & LAST_AXIS ? scores->shape[scores->dims - 1] : scores->shape[1];
}

/* The parameter `ignore` is the older name: given alone, it stands for ignore_labels. */
static ignored_labels ignored_of(const assay_params *given)
{
    bool older = assay_param_has(given, "ignore") && !assay_param_given(given, "ignore_labels");
    return ignored_labels_of(given, older ? "ignore" : "ignore_labels");
}

typedef struct verdict_on_labels {
    uint64_t bad, first;
    double value; /* of the first bad one */
} verdict_on_labels;

static verdict_on_labels look_at(const ignored_labels *ignored, const assay_values *values, int64_t classes)
{
    verdict_on_labels v = {0};
    for (uint64_t k = 0; k < values->count; k++) {
        double x = values->value[k];
        bool good = x >= 0 && x == floor(x) && isfinite(x) && (classes == 0 || x < (double)classes);
        if (good || is_ignored_label(ignored, x))
            continue;
        if (v.bad++ == 0) {
            v.first = k;
            v.value = x;
        }
    }
    return v;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    (void)err;
    const assay_slot_view *slot = &view->slot[LABELS], *predictions = &view->slot[PREDICTIONS];
    const ignored_labels ignored = ignored_of(rule->params);
    int status = ASSAY_OK;
    for (uint32_t i = 0; status == ASSAY_OK && i < slot->count; i++) {
        const assay_tensor_view *item = slot->items[i];
        const assay_result *result = assay_view_has_values(item) ? assay_view_result(view, 0, item) : NULL;
        uint32_t partner = partner_number(slot, i, predictions);
        const assay_tensor_view *scores = partner == UINT32_MAX ? NULL : predictions->items[partner];
        if (!result || (scores && assay_dtype_is_float(item->dtype) && same_shape(item, scores)))
            continue;
        int64_t classes = assay_param_has(rule->params, "classes") ? assay_param_int(rule->params, "classes")
                          : scores                                 ? classes_by_shape(item, scores)
                                                                   : 0;
        verdict_on_labels v = look_at(&ignored, &result->of.values, classes);
        char note[128], width[48] = "";
        if (classes > 0)
            snprintf(width, sizeof width, " with %" PRId64 " classes", classes);
        snprintf(note, sizeof note, "first: label %.6g at element %" PRIu64 "%s", v.value, v.first, width);
        assay_finding finding = finding_of(view, item, (double)v.bad, 0);
        finding.note = note;
        status = assay_findings_test(((assay_common_state *)state)->findings, v.bad > 0, &finding);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    (void)state;
    (void)err;
    (void)rule;
    assay_verdict_no_data(verdict,
                          "what matches as labels are floating-point numbers in the shape of the predictions: targets "
                          "of a regression, no classes.");
    return ASSAY_OK;
}

const assay_rule_ops assay_rule_label_out_of_range = {
    .abi = ASSAY_RULE_ABI,
    .size = sizeof(assay_rule_ops),
    .name = "LabelOutOfRange",
    .summary = "Labels that are negative, not whole, or beyond the number of classes.",
    .advice = "On a GPU such a label is an error without a place, or reads memory that is not its own; elsewhere it "
              "spoils the "
              "loss silently.",
    .remedies = remedies,
    .params = params,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
