/* measure.h - takes a measure (assay/measure.h) of one tensor while it is read.
 *
 * A meter gets the content in order, in pieces of any size; its result does not depend on the pieces. Memory comes from
 * the caller's arena and is bounded by the caller's budget. */
#pragma once

#include <assay/measure.h>
#include <assay/status.h>
#include <assay/tensor.h>

#include "base/arena.h"

typedef struct assay_shape { /* of the tensor that passes by, and of its reference where there is one */
    int dtype, dims;
    const int64_t *dim;
    uint64_t elements;
} assay_shape;

typedef struct assay_meter assay_meter;

/* What a meter needs of an arena, by the costs of its pieces and loans. */
typedef struct assay_meter_needs {
    size_t held; /* of the result, until the arena is cleared */
    size_t work; /* of the meter and what it counts in, until its end */
} assay_meter_needs;

/* Makes a meter in `arena`; its result lives there too. ASSAY_EBUDGET when it would need more than `budget` bytes (the
 * message says how much), ASSAY_ENOMEM; 1 when the measure does not apply to the tensor (strings, no elements). CHANGE,
 * MOMENTS, FUNCTION and a SKETCH with `steps` also take `reference`: NULL means that there is none. */
int assay_meter_new(const assay_measure *measure, const assay_shape *shape, const assay_shape *reference, size_t budget,
                    assay_arena *arena, assay_meter **out, assay_error *err);

/* The same, but refused when it needs more than `most` bytes: that follows from the measure, the shapes and the dtypes
 * alone, and is decided before memory is taken. A measure that is faster with more memory takes it from the rest of
 * `budget`. *needs is what the meter needs of `most`. */
int assay_meter_new_within(const assay_measure *measure, const assay_shape *shape, const assay_shape *reference,
                           size_t most, size_t budget, assay_arena *arena, assay_meter_needs *needs, assay_meter **out,
                           assay_error *err);

/* Feeds `elements` elements that follow those fed before; any alignment. For a comparison with a reference of the same
 * shape, `reference` holds the same elements of it, in its own dtype; else NULL. */
int assay_meter_feed(assay_meter *meter, const void *bytes, const void *reference, uint64_t elements, assay_error *err);

/* Where the meter would copy all of the content as it is fed, or NULL. Whoever puts it there and feeds it from there,
 * from the first element on, saves the copy. */
uint8_t *assay_meter_place(const assay_meter *meter);

/* The next `elements` elements are known to be finite. True where that is all the meter wants to know: they count as
 * fed. */
bool assay_meter_pass_finite(assay_meter *meter, uint64_t elements);

/* After the last piece. 1: the meter wants the whole content fed once more (quantiles that do not fit the budget);
 * 0: *result is set. After 0 and after a failure the meter is gone: what it borrowed is back in the arena. */
int assay_meter_end(assay_meter *meter, assay_result *result, assay_error *err);

enum { SKETCH_OF_IMAGES = 4 /* axes of tensors from which on rows and the whole are different forms of SKETCH */ };

/* A SKETCH whose reference has its shape is fed without it: these are the sums and squares that it made of that. Called
 * once, before the first element. */
void assay_meter_put_before(assay_meter *meter, const double *sums);

/* A matrix in memory, row by row. */
typedef struct assay_matrix {
    int dtype;
    const void *x;
    uint64_t rows, columns;
} assay_matrix;

/* Of each row of a matrix, sums of its columns in groups with the signs of SKETCH, and of their squares: what a SKETCH
 * makes of the transposed matrix, without that. `sum` and `squares` are [groups][stride], where the first are those of these
 * rows. 1: no floats of 16 bits or more. */
int assay_sketch_columns(const assay_matrix *of, uint64_t groups, uint64_t stride, double *sum, double *squares);

/* What two rows of n sums, with the squares beside them, make together. */
typedef struct assay_products {
    double sum;     /* of x y */
    double squares; /* of x2 y2 */
    double crossed; /* of x^2 y2 + x2 y^2 */
} assay_products;
assay_products assay_sketch_products(const double *x, const double *x_squares, const double *y, const double *y_squares,
                                     size_t n);

/* What a comparison (CHANGE) of a tensor with itself comes to, by its statistics: no element is looked at again. */
void assay_change_of_itself(const assay_measure *measure, const assay_stats *stats, assay_change *out);
/* Gives back what a meter that has not ended borrowed; its result's room goes with assay_arena_clear(). */
void assay_meter_drop(assay_meter *meter);

/* The bytes of a result that are of use for its kind: a copy needs no more room. */
size_t assay_result_size(const assay_measure *measure);

/* Pools `earlier`, the result of an earlier saved step, into `result` (UNITS with a window). Shapes that differ leave
 * it as it is. */
void assay_meter_pool(assay_result *result, const assay_result *earlier);

/* True when the measure goes through a reference tensor beside the tensor itself. */
static inline bool assay_measure_compares(const assay_measure *m)
{
    return m->kind == ASSAY_MEASURE_CHANGE || m->kind == ASSAY_MEASURE_MOMENTS || m->kind == ASSAY_MEASURE_FUNCTION ||
           (m->kind == ASSAY_MEASURE_SKETCH && (m->steps > 0 || m->form == ASSAY_SKETCH_ADAM));
}

/* True when that reference is of an earlier step. */
static inline bool assay_measure_looks_back(const assay_measure *m)
{
    return (m->kind == ASSAY_MEASURE_CHANGE &&
            (m->reference == ASSAY_REFERENCE_SAVED_BEFORE || m->reference == ASSAY_REFERENCE_OLDEST_WITHIN)) ||
           (m->kind == ASSAY_MEASURE_SKETCH && m->steps > 0);
}

/* True when it is another tensor of the same step and worker. */
static inline bool assay_measure_pairs(const assay_measure *m)
{
    return m->kind == ASSAY_MEASURE_MOMENTS || m->kind == ASSAY_MEASURE_FUNCTION ||
           (m->kind == ASSAY_MEASURE_SKETCH && m->form == ASSAY_SKETCH_ADAM);
}

/* True when the measure is about strings (TEXTS) and is taken by assay_texts_new() instead. */
static inline int assay_measure_is_text(const assay_measure *m)
{
    return m->kind == ASSAY_MEASURE_TEXTS;
}

/* The most that `count` strings of together `bytes` bytes take of an arena (SIZE_MAX when that overflows). */
size_t assay_texts_cost(uint64_t count, uint64_t bytes);
/* Starts the result of TEXTS with `count` empty strings in `arena`. ASSAY_EBUDGET, ASSAY_ENOMEM. */
int assay_texts_new(assay_arena *arena, uint64_t count, assay_result *result, assay_error *err);
/* Copies string i, which need not be terminated, into the arena. ASSAY_EBUDGET, ASSAY_ENOMEM. */
int assay_texts_set(assay_arena *arena, assay_result *result, uint64_t i, const char *bytes, size_t length,
                    assay_error *err);
