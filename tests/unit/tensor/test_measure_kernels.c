/* The loops of the measures: every instruction set gives what the scalar twin gives, at every length and alignment. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "tensor/measure_kernels.h"

static const char *const LEVEL_NAMES[] = {"scalar", "avx2", "avx512"};
static const char *const KIND_NAMES[] = {"ordinary numbers", "a large mean", "any bits"};

enum { LONGEST = 4097, BEHIND = 16, ALIGNMENTS = 16 };

/* Two tensors of one kind at odd addresses, and what is looked for in them. */
typedef struct input {
    const uint8_t *a, *b; /* at any address */
    const void *even;     /* the bytes of a at an address for their type */
    size_t n;
} input;

/* What a kernel left behind of so many elements. NaN are one NaN: which of two an operation gives is the instruction
 * set's to say. */
typedef struct output {
    change_lanes change;
    double number[2 * LONGEST + 2 * MEASURE_LANES];
    uint32_t count[LONGEST];
    float kept[LONGEST + BEHIND];
    double kept64[LONGEST + BEHIND];
    uint64_t counted, split[3];
} output;

typedef void run_kernel(const measure_kernels *k, const input *in, output *out);

static const change_limits LIMITS = {1e-2, 1e-3, -1};

static void run_change32(const measure_kernels *k, const input *in, output *out)
{
    k->change32(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
}

static void run_change64(const measure_kernels *k, const input *in, output *out)
{
    k->change64(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
}

static void run_squares32(const measure_kernels *k, const input *in, output *out)
{
    k->squares32(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
}

static void run_two_squares32(const measure_kernels *k, const input *in, output *out)
{
    change_sums two[2];
    k->two_squares32(two, in->a, in->b, in->n / MEASURE_LANES / 2);
    for (int j = 0; j < MEASURE_LANES; j++) {
        out->change.squares[j] = two[0].squares[j];
        out->change.reference_squares[j] = two[0].reference_squares[j];
        out->number[j] = two[1].squares[j];
        out->number[MEASURE_LANES + j] = two[1].reference_squares[j];
    }
}

static void run_octets(const measure_kernels *k, const input *in, output *out)
{
    k->octets(&out->change, in->a, in->b, in->n, in->n % 2 == 0);
}

static void run_squares64(const measure_kernels *k, const input *in, output *out)
{
    k->squares64(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
}

/* What the short way gives holds only where the squares come out finite. */
static void forget_unless_finite(change_lanes *s)
{
    double all = 0;
    for (int j = 0; j < MEASURE_LANES; j++)
        all += s->squares[j] + s->reference_squares[j];
    if (!isfinite(all))
        memset(s, 0, sizeof *s);
}

static void run_finite32(const measure_kernels *k, const input *in, output *out)
{
    k->finite32(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
    forget_unless_finite(&out->change);
}

static void run_finite64(const measure_kernels *k, const input *in, output *out)
{
    k->finite64(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
    forget_unless_finite(&out->change);
}

static void run_change_bfloat16(const measure_kernels *k, const input *in, output *out)
{
    k->change_bfloat16(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
}

static void run_squares_bfloat16(const measure_kernels *k, const input *in, output *out)
{
    k->squares_bfloat16(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
}

static void run_finite_bfloat16(const measure_kernels *k, const input *in, output *out)
{
    k->finite_bfloat16(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
    forget_unless_finite(&out->change);
}

static void keep_single(output *out, change_single got)
{
    out->number[0] = got.squares;
    out->number[1] = got.reference_squares;
    out->counted = 2 * (uint64_t)got.differs + got.reference_differs;
}

static void run_single32(const measure_kernels *k, const input *in, output *out)
{
    keep_single(out, k->single32(in->a, in->b, in->n / SINGLE_LANES * SINGLE_LANES));
}

#define RUN_EQUAL(name)                                                                                                \
    static void run_##name(const measure_kernels *k, const input *in, output *out)                                     \
    {                                                                                                                  \
        k->name(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);                                           \
        forget_unless_finite(&out->change);                                                                            \
    }
RUN_EQUAL(equal32)
RUN_EQUAL(equal64)
RUN_EQUAL(equal_bfloat16)
RUN_EQUAL(equal_float16)

static void run_moved64(const measure_kernels *k, const input *in, output *out)
{
    k->moved64(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
    forget_unless_finite(&out->change);
}

static void run_single_bfloat16(const measure_kernels *k, const input *in, output *out)
{
    keep_single(out, k->single_bfloat16(in->a, in->b, in->n / SINGLE_LANES * SINGLE_LANES));
}

static void run_change_float16(const measure_kernels *k, const input *in, output *out)
{
    k->change_float16(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
}

static void run_finite_float16(const measure_kernels *k, const input *in, output *out)
{
    k->finite_float16(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
    forget_unless_finite(&out->change);
}

static void run_moved_float16(const measure_kernels *k, const input *in, output *out)
{
    k->moved_float16(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
    forget_unless_finite(&out->change);
}

static void run_squares_float16(const measure_kernels *k, const input *in, output *out)
{
    k->squares_float16(&out->change, &LIMITS, in->a, in->b, in->n / MEASURE_LANES);
}

static void run_bound32(const measure_kernels *k, const input *in, output *out)
{
    out->counted = k->bound32(in->a, in->b, in->n, 50, 1e-3);
}

static void run_bound_bfloat16(const measure_kernels *k, const input *in, output *out)
{
    out->counted = k->bound_bfloat16(in->a, in->b, in->n, 50, 1e-3);
}

static void run_columns32(const measure_kernels *k, const input *in, output *out)
{
    k->columns32(out->count, in->a, in->n, -0.5F, 0.25F);
}

static void run_columns64(const measure_kernels *k, const input *in, output *out)
{
    k->columns64(out->count, in->a, in->n, -0.5, 0.25);
}

static void run_inside32(const measure_kernels *k, const input *in, output *out)
{
    out->counted = k->inside32(in->a, in->n, -0.5F, 0.25F);
}

static void run_magnitudes32(const measure_kernels *k, const input *in, output *out)
{
    const float bound = 0.25F;
    uint32_t bits;
    memcpy(&bits, &bound, sizeof bits);
    out->counted = k->magnitudes32(in->a, in->n, bits, &out->split[0], &out->split[1]);
}

static void run_inside64(const measure_kernels *k, const input *in, output *out)
{
    out->counted = k->inside64(in->a, in->n, -0.5, 0.25);
}

static void run_split32(const measure_kernels *k, const input *in, output *out)
{
    out->counted = k->split32(in->even, in->n, -0.5F, 0.25F, out->kept, out->split);
    memset(out->kept + out->counted, 0, BEHIND * sizeof(float));
}

static void run_split64(const measure_kernels *k, const input *in, output *out)
{
    out->counted = k->split64(in->even, in->n, -0.5, 0.25, out->kept64, out->split);
    memset(out->kept64 + out->counted, 0, BEHIND * sizeof(double));
}

static void run_within32(const measure_kernels *k, const input *in, output *out)
{
    out->counted = k->within32(in->even, in->n, -0.5F, 0.25F, out->kept, &out->split[0]);
    memset(out->kept + out->counted, 0, BEHIND * sizeof(float));
}

static void run_within64(const measure_kernels *k, const input *in, output *out)
{
    out->counted = k->within64(in->even, in->n, -0.5, 0.25, out->kept64, &out->split[0]);
    memset(out->kept64 + out->counted, 0, BEHIND * sizeof(double));
}

static void run_outside32(const measure_kernels *k, const input *in, output *out)
{
    out->counted = k->outside32(in->even, in->n, -0.5F, 0.25F, out->kept);
    memset(out->kept + out->counted, 0, BEHIND * sizeof(float));
}

static void run_outside64(const measure_kernels *k, const input *in, output *out)
{
    out->counted = k->outside64(in->even, in->n, -0.5, 0.25, out->kept64);
    memset(out->kept64 + out->counted, 0, BEHIND * sizeof(double));
}

static void run_column_sums(const measure_kernels *k, const input *in, output *out)
{
    k->column_sums(out->number, out->number + LONGEST, in->even, in->n);
}

static void run_channel_sums(const measure_kernels *k, const input *in, output *out)
{
    channel_lanes lanes = {{0}, {0}};
    k->channel_sums(&lanes, in->even, in->n / MEASURE_LANES);
    memcpy(out->number, &lanes, sizeof lanes);
}

static void run_product_sums(const measure_kernels *k, const input *in, output *out)
{
    double lanes[3][MEASURE_LANES];
    const size_t groups = in->n / MEASURE_LANES / 2, half = groups * MEASURE_LANES;
    const double *x = in->even;
    k->product_sums(lanes, x, x + half, x + half, x, groups);
    for (int i = 0; i < MEASURE_LANES; i++)
        out->number[i] = lanes[0][i] + 3 * lanes[1][i] + 7 * lanes[2][i];
}

static void run_widen_bfloat16(const measure_kernels *k, const input *in, output *out)
{
    float wide[2 * LONGEST];
    const size_t n = in->n < 2 * LONGEST ? in->n : 2 * LONGEST;
    k->widen_bfloat16(wide, in->even, n);
    for (size_t i = 0; i < n; i++)
        out->number[i % 64] = 3 * out->number[i % 64] + (isnan(wide[i]) ? 1 : fmin(fmax((double)wide[i], -1e30), 1e30));
}

static void run_dots(const measure_kernels *k, const input *in, output *out)
{
    double lanes[DOTS_AT_ONCE][MEASURE_LANES];
    const size_t groups = in->n / MEASURE_LANES / (DOTS_AT_ONCE + 1), stride = groups * MEASURE_LANES;
    const double *x = in->even;
    k->dots(lanes, x, x + stride, stride, groups);
    for (int r = 0; r < DOTS_AT_ONCE; r++)
        for (int i = 0; i < MEASURE_LANES; i++)
            out->number[i] += (2 * r + 1) * lanes[r][i];
}

static void run_row_sums32(const measure_kernels *k, const input *in, output *out)
{
    channel_lanes lanes[ROWS_AT_ONCE];
    const size_t groups = in->n / MEASURE_LANES / ROWS_AT_ONCE;
    k->row_sums32(lanes, in->even, 4 * groups * MEASURE_LANES, 7 * MEASURE_LANES, groups);
    for (int r = 0; r < ROWS_AT_ONCE; r++)
        for (int i = 0; i < MEASURE_LANES; i++)
            out->number[i] += (2 * r + 1) * (lanes[r].sum[i] + 3 * lanes[r].squares[i]);
}

static void run_functions(const measure_kernels *k, const input *in, output *out)
{
    static double size[LONGEST];
    const int function = (int)(in->n % ASSAY_FUNCTION_DROPOUT);
    k->functions(function, in->even, in->n, out->number, size);
    for (size_t i = 0; i < in->n; i++)
        out->number[i] += 3 * size[i];
}

static void run_fits32(const measure_kernels *k, const input *in, output *out)
{
    static const function_bound BOUND = {0x1p-20, 0x1p-20, 0x1p-126};
    for (int f = 0; in->n >= MEASURE_LANES && f < ASSAY_FUNCTION_DROPOUT; f++)
        out->counted = 2 * out->counted + k->fits32(f, in->a, in->b, in->n, &BOUND);
}

static void run_doubts32(const measure_kernels *k, const input *in, output *out)
{
    static const function_bound BOUND = {0x1p-20, 0x1p-20, 0x1p-126};
    uint16_t at[FUNCTION_BLOCK];
    const size_t n = in->n < FUNCTION_BLOCK ? in->n : FUNCTION_BLOCK;
    for (int f = 0; n >= 2 * MEASURE_LANES && f < ASSAY_FUNCTION_DROPOUT; f++) {
        const size_t count = k->doubts32(f, in->a, in->b, n, &BOUND, at);
        for (size_t i = 0; count != SIZE_MAX && i < count; i++)
            out->count[at[i]] |= 1U << f;
    }
}

static bool same_numbers(const double *x, const double *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&x[i], &y[i], sizeof x[i]) != 0 && !(isnan(x[i]) && isnan(y[i])))
            return false;
    return true;
}

static void clear(output *out, size_t n)
{
    memset(&out->change, 0, sizeof out->change);
    memset(out->number, 0, (n + 2 * MEASURE_LANES) * sizeof out->number[0]);
    memset(out->number + LONGEST, 0, n * sizeof out->number[0]);
    memset(out->count, 0, n * sizeof out->count[0]);
    memset(out->kept, 0, (n + BEHIND) * sizeof out->kept[0]);
    memset(out->kept64, 0, (n + BEHIND) * sizeof out->kept64[0]);
    out->counted = out->split[0] = out->split[1] = out->split[2] = 0;
}

static bool same(const output *x, const output *y, size_t n)
{
    for (int j = 0; j < MEASURE_LANES; j++)
        if (x->change.apart[j] != y->change.apart[j] || !x->change.one_nan[j] != !y->change.one_nan[j])
            return false;
    return same_numbers(x->change.squares, y->change.squares, MEASURE_LANES) &&
           same_numbers(x->change.reference_squares, y->change.reference_squares, MEASURE_LANES) &&
           same_numbers(x->change.largest, y->change.largest, MEASURE_LANES) &&
           same_numbers(x->number, y->number, n + 2 * MEASURE_LANES) &&
           same_numbers(x->number + LONGEST, y->number + LONGEST, n) &&
           memcmp(x->count, y->count, n * sizeof x->count[0]) == 0 &&
           memcmp(x->kept, y->kept, (n + BEHIND) * sizeof x->kept[0]) == 0 &&
           memcmp(x->kept64, y->kept64, (n + BEHIND) * sizeof x->kept64[0]) == 0 && x->counted == y->counted &&
           memcmp(x->split, y->split, sizeof x->split) == 0;
}

/* Every level that the machine has against the scalar one, on one input. How many differ; the first is named. */
static unsigned compare(const char *name, run_kernel *run, data_kind kind, const input *in)
{
    static output first, got;
    unsigned wrong = 0;
    clear(&first, in->n);
    run(assay_measure_kernels_of(ASSAY_SIMD_SCALAR), in, &first);
    for (int level = ASSAY_SIMD_SCALAR + 1; level < ASSAY_SIMD_LEVELS; level++) {
        if (!assay_simd_has((assay_simd)level))
            continue;
        clear(&got, in->n);
        run(assay_measure_kernels_of((assay_simd)level), in, &got);
        if (!same(&first, &got, in->n) && wrong++ == 0)
            fprintf(stderr, "%s, %s: %zu elements of %s differ from scalar code\n", name, LEVEL_NAMES[level], in->n,
                    KIND_NAMES[kind]);
    }
    return wrong;
}

static void check(const char *name, run_kernel *run, int dtype, data_kind kind)
{
    const size_t size = assay_dtype_size(dtype), bytes = LONGEST * size;
    uint8_t *even = malloc(bytes), *a = malloc(bytes + ALIGNMENTS), *b = malloc(bytes + ALIGNMENTS);
    unsigned wrong = 0;
    generate(dtype, kind, LONGEST, even);
    for (size_t n = 0; n <= LONGEST && wrong == 0; n += n > 300 && n < 3990 ? 61 : 1) {
        input in = {a + n % ALIGNMENTS, b + (n / 3) % ALIGNMENTS, even, n};
        memcpy(a + n % ALIGNMENTS, even, n * size);
        memcpy(b + (n / 3) % ALIGNMENTS, even, n * size);
        for (size_t i = 0; i < n; i += 3) /* some elements of b are others */
            memcpy(b + (n / 3) % ALIGNMENTS + i * size, even + (n - 1 - i) * size, size);
        wrong += compare(name, run, kind, &in);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    free(even);
    free(a);
    free(b);
}

static void test_all(void)
{
#define KERNEL(name, dtype)                                                                                            \
    {                                                                                                                  \
#name, run_##name, dtype                                                                                       \
    }
    static const struct {
        const char *name;
        run_kernel *run;
        int dtype;
    } KERNELS[] = {KERNEL(single32, ASSAY_FLOAT32),          KERNEL(moved64, ASSAY_FLOAT64),
                   KERNEL(single_bfloat16, ASSAY_BFLOAT16),  KERNEL(bound32, ASSAY_FLOAT32),
                   KERNEL(bound_bfloat16, ASSAY_BFLOAT16),   KERNEL(change32, ASSAY_FLOAT32),
                   KERNEL(change64, ASSAY_FLOAT64),          KERNEL(finite32, ASSAY_FLOAT32),
                   KERNEL(finite64, ASSAY_FLOAT64),          KERNEL(squares32, ASSAY_FLOAT32),
                   KERNEL(squares64, ASSAY_FLOAT64),         KERNEL(change_bfloat16, ASSAY_BFLOAT16),
                   KERNEL(squares_bfloat16, ASSAY_BFLOAT16), KERNEL(finite_bfloat16, ASSAY_BFLOAT16),
                   KERNEL(columns32, ASSAY_FLOAT32),         KERNEL(columns64, ASSAY_FLOAT64),
                   KERNEL(inside32, ASSAY_FLOAT32),          KERNEL(inside64, ASSAY_FLOAT64),
                   KERNEL(split32, ASSAY_FLOAT32),           KERNEL(split64, ASSAY_FLOAT64),
                   KERNEL(within32, ASSAY_FLOAT32),          KERNEL(within64, ASSAY_FLOAT64),
                   KERNEL(column_sums, ASSAY_FLOAT64),       KERNEL(channel_sums, ASSAY_FLOAT64),
                   KERNEL(product_sums, ASSAY_FLOAT64),      KERNEL(dots, ASSAY_FLOAT64),
                   KERNEL(widen_bfloat16, ASSAY_BFLOAT16),   KERNEL(row_sums32, ASSAY_FLOAT32),
                   KERNEL(functions, ASSAY_FLOAT64),         KERNEL(fits32, ASSAY_FLOAT32),
                   KERNEL(doubts32, ASSAY_FLOAT32),          KERNEL(two_squares32, ASSAY_FLOAT32),
                   KERNEL(change_float16, ASSAY_FLOAT16),    KERNEL(finite_float16, ASSAY_FLOAT16),
                   KERNEL(moved_float16, ASSAY_FLOAT16),     KERNEL(squares_float16, ASSAY_FLOAT16),
                   KERNEL(outside32, ASSAY_FLOAT32),         KERNEL(outside64, ASSAY_FLOAT64),
                   KERNEL(equal32, ASSAY_FLOAT32),           KERNEL(equal64, ASSAY_FLOAT64),
                   KERNEL(equal_bfloat16, ASSAY_BFLOAT16),   KERNEL(equal_float16, ASSAY_FLOAT16),
                   KERNEL(magnitudes32, ASSAY_FLOAT32),      KERNEL(octets, ASSAY_INT8)};
    for (size_t k = 0; k < sizeof KERNELS / sizeof KERNELS[0]; k++)
        for (int kind = 0; kind < DATA_KINDS; kind++)
            check(KERNELS[k].name, KERNELS[k].run, KERNELS[k].dtype, (data_kind)kind);
}

/* What is beyond its bound is in doubt, wherever and by however little; what was computed in single precision is not. */
static void test_doubts(void)
{
    enum { N = FUNCTION_BLOCK, ROUNDS = 600 };
    static const int FUNCTIONS[] = {ASSAY_FUNCTION_GELU, ASSAY_FUNCTION_GELU_TANH, ASSAY_FUNCTION_SILU,
                                    ASSAY_FUNCTION_SIGMOID};
    static const double SIZES[] = {0x1p-24, 0x1p-8, 0x1p-11};
    static float x[N], y[N];
    static double wide[N], f[N], size[N];
    unsigned missed = 0, doubted = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const int function = FUNCTIONS[round % 4];
        const function_bound bound = {SIZES[round / 4 % 3], 8 * 0x1p-24, 0x1p-126};
        const measure_kernels *k = assay_measure_kernels_of(assay_simd_level());
        const bool off = round / 12 % 2;
        uint16_t at[N];
        for (int i = 0; i < N; i++) /* from 1e-5 to beyond 100 */
            wide[i] = x[i] =
                (float)(exp2((double)(random_bits() % 240000) / 10000 - 17) * (random_bits() % 2 ? 1 : -1));
        k->functions(function, wide, N, f, size);
        for (int i = 0; i < N; i++) {
            const double most = bound.rounding * fabs(f[i]) + bound.arithmetic * size[i] + bound.least;
            const double by = most * (1 + (double)(random_bits() % 1000 + 1) / 1000);
            y[i] = (float)(f[i] + (random_bits() % 2 ? by : -by) * off);
        }
        const size_t count = k->doubts32(function, (const uint8_t *)x, (const uint8_t *)y, N, &bound, at);
        CU_ASSERT_NOT_EQUAL_FATAL(count, SIZE_MAX);
        for (int i = 0, next = 0; off && i < N; i++) {
            const bool is_there = (size_t)next < count && at[next] == i;
            const double apart = fabs((double)y[i] - f[i]); /* rounding may have brought it back */
            const double most = bound.rounding * fabs(f[i]) + bound.arithmetic * size[i] + bound.least;
            missed += !is_there && apart > fmax(most, 0x1p-100); /* what is less is lost in subnormal numbers */
            next += is_there;
        }
        for (size_t i = 0; !off && i < count; i++) /* subnormal results have no relative precision */
            doubted += fabs(f[at[i]]) > 0x1p-100;
    }
    CU_ASSERT_EQUAL(missed, 0);
    CU_ASSERT_EQUAL(doubted, 0);
}

/* What near32 takes as close is: about both tolerances, and wherever the first element is that is not. */
static void test_near(void)
{
    enum { N = 700, ROUNDS = 400 };
    static const float ATOLS[] = {1e-3F, 1e-8F, 0, 0x1p-110F}, RTOLS[] = {0, 1e-2F};
    static const float ODD[] = {NAN, INFINITY, 1e30F, 2e-3F, 0};
    static float a[N], b[N];
    for (unsigned round = 0; round < ROUNDS; round++) {
        const float atol = ATOLS[round % 4], rtol = RTOLS[round / 4 % 2];
        const size_t odd = round * 7919 % (2 * N);
        for (size_t i = 0; i < N; i++) {
            const float share = (float)((i * 104729 + round) % 997) / 997, sign = i % 2 ? 1.0F : -1.0F;
            b[i] = sign * share;
            a[i] = b[i] + sign * 0.999F * (atol + (i % 64 == 63 ? rtol * share : 0));
        }
        if (odd < N)
            a[odd] = ODD[round / 8 % 5];
        for (int level = ASSAY_SIMD_SCALAR; level < ASSAY_SIMD_LEVELS; level++) {
            if (!assay_simd_has((assay_simd)level))
                continue;
            const size_t near = assay_measure_kernels_of((assay_simd)level)
                                    ->near32((const uint8_t *)a, (const uint8_t *)b, N, rtol, atol, false);
            size_t close = 0;
            while (close < near &&
                   (a[close] == b[close] || fabs((double)a[close] - (double)b[close]) <=
                                                1.000001 * ((double)atol + (double)rtol * fabs((double)b[close]))))
                close++;
            CU_ASSERT_EQUAL(close, near);
            CU_ASSERT_TRUE(near >= N / 16 * 16 || odd < N || atol < 1e-3F);
        }
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"every kernel, length and alignment", test_all},
                           {"what is near is close", test_near},
                           {"doubts", test_doubts},
                           CU_TEST_INFO_NULL};
    return unit_main("kernels of measures", tests);
}
