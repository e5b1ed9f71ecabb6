/* matrix.h - a confusion matrix made from counts of (label, prediction), and its output. */
#pragma once

#include <assay/rule.h>

#include <inttypes.h>
#include <stdlib.h>

#include "classes.h"

enum { MOST_DENSE = 2048 /* classes: beyond, only the cells that occur are written */, MOST_TEXT = 40 };

typedef struct cell {
    int64_t label, prediction;
    uint64_t count;
} cell;

typedef struct matrix {
    cell *cells; /* in order of (label, prediction) */
    uint64_t cell_count;
    int64_t classes; /* one more than the largest, or category_no */
    uint64_t samples, left_out, ignored, right;
} matrix;

/* Takes a counter of (label, prediction); classes from `bound` on are left out (INT64_MAX: none), and labels that are
 * ignored. The caller frees m->cells. 0 or ASSAY_ENOMEM. */
static inline int take_matrix(const assay_counter *counter, int64_t bound, const ignored_labels *ignored, matrix *m)
{
    uint64_t size = assay_counter_size(counter);
    m->cells = calloc(size ? size : 1, sizeof *m->cells);
    ASSAY_HAVE(m->cells);
    for (uint64_t i = 0; i < size; i++) {
        cell c;
        assay_counter_get(counter, i, &c.label, &c.prediction, &c.count);
        int64_t largest = c.label > c.prediction ? c.label : c.prediction;
        if (c.label == ASSAY_NO_CLASS) /* what ambiguous_axis_add() keeps */
            continue;
        if (is_ignored_label(ignored, (double)c.label)) {
            m->ignored += c.count;
            continue;
        }
        if (c.label < 0 || c.prediction < 0 || largest >= bound) {
            m->left_out += c.count;
            continue;
        }
        m->cells[m->cell_count++] = c;
        m->samples += c.count;
        m->right += c.label == c.prediction ? c.count : 0;
        m->classes = largest >= m->classes ? largest + 1 : m->classes;
    }
    if (bound != INT64_MAX && m->samples)
        m->classes = bound;
    return ASSAY_OK;
}

static inline void put_dense(const matrix *m, assay_buf *json)
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

static inline void put_sparse(const matrix *m, assay_buf *json)
{
    assay_put_format(json, "\"cells\": [");
    for (uint64_t i = 0; i < m->cell_count; i++)
        assay_put_format(json, "%s[%" PRId64 ", %" PRId64 ", %" PRIu64 "]", i ? ", " : "", m->cells[i].label,
                         m->cells[i].prediction, m->cells[i].count);
    assay_put_format(json, "]");
}

/* A share as a JSON member; null when there is nothing to divide by. */
static inline void put_share(assay_buf *json, const char *name, uint64_t part, uint64_t whole)
{
    assay_put_format(json, ", \"%s\": ", name);
    if (whole)
        assay_json_put_number(json, (double)part / (double)whole);
    else
        assay_put_format(json, "null");
}

enum { SUPPORT, PREDICTED, RIGHT }; /* what is counted of each class */

static inline int count_classes(const matrix *m, assay_counter *of)
{
    int status = ASSAY_OK;
    for (uint64_t i = 0; status == ASSAY_OK && i < m->cell_count; i++) {
        const cell *c = &m->cells[i];
        status = assay_counter_add(of, c->label, SUPPORT, c->count);
        ASSAY_THEN(status, assay_counter_add(of, c->prediction, PREDICTED, c->count));
        if (status == ASSAY_OK && c->label == c->prediction)
            status = assay_counter_add(of, c->label, RIGHT, c->count);
    }
    return status;
}

static inline void put_class(assay_buf *json, assay_buf *text, int64_t class, const uint64_t *n, bool first,
                             bool in_text)
{
    assay_put_format(json, "%s{\"class\": %" PRId64, first ? "" : ", ", class);
    put_share(json, "precision", n[RIGHT], n[PREDICTED]);
    put_share(json, "recall", n[RIGHT], n[SUPPORT]);
    put_share(json, "f1", 2 * n[RIGHT], n[SUPPORT] + n[PREDICTED]);
    assay_put_format(json, ", \"support\": %" PRIu64 "}", n[SUPPORT]);
    if (in_text)
        assay_put_format(text, "  class %" PRId64 ": %" PRIu64 " of %" PRIu64 " right, predicted %" PRIu64 " time%s\n",
                         class, n[RIGHT], n[SUPPORT], n[PREDICTED], assay_plural(n[PREDICTED]));
}

/* Classes up to the largest when the matrix is dense, else those that occur. */
static inline int put_classes(const matrix *m, bool dense, assay_buf *json, assay_buf *text)
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
        assay_put_format(text, "  ... %" PRIu64 " more in the JSON report\n", written - MOST_TEXT);
    assay_counter_free(of);
    return status;
}

/* The members matrix (or cells), samples, accuracy and per_class, and lines for the text report. 0 or ASSAY_ENOMEM. */
static inline int put_matrix(const matrix *m, assay_buf *json, assay_buf *text)
{
    bool dense = m->classes <= MOST_DENSE;
    if (dense)
        put_dense(m, json);
    else
        put_sparse(m, json);
    assay_put_format(json, ", \"samples\": %" PRIu64, m->samples);
    put_share(json, "accuracy", m->right, m->samples);
    int status = put_classes(m, dense, json, text);
    assay_put_format(text, "  accuracy: %" PRIu64 " of %" PRIu64 "\n", m->right, m->samples);
    return status;
}
