/* curves.h - the layout of a row of the aggregations loss_curve and tensor_curves, for code that draws or compares
 * them. */
#pragma once

#include <assay/rule.h>

#include <inttypes.h>

/* loss_curve: a row a loss tensor and step. */
enum { ASSAY_LOSS_VALUE /* mean over the workers of the mean of the elements */, ASSAY_LOSS_WIDTH };

/* tensor_curves: a row a tensor and step, all workers together. */
enum {
    ASSAY_CURVE_ELEMENTS, /* of all workers */
    ASSAY_CURVE_WORKERS,  /* that saved it */
    ASSAY_CURVE_NORM, /* root of the mean over the workers of the squared L2 norm: of equal replicas, the norm of one */
    ASSAY_CURVE_MEAN, /* of all elements */
    ASSAY_CURVE_MAGNITUDE, /* mean of |x| */
    ASSAY_CURVE_ZEROS,     /* share of the elements that are 0, from 0 to 1 */
    ASSAY_CURVE_NONFINITE, /* elements that are NaN or infinite */
    ASSAY_CURVE_DTYPE,     /* assay_dtype, of the first worker that saved it */
    ASSAY_CURVE_SHAPE,     /* number of that worker's shape: equal shapes have equal ones */
    ASSAY_CURVE_WIDTH
};

/* A whole number of a row; -1 for what none of them can be, as in the row of a damaged state. */
static inline int64_t assay_curve_whole(double value)
{
    return value >= 0 && value < 9007199254740992.0 ? (int64_t)value : -1;
}
/* The same for one that is an int. */
static inline int assay_curve_int(double value)
{
    return value >= 0 && value < 2147483648.0 ? (int)value : -1;
}

/* The state's counter has the shapes: a pair (shape, b) for each axis, with b = axis << ASSAY_SHAPE_BITS | length.
 * Ascending pairs of a shape are its axes in order; a shape without axes has none. */
enum { ASSAY_SHAPE_BITS = 56 };
#define ASSAY_SHAPE_LENGTHS (((int64_t)1 << ASSAY_SHAPE_BITS) - 1)

/* Appends the lengths of a shape's axes as a JSON list, "[64, 3, 7, 7]". `shapes` may be NULL: then there are none. */
static inline void assay_shape_put(const assay_counter *shapes, int64_t number, assay_buf *out)
{
    uint64_t low = 0, high = shapes ? assay_counter_size(shapes) : 0, all = high, count;
    int64_t shape, axis;
    bool any = false;
    while (low < high) { /* its first pair */
        uint64_t middle = low + (high - low) / 2;
        assay_counter_get(shapes, middle, &shape, &axis, &count);
        if (shape < number)
            low = middle + 1;
        else
            high = middle;
    }
    assay_put_format(out, "[");
    for (; low < all; low++, any = true) {
        assay_counter_get(shapes, low, &shape, &axis, &count);
        if (shape != number)
            break;
        assay_put_format(out, "%s%" PRId64, any ? ", " : "", axis & ASSAY_SHAPE_LENGTHS);
    }
    assay_put_format(out, "]");
}

/* What tensor_curves takes of a trial: of each mode every stride-th step and the last, and the tensors below a number.
 */
typedef struct assay_curve_bounds {
    uint64_t stride[ASSAY_MODES];
    uint64_t tensors;
} assay_curve_bounds;

enum { ASSAY_CURVE_LEAST_POINTS = 8 }; /* of a curve: rather fewer curves than shorter ones */

/* At most `steps` steps of a mode, `tensors` tensors, and `rows` rows in all: when they are too few, steps are left out
 * first, then tensors. */
static inline assay_curve_bounds assay_curve_bounds_of(const assay_trial *trial, uint64_t steps, uint64_t tensors,
                                                       uint64_t rows)
{
    uint64_t modes = 0, all = assay_trial_tensors(trial);
    for (int m = 0; m < ASSAY_MODES; m++)
        modes += assay_trial_mode_steps(trial, m) > 0;
    modes = modes ? modes : 1;
    uint64_t room = rows / (modes * ASSAY_CURVE_LEAST_POINTS);
    assay_curve_bounds b = {.tensors = all < tensors ? all : tensors};
    if (b.tensors > room)
        b.tensors = room ? room : 1;
    uint64_t points = rows / (modes * (b.tensors ? b.tensors : 1));
    for (int m = 0; m < ASSAY_MODES; m++) {
        uint64_t planned =
            assay_spread_stride(assay_trial_mode_steps(trial, m), steps); /* the slot's: what is read at all */
        uint64_t left = (assay_trial_mode_steps(trial, m) + planned - 1) / planned;
        b.stride[m] = planned * assay_spread_stride(left, points > 2 ? points : 2);
    }
    return b;
}
