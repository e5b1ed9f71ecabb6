/* measure_classes.c - CLASSES: class numbers from labels or predictions. */
#include <math.h>
#include <string.h>

#include "tensor/measure_kind.h"

enum { MOST_TEXT = 1 << 18 };
static const double LARGEST = 0x1p62; /* of the numbers of classes */

typedef struct classes_state {
    uint64_t row;     /* argmax over an axis of so many elements; 0: every element by itself */
    uint64_t inner;   /* elements behind that axis: 1 where it is the last, and the scores of a sample lie together */
    uint64_t best_at; /* in the open row */
    double best;
    bool integral;      /* AUTO: every finite element is */
    bool probabilities; /* AUTO: every finite element is from 0 to 1 */
} classes_state;

/* The axis of the scores, or -1 where every element is a class. */
static int axis_of_scores(const assay_meter *m)
{
    int axis = m->measure.axis == 1 ? 1 : m->dims - 1;
    if (m->measure.form == ASSAY_CLASS_ROUND || m->measure.form == ASSAY_CLASS_CODES || m->dims < 2)
        return -1;
    bool scores = m->measure.form == ASSAY_CLASS_ARGMAX || (assay_dtype_is_float(m->dtype) && m->dim[axis] > 1);
    return scores ? axis : -1;
}

/* Of 8 bits more are images and quantized tensors than texts. */
static bool may_be_codes(const assay_meter *m)
{
    return !assay_dtype_is_float(m->dtype) &&
           (assay_dtype_size(m->dtype) > 1 || (m->dtype == ASSAY_UINT8 && m->dims < 3 && m->elements <= MOST_TEXT));
}

static int start(assay_meter *m, assay_error *err)
{
    classes_state *s = meter_state(m);
    int axis = axis_of_scores(m);
    if (m->measure.axis == 1 && (axis < 0 || m->dims < 3)) /* it is the last, or there are no scores */
        return 1;
    if (m->measure.form == ASSAY_CLASS_CODES && !may_be_codes(m))
        return 1;
    s->integral = s->probabilities = true;
    s->row = axis < 0 ? 0 : (uint64_t)m->dim[axis];
    s->inner = 1;
    for (int d = axis + 1; axis >= 0 && d < m->dims; d++)
        s->inner *= (uint64_t)m->dim[d];
    size_t best = s->inner > 1 ? meter_bytes(s->inner, sizeof(double)) : 0;
    uint64_t count = s->row > 0 ? m->elements / s->row : m->elements;
    return meter_take(m, meter_bytes(count, sizeof(int64_t)), best, best, err);
}

/* The first NaN stays: nothing is greater, and a later NaN comes second. */
static bool is_better(double x, double best)
{
    return x > best || (isnan(x) && !isnan(best));
}

/* `n` scores of one row, the first of which is number `from` of it. Behind a NaN nothing is looked at. */
static void feed_row(classes_state *s, const double *x, size_t n, uint64_t from)
{
    size_t i = 0;
    if (from == 0) {
        s->best = x[i++];
        s->best_at = 0;
    }
    for (; i < n && !isnan(s->best); i++)
        if (!(x[i] <= s->best)) {
            s->best = x[i];
            s->best_at = from + i;
        }
}

static void feed_rows(assay_meter *m, const double *x, size_t n)
{
    classes_state *s = meter_state(m);
    int64_t *class = m->kept;
    uint64_t in_row = m->position % s->row, row = m->position / s->row;
    for (size_t i = 0, take; i < n; i += take) {
        take = s->row - in_row < n - i ? (size_t)(s->row - in_row) : n - i;
        feed_row(s, x + i, take, in_row);
        in_row += take;
        if (in_row == s->row) {
            class[row++] = (int64_t)s->best_at;
            in_row = 0;
        }
    }
}

/* The scores of a sample lie `inner` elements apart: the best so far of each are kept side by side. */
static void feed_columns(assay_meter *m, const double *x, size_t n)
{
    classes_state *s = meter_state(m);
    for (size_t done = 0, take; done < n; done += take) {
        uint64_t at = m->position + done, column = at % s->inner, number = at / s->inner % s->row;
        take = s->inner - column < n - done ? (size_t)(s->inner - column) : n - done;
        double *best = (double *)m->borrowed + column;
        int64_t *class = (int64_t *)m->kept + at / (s->inner * s->row) * s->inner + column;
        for (size_t i = 0; i < take; i++) {
            if (number > 0 && !is_better(x[done + i], best[i]))
                continue;
            best[i] = x[done + i];
            class[i] = (int64_t)number;
        }
    }
}

/* Not by rint(), which is a call. */
static bool is_integral(double x)
{
    return fabs(x) > LARGEST ? isfinite(x) : (double)(int64_t)x == x;
}

/* Keeps the doubles where the classes will be: what they mean is known at the end. */
static void feed(assay_meter *m, const double *x, size_t n)
{
    classes_state *s = meter_state(m);
    if (s->row > 0) {
        if (s->inner > 1)
            feed_columns(m, x, n);
        else
            feed_rows(m, x, n);
        return;
    }
    for (size_t i = 0; m->measure.form == ASSAY_CLASS_AUTO && i < n && (s->integral || s->probabilities); i++) {
        if (!isfinite(x[i]))
            continue;
        s->integral = s->integral && is_integral(x[i]);
        s->probabilities = s->probabilities && x[i] >= 0 && x[i] <= 1;
    }
    memcpy((uint8_t *)m->kept + m->position * sizeof *x, x, n * sizeof *x);
}

/* With a NaN for `limit` the element itself is the class. */
static int64_t class_of(double x, double limit)
{
    if (!isfinite(x))
        return ASSAY_NO_CLASS;
    if (!isnan(limit))
        return x >= limit;
    if (fabs(x) > LARGEST)
        return ASSAY_NO_CLASS;
    int64_t class = (int64_t)x;
    return (double)class == x ? class : (int64_t)rint(x);
}

static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    const classes_state *s = meter_state(m);
    int64_t *class = m->kept;
    uint64_t count = s->row > 0 ? m->elements / s->row : m->elements;
    bool integral = s->integral || m->measure.form != ASSAY_CLASS_AUTO;
    double limit = integral ? NAN : s->probabilities ? 0.5 : 0;
    for (uint64_t i = 0; s->row == 0 && i < count; i++) {
        double x;
        memcpy(&x, &class[i], sizeof x);
        class[i] = class_of(x, limit);
    }
    result->of.classes = (assay_classes){.count = count, .value = class};
    return ASSAY_OK;
}

const meter_kind meter_classes = {sizeof(classes_state), start, NULL, feed, end};
