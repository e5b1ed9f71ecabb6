/* stats_scalar.c - the statistics kernels in plain C, for every machine, and as reference for the vector ones. */
#include <assay/tensor.h>

#include <stdbool.h>

#include "tensor/elements.h"
#include "tensor/stats_kernels.h"

typedef struct lanes {
    double v[STATS_LANES];
} lanes;

typedef uint64_t zero_count;

#define EACH_LANE for (int j = 0; j < STATS_LANES; j++)
#define LANEWISE(name, expression)                                                                                     \
    static inline __attribute__((always_inline)) lanes name(lanes a, lanes b)                                          \
    {                                                                                                                  \
        lanes r;                                                                                                       \
        EACH_LANE r.v[j] = expression;                                                                                 \
        return r;                                                                                                      \
    }
LANEWISE(lanes_add, a.v[j] + b.v[j])
LANEWISE(lanes_sub, a.v[j] - b.v[j])
LANEWISE(lanes_mul, a.v[j] * b.v[j])
LANEWISE(lanes_min, a.v[j] < b.v[j] ? a.v[j] : b.v[j])
LANEWISE(lanes_max, a.v[j] > b.v[j] ? a.v[j] : b.v[j])

static inline lanes lanes_abs(lanes a)
{
    EACH_LANE a.v[j] = fabs(a.v[j]);
    return a;
}

static inline lanes lanes_all(double x)
{
    lanes r;
    EACH_LANE r.v[j] = x;
    return r;
}

static inline lanes lanes_get(const double *from)
{
    lanes r;
    memcpy(r.v, from, sizeof r.v);
    return r;
}

static inline void lanes_put(double *to, lanes a)
{
    memcpy(to, a.v, sizeof a.v);
}

static inline zero_count zero_count_start(void)
{
    return 0;
}

static inline zero_count zero_count_add(zero_count zeros, lanes a)
{
    EACH_LANE zeros += a.v[j] == 0;
    return zeros;
}

static inline uint64_t zero_count_end(zero_count zeros)
{
    return zeros;
}

#define LOAD(name, bytes)                                                                                              \
    static inline __attribute__((always_inline)) lanes load_##name(const uint8_t *at)                                  \
    {                                                                                                                  \
        lanes r;                                                                                                       \
        EACH_LANE r.v[j] = element_##name(at + (bytes)*j);                                                             \
        return r;                                                                                                      \
    }
LOAD(float32, 4)
LOAD(float64, 8)
LOAD(int32, 4)
LOAD(uint8, 1)
LOAD(int16, 2)
LOAD(int8, 1)
LOAD(complex64, 8)
LOAD(int64, 8)
LOAD(bool, 1)
LOAD(bfloat16, 2)
LOAD(uint16, 2)
LOAD(complex128, 16)
LOAD(float16, 2)
LOAD(uint32, 4)
LOAD(uint64, 8)
LOAD(float8_e5m2, 1)
LOAD(float8_e4m3fn, 1)
LOAD(float8_e4m3fnuz, 1)
LOAD(float8_e5m2fnuz, 1)
LOAD(float8_e8m0fnu, 1)
LOAD(float6_e2m3fn, 1)
LOAD(float6_e3m2fn, 1)
LOAD(float4_e2m1fn, 1)

#define STATS_TABLE assay_stats_scalar
#include "tensor/stats_kernel.inc"
