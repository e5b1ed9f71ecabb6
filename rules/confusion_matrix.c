/* confusion_matrix.c - the aggregation confusion: labels against predictions over all workers. R17.
 *
 * Result: "matrix"[label][prediction] up to the largest class or category_no, "samples" (the matrix' sum), "accuracy",
 * "per_class": precision, recall, f1 = 2 TP / (2 TP + FP + FN), support; null where the denominator is 0. Pairs with a
 * negative class or an ignored label are left out. Beyond MOST_DENSE classes "cells": [[label, prediction, count], ...]
 * takes the place of the matrix. */
#include "matrix.h"
#include "modes.h"
#include "pairs.h"

static const class_slot LABELS = {0, 0, 0}, PREDICTIONS = {1, 1, 2};

static const assay_param_def params[] = {
    {.name = "labels",
     .type = ASSAY_PARAM_TEXT,
     .flags = ASSAY_PARAM_REQUIRED,
     .help = "Name of the tensor of labels."},
    {.name = "predictions",
     .type = ASSAY_PARAM_TEXT,
     .flags = ASSAY_PARAM_REQUIRED,
     .help = "Name of the tensor of predictions: class numbers, or scores along an axis of classes."},
    ASSAY_CHOICE_PARAM("mode", NULL, MODE_CHOICES, "Only steps of this mode; by default all."),
    ASSAY_INT_PARAM(
        "category_no", NULL, 2, 0x1p31,
        "Number of classes; pairs with a larger class are left out. By default one more than the largest class."),
    IGNORE_LABELS_PARAM,
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    assay_slot slot = {
        .name = assay_param_text(given, "labels"), .modes = chosen_modes(given), .flags = ASSAY_SLOT_NO_STRINGS};
    int status = ignored_labels_check(given, "ignore_labels", err);
    ASSAY_THEN(status, class_slot_add(need, &slot, ASSAY_CLASS_ROUND, err));
    slot.name = assay_param_text(given, "predictions");
    return status ? status : class_slot_add(need, &slot, ASSAY_CLASS_AUTO, err);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    assay_counter *counter = ((assay_common_state *)state)->counter;
    int status = add_pairs(counter, rule->trial, view, LABELS, PREDICTIONS, false);
    return status ? status : note_ambiguous_axes(counter, view, LABELS, PREDICTIONS);
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    matrix m = {0};
    ignored_labels ignored = ignored_labels_of(rule->params, "ignore_labels");
    int64_t bound =
        assay_param_has(rule->params, "category_no") ? assay_param_int(rule->params, "category_no") : INT64_MAX;
    int status = take_matrix(((const assay_common_state *)state)->counter, bound, &ignored, &m);
    if (status)
        return status;
    if (m.classes > MOST_DENSE)
        assay_verdict_message(verdict,
                              "The largest class is %" PRId64 ": too many for a full matrix, so only the cells that "
                              "occur are listed; is this a tensor of classes?",
                              m.classes - 1);
    ambiguous_axis_say(rule, ((const assay_common_state *)state)->counter, verdict);
    if (m.ignored)
        assay_verdict_message(verdict, "%" PRIu64 " pair%s a label of ignore_labels, and %s left out.", m.ignored,
                              m.ignored == 1 ? " has" : "s have", m.ignored == 1 ? "is" : "are");
    if (m.left_out)
        assay_verdict_message(verdict,
                              "%" PRIu64 " pair%s a class that is negative or not below category_no, and %s left out.",
                              m.left_out, m.left_out == 1 ? " has" : "s have", m.left_out == 1 ? "is" : "are");
    status = put_matrix(&m, assay_verdict_json(verdict), assay_verdict_text(verdict));
    free(m.cells);
    return status;
}

const assay_rule_ops assay_rule_confusion_matrix = {
    ASSAY_RULE_HEAD,
    .name = "confusion",
    .summary = "Labels against predictions over all workers, with precision, recall and F1 of each class.",
    .params = params,
    .traits = ASSAY_RULE_AGGREGATION | ASSAY_RULE_POOLS | ASSAY_RULE_COUNTS,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
