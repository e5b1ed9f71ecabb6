/* Order statistics of floats and doubles: right, and at most twice a pass a share of elements looked at, whatever the
 * values are. */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "tensor/order.h"

enum { MOST = 150001, COLUMNS = 1024 };

static bool wide; /* x is searched as doubles; else as floats, which it then holds */
static double x[MOST], sorted[MOST];
static float narrow[MOST], narrow_copy[MOST];
static double wide_copy[MOST];

static int ascending(const void *a, const void *b)
{
    double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static uint64_t random_bits(void) /* Marsaglia's xorshift */
{
    static uint64_t state = 88172645463325252U;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double uniform(void)
{
    return (double)(random_bits() >> 40) * 0x1p-24;
}

static uint64_t used; /* elements of `sorted` */

/* Sorts what x holds, as it is searched. */
static void sort_values(uint64_t n)
{
    for (uint64_t i = 0; i < n && !wide; i++) {
        narrow[i] = narrow_copy[i] = (float)x[i];
        x[i] = (double)narrow[i];
    }
    memcpy(wide_copy, x, n * sizeof *x);
    used = 0;
    for (uint64_t i = 0; i < n; i++) {
        sorted[used] = x[i];
        used += !isnan(x[i]);
    }
    qsort(sorted, used, sizeof *sorted, ascending);
}

static const double SHARES[] = {0.05, 0.95, 0.5, 0};
static const uint32_t GROUPS[][2] = {{0, 2}, {2, 1}, {0, 4}, {3, 1}}; /* of SHARES: the first one, and how many */
enum { GROUP_COUNT = sizeof GROUPS / sizeof GROUPS[0] };

/* The elements looked at for a group of shares; *wrong grows by what is not as in `sorted`. */
static uint64_t find(uint64_t n, int group, assay_simd level, unsigned *wrong)
{
    const double *share = &SHARES[GROUPS[group][0]];
    uint32_t shares = GROUPS[group][1];
    void *scratch =
        malloc(assay_order_scratch(n, shares, wide)); /* of the size that is asked for, for sanitizers to watch */
    double at[2 * ORDER_MOST];
    uint64_t looked = 0;
    uint64_t got = assay_order_find(assay_measure_kernels_of(level), wide ? (void *)x : narrow, wide, n, share, shares,
                                    scratch, at, &looked);
    for (uint32_t k = 0; used > 0 && k < shares; k++) {
        uint64_t r = (uint64_t)((double)(used - 1) * share[k]), next = r + 1 < used ? r + 1 : r;
        *wrong += at[2 * k] != sorted[r] || at[2 * k + 1] != sorted[next] || (at[2 * k] == 0 && signbit(at[2 * k]));
    }
    *wrong += got != used || memcmp(wide_copy, x, n * sizeof *x) != 0 ||
              (!wide && memcmp(narrow_copy, narrow, n * sizeof *narrow) != 0);
    free(scratch);
    return looked;
}

/* What random numbers without ties take, for each group. */
static void find_usual(uint64_t n, uint64_t looked[GROUP_COUNT])
{
    unsigned wrong = 0;
    for (uint64_t i = 0; i < n; i++)
        x[i] = uniform();
    sort_values(n);
    for (int group = 0; group < GROUP_COUNT; group++)
        looked[group] = find(n, group, assay_simd_level(), &wrong);
    CU_ASSERT_EQUAL(wrong, 0);
}

/* Twice a pass a share, with one more that counts, or twice the usual. */
static uint64_t bound(uint64_t n, int group, const uint64_t usual[GROUP_COUNT])
{
    const uint64_t passes = n * (1 + GROUPS[group][1]);
    return 2 * (passes > usual[group] ? passes : usual[group]);
}

static double random_normal(void) /* near enough: the sum of 4 uniform numbers */
{
    return uniform() + uniform() + uniform() + uniform() - 2;
}

enum pattern {
    CONSTANT,
    ZEROS_OF_BOTH_SIGNS,
    TWO_VALUES,
    SORTED,
    REVERSED,
    INTERLEAVED,
    ALL_NAN,
    ONE_NUMBER,
    HALF_NAN,
    INFINITIES,
    MASK,
    DENORMAL,
    BFLOAT16,
    OUTLIER,
    OUTLIERS,
    COLUMN_SCALES,
    ROW_SCALES,
    DEAD_COLUMNS,
    FEW_COLUMNS,
    PERIOD,
    TAILS,
    RELU,
    TINY_RANGE,
    LAST_BITS,
    INTEGERS,
    ANY_BITS,
    EVERY_LEVEL,
    PATTERNS
};

static double pattern_value(enum pattern pattern, uint64_t n, uint64_t i)
{
    double normal = random_normal();
    uint64_t column = i % COLUMNS, row = i / COLUMNS;
    switch (pattern) {
    case CONSTANT:
        return 0.37;
    case ZEROS_OF_BOTH_SIGNS:
        return i % 2 ? 0.0 : -0.0;
    case TWO_VALUES:
        return normal > 0 ? 1 : 2;
    case SORTED:
        return (double)i;
    case REVERSED:
        return -(double)i;
    case INTERLEAVED:
        return i % 2 ? (double)i : -(double)i;
    case ALL_NAN:
        return (double)NAN;
    case ONE_NUMBER:
        return i == n / 3 ? 1 : i % 2 ? (double)NAN : -(double)(double)NAN;
    case HALF_NAN:
        return normal > 0 ? (double)NAN : normal;
    case INFINITIES:
        return i % 3 == 0 ? (double)INFINITY : i % 3 == 1 ? -(double)INFINITY : normal;
    case MASK:
        return column > row ? -(double)INFINITY : normal;
    case DENORMAL:
        return normal * (wide ? 1e-312 : 1e-42);
    case BFLOAT16: {
        uint64_t bits;
        memcpy(&bits, &normal, sizeof bits);
        bits &= UINT64_MAX << 45;
        memcpy(&normal, &bits, sizeof bits);
        return normal;
    }
    case OUTLIER:
        return i == n / 3 ? 1e30 : 0;
    case OUTLIERS:
        return i % 17 == 0 ? 1e30 : normal;
    case COLUMN_SCALES:
        return normal * exp((double)(column * 7919 % 100) / 10);
    case ROW_SCALES:
        return normal * exp((double)(row * 7919 % 100) / 10);
    case DEAD_COLUMNS:
        return column * 7919 % 10 < 5 ? 0 : normal * (double)(column * 104729 % 31);
    case FEW_COLUMNS:
        return column % 256 == 0 ? normal : normal * 100;
    case PERIOD:
        return (double)(i % 64);
    case TAILS:
        return exp(normal * 30);
    case RELU:
        return normal > 0 ? normal : 0;
    case LAST_BITS: /* all digits but the last are the same */
        return 1 + normal * 0x1p-36;
    case INTEGERS:
        return (double)(int64_t)random_bits();
    case ANY_BITS: {
        uint64_t bits = random_bits();
        memcpy(&normal, &bits, sizeof bits);
        return normal;
    }
    case EVERY_LEVEL: { /* an outlier for each digit, and most elements the same but for the last */
        uint64_t bits = UINT64_C(0x3ff0000000000000) + (i < 64 ? UINT64_C(1) << i % 52 : random_bits() % 65536);
        memcpy(&normal, &bits, sizeof bits);
        return normal;
    }
    default:
        return 1 + normal * 1e-6;
    }
}

static void try_patterns(void)
{
    static const uint64_t LENGTHS[] = {1, 2, 4095, 4097, 20000, 65536, 100000, MOST};
    for (size_t l = 0; l < sizeof LENGTHS / sizeof LENGTHS[0]; l++) {
        uint64_t n = LENGTHS[l], usual[GROUP_COUNT];
        find_usual(n, usual);
        for (enum pattern pattern = 0; pattern < PATTERNS; pattern++) {
            assay_simd level = (assay_simd)((unsigned)pattern % 3);
            unsigned wrong = 0;
            for (uint64_t i = 0; i < n; i++)
                x[i] = pattern_value(pattern, n, i);
            sort_values(n);
            for (int group = 0; group < GROUP_COUNT; group++) {
                uint64_t looked = find(n, group, assay_simd_has(level) ? level : ASSAY_SIMD_SCALAR, &wrong);
                CU_ASSERT_TRUE(looked <= bound(n, group, usual));
            }
            CU_ASSERT_EQUAL(wrong, 0);
        }
    }
}

/* What the elements that are in the sample and the others are made of. */
typedef struct attack {
    double place[2], width[2]; /* of the values of either kind */
    unsigned steps[2];         /* so many different ones; 0: any */
    unsigned order;            /* 0: random, 1: ascending, 2: every other element of the sample is like the others */
} attack;

static double draw(const attack *a, int kind, double share)
{
    double u = a->order == 1 ? share : uniform();
    if (a->steps[kind] > 0)
        u = floor(u * a->steps[kind]) / a->steps[kind];
    return a->place[kind] + a->width[kind] * u;
}

static void lay_out(const attack *a, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        x[i] = draw(a, 1, (double)i / (double)n);
    for (uint64_t i = 0; i < ORDER_SAMPLE; i++)
        if (a->order != 2 || i % 2)
            x[assay_order_place(n, ORDER_SAMPLE, i, 0)] = draw(a, 0, (double)i / ORDER_SAMPLE);
}

static double any_size(void)
{
    return random_bits() % 4 == 0 ? 0 : exp(uniform() * 60 - 50) * (random_bits() % 2 ? 1 : -1);
}

static attack changed(attack a)
{
    int kind = (int)(random_bits() % 2);
    switch (random_bits() % 4) {
    case 0:
        a.place[kind] = any_size();
        break;
    case 1:
        a.width[kind] = any_size();
        break;
    case 2:
        a.steps[kind] = (unsigned)(random_bits() % 4 == 0 ? 0 : random_bits() % 300);
        break;
    default:
        a.order = (unsigned)(random_bits() % 3);
    }
    return a;
}

/* Climbs from misleading samples to those that make most work. They are known to mislead: the usual way is not taken.
 */
static void try_attacks(void)
{
    enum { CLIMBS = 12, CHANGES = 12, N = 50021 };
    uint64_t usual[GROUP_COUNT];
    find_usual(N, usual);
    CU_ASSERT_TRUE(usual[0] < 2 * N); /* one pass for two shares */
    for (int group = 0; group < GROUP_COUNT; group++) {
        uint64_t dearest = 0;
        unsigned wrong = 0;
        for (int climb = 0; climb < CLIMBS; climb++) {
            attack best = {
                .place = {climb % 2 ? 5 : 0, 0}, .width = {climb % 3 ? 1e-3 : 0, 1}, .steps = {0, climb > 6 ? 3 : 0}};
            uint64_t most = 0;
            for (int change = 0; change < CHANGES; change++) {
                attack next = change > 0 ? changed(best) : best;
                lay_out(&next, N);
                sort_values(N);
                uint64_t looked = find(N, group, assay_simd_level(), &wrong);
                best = looked >= most ? next : best;
                most = looked >= most ? looked : most;
            }
            dearest = most > dearest ? most : dearest;
        }
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_TRUE(dearest <= bound(N, group, usual));
        CU_ASSERT_TRUE(dearest > usual[group] + N / 2); /* else nothing was misled */
    }
}

static void patterns(void)
{
    for (int k = 0; k < 2; k++) {
        wide = k == 1;
        try_patterns();
    }
}

static void attacks(void)
{
    for (int k = 0; k < 2; k++) {
        wide = k == 1;
        try_attacks();
    }
}

int main(void)
{
    CU_TestInfo tests[] = {{"patterns", patterns}, {"attacks", attacks}, CU_TEST_INFO_NULL};
    return unit_main("order", tests);
}
