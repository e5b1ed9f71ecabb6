/* label_out_of_range.c - LabelOutOfRange: labels that are not class numbers.
 *
 * For each worker and tensor of labels, value = number of elements that are not whole, below 0, or at least the number
 * of classes; fires when there is one. The number of classes is the parameter `classes`, else the length of the axis of
 * classes in the predictions that belong to the labels (paired by their order within the worker; classes.h). If the
 * shapes do not tell, only the first two count. Values of ignore_labels are left out. Labels with the shape of
 * floating-point predictions are scores themselves and are not tested.
 *
 * Without `strict` the rule recognises a value that stands for no label: it is the only wrong one, labels have it at
 * every saved step, and it is negative or the largest number of an integer type, such as 255. map keeps a row of every
 * bad datapoint, and finalize turns those that are left into findings. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pairs.h"
#include "selection.h"

enum { LABELS, PREDICTIONS };
enum {
    BAD,
    FIRST,
    VALUE,
    ONE,
    CLASSES,
    WIDTH
}; /* values of a row: a datapoint; are all its bad labels of one value? */

static const assay_param_def params[] = {
    ASSAY_REGEX_PARAM("labels_regex", "labels?$,CrossEntropyLoss_input_1$,NLLLoss_input_1$",
                      "Patterns (re.search) for names of labels."),
    ASSAY_REGEX_PARAM("predictions_regex", "predictions?$,CrossEntropyLoss_input_0$,NLLLoss_input_0$",
                      "Patterns (re.search) for names of predictions, whose shape tells the number of classes."),
    ASSAY_INT_PARAM("classes", NULL, 1, 0x1p53, "Number of classes; by default from the predictions."),
    IGNORE_LABELS_PARAM,
    ASSAY_BOOL_PARAM(
        "strict", "True",
        "False: one value that labels have at every saved step, negative or 255 and the like, means no label."),
    ASSAY_REALS_PARAM("ignore", NULL, 0, 0, "The older name of ignore_labels."),
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
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
    return number < 0 ? number : assay_need_rows(need, LABELS, &(assay_rows){.onsets = true}, err);
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
    bool one;     /* all bad ones have it */
} verdict_on_labels;

static verdict_on_labels look_at(const ignored_labels *ignored, const assay_values *values, int64_t classes)
{
    verdict_on_labels v = {.one = true};
    for (uint64_t k = 0; k < values->count; k++) {
        double x = values->value[k];
        bool good = x >= 0 && x == floor(x) && isfinite(x) && (classes == 0 || x < (double)classes);
        if (good || is_ignored_label(ignored, x))
            continue;
        if (v.bad++ == 0) {
            v.first = k;
            v.value = x;
        }
        v.one = v.one && x == v.value;
    }
    return v;
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_common_state *s = state;
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
        assay_findings_datapoints(s->findings, 1);
        status = assay_onsets_add(s->onsets, view, item->tensor, item->worker, &(assay_judgement){.bad = v.bad > 0});
        double row[WIDTH] = {(double)v.bad, (double)v.first, v.value, v.one, (double)classes};
        if (status == ASSAY_OK && v.bad > 0)
            status = assay_series_add(s->series, view->step, item->tensor, item->worker, row);
    }
    return status;
}

/* Is the value one that programs take to say that there is no label? */
static bool is_marker(double value)
{
    static const double largest[] = {INT8_MAX, UINT8_MAX, INT16_MAX, UINT16_MAX, INT32_MAX, UINT32_MAX};
    bool found = value < 0 && is_whole(value);
    for (size_t i = 0; i < sizeof largest / sizeof *largest && !found; i++)
        found = value == largest[i];
    return found;
}

/* What is known of a tensor of labels. */
typedef struct marker {
    double value;
    uint64_t steps, tested; /* of all workers: at which it is the only wrong value; at which there are labels */
} marker;

enum { MARKER_LEAST = 3 }; /* steps that have to have it */

static bool is_meant(const marker *m)
{
    return m->steps >= MARKER_LEAST && m->steps == m->tested;
}

/* Fills marker[tensor]. */
static void find_markers(const assay_rule *rule, const assay_common_state *s, marker *of)
{
    for (uint64_t i = 0; i < assay_onsets_count(s->onsets); i++) {
        assay_onset o = assay_onsets_get(s->onsets, i);
        for (int m = 0; m < ASSAY_MODES && o.tensor < assay_trial_tensors(rule->trial); m++)
            of[o.tensor].tested += o.tested[m];
    }
    for (uint64_t i = 0; i < assay_series_count(s->series); i++) {
        assay_row row = assay_series_row(s->series, i);
        if (row.tensor >= assay_trial_tensors(rule->trial) || row.value[ONE] == 0 || !is_marker(row.value[VALUE]))
            continue;
        marker *m = &of[row.tensor];
        m->value = m->steps == 0 ? row.value[VALUE] : m->value;
        m->steps += row.value[VALUE] == m->value;
    }
}

static int add_findings(const assay_series *series, const marker *of, uint32_t tensors, assay_findings *findings)
{
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < assay_series_count(series); i++) {
        assay_row row = assay_series_row(series, i);
        char note[128], width[48] = "";
        if (row.tensor < tensors && is_meant(&of[row.tensor]))
            continue;
        if (row.value[CLASSES] > 0)
            snprintf(width, sizeof width, " with %.0f classes", row.value[CLASSES]);
        snprintf(note, sizeof note, "first: label %.6g at element %.0f%s", row.value[VALUE], row.value[FIRST], width);
        assay_finding finding = {
            .step = row.step, .tensor = row.tensor, .worker = row.worker, .value = row.value[BAD], .note = note};
        status = assay_findings_add(findings, &finding);
    }
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    assay_verdict_no_data(verdict,
                          "what matches as labels are floating-point numbers in the shape of the predictions: targets "
                          "of a regression, not classes.");
    const assay_common_state *s = state;
    uint32_t tensors = assay_trial_tensors(rule->trial);
    marker *of = calloc((size_t)tensors + 1, sizeof *of);
    if (!of)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    if (!assay_param_bool(rule->params, "strict"))
        find_markers(rule, s, of);
    int status = add_findings(s->series, of, tensors, assay_verdict_findings(verdict));
    for (uint32_t t = 0; t < tensors; t++)
        if (is_meant(&of[t]))
            assay_verdict_message(verdict, "\"%.200s\" has the label %.6g at every saved step: taken as no label.",
                                  assay_trial_tensor(rule->trial, t), of[t].value);
    free(of);
    return status == ASSAY_OK ? ASSAY_OK : assay_fail(err, status, "out of memory");
}

const assay_rule_ops assay_rule_label_out_of_range = {
    ASSAY_RULE_HEAD,
    .name = "LabelOutOfRange",
    .summary = "Labels that are negative, not whole, or beyond the number of classes.",
    .advice = "On a GPU such a label is an error without a place, or reads memory that is not its own; elsewhere it "
              "spoils the loss silently.",
    .remedies = ASSAY_TEXTS(
        "Look at the samples of the step named: an unknown class, a label counted from 1, or a marker for a missing label.",
        "Make the output layer as wide as the number of classes, or map the labels to 0 .. classes - 1 in the dataset.",
        "If the value means no label, pass it as ignore_index to the loss and in the parameter ignore_labels."),
    .params = params,
    .value_units = ASSAY_TEXTS("label(s)"),
    .sentences = ASSAY_TEXTS("{tensor}{of} had labels out of range at {when}"),
    .setup = setup,
    .traits = ASSAY_RULE_NOT_LOGGED,
    .series_width = WIDTH,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
