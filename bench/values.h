/* values.h - values as trainings record them, for generate.c. */
#ifndef ASSAY_BENCH_VALUES_H
#define ASSAY_BENCH_VALUES_H

#include <stddef.h>
#include <stdint.h>

/* What a layer is. */
typedef enum layer_kind {
    LAYER_LINEAR, /* gradients are products of 16 activations and errors: of low rank, dead units make rows and columns
                     0 */
    LAYER_CONVOLUTION, /* smooth kernels of 3 by 3, a third of the weights pruned */
    LAYER_EMBEDDING,   /* rare rows: most have no gradient */
    LAYER_ATTENTION,   /* outputs are probabilities under a causal mask, gradients on a grid of bfloat16 */
    LAYER_NORM,        /* weights near 1 */
    LAYER_HALF,        /* everything on a grid of float16 */
    LAYER_MOMENTS,     /* in the place of weights and gradients Adam's two moments: small, and squares of small */
    LAYER_KINDS
} layer_kind;

/* The values of one kind of layer, `count` of each. */
typedef struct layer_values {
    float *weight, *gradient, *output;
} layer_values;

/* Columns of a matrix of so many elements: a power of 2 near the root. */
size_t values_columns(size_t elements);
/* Fills the three for layers of `elements`; 0, or -1 without memory. The same arguments give the same values. Free with
 * values_free(). */
int values_make(layer_kind kind, size_t elements, size_t count, layer_values *out);
void values_free(layer_values *values);
/* The bits of a float as bfloat16 and float16, which hold it where it lies on their grid. */
uint16_t values_bfloat16(float x);
uint16_t values_float16(float x);

#endif
