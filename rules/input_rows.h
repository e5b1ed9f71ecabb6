/* input_rows.h - what InputData keeps of each tensor it looks at, and how its tests put findings. */
#pragma once

#include <math.h>
#include <stdio.h>

#include "robust.h"
#include "selection.h"

enum {
    ALIKE_TEST,
    ANSWER,
    BOUNDS,
    CHANNEL,
    CONSTANT,
    EVALUATED,
    EVALUATION,
    LABELS,
    ORDERED,
    PROBABILITIES,
    REPEATED_TEST,
    SCALE,
    SHAPE,
    SHARED,
    SORTED,
    STANDS,
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
    ORDER_OF, /* of whole numbers, a hash of the elements in their order; -1: it is not known */
    FLOAT,
    CLASSES,
    DEAD,
    FIRST_DEAD,
    CHANNELS,
    CHANNEL_MEAN, /* of up to IMAGE_CHANNELS channels of images */
    STRETCHED =
        CHANNEL_MEAN + 4, /* times as many elements has the loss as the larger of its two inputs: both are broadcast */
    ELEMENTS,             /* of what statistics alone are known of; 0: it is not known */
    ALIKE,                /* rows of an input, where all of them, LEAST_ALIKE or more, are the same; else 0 */
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
    LEAST_ALIKE = 8,
    LEAST_CLASSES = 2,
    RECENT = 5,
    IMAGE_CHANNELS = 4,
    ORDERED_MOST = 1 << 14, /* elements of a tensor whose order is looked at */
    NOTE_ROOM = 160
};
#define SUMS_CLOSE  1e-11 /* of sums of the same doubles in another order */
#define MEANS_CLOSE 1e-6  /* of statistics that were taken in single precision */

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

/* The first row at or behind `from` of a tensor or worker behind (tensor, worker); w->count: there is none. */
static inline uint64_t row_behind(const walk *w, uint64_t from, uint32_t tensor, uint32_t worker)
{
    uint64_t low = from, high = w->count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        const assay_row row = assay_series_row(w->series, w->order[middle]);
        if (row.tensor < tensor || (row.tensor == tensor && row.worker <= worker))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Where the rows of one worker of a tensor end that begin at `from`; and those of all its workers. */
static inline uint64_t end_of(const walk *w, uint64_t from)
{
    const assay_row first = assay_series_row(w->series, w->order[from]);
    return row_behind(w, from, first.tensor, first.worker);
}

static inline uint64_t tensor_end(const walk *w, uint64_t from)
{
    return row_behind(w, from, assay_series_row(w->series, w->order[from]).tensor, UINT32_MAX);
}

/* Where rows of a worker begin in the tensor [from, to); `to`: it has none. */
static inline uint64_t begin_of(const walk *w, uint64_t from, uint64_t to, uint32_t worker)
{
    const assay_row first = assay_series_row(w->series, w->order[from]);
    const uint64_t at = worker == 0 || first.worker >= worker ? from : row_behind(w, from, first.tensor, worker - 1);
    return at < to && assay_series_row(w->series, w->order[at]).worker == worker ? at : to;
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

static inline bool is_of_statistics(const double *row)
{
    return row[COUNT] == 1 && row[ZEROS] < 0;
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

/* Of two tensors statistics of one of which alone are known: are least, largest and means the same? Of the shares of two
 * values they often are by chance. */
static inline bool have_same_statistics(const double *a, const double *b)
{
    const double n = a[COUNT], m = b[COUNT], far = fmax(fabs(a[LEAST]), fabs(a[LARGEST])),
                 two = a[SQUARES] / n - (a[LEAST] + a[LARGEST]) * a[SUM] / n + a[LEAST] * a[LARGEST];
    return a[LEAST] == b[LEAST] && a[LARGEST] == b[LARGEST] && a[LEAST] < a[LARGEST] &&
           (a[ELEMENTS] == b[ELEMENTS] || a[ELEMENTS] == m || b[ELEMENTS] == n) &&
           fmax(fmax(a[ELEMENTS], b[ELEMENTS]), fmax(n, m)) >= LEAST_ELEMENTS && fabs(two) > 1e-4 * far * far &&
           fabs(a[SUM] / n - b[SUM] / m) <= MEANS_CLOSE * a[MAGNITUDES] / n &&
           fabs(a[MAGNITUDES] / n - b[MAGNITUDES] / m) <= MEANS_CLOSE * a[MAGNITUDES] / n &&
           fabs(a[SQUARES] / n - b[SQUARES] / m) <= 2 * MEANS_CLOSE * a[SQUARES] / n;
}

/* Have two tensors the same elements, in whatever order? Of two values their numbers alone are compared, which are often
 * equal by chance: then the order counts. */
static inline bool are_same_rows(const double *a, const double *b)
{
    if (is_of_statistics(a) || is_of_statistics(b))
        return have_same_statistics(a, b);
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
