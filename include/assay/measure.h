/* measure.h - what a rule can ask of a tensor besides its statistics.
 *
 * A measure is a description. The engine merges the measures of all rules, takes each once while the tensor passes by
 * in cache-sized pieces, and hands out the result. So a rule never holds a tensor, however large, and none is read
 * twice. */
#ifndef ASSAY_MEASURE_H
#define ASSAY_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum assay_measure_kind {
    ASSAY_MEASURE_UNITS,     /* per unit of a layer: how many samples lie strictly inside (number[0], number[1]) */
    ASSAY_MEASURE_EQUALS,    /* how many elements equal number[k], for each k */
    ASSAY_MEASURE_CHANNELS,  /* per index of one axis: sum and sum of squares */
    ASSAY_MEASURE_QUANTILES, /* exact quantiles number[k] in 0..1, linear interpolation at h = (n-1)q, NaN left out */
    ASSAY_MEASURE_CHANGE,    /* element-wise comparison with a reference tensor */
    ASSAY_MEASURE_CLASSES,   /* class numbers: labels, or predictions brought to class numbers */
    ASSAY_MEASURE_VALUES,    /* the elements as double; of tensors of at most number[0] elements, where that is given */
    ASSAY_MEASURE_TEXTS,     /* the strings of a string tensor */
    ASSAY_MEASURE_DIGEST,    /* 64-bit hash over dtype, shape and bytes: equal tensors have equal digests */
    ASSAY_MEASURE_BELOW, /* how many elements x have 0 < |x| < number[k], and how many finite ones |x| > number[k] */
    ASSAY_MEASURE_FIRST_BAD, /* position of the first element that is NaN or infinite */
    ASSAY_MEASURE_IMAGES,    /* of a batch of images: each image, at most number[0] pixels wide and high */
    ASSAY_MEASURE_NEGATIVE,  /* how many elements are below 0, and the smallest of them */
    ASSAY_MEASURE_MOMENTS,   /* what an optimizer keeps of a parameter, element by element against its second moment */
    ASSAY_MEASURE_ROWS, /* 64-bit hash of each index of axis 0: equal rows have equal ones; 0: all elements are one value */
    ASSAY_MEASURE_SKETCH,    /* sums over groups of rows with fixed random signs: what is linear holds for them too */
    ASSAY_MEASURE_FUNCTION,  /* which function of a module's input its output is, element by element */
    ASSAY_MEASURE_ZERO_RUNS, /* of numbers: elements in a row that are +0, as bytes that were never written are */
    ASSAY_MEASURE_KINDS
} assay_measure_kind;

enum { ASSAY_MEASURE_NUMBERS = 32 };

/* form of UNITS: which elements make a unit. Axis 0 holds the samples; a scalar counts as shape (1, 1). */
enum {
    ASSAY_UNIT_ELEMENT, /* one element of the remaining axes; a 1-D tensor is N samples of one unit */
    ASSAY_UNIT_CHANNEL  /* axis 1; samples and all further axes are pooled */
};

/* form of CLASSES. Scores have their classes on the last axis; with axis = 1 they have them on axis 1, and tensors with
 * fewer than three axes, or without scores, have no such result. */
enum {
    ASSAY_CLASS_ROUND,  /* every element, rounded half to even */
    ASSAY_CLASS_ARGMAX, /* two or more axes: first index of the maximum over the axis (NaN is the maximum); else ROUND
                         */
    ASSAY_CLASS_AUTO,   /* float, two or more axes and that axis > 1: ARGMAX; else all values integral: ROUND; else x >=
                           0.5, or x >= 0 where a value below 0 or above 1 shows that they are logits */
    ASSAY_CLASS_CODES   /* ROUND of integers, of 8 bits only up to 2^18 bytes of text; others have no such result */
};

/* form of IMAGES: where the channels are, of which there have to be 1 or 3. Axis 0 holds the images; with three axes
 * each has one channel. Other shapes have no such result. */
enum { ASSAY_IMAGES_CHANNELS_FIRST, ASSAY_IMAGES_CHANNELS_LAST };

/* form of MOMENTS. BOUND: |m| <= K sqrt(v + v0) holds for every first moment m and second moment v that Adam makes of
 * one sequence of gradients; K and v0 follow from beta1 = number[0], beta2 = number[1] and the dtype of v. A NaN of
 * them is taken from what the trial says (assay_trial_betas). number[2] is how far beyond 1 the ratio may lie, NaN:
 * 1e-5, and 0.05 where either moment has 16 bits. */
enum {
    ASSAY_MOMENTS_BOUND, /* of both finite and v >= 0: the ratio |m| / (K sqrt(v + v0)) */
    ASSAY_MOMENTS_BELOW  /* which elements are below those of the second moment */
};

/* form of SKETCH: what is summed of an element x. The tensor is looked at as rows and columns: its first `axis` axes,
 * or all but its last -`axis`, are the rows; 0: a tensor of one axis is one row, others have no such result. number[0] is
 * the most groups of rows, number[1] the most cells; tensors with more than four times as many columns have no such
 * result. Of large tensors, by rows of the last axis, and of matrices, both are more: a cell for 64 numbers, and twice as
 * many groups; of bfloat16, which rounds most, 32 and four times. With `steps`, the same of the saved step before comes with it. */
enum {
    ASSAY_SKETCH_PLAIN,      /* x */
    ASSAY_SKETCH_UNSIGNED,   /* x, of every row with the sign 1: sums beside those of squares of other tensors */
    ASSAY_SKETCH_PRODUCT,    /* likewise, x times what it was at the saved step before, and no `before`; with `steps` */
    ASSAY_SKETCH_NORMALISED, /* (x - mean) / sqrt(variance + number[2]) of the row; below 0: x / sqrt(mean square - it).
                                Squares are those of both terms, this and mean / sqrt(...) */
    ASSAY_SKETCH_ADAM, /* m / (sqrt(v) + e) of a first moment and the second that goes with it, e = number[2]; `before` is of
                         what would be added with e / 32: corrections for the first steps make it smaller. No `steps` */
    ASSAY_SKETCH_IMAGES, /* x, of tensors with three axes or more; others have no such result */
    ASSAY_SKETCH_ROWS, /* x, of what modules compute by rows, or may: of four axes and more not of those that work on images
                            or on each element by itself (assay/module.h) */
    ASSAY_SKETCH_WHOLE /* x, of tensors with four axes or more; others have no such result */
};
enum { ASSAY_SKETCH_NUMBERS = 3, ASSAY_SKETCH_FLAT = ASSAY_MEASURE_NUMBERS * 2 /* axis: every element is a row */ };

/* The functions of FUNCTION. */
enum {
    ASSAY_FUNCTION_IDENTITY,
    ASSAY_FUNCTION_RELU,
    ASSAY_FUNCTION_LEAKY_RELU, /* with a slope of 0.01 */
    ASSAY_FUNCTION_ELU,
    ASSAY_FUNCTION_GELU,
    ASSAY_FUNCTION_GELU_TANH, /* its approximation by tanh */
    ASSAY_FUNCTION_SILU,
    ASSAY_FUNCTION_TANH,
    ASSAY_FUNCTION_SIGMOID,
    ASSAY_FUNCTION_DROPOUT, /* 0, or the input times a factor above 1 */
    ASSAY_FUNCTIONS
};

/* reference of CHANGE, and SAVED_BEFORE of SKETCH; MOMENTS and the form ADAM
 * of SKETCH take SECOND_MOMENT, FUNCTION takes INPUT */
enum {
    ASSAY_REFERENCE_SAVED_BEFORE,  /* the `steps`-th saved step before this one, of the same tensor and worker */
    ASSAY_REFERENCE_OLDEST_WITHIN, /* the oldest saved step less than or exactly `steps` mode steps before, if any;
                                      mode steps count where the tensor has TRAIN steps, else global steps */
    ASSAY_REFERENCE_OTHER_TRIAL,   /* the same step, tensor and worker of the other trial */
    ASSAY_REFERENCE_FIRST_WORKER,  /* the same step and tensor of the first worker that saved it */
    ASSAY_REFERENCE_SECOND_MOMENT, /* X/exp_avg_sq of the same step and worker, for a tensor X/ANYTHING */
    ASSAY_REFERENCE_INPUT          /* X_input_N of the same step and worker, for a tensor X_output_N */
};

/* figures of CHANGE: which are wanted. What is not is 0, or what was at hand. */
enum {
    ASSAY_CHANGE_ALL,
    ASSAY_CHANGE_CLOSE,   /* `close` alone: decided by the first element that is not */
    ASSAY_CHANGE_SQUARES, /* `squares` and `reference_squares` */
    ASSAY_CHANGE_MOVED,   /* `close`, and five digits of these two */
    ASSAY_CHANGE_DISTANCE /* these two, and `close` for tolerances of 0 */
};

typedef struct assay_measure { /* zero it first: two measures are the same when their bytes are */
    uint32_t kind;
    uint32_t form;   /* UNITS, CHANNELS, CLASSES, IMAGES, MOMENTS, SKETCH */
    uint32_t window; /* UNITS: pooled over this many saved steps, this one included; 0 counts as 1 */
    int32_t
        axis; /* CHANNELS; an axis that the tensor does not have makes one channel of it. CLASSES: 0 (the last) or 1.
                 SKETCH */
    uint32_t numbers;    /* how many of number[] are set */
    uint32_t reference;  /* CHANGE, MOMENTS, SKETCH, FUNCTION */
    int64_t steps;       /* CHANGE, SKETCH */
    uint32_t train_only; /* CHANGE, SKETCH: only TRAIN steps are references where the tensor has any */
    uint32_t equal_nan;  /* CHANGE */
    uint32_t figures;    /* CHANGE */
    uint32_t other;      /* CHANGE: rules leave it 0; the engine's number of the trial of OTHER_TRIAL */
    double rtol,
        atol; /* CHANGE: close when |a - b| <= atol + rtol * |b|, b the reference; equal infinities are close */
    double number[ASSAY_MEASURE_NUMBERS];
} assay_measure;

typedef struct assay_units {
    uint64_t samples, units;
    const uint64_t *inside; /* [units] */
} assay_units;

typedef struct assay_counts {
    const uint64_t *count; /* EQUALS: [numbers]; BELOW: [2 * numbers], first those below, then those above */
} assay_counts;

typedef struct assay_channels {
    uint64_t images;   /* length of axis 0 */
    uint64_t elements; /* elements of one channel over all images */
    uint64_t channels;
    const double *sum, *squares; /* [channels] */
} assay_channels;

typedef struct assay_quantiles {
    uint64_t used;       /* elements that are not NaN */
    const double *value; /* [numbers]; NaN when used is 0 */
} assay_quantiles;

typedef struct assay_change {
    bool found; /* there is a reference; everything else is unset without one */
    bool same_shape, same_dtype;
    bool close;     /* every element; this and all below `step` only where the shapes are equal */
    int64_t step;   /* its global step */
    uint64_t apart; /* elements that are not close */
    double largest; /* largest |a - b|; equal elements, NaN pairs and equal infinities differ by 0; a one-sided NaN
                       gives NaN */
    double squares; /* sum of (a - b)^2 */
    double reference_squares; /* sum of b^2 */
} assay_change;

typedef struct assay_negative {
    uint64_t count;  /* elements below 0; -0.0 and NaN are none */
    uint64_t index;  /* of the smallest, the first of equal ones; flat, C order; UINT64_MAX: none */
    double smallest; /* 0: none */
} assay_negative;

typedef struct assay_moments {
    bool found;      /* there is a second moment of the same shape, both are floats of 16 bits or more; else all is 0 */
    uint64_t beyond; /* BOUND: elements whose ratio is above `limit`; BELOW: elements that are below */
    uint64_t index;  /* of the largest ratio, or of the first that is below; flat, C order; UINT64_MAX: none */
    double largest;  /* BOUND: the largest ratio, 0 when no element counts */
    double limit;    /* BOUND: 1 + the tolerance */
} assay_moments;

/* Row i is in the group i * groups / rows. The sign of a row follows from its number alone: assay_sketch_sign(). Where
 * there are as many groups as rows, each is a row. */
typedef struct assay_sketch {
    uint64_t rows, columns, groups;
    const double *sum, *squares;           /* [groups][columns]: of sign f(x), of f(x)^2 */
    int64_t step;                          /* of the saved step before, where that was looked at */
    const double *before, *squares_before; /* likewise; NULL: there is none of the same shape, or ADAM has none */
} assay_sketch;

/* The signs of rows 64 * i and on, the first in the lowest bit; 1 is minus. */
static inline uint64_t assay_sketch_signs(uint64_t i)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15; /* SplitMix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}
/* 1 or -1 for a row. */
static inline double assay_sketch_sign(uint64_t row)
{
    return assay_sketch_signs(row / 64) >> row % 64 & 1 ? -1 : 1;
}
/* The group of a row, and the first row of a group. */
static inline uint64_t assay_sketch_group(uint64_t row, uint64_t rows, uint64_t groups)
{
    return groups == rows ? row : row * groups / rows;
}
static inline uint64_t assay_sketch_first_row(uint64_t group, uint64_t rows, uint64_t groups)
{
    return groups == rows ? group : (group * rows + groups - 1) / groups;
}

/* Of a row x of n numbers and each of so many rows y that follow each other, the sum of their products. */
void assay_sketch_multiply(const double *x, const double *y, uint64_t n, uint64_t rows, double *out);

/* One of them is looked at no further where most of the first elements are not that function. */
typedef struct assay_function_fit {
    uint64_t broken; /* elements that are farther from it than rounding explains; UINT64_MAX: looked at no further */
    uint64_t index;  /* of the worst, flat, C order; UINT64_MAX: none */
    double apart, bound; /* of the worst: |y - f(x)|, and how large rounding may make that */
    double largest;      /* apart / bound, over all elements */
} assay_function_fit;

typedef struct assay_function {
    bool found; /* there is an input of the same shape, both are floats, and the input has no NaN and no infinity */
    const assay_function_fit *fit; /* [ASSAY_FUNCTIONS]; unset where it is not found */
    double scale;                  /* DROPOUT: the factor */
    double unlikely; /* -ln of about how likely a mask like its is, if each element is dropped by itself */
} assay_function;

#define ASSAY_NO_CLASS INT64_MIN /* the element was not finite */
typedef struct assay_classes {
    uint64_t count;
    const int64_t *value; /* [count] */
} assay_classes;

typedef struct assay_values {
    uint64_t count;
    const double *value;
} assay_values;

typedef struct assay_texts {
    uint64_t count;
    const char *const *text; /* terminated */
} assay_texts;

typedef struct assay_first_bad {
    uint64_t index; /* flat, C order; UINT64_MAX: all are finite */
    double value;
} assay_first_bad;

typedef struct assay_zero_runs { /* of at least ASSAY_ZERO_RUN_LEAST bytes */
    uint64_t runs, elements;     /* how many there are, and what they have together */
    uint64_t index, length;      /* of the longest, the first of equal ones; flat, C order; UINT64_MAX and 0: none */
} assay_zero_runs;
enum { ASSAY_ZERO_RUN_LEAST = 512 /* a sector of a disk */ };

typedef struct assay_images { /* pixels are means over squares of elements of equal size, cut at the lower and right
                                 edge */
    uint64_t images, channels, height, width;
    const double *value; /* [images][channels][height][width] */
} assay_images;

typedef struct assay_row_digests { /* of a tensor with less than two axes: one row */
    uint64_t count;
    const uint64_t *digest; /* [count] */
} assay_row_digests;

/* The result of one measure on one tensor, in memory of the step. */
typedef struct assay_result {
    uint32_t kind;
    union {
        assay_units units;
        assay_counts counts;
        assay_channels channels;
        assay_quantiles quantiles;
        assay_change change;
        assay_classes classes;
        assay_values values;
        assay_texts texts;
        assay_first_bad first_bad;
        assay_images images;
        assay_negative negative;
        assay_moments moments;
        assay_row_digests rows;
        assay_sketch sketch;
        assay_function function;
        assay_zero_runs zero_runs;
        uint64_t digest;
    } of;
} assay_result;

#ifdef __cplusplus
}
#endif
#endif
