/* order.c - see order.h. After Floyd and Rivest 1975: select within brackets that a sample gives. */
#include "tensor/order.h"

#include <math.h>
#include <string.h>

#include "tensor/order_exact.h"

enum {
    SAMPLE = ORDER_SAMPLE,
    DEVIATIONS = 5, /* of a rank's place in the sample, on each side of it */
    PLACES = 8,     /* and so many more: they count where q is 0 or 1 */
    NARROW_SAMPLE = 512,
    NARROW_PLACES = 57, /* five deviations of the middle rank */
    VECTOR = 16,        /* floats that a kernel may write behind the last */
    BLOCK = 2048        /* floats that are looked at by all brackets while they are in the first cache */
};

typedef struct bracket {
    float low, high;   /* the value is expected in [low, high] */
    uint64_t split[3]; /* elements < low, == low and == high */
    uint64_t inner;    /* strictly inside */
    float *kept;       /* those inside; in the scratch */
    size_t room;
    bool missed;
} bracket;

/* What the scratch holds. */
typedef struct order_scratch {
    uint64_t *digits, *table; /* [ORDER_COUNTS] each; set aside where not all elements are the sample */
    float *sample;            /* [SAMPLE] */
    float *kept;              /* [shares][room] */
} order_scratch;

static size_t room_for(uint64_t n)
{
    return (size_t)(n / 8) + BLOCK + VECTOR;
}

size_t assay_order_scratch(uint64_t n, uint32_t shares)
{
    if (n <= SAMPLE)
        return SAMPLE * sizeof(float);
    return 2 * ORDER_COUNTS * sizeof(uint64_t) + (SAMPLE + shares * room_for(n)) * sizeof(float);
}

static order_scratch divide_scratch(void *scratch, uint64_t n)
{
    uint64_t *tables = scratch;
    if (n <= SAMPLE)
        return (order_scratch){.sample = scratch};
    float *sample = (float *)(tables + 2 * ORDER_COUNTS);
    return (order_scratch){tables, tables + ORDER_COUNTS, sample, sample + SAMPLE};
}

static uint64_t floor_rank(uint64_t used, double share)
{
    double below = floor((double)(used - 1) * share);
    return below >= (double)(used - 1) ? used - 1 : (uint64_t)below;
}

/* A hash of i without a pattern (the finaliser of splitmix64: Steele, Lea and Flood 2014). */
static uint64_t mix(uint64_t i)
{
    uint64_t z = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t assay_order_place(uint64_t n, uint64_t count, uint64_t i)
{
    uint64_t length = n / count, longer = n % count, first = i * length + (i < longer ? i : longer);
    return first + (uint64_t)((unsigned __int128)mix(i) * (length + (i < longer)) >> 64);
}

/* NaN are left out. Returns how many there are. */
static size_t take_sample(const float *x, uint64_t n, size_t count, float *sample)
{
    size_t taken = 0;
    for (uint64_t i = 0; i < count; i++) {
        sample[taken] = x[assay_order_place(n, count, i)];
        taken += !isnan(sample[taken]);
    }
    return taken;
}

static void set_bracket(bracket *b, const float *sample, size_t count, double share)
{
    size_t at = count > 0 ? (size_t)floor_rank(count, share) : 0;
    size_t margin = (size_t)(DEVIATIONS * sqrt((double)count * share * (1 - share))) + PLACES;
    b->low = at > margin ? sample[at - margin] : -INFINITY;
    b->high = at + margin + 1 < count ? sample[at + margin + 1] : INFINITY;
}

/* Counts and collects a block's elements for one bracket. */
static void look_at(const measure_kernels *kernels, bracket *b, const float *x, size_t n, uint64_t *looked)
{
    if (b->inner + n > b->room) {
        float above = nextafterf(b->low, INFINITY), under = nextafterf(b->high, -INFINITY);
        b->missed = b->inner + kernels->inside32((const uint8_t *)x, n, above, under) > b->room;
        *looked += n;
    }
    if (b->missed)
        return;
    b->inner += kernels->split32(x, n, b->low, b->high, b->kept + b->inner, b->split);
    *looked += n;
}

/* Keeps, of more than are sorted, those about rank *r, in front: so many that they hold ranks *r and *r + 1. *r becomes
 * the rank among them. Returns how many there are: too many where the sample missed the rank. */
static size_t narrow(const measure_kernels *kernels, float *a, size_t n, size_t *r, uint64_t *looked)
{
    while (n > ORDER_SORTED) {
        float sample[NARROW_SAMPLE], low = -INFINITY, high = INFINITY;
        size_t count = take_sample(a, n, NARROW_SAMPLE, sample), at = *r / (n / NARROW_SAMPLE);
        assay_sort_few(sample, count);
        if (at > NARROW_PLACES && at - NARROW_PLACES < count)
            low = sample[at - NARROW_PLACES];
        if (at + NARROW_PLACES < count)
            high = sample[at + NARROW_PLACES];
        const uint8_t *bytes = (const uint8_t *)a;
        size_t below = low > -INFINITY ? kernels->inside32(bytes, n, -INFINITY, nextafterf(low, -INFINITY)) : 0;
        size_t inside = kernels->inside32(bytes, n, low, high), last = *r + 1 < n ? *r + 1 : *r;
        *looked += 2 * n;
        if (*r < below || last >= below + inside || inside > n / 2)
            break;
        *looked += n;
        /* What is written ends where reading goes on at the latest. */
        n = kernels->collect32(a, n, low, high, a);
        *r -= below;
    }
    return n;
}

/* The values of ranks r and next among those that are inside the bracket. */
static void select_inside(const measure_kernels *kernels, const bracket *b, size_t r, size_t next,
                          const order_scratch *scratch, float at[2], uint64_t *looked)
{
    size_t step = next - r, some = narrow(kernels, b->kept, (size_t)b->inner, &r, looked);
    *looked += some;
    if (some <= ORDER_SORTED) {
        assay_sort_few(b->kept, some);
        at[0] = b->kept[r];
        at[1] = b->kept[r + step];
        return;
    }
    *looked += some;
    assay_digits_count(b->kept, some, scratch->digits);
    assay_digits_find(b->kept, some, scratch->digits, r, r + step, scratch->table, at);
}

/* The values of ranks r and next. False: one of them is not in the bracket. */
static bool values_at(const measure_kernels *kernels, const bracket *b, uint64_t r, uint64_t next,
                      const order_scratch *scratch, float at[2], uint64_t *looked)
{
    uint64_t first = b->split[0] + b->split[1], behind = first + b->inner;
    if (r < b->split[0] || next >= behind + (b->high == b->low ? 0 : b->split[2]))
        return false;
    at[0] = r < first ? b->low : b->high;
    at[1] = next < first ? b->low : b->high;
    if (next >= first && r < behind && b->inner > 0) {
        uint64_t from = r >= first ? r - first : 0, to = next < behind ? next - first : b->inner - 1;
        float inside[2];
        select_inside(kernels, b, (size_t)from, (size_t)to, scratch, inside, looked);
        at[0] = r >= first ? inside[0] : at[0];
        at[1] = next < behind ? inside[1] : at[1];
    }
    return true;
}

/* Few elements: all of them are the sample. */
static uint64_t find_directly(const float *x, uint64_t n, const double *share, uint32_t shares, float *sorted,
                              float *at)
{
    size_t used = 0;
    for (uint64_t i = 0; i < n; i++) {
        sorted[used] = x[i];
        used += !isnan(x[i]);
    }
    assay_sort_few(sorted, used);
    for (uint32_t k = 0; used > 0 && k < shares; k++) {
        size_t r = (size_t)floor_rank(used, share[k]);
        at[2 * k] = sorted[r] + 0.0f;
        at[2 * k + 1] = sorted[r + 1 < used ? r + 1 : r] + 0.0f;
    }
    return used;
}

/* One pass for all brackets, block by block. Returns how many elements are not NaN. */
static uint64_t look_at_all(const measure_kernels *kernels, bracket *about, uint32_t shares, const float *x, uint64_t n,
                            uint64_t *looked)
{
    uint64_t used = 0;
    for (uint64_t i = 0; i < n; i += BLOCK) {
        size_t some = n - i < BLOCK ? (size_t)(n - i) : BLOCK;
        used += kernels->inside32((const uint8_t *)(x + i), some, -INFINITY, INFINITY);
        for (uint32_t k = 0; k < shares; k++)
            if (!about[k].missed)
                look_at(kernels, &about[k], x + i, some, looked);
    }
    *looked += n;
    return used;
}

static void find_in_brackets(const measure_kernels *kernels, bracket *about, uint32_t shares, const double *share,
                             uint64_t used, const order_scratch *scratch, float *at, uint64_t *looked)
{
    for (uint32_t k = 0; k < shares; k++) {
        uint64_t r = floor_rank(used, share[k]), next = r + 1 < used ? r + 1 : r;
        if (!about[k].missed)
            about[k].missed = !values_at(kernels, &about[k], r, next, scratch, &at[2 * k], looked);
    }
}

/* Of the shares whose bracket missed. */
static void find_by_digits(const bracket *about, uint32_t shares, const double *share, const float *x, uint64_t n,
                           uint64_t used, const order_scratch *scratch, float *at, uint64_t *looked)
{
    bool counted = false;
    for (uint32_t k = 0; k < shares; k++) {
        uint64_t r = floor_rank(used, share[k]), next = r + 1 < used ? r + 1 : r;
        if (!about[k].missed)
            continue;
        if (!counted)
            assay_digits_count(x, n, scratch->digits);
        *looked += counted ? n : 2 * n;
        counted = true;
        assay_digits_find(x, n, scratch->digits, r, next, scratch->table, &at[2 * k]);
    }
}

uint64_t assay_order_find(const measure_kernels *kernels, const float *x, uint64_t n, const double *share,
                          uint32_t shares, void *scratch, float *at, uint64_t *looked)
{
    bracket about[ORDER_MOST] = {{0}};
    order_scratch parts = divide_scratch(scratch, n);
    uint64_t seen = n < SAMPLE ? n : SAMPLE, used;
    if (n <= SAMPLE) {
        used = find_directly(x, n, share, shares, parts.sample, at);
    } else {
        size_t count = take_sample(x, n, SAMPLE, parts.sample);
        assay_sort_few(parts.sample, count);
        for (uint32_t k = 0; k < shares; k++) {
            set_bracket(&about[k], parts.sample, count, share[k]);
            about[k].kept = parts.kept + k * room_for(n);
            about[k].room = room_for(n) - VECTOR;
        }
        used = look_at_all(kernels, about, shares, x, n, &seen);
    }
    if (n > SAMPLE && used > 0) {
        find_in_brackets(kernels, about, shares, share, used, &parts, at, &seen);
        find_by_digits(about, shares, share, x, n, used, &parts, at, &seen);
        for (uint32_t k = 0; k < 2 * shares; k++)
            at[k] += 0.0f;
    }
    if (looked)
        *looked += seen;
    return used;
}
