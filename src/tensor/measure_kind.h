/* measure_kind.h - what each kind of measure provides, and what measure.c does for all. Inside tensor only. */
#pragma once

#include <assay/tensor.h>
#include <math.h>

#include "tensor/measure.h"
#include "tensor/measure_kernels.h"

enum { METER_BLOCK = 1024 /* elements that are widened at a time: they stay in the first cache */ };

/* Elements and bytes of a piece that passes by; `reference` is NULL but for comparisons. */
typedef struct meter_piece {
    const uint8_t *bytes, *reference;
    uint64_t elements;
} meter_piece;

typedef struct meter_kind {
    size_t state; /* bytes behind the meter, zeroed */
    /* Takes memory with meter_take(). 0, a status, or 1 when the measure does not apply. */
    int (*start)(assay_meter *meter, assay_error *err);
    /* Takes a piece as it is. NULL or false: it is widened block by block for `feed`. */
    bool (*feed_raw)(assay_meter *meter, const meter_piece *piece);
    /* Takes the elements from meter->position on. */
    void (*feed)(assay_meter *meter, const double *x, size_t n);
    /* All elements were fed: *result, whose kind is set, gets its value. 1: once more. */
    int (*end)(assay_meter *meter, assay_result *result, assay_error *err);
} meter_kind;

/* One allocation with the state behind it; given back by assay_meter_end(). */
struct assay_meter {
    const meter_kind *kind;
    const measure_kernels *kernels;
    assay_measure measure;
    assay_arena *arena;
    size_t budget;
    size_t most; /* bytes that it may need */
    assay_meter_needs needs;
    int dtype, reference_dtype;
    bool has_reference, same_shape;
    int dims;
    int64_t dim[ASSAY_MAX_DIMS];
    uint64_t elements;
    uint64_t position; /* of the next element in this pass */
    void *kept;        /* for the result; in the arena */
    void *borrowed;    /* until the end */
    uint8_t *place;    /* set by `start` where feed_raw puts all of the content there as it is; in what is borrowed */
};

extern const meter_kind meter_units, meter_equals, meter_channels, meter_quantiles, meter_change, meter_classes,
    meter_values, meter_digest, meter_below, meter_first_bad, meter_images, meter_negative, meter_moments, meter_rows,
    meter_sketch, meter_function, meter_zero_runs;

/* What is behind the meter. */
void *meter_state(assay_meter *meter);
/* count * size, and a + b; SIZE_MAX when that overflows. */
size_t meter_bytes(uint64_t count, size_t size);
size_t meter_sum(size_t a, size_t b);
/* Takes memory: meter->kept for the result, zeroed, and meter->borrowed for the way there, which is not. Once a meter.
 * A smaller budget would have let it do with `needed` of what it borrows. ASSAY_EBUDGET, ASSAY_ENOMEM. */
int meter_take(assay_meter *meter, size_t kept, size_t borrowed, size_t needed, assay_error *err);

/* Floats as they are, or n elements of 16 bits as floats, in `room`. */
const uint8_t *meter_floats(int dtype, const uint8_t *bytes, size_t n, float *room);

/* Elements by channel: element i belongs to channel i / inner % channels. Either each is counted in column i % columns,
 * `columns` being a multiple of inner * channels, or channel by channel in runs of `inner`. */
typedef struct meter_axes {
    uint64_t channels, inner;
    uint64_t columns; /* 0: by runs */
} meter_axes;

/* For channels of `inner` elements each. */
meter_axes meter_axes_of(uint64_t channels, uint64_t inner);
/* The payload and sign of a NaN depend on the order of operands, which instruction sets choose differently. */
static inline double meter_one_nan(double x)
{
    return x == x ? x : (double)NAN;
}
/* Of 8 lanes: a fixed tree. */
static inline double meter_joined(const double v[MEASURE_LANES])
{
    return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}
/* The channel of element or column i. */
static inline uint64_t meter_channel(const meter_axes *axes, uint64_t i)
{
    return i / axes->inner % axes->channels;
}
/* How many of n elements from i on are in one row of columns, or in one run. */
uint64_t meter_stretch(const meter_axes *axes, uint64_t i, uint64_t n);
