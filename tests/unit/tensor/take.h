/* take.h - takes a measure of a tensor for tests: cut anywhere, at odd addresses, with any instruction set. */
#ifndef ASSAY_TESTS_TENSOR_TAKE_H
#define ASSAY_TESTS_TENSOR_TAKE_H

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "generate.h"
#include "tensor/convert.h"
#include "tensor/measure.h"
#include "tensor/measure_kind.h"

enum { CEILING = 256 << 20 };

typedef enum cut_kind { CUT_NONE, CUT_RANDOM, CUT_TINY, CUTS } cut_kind;

/* A tensor at an odd address, without a byte to spare. */
typedef struct tensor {
    assay_shape shape;
    uint8_t *memory, *bytes;
    double *wide; /* the same elements */
} tensor;

static inline tensor tensor_new(int dtype, int dims, const int64_t *dim)
{
    tensor t = {.shape = {dtype, dims, dim, 1}};
    for (int d = 0; d < dims; d++)
        t.shape.elements *= (uint64_t)dim[d];
    size_t size = t.shape.elements * assay_dtype_size(dtype);
    t.memory = malloc(size + 1);
    t.bytes = t.memory + 1;
    t.wide = malloc((t.shape.elements + 1) * sizeof *t.wide);
    return t;
}

static inline void tensor_widen(tensor *t)
{
    assay_to_double(t->shape.dtype, t->bytes, t->shape.elements, t->wide);
}

static inline tensor tensor_of(int dtype, data_kind kind, int dims, const int64_t *dim)
{
    tensor t = tensor_new(dtype, dims, dim);
    generate(dtype, kind, t.shape.elements, t.bytes);
    tensor_widen(&t);
    return t;
}

static inline tensor tensor_of_doubles(int dims, const int64_t *dim, const double *x)
{
    tensor t = tensor_new(ASSAY_FLOAT64, dims, dim);
    memcpy(t.bytes, x, t.shape.elements * sizeof *x);
    tensor_widen(&t);
    return t;
}

static inline void tensor_release(tensor *t)
{
    free(t->memory);
    free(t->wide);
}

static inline uint64_t cut_size(cut_kind cut, uint64_t left)
{
    uint64_t most = cut == CUT_TINY ? 3 : cut == CUT_RANDOM ? 5000 : left, n = random_bits() % (most + 1);
    return cut == CUT_NONE || n > left ? left : n;
}

/* One measure, pass after pass; *passes (may be NULL) says how many. Returns the first status that is not 0 or 1. */
static inline int take_passes(const assay_measure *measure, const tensor *t, const tensor *reference, assay_simd level,
                              cut_kind cut, size_t budget, assay_arena *arena, assay_result *result, int *passes,
                              assay_error *err)
{
    assay_meter *meter;
    bool pairs = reference && reference->shape.dims == t->shape.dims &&
                 (t->shape.dims == 0 || memcmp(reference->shape.dim, t->shape.dim, (size_t)t->shape.dims * 8) == 0);
    int status = assay_meter_new(measure, &t->shape, reference ? &reference->shape : NULL, budget, arena, &meter, err);
    if (status != ASSAY_OK)
        return status;
    meter->kernels = assay_measure_kernels_of(level);
    uint8_t *place = cut == CUT_RANDOM ? assay_meter_place(meter) : NULL;
    for (int pass = 1;; pass++) {
        for (uint64_t at = 0; at < t->shape.elements && status == ASSAY_OK;) {
            uint64_t n = cut_size(cut, t->shape.elements - at);
            const uint8_t *other = pairs ? reference->bytes + at * assay_dtype_size(reference->shape.dtype) : NULL;
            const uint8_t *bytes = t->bytes + at * assay_dtype_size(t->shape.dtype);
            if (place && n > 0)
                bytes = memcpy(place + (bytes - t->bytes), bytes, n * assay_dtype_size(t->shape.dtype));
            status = assay_meter_feed(meter, bytes, other, n, err);
            at += n;
        }
        status = status == ASSAY_OK ? assay_meter_end(meter, result, err) : status;
        if (passes)
            *passes = pass;
        if (status != 1)
            return status;
        status = ASSAY_OK;
    }
}

static inline int take(const assay_measure *measure, const tensor *t, const tensor *reference, assay_simd level,
                       cut_kind cut, assay_arena *arena, assay_result *result)
{
    return take_passes(measure, t, reference, level, cut, CEILING, arena, result, NULL, NULL);
}

#endif
