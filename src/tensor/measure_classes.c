/* measure_classes.c - CLASSES: class numbers from labels or predictions. */
#include <math.h>
#include <string.h>

#include "tensor/measure_kind.h"

typedef struct classes_state {
    uint64_t row;     /* argmax over rows of so many elements; 0: every element by itself */
    uint64_t best_at; /* in the open row */
    double best;
    bool probabilities; /* AUTO: a finite element was not integral */
} classes_state;

static int start(assay_meter *m, assay_error *err)
{
    classes_state *s = meter_state(m);
    uint64_t last = m->dims >= 2 ? (uint64_t)m->dim[m->dims - 1] : 0;
    bool by_row = m->measure.form == ASSAY_CLASS_ARGMAX ||
                  (m->measure.form == ASSAY_CLASS_AUTO && assay_dtype_is_float(m->dtype) && last > 1);
    s->row = by_row ? last : 0;
    uint64_t count = s->row > 0 ? m->elements / s->row : m->elements;
    return meter_take(m, meter_bytes(count, sizeof(int64_t)), 0, 0, err);
}

static void feed_rows(assay_meter *m, const double *x, size_t n)
{
    classes_state *s = meter_state(m);
    int64_t *class = m->kept;
    uint64_t in_row = m->position % s->row, row = m->position / s->row;
    for (size_t i = 0; i < n; i++) {
        /* the first NaN stays: nothing is greater, and a later NaN comes second */
        if (in_row == 0 || x[i] > s->best || (isnan(x[i]) && !isnan(s->best))) {
            s->best = x[i];
            s->best_at = in_row;
        }
        if (++in_row == s->row) {
            class[row++] = (int64_t)s->best_at;
            in_row = 0;
        }
    }
}

/* Keeps the doubles where the classes will be: what they mean is known at the end. */
static void feed(assay_meter *m, const double *x, size_t n)
{
    classes_state *s = meter_state(m);
    if (s->row > 0) {
        feed_rows(m, x, n);
        return;
    }
    for (size_t i = 0; i < n && !s->probabilities; i++)
        s->probabilities = isfinite(x[i]) && x[i] != rint(x[i]);
    memcpy((uint8_t *)m->kept + m->position * sizeof *x, x, n * sizeof *x);
}

static int64_t class_of(double x, bool is_probability)
{
    if (!isfinite(x))
        return ASSAY_NO_CLASS;
    if (is_probability)
        return x >= 0.5;
    return fabs(x) <= 0x1p62 ? (int64_t)rint(x) : ASSAY_NO_CLASS;
}

static int end(assay_meter *m, assay_result *result, assay_error *err)
{
    (void)err;
    const classes_state *s = meter_state(m);
    int64_t *class = m->kept;
    uint64_t count = s->row > 0 ? m->elements / s->row : m->elements;
    bool probabilities = s->probabilities && m->measure.form == ASSAY_CLASS_AUTO;
    for (uint64_t i = 0; s->row == 0 && i < count; i++) {
        double x;
        memcpy(&x, &class[i], sizeof x);
        class[i] = class_of(x, probabilities);
    }
    result->of.classes = (assay_classes){.count = count, .value = class};
    return ASSAY_OK;
}

const meter_kind meter_classes = {sizeof(classes_state), start, NULL, feed, end};
