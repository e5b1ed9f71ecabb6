/* confusion_matrix.c - the aggregation confusion: labels against predictions over all workers. R17.
 *
 * Result: "matrix"[label][prediction] up to the largest class or category_no, "samples" (the matrix' sum), "accuracy",
 * "per_class": precision, recall, f1 = 2 TP / (2 TP + FP + FN), support; null where the denominator is 0. Pairs with a negative
 * class are left out. Beyond MOST_DENSE classes "cells": [[label, prediction, count], ...] takes the place of the matrix. */
#include <inttypes.h>
#include <stdlib.h>

#include "modes.h"
#include "pairs.h"

enum { MOST_DENSE = 2048, MOST_TEXT = 40 };

static const assay_param_def params[] = {
    {.name = "labels", .type = ASSAY_PARAM_TEXT, .flags = ASSAY_PARAM_REQUIRED, .help = "Name of the tensor of labels."},
    {.name = "predictions", .type = ASSAY_PARAM_TEXT, .flags = ASSAY_PARAM_REQUIRED,
     .help = "Name of the tensor of predictions: class numbers, or scores along the last axis."},
    {.name = "mode", .type = ASSAY_PARAM_CHOICE, .choices = MODE_CHOICES, .help = "Only steps of this mode; by default all."},
    {.name = "category_no", .type = ASSAY_PARAM_INT, .least = 2, .most = 0x1p31,
     .help = "Number of classes; pairs with a class beyond are left out. By default one more than the largest class."},
    {0},
};

static int setup(const assay_params *given, assay_need *need, void **data, assay_error *err)
{
    (void)data;
    assay_slot slot = {.name = assay_param_text(given, "labels"),
                       .modes = chosen_modes(given),
                       .flags = ASSAY_SLOT_NO_STRINGS};
    int status = class_slot_add(need, &slot, ASSAY_CLASS_ROUND, err);
    slot.name = assay_param_text(given, "predictions");
    return status ? status : class_slot_add(need, &slot, ASSAY_CLASS_AUTO, err);
}

static int map(const assay_rule *rule, void *state, const assay_step_view *view, assay_error *err)
{
    (void)rule;
    (void)err;
    return add_pairs(((assay_common_state *)state)->counter, view, (class_slot){0, 0}, (class_slot){1, 1}, false);
}

typedef struct cell {
    int64_t label, prediction;
    uint64_t count;
} cell;

typedef struct matrix {
    cell *cells; /* in order of (label, prediction) */
    uint64_t cell_count;
    int64_t classes; /* one more than the largest, or category_no */
    uint64_t samples, left_out, right;
} matrix;

static int take_matrix(const assay_rule *rule, const assay_counter *counter, matrix *m)
{
    uint64_t size = assay_counter_size(counter);
    bool bounded = assay_param_has(rule->params, "category_no");
    int64_t bound = bounded ? assay_param_int(rule->params, "category_no") : INT64_MAX;
    m->cells = calloc(size ? size : 1, sizeof *m->cells);
    if (!m->cells)
        return ASSAY_ENOMEM;
    for (uint64_t i = 0; i < size; i++) {
        cell c;
        assay_counter_get(counter, i, &c.label, &c.prediction, &c.count);
        int64_t largest = c.label > c.prediction ? c.label : c.prediction;
        if (c.label < 0 || c.prediction < 0 || largest >= bound) {
            m->left_out += c.count;
            continue;
        }
        m->cells[m->cell_count++] = c;
        m->samples += c.count;
        m->right += c.label == c.prediction ? c.count : 0;
        m->classes = largest >= m->classes ? largest + 1 : m->classes;
    }
    if (bounded && m->samples)
        m->classes = bound;
    return ASSAY_OK;
}

static void put_dense(const matrix *m, assay_buf *json)
{
    uint64_t at = 0;
    assay_put_format(json, "\"matrix\": [");
    for (int64_t label = 0; label < m->classes; label++) {
        assay_put_format(json, label ? ", [" : "[");
        for (int64_t prediction = 0; prediction < m->classes; prediction++) {
            bool here = at < m->cell_count && m->cells[at].label == label && m->cells[at].prediction == prediction;
            assay_put_format(json, "%s%" PRIu64, prediction ? ", " : "", here ? m->cells[at].count : 0);
            at += here;
        }
        assay_put_format(json, "]");
    }
    assay_put_format(json, "]");
}

static void put_sparse(const matrix *m, assay_buf *json)
{
    assay_put_format(json, "\"cells\": [");
    for (uint64_t i = 0; i < m->cell_count; i++)
        assay_put_format(json, "%s[%" PRId64 ", %" PRId64 ", %" PRIu64 "]", i ? ", " : "", m->cells[i].label,
                         m->cells[i].prediction, m->cells[i].count);
    assay_put_format(json, "]");
}

static void put_share(assay_buf *json, const char *name, uint64_t part, uint64_t whole)
{
    assay_put_format(json, ", \"%s\": ", name);
    if (whole)
        assay_json_put_number(json, (double)part / (double)whole);
    else
        assay_put_format(json, "null");
}

enum { SUPPORT, PREDICTED, RIGHT }; /* what is counted of each class */

static int count_classes(const matrix *m, assay_counter *of)
{
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < m->cell_count; i++) {
        const cell *c = &m->cells[i];
        status = assay_counter_add(of, c->label, SUPPORT, c->count);
        if (status == ASSAY_OK)
            status = assay_counter_add(of, c->prediction, PREDICTED, c->count);
        if (status == ASSAY_OK && c->label == c->prediction)
            status = assay_counter_add(of, c->label, RIGHT, c->count);
    }
    return status;
}

static void put_class(assay_buf *json, assay_buf *text, int64_t class, const uint64_t *n, bool first, bool in_text)
{
    assay_put_format(json, "%s{\"class\": %" PRId64, first ? "" : ", ", class);
    put_share(json, "precision", n[RIGHT], n[PREDICTED]);
    put_share(json, "recall", n[RIGHT], n[SUPPORT]);
    put_share(json, "f1", 2 * n[RIGHT], n[SUPPORT] + n[PREDICTED]);
    assay_put_format(json, ", \"support\": %" PRIu64 "}", n[SUPPORT]);
    if (in_text)
        assay_put_format(text, "  class %" PRId64 ": %" PRIu64 " of %" PRIu64 " right, predicted %" PRIu64 " times\n", class,
                         n[RIGHT], n[SUPPORT], n[PREDICTED]);
}

/* Classes up to the largest when the matrix is dense, else those that occur. */
static int put_classes(const matrix *m, bool dense, assay_buf *json, assay_buf *text)
{
    assay_counter *of = assay_counter_new();
    int status = of ? count_classes(m, of) : ASSAY_ENOMEM;
    uint64_t size = status ? 0 : assay_counter_size(of), written = 0;
    int64_t next = 0, class = 0, what;
    assay_put_format(json, ", \"per_class\": [");
    for (uint64_t i = 0; status == ASSAY_OK && (i < size || (dense && next < m->classes)); written++, next++) {
        uint64_t n[3] = {0}, count;
        if (!dense)
            assay_counter_get(of, i, &next, &what, &count);
        for (; i < size; i++) {
            assay_counter_get(of, i, &class, &what, &count);
            if (class != next)
                break;
            n[what] = count;
        }
        put_class(json, text, next, n, written == 0, written < MOST_TEXT);
    }
    assay_put_format(json, "]");
    if (written > MOST_TEXT)
        assay_put_format(text, "  ... %" PRIu64 " more classes in the JSON report\n", written - MOST_TEXT);
    assay_counter_free(of);
    return status;
}

static int finalize(const assay_rule *rule, const void *state, assay_verdict *verdict, assay_error *err)
{
    (void)err;
    matrix m = {0};
    int status = take_matrix(rule, ((const assay_common_state *)state)->counter, &m);
    if (status)
        return status;
    assay_buf *json = assay_verdict_json(verdict), *text = assay_verdict_text(verdict);
    bool dense = m.classes <= MOST_DENSE;
    if (dense)
        put_dense(&m, json);
    else
        put_sparse(&m, json);
    if (!dense)
        assay_verdict_message(verdict, "The largest class is %" PRId64 ": too many for a full matrix, so only the cells that "
                              "occur are listed; is this a tensor of classes?", m.classes - 1);
    if (m.left_out)
        assay_verdict_message(verdict, "%" PRIu64 " pairs have a class that is negative or not below category_no, and are left out.",
                              m.left_out);
    assay_put_format(json, ", \"samples\": %" PRIu64, m.samples);
    put_share(json, "accuracy", m.right, m.samples);
    status = put_classes(&m, dense, json, text);
    assay_put_format(text, "  accuracy: %" PRIu64 " of %" PRIu64 "\n", m.right, m.samples);
    free(m.cells);
    return status;
}

const assay_rule_ops assay_rule_confusion_matrix = {
    .abi = ASSAY_RULE_ABI,
    .size = sizeof(assay_rule_ops),
    .name = "confusion",
    .summary = "Labels against predictions over all workers, with precision, recall and F1 of each class.",
    .params = params,
    .traits = ASSAY_RULE_AGGREGATION | ASSAY_RULE_POOLS,
    .setup = setup,
    .map = map,
    .finalize = finalize,
    ASSAY_COMMON_STATE,
};
