/* curves.h - the losses and the tensors of a trial by step, for everything that draws or compares them.
 *
 * They come from the job's implicit aggregations (assay_job_add_implicit()), which exist with several trials or with a
 * format that draws; otherwise both lists are empty. A list never exceeds its aggregation's bounds
 * (docs/rules/aggregation-loss_curve.md, docs/rules/aggregation-tensor_curves.md); `every` and `tensors_left_out` say
 * what was left out. Make a trial's curves, use them, release them: with many trials only one has to be in memory. */
#pragma once

#include "engine/engine.h"

typedef struct assay_loss_point {
    int64_t step, mode_step;
    double value; /* mean over workers and elements; may be NaN or infinite */
} assay_loss_point;

typedef struct assay_loss_curve {
    uint32_t tensor; /* assay_trial_tensor() has the name */
    int mode;
    const assay_loss_point *point; /* [count] ascending in step; borrowed from the assay_curves */
    size_t count;                  /* at least 1 */
} assay_loss_curve;

/* All workers together. Floating-point figures may be NaN or infinite. */
typedef struct assay_tensor_point {
    int64_t step, mode_step;
    double elements;  /* of all workers */
    double norm;      /* root of the mean over the workers of the squared L2 norm */
    double mean;      /* of the elements */
    double magnitude; /* mean of |x| */
    double zeros;     /* share of the elements that are 0, from 0 to 1 */
    double nonfinite; /* elements that are NaN or infinite */
    uint32_t workers; /* that saved it */
    int dtype;        /* assay_dtype */
    int64_t shape;    /* equal for equal shapes, in every trial: assay_curves_put_shape() writes it out */
} assay_tensor_point;

typedef struct assay_tensor_curve {
    uint32_t tensor;
    int mode;
    const assay_tensor_point *point; /* [count] ascending in step; borrowed from the assay_curves */
    size_t count;                    /* at least 1 */
} assay_tensor_curve;

typedef struct assay_curves {
    assay_loss_curve *losses; /* by tensor, then mode; owned */
    size_t loss_count;
    assay_tensor_curve *tensors; /* by tensor, then mode; owned */
    size_t tensor_count;
    uint64_t
        every[ASSAY_MODES]; /* of the tensors: only every so manieth saved step of the mode, and its last; 1: all */
    uint64_t losses_every[ASSAY_MODES];
    uint64_t tensors_left_out;         /* the last ones in byte order of their names */
    const assay_counter *shapes;       /* borrowed from the outcome; NULL: none */
    assay_loss_point *loss_points;     /* owned */
    assay_tensor_point *tensor_points; /* owned */
} assay_curves;

/* The curves of trial number `trial` of an outcome that a run has filled. A trial that could not be opened has none.
 * Release them with assay_curves_release(), before the outcome. 0 or ASSAY_ENOMEM. */
int assay_curves_make(const assay_outcome *outcome, size_t trial, assay_curves *out);
/* The same without the tensors, and without the losses: what is not looked at need not be put in order. */
int assay_curves_of_losses(const assay_outcome *outcome, size_t trial, assay_curves *out);
int assay_curves_of_tensors(const assay_outcome *outcome, size_t trial, assay_curves *out);
/* Has the trial a loss at any step? Nothing is read for that. */
bool assay_curves_have_losses(const assay_outcome *outcome, size_t trial);
void assay_curves_release(assay_curves *curves);

/* The curve of a tensor in a mode; NULL: there is none. O(log curves). */
const assay_loss_curve *assay_curves_loss(const assay_curves *curves, uint32_t tensor, int mode);
const assay_tensor_curve *assay_curves_tensor(const assay_curves *curves, uint32_t tensor, int mode);

/* Appends the lengths of a shape's axes, "[64, 3, 7, 7]"; "[]" for a scalar. */
void assay_curves_put_shape(const assay_curves *curves, int64_t shape, assay_buf *out);
