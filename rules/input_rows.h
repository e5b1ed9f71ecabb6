/* input_rows.h - what InputData keeps of each tensor it looks at, and how its tests put findings. */
#pragma once

#include <math.h>
#include <stdio.h>

#include "robust.h"
#include "selection.h"

enum {
    BOUNDS,
    CHANNEL,
    CONSTANT,
    EVALUATED,
    EVALUATION,
    LABELS,
    PROBABILITIES,
    REPEATED_TEST,
    SCALE,
    SHAPE,
    SHARED,
    SORTED,
    SWAPPED,
    TARGET,
    TARGETS,
    UNSEEN
};
/* What a tensor is to this rule; of a loss the row has the mean as SUM. */
enum { INPUT, LABEL, CROSS_ENTROPY, BINARY_LOGITS, LOG_LIKELIHOOD, ELEMENTWISE, LOSS };
/* Values of a row. */
enum {
    IS,
    MODE,
    COUNT,
    SUM,
    MAGNITUDES,
    SQUARES,
    LEAST,
    LARGEST,
    ZEROS,
    ROWS,
    DIGEST_OF,
    FLOAT,
    CLASSES,
    DEAD,
    FIRST_DEAD,
    CHANNELS,
    CHANNEL_MEAN, /* of up to IMAGE_CHANNELS channels of images */
    STRETCHED =
        CHANNEL_MEAN + 4, /* times as many elements has the loss as the larger of its two inputs: both are broadcast */
    WIDTH
};
enum {
    PERSIST = 5,
    IMAGES_PERSIST = 2,
    BEFORE = 10,
    REPEATED = 5,
    LOOK_BACK = 4,
    FEW = 2,
    LEAST_ELEMENTS = 16,
    LEAST_LABELS = 8,
    LEAST_FEATURES = 8,
    LEAST_CLASSES = 2,
    RECENT = 5,
    IMAGE_CHANNELS = 4,
    NOTE_ROOM = 160
};
#define SUMS_CLOSE 1e-11 /* of sums of the same doubles in another order */

typedef struct walk {
    const assay_rule *rule;
    const assay_series *series;
    const uint64_t *order; /* rows by tensor, worker, step */
    uint64_t count;        /* all rows */
    assay_findings *findings;
    double *room;                /* [count] */
    const assay_counter *labels; /* (class, tensor and mode) of whole labels, input_labels.h; of rows, input_seen.h */
} walk;

static inline const double *row_of(const walk *w, uint64_t i)
{
    return assay_series_row(w->series, w->order[i]).value;
}

/* -1: the trial has no such step, as in a damaged state. */
static inline int64_t mode_step_of(const walk *w, uint64_t i)
{
    const assay_trial *trial = w->rule->trial;
    const assay_step_info *step =
        assay_trial_step(trial, assay_trial_find_step(trial, assay_series_row(w->series, w->order[i]).step));
    return step ? step->mode_step : -1;
}

static inline int test(const walk *w, uint64_t i, uint32_t which, bool fired, double value, double threshold,
                       const char *note)
{
    const assay_row row = assay_series_row(w->series, w->order[i]);
    assay_finding finding = {.step = row.step,
                             .tensor = row.tensor,
                             .worker = row.worker,
                             .test = which,
                             .value_unit = which,
                             .value = value,
                             .threshold = threshold,
                             .note = note};
    return row.step < w->rule->start_step ? ASSAY_OK : assay_findings_test(w->findings, fired, &finding);
}

static inline bool is_one(const double *row)
{
    return row[COUNT] >= LEAST_ELEMENTS && row[LEAST] == row[LARGEST];
}

static inline bool is_close(double a, double b, double scale)
{
    return fabs(a - b) <= SUMS_CLOSE * scale;
}

/* Are all elements one of two values? No element of [a, b] makes (x - a) (x - b) positive, and these two alone 0. */
static inline bool is_of_two_values(const double *row)
{
    const double a = row[LEAST], b = row[LARGEST], far = fmax(fabs(a), fabs(b));
    return fabs(row[SQUARES] - (a + b) * row[SUM] + a * b * row[COUNT]) <= SUMS_CLOSE * far * far * row[COUNT];
}

/* Have two tensors the same elements, in whatever order? Of two values their numbers alone are compared, which are often
 * equal by chance: then the order counts. */
static inline bool are_same_rows(const double *a, const double *b)
{
    if (is_of_two_values(a) && !(a[DIGEST_OF] >= 0 && a[DIGEST_OF] == b[DIGEST_OF]))
        return false;
    return a[COUNT] == b[COUNT] && a[LEAST] == b[LEAST] && a[LARGEST] == b[LARGEST] && a[ZEROS] == b[ZEROS] &&
           a[COUNT] >= LEAST_ELEMENTS && a[LEAST] < a[LARGEST] && is_close(a[SUM], b[SUM], a[MAGNITUDES]) &&
           is_close(a[MAGNITUDES], b[MAGNITUDES], a[MAGNITUDES]) && is_close(a[SQUARES], b[SQUARES], a[SQUARES]);
}

static inline bool in_mode(const walk *w, uint64_t i, int mode)
{
    const double is = row_of(w, i)[MODE];
    return is == mode || (mode == ASSAY_MODE_TRAIN && is != ASSAY_MODE_EVAL && is != ASSAY_MODE_PREDICT);
}
