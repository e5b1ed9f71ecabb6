/* tensor.h - element types and the statistics of one tensor. */
#ifndef ASSAY_TENSOR_H
#define ASSAY_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, protobuf number of TensorFlow's DataType, bytes an element, text). String tensors carry number 0 on disk.
 * Numbers from 64 on are of dtypes that no record has, but checkpoints do. Elements of float6 and float4, which lie
 * packed there, have a byte each in memory, in its lower bits. */
#define ASSAY_DTYPE_LIST(X)                                                                                            \
    X(ASSAY_STRING, 0, 0, "string")                                                                                    \
    X(ASSAY_FLOAT32, 1, 4, "float32")                                                                                  \
    X(ASSAY_FLOAT64, 2, 8, "float64")                                                                                  \
    X(ASSAY_INT32, 3, 4, "int32")                                                                                      \
    X(ASSAY_UINT8, 4, 1, "uint8")                                                                                      \
    X(ASSAY_INT16, 5, 2, "int16")                                                                                      \
    X(ASSAY_INT8, 6, 1, "int8")                                                                                        \
    X(ASSAY_COMPLEX64, 8, 8, "complex64")                                                                              \
    X(ASSAY_INT64, 9, 8, "int64")                                                                                      \
    X(ASSAY_BOOL, 10, 1, "bool")                                                                                       \
    X(ASSAY_BFLOAT16, 14, 2, "bfloat16")                                                                               \
    X(ASSAY_UINT16, 17, 2, "uint16")                                                                                   \
    X(ASSAY_COMPLEX128, 18, 16, "complex128")                                                                          \
    X(ASSAY_FLOAT16, 19, 2, "float16")                                                                                 \
    X(ASSAY_UINT32, 22, 4, "uint32")                                                                                   \
    X(ASSAY_UINT64, 23, 8, "uint64")                                                                                   \
    X(ASSAY_FLOAT8_E5M2, 24, 1, "float8_e5m2")                                                                         \
    X(ASSAY_FLOAT8_E4M3FN, 25, 1, "float8_e4m3fn")                                                                     \
    X(ASSAY_FLOAT8_E4M3FNUZ, 64, 1, "float8_e4m3fnuz")                                                                 \
    X(ASSAY_FLOAT8_E5M2FNUZ, 65, 1, "float8_e5m2fnuz")                                                                 \
    X(ASSAY_FLOAT8_E8M0FNU, 66, 1, "float8_e8m0fnu")                                                                   \
    X(ASSAY_FLOAT6_E2M3FN, 67, 1, "float6_e2m3fn")                                                                     \
    X(ASSAY_FLOAT6_E3M2FN, 68, 1, "float6_e3m2fn")                                                                     \
    X(ASSAY_FLOAT4_E2M1FN, 69, 1, "float4_e2m1fn")

typedef enum assay_dtype {
#define ASSAY_DTYPE_ENUM(name, number, size, text) name = number,
    ASSAY_DTYPE_LIST(ASSAY_DTYPE_ENUM)
#undef ASSAY_DTYPE_ENUM
} assay_dtype;

enum { ASSAY_MAX_DIMS = 64 };

/* Bytes an element; 0 for strings and for numbers that are no dtype. */
size_t assay_dtype_size(int dtype);
/* "float32", ...; "unknown" for numbers that are no dtype. */
const char *assay_dtype_name(int dtype);
/* True for the dtypes of ASSAY_DTYPE_LIST, strings included. */
bool assay_dtype_known(int dtype);
/* Bits an element in a file: those of its bytes, fewer for float6 and float4. */
size_t assay_dtype_bits(int dtype);
/* True for float and complex types. Most can hold NaN and infinities; float8 but e5m2 hold NaN only, float6 and float4
 * neither. */
bool assay_dtype_is_float(int dtype);

/* What one pass over a tensor gives. Elements are widened to double; a complex element counts by its magnitude |z|.
 * Sums are taken in a fixed lane and block order, so that every vector width and rank count gives the same bits. */
typedef struct assay_stats {
    uint64_t count;                        /* elements */
    uint64_t nan, pos_inf, neg_inf, zeros; /* -0.0 is a zero */
    double min, max;                       /* over the elements that are not NaN; +inf and -inf when there is none */
    double sum;                            /* of all elements, NaN and infinities included */
    double squares;                        /* sum of x*x */
    double magnitudes;                     /* sum of |x| */
    double deviations; /* sum of (x - mean)^2, from block-wise shifted sums (Chan, Golub, LeVeque 1983); NaN when an
                          element is not finite, +inf when the squares are beyond a double */
    double scaled_squares, scaled_deviations; /* the same in units of ASSAY_STATS_UNIT squared where a sum of squares of
                                                 finite elements is beyond a double; else 0 */
    double
        scaled_magnitudes; /* `magnitudes` in units of ASSAY_STATS_UNIT where that of finite elements is beyond a double; else 0 */
} assay_stats;
#define ASSAY_STATS_UNIT 0x1p600

/* Derived figures, as numpy gives them in float64; NaN for an empty tensor. */
double assay_stats_mean(const assay_stats *s);
double assay_stats_variance(const assay_stats *s); /* population: N in the denominator */
double assay_stats_std(const assay_stats *s);
double assay_stats_l1(const assay_stats *s); /* of the flattened tensor */
double assay_stats_l2(const assay_stats *s);
double assay_stats_abs_mean(const assay_stats *s);
double assay_stats_abs_max(const assay_stats *s); /* NaN when any element is */
double assay_stats_min(const assay_stats *s);     /* NaN when any element is, as numpy.min */
double assay_stats_max(const assay_stats *s);

#ifdef __cplusplus
}
#endif
#endif
