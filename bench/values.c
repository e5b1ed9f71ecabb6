/* values.c - see values.h. */
#include "values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 16, KERNEL = 9 };

/* Marsaglia's xorshift64*, mapped to [0, 1) */
static double uniform(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (double)((*seed * 0x2545F4914F6CDD1Du) >> 11) * 0x1p-53;
}

static double normal(uint64_t *seed) /* Box and Muller */
{
    double radius = sqrt(-2 * log(1 - uniform(seed)));
    return radius * cos(6.283185307179586 * uniform(seed));
}

static float to_bfloat16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Eleven bits of precision, nothing below 2^-24. */
static float to_float16(float x)
{
    int exponent = 0;
    frexpf(x, &exponent);
    float step = ldexpf(1, exponent < -13 ? -24 : exponent - 11);
    return rintf(x / step) * step;
}

size_t values_columns(size_t elements)
{
    size_t columns = 1;
    while (columns * columns * 4 <= elements)
        columns *= 2;
    return columns;
}

/* Activations or errors of a batch: ReLU outputs with a scale of each unit, some units dead. */
static float *make_side(size_t units, double scale, uint64_t *seed)
{
    float *side = malloc(units * BATCH * sizeof *side);
    for (size_t u = 0; side && u < units; u++) {
        double size = uniform(seed) < 0.3 ? 0 : scale * exp(normal(seed));
        for (size_t b = 0; b < BATCH; b++)
            side[u * BATCH + b] = (float)(fmax(normal(seed), 0) * size);
    }
    return side;
}

/* A sum of BATCH products of a row's and a column's values. */
static int make_low_rank(float *x, size_t count, size_t columns, uint64_t *seed)
{
    size_t rows = count / columns + 1;
    float *left = make_side(rows, 1e-5, seed), *right = make_side(columns, 1, seed);
    double sign[BATCH];
    for (size_t b = 0; b < BATCH; b++)
        sign[b] = normal(seed);
    for (size_t i = 0; left && right && i < count; i++) {
        const float *row = left + i / columns * BATCH, *column = right + i % columns * BATCH;
        double sum = 0;
        for (size_t b = 0; b < BATCH; b++)
            sum += sign[b] * row[b] * column[b];
        x[i] = (float)sum;
    }
    int status = left && right ? 0 : -1;
    free(left);
    free(right);
    return status;
}

static float weight_of(layer_kind kind, size_t i, size_t columns, uint64_t *seed)
{
    double x = normal(seed);
    switch (kind) {
    case LAYER_CONVOLUTION: /* falls off from the middle of each kernel */
        return uniform(seed) < 0.3 ? 0 : (float)(x * 0.05 * exp(-0.2 * fabs((double)(i % KERNEL) - KERNEL / 2)));
    case LAYER_EMBEDDING:
        return (float)(x * (1 + (double)(i / columns % 13) / 13));
    case LAYER_NORM:
        return (float)(1 + 0.01 * x);
    case LAYER_MOMENTS:
        return (float)(1e-4 * x * exp(normal(seed)));
    case LAYER_HALF:
        return to_float16((float)(0.02 * x));
    default:
        return (float)(0.02 * x);
    }
}

/* What becomes of a gradient of low rank. */
static float gradient_of(layer_kind kind, float x, size_t i, size_t columns)
{
    switch (kind) {
    case LAYER_EMBEDDING:
        return i / columns * 2654435761u % 100 < 3 ? x : 0;
    case LAYER_ATTENTION:
        return to_bfloat16(x);
    case LAYER_HALF:
        return to_float16(1024 * x); /* as loss scaling has it */
    case LAYER_MOMENTS:
        return x * x;
    default:
        return x;
    }
}

static float output_of(layer_kind kind, size_t i, size_t columns, uint64_t *seed)
{
    double x = normal(seed);
    size_t row = i / columns, column = i % columns;
    switch (kind) {
    case LAYER_CONVOLUTION: /* channels differ in how often they are on */
        return (float)fmax(x - (double)(row % 5) / 2, 0);
    case LAYER_ATTENTION:
        return column > row % columns ? 0 : (float)(exp(x) / (double)(row % columns + 1));
    case LAYER_EMBEDDING:
    case LAYER_NORM:
        return (float)x;
    case LAYER_HALF:
        return to_float16((float)fmax(x, 0));
    default:
        return (float)fmax(x, 0);
    }
}

int values_make(layer_kind kind, size_t elements, size_t count, layer_values *out)
{
    uint64_t seed = 20240229 + (uint64_t)kind;
    size_t columns = kind == LAYER_CONVOLUTION && elements >= 64 * KERNEL ? values_columns(elements) / KERNEL * KERNEL
                                                                          : values_columns(elements);
    *out = (layer_values){malloc(count * sizeof(float)), malloc(count * sizeof(float)), malloc(count * sizeof(float))};
    if (!out->weight || !out->gradient || !out->output || make_low_rank(out->gradient, count, columns, &seed) != 0) {
        values_free(out);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        out->weight[i] = weight_of(kind, i, columns, &seed);
        out->gradient[i] = gradient_of(kind, out->gradient[i], i, columns);
        out->output[i] = output_of(kind, i, columns, &seed);
    }
    return 0;
}

void values_free(layer_values *values)
{
    free(values->weight);
    free(values->gradient);
    free(values->output);
    *values = (layer_values){NULL, NULL, NULL};
}

uint16_t values_bfloat16(float x)
{
    uint32_t bits;
    float rounded = to_bfloat16(x);
    memcpy(&bits, &rounded, sizeof bits);
    return (uint16_t)(bits >> 16);
}

uint16_t values_float16(float x)
{
    float rounded = to_float16(x), size = fabsf(rounded);
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    if (size < 0x1p-14F)
        return (uint16_t)(sign | (uint16_t)(size * 0x1p24F)); /* denormal */
    if (size > 65504)
        return sign | 0x7c00;
    int exponent;
    float mantissa = frexpf(size, &exponent); /* 0.5 to 1 */
    return (uint16_t)(sign | (exponent + 14) << 10 | ((int)(mantissa * 2048) - 1024));
}
